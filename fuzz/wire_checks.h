/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the wire_check_*.h files share. Each of them feeds one input to all calls of one buffer and
 * aborts where an invariant breaks:
 *
 * - the status is the one that the length and the words deserve, judged here a second time;
 * - a call that fails leaves its outputs and its buffer alone;
 * - what was decoded, encoded and decoded again is the same.
 *
 * The fuzz targets call one of them each, tests/unit/t_wire_random.c calls all.
 */
#ifndef VYRE_FUZZ_WIRE_CHECKS_H
#define VYRE_FUZZ_WIRE_CHECKS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vyre/vyre.h"

/* Longer inputs are cut: nothing new happens behind it. */
#define CHECK_BYTES_MAX 4096u

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static unsigned char check_copy[CHECK_BYTES_MAX + 64];
static vyre_error check_error;

/* About every sixteenth input also has its errors formatted; that costs most of the time. */
static inline vyre_error *check_err(const uint8_t *data, size_t size)
{
    return size == 0 || (size + data[0] + data[size - 1]) % 16 == 0 ? &check_error : NULL;
}

static inline uint32_t check_word(const uint8_t *data, size_t word)
{
    const uint8_t *p = data + 4 * word;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline void check_fresh_copy(const uint8_t *data, size_t size)
{
    if (size) memcpy(check_copy, data, size);
}

static inline int check_unchanged(const uint8_t *data, size_t size)
{
    return size == 0 || memcmp(check_copy, data, size) == 0;
}

/* Whether all bytes of an output are still the 0x5A that they were set to. */
static inline int check_untouched(const void *memory, size_t size)
{
    const unsigned char *p = (const unsigned char *)memory;
    return p[0] == 0x5A && memcmp(p, p + 1, size - 1) == 0;
}

/* Sets an output to 0x5A, so that check_untouched can tell. */
#define CHECK_MARK(output)      memset(&(output), 0x5A, sizeof(output))
#define CHECK_UNTOUCHED(output) check_untouched(&(output), sizeof(output))

#endif
