/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The ticket map: linear probing, deletion by moving later entries up.
 */
#include "runtime/ticket_map.h"

vyre_status vyre_ticket_map_init(struct vyre_ticket_map *map, struct vyre_memory *memory,
                                 uint32_t room, vyre_error *err)
{
    void *tickets, *values;
    size_t size = (size_t)room * 2;
    vyre_status status =
        vyre_memory_alloc(memory, size, sizeof(uint64_t), "ticket map", &tickets, err);
    if (status) return status;
    status = vyre_memory_alloc(memory, size, sizeof(uint32_t), "ticket map", &values, err);
    if (status) {
        vyre_memory_free(memory, tickets, size * sizeof(uint64_t));
        return status;
    }
    map->tickets = tickets;
    map->values = values;
    map->mask = (uint32_t)(size - 1);
    for (size_t i = 0; i < size; i++)
        map->values[i] = VYRE_TICKET_NONE;
    return VYRE_OK;
}

void vyre_ticket_map_destroy(struct vyre_ticket_map *map, struct vyre_memory *memory)
{
    size_t size = (size_t)map->mask + 1;
    vyre_memory_free(memory, map->tickets, size * sizeof(uint64_t));
    vyre_memory_free(memory, map->values, size * sizeof(uint32_t));
    map->tickets = NULL;
    map->values = NULL;
}

static uint32_t home(const struct vyre_ticket_map *map, uint64_t ticket)
{
    return (uint32_t)(ticket * 0x9E3779B97F4A7C15u >> 32) & map->mask;
}

/* Where the ticket is, or where it would go. */
static uint32_t place_of(const struct vyre_ticket_map *map, uint64_t ticket)
{
    uint32_t place = home(map, ticket);
    while (map->values[place] != VYRE_TICKET_NONE && map->tickets[place] != ticket)
        place = (place + 1) & map->mask;
    return place;
}

void vyre_ticket_map_put(struct vyre_ticket_map *map, uint64_t ticket, uint32_t value)
{
    uint32_t place = place_of(map, ticket);
    map->tickets[place] = ticket;
    map->values[place] = value;
}

int vyre_ticket_map_has(const struct vyre_ticket_map *map, uint64_t ticket)
{
    return map->values[place_of(map, ticket)] != VYRE_TICKET_NONE;
}

uint32_t vyre_ticket_map_find(const struct vyre_ticket_map *map, uint64_t ticket)
{
    return map->values[place_of(map, ticket)];
}

uint32_t vyre_ticket_map_take(struct vyre_ticket_map *map, uint64_t ticket)
{
    uint32_t hole = place_of(map, ticket);
    uint32_t value = map->values[hole];
    if (value == VYRE_TICKET_NONE) return value;
    for (uint32_t at = (hole + 1) & map->mask; map->values[at] != VYRE_TICKET_NONE;
         at = (at + 1) & map->mask) {
        /* An entry may move up if its home is not between the hole and itself. */
        uint32_t from_home = (at - home(map, map->tickets[at])) & map->mask;
        if (from_home < ((at - hole) & map->mask)) continue;
        map->tickets[hole] = map->tickets[at];
        map->values[hole] = map->values[at];
        hole = at;
    }
    map->values[hole] = VYRE_TICKET_NONE;
    return value;
}
