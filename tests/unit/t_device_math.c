/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The functions of device/math.h: special values, errors against the C library in double, and that
 * the bits depend neither on the compiler (a checksum of each function is written here) nor on
 * whether the processor takes subnormal operands for zero. tests/slow/t_math_all.c looks at all
 * arguments.
 *
 * Arguments: seed of the sample whose errors are measured. The checksums have a sample of their
 * own.
 */
#include "tap.h"

#include "math_reference.h"

#if defined(__SSE2__)
#    include <xmmintrin.h>
#endif

#define LIMIT          0.51 /* units in the last place; the contract is 2 */
#define RANDOM         200000u
#define AROUND         256u /* neighbours on either side of a special argument */
#define TURNS          4000u
#define CHECKSUM_SEED  0x5EED5EED5EED5EEDu
#define SUBNORMAL_ZERO 0x0040u /* denormals-are-zero, in the x86 control word */

#define NAN_BITS 0x7FC00000u
#define INF_BITS 0x7F800000u
#define ONE      0x3F800000u
#define SIGN     0x80000000u

struct special {
    const char *name;
    uint32_t in, out;
};

static const struct special specials[] = {
    {"sin", 0, 0},
    {"sin", SIGN, SIGN},
    {"sin", 0x00000001u, 0},
    {"sin", 0x807FFFFFu, SIGN},
    {"sin", 0x00800000u, 0x00800000u},
    {"sin", INF_BITS, NAN_BITS},
    {"sin", 0x3FC90FDBu, ONE},         /* pi/2 */
    {"sin", 0x40490FDBu, 0xB3BBBD2Eu}, /* pi */
    {"cos", 0, ONE},
    {"cos", SIGN, ONE},
    {"cos", 0x007FFFFFu, ONE},
    {"cos", INF_BITS | SIGN, NAN_BITS},
    {"cos", 0x40490FDBu, 0xBF800000u},
    {"tan", 0, 0},
    {"tan", SIGN, SIGN},
    {"tan", 0x80000001u, SIGN},
    {"tan", INF_BITS, NAN_BITS},
    {"tan", 0x3FC90FDBu, 0xCBAE8A4Au}, /* pi/2, rounded up */
    {"asin", SIGN, SIGN},
    {"asin", 0x00000001u, 0},
    {"asin", ONE, 0x3FC90FDBu},
    {"asin", ONE | SIGN, 0xBFC90FDBu},
    {"asin", 0x3F800001u, NAN_BITS},
    {"asin", INF_BITS, NAN_BITS},
    {"acos", ONE, 0},
    {"acos", ONE | SIGN, 0x40490FDBu},
    {"acos", 0, 0x3FC90FDBu},
    {"acos", 0x80000001u, 0x3FC90FDBu},
    {"acos", 0xBF800001u, NAN_BITS},
    {"acos", INF_BITS | SIGN, NAN_BITS},
    {"atan", SIGN, SIGN},
    {"atan", 0x807FFFFFu, SIGN},
    {"atan", ONE, 0x3F490FDBu},
    {"atan", INF_BITS, 0x3FC90FDBu},
    {"atan", INF_BITS | SIGN, 0xBFC90FDBu},
    {"sinh", SIGN, SIGN},
    {"sinh", 0x007FFFFFu, 0},
    {"sinh", 0x42B2D4FCu, 0x7F7FFFECu}, /* the last finite one */
    {"sinh", 0x42B2D4FDu, INF_BITS},
    {"sinh", INF_BITS | SIGN, INF_BITS | SIGN},
    {"cosh", SIGN, ONE},
    {"cosh", 0x00000001u, ONE},
    {"cosh", 0xC2B2D4FDu, INF_BITS},
    {"cosh", INF_BITS | SIGN, INF_BITS},
    {"tanh", SIGN, SIGN},
    {"tanh", 0x80000001u, SIGN},
    {"tanh", 0x41200000u, ONE}, /* 10 */
    {"tanh", INF_BITS, ONE},
    {"tanh", INF_BITS | SIGN, ONE | SIGN},
    {"exp", 0, ONE},
    {"exp", SIGN, ONE},
    {"exp", 0x007FFFFFu, ONE},
    {"exp", 0x42B17217u, 0x7F7FFF84u}, /* the last finite one */
    {"exp", 0x42B17218u, INF_BITS},
    {"exp", 0xC2AEAC4Fu, 0x00800026u}, /* the last normal one */
    {"exp", 0xC2AEAC50u, 0},
    {"exp", INF_BITS, INF_BITS},
    {"exp", INF_BITS | SIGN, 0},
    {"exp2", SIGN, ONE},
    {"exp2", 0x42FE0000u, 0x7F000000u}, /* 127 */
    {"exp2", 0x43000000u, INF_BITS},    /* 128 */
    {"exp2", 0xC2FC0000u, 0x00800000u}, /* -126 */
    {"exp2", 0xC2FC0001u, 0},
    {"exp2", 0xC3160000u, 0}, /* -150 */
    {"exp2", INF_BITS | SIGN, 0},
    {"exp2", 0x80000001u, ONE},
    {"log", ONE, 0},
    {"log", 0, INF_BITS | SIGN},
    {"log", SIGN, INF_BITS | SIGN},
    {"log", 0x007FFFFFu, INF_BITS | SIGN},
    {"log", 0x807FFFFFu, INF_BITS | SIGN},
    {"log", 0x80800000u, NAN_BITS},
    {"log", INF_BITS, INF_BITS},
    {"log", INF_BITS | SIGN, NAN_BITS},
    {"log2", ONE, 0},
    {"log2", 0x00800000u, 0xC2FC0000u},
    {"log2", 0x7F000000u, 0x42FE0000u},
    {"log2", 0x3F000000u, ONE | SIGN},
    {"log2", SIGN, INF_BITS | SIGN},
    {"log2", ONE | SIGN, NAN_BITS},
    {"log2", INF_BITS, INF_BITS},
};

/* Ends of domains, of ranges and of the pieces that the functions are made of. */
static const uint32_t corners[] = {
    0x00000200u, /* subnormal */
    0x00800000u, /* the smallest normal number */
    0x33000000u, /* 2^-25 */
    0x39800000u, /* 2^-12 */
    0x3EB17218u, /* ln(2)/2 */
    0x3ED413CDu, /* tan(pi/8) */
    0x3F000000u, /* 1/2 */
    0x3F3504F3u, /* sqrt(1/2) */
    0x3F490FDBu, /* pi/4 */
    0x3F800000u, /* 1 */
    0x3FB504F3u, /* sqrt(2) */
    0x401A827Au, /* tan(3 pi/8) */
    0x41102CB4u, /* tanh begins to be 1 */
    0x41800000u, /* 16 */
    0x42AEAC50u, /* exp(-x) ceases to be normal */
    0x42B17218u, /* exp(x) overflows */
    0x42B2D4FCu, /* sinh and cosh overflow */
    0x42CFF1B5u, /* exp(-x) ceases to be subnormal */
    0x42E00000u, /* 112 */
    0x42FC0000u, /* 126 */
    0x43000000u, /* 128 */
    0x43150000u, /* 149 */
    0x43200000u, /* 160 */
    0x4B000000u, /* 2^23: far arguments of sin, cos and tan */
    0x7A4F9000u, /* some far ones */
    0x7F7FFF00u, /* the largest numbers, infinity, NaN */
};

/* Where some function is so near to the middle between two results that a fused multiply-add, which
 * changes a double in its last bit, tips it over. There are but a few in all 2^32. */
static const uint32_t balanced[] = {0x418DF9D3u, 0x41665D6Au, 0x456A43D0u, 0xC03A35E5u};

/* The bits that every compiler and every processor gives, over the sample of CHECKSUM_SEED and the
 * balanced arguments. */
static const struct {
    const char *name;
    uint64_t sum;
} checksums[] = {
    {"sin", 0x3C5F926FC08D8863u},  {"cos", 0xAE5F1620E5C8D6C0u},  {"tan", 0x75A79D899789FC90u},
    {"asin", 0x1F1C4C19B9E80D01u}, {"acos", 0x5723ED9D45DF1543u}, {"atan", 0xD7FFBC1208196949u},
    {"sinh", 0xE44F8B44D8F4B9D9u}, {"cosh", 0xF8EDF3CE3C99F71Au}, {"tanh", 0x532674389F763F06u},
    {"exp", 0x13997B95AB354DD0u},  {"exp2", 0x5D34DE1EAAC13B70u}, {"log", 0xB722CB02DCC1021Au},
    {"log2", 0xA6CEE09512CBF289u},
};

static uint32_t in[RANDOM + sizeof corners / sizeof corners[0] * 4 * AROUND + TURNS * 6];
static uint32_t out[sizeof in / sizeof in[0]], again[sizeof in / sizeof in[0]];

static uint64_t next(uint64_t *generator)
{
    uint64_t z = *generator += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* Half of them any bits, half of a magnitude from 2^-20 to 2^12. */
static size_t fill_random(uint64_t seed)
{
    for (uint32_t i = 0; i < RANDOM; i++) {
        uint64_t draw = next(&seed);
        uint32_t exponent = 107 + (uint32_t)(draw >> 32) % 32;
        in[i] = (uint32_t)draw;
        if (i % 2) in[i] = (in[i] & 0x807FFFFFu) | exponent << 23;
    }
    return RANDOM;
}

static size_t fill(uint64_t seed)
{
    size_t count = fill_random(seed);
    for (size_t i = 0; i < sizeof corners / sizeof corners[0]; i++) {
        for (uint32_t j = 0; j < 2 * AROUND; j++) {
            in[count++] = corners[i] - AROUND + j;
            in[count++] = (corners[i] - AROUND + j) ^ SIGN;
        }
    }
    for (uint32_t i = 1; i <= TURNS; i++) { /* near multiples of pi/2, some of them far */
        uint32_t turns = i <= TURNS / 2 ? i : (uint32_t)next(&seed) >> 4;
        float near = (float)(turns * 0x1.921fb54442d18p+0);
        memcpy(&in[count], &near, sizeof near);
        for (uint32_t j = 0; j < 6; j++)
            in[count + j] = (in[count] + j) ^ (j % 2 ? SIGN : 0);
        count += 6;
    }
    return count;
}

static void test_specials(void)
{
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
        const struct special *special = &specials[i];
        size_t f = 0;
        while (f < MATH_FUNCTIONS && strcmp(math_functions[f].name, special->name) != 0)
            f++;
        if (f == MATH_FUNCTIONS) bail("no function %s", special->name);
        is_u64(math_functions[f].one(special->in), special->out, "%s of 0x%08" PRIX32,
               special->name, special->in);
    }
    for (size_t f = 0; f < MATH_FUNCTIONS; f++) {
        static const uint32_t nans[] = {0x7F800001u, 0x7FC00000u, 0xFFC00001u, 0xFFFFFFFFu};
        for (size_t i = 0; i < sizeof nans / sizeof nans[0]; i++)
            is_u64(math_functions[f].one(nans[i]), NAN_BITS, "%s of 0x%08" PRIX32,
                   math_functions[f].name, nans[i]);
    }
}

static void test_errors(const struct math_function *function, size_t count)
{
    double worst = 0;
    uint32_t worst_at = 0;
    for (size_t i = 0; i < count; i++) {
        double distance = math_distance(function->one(in[i]), math_exact(function, in[i]));
        if (distance <= worst) continue;
        worst = distance;
        worst_at = in[i];
    }
    ok(worst <= LIMIT && worst > 0, "%s is within %.2f ULP: largest error %.6f at 0x%08" PRIX32,
       function->name, LIMIT, worst, worst_at);
}

/* Lanes, in place and in pieces of every length up to 130, against single values. */
static void test_lanes(const struct math_function *function, size_t count)
{
    size_t at = 0, wrong = 0;
    memcpy(again, in, sizeof again);
    for (uint32_t size = 0; at + size <= count; size = (size + 1) % 131) {
        function->lanes(again + at, again + at, size);
        at += size;
    }
    for (size_t i = 0; i < at; i++)
        wrong += again[i] != function->one(in[i]);
    is_u64(wrong, 0, "%s: %zu values as lanes and one by one", function->name, at);
}

static void test_modes(const struct math_function *function, size_t count)
{
#if defined(__SSE2__)
    unsigned mode = _mm_getcsr();
    _mm_setcsr(mode & ~SUBNORMAL_ZERO);
    function->lanes(out, in, (uint32_t)count);
    _mm_setcsr(mode | SUBNORMAL_ZERO);
    function->lanes(again, in, (uint32_t)count);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += again[i] != out[i] || function->one(in[i]) != out[i];
    _mm_setcsr(mode);
    is_u64(wrong, 0, "%s: the same bits whether subnormal operands are zero or not",
           function->name);
#else
    (void)count;
    skip("%s: this processor has no such mode that the test knows", function->name);
#endif
}

static void test_checksum(const struct math_function *function, size_t count)
{
    uint64_t sum = 0xCBF29CE484222325u, expected = 0;
    function->lanes(out, in, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        for (uint32_t shift = 0; shift < 32; shift += 8)
            sum = (sum ^ (out[i] >> shift & 0xFFu)) * 0x100000001B3u;
    for (size_t i = 0; i < sizeof checksums / sizeof checksums[0]; i++)
        if (strcmp(checksums[i].name, function->name) == 0) expected = checksums[i].sum;
    is_u64(sum, expected, "%s: the bits of every other compiler", function->name);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20240607;
    note("seed %" PRIu64, seed);
    test_specials();
    size_t count = fill(seed);
    for (size_t f = 0; f < MATH_FUNCTIONS; f++) {
        test_errors(&math_functions[f], count);
        test_lanes(&math_functions[f], count);
        test_modes(&math_functions[f], count);
    }
    /* Only what integers make: the rest of a sample comes from floating-point arithmetic. */
    count = fill_random(CHECKSUM_SEED);
    for (size_t i = 0; i < sizeof balanced / sizeof balanced[0]; i++)
        in[count++] = balanced[i];
    for (size_t f = 0; f < MATH_FUNCTIONS; f++)
        test_checksum(&math_functions[f], count);
    return done();
}
