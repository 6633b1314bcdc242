/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Decimal literals to f32, rounded once, to nearest and even. In integers: neither the locale nor
 * the rounding mode of the calling thread has a say. The number is N / D, both scaled until the
 * quotient has more bits than a float, and what is left over decides where the bits alone do not.
 */
#include <string.h>

#include "lang/ast.h"

/* 80 digits, or 10 to the power of 130, and the scaling: below 1,000 bits. */
enum { LIMBS = 34 };

struct big {
    uint32_t limb[LIMBS]; /* the lowest first */
    uint32_t used;
};

static void multiply_add(struct big *big, uint32_t by, uint32_t more)
{
    uint64_t carry = more;
    for (uint32_t i = 0; i < big->used; i++) {
        carry += (uint64_t)big->limb[i] * by;
        big->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0 && big->used < LIMBS) big->limb[big->used++] = (uint32_t)carry;
}

static uint32_t bits_of(const struct big *big)
{
    uint32_t bits = big->used * 32u;
    while (bits > 0 && !(big->limb[(bits - 1) / 32] >> (bits - 1) % 32 & 1u))
        bits--;
    return bits;
}

static void shift_left(struct big *big, uint32_t by)
{
    for (; by >= 31; by -= 31)
        multiply_add(big, 1u << 31, 0);
    if (by > 0) multiply_add(big, 1u << by, 0);
}

static void halve(struct big *big)
{
    for (uint32_t i = 0; i < big->used; i++) {
        uint32_t above = i + 1 < big->used ? big->limb[i + 1] : 0;
        big->limb[i] = big->limb[i] >> 1 | above << 31;
    }
}

/* a -= b where that is not negative; whether it was. */
static bool take(struct big *a, const struct big *b)
{
    uint32_t used = a->used > b->used ? a->used : b->used;
    for (uint32_t i = used; i-- > 0;) {
        uint32_t x = i < a->used ? a->limb[i] : 0, y = i < b->used ? b->limb[i] : 0;
        if (x < y) return false;
        if (x > y) break;
    }
    uint64_t borrow = 0;
    for (uint32_t i = 0; i < a->used; i++) {
        uint64_t y = (i < b->used ? b->limb[i] : 0) + borrow;
        borrow = a->limb[i] < y;
        a->limb[i] = (uint32_t)(a->limb[i] - y);
    }
    return true;
}

/* q * 2^-scale, and a bit more where `rest`; q has its highest bit at `top`. */
static bool round_to_float(uint64_t q, int32_t top, int32_t scale, bool rest, uint32_t *bits)
{
    int32_t exponent = top - scale, precision = exponent < -126 ? exponent + 150 : 24;
    *bits = 0;
    if (precision <= 0) return true;
    int32_t drop = top + 1 - precision;
    uint64_t kept = q >> drop, half = (uint64_t)1 << (drop - 1), below = q & (2 * half - 1);
    if (below > half || (below == half && (rest || kept & 1u))) kept++;
    if (exponent >= -126)
        *bits = ((uint32_t)(exponent + 127) << 23) + (uint32_t)kept - (1u << 23);
    else if (kept >= 1u << 23)
        *bits = 1u << 23; /* up to the smallest that is no subnormal; all below are zero */
    return *bits < 0x7F800000u;
}

static bool quotient(struct big *n, struct big *d, uint32_t *bits)
{
    int32_t scale = 34 - ((int32_t)bits_of(n) - (int32_t)bits_of(d));
    uint64_t q = 0;
    int32_t top = 36;
    if (scale > 0)
        shift_left(n, (uint32_t)scale);
    else
        shift_left(d, (uint32_t)-scale);
    shift_left(d, 36);
    for (int32_t i = 36; i >= 0; i--, halve(d))
        if (take(n, d)) q |= (uint64_t)1 << i;
    while (!(q >> top & 1u))
        top--;
    return round_to_float(q, top, scale, bits_of(n) != 0, bits);
}

/* text: digits with at most one dot, then maybe an `e` with a sign and digits; at most 80 digits.
 */
bool vyre_lang_parse_float(const char *text, uint32_t *bits)
{
    struct big n = {{0}, 0}, d = {{1}, 1};
    int32_t power = 0, given = 0, digits = 0;
    bool dot = false, minus;
    for (; *text == '.' || (*text >= '0' && *text <= '9'); text++) {
        if (*text == '.') {
            dot = true;
            continue;
        }
        if (*text != '0' && n.used == 0) n.used = 1;
        multiply_add(&n, 10, (uint32_t)(*text - '0'));
        digits += n.used != 0;
        power -= dot;
    }
    if (*text) text++;
    minus = *text == '-';
    for (; *text; text++)
        if (*text >= '0' && *text <= '9' && given < 10000) given = given * 10 + (*text - '0');
    power += minus ? -given : given;
    *bits = 0;
    if (n.used == 0 || digits + power < -46) return true;
    if (digits + power > 40) return false;
    for (; power > 0; power--)
        multiply_add(&n, 10, 0);
    for (; power < 0; power++)
        multiply_add(&d, 10, 0);
    return quotient(&n, &d, bits);
}
