/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Small pieces of device memory, cut from granules of 2 MiB that the driver gives: a bit for each
 * unit of 256 bytes, first fit. It keeps books only and never touches the memory, so it is the same
 * for a device and for a test. The caller has a lock around it.
 */
#ifndef VYRE_BACKEND_CUDA_ARENA_H
#define VYRE_BACKEND_CUDA_ARENA_H

#include "base/memory.h"

#define VYRE_ARENA_GRANULE ((size_t)2 << 20)
#define VYRE_ARENA_UNIT    256u /* every piece begins at a multiple of it */
#define VYRE_ARENA_UNITS   (VYRE_ARENA_GRANULE / VYRE_ARENA_UNIT)

struct vyre_arena_granule {
    struct vyre_arena_granule *next;
    uint64_t address;
    uint32_t taken; /* units */
    uint64_t bits[VYRE_ARENA_UNITS / 64];
};

struct vyre_arena {
    struct vyre_memory *memory; /* for the books */
    struct vyre_arena_granule *first;
};

/* A piece of 1 to VYRE_ARENA_GRANULE bytes. 0: no granule has room, add one. */
uint64_t vyre_arena_take(struct vyre_arena *arena, size_t bytes);

/* A granule of VYRE_ARENA_GRANULE bytes for pieces to come from. */
vyre_status vyre_arena_add(struct vyre_arena *arena, uint64_t address, vyre_error *err);

/* Gives a piece back. Returns the address of a granule that is empty now and no longer the
 * arena's, or 0; the last granule is kept. */
uint64_t vyre_arena_give(struct vyre_arena *arena, uint64_t address, size_t bytes);

/* Takes a granule out, whatever is in it, and returns its address; 0: there is none left. */
uint64_t vyre_arena_empty(struct vyre_arena *arena);

#endif
