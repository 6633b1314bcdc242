/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The programs of `vyre bench vm` in plain C, as one would write them for the compiler to make the
 * best of: nothing overlaps, sizes and constants are known. Compiled twice, with VM_PEER_PREFIX
 * naming the functions; see vm_peers.h.
 *
 * The functions are called through pointers from another file, and what they write is looked at, so
 * nothing can be left out.
 */
#include <string.h>

#include "vm_peers.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define PEER(name)  JOIN(VM_PEER_PREFIX, name)

#define XORSHIFT_LANES 64u

static float as_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void PEER(saxpy)(const struct vm_arrays *arrays)
{
    const float *restrict x = arrays->in[0];
    const float *restrict y = arrays->in[1];
    float *restrict out = arrays->out;
    float a = as_float(arrays->scalar[0]);
    size_t n = arrays->count;
    for (size_t i = 0; i < n; i++)
        out[i] = a * x[i] + y[i];
}

void PEER(mandelbrot)(const struct vm_arrays *arrays)
{
    uint32_t *restrict out = arrays->out;
    uint32_t width = arrays->scalar[0];
    float step = as_float(arrays->scalar[1]);
    uint32_t n = (uint32_t)arrays->count;
    for (uint32_t i = 0; i < n; i++) {
        float cx = (float)(i % width) * step + VM_MANDELBROT_LEFT;
        float cy = (float)(i / width) * step + VM_MANDELBROT_TOP;
        float x = 0, y = 0, xx = 0, yy = 0;
        uint32_t rounds = 0;
        while (rounds < VM_MANDELBROT_ROUNDS && xx + yy <= 4.0f) {
            y = 2.0f * x * y + cy;
            x = xx - yy + cx;
            xx = x * x;
            yy = y * y;
            rounds++;
        }
        out[i] = rounds;
    }
}

/* A few lanes side by side, as a compiler can put them into vectors; one lane after the other would
 * be several times slower. */
static void xorshift_lanes(uint32_t *restrict x)
{
    for (uint32_t round = 0; round < VM_XORSHIFT_ROUNDS; round++) {
        for (uint32_t lane = 0; lane < XORSHIFT_LANES; lane++) {
            x[lane] ^= x[lane] << 13;
            x[lane] ^= x[lane] >> 17;
            x[lane] ^= x[lane] << 5;
        }
    }
}

void PEER(xorshift)(const struct vm_arrays *arrays)
{
    const uint32_t *restrict in = arrays->in[0];
    uint32_t *restrict out = arrays->out;
    for (size_t i = 0; i < arrays->count; i += XORSHIFT_LANES) {
        uint32_t x[XORSHIFT_LANES];
        memcpy(x, in + i, sizeof x);
        xorshift_lanes(x);
        memcpy(out + i, x, sizeof x);
    }
}

void PEER(polynomial)(const struct vm_arrays *arrays)
{
    static const float c[VM_POLYNOMIAL_TERMS] = VM_POLYNOMIAL_COEFFICIENTS;
    const float *restrict in = arrays->in[0];
    float *restrict out = arrays->out;
    size_t n = arrays->count;
    for (size_t i = 0; i < n; i++) {
        float x = in[i];
        float sum = c[0];
        for (uint32_t k = 1; k < VM_POLYNOMIAL_TERMS; k++)
            sum = sum * x + c[k];
        out[i] = sum;
    }
}

/* Each stripe in one piece, with its table in the cache: the best order for one thread. */
static void count_group(const uint32_t *restrict in, uint32_t (*restrict counts)[VM_BYTES_BINS])
{
    for (uint32_t lane = 0; lane < VM_BYTES_LANES; lane++) {
        for (uint32_t k = 0; k < VM_BYTES_WORDS; k++) {
            uint32_t word = in[lane * VM_BYTES_WORDS + k];
            counts[lane][word & 255u]++;
            counts[lane][word >> 8 & 255u]++;
            counts[lane][word >> 16 & 255u]++;
            counts[lane][word >> 24]++;
        }
    }
}

void PEER(bytes)(const struct vm_arrays *arrays)
{
    uint32_t counts[VM_BYTES_LANES][VM_BYTES_BINS];
    const uint32_t *restrict in = arrays->in[0];
    uint32_t *restrict out = arrays->out;
    size_t groups = arrays->count / VM_BYTES_GROUP;
    for (size_t group = 0; group < groups; group++) {
        memset(counts, 0, sizeof counts);
        count_group(in + group * (VM_BYTES_GROUP / 4), counts);
        for (uint32_t lane = 0; lane < VM_BYTES_LANES; lane++)
            for (uint32_t bin = 0; bin < VM_BYTES_BINS; bin++)
                out[bin] += counts[lane][bin];
    }
}

#if defined(VM_PEER_FLAGS)
const char *vm_peer_flags(void)
{
    return VM_PEER_FLAGS;
}
#endif
