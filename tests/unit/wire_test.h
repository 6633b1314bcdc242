/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the tests of the wire format share: bytes written as hex, and calls that must be refused.
 *
 * A refused call must return its status, fill the error with the same status, a message and the
 * place, and change no byte of anything that is watched.
 */
#ifndef VYRE_TESTS_WIRE_TEST_H
#define VYRE_TESTS_WIRE_TEST_H

#include "tap.h"
#include "vyre/vyre.h"

#include <ctype.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static vyre_error err;

static struct {
    const void *memory;
    size_t size;
    unsigned char *before;
} watched[8];
static size_t watched_count;

TAP_UNUSED static void watch_nothing(void)
{
    while (watched_count > 0)
        free(watched[--watched_count].before);
}

/* From now on refused calls must leave this memory as it is at that time. */
TAP_UNUSED static void watch(const void *memory, size_t size)
{
    unsigned char *before = malloc(size ? size : 1);
    if (!before || watched_count == COUNT_OF(watched)) bail("cannot watch more memory");
    watched[watched_count].memory = memory;
    watched[watched_count].size = size;
    watched[watched_count++].before = before;
}

TAP_UNUSED static void watch_begin(void)
{
    memset(&err, 0x5A, sizeof err);
    for (size_t i = 0; i < watched_count; i++)
        if (watched[i].size) memcpy(watched[i].before, watched[i].memory, watched[i].size);
}

TAP_UNUSED static int watch_unchanged(void)
{
    for (size_t i = 0; i < watched_count; i++)
        if (watched[i].size && memcmp(watched[i].before, watched[i].memory, watched[i].size) != 0)
            return 0;
    return 1;
}

TAP_UNUSED static void check_refused(vyre_status got, vyre_status expected, uint32_t kind,
                                     uint64_t place, const char *call, const char *where)
{
    int unchanged = watch_unchanged();
    int filled = err.status == expected && err.place_kind == kind && err.place == place &&
                 err.message[0] != 0 && err.message[0] != 0x5A && err.fix[0] != 0;
    if (tap_ok(got == expected && unchanged && filled, where, "%s: %s", vyre_status_name(expected),
               call))
        return;
    note("  returned %s, watched memory %s", vyre_status_name(got),
         unchanged ? "unchanged" : "CHANGED");
    note("  error %s, place %u at %" PRIu64 " (expected %u at %" PRIu64 "), \"%.100s\"",
         vyre_status_name(err.status), err.place_kind, err.place, kind, place, err.message);
}

/* The call must pass &err. */
#define refused_at(expected, kind, place, call)                                                    \
    do {                                                                                           \
        watch_begin();                                                                             \
        vyre_status refused_got = (call);                                                          \
        check_refused(refused_got, expected, kind, place, #call, TAP_PLACE);                       \
    } while (0)
#define refused(expected, call) refused_at(expected, VYRE_PLACE_NONE, 0, call)

/* A call that must succeed, and leave the error alone. */
#define works(call)                                                                                \
    do {                                                                                           \
        memset(&err, 0x5A, sizeof err);                                                            \
        vyre_status works_got = (call);                                                            \
        if (!ok(works_got == VYRE_OK && err.status == 0x5A5A5A5A, "%s", #call))                    \
            note("  returned %s: %.100s", vyre_status_name(works_got), err.message);               \
    } while (0)

/* Hex digits to bytes; blanks are skipped. Returns their number. */
TAP_UNUSED static size_t from_hex(const char *text, unsigned char *bytes)
{
    size_t digits = 0;
    for (; *text; text++) {
        if (!isxdigit((unsigned char)*text)) continue;
        unsigned digit = isdigit((unsigned char)*text)
                             ? (unsigned)(*text - '0')
                             : (unsigned)(tolower((unsigned char)*text) - 'a') + 10;
        if (digits % 2 == 0)
            bytes[digits / 2] = (unsigned char)(digit << 4);
        else
            bytes[digits / 2] = (unsigned char)(bytes[digits / 2] | digit);
        digits++;
    }
    return digits / 2;
}

/* Whether `size` bytes are those of the text, and zeros where it ends early. */
TAP_UNUSED static int is_hex(const void *bytes, size_t size, const char *text)
{
    unsigned char expected[4096] = {0};
    if (from_hex(text, expected) > size || size > sizeof expected) return 0;
    if (memcmp(bytes, expected, size) == 0) return 1;
    for (size_t i = 0; i < size; i++)
        if (((const unsigned char *)bytes)[i] != expected[i]) {
            note("  byte %zu is %02x, expected %02x", i, ((const unsigned char *)bytes)[i],
                 expected[i]);
            break;
        }
    return 0;
}

TAP_UNUSED static void put_word(void *bytes, size_t word, uint32_t value)
{
    unsigned char *p = (unsigned char *)bytes + 4 * word;
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(value >> (8 * i));
}

TAP_UNUSED static uint32_t get_word(const void *bytes, size_t word)
{
    const unsigned char *p = (const unsigned char *)bytes + 4 * word;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

#endif
