/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A small map from tickets to numbers with room for a fixed count, linear probing in a table twice
 * that size. Tickets that are outstanding at once can be any distance apart, so their low bits
 * alone do not tell them apart.
 */
#ifndef VYRE_RUNTIME_TICKET_MAP_H
#define VYRE_RUNTIME_TICKET_MAP_H

#include "base/memory.h"

#define VYRE_TICKET_NONE 0xFFFFFFFFu

struct vyre_ticket_map {
    uint64_t *tickets;
    uint32_t *values; /* VYRE_TICKET_NONE: free */
    uint32_t mask;
};

/* room: the most tickets it will hold, a power of two. */
vyre_status vyre_ticket_map_init(struct vyre_ticket_map *map, struct vyre_memory *memory,
                                 uint32_t room, vyre_error *err);
void vyre_ticket_map_destroy(struct vyre_ticket_map *map, struct vyre_memory *memory);

/* Adds a ticket or changes its value, which may not be VYRE_TICKET_NONE. */
void vyre_ticket_map_put(struct vyre_ticket_map *map, uint64_t ticket, uint32_t value);

int vyre_ticket_map_has(const struct vyre_ticket_map *map, uint64_t ticket);

/* Its value, or VYRE_TICKET_NONE. */
uint32_t vyre_ticket_map_find(const struct vyre_ticket_map *map, uint64_t ticket);

/* Takes the ticket out and returns its value, or VYRE_TICKET_NONE. */
uint32_t vyre_ticket_map_take(struct vyre_ticket_map *map, uint64_t ticket);

#endif
