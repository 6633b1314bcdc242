/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Example kernels that bring many elements together: reduce, scan, histogram, softmax, compact.
 */
#include "lang_test.h"

#include <math.h>

static const uint32_t sizes[] = {1, 2, 63, 64, 65, 255, 256, 257, 1000, 5000, 70001};

/* The sums of groups of 256 elements, added in the order of the kernel's tree. */
static uint32_t tree_sums(const float *x, uint32_t n, float *sums)
{
    uint32_t count = groups(n, 256);
    for (uint32_t group = 0; group < count; group++) {
        float part[256];
        for (uint32_t k = 0; k < 256; k++)
            part[k] = group * 256 + k < n ? x[group * 256 + k] : 0.0f;
        for (uint32_t half = 128; half > 0; half /= 2)
            for (uint32_t k = 0; k < half; k++)
                part[k] += part[k + half];
        sums[group] = part[0];
    }
    return count;
}

static void reduce_sum(vyre *rt, uint64_t *seed)
{
    struct kernel kernel = open_kernel(rt, "reduce", "reduce_sum");
    for (size_t s = 0; s < COUNT(sizes); s++) {
        uint32_t n = sizes[s], left = n, launches = 0;
        float *x = random_floats(seed, n), got = 0.0f;
        double sum = 0.0;
        for (uint32_t i = 0; i < n; i++)
            sum += x[i];
        vyre_buffer *from = buffer_of(rt, x, n * 4);
        do {
            uint32_t count = groups(left, 256);
            vyre_buffer *to = buffer_of(rt, NULL, count * 4);
            RUN(&kernel, count, 1, BUFFER("x", from), BUFFER("sums", to));
            vyre_buffer_free(from);
            from = to;
            left = count;
            launches++;
        } while (left > 1);
        fetch(from, &got, 4);
        for (left = n; launches > 0; launches--)
            left = tree_sums(x, left, x);
        same(&got, &x[0], 1, 4, "the sum of %u floats", n);
        ok(fabs(got - sum) <= 1e-4 * (1.0 + sqrt((double)n)), "is about %g", sum);
        vyre_buffer_free(from);
        free(x);
    }
    close_kernel(&kernel);
}

static void reduce_max(vyre *rt, uint64_t *seed)
{
    struct kernel kernel = open_kernel(rt, "reduce", "reduce_max");
    for (size_t s = 0; s < COUNT(sizes); s++) {
        uint32_t n = sizes[s], expected = 0, got = 0;
        uint32_t *x = random_words(seed, n);
        for (uint32_t i = 0; i < n; i++)
            if (x[i] > expected) expected = x[i];
        vyre_buffer *bx = buffer_of(rt, x, n * 4), *most = buffer_of(rt, NULL, 4);
        RUN(&kernel, groups(n, 256), 1, BUFFER("x", bx), BUFFER("most", most));
        fetch(most, &got, 4);
        is_u64(got, expected, "the maximum of %u words", n);
        vyre_buffer_free(bx);
        vyre_buffer_free(most);
        free(x);
    }
    close_kernel(&kernel);
}

/* Prefix sums of a buffer into another, in as many levels as it takes. */
static void scan_level(struct kernel *sum, struct kernel *add, vyre_buffer *x, vyre_buffer *prefix,
                       uint32_t n)
{
    uint32_t count = groups(n, 256);
    vyre_buffer *totals = buffer_of(sum->rt, NULL, count * 4);
    RUN(sum, count, 1, BUFFER("x", x), BUFFER("prefix", prefix), BUFFER("totals", totals));
    if (count > 1) {
        vyre_buffer *before = buffer_of(sum->rt, NULL, count * 4);
        scan_level(sum, add, totals, before, count);
        RUN(add, count, 1, BUFFER("totals", before), BUFFER("prefix", prefix));
        vyre_buffer_free(before);
    }
    vyre_buffer_free(totals);
}

static void scan(vyre *rt, uint64_t *seed)
{
    struct kernel sum = open_kernel(rt, "scan", "scan_groups");
    struct kernel add = open_kernel(rt, "scan", "scan_add");
    for (size_t s = 0; s < COUNT(sizes); s++) {
        uint32_t n = sizes[s], *x = random_words(seed, n), *got = zeroes(n, 4);
        vyre_buffer *bx = buffer_of(rt, x, n * 4), *prefix = buffer_of(rt, NULL, n * 4);
        scan_level(&sum, &add, bx, prefix, n);
        fetch(prefix, got, n * 4);
        for (uint32_t i = 1; i < n; i++)
            x[i] += x[i - 1];
        same(got, x, n, 4, "prefix sums of %u words", n);
        vyre_buffer_free(bx);
        vyre_buffer_free(prefix);
        free(x);
        free(got);
    }
    close_kernel(&sum);
    close_kernel(&add);
}

static void histogram(vyre *rt, uint64_t *seed, const char *name, uint32_t each)
{
    struct kernel kernel = open_kernel(rt, "histogram", name);
    for (size_t s = 0; s < COUNT(sizes); s++) {
        uint32_t n = sizes[s], expected[256] = {0}, got[256];
        uint8_t *bytes = zeroes(n, 1);
        for (uint32_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)(random_next(seed) & random_next(seed));
        for (uint32_t i = 0; i < n; i++)
            expected[bytes[i]] += 2;
        vyre_buffer *from = buffer_of(rt, bytes, n), *counts = buffer_of(rt, NULL, sizeof got);
        for (int round = 0; round < 2; round++)
            RUN(&kernel, groups(n, each), 1, BUFFER("bytes", from), BUFFER("counts", counts));
        fetch(counts, got, sizeof got);
        same(got, expected, 256, 4, "%s of %u bytes, twice", name, n);
        vyre_buffer_free(from);
        vyre_buffer_free(counts);
        free(bytes);
    }
    close_kernel(&kernel);
}

/* exp is vyre's own and within 0.51 units in the last place; the C library's in double is as good
 * as exact. The sum of up to 1,000 terms rounds too, so the whole is right to five digits. */
static void softmax(vyre *rt, uint64_t *seed)
{
    static const uint32_t shapes[][2] = {{1, 1}, {3, 1}, {1, 63}, {5, 64}, {4, 65}, {7, 1000}};
    struct kernel kernel = open_kernel(rt, "softmax", "softmax");
    for (size_t s = 0; s < COUNT(shapes); s++) {
        uint32_t rows = shapes[s][0], width = shapes[s][1], n = rows * width;
        float *x = random_floats(seed, n), *got = zeroes(n, 4);
        for (uint32_t i = 0; i < n; i++)
            x[i] *= 100.0f; /* without the largest taken off, powers are infinite */
        vyre_buffer *bx = buffer_of(rt, x, n * 4), *by = buffer_of(rt, NULL, n * 4);
        RUN(&kernel, rows, 1, U32("width", width), BUFFER("x", bx), BUFFER("y", by));
        fetch(by, got, n * 4);
        double worst = 0.0;
        for (uint32_t row = 0; row < rows; row++) {
            const float *from = x + row * width;
            double top = from[0], sum = 0.0;
            for (uint32_t k = 1; k < width; k++)
                top = fmax(top, from[k]);
            for (uint32_t k = 0; k < width; k++)
                sum += exp(from[k] - top);
            for (uint32_t k = 0; k < width; k++) {
                double expected = exp(from[k] - top) / sum;
                double apart = fabs(got[row * width + k] - expected);
                worst = fmax(worst, apart / fmax(expected, 1e-30));
            }
        }
        ok(worst < 1e-5, "softmax of %u rows of %u: relative error %.2g", rows, width, worst);
        vyre_buffer_free(bx);
        vyre_buffer_free(by);
        free(x);
        free(got);
    }
    close_kernel(&kernel);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void compact(vyre *rt, uint64_t *seed)
{
    static const uint32_t limits[] = {0, 1u << 28, 1u << 31, UINT32_MAX};
    struct kernel kernel = open_kernel(rt, "compact", "compact");
    kernel.unordered = true;
    for (size_t s = 0; s < COUNT(sizes) * COUNT(limits); s++) {
        uint32_t n = sizes[s / COUNT(limits)], limit = limits[s % COUNT(limits)], count, kept = 0;
        uint32_t *x = random_words(seed, n), *got = zeroes(n, 4);
        for (uint32_t i = 0; i < n; i += 5)
            x[i] = limit; /* not below it */
        vyre_buffer *bx = buffer_of(rt, x, n * 4), *to = buffer_of(rt, NULL, n * 4),
                    *counter = buffer_of(rt, NULL, 4);
        RUN(&kernel, groups(n, 64), 1, U32("limit", limit), BUFFER("x", bx),
            BUFFER("count", counter), BUFFER("kept", to));
        fetch(counter, &count, 4);
        fetch(to, got, n * 4);
        for (uint32_t i = 0; i < n; i++)
            if (x[i] < limit) x[kept++] = x[i];
        qsort(x, kept, 4, by_value);
        if (is_u64(count, kept, "of %u words below 0x%x", n, limit)) {
            qsort(got, kept, 4, by_value);
            same(got, x, kept, 4, "exactly those are kept");
        }
        vyre_buffer_free(bx);
        vyre_buffer_free(to);
        vyre_buffer_free(counter);
        free(x);
        free(got);
    }
    close_kernel(&kernel);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    vyre *rt = open_cpu(2);
    reduce_sum(rt, &seed);
    reduce_max(rt, &seed);
    scan(rt, &seed);
    histogram(rt, &seed, "histogram", 64);
    histogram(rt, &seed, "histogram_private", 4096);
    softmax(rt, &seed);
    compact(rt, &seed);
    vyre_close(rt);
    return done();
}
