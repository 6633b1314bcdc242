/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Grouping slots into windows while a ring is read: the set of window opcodes, and one row for each
 * pair of window id and opcode. All of it lies in the caller's scratch, so it needs no allocation;
 * what finds no room there is counted. For the decoder of snapshots alone.
 *
 * The invariant: a row belongs to the slots seen so far, and its tenant is that of the first of
 * them. So slots must be noted in the order of their index.
 */
#ifndef VYRE_TELEMETRY_WINDOW_H
#define VYRE_TELEMETRY_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vyre/snapshot.h"
#include "wire/bytes.h"

#define WINDOW_STATES  (VYRE_SLOT_STATES + 1u) /* the last one: unknown */
#define WINDOW_CLASSES 3u                      /* required, lookahead, any other */

/* One window while it grows; a cache line. */
struct window_row {
    uint32_t ticket;
    uint32_t opcode;
    uint32_t tenant;
    uint32_t classes[WINDOW_CLASSES];
    uint32_t states[WINDOW_STATES];
    uint32_t unused;
};

/* A place in the table of opcodes. */
struct window_opcode {
    uint32_t opcode;
    uint32_t recent; /* number of the row that its last slot belonged to, plus 1; 0: none yet */
};

#define WINDOW_FILTER_BITS 12u /* of a hash, the uppermost */

/*
 * opcodes is a hash table with at least three free places for each opcode. A free place holds
 * `first`, one of the opcodes: whoever looks for that one is right to find it there, and for all
 * others it is the end of the search. So no value is lost to a mark. Before it stands a filter, a
 * bit for each value that the upper bits of a hash can have: most slots of no window fail there.
 *
 * index is a hash table too: the hash of a window in the upper half, the number of its row plus 1
 * in the lower; 0 is a free place. It grows with the rows, up to twice their room, and is at most
 * half full.
 */
struct window_set {
    struct window_opcode *opcodes;
    uint32_t opcode_places;
    uint32_t first;
    uint32_t opcode_count; /* without repeated ones */
    uint32_t places;
    uint64_t *index;
    struct window_row *rows;
    uint32_t count;
    uint32_t room;
    uint64_t missed; /* slots of windows that found no room */
    uint64_t seed;   /* of the hash of a window, so that nobody who writes slots can foresee it */
    uint64_t filter[1u << (WINDOW_FILTER_BITS - 6)];
};

/* Bytes for so many rows and opcodes; false where size_t is too narrow. */
bool vyre_windows_size(uint32_t rows, size_t opcodes, size_t *bytes);

/* Lays the set out in the source's scratch. False: not even the opcodes find room. */
bool vyre_windows_begin(struct window_set *set, const vyre_snapshot_source *source);

/* The number of a window's row, plus 1; a new one where there is none yet. 0: no room. */
uint32_t vyre_windows_find(struct window_set *set, uint32_t ticket, uint32_t opcode,
                           uint32_t tenant);

/* Writes the windows in order of ticket and opcode. The set cannot be added to afterwards. */
void vyre_windows_finish(struct window_set *set, vyre_snapshot_window *windows);

/* Place of a hash in a table of any size. */
static inline uint32_t window_place(uint32_t hash, uint32_t places)
{
    return (uint32_t)((uint64_t)hash * places >> 32);
}

static inline uint32_t window_opcode_hash(uint32_t opcode)
{
    return opcode * 0x9E3779B1u;
}

/* 0 for most opcodes that no window has, 1 for all others. */
static inline uint32_t window_passes(const struct window_set *set, uint32_t opcode)
{
    uint32_t bit = window_opcode_hash(opcode) >> (32 - WINDOW_FILTER_BITS);
    return (uint32_t)(set->filter[bit / 64] >> bit % 64) & 1;
}

/* The place of an opcode; NULL: no window has it. */
static inline struct window_opcode *window_opcode_of(const struct window_set *set, uint32_t opcode)
{
    uint32_t place = window_place(window_opcode_hash(opcode), set->opcode_places);
    for (;;) {
        struct window_opcode *entry = &set->opcodes[place];
        if (entry->opcode == opcode) return entry;
        if (entry->opcode == set->first) return NULL;
        place = place + 1 == set->opcode_places ? 0 : place + 1;
    }
}

/* Takes the slot at `words` into its window, if its opcode makes it one of a window. */
static inline void window_note(struct window_set *set, const unsigned char *words)
{
    uint32_t status = vyre_bytes_word(words, VYRE_SLOT_STATUS);
    uint32_t ticket = vyre_bytes_word(words, VYRE_SLOT_ARG0);
    uint32_t class = vyre_bytes_word(words, VYRE_SLOT_ARG0 + 1);
    struct window_opcode *entry = window_opcode_of(set, vyre_bytes_word(words, VYRE_SLOT_OPCODE));
    if (!entry) return;
    /* Slots of one window often follow one another, those of other opcodes between them. */
    uint32_t number = entry->recent;
    if (number == 0 || set->rows[number - 1].ticket != ticket) {
        number =
            vyre_windows_find(set, ticket, entry->opcode, vyre_bytes_word(words, VYRE_SLOT_TENANT));
        if (number == 0) return;
        entry->recent = number;
    }
    struct window_row *row = &set->rows[number - 1];
    row->classes[class < WINDOW_CLASSES - 1 ? class : WINDOW_CLASSES - 1]++;
    row->states[status < VYRE_SLOT_STATES ? status : VYRE_SLOT_STATES]++;
}

#endif
