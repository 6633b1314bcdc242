/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The instructions that compute each lane by itself, made from the rows of opcodes.def: for each a
 * loop over lanes, once for every mixture of vector and scalar operands, so that the compiler sees
 * plain loops. An instruction with a scalar result has scalar operands only and runs for one lane.
 */
#ifndef VYRE_DEVICE_INTERP_ALU_H
#define VYRE_DEVICE_INTERP_ALU_H

#include "device/interp_memory.h"
#include "device/math.h"

/* Where the result goes and for how many lanes. */
struct dev_alu {
    uint32_t *d;
    uint32_t n;
    size_t stride; /* from the low to the high word of a double word */
};

DEV_FN struct dev_alu dev_alu_begin(struct dev_frame *frame, const struct vm_insn *in)
{
    struct dev_alu alu;
    if (in->d & VM_SCALAR) {
        alu.d = frame->scalars + (in->d & ~VM_SCALAR);
        alu.n = 1;
        alu.stride = 1;
    } else {
        alu.d = dev_result(frame, in);
        alu.n = dev_frame_width(frame);
        alu.stride = frame->program->stride;
    }
    return alu;
}

DEV_FN void dev_alu_end(struct dev_frame *frame, const struct vm_insn *in,
                        const struct dev_alu *alu)
{
    if (!(in->d & VM_SCALAR)) dev_result_done(frame, in, alu->d);
}

/* Scalar operands of a scalar instruction are vectors of one lane. */
#define DEV_IS_SCALAR(in, number) (((number)&VM_SCALAR) && !((in)->d & VM_SCALAR))

/* The kinds of operands: bit 0 a, bit 1 b, bit 2 c is a scalar. */
#define DEV_LOOP1(A, expression)                                                                   \
    DEV_LANES(i, alu.n)                                                                            \
    {                                                                                              \
        const uint32_t a = A;                                                                      \
        alu.d[i] = (expression);                                                                   \
    }
#define DEV_LOOP2(A, B, expression)                                                                \
    DEV_LANES(i, alu.n)                                                                            \
    {                                                                                              \
        const uint32_t a = A, b = B;                                                               \
        alu.d[i] = (expression);                                                                   \
    }
#define DEV_LOOP3(A, B, C, expression)                                                             \
    DEV_LANES(i, alu.n)                                                                            \
    {                                                                                              \
        const uint32_t a = A, b = B, c = C;                                                        \
        alu.d[i] = (expression);                                                                   \
    }

#define DEV_RUN_W1(expression)                                                                     \
    do {                                                                                           \
        const uint32_t *va = dev_operand(frame, in->a).word;                                       \
        struct dev_alu alu = dev_alu_begin(frame, in);                                             \
        if (DEV_IS_SCALAR(in, in->a)) {                                                            \
            const uint32_t sa = va[0];                                                             \
            DEV_LOOP1(sa, expression)                                                              \
        } else {                                                                                   \
            DEV_LOOP1(va[i], expression)                                                           \
        }                                                                                          \
        dev_alu_end(frame, in, &alu);                                                              \
    } while (0)

#define DEV_RUN_MATH_ALL(expression, near) DEV_RUN_W1(expression)

/* A branch in each lane costs more than a look at all of them. A value for all lanes is computed
 * once. */
#define DEV_RUN_MATH_NEAR(expression, near)                                                        \
    do {                                                                                           \
        const uint32_t *va = dev_operand(frame, in->a).word;                                       \
        struct dev_alu alu = dev_alu_begin(frame, in);                                             \
        if (in->a & VM_SCALAR) {                                                                   \
            const uint32_t a = va[0];                                                              \
            const uint32_t value = (expression);                                                   \
            DEV_LANES(i, alu.n) alu.d[i] = value;                                                  \
        } else if (DEV_LIKELY(!dev_math_any_far(va, alu.n))) {                                     \
            DEV_LOOP1(va[i], near)                                                                 \
        } else {                                                                                   \
            DEV_LOOP1(va[i], expression)                                                           \
        }                                                                                          \
        dev_alu_end(frame, in, &alu);                                                              \
    } while (0)

#define DEV_RUN_W2(expression)                                                                     \
    do {                                                                                           \
        const uint32_t *va = dev_operand(frame, in->a).word;                                       \
        const uint32_t *vb = dev_operand(frame, in->b).word;                                       \
        struct dev_alu alu = dev_alu_begin(frame, in);                                             \
        if (DEV_IS_SCALAR(in, in->a)) {                                                            \
            const uint32_t sa = va[0];                                                             \
            if (DEV_IS_SCALAR(in, in->b)) {                                                        \
                const uint32_t sb = vb[0];                                                         \
                DEV_LOOP2(sa, sb, expression)                                                      \
            } else {                                                                               \
                DEV_LOOP2(sa, vb[i], expression)                                                   \
            }                                                                                      \
        } else if (DEV_IS_SCALAR(in, in->b)) {                                                     \
            const uint32_t sb = vb[0];                                                             \
            DEV_LOOP2(va[i], sb, expression)                                                       \
        } else {                                                                                   \
            DEV_LOOP2(va[i], vb[i], expression)                                                    \
        }                                                                                          \
        dev_alu_end(frame, in, &alu);                                                              \
    } while (0)

#define DEV_RUN_W3(expression)                                                                     \
    do {                                                                                           \
        const uint32_t *va = dev_operand(frame, in->a).word;                                       \
        const uint32_t *vb = dev_operand(frame, in->b).word;                                       \
        const uint32_t *vc = dev_operand(frame, in->c).word;                                       \
        const uint32_t sa = va[0], sb = vb[0], sc = vc[0];                                         \
        struct dev_alu alu = dev_alu_begin(frame, in);                                             \
        switch ((DEV_IS_SCALAR(in, in->a) ? 1 : 0) | (DEV_IS_SCALAR(in, in->b) ? 2 : 0) |          \
                (DEV_IS_SCALAR(in, in->c) ? 4 : 0)) {                                              \
        case 0:                                                                                    \
            DEV_LOOP3(va[i], vb[i], vc[i], expression)                                             \
            break;                                                                                 \
        case 1:                                                                                    \
            DEV_LOOP3(sa, vb[i], vc[i], expression)                                                \
            break;                                                                                 \
        case 2:                                                                                    \
            DEV_LOOP3(va[i], sb, vc[i], expression)                                                \
            break;                                                                                 \
        case 3:                                                                                    \
            DEV_LOOP3(sa, sb, vc[i], expression)                                                   \
            break;                                                                                 \
        case 4:                                                                                    \
            DEV_LOOP3(va[i], vb[i], sc, expression)                                                \
            break;                                                                                 \
        case 5:                                                                                    \
            DEV_LOOP3(sa, vb[i], sc, expression)                                                   \
            break;                                                                                 \
        case 6:                                                                                    \
            DEV_LOOP3(va[i], sb, sc, expression)                                                   \
            break;                                                                                 \
        default:                                                                                   \
            DEV_LOOP3(sa, sb, sc, expression)                                                      \
            break;                                                                                 \
        }                                                                                          \
        dev_alu_end(frame, in, &alu);                                                              \
    } while (0)

/* Four steps of a polynomial at once: the lanes stay in the processor's registers meanwhile. */
DEV_FN uint32_t dev_poly4_lane(uint32_t a, uint32_t b, const uint32_t *c)
{
    uint32_t value = vm_fadd(vm_fmul(a, b), c[0]);
    value = vm_fadd(vm_fmul(value, b), c[1]);
    value = vm_fadd(vm_fmul(value, b), c[2]);
    return vm_fadd(vm_fmul(value, b), c[3]);
}

DEV_FN void dev_poly4(struct dev_frame *frame, const struct vm_insn *in)
{
    const uint32_t *va = dev_operand(frame, in->a).word;
    const uint32_t *vb = dev_operand(frame, in->b).word;
    const uint32_t *from = frame->scalars + (in->c & ~VM_SCALAR);
    const uint32_t c[4] = {from[0], from[1], from[2], from[3]};
    struct dev_alu alu = dev_alu_begin(frame, in);
    if (DEV_IS_SCALAR(in, in->a)) {
        const uint32_t sa = va[0];
        DEV_LANES(i, alu.n)
        alu.d[i] = dev_poly4_lane(sa, vb[i], c);
    } else {
        DEV_LANES(i, alu.n)
        alu.d[i] = dev_poly4_lane(va[i], vb[i], c);
    }
    dev_alu_end(frame, in, &alu);
}

/* A lane of a double word operand. */
DEV_FN uint64_t dev_double(struct dev_operand operand, size_t stride, uint32_t i)
{
    if (operand.scalar) return (uint64_t)operand.word[1] << 32 | operand.word[0];
    return (uint64_t)operand.word[i + stride] << 32 | operand.word[i];
}

/* Double words are rare: one loop, and masked results lane by lane. */
DEV_FN void dev_double_put(struct dev_frame *frame, const struct vm_insn *in, uint32_t i,
                           uint64_t value)
{
    if (in->d & VM_SCALAR) {
        frame->scalars[in->d & ~VM_SCALAR] = (uint32_t)value;
        frame->scalars[(in->d & ~VM_SCALAR) + 1] = (uint32_t)(value >> 32);
        return;
    }
    uint32_t *d = dev_vector_place(frame, in->d);
    if ((in->flags & VM_MASKED) && dev_frame_mask(frame, frame->level)[i] == 0) return;
    d[i] = (uint32_t)value;
    d[i + frame->program->stride] = (uint32_t)(value >> 32);
}

/* As above for a word. */
DEV_FN void dev_word_put(struct dev_frame *frame, const struct vm_insn *in, uint32_t i,
                         uint32_t value)
{
    if (in->d & VM_SCALAR) {
        frame->scalars[in->d & ~VM_SCALAR] = value;
        return;
    }
    if ((in->flags & VM_MASKED) && dev_frame_mask(frame, frame->level)[i] == 0) return;
    dev_vector_place(frame, in->d)[i] = value;
}

/* Before a result of `words` words is put lane by lane; returns for how many lanes. */
DEV_FN uint32_t dev_put_begin(struct dev_frame *frame, const struct vm_insn *in, uint32_t words)
{
    if (in->d & VM_SCALAR) return 1;
    for (uint32_t k = 0; k < words; k++)
        dev_vector_own(frame, in->d + k);
    return dev_frame_width(frame);
}

#define DEV_RUN_DOUBLES(put, words, second, expression)                                            \
    do {                                                                                           \
        struct dev_operand oa = dev_operand_wide(frame, in->a, 2);                                 \
        struct dev_operand ob = dev_operand_wide(frame, in->second, 2);                            \
        const size_t stride = frame->program->stride;                                              \
        const uint32_t n = dev_put_begin(frame, in, words);                                        \
        DEV_LANES(i, n)                                                                            \
        {                                                                                          \
            const uint64_t a = dev_double(oa, stride, i), b = dev_double(ob, stride, i);           \
            (void)b;                                                                               \
            put(frame, in, i, (expression));                                                       \
        }                                                                                          \
    } while (0)
#define DEV_RUN_D1(expression) DEV_RUN_DOUBLES(dev_double_put, 2, a, expression)
#define DEV_RUN_D2(expression) DEV_RUN_DOUBLES(dev_double_put, 2, b, expression)
#define DEV_RUN_C1(expression) DEV_RUN_DOUBLES(dev_word_put, 1, a, expression)
#define DEV_RUN_C2(expression) DEV_RUN_DOUBLES(dev_word_put, 1, b, expression)

/* Lanes where `bad` holds fault the slot, the first of them. */
#define DEV_RUN_CHECKED(result, bad, code)                                                         \
    do {                                                                                           \
        struct dev_operand oa = dev_operand(frame, in->a);                                         \
        struct dev_operand ob = dev_operand(frame, in->b);                                         \
        const uint32_t *mask = dev_frame_mask(frame, frame->level);                                \
        const uint32_t width = dev_put_begin(frame, in, 1);                                        \
        const uint32_t n = width == 1 ? 1 : frame->program->lanes;                                 \
        for (uint32_t i = 0; i < n; i++) {                                                         \
            const uint32_t a = oa.word[oa.scalar ? 0 : i], b = ob.word[ob.scalar ? 0 : i];         \
            if ((mask[i] != 0 || (in->d & VM_SCALAR)) && (bad))                                    \
                return dev_fault_at(frame, (uint32_t)(code), i, a);                                \
            dev_word_put(frame, in, i, (result));                                                  \
        }                                                                                          \
    } while (0)

#endif
