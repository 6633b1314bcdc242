/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Instructions of programs that fit a warp's room. Their code lies there in a form that was checked
 * and decoded once (warp_decode.h), so an instruction costs what it does: no number is looked up or
 * bounded any more.
 *
 * On a GPU the room is shared memory. Its addresses have 32 bits, and are used as such: a pointer
 * that might be anywhere costs several times as much.
 */
#ifndef VYRE_DEVICE_WARP_NEAR_H
#define VYRE_DEVICE_WARP_NEAR_H

#include "device/warp_memory.h"

/* Words of the room. */
#if defined(__CUDACC__)
typedef uint32_t dev_near;

DEV_FN dev_near dev_near_base(const void *room)
{
    return (uint32_t)__cvta_generic_to_shared(room);
}

DEV_FN uint32_t dev_near_get(dev_near base, uint32_t at)
{
    uint32_t word;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(base + at));
    return word;
}

DEV_FN void dev_near_set(dev_near base, uint32_t at, uint32_t word)
{
    asm volatile("st.shared.u32 [%0], %1;" : : "r"(base + at), "r"(word) : "memory");
}

DEV_FN struct dev_op dev_near_op(dev_near base, uint32_t at)
{
    struct dev_op op;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(op.op), "=r"(op.d), "=r"(op.a), "=r"(op.b)
                 : "r"(base + at));
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                 : "=r"(op.c), "=r"(op.imm)
                 : "r"(base + at + 16));
    return op;
}
#else
typedef unsigned char *dev_near;

DEV_FN dev_near dev_near_base(void *room)
{
    return (unsigned char *)room;
}

DEV_FN uint32_t dev_near_get(dev_near base, uint32_t at)
{
    return *(const uint32_t *)(const void *)(base + at);
}

DEV_FN void dev_near_set(dev_near base, uint32_t at, uint32_t word)
{
    *(uint32_t *)(void *)(base + at) = word;
}

DEV_FN struct dev_op dev_near_op(dev_near base, uint32_t at)
{
    return *(const struct dev_op *)(const void *)(base + at);
}
#endif

/* The state of the loop: as struct dev_core, but in the room's addresses. */
struct dev_quick {
    dev_near room;
    uint32_t code, masks, views, actives; /* offsets */
    uint32_t units, lanes, level_count, code_count;
    uint32_t first_id; /* invocation id of lane 0 along x */
    uint32_t pc, level, active;
    uint64_t steps, limit;
};

DEV_FN uint32_t dev_quick_mask(const struct dev_quick *q, uint32_t unit)
{
    return dev_near_get(q->room, q->masks + (q->level * q->units + unit) * 4);
}

/* Where the lanes of a pass lie in a register, from the first pass on. The last one may go over
 * units twice: it computes the same for them again. */
struct dev_places {
    uint32_t at[DEV_PASS][DEV_WARP_ROLES];
};

DEV_INLINE void dev_places_first(const struct dev_quick *q, struct dev_places *places)
{
    DEV_UNROLL
    for (uint32_t k = 0; k < DEV_PASS; k++) {
        const uint32_t unit = k < q->units ? k : q->units - 1;
        DEV_ROLES(l)
        {
            places->at[k][DEV_MINE(l)] = (unit * DEV_WARP + l) * 4;
        }
    }
}

DEV_INLINE void dev_places_next(const struct dev_quick *q, struct dev_places *places)
{
    DEV_UNROLL
    for (uint32_t k = 0; k < DEV_PASS; k++) {
        DEV_ROLES(l)
        {
            const uint32_t last = ((q->units - 1) * DEV_WARP + l) * 4;
            const uint32_t next = places->at[k][DEV_MINE(l)] + DEV_PASS * DEV_WARP * 4;
            places->at[k][DEV_MINE(l)] = next < last ? next : last;
        }
    }
}

DEV_INLINE void dev_places_get(const struct dev_quick *q, const struct dev_places *places,
                               uint32_t operand, struct dev_pass *pass)
{
    const uint32_t each = 0u - (operand >> 31), base = operand & ~DEV_EACH;
    DEV_UNROLL
    for (uint32_t k = 0; k < DEV_PASS; k++) {
        DEV_ROLES(l)
        {
            pass->word[k][DEV_MINE(l)] =
                dev_near_get(q->room, base + (places->at[k][DEV_MINE(l)] & each));
        }
    }
}

DEV_INLINE void dev_places_set(const struct dev_quick *q, const struct dev_places *places,
                               const struct dev_op *op, const struct dev_pass *pass)
{
    const uint32_t base = op->d & ~DEV_EACH;
    if (!(op->op >> 16 & VM_MASKED) || q->active == q->lanes) {
        DEV_UNROLL
        for (uint32_t k = 0; k < DEV_PASS; k++) {
            DEV_ROLES(l)
            {
                dev_near_set(q->room, base + places->at[k][DEV_MINE(l)],
                             pass->word[k][DEV_MINE(l)]);
            }
        }
        return;
    }
    uint32_t takers[DEV_PASS]; /* read all at once */
    DEV_UNROLL
    for (uint32_t k = 0; k < DEV_PASS; k++)
        takers[k] = dev_quick_mask(q, places->at[k][0] / (4 * DEV_WARP));
    DEV_UNROLL
    for (uint32_t k = 0; k < DEV_PASS; k++) {
        DEV_ROLES(l)
        {
            if (takers[k] >> l & 1)
                dev_near_set(q->room, base + places->at[k][DEV_MINE(l)],
                             pass->word[k][DEV_MINE(l)]);
        }
    }
}

/* One instruction for all lanes: all that differs from one to the other is known to the compiler.
 */
#define DEV_QUICK(name, sources, expression)                                                       \
case VM_OP_##name: {                                                                               \
    struct dev_places places;                                                                      \
    dev_places_first(q, &places);                                                                  \
    for (uint32_t first = 0;;) {                                                                   \
        struct dev_pass pa, pb, pc, result;                                                        \
        dev_places_get(q, &places, op->a, &pa);                                                    \
        pb = pc = pa;                                                                              \
        if ((sources) >= 2) dev_places_get(q, &places, op->b, &pb);                                \
        if ((sources) >= 3) dev_places_get(q, &places, op->c, &pc);                                \
        DEV_COMPUTE(expression)                                                                    \
        dev_places_set(q, &places, op, &result);                                                   \
        first += DEV_PASS;                                                                         \
        if (first >= q->units) break;                                                              \
        dev_places_next(q, &places);                                                               \
    }                                                                                              \
    break;                                                                                         \
}

#define DEV_QUICK_NONE(name, expression)
#define DEV_QUICK_1(name, expression) DEV_QUICK(name, 1, expression)
#define DEV_QUICK_2(name, expression) DEV_QUICK(name, 2, expression)
#define DEV_QUICK_3(name, expression) DEV_QUICK(name, 3, expression)
#define DEV_QUICK_D1                  DEV_QUICK_NONE
#define DEV_QUICK_D2                  DEV_QUICK_NONE
#define DEV_QUICK_C1                  DEV_QUICK_NONE
#define DEV_QUICK_C2                  DEV_QUICK_NONE

/* Words from words, for the lanes of a vector. */
DEV_INLINE void dev_quick_words(const struct dev_quick *q, const struct dev_op *op,
                                uint32_t sources)
{
    if (sources == 2) {
        switch (op->op & 0xFFu) {
#define DEV_QUICK_W1                                       DEV_QUICK_NONE
#define DEV_QUICK_W2                                       DEV_QUICK_2
#define DEV_QUICK_W3                                       DEV_QUICK_NONE
#define VM_ALU(name, text, shape, types, expression, what) DEV_QUICK_##shape(name, expression)
#include "vm/opcodes.def"
        default:
            break;
        }
    } else if (sources == 3) {
        switch (op->op & 0xFFu) {
#undef DEV_QUICK_W2
#undef DEV_QUICK_W3
#define DEV_QUICK_W2                                       DEV_QUICK_NONE
#define DEV_QUICK_W3                                       DEV_QUICK_3
#define VM_ALU(name, text, shape, types, expression, what) DEV_QUICK_##shape(name, expression)
#include "vm/opcodes.def"
        default:
            break;
        }
    } else {
        switch (op->op & 0xFFu) {
#undef DEV_QUICK_W1
#undef DEV_QUICK_W3
#define DEV_QUICK_W1 DEV_QUICK_1
#define DEV_QUICK_W3 DEV_QUICK_NONE
            DEV_QUICK(MOV, 1, a)
#define VM_ALU(name, text, shape, types, expression, what) DEV_QUICK_##shape(name, expression)
#include "vm/opcodes.def"
        default:
            break;
        }
    }
}

#undef DEV_QUICK_W1
#undef DEV_QUICK_W2
#undef DEV_QUICK_W3

/* The same for a scalar: every lane computes it. */
DEV_INLINE void dev_quick_scalar(const struct dev_quick *q, const struct dev_op *op)
{
    const uint32_t a = dev_near_get(q->room, op->a), b = dev_near_get(q->room, op->b),
                   c = dev_near_get(q->room, op->c);
    uint32_t result = a; /* MOV */
    switch (op->op & 0xFFu) {
#define DEV_SCALAR_W1(name, expression)                                                            \
case VM_OP_##name:                                                                                 \
    result = (expression);                                                                         \
    break;
#define DEV_SCALAR_W2 DEV_SCALAR_W1
#define DEV_SCALAR_W3 DEV_SCALAR_W1
#define DEV_SCALAR_D1(name, expression)
#define DEV_SCALAR_D2(name, expression)
#define DEV_SCALAR_C1(name, expression)
#define DEV_SCALAR_C2(name, expression)
#define VM_ALU(name, text, shape, types, expression, what) DEV_SCALAR_##shape(name, expression)
#include "vm/opcodes.def"
    default:
        break;
    }
    dev_warp_sync();
    DEV_FIRST dev_near_set(q->room, op->d, result);
    dev_warp_sync();
}

/* How an instruction ended. */
enum dev_quick_end {
    DEV_QUICK_GO = 0,
    DEV_QUICK_LOST = 1, /* lanes were out of bounds: see dev_lost */
    DEV_QUICK_DAMAGED = 2,
    DEV_QUICK_OVER = 3, /* the turn is over */
    DEV_QUICK_END = 4   /* the workgroup has ended */
};

/* Ids along x. */
DEV_FN void dev_quick_id(const struct dev_quick *q, const struct dev_op *op)
{
    const uint32_t base = (op->op & 0xFFu) == VM_OP_GLOBALID ? q->first_id : 0;
    struct dev_places places;
    dev_places_first(q, &places);
    for (uint32_t first = 0;;) {
        struct dev_pass result;
        DEV_UNROLL
        for (uint32_t k = 0; k < DEV_PASS; k++) {
            DEV_ROLES(l)
            {
                result.word[k][DEV_MINE(l)] = base + places.at[k][DEV_MINE(l)] / 4;
            }
        }
        dev_places_set(q, &places, op, &result);
        first += DEV_PASS;
        if (first >= q->units) break;
        dev_places_next(q, &places);
    }
}

DEV_FN void dev_quick_level(struct dev_quick *q, uint32_t level, uint32_t active)
{
    DEV_FIRST dev_near_set(q->room, q->actives + level * 4, active);
    dev_warp_sync();
    q->level = level;
    q->active = active;
}

DEV_FN void dev_quick_back(struct dev_quick *q, uint32_t level)
{
    q->level = level;
    q->active = dev_near_get(q->room, q->actives + level * 4);
}

/* Opens a mask: active lanes whose condition holds. */
DEV_FN void dev_quick_push(struct dev_quick *q, const struct dev_op *op)
{
    const uint32_t base = op->a & ~DEV_EACH;
    uint32_t count = 0;
    dev_warp_sync(); /* whoever reads what lies there now */
    for (uint32_t u = 0; u < q->units; u++) {
        uint32_t yes[DEV_WARP_ROLES];
        DEV_ROLES(l)
        {
            yes[DEV_MINE(l)] = dev_near_get(q->room, base + (u * DEV_WARP + l) * 4) != 0;
        }
        uint32_t word = dev_warp_ballot(yes) & dev_quick_mask(q, u);
        DEV_FIRST dev_near_set(q->room, q->masks + ((q->level + 1) * q->units + u) * 4, word);
        count += dev_popcount(word);
    }
    dev_quick_level(q, q->level + 1, count);
}

/* The lanes of the mask below that are not in this one. */
DEV_FN void dev_quick_others(struct dev_quick *q)
{
    uint32_t count = 0;
    for (uint32_t u = 0; u < q->units; u++) {
        uint32_t below = dev_near_get(q->room, q->masks + ((q->level - 1) * q->units + u) * 4);
        uint32_t word = below & ~dev_quick_mask(q, u);
        dev_warp_sync();
        DEV_FIRST dev_near_set(q->room, q->masks + (q->level * q->units + u) * 4, word);
        count += dev_popcount(word);
    }
    dev_quick_level(q, q->level, count);
}

/* Control instructions but RET and loops whose lanes differ. The pc stands behind the instruction.
 */
DEV_FN uint32_t dev_quick_control(struct dev_quick *q, const struct dev_op *op)
{
    q->steps += op->c;
    switch (op->op & 0xFFu) {
    case VM_OP_JZ:
    case VM_OP_LEAVE:
        if (dev_near_get(q->room, op->a) == 0) q->pc = op->imm;
        break;
    case VM_OP_JUMP:
        q->pc = op->imm;
        break;
    case VM_OP_LOOP: {
        uint32_t from = dev_near_get(q->room, op->a), to = dev_near_get(q->room, op->b);
        dev_warp_sync();
        DEV_FIRST dev_near_set(q->room, op->d, from);
        dev_warp_sync();
        if (from >= to) q->pc = op->imm;
        break;
    }
    case VM_OP_NEXT: {
        uint32_t next = dev_near_get(q->room, op->d) + 1u, to = dev_near_get(q->room, op->a);
        dev_warp_sync();
        DEV_FIRST dev_near_set(q->room, op->d, next);
        dev_warp_sync();
        if (next < to && q->active != 0) {
            q->pc = op->imm;
            return q->steps >= q->limit ? DEV_QUICK_OVER : DEV_QUICK_GO;
        }
        break;
    }
    case VM_OP_IF:
    case VM_OP_IFLEAVE: {
        uint32_t level = q->level;
        if (level >= q->level_count) return DEV_QUICK_DAMAGED;
        dev_quick_push(q, op);
        if (q->active != 0) break;
        if ((op->op & 0xFFu) == VM_OP_IFLEAVE) dev_quick_back(q, level);
        q->pc = op->imm;
        break;
    }
    case VM_OP_ELSE:
        if (q->level == 0) return DEV_QUICK_DAMAGED;
        dev_quick_others(q);
        if (q->active == 0) q->pc = op->imm;
        break;
    case VM_OP_ENDIF:
        if (q->level == 0) return DEV_QUICK_DAMAGED;
        dev_quick_back(q, q->level - 1);
        break;
    case VM_OP_END:
        return DEV_QUICK_END;
    default: /* BARRIER, STEP */
        dev_warp_sync();
        break;
    }
    return DEV_QUICK_GO;
}

#endif
