/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Example kernels over two axes, and bodies: transpose, matmul, heat, life, mandelbrot, nbody. Each
 * has one order of operations, so floats are compared bit by bit too.
 */
#include "lang_test.h"

#include <math.h>

static const uint32_t shapes[][2] = {{1, 1},   {1, 40},  {40, 1},  {15, 16},
                                     {16, 16}, {17, 33}, {64, 48}, {130, 70}};

static void transpose(vyre *rt, uint64_t *seed)
{
    struct kernel kernel = open_kernel(rt, "transpose", "transpose");
    for (size_t s = 0; s < COUNT(shapes); s++) {
        uint32_t width = shapes[s][0], height = shapes[s][1], n = width * height;
        float *x = random_floats(seed, n), *got = zeroes(n, 4), *expected = zeroes(n, 4);
        vyre_buffer *bx = buffer_of(rt, x, n * 4), *by = buffer_of(rt, NULL, n * 4);
        RUN(&kernel, groups(width, 16), groups(height, 16), U32("width", width), BUFFER("x", bx),
            BUFFER("y", by));
        fetch(by, got, n * 4);
        for (uint32_t i = 0; i < n; i++)
            expected[i % width * height + i / width] = x[i];
        same(got, expected, n, 4, "%u by %u transposed", width, height);
        vyre_buffer_free(bx);
        vyre_buffer_free(by);
        free(x);
        free(got);
        free(expected);
    }
    close_kernel(&kernel);
}

static void matmul(vyre *rt, uint64_t *seed)
{
    static const uint32_t sizes[][3] = {{1, 1, 1},    {1, 5, 3},    {16, 16, 16}, {17, 1, 18},
                                        {20, 33, 50}, {70, 64, 31}, {3, 200, 2}};
    struct kernel kernel = open_kernel(rt, "matmul", "matmul");
    for (size_t s = 0; s < COUNT(sizes); s++) {
        uint32_t m = sizes[s][0], k = sizes[s][1], n = sizes[s][2];
        float *a = random_floats(seed, m * k), *b = random_floats(seed, k * n);
        float *got = zeroes(m * n, 4), *expected = zeroes(m * n, 4);
        vyre_buffer *ba = buffer_of(rt, a, m * k * 4), *bb = buffer_of(rt, b, k * n * 4),
                    *bc = buffer_of(rt, NULL, m * n * 4);
        RUN(&kernel, groups(n, 16), groups(m, 16), BUFFER("a", ba), BUFFER("b", bb),
            BUFFER("c", bc));
        fetch(bc, got, m * n * 4);
        for (uint32_t i = 0; i < m * n; i++)
            for (uint32_t t = 0; t < k; t++)
                expected[i] += a[i / n * k + t] * b[t * n + i % n];
        same(got, expected, m * n, 4, "%u by %u times %u by %u", m, k, k, n);
        vyre_buffer_free(ba);
        vyre_buffer_free(bb);
        vyre_buffer_free(bc);
        free(a);
        free(b);
        free(got);
        free(expected);
    }
    close_kernel(&kernel);
}

static void heat_step(const float *now, float *next, uint32_t width, uint32_t height, float rate)
{
    for (uint32_t at = 0; at < width * height; at++) {
        uint32_t x = at % width, y = at / width;
        next[at] = now[at];
        if (x == 0 || y == 0 || x == width - 1 || y == height - 1) continue;
        float around = now[at - width] + now[at - 1] + now[at + 1] + now[at + width];
        next[at] = now[at] + rate * (around - 4.0f * now[at]);
    }
}

static void heat(vyre *rt, uint64_t *seed)
{
    struct kernel kernel = open_kernel(rt, "heat", "heat");
    for (size_t s = 0; s < COUNT(shapes); s++) {
        uint32_t width = shapes[s][0], height = shapes[s][1], n = width * height;
        float *now = random_floats(seed, n), *next = zeroes(n, 4), *got = zeroes(n, 4);
        vyre_buffer *b[2] = {buffer_of(rt, now, n * 4), buffer_of(rt, NULL, n * 4)};
        for (int step = 0; step < 5; step++) {
            RUN(&kernel, groups(width, 16), groups(height, 16), U32("width", width),
                F32("rate", 0.2f), BUFFER("now", b[step % 2]), BUFFER("next", b[1 - step % 2]));
            heat_step(now, next, width, height, 0.2f);
            memcpy(now, next, n * sizeof *now);
        }
        fetch(b[1], got, n * 4);
        same(got, now, n, 4, "5 steps of heat on %u by %u", width, height);
        vyre_buffer_free(b[0]);
        vyre_buffer_free(b[1]);
        free(now);
        free(next);
        free(got);
    }
    close_kernel(&kernel);
}

static void life_step(const uint8_t *now, uint8_t *next, uint32_t width, uint32_t height)
{
    for (uint32_t at = 0; at < width * height; at++) {
        uint32_t around = 0;
        for (uint32_t k = 0; k < 9; k++) {
            uint32_t x = (at % width + width + k % 3 - 1) % width;
            uint32_t y = (at / width + height + k / 3 - 1) % height;
            if (k != 4) around += now[y * width + x];
        }
        next[at] = around == 3 || (around == 2 && now[at]);
    }
}

static void life(vyre *rt, uint64_t *seed)
{
    struct kernel kernel = open_kernel(rt, "life", "life");
    for (size_t s = 0; s < COUNT(shapes); s++) {
        uint32_t width = shapes[s][0], height = shapes[s][1], n = width * height;
        uint8_t *now = zeroes(n, 1), *next = zeroes(n, 1), *got = zeroes(n, 1);
        for (uint32_t i = 0; i < n; i++)
            now[i] = random_below(seed, 3) == 0;
        vyre_buffer *b[2] = {buffer_of(rt, now, n), buffer_of(rt, NULL, n)};
        for (int step = 0; step < 4; step++) {
            RUN(&kernel, groups(width, 16), groups(height, 16), U32("width", width),
                BUFFER("now", b[step % 2]), BUFFER("next", b[1 - step % 2]));
            life_step(now, next, width, height);
            memcpy(now, next, n);
            fetch(b[1 - step % 2], got, n);
            if (memcmp(got, now, n) != 0) break;
        }
        same(got, now, n, 1, "4 generations of life on %u by %u", width, height);
        vyre_buffer_free(b[0]);
        vyre_buffer_free(b[1]);
        free(now);
        free(next);
        free(got);
    }
    close_kernel(&kernel);
}

static uint32_t escape(float cx, float cy, uint32_t limit)
{
    float x = 0.0f, y = 0.0f;
    for (uint32_t steps = 0; steps < limit; steps++) {
        float xx = x * x, yy = y * y;
        if (xx + yy > 4.0f) return steps;
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
    }
    return limit;
}

static void mandelbrot(vyre *rt)
{
    struct kernel kernel = open_kernel(rt, "mandelbrot", "mandelbrot");
    for (size_t s = 0; s < COUNT(shapes); s++) {
        uint32_t width = shapes[s][0], height = shapes[s][1], n = width * height, limit = 300;
        float left = -2.0f, top = -1.25f, step = 3.0f / (float)width;
        uint32_t *got = zeroes(n, 4), *expected = zeroes(n, 4);
        vyre_buffer *counts = buffer_of(rt, NULL, n * 4);
        RUN(&kernel, groups(width, 8), groups(height, 8), U32("width", width), U32("limit", limit),
            F32("left", left), F32("top", top), F32("step", step), BUFFER("counts", counts));
        fetch(counts, got, n * 4);
        for (uint32_t i = 0; i < n; i++)
            expected[i] =
                escape(left + (float)(i % width) * step, top + (float)(i / width) * step, limit);
        same(got, expected, n, 4, "the Mandelbrot set on %u by %u", width, height);
        vyre_buffer_free(counts);
        free(got);
        free(expected);
    }
    close_kernel(&kernel);
}

static void nbody_step(const float *now, float *velocity, float *next, uint32_t n, float time)
{
    for (uint32_t i = 0; i < n; i++) {
        const float *own = now + 4 * i;
        float a[3] = {0.0f, 0.0f, 0.0f};
        for (uint32_t k = 0; k < n; k++) {
            const float *other = now + 4 * k;
            float dx = other[0] - own[0], dy = other[1] - own[1], dz = other[2] - own[2];
            float square = dx * dx + dy * dy + dz * dz + 0.01f;
            float pull = other[3] / (square * sqrtf(square));
            a[0] += pull * dx;
            a[1] += pull * dy;
            a[2] += pull * dz;
        }
        for (uint32_t part = 0; part < 3; part++) {
            velocity[3 * i + part] += time * a[part];
            next[4 * i + part] = own[part] + time * velocity[3 * i + part];
        }
        next[4 * i + 3] = own[3];
    }
}

static void nbody(vyre *rt, uint64_t *seed)
{
    static const uint32_t sizes[] = {1, 2, 63, 64, 65, 200};
    struct kernel kernel = open_kernel(rt, "nbody", "nbody");
    for (size_t s = 0; s < COUNT(sizes); s++) {
        uint32_t n = sizes[s];
        float *now = random_floats(seed, 4 * n), *velocity = random_floats(seed, 3 * n);
        float *next = zeroes(4 * n, 4), *got = zeroes(4 * n, 4);
        for (uint32_t i = 0; i < n; i++)
            now[4 * i + 3] = fabsf(now[4 * i + 3]);
        vyre_buffer *b[2] = {buffer_of(rt, now, 16 * n), buffer_of(rt, NULL, 16 * n)};
        vyre_buffer *speeds = buffer_of(rt, velocity, 12 * n);
        for (int step = 0; step < 3; step++) {
            RUN(&kernel, groups(n, 64), 1, F32("time", 0.01f), BUFFER("now", b[step % 2]),
                BUFFER("velocity", speeds), BUFFER("next", b[1 - step % 2]));
            nbody_step(now, velocity, next, n, 0.01f);
            memcpy(now, next, 16 * n);
        }
        fetch(b[1], got, 16 * n);
        same(got, now, 4 * n, 4, "places of %u bodies after 3 steps", n);
        fetch(speeds, got, 12 * n);
        same(got, velocity, 3 * n, 4, "and their velocities");
        vyre_buffer_free(b[0]);
        vyre_buffer_free(b[1]);
        vyre_buffer_free(speeds);
        free(now);
        free(velocity);
        free(next);
        free(got);
    }
    close_kernel(&kernel);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    vyre *rt = open_cpu(2);
    transpose(rt, &seed);
    matmul(rt, &seed);
    heat(rt, &seed);
    life(rt, &seed);
    mandelbrot(rt);
    nbody(rt, &seed);
    vyre_close(rt);
    return done();
}
