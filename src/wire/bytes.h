/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Words in byte buffers, and the checks that every call on a buffer begins with. Loads and stores
 * go byte by byte (compilers make one instruction of them), so a buffer needs no alignment and its
 * words are little-endian on every host. For this room, the runtime's images and telemetry.
 *
 * The invariant of the checks: they write nothing but the error.
 */
#ifndef VYRE_WIRE_BYTES_H
#define VYRE_WIRE_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "wire/layout.h"

#define VYRE_SLOT_STATES 8u

/* Sets of slot states, one bit each. */
#define VYRE_SLOT_SET(status) (1u << (status))
#define VYRE_SLOT_ACTIVE                                                                           \
    (VYRE_SLOT_SET(VYRE_SLOT_PUBLISHED) | VYRE_SLOT_SET(VYRE_SLOT_CLAIMED) |                       \
     VYRE_SLOT_SET(VYRE_SLOT_WAIT_IO) | VYRE_SLOT_SET(VYRE_SLOT_YIELD) |                           \
     VYRE_SLOT_SET(VYRE_SLOT_REQUEUE))

static inline uint32_t vyre_bytes_get32(const void *bytes, size_t at)
{
    const unsigned char *p = (const unsigned char *)bytes + at;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t vyre_bytes_get64(const void *bytes, size_t at)
{
    return (uint64_t)vyre_bytes_get32(bytes, at) | (uint64_t)vyre_bytes_get32(bytes, at + 4) << 32;
}

static inline void vyre_bytes_put32(void *bytes, size_t at, uint32_t value)
{
    unsigned char *p = (unsigned char *)bytes + at;
    p[0] = (unsigned char)value;
    p[1] = (unsigned char)(value >> 8);
    p[2] = (unsigned char)(value >> 16);
    p[3] = (unsigned char)(value >> 24);
}

static inline void vyre_bytes_put64(void *bytes, size_t at, uint64_t value)
{
    vyre_bytes_put32(bytes, at, (uint32_t)value);
    vyre_bytes_put32(bytes, at + 4, (uint32_t)(value >> 32));
}

/* The same by the index of a word. */
static inline uint32_t vyre_bytes_word(const void *bytes, size_t word)
{
    return vyre_bytes_get32(bytes, 4 * word);
}

static inline void vyre_bytes_set_word(void *bytes, size_t word, uint32_t value)
{
    vyre_bytes_put32(bytes, 4 * word, value);
}

/* A required pointer; `what` names it. E_NULL. */
vyre_status vyre_bytes_check_pointer(const void *pointer, const char *what, vyre_error *err);

/* A list that may be NULL where it is empty. E_NULL. */
vyre_status vyre_bytes_check_list(const void *list, size_t count, const char *what,
                                  vyre_error *err);

/* A buffer of whole words. E_NULL, E_WIRE_MISALIGNED. */
vyre_status vyre_bytes_check_words(const void *bytes, size_t length, vyre_error *err);

/* A buffer of whole words that has words first..first+count-1; the error names the first that is
 * missing. E_NULL, E_WIRE_MISALIGNED, E_WIRE_MISSING_WORD. */
vyre_status vyre_bytes_check_has(const void *bytes, size_t length, size_t first, size_t count,
                                 vyre_error *err);

/* A buffer that is to be written whole or read whole; `what` names it. E_NULL, E_TOO_SMALL,
 * E_WIRE_LENGTH. */
vyre_status vyre_bytes_check_exact(const void *bytes, size_t length, size_t needed,
                                   const char *what, vyre_error *err);

/* A ring: whole slots, no more than the format counts. E_NULL, E_WIRE_MISALIGNED, E_WIRE_LENGTH,
 * E_WIRE_OVERFLOW. */
vyre_status vyre_bytes_check_ring(const void *bytes, size_t length, vyre_error *err);

/* A count of elements against the most that an encoder makes. E_WIRE_CAP. */
vyre_status vyre_bytes_check_cap(size_t count, const char *what, vyre_error *err);

/* words times 4 into *bytes. E_OVERFLOW where size_t is too narrow. */
vyre_status vyre_bytes_size_of_words(size_t words, size_t *bytes, vyre_error *err);

#endif
