/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The books of small pieces of device memory.
 */
#include "backend/cuda/arena.h"

#include <assert.h>

static uint32_t units_of(size_t bytes)
{
    return (uint32_t)((bytes + VYRE_ARENA_UNIT - 1) / VYRE_ARENA_UNIT);
}

static int is_taken(const struct vyre_arena_granule *granule, uint32_t unit)
{
    return (int)(granule->bits[unit / 64] >> unit % 64 & 1);
}

static void mark(struct vyre_arena_granule *granule, uint32_t first, uint32_t count, int taken)
{
    for (uint32_t unit = first; unit < first + count; unit++) {
        uint64_t bit = (uint64_t)1 << unit % 64;
        assert(is_taken(granule, unit) != taken);
        if (taken)
            granule->bits[unit / 64] |= bit;
        else
            granule->bits[unit / 64] &= ~bit;
    }
    granule->taken = taken ? granule->taken + count : granule->taken - count;
}

/* The first run of `count` free units, or VYRE_ARENA_UNITS. */
static uint32_t find_run(const struct vyre_arena_granule *granule, uint32_t count)
{
    uint32_t run = 0;
    for (uint32_t unit = 0; unit < VYRE_ARENA_UNITS; unit++) {
        if (unit % 64 == 0 && granule->bits[unit / 64] == UINT64_MAX) {
            run = 0;
            unit += 63;
            continue;
        }
        run = is_taken(granule, unit) ? 0 : run + 1;
        if (run == count) return unit + 1 - count;
    }
    return VYRE_ARENA_UNITS;
}

uint64_t vyre_arena_take(struct vyre_arena *arena, size_t bytes)
{
    uint32_t count = units_of(bytes);
    assert(count > 0 && count <= VYRE_ARENA_UNITS);
    for (struct vyre_arena_granule *g = arena->first; g; g = g->next) {
        if (g->taken + count > VYRE_ARENA_UNITS) continue;
        uint32_t first = find_run(g, count);
        if (first == VYRE_ARENA_UNITS) continue;
        mark(g, first, count, 1);
        return g->address + (uint64_t)first * VYRE_ARENA_UNIT;
    }
    return 0;
}

vyre_status vyre_arena_add(struct vyre_arena *arena, uint64_t address, vyre_error *err)
{
    void *memory;
    vyre_status status = vyre_memory_alloc(arena->memory, 1, sizeof(struct vyre_arena_granule),
                                           "books of device memory", &memory, err);
    if (status) return status;
    struct vyre_arena_granule *granule = memory;
    granule->address = address;
    granule->next = arena->first;
    arena->first = granule;
    return VYRE_OK;
}

static uint64_t remove_at(struct vyre_arena *arena, struct vyre_arena_granule **link)
{
    struct vyre_arena_granule *granule = *link;
    uint64_t address = granule->address;
    *link = granule->next;
    vyre_memory_free(arena->memory, granule, sizeof *granule);
    return address;
}

uint64_t vyre_arena_give(struct vyre_arena *arena, uint64_t address, size_t bytes)
{
    struct vyre_arena_granule **link = &arena->first;
    while (*link && address - (*link)->address >= VYRE_ARENA_GRANULE)
        link = &(*link)->next;
    assert(*link && "the piece is of no granule");
    if (!*link) return 0;
    uint32_t first = (uint32_t)((address - (*link)->address) / VYRE_ARENA_UNIT);
    mark(*link, first, units_of(bytes), 0);
    if ((*link)->taken > 0 || (arena->first == *link && !(*link)->next)) return 0;
    return remove_at(arena, link);
}

uint64_t vyre_arena_empty(struct vyre_arena *arena)
{
    return arena->first ? remove_at(arena, &arena->first) : 0;
}
