/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The one allocation seam. Every byte of the library comes through a vyre_memory, either as private
 * memory or as a shareable mapping, and is counted there. A vyre_memory belongs to one runtime; its
 * functions may be called from any thread. Tests put an allocator behind it that fails at the n-th
 * call.
 */
#ifndef VYRE_BASE_MEMORY_H
#define VYRE_BASE_MEMORY_H

#include "base/error.h"
#include "vyre/runtime.h"

#define VYRE_CACHE_LINE 64u

struct vyre_memory {
    vyre_allocator hooks;
    uint64_t live_bytes; /* atomic: bytes handed out and not yet given back */
};

/* A piece of shareable memory. base is NULL where there is none. */
struct vyre_mapping {
    void *base;
    size_t bytes;
    int fd;
};

/* hooks NULL: malloc and memfd. Statuses: E_NULL (alloc or free missing), E_CONFLICT (one of map
 * and unmap). */
vyre_status vyre_memory_init(struct vyre_memory *memory, const vyre_allocator *hooks,
                             vyre_error *err);

/* Zeroed memory for count elements of `size` bytes, aligned to a cache line; `what` names it in the
 * error. */
vyre_status vyre_memory_alloc(struct vyre_memory *memory, size_t count, size_t size,
                              const char *what, void **out, vyre_error *err);

/* bytes: what was asked for, count times size. NULL is allowed. */
void vyre_memory_free(struct vyre_memory *memory, void *pointer, size_t bytes);

/* A zeroed, page-aligned, shareable mapping of at least `bytes`. */
vyre_status vyre_memory_map(struct vyre_memory *memory, size_t bytes, const char *what,
                            struct vyre_mapping *out, vyre_error *err);

/*
 * Maps memory that somebody else made and sent as a descriptor; the mapping owns it from then on.
 * At least `bytes` must be there, and must stay: the descriptor has to be of a file in memory that
 * cannot shrink, for else whoever holds it could take pages away from under our feet. Sealed here
 * where it is not. For a vyre_memory with its own map functions. Statuses: E_NOT_PERMITTED (no
 * such memory), E_TOO_SMALL, E_OVERFLOW, E_SYSTEM.
 */
vyre_status vyre_memory_adopt(struct vyre_memory *memory, int fd, size_t bytes, const char *what,
                              struct vyre_mapping *out, vyre_error *err);

/* An empty mapping is allowed. */
void vyre_memory_unmap(struct vyre_memory *memory, struct vyre_mapping *mapping);

uint64_t vyre_memory_live(const struct vyre_memory *memory);

#endif
