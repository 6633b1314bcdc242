/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Checked arithmetic and the clock's sums: each edge by hand, then random operands against the
 * compiler's own overflow checks.
 */
#include "support.h"

#include "base/checked.h"
#include "base/clock.h"

static void edges(void)
{
    uint32_t sum = 77;
    size_t size = 77;

    ok(vyre_add_u32(UINT32_MAX, 0, &sum) && sum == UINT32_MAX, "u32: the greatest plus 0");
    ok(vyre_add_u32(UINT32_MAX - 1, 1, &sum) && sum == UINT32_MAX, "u32: up to the greatest");
    sum = 77;
    ok(!vyre_add_u32(UINT32_MAX, 1, &sum) && sum == 77, "u32: one past it changes nothing");

    ok(vyre_add_size(SIZE_MAX - 5, 5, &size) && size == SIZE_MAX, "size: up to the greatest");
    size = 77;
    ok(!vyre_add_size(SIZE_MAX - 5, 6, &size) && size == 77, "size: one past it changes nothing");

    ok(vyre_mul_size(0, SIZE_MAX, &size) && size == 0, "nothing times the greatest");
    ok(vyre_mul_size(SIZE_MAX, 0, &size) && size == 0, "the greatest times nothing");
    ok(vyre_mul_size(SIZE_MAX / 3, 3, &size) && size == SIZE_MAX, "a third, three times");
    size = 77;
    ok(!vyre_mul_size(SIZE_MAX / 2 + 1, 2, &size) && size == 77, "half and one, twice");

    ok(vyre_round_up_size(0, 4096, &size) && size == 0, "0 rounds to 0");
    ok(vyre_round_up_size(1, 4096, &size) && size == 4096, "1 rounds to a page");
    ok(vyre_round_up_size(4096, 4096, &size) && size == 4096, "a page stays");
    ok(vyre_round_up_size(SIZE_MAX - 4095, 4096, &size) && size == SIZE_MAX - 4095,
       "the last page stays");
    size = 77;
    ok(!vyre_round_up_size(SIZE_MAX - 4094, 4096, &size) && size == 77, "past the last page");
    ok(vyre_round_up_size(SIZE_MAX, 1, &size) && size == SIZE_MAX, "anything is a multiple of 1");

    is_u64(vyre_add_saturating_u32(UINT32_MAX - 2, 1), UINT32_MAX - 1, "below saturation");
    is_u64(vyre_add_saturating_u32(UINT32_MAX - 2, 9), UINT32_MAX, "saturated");
    is_u64(vyre_clock_after(5, 6), 11, "a time after");
    is_u64(vyre_clock_after(5, UINT64_MAX - 5), UINT64_MAX, "the last time");
    is_u64(vyre_clock_after(6, UINT64_MAX - 5), UINT64_MAX, "never");
}

static void powers(void)
{
    uint32_t wrong = 0;
    for (uint32_t bit = 0; bit < 64; bit++) {
        uint64_t power = UINT64_C(1) << bit;
        wrong += !vyre_is_power_of_two(power);
        wrong += power > 2 && (vyre_is_power_of_two(power - 1) || vyre_is_power_of_two(power + 1));
    }
    is_u64(wrong, 0, "all 64 powers of two and their neighbours");
    ok(!vyre_is_power_of_two(0), "0 is none");
}

/* Operands of every magnitude, so that about half of the results overflow. */
static uint64_t any_magnitude(uint64_t *state)
{
    return random_next(state) >> random_below(state, 64);
}

static void random_operands(uint64_t seed)
{
    uint32_t wrong = 0, overflows = 0;
    for (int i = 0; i < 200000; i++) {
        size_t a = any_magnitude(&seed), b = any_magnitude(&seed);
        size_t got = 1, expected = 1;
        bool fits = !__builtin_mul_overflow(a, b, &expected);
        overflows += !fits;
        wrong += vyre_mul_size(a, b, &got) != fits || got != (fits ? expected : 1);

        got = 1;
        fits = !__builtin_add_overflow(a, b, &expected);
        wrong += vyre_add_size(a, b, &got) != fits || got != (fits ? expected : 1);

        uint32_t got32 = 1, expected32;
        fits = !__builtin_add_overflow((uint32_t)a, (uint32_t)b, &expected32);
        wrong += vyre_add_u32((uint32_t)a, (uint32_t)b, &got32) != fits;
        wrong += got32 != (fits ? expected32 : 1);
    }
    is_u64(wrong, 0, "random operands agree with the compiler");
    ok(overflows > 1000, "%u of the products overflowed", overflows);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    edges();
    powers();
    random_operands(seed);
    uint64_t before = vyre_clock_ns();
    ok(vyre_clock_ns() >= before, "the clock does not go back");
    return done();
}
