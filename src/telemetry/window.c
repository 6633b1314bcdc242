/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The set of windows: its layout in the scratch, finding and making rows, the order of the output.
 * See window.h.
 */
#include "telemetry/window.h"

#include <string.h>

#include "base/checked.h"

#define ALIGN           64u
#define PLACES_A_OPCODE 4u
#define PLACES_A_ROW    2u
#define LEAST_PLACES    64u
#define FIRST_PLACES    256u /* of the index, before it grows */
#define BYTES_A_ROW     (sizeof(struct window_row) + PLACES_A_ROW * sizeof(uint64_t))

static_assert(sizeof(struct window_row) == ALIGN, "a row is one cache line");
static_assert((uint64_t)VYRE_RING_MAX_SLOTS * PLACES_A_ROW <= UINT32_MAX, "places fit 32 bits");

/* Bytes before the rows: what aligning may cost, and the opcodes. */
static bool head_size(size_t opcodes, size_t *bytes)
{
    size_t places;
    if (!vyre_mul_size(opcodes, PLACES_A_OPCODE, &places) || places > UINT32_MAX) return false;
    if (places < LEAST_PLACES) places = LEAST_PLACES;
    if (!vyre_mul_size(places, sizeof(struct window_opcode), bytes)) return false;
    return vyre_round_up_size(*bytes, ALIGN, bytes) && vyre_add_size(*bytes, ALIGN - 1, bytes);
}

bool vyre_windows_size(uint32_t rows, size_t opcodes, size_t *bytes)
{
    size_t head, body, total;
    if (opcodes == 0) {
        *bytes = 0;
        return true;
    }
    if (!head_size(opcodes, &head) || !vyre_mul_size(rows, BYTES_A_ROW, &body) ||
        !vyre_add_size(head, body, &total))
        return false;
    *bytes = total;
    return true;
}

static void put_opcodes(struct window_set *set, const uint32_t *opcodes, size_t count)
{
    set->first = opcodes[0];
    for (uint32_t place = 0; place < set->opcode_places; place++)
        set->opcodes[place] = (struct window_opcode){set->first, 0};
    for (size_t i = 0; i < count; i++) {
        uint32_t hash = window_opcode_hash(opcodes[i]);
        uint32_t bit = hash >> (32 - WINDOW_FILTER_BITS);
        uint32_t place = window_place(hash, set->opcode_places);
        set->filter[bit / 64] |= UINT64_C(1) << bit % 64;
        while (set->opcodes[place].opcode != set->first && set->opcodes[place].opcode != opcodes[i])
            place = place + 1 == set->opcode_places ? 0 : place + 1;
        if (set->opcodes[place].opcode == opcodes[i]) continue; /* repeated, or the first */
        set->opcodes[place].opcode = opcodes[i];
        set->opcode_count++;
    }
    set->opcode_count++; /* the first, which is found wherever a place is free */
}

bool vyre_windows_begin(struct window_set *set, const vyre_snapshot_source *source)
{
    size_t head, count = source->window_opcode_count;
    if (!head_size(count, &head) || source->scratch_bytes < head) return false;
    uintptr_t base = (uintptr_t)source->scratch;
    size_t skip = (ALIGN - base % ALIGN) % ALIGN;
    unsigned char *memory = (unsigned char *)source->scratch + skip;
    size_t rows = (source->scratch_bytes - head) / BYTES_A_ROW;

    memset(set, 0, sizeof *set);
    set->room = rows < VYRE_RING_MAX_SLOTS ? (uint32_t)rows : VYRE_RING_MAX_SLOTS;
    set->opcodes = (struct window_opcode *)(void *)memory;
    set->opcode_places =
        count * PLACES_A_OPCODE > LEAST_PLACES ? (uint32_t)(count * PLACES_A_OPCODE) : LEAST_PLACES;
    memory += head - (ALIGN - 1);
    set->rows = (struct window_row *)(void *)memory;
    set->index = (uint64_t *)(void *)(set->rows + set->room);
    set->places = set->room * PLACES_A_ROW < FIRST_PLACES ? set->room * PLACES_A_ROW : FIRST_PLACES;
    memset(set->index, 0, set->places * sizeof *set->index);
    set->seed = (uint64_t)base * UINT64_C(0x9E3779B97F4A7C15);
    put_opcodes(set, source->window_opcodes, count);
    return true;
}

static uint32_t window_hash(const struct window_set *set, uint32_t ticket, uint32_t opcode)
{
    uint64_t x = ((uint64_t)ticket << 32 | opcode) ^ set->seed;
    x = (x ^ x >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    x = (x ^ x >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return (uint32_t)(x >> 32);
}

/* The place of a window in the index: the one it has, or the free one where it belongs. */
static uint32_t find_place(const struct window_set *set, uint32_t hash, uint32_t ticket,
                           uint32_t opcode)
{
    uint32_t place = window_place(hash, set->places);
    for (;;) {
        uint64_t entry = set->index[place];
        if (entry == 0) return place;
        if ((uint32_t)(entry >> 32) == hash) {
            const struct window_row *row = &set->rows[(uint32_t)entry - 1];
            if (row->ticket == ticket && row->opcode == opcode) return place;
        }
        place = place + 1 == set->places ? 0 : place + 1;
    }
}

static void grow_index(struct window_set *set)
{
    uint32_t most = set->room * PLACES_A_ROW;
    set->places = set->places > most / 2 ? most : 2 * set->places;
    memset(set->index, 0, set->places * sizeof *set->index);
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t hash = window_hash(set, set->rows[i].ticket, set->rows[i].opcode);
        uint32_t place = find_place(set, hash, set->rows[i].ticket, set->rows[i].opcode);
        set->index[place] = (uint64_t)hash << 32 | (i + 1);
    }
}

uint32_t vyre_windows_find(struct window_set *set, uint32_t ticket, uint32_t opcode,
                           uint32_t tenant)
{
    if (set->room == 0) {
        set->missed++;
        return 0;
    }
    uint32_t hash = window_hash(set, ticket, opcode);
    uint32_t place = find_place(set, hash, ticket, opcode);
    if (set->index[place] != 0) return (uint32_t)set->index[place];
    if (set->count == set->room) {
        set->missed++;
        return 0;
    }
    set->rows[set->count++] =
        (struct window_row){.ticket = ticket, .opcode = opcode, .tenant = tenant};
    set->index[place] = (uint64_t)hash << 32 | set->count;
    if (set->count > set->places / PLACES_A_ROW) grow_index(set);
    return set->count;
}

/*
 * Sorts row numbers by ticket and opcode, byte by byte from the lowest. The index has served its
 * purpose; its memory is a key for each row and two arrays of row numbers.
 */
static const uint32_t *sort_rows(struct window_set *set)
{
    uint32_t counts[8][256] = {{0}};
    uint64_t *keys = set->index;
    uint32_t *from = (uint32_t *)(void *)(keys + set->room), *to = from + set->room;
    for (uint32_t i = 0; i < set->count; i++) {
        keys[i] = (uint64_t)set->rows[i].ticket << 32 | set->rows[i].opcode;
        from[i] = i;
        for (uint32_t digit = 0; digit < 8; digit++)
            counts[digit][keys[i] >> 8 * digit & 0xFF]++;
    }
    for (uint32_t digit = 0; digit < 8; digit++) {
        uint32_t *starts = counts[digit], start = 0;
        if (starts[keys[0] >> 8 * digit & 0xFF] == set->count) continue; /* all the same */
        for (uint32_t value = 0; value < 256; value++) {
            uint32_t of_value = starts[value];
            starts[value] = start;
            start += of_value;
        }
        for (uint32_t i = 0; i < set->count; i++)
            to[starts[keys[from[i]] >> 8 * digit & 0xFF]++] = from[i];
        uint32_t *swap = from;
        from = to, to = swap;
    }
    return from;
}

static bool is_active(const struct window_row *row)
{
    uint32_t any = 0;
    for (uint32_t state = 0; state < VYRE_SLOT_STATES; state++)
        if (VYRE_SLOT_ACTIVE & VYRE_SLOT_SET(state)) any |= row->states[state];
    return any != 0;
}

void vyre_windows_finish(struct window_set *set, vyre_snapshot_window *windows)
{
    if (set->count == 0) return;
    const uint32_t *order = sort_rows(set);
    for (uint32_t i = 0; i < set->count; i++) {
        const struct window_row *row = &set->rows[order[i]];
        windows[i] = (vyre_snapshot_window){
            .ticket = row->ticket,
            .opcode = row->opcode,
            .tenant = row->tenant,
            .required = row->classes[VYRE_WINDOW_REQUIRED],
            .lookahead = row->classes[VYRE_WINDOW_LOOKAHEAD],
            .published = row->states[VYRE_SLOT_PUBLISHED],
            .claimed = row->states[VYRE_SLOT_CLAIMED],
            .done = row->states[VYRE_SLOT_DONE],
            .wait_io = row->states[VYRE_SLOT_WAIT_IO],
            .yield = row->states[VYRE_SLOT_YIELD],
            .requeue = row->states[VYRE_SLOT_REQUEUE],
            .fault = row->states[VYRE_SLOT_FAULT],
            .active = is_active(row),
        };
    }
}
