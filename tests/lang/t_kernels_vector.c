/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Example kernels over vectors, one lane an element: saxpy, dot, spmv, xorshift, mix, quantize. All
 * of them have one order of operations, so every comparison is exact.
 */
#include "lang_test.h"

#include <math.h>

static const uint32_t sizes[] = {1, 2, 31, 32, 33, 63, 64, 65, 100, 1000, 4096, 10007};

static void saxpy(vyre *rt, uint64_t *seed)
{
    struct kernel kernel = open_kernel(rt, "saxpy", "saxpy");
    for (size_t s = 0; s < COUNT(sizes); s++) {
        uint32_t n = sizes[s];
        float a = random_float(seed), *x = random_floats(seed, n), *y = random_floats(seed, n);
        float *got = zeroes(n, sizeof *got);
        vyre_buffer *bx = buffer_of(rt, x, n * 4), *by = buffer_of(rt, y, n * 4);
        RUN(&kernel, groups(n, 64), 1, F32("a", a), BUFFER("x", bx), BUFFER("y", by));
        fetch(by, got, n * 4);
        for (uint32_t i = 0; i < n; i++)
            y[i] = a * x[i] + y[i];
        same(got, y, n, 4, "saxpy of %u elements", n);
        vyre_buffer_free(bx);
        vyre_buffer_free(by);
        free(x);
        free(y);
        free(got);
    }
    close_kernel(&kernel);
}

static void dot(vyre *rt, uint64_t *seed)
{
    struct kernel kernel = open_kernel(rt, "dot", "dot");
    for (size_t s = 0; s < COUNT(sizes); s++) {
        uint32_t n = sizes[s], count = groups(n, 32);
        float *x = random_floats(seed, n), *y = random_floats(seed, n);
        float *got = zeroes(count, 4), *expected = zeroes(count, 4);
        vyre_buffer *bx = buffer_of(rt, x, n * 4), *by = buffer_of(rt, y, n * 4),
                    *parts = buffer_of(rt, NULL, count * 4);
        RUN(&kernel, groups(n, 64), 1, BUFFER("x", bx), BUFFER("y", by), BUFFER("parts", parts));
        fetch(parts, got, count * 4);
        for (uint32_t i = 0; i < count * 32; i++)
            expected[i / 32] += i < n ? x[i] * y[i] : 0.0f;
        same(got, expected, count, 4, "parts of a dot product of %u elements", n);
        vyre_buffer_free(bx);
        vyre_buffer_free(by);
        vyre_buffer_free(parts);
        free(x);
        free(y);
        free(got);
        free(expected);
    }
    close_kernel(&kernel);
}

/* Rows of 0 to 9 elements in 50 columns. */
static void spmv(vyre *rt, uint64_t *seed)
{
    struct kernel kernel = open_kernel(rt, "spmv", "spmv");
    enum { COLUMNS = 50 };
    for (size_t s = 0; s < COUNT(sizes); s++) {
        uint32_t n = sizes[s];
        uint32_t *first = zeroes(n + 1, 4), *columns = random_words(seed, n * 9 + 1);
        for (uint32_t i = 0; i < n; i++)
            first[i + 1] = first[i] + random_below(seed, 10);
        for (uint32_t k = 0; k < n * 9 + 1; k++)
            columns[k] %= COLUMNS;
        float *values = random_floats(seed, n * 9 + 1), *x = random_floats(seed, COLUMNS);
        float *got = zeroes(n, 4), *expected = zeroes(n, 4);
        vyre_buffer *b[5] = {buffer_of(rt, first, (n + 1) * 4),
                             buffer_of(rt, columns, (n * 9 + 1) * 4),
                             buffer_of(rt, values, (n * 9 + 1) * 4), buffer_of(rt, x, COLUMNS * 4),
                             buffer_of(rt, NULL, n * 4)};
        RUN(&kernel, groups(n, 64), 1, BUFFER("first", b[0]), BUFFER("columns", b[1]),
            BUFFER("values", b[2]), BUFFER("x", b[3]), BUFFER("y", b[4]));
        fetch(b[4], got, n * 4);
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = first[i]; k < first[i + 1]; k++)
                expected[i] += values[k] * x[columns[k]];
        same(got, expected, n, 4, "a sparse matrix of %u rows", n);
        for (int i = 0; i < 5; i++)
            vyre_buffer_free(b[i]);
        free(first);
        free(columns);
        free(values);
        free(x);
        free(got);
        free(expected);
    }
    close_kernel(&kernel);
}

static void xorshift(vyre *rt, uint64_t *seed)
{
    static const uint32_t lengths[][2] = {{1, 1}, {1, 10}, {7, 3}, {64, 64}, {65, 1000}, {130, 0}};
    struct kernel kernel = open_kernel(rt, "xorshift", "xorshift");
    for (size_t s = 0; s < COUNT(lengths); s++) {
        uint32_t n = lengths[s][0], count = lengths[s][1] ? lengths[s][1] : 9999;
        uint32_t *state = random_words(seed, n), *got = zeroes(n + count, 4);
        uint32_t *expected = zeroes(count, 4);
        for (uint32_t i = 0; i < n; i++)
            state[i] |= 1;
        vyre_buffer *states = buffer_of(rt, state, n * 4);
        vyre_buffer *numbers = buffer_of(rt, NULL, count * 4);
        for (int round = 0; round < 2; round++) { /* the second goes on where the first ended */
            RUN(&kernel, groups(n, 64), 1, BUFFER("state", states), BUFFER("numbers", numbers));
            for (uint32_t at = 0; at < count; at++) {
                uint32_t x = state[at % n];
                x ^= x << 13;
                x ^= x >> 17;
                x ^= x << 5;
                expected[at] = state[at % n] = x;
            }
        }
        fetch(numbers, got, count * 4);
        same(got, expected, count, 4, "%u numbers of %u generators", count, n);
        fetch(states, got, n * 4);
        same(got, state, n, 4, "and their states");
        vyre_buffer_free(states);
        vyre_buffer_free(numbers);
        free(state);
        free(got);
        free(expected);
    }
    close_kernel(&kernel);
}

static void mix(vyre *rt, uint64_t *seed)
{
    struct kernel kernel = open_kernel(rt, "mix", "mix");
    for (size_t s = 0; s < COUNT(sizes); s++) {
        uint32_t n = sizes[s];
        int32_t gain_a = (int32_t)random_below(seed, 700) - 350, gain_b = 256;
        int16_t *a = zeroes(n, 2), *b = zeroes(n, 2), *got = zeroes(n, 2), *expected = zeroes(n, 2);
        for (uint32_t i = 0; i < n; i++) {
            a[i] = (int16_t)random_next(seed);
            b[i] = (int16_t)random_next(seed);
            int32_t sum = a[i] * gain_a + b[i] * gain_b;
            sum = sum < 0 ? -((-sum + 255) / 256) : sum / 256; /* as >> 8 rounds: downwards */
            expected[i] = (int16_t)(sum < -32768 ? -32768 : sum > 32767 ? 32767 : sum);
        }
        vyre_buffer *ba = buffer_of(rt, a, n * 2), *bb = buffer_of(rt, b, n * 2),
                    *mixed = buffer_of(rt, NULL, n * 2);
        RUN(&kernel, groups(n, 64), 1, U32("gain_a", (uint32_t)gain_a),
            U32("gain_b", (uint32_t)gain_b), BUFFER("a", ba), BUFFER("b", bb),
            BUFFER("mixed", mixed));
        fetch(mixed, got, n * 2);
        same(got, expected, n, 2, "a mix of %u samples, gains %d and %d", n, gain_a, gain_b);
        vyre_buffer_free(ba);
        vyre_buffer_free(bb);
        vyre_buffer_free(mixed);
        free(a);
        free(b);
        free(got);
        free(expected);
    }
    close_kernel(&kernel);
}

static void quantize(vyre *rt, uint64_t *seed)
{
    struct kernel to = open_kernel(rt, "quantize", "quantize");
    struct kernel from = open_kernel(rt, "quantize", "restore");
    for (size_t s = 0; s < COUNT(sizes); s++) {
        uint32_t n = sizes[s], blocks = groups(n, 32);
        float *x = random_floats(seed, n), *factors = zeroes(blocks, 4);
        float *expected = zeroes(blocks, 4), *y = zeroes(n, 4), *restored = zeroes(n, 4);
        int8_t *q = zeroes(n, 1), *got = zeroes(n, 1);
        if (n > 64) memset(x, 0, 32 * 4); /* a block of zeroes has no factor */
        for (uint32_t i = 0; i < n; i++)
            if (fabsf(x[i]) > expected[i / 32]) expected[i / 32] = fabsf(x[i]);
        for (uint32_t i = 0; i < blocks; i++)
            expected[i] /= 127.0f;
        for (uint32_t i = 0; i < n; i++) {
            q[i] = expected[i / 32] > 0 ? (int8_t)roundf(x[i] / expected[i / 32]) : 0;
            y[i] = (float)q[i] * expected[i / 32];
        }
        vyre_buffer *bx = buffer_of(rt, x, n * 4), *bq = buffer_of(rt, NULL, n),
                    *bf = buffer_of(rt, NULL, blocks * 4), *by = buffer_of(rt, NULL, n * 4);
        RUN(&to, groups(n, 64), 1, BUFFER("x", bx), BUFFER("q", bq), BUFFER("factors", bf));
        RUN(&from, groups(n, 64), 1, BUFFER("q", bq), BUFFER("factors", bf), BUFFER("y", by));
        fetch(bq, got, n);
        fetch(bf, factors, blocks * 4);
        fetch(by, restored, n * 4);
        same(factors, expected, blocks, 4, "factors of %u floats", n);
        same(got, q, n, 1, "their bytes");
        same(restored, y, n, 4, "and back");
        vyre_buffer *all[] = {bx, bq, bf, by};
        void *memory[] = {x, factors, expected, y, restored, q, got};
        for (size_t i = 0; i < COUNT(all); i++)
            vyre_buffer_free(all[i]);
        for (size_t i = 0; i < COUNT(memory); i++)
            free(memory[i]);
    }
    close_kernel(&to);
    close_kernel(&from);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    vyre *rt = open_cpu(2);
    saxpy(rt, &seed);
    dot(rt, &seed);
    spmv(rt, &seed);
    xorshift(rt, &seed);
    mix(rt, &seed);
    quantize(rt, &seed);
    vyre_close(rt);
    return done();
}
