/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What instructions make of constants, by the very expressions of opcodes.def. Transcendental
 * functions and whatever can fault are left to the program. Called in the default floating-point
 * mode only (base/float_env.h), hence not to be inlined.
 */
#include "vm/arith.h"
#include "vm/lower.h"

#define FOLD_WORD(expression)                                                                      \
    {                                                                                              \
        const uint32_t a = arg[0][0], b = arg[1][0], c = arg[2][0];                                \
        (void)a, (void)b, (void)c;                                                                 \
        result[0] = (expression);                                                                  \
        result[1] = 0;                                                                             \
    }                                                                                              \
    break

#define FOLD_WIDE(expression)                                                                      \
    {                                                                                              \
        const uint64_t a = wide(arg[0]), b = wide(arg[1]);                                         \
        (void)a, (void)b;                                                                          \
        uint64_t value = (expression);                                                             \
        result[0] = (uint32_t)value;                                                               \
        result[1] = (uint32_t)(value >> 32);                                                       \
    }                                                                                              \
    break

#define FOLD_W1(expression) FOLD_WORD(expression)
#define FOLD_W2(expression) FOLD_WORD(expression)
#define FOLD_W3(expression) FOLD_WORD(expression)
#define FOLD_D1(expression) FOLD_WIDE(expression)
#define FOLD_D2(expression) FOLD_WIDE(expression)
#define FOLD_C1(expression) FOLD_WIDE(expression)
#define FOLD_C2(expression) FOLD_WIDE(expression)

static inline uint64_t wide(const uint32_t words[2])
{
    return (uint64_t)words[1] << 32 | words[0];
}

static int gives_float(uint32_t op)
{
    switch (op) {
#define VM_ALU(name, text, shape, types, expression, what)                                         \
    case VM_OP_##name:                                                                             \
        return (types)[0] == 'f';
#include "vm/opcodes.def"
    default:
        return 0;
    }
}

__attribute__((noinline)) int vyre_low_fold(uint32_t op, uint32_t arg[3][2], uint32_t result[2])
{
    switch (op) {
#define VM_ALU(name, text, shape, types, expression, what)                                         \
    case VM_OP_##name:                                                                             \
        FOLD_##shape(expression);
#include "vm/opcodes.def"
    default:
        return 0;
    }
    if (gives_float(op)) result[0] = vm_canon(result[0]);
    return 1;
}
