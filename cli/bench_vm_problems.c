/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The problems of `vyre bench vm`, in one table: sizes, inputs, scalar parameters, peers. Inputs
 * are the same in every run and on every machine. Nothing here is on a timed path.
 */
#include <math.h>
#include <string.h>

#include "bench_vm.h"

/* Well mixed words that depend on their place alone. */
static uint32_t word_at(size_t i)
{
    uint32_t x = (uint32_t)i * 0x9E3779B9u + 0x7F4A7C15u;
    x = (x ^ x >> 16) * 0x85EBCA6Bu;
    x = (x ^ x >> 13) * 0xC2B2AE35u;
    return x ^ x >> 16;
}

/* From 0.5 to 1.5: no result is subnormal, nor does anything cancel out. */
static void fill_floats(void *in, uint32_t index, size_t count)
{
    float *x = in;
    for (size_t i = 0; i < count; i++)
        x[i] = 0.5f + (float)(word_at(i + index * count) >> 8) / (float)(1 << 24);
}

static void fill_words(void *in, uint32_t index, size_t count)
{
    uint32_t *x = in;
    for (size_t i = 0; i < count; i++)
        x[i] = word_at(i + index * count) | 1u;
}

/* All byte values, some more often than others. */
static void fill_bytes(void *in, uint32_t index, size_t count)
{
    unsigned char *x = in;
    (void)index;
    for (size_t i = 0; i < count; i++) {
        uint32_t word = word_at(i);
        x[i] = (unsigned char)(word & (word >> 8 | 0x7Fu));
    }
}

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void saxpy_scalars(uint32_t *scalar, size_t count)
{
    (void)count;
    scalar[0] = float_bits(1.75f);
}

/* The same square of the plane with any number of pixels. */
static void mandelbrot_scalars(uint32_t *scalar, size_t count)
{
    scalar[0] = (uint32_t)sqrt((double)count);
    scalar[1] = float_bits(VM_MANDELBROT_SPAN / (float)scalar[0]);
}

/* In the order of their lines. */
const struct vm_problem vm_problems[VM_PROBLEMS] = {
    {.program = &vm_program_saxpy,
     .by_hand = &vm_program_hand_saxpy,
     .timed = vm_timed_saxpy,
     .exact = vm_exact_saxpy,
     .inputs = 2,
     .count = VM_SAXPY_COUNT,
     .oracle_count = 4096,
     .group = VM_LANES,
     .in_bytes = 4,
     .tolerance = 1e-6f,
     .fill = fill_floats,
     .scalars = saxpy_scalars},
    {.program = &vm_program_mandelbrot,
     .by_hand = &vm_program_hand_mandelbrot,
     .timed = vm_timed_mandelbrot,
     .exact = vm_exact_mandelbrot,
     .count = VM_MANDELBROT_COUNT,
     .oracle_count = 32 * 32,
     .group = VM_LANES,
     /* Another rounding sends points at the edge of the set elsewhere. */
     .may_differ = 0.1,
     .scalars = mandelbrot_scalars},
    {.program = &vm_program_xorshift,
     .by_hand = &vm_program_hand_xorshift,
     .timed = vm_timed_xorshift,
     .exact = vm_exact_xorshift,
     .inputs = 1,
     .count = VM_XORSHIFT_COUNT,
     .oracle_count = VM_LANES,
     .group = VM_LANES,
     .in_bytes = 4,
     .fill = fill_words},
    {.program = &vm_program_polynomial,
     .by_hand = &vm_program_hand_polynomial,
     .timed = vm_timed_polynomial,
     .exact = vm_exact_polynomial,
     .inputs = 1,
     .count = VM_POLYNOMIAL_COUNT,
     .oracle_count = 4096,
     .group = VM_LANES,
     .in_bytes = 4,
     .tolerance = 1e-4f,
     .fill = fill_floats},
    {.program = &vm_program_bytes,
     .by_hand = &vm_program_hand_bytes,
     .timed = vm_timed_bytes,
     .exact = vm_exact_bytes,
     .inputs = 1,
     .count = VM_BYTES_COUNT,
     .oracle_count = VM_BYTES_GROUP,
     .group = VM_BYTES_GROUP,
     .in_bytes = 1,
     .out_bytes = VM_BYTES_BINS * sizeof(uint32_t),
     .adds = 1,
     .fill = fill_bytes},
};

size_t vm_problem_out_bytes(const struct vm_problem *problem, size_t count)
{
    return problem->out_bytes != 0 ? problem->out_bytes : count * sizeof(uint32_t);
}

static size_t floats_that_differ(const float *a, const float *b, size_t n, float tolerance)
{
    size_t differ = 0;
    for (size_t i = 0; i < n; i++)
        differ += !(fabsf(a[i] - b[i]) <= tolerance * fabsf(b[i]));
    return differ;
}

static size_t words_that_differ(const uint32_t *a, const uint32_t *b, size_t n)
{
    size_t differ = 0;
    for (size_t i = 0; i < n; i++)
        differ += a[i] != b[i];
    return differ;
}

int vm_problem_near(const struct vm_problem *problem, const void *out, const void *exact)
{
    size_t n = vm_problem_out_bytes(problem, problem->count) / sizeof(uint32_t);
    size_t differ = problem->tolerance != 0 ? floats_that_differ(out, exact, n, problem->tolerance)
                                            : words_that_differ(out, exact, n);
    return (double)differ <= problem->may_differ * (double)n;
}
