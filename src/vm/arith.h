/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the instructions of opcodes.def compute, one lane at a time, on bits. In the common subset
 * of C and CUDA and without branches where that is possible, so that compilers make vector code of
 * a loop over lanes.
 *
 * Floats. VIR0 rounds as IEEE does, subnormals included, and then flushes a subnormal result to the
 * zero of its sign; NaN is always 0x7fc00000. Nobody can see the bits of a float before it is
 * stored (F2BITS, STF32), and any NaN acts like any other; so NaN is canonicalised there only. A
 * subnormal would act differently from zero, so it is flushed: by whoever made it (VM_FLUSH), or,
 * where the processor reads subnormal operands as zero without flushing results (x86: DAZ without
 * FTZ), by whoever reads it, for nothing. VM_LAZY_FLUSH says that this is so: the interpreter's
 * build sets it and enters that mode. Both ways give the same bits.
 */
#ifndef VYRE_VM_ARITH_H
#define VYRE_VM_ARITH_H

#include <stdint.h>
#include <string.h>

#if defined(__CUDACC__)
#    define VM_FN static __device__ __forceinline__
#else
#    define VM_FN static inline __attribute__((unused, always_inline))
#endif

VM_FN float vm_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

VM_FN uint32_t vm_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* A subnormal becomes the zero of its sign. */
VM_FN uint32_t vm_flush_now(uint32_t bits)
{
    return (bits & 0x7F800000u) == 0 ? bits & 0x80000000u : bits;
}

#if defined(VM_LAZY_FLUSH)
#    define VM_FLUSH(bits) (bits)
#else
#    define VM_FLUSH(bits) vm_flush_now(bits)
#endif

/* The bits that a float has in memory. */
VM_FN uint32_t vm_canon(uint32_t bits)
{
    uint32_t flushed = vm_flush_now(bits);
    return (bits & 0x7FFFFFFFu) > 0x7F800000u ? 0x7FC00000u : flushed;
}

#if defined(__CUDACC__)
/* The intrinsics round once each and are never contracted. */
#    define VM_ADD(a, b)    __fadd_rn(a, b)
#    define VM_MUL(a, b)    __fmul_rn(a, b)
#    define VM_DIV(a, b)    __fdiv_rn(a, b)
#    define VM_SQRT(a)      __fsqrt_rn(a)
#    define VM_FMA(a, b, c) __fmaf_rn(a, b, c)
#else
#    define VM_ADD(a, b) ((a) + (b))
#    define VM_MUL(a, b) ((a) * (b))
#    define VM_DIV(a, b) ((a) / (b))
#    define VM_SQRT(a)   __builtin_sqrtf(a)
#    if defined(__FMA__) || defined(__aarch64__)
#        define VM_FMA(a, b, c) __builtin_fmaf(a, b, c)
#    endif
#endif

VM_FN uint32_t vm_fadd(uint32_t a, uint32_t b)
{
    return VM_FLUSH(vm_bits(VM_ADD(vm_float(a), vm_float(b))));
}

VM_FN uint32_t vm_fsub(uint32_t a, uint32_t b)
{
    return VM_FLUSH(vm_bits(VM_ADD(vm_float(a), -vm_float(b))));
}

VM_FN uint32_t vm_fmul(uint32_t a, uint32_t b)
{
    return VM_FLUSH(vm_bits(VM_MUL(vm_float(a), vm_float(b))));
}

VM_FN uint32_t vm_fdiv(uint32_t a, uint32_t b)
{
    return VM_FLUSH(vm_bits(VM_DIV(vm_float(a), vm_float(b))));
}

VM_FN uint32_t vm_fsqrt(uint32_t a)
{
    return vm_bits(VM_SQRT(vm_float(a)));
}

/*
 * One rounding. With the instruction it is one; without it, by way of double: the product of two
 * floats is exact there, the sum is not always, so it is rounded to odd (its last bit remembers
 * what was cut off) before the final rounding.
 */
VM_FN uint32_t vm_fma(uint32_t a, uint32_t b, uint32_t c)
{
#if defined(VM_FMA)
    return VM_FLUSH(vm_bits(VM_FMA(vm_float(a), vm_float(b), vm_float(c))));
#else
    double product = (double)vm_float(vm_flush_now(a)) * (double)vm_float(vm_flush_now(b));
    double addend = (double)vm_float(vm_flush_now(c));
    double sum = product + addend;
    double part = sum - product;
    double rest = (product - (sum - part)) + (addend - part);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    /* `rest` is what the sum lacks, exactly. If the last bit is even, step toward the rest. */
    if (rest == rest && rest != 0.0 && (bits & 1) == 0 && sum - sum == 0.0) {
        int up = (rest > 0.0) == (sum > 0.0);
        bits += up ? 1u : ~(uint64_t)0;
        memcpy(&sum, &bits, sizeof sum);
    }
    return VM_FLUSH(vm_bits((float)sum));
#endif
}

VM_FN uint32_t vm_feq(uint32_t a, uint32_t b)
{
    return vm_float(a) == vm_float(b) ? 1u : 0u;
}

VM_FN uint32_t vm_flt(uint32_t a, uint32_t b)
{
    return vm_float(a) < vm_float(b) ? 1u : 0u;
}

VM_FN uint32_t vm_fle(uint32_t a, uint32_t b)
{
    return vm_float(a) <= vm_float(b) ? 1u : 0u;
}

/* Floats in their order as unsigned numbers, -0 before +0. */
VM_FN uint32_t vm_forder(uint32_t bits)
{
    return bits ^ ((0u - (bits >> 31)) | 0x80000000u);
}

VM_FN uint32_t vm_fisnan(uint32_t bits)
{
    return (bits & 0x7FFFFFFFu) > 0x7F800000u ? 1u : 0u;
}

VM_FN uint32_t vm_fmin(uint32_t a, uint32_t b)
{
    uint32_t x = vm_flush_now(a), y = vm_flush_now(b);
    uint32_t least = vm_forder(x) < vm_forder(y) ? x : y;
    uint32_t other = vm_fisnan(x) ? y : x;
    return vm_fisnan(x) | vm_fisnan(y) ? other : least;
}

VM_FN uint32_t vm_fmax(uint32_t a, uint32_t b)
{
    uint32_t x = vm_flush_now(a), y = vm_flush_now(b);
    uint32_t most = vm_forder(x) > vm_forder(y) ? x : y;
    uint32_t other = vm_fisnan(x) ? y : x;
    return vm_fisnan(x) | vm_fisnan(y) ? other : most;
}

/* Toward zero, by clearing the bits below the point. */
VM_FN uint32_t vm_ftrunc(uint32_t a)
{
    uint32_t x = vm_flush_now(a);
    uint32_t exponent = (x >> 23) & 0xFFu;
    uint32_t shift = exponent < 127u ? 0u : exponent - 127u; /* bits before the point, less one */
    uint32_t cut = shift > 23u ? 0u : 0x7FFFFFu >> shift;
    uint32_t whole = exponent < 127u ? x & 0x80000000u : x & ~cut;
    return whole;
}

VM_FN uint32_t vm_ffloor(uint32_t a)
{
    uint32_t x = vm_flush_now(a);
    uint32_t whole = vm_ftrunc(x);
    uint32_t below = vm_bits(vm_float(whole) - 1.0f);
    return vm_float(x) < vm_float(whole) ? below : whole;
}

VM_FN uint32_t vm_fceil(uint32_t a)
{
    uint32_t x = vm_flush_now(a);
    uint32_t whole = vm_ftrunc(x);
    uint32_t above = vm_bits(vm_float(whole) + 1.0f);
    /* From (-1, 0) up it is -0, which adding 1 to -1 would not give; trunc does. */
    return vm_float(x) > vm_float(whole) ? above : whole;
}

VM_FN uint32_t vm_fround(uint32_t a)
{
    uint32_t x = vm_flush_now(a);
    uint32_t sign = x & 0x80000000u;
    uint32_t whole = vm_ftrunc(x);
    float part = vm_float(x & 0x7FFFFFFFu) - vm_float(whole & 0x7FFFFFFFu);
    uint32_t away = vm_bits(vm_float(whole & 0x7FFFFFFFu) + 1.0f) | sign;
    return part >= 0.5f ? away : whole;
}

VM_FN uint32_t vm_fsign(uint32_t a)
{
    uint32_t x = vm_flush_now(a);
    uint32_t one = (x & 0x80000000u) | 0x3F800000u;
    uint32_t result = (x & 0x7FFFFFFFu) == 0 ? 0u : one;
    return vm_fisnan(x) ? x : result;
}

/* Toward zero, clamped. Written so that no conversion is out of range. */
VM_FN uint32_t vm_f2i(uint32_t a)
{
    float x = vm_float(a);
    float inside = x >= -2147483648.0f ? (x < 2147483648.0f ? x : 0.0f) : 0.0f;
    uint32_t value = (uint32_t)(int32_t)inside;
    value = x >= 2147483648.0f ? 0x7FFFFFFFu : value;
    return x < -2147483648.0f ? 0x80000000u : value;
}

VM_FN uint32_t vm_f2u(uint32_t a)
{
    float x = vm_float(a);
    float low = x >= 0.0f ? (x < 2147483648.0f ? x : 0.0f) : 0.0f;
    float high = x >= 2147483648.0f ? (x < 4294967296.0f ? x - 2147483648.0f : 0.0f) : 0.0f;
    uint32_t value = (uint32_t)(int32_t)low;
    value = x >= 2147483648.0f ? (uint32_t)(int32_t)high + 0x80000000u : value;
    return x >= 4294967296.0f ? 0xFFFFFFFFu : value;
}

VM_FN uint32_t vm_i2f(uint32_t a)
{
    return vm_bits((float)(int32_t)a);
}

VM_FN uint32_t vm_u2f(uint32_t a)
{
    return vm_bits((float)a);
}

VM_FN uint32_t vm_d2f(uint64_t a)
{
    return vm_bits((float)a);
}

VM_FN uint32_t vm_mulhi(uint32_t a, uint32_t b)
{
    return (uint32_t)(((uint64_t)a * b) >> 32);
}

VM_FN uint32_t vm_div(uint32_t a, uint32_t b)
{
    return b == 0 ? 0xFFFFFFFFu : a / b;
}

VM_FN uint32_t vm_mod(uint32_t a, uint32_t b)
{
    return b == 0 ? 0u : a % b;
}

VM_FN int vm_idiv_bad(uint32_t a, uint32_t b)
{
    return b == 0 || (a == 0x80000000u && b == 0xFFFFFFFFu);
}

VM_FN uint32_t vm_idiv(uint32_t a, uint32_t b)
{
    return vm_idiv_bad(a, b) ? 0u : (uint32_t)((int32_t)a / (int32_t)b);
}

VM_FN uint32_t vm_imod(uint32_t a, uint32_t b)
{
    return vm_idiv_bad(a, b) ? 0u : (uint32_t)((int32_t)a % (int32_t)b);
}

VM_FN uint32_t vm_sar(uint32_t a, uint32_t b)
{
    uint32_t shift = b & 31u;
    uint32_t sign = 0u - (a >> 31);
    return (a >> shift) | (sign & ~(0xFFFFFFFFu >> shift));
}

VM_FN uint32_t vm_rotl(uint32_t a, uint32_t b)
{
    return a << (b & 31u) | a >> ((0u - b) & 31u);
}

VM_FN uint32_t vm_satadd(uint32_t a, uint32_t b)
{
    uint32_t sum = a + b;
    return sum < a ? 0xFFFFFFFFu : sum;
}

VM_FN uint32_t vm_satmul(uint32_t a, uint32_t b)
{
    uint64_t product = (uint64_t)a * b;
    return product >> 32 != 0 ? 0xFFFFFFFFu : (uint32_t)product;
}

VM_FN uint32_t vm_clamp64(int64_t value)
{
    int64_t low = value < -2147483648LL ? -2147483648LL : value;
    return (uint32_t)(low > 2147483647LL ? 2147483647LL : low);
}

VM_FN uint32_t vm_isatadd(uint32_t a, uint32_t b)
{
    return vm_clamp64((int64_t)(int32_t)a + (int32_t)b);
}

VM_FN uint32_t vm_isatsub(uint32_t a, uint32_t b)
{
    return vm_clamp64((int64_t)(int32_t)a - (int32_t)b);
}

VM_FN uint32_t vm_isatmul(uint32_t a, uint32_t b)
{
    return vm_clamp64((int64_t)(int32_t)a * (int32_t)b);
}

VM_FN uint32_t vm_popc(uint32_t a)
{
    uint32_t x = a - ((a >> 1) & 0x55555555u);
    x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
    x = (x + (x >> 4)) & 0x0F0F0F0Fu;
    return (x * 0x01010101u) >> 24;
}

VM_FN uint32_t vm_clz(uint32_t a)
{
    uint32_t x = a | a >> 1;
    x |= x >> 2;
    x |= x >> 4;
    x |= x >> 8;
    x |= x >> 16;
    return 32u - vm_popc(x);
}

VM_FN uint32_t vm_ctz(uint32_t a)
{
    return vm_popc(~a & (a - 1u));
}

VM_FN uint32_t vm_brev(uint32_t a)
{
    uint32_t x = ((a >> 1) & 0x55555555u) | ((a & 0x55555555u) << 1);
    x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
    x = ((x >> 4) & 0x0F0F0F0Fu) | ((x & 0x0F0F0F0Fu) << 4);
    x = ((x >> 8) & 0x00FF00FFu) | ((x & 0x00FF00FFu) << 8);
    return x >> 16 | x << 16;
}

VM_FN uint64_t vm_mulhi64(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + ((a0 * b0) >> 32);
    uint64_t low = (uint32_t)middle + a0 * b1;
    return a1 * b1 + (middle >> 32) + (low >> 32);
}

VM_FN uint64_t vm_popc64(uint64_t a)
{
    return (uint64_t)vm_popc((uint32_t)a) + vm_popc((uint32_t)(a >> 32));
}

VM_FN uint64_t vm_clz64(uint64_t a)
{
    uint32_t high = vm_clz((uint32_t)(a >> 32));
    return high == 32u ? 32u + vm_clz((uint32_t)a) : high;
}

VM_FN uint64_t vm_ctz64(uint64_t a)
{
    uint32_t low = vm_ctz((uint32_t)a);
    return low == 32u ? 32u + vm_ctz((uint32_t)(a >> 32)) : low;
}

VM_FN uint64_t vm_brev64(uint64_t a)
{
    return (uint64_t)vm_brev((uint32_t)a) << 32 | vm_brev((uint32_t)(a >> 32));
}

#endif
