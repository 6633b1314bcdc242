/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The instructions that compute each lane by itself, for a warp: from the rows of opcodes.def, each
 * a pass over some units at a time: fetch, compute, put. An instruction with a scalar result has
 * scalar operands only and is one pass of one unit.
 */
#ifndef VYRE_DEVICE_WARP_ALU_H
#define VYRE_DEVICE_WARP_ALU_H

#include "device/math.h"
#include "device/warp_core.h"

/* The words of a pass: those of one lane of the warp. */
struct dev_pass {
    uint32_t word[DEV_PASS][DEV_WARP_ROLES];
};

DEV_INLINE void dev_fetch(struct dev_pass *pass, struct dev_source source, uint32_t first,
                          uint32_t units)
{
    DEV_UNROLL
    for (uint32_t k = 0; k < DEV_PASS; k++) {
        DEV_ROLES(l)
        {
            uint32_t i = (first + k) * DEV_WARP + l;
            pass->word[k][DEV_MINE(l)] = first + k < units ? source.word[i & source.each] : 0;
        }
    }
}

DEV_INLINE void dev_put(const struct dev_core *core, const struct vm_insn *in,
                        const struct dev_pass *pass, uint32_t first, uint32_t units)
{
    if (in->d & VM_SCALAR) {
        dev_scalar_put(core, in->d, pass->word[0][0]);
        return;
    }
    uint32_t *d = dev_vector(core, in->d);
    DEV_UNROLL
    for (uint32_t k = 0; k < DEV_PASS; k++) {
        if (first + k < units) {
            uint32_t takers = dev_takers(core, in, first + k);
            DEV_ROLES(l)
            {
                if (takers >> l & 1) d[(first + k) * DEV_WARP + l] = pass->word[k][DEV_MINE(l)];
            }
        }
    }
}

/* Units of an instruction. */
DEV_FN uint32_t dev_alu_units(const struct dev_core *core, const struct vm_insn *in)
{
    return in->d & VM_SCALAR ? 1 : core->units;
}

/* One instruction for the lanes of a pass. */
#define DEV_COMPUTE(expression)                                                                    \
    DEV_UNROLL                                                                                     \
    for (uint32_t k = 0; k < DEV_PASS; k++) {                                                      \
        DEV_ROLES(l)                                                                               \
        {                                                                                          \
            const uint32_t a = pa.word[k][DEV_MINE(l)], b = pb.word[k][DEV_MINE(l)],               \
                           c = pc.word[k][DEV_MINE(l)];                                            \
            (void)b, (void)c;                                                                      \
            result.word[k][DEV_MINE(l)] = (expression);                                            \
        }                                                                                          \
    }

#define DEV_CASE_W1(name, expression)                                                              \
case VM_OP_##name:                                                                                 \
    DEV_COMPUTE(expression);                                                                       \
    break;
#define DEV_CASE_W2 DEV_CASE_W1
#define DEV_CASE_W3 DEV_CASE_W1
#define DEV_CASE_D1(name, expression)
#define DEV_CASE_D2(name, expression)
#define DEV_CASE_C1(name, expression)
#define DEV_CASE_C2(name, expression)

/* Words from words: fetched and put the same way for all, so only the middle is each one's own. */
DEV_INLINE void dev_core_words(struct dev_core *core, const struct vm_insn *in, uint32_t sources)
{
    const struct dev_source sa = dev_source(core, in->a), sb = dev_source(core, in->b),
                            sc = dev_source(core, in->c);
    const uint32_t units = dev_alu_units(core, in);
    for (uint32_t first = 0; first < units; first += DEV_PASS) {
        struct dev_pass pa, pb, pc, result;
        dev_fetch(&pa, sa, first, units);
        dev_fetch(&pb, sb, first, sources >= 2 ? units : 0);
        dev_fetch(&pc, sc, first, sources >= 3 ? units : 0);
        switch (in->op) {
#define VM_ALU(name, text, shape, types, expression, what) DEV_CASE_##shape(name, expression)
#include "vm/opcodes.def"
        default: /* MOV */
            result = pa;
            break;
        }
        dev_put(core, in, &result, first, units);
    }
}

/* Each lane has its own branch anyway; one unit at a time keeps the code small. */
#define DEV_RUN_MATH(expression)                                                                   \
    do {                                                                                           \
        const uint32_t units = dev_alu_units(core, in);                                            \
        const struct dev_source source = dev_source(core, in->a);                                  \
        for (uint32_t u = 0; u < units; u++) {                                                     \
            uint32_t value[DEV_WARP_ROLES];                                                        \
            DEV_ROLES(l)                                                                           \
            {                                                                                      \
                const uint32_t a = source.word[(u * DEV_WARP + l) & source.each];                  \
                value[DEV_MINE(l)] = (expression);                                                 \
            }                                                                                      \
            dev_put_unit(core, in, 0, u, value);                                                   \
        }                                                                                          \
    } while (0)

/* Puts word `part` of the results of one unit. */
DEV_FN void dev_put_unit(const struct dev_core *core, const struct vm_insn *in, uint32_t part,
                         uint32_t unit, const uint32_t *value)
{
    if (in->d & VM_SCALAR) {
        dev_scalar_put(core, in->d + part, value[0]);
        return;
    }
    uint32_t *d = dev_vector(core, in->d + part) + unit * DEV_WARP;
    uint32_t takers = dev_takers(core, in, unit);
    DEV_ROLES(l)
    {
        if (takers >> l & 1) d[l] = value[DEV_MINE(l)];
    }
}

/* A double word operand, whose registers need not lie side by side. */
struct dev_double {
    struct dev_source low, high;
};

DEV_FN struct dev_double dev_double(const struct dev_core *core, uint32_t number)
{
    struct dev_double source;
    source.low = dev_source(core, number);
    source.high = dev_source(core, number + 1);
    return source;
}

DEV_FN uint64_t dev_double_word(const struct dev_double *source, uint32_t i)
{
    const uint32_t at = i & source->low.each;
    return (uint64_t)source->high.word[at] << 32 | source->low.word[at];
}

/* Double words are rare: a unit at a time. `words` is of the result. */
#define DEV_RUN_DOUBLES(words, second, expression)                                                 \
    do {                                                                                           \
        const struct dev_double da = dev_double(core, in->a);                                      \
        const struct dev_double db = dev_double(core, in->second);                                 \
        if (!dev_wide(core, in->a, 2) || !dev_wide(core, in->second, 2))                           \
            return dev_core_damaged(core);                                                         \
        const uint32_t units = dev_alu_units(core, in);                                            \
        for (uint32_t u = 0; u < units; u++) {                                                     \
            uint32_t low[DEV_WARP_ROLES], high[DEV_WARP_ROLES];                                    \
            DEV_ROLES(l)                                                                           \
            {                                                                                      \
                const uint64_t a = dev_double_word(&da, u * DEV_WARP + l);                         \
                const uint64_t b = dev_double_word(&db, u * DEV_WARP + l);                         \
                (void)b;                                                                           \
                const uint64_t value = (expression);                                               \
                low[DEV_MINE(l)] = (uint32_t)value;                                                \
                high[DEV_MINE(l)] = (uint32_t)(value >> 32);                                       \
            }                                                                                      \
            dev_put_unit(core, in, 0, u, low);                                                     \
            if ((words) == 2) dev_put_unit(core, in, 1, u, high);                                  \
        }                                                                                          \
    } while (0)
#define DEV_RUN_D1(expression) DEV_RUN_DOUBLES(2, a, expression)
#define DEV_RUN_D2(expression) DEV_RUN_DOUBLES(2, b, expression)
#define DEV_RUN_C1(expression) DEV_RUN_DOUBLES(1, a, expression)
#define DEV_RUN_C2(expression) DEV_RUN_DOUBLES(1, b, expression)

/* Lanes where `bad` holds fault the slot, the first of them; else all have the result. */
#define DEV_RUN_CHECKED(expression, bad, code)                                                     \
    do {                                                                                           \
        const struct dev_source sa = dev_source(core, in->a), sb = dev_source(core, in->b);        \
        const uint32_t units = dev_alu_units(core, in);                                            \
        const uint32_t *mask = dev_core_mask(core, core->level);                                   \
        for (uint32_t u = 0; u < units; u++) {                                                     \
            uint32_t wrong[DEV_WARP_ROLES], value[DEV_WARP_ROLES];                                 \
            DEV_ROLES(l)                                                                           \
            {                                                                                      \
                const uint32_t i = u * DEV_WARP + l;                                               \
                const uint32_t a = sa.word[i & sa.each], b = sb.word[i & sb.each];                 \
                wrong[DEV_MINE(l)] = (bad) ? 1u : 0u;                                              \
                value[DEV_MINE(l)] = (expression);                                                 \
            }                                                                                      \
            uint32_t faulty = dev_warp_ballot(wrong) & (in->d & VM_SCALAR ? 1u : mask[u]);         \
            if (faulty != 0) {                                                                     \
                uint32_t lane = u * DEV_WARP + dev_first_bit(faulty);                              \
                dev_warp_sync();                                                                   \
                return dev_core_fault(core, (uint32_t)(code), lane, sa.word[lane & sa.each]);      \
            }                                                                                      \
            dev_put_unit(core, in, 0, u, value);                                                   \
        }                                                                                          \
    } while (0)

/* Four steps of a polynomial at once. */
DEV_FN uint32_t dev_core_poly4(struct dev_core *core, const struct vm_insn *in)
{
    const struct dev_source sa = dev_source(core, in->a), sb = dev_source(core, in->b);
    const uint32_t *from = dev_scalar(core, in->c);
    if (!dev_wide(core, in->c | VM_SCALAR, 4)) return dev_core_damaged(core);
    const uint32_t c[4] = {from[0], from[DEV_SCALAR_WORDS], from[2 * DEV_SCALAR_WORDS],
                           from[3 * DEV_SCALAR_WORDS]};
    const uint32_t units = dev_alu_units(core, in);
    for (uint32_t u = 0; u < units; u++) {
        uint32_t value[DEV_WARP_ROLES];
        DEV_ROLES(l)
        {
            uint32_t i = u * DEV_WARP + l, b = sb.word[i & sb.each];
            uint32_t sum = vm_fadd(vm_fmul(sa.word[i & sa.each], b), c[0]);
            sum = vm_fadd(vm_fmul(sum, b), c[1]);
            sum = vm_fadd(vm_fmul(sum, b), c[2]);
            value[DEV_MINE(l)] = vm_fadd(vm_fmul(sum, b), c[3]);
        }
        dev_put_unit(core, in, 0, u, value);
    }
    return 0;
}

#endif
