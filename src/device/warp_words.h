/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Words from words, of programs whose code is in a warp's room: a function for each instruction of
 * that kind, from the rows of opcodes.def, and for each variant of how it is called. Decoded code
 * names its functions (warp_decode.h): a switch over as many instructions would be six branches one
 * after the other on a GPU, and a warp that waits for a branch does nothing else.
 *
 * Those that most programs call have no loops and, but for what an expression needs, no branches.
 */
#ifndef VYRE_DEVICE_WARP_WORDS_H
#define VYRE_DEVICE_WARP_WORDS_H

#include "device/warp_far.h"

/* What a function is called with: operands as in struct dev_op, the rest as in struct dev_span;
 * single words, so that they stay in registers. */
#define DEV_WORDS_PARAMETERS                                                                       \
    dev_near room, uint32_t d, uint32_t a_at, uint32_t b_at, uint32_t c_at, uint32_t place,        \
        uint32_t row, uint32_t code, uint32_t masks

typedef void (*dev_words_fn)(DEV_WORDS_PARAMETERS);

/* Reads what a pass needs, and computes it into `result`. */
#define DEV_WORDS_PASS(at, whole, sources, expression)                                             \
    struct dev_pass pa, pb, pc, result;                                                            \
    dev_quads_get(&span, at, a_at, whole, &pa);                                                    \
    pb = pc = pa;                                                                                  \
    if ((sources) >= 2) dev_quads_get(&span, at, b_at, whole, &pb);                                \
    if ((sources) >= 3) dev_quads_get(&span, at, c_at, whole, &pc);                                \
    DEV_COMPUTE(expression)

#define DEV_WORDS_FN(name, variant, body)                                                          \
    DEV_NO_INLINE void dev_words_##name##_##variant(DEV_WORDS_PARAMETERS)                          \
    {                                                                                              \
        const struct dev_span span = {room, row, code, masks};                                     \
        (void)span, (void)b_at, (void)c_at, (void)place;                                           \
        body                                                                                       \
    }

#define DEV_WORDS_PART_BODY(sources, expression)                                                   \
    DEV_WORDS_PASS(place, 0, sources, expression)                                                  \
    dev_quads_set(&span, place, d, DEV_QUADS_PART, &result);

#define DEV_WORDS_ONE_BODY(sources, expression)                                                    \
    DEV_WORDS_PASS(place, 1, sources, expression)                                                  \
    dev_quads_set(&span, place, d, DEV_QUADS_WHOLE, &result);

/* The second pass reads nothing that the first writes. */
#define DEV_WORDS_TWO_BODY(sources, expression)                                                    \
    struct dev_pass first;                                                                         \
    {                                                                                              \
        DEV_WORDS_PASS(place, 1, sources, expression)                                              \
        first = result;                                                                            \
    }                                                                                              \
    DEV_WORDS_PASS(place + DEV_PASS_BYTES, 1, sources, expression)                                 \
    dev_quads_set(&span, place, d, DEV_QUADS_WHOLE, &first);                                       \
    dev_quads_set(&span, place + DEV_PASS_BYTES, d, DEV_QUADS_WHOLE, &result);

#define DEV_WORDS_ANY_BODY(how, sources, expression)                                               \
    for (uint32_t done = 0; done < row; done += DEV_PASS_BYTES) {                                  \
        DEV_WORDS_PASS(place + done, 0, sources, expression)                                       \
        dev_quads_set(&span, place + done, d, how, &result);                                       \
    }

/* Words of device memory take long to come: those of two passes are under way together. */
#define DEV_WORDS_FAR_BODY(sources, expression)                                                    \
    unsigned char *registers = dev_far_registers(&span);                                           \
    for (uint32_t done = place; done < place + row; done += 2 * DEV_PASS_BYTES) {                  \
        struct dev_pass pa, pb, pc, qa, qb, qc, result, first;                                     \
        dev_far_quads(&span, registers, done, a_at, &pa);                                          \
        dev_far_quads(&span, registers, done + DEV_PASS_BYTES, a_at, &qa);                         \
        pb = pc = pa, qb = qc = qa;                                                                \
        if ((sources) >= 2) {                                                                      \
            dev_far_quads(&span, registers, done, b_at, &pb);                                      \
            dev_far_quads(&span, registers, done + DEV_PASS_BYTES, b_at, &qb);                     \
        }                                                                                          \
        if ((sources) >= 3) {                                                                      \
            dev_far_quads(&span, registers, done, c_at, &pc);                                      \
            dev_far_quads(&span, registers, done + DEV_PASS_BYTES, c_at, &qc);                     \
        }                                                                                          \
        DEV_COMPUTE(expression)                                                                    \
        first = result, pa = qa, pb = qb, pc = qc;                                                 \
        DEV_COMPUTE(expression)                                                                    \
        dev_far_quads_set(&span, registers, done, d, &first);                                      \
        dev_far_quads_set(&span, registers, done + DEV_PASS_BYTES, d, &result);                    \
    }

/* Every lane computes a scalar, the first one writes it. */
#define DEV_WORDS_SCALAR_BODY(expression)                                                          \
    const uint32_t a = dev_near_get(room, a_at), b = dev_near_get(room, b_at),                     \
                   c = dev_near_get(room, c_at);                                                   \
    (void)a, (void)b, (void)c;                                                                     \
    dev_near_scalar_put(room, d, (expression));

#define DEV_WORDS(name, sources, expression)                                                       \
    DEV_WORDS_FN(name, part, DEV_WORDS_PART_BODY(sources, expression))                             \
    DEV_WORDS_FN(name, one, DEV_WORDS_ONE_BODY(sources, expression))                               \
    DEV_WORDS_FN(name, two, DEV_WORDS_TWO_BODY(sources, expression))                               \
    DEV_WORDS_FN(name, any, DEV_WORDS_ANY_BODY(DEV_QUADS_PART, sources, expression))               \
    DEV_WORDS_FN(name, masked, DEV_WORDS_ANY_BODY(DEV_QUADS_MASKED, sources, expression))          \
    DEV_WORDS_FN(name, scalar, DEV_WORDS_SCALAR_BODY(expression))                                  \
    DEV_WORDS_FN(name, far, DEV_WORDS_FAR_BODY(sources, expression))

#define DEV_WORDS_W1(name, expression) DEV_WORDS(name, 1, expression)
#define DEV_WORDS_W2(name, expression) DEV_WORDS(name, 2, expression)
#define DEV_WORDS_W3(name, expression) DEV_WORDS(name, 3, expression)
#define DEV_WORDS_D1(name, expression)
#define DEV_WORDS_D2(name, expression)
#define DEV_WORDS_C1(name, expression)
#define DEV_WORDS_C2(name, expression)

DEV_WORDS(MOV, 1, a)
#define VM_ALU(name, text, shape, types, expression, what) DEV_WORDS_##shape(name, expression)
#include "vm/opcodes.def"

/* The functions by opcode; MOV, which comes late, stands in the place of none. */
#define DEV_WORDS_ROW(name)                                                                        \
    {dev_words_##name##_part, dev_words_##name##_one,    dev_words_##name##_two,                   \
     dev_words_##name##_any,  dev_words_##name##_masked, dev_words_##name##_scalar,                \
     dev_words_##name##_far},
#define DEV_WORDS_ROW_W1(name) DEV_WORDS_ROW(name)
#define DEV_WORDS_ROW_W2(name) DEV_WORDS_ROW(name)
#define DEV_WORDS_ROW_W3(name) DEV_WORDS_ROW(name)
#define DEV_WORDS_ROW_D1(name) {0, 0, 0, 0, 0, 0, 0},
#define DEV_WORDS_ROW_D2       DEV_WORDS_ROW_D1
#define DEV_WORDS_ROW_C1       DEV_WORDS_ROW_D1
#define DEV_WORDS_ROW_C2       DEV_WORDS_ROW_D1

DEV_TABLE dev_words_fn dev_words_table[][DEV_WORDS_VARIANTS] = {DEV_WORDS_ROW(MOV)
#define VM_ALU(name, text, shape, types, expression, what) DEV_WORDS_ROW_##shape(name)
#include "vm/opcodes.def"
};

static_assert(VM_OP_ADD == 1, "instructions that compute come first");

#if defined(__CUDACC__)
static __device__ uint64_t dev_words_run(uint32_t op, uint32_t variant)
{
    return (uint64_t)dev_words_table[op == VM_OP_MOV ? 0 : op][variant];
}

DEV_FN dev_words_fn dev_words_function(uint64_t run)
{
    return (dev_words_fn)run;
}
#else
DEV_FN dev_words_fn dev_words_function(uint64_t run)
{
    uint64_t op = run / DEV_WORDS_VARIANTS;
    return dev_words_table[op == VM_OP_MOV ? 0 : op][run % DEV_WORDS_VARIANTS];
}
#endif

/* Runs an instruction of words from words, or of a scalar from scalars. */
DEV_INLINE void dev_quick_words(const struct dev_quick *q, const struct dev_op *op)
{
    const dev_words_fn run = dev_words_function(op->run);
    run(q->span.room, op->d, op->a, op->b, op->c, q->place, q->span.row, q->span.code,
        q->span.masks);
}

#endif
