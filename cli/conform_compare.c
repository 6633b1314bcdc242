/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a program left in a buffer against what it should have: byte for byte, or f32 words within a
 * number of units in the last place. All NaNs are equal there, and so are all zeros and subnormals
 * of either sign.
 */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "conform.h"

enum { APART = -1 };

int conform_say(struct conform_result *result, enum conform_verdict verdict, const char *format,
                ...)
{
    va_list list;

    result->verdict = verdict;
    va_start(list, format);
    vsnprintf(result->why, sizeof result->why, format, list);
    va_end(list);
    return CLI_EXIT_DONE;
}

static uint32_t word_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* An integer that grows with the number, and is 0 for zeros and subnormals. */
static int64_t key_of(uint32_t bits)
{
    int64_t magnitude = bits & 0x7FFFFFFFu;

    if (magnitude < 0x00800000) return 0;
    return bits >> 31 ? -magnitude : magnitude;
}

/* Units in the last place between two f32 words; APART where only one is a NaN. */
static int64_t ulp_between(uint32_t a, uint32_t b)
{
    int a_nan = (a & 0x7FFFFFFFu) > 0x7F800000u, b_nan = (b & 0x7FFFFFFFu) > 0x7F800000u;

    if (a_nan || b_nan) return a_nan && b_nan ? 0 : APART;
    int64_t distance = key_of(a) - key_of(b);
    return distance < 0 ? -distance : distance;
}

static int same(const struct conform_pair *pair, size_t at, size_t size)
{
    if (pair->ulp == 0 || size != 4) return memcmp(pair->got + at, pair->want + at, size) == 0;
    int64_t distance = ulp_between(word_at(pair->got + at), word_at(pair->want + at));
    return distance != APART && distance <= pair->ulp;
}

/* An element as a hexadecimal number, its first 16 bytes. */
static void hex(const unsigned char *bytes, size_t size, char text[40])
{
    size_t shown = size < 16 ? size : 16;

    snprintf(text, 40, "0x");
    for (size_t i = 0; i < shown; i++)
        snprintf(text + 2 + 2 * i, 3, "%02x", bytes[shown - 1 - i]);
}

static float float_of(uint32_t bits)
{
    float number;

    memcpy(&number, &bits, sizeof number);
    return number;
}

static void say_difference(const struct conform_pair *pair, size_t at, size_t size, size_t count,
                           struct conform_result *result)
{
    char got[40], want[40], far[32] = "apart";
    size_t step = pair->ulp > 0 || pair->stride == 0 ? 4 : pair->stride;
    size_t all = (pair->length + step - 1) / step;

    hex(pair->got + at, size, got);
    hex(pair->want + at, size, want);
    if (pair->ulp == 0 || size != 4) {
        conform_say(result, CONFORM_FAIL, "%.100s[%zu] is %s, not %s (%zu of %zu differ)",
                    pair->name, at / step, got, want, count, all);
        return;
    }
    uint32_t a = word_at(pair->got + at), b = word_at(pair->want + at);
    int64_t distance = ulp_between(a, b);
    if (distance != APART) snprintf(far, sizeof far, "%lld ulp", (long long)distance);
    conform_say(result, CONFORM_FAIL,
                "%.100s[%zu] is %.9g (%s), not %.9g (%s): %s, and %u are allowed (%zu of %zu)",
                pair->name, at / step, (double)float_of(a), got, (double)float_of(b), want, far,
                pair->ulp, count, all);
}

int conform_compare(const struct conform_pair *pair, struct conform_result *result)
{
    size_t step = pair->ulp > 0 || pair->stride == 0 ? 4 : pair->stride;
    size_t first = 0, first_size = 0, count = 0;

    for (size_t at = 0; at < pair->length; at += step) {
        size_t size = pair->length - at < step ? pair->length - at : step;
        if (same(pair, at, size)) continue;
        if (count++ > 0) continue;
        first = at;
        first_size = size;
    }
    if (count == 0) return 1;
    say_difference(pair, first, first_size, count, result);
    return 0;
}
