/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Instructions of programs that fit a warp's room. Their code lies there in a form that was checked
 * and decoded once (warp_decode.h), so an instruction costs what it does: no number is looked up or
 * bounded any more.
 *
 * On a GPU the room is shared memory. Its addresses have 32 bits, and are used as such
 * (dev_near_place): a pointer that might be anywhere costs several times as much.
 */
#ifndef VYRE_DEVICE_WARP_NEAR_H
#define VYRE_DEVICE_WARP_NEAR_H

#include "device/warp_memory.h"

/* Words of the room, at a place from its origin. */
#if defined(__CUDACC__)
typedef uint32_t dev_near; /* always 0 */

DEV_FN dev_near dev_near_base(const void *room)
{
    (void)room;
    return 0;
}

DEV_FN uint32_t dev_near_get(dev_near base, uint32_t at)
{
    uint32_t word;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(base + at) : "memory");
    return word;
}

DEV_FN void dev_near_set(dev_near base, uint32_t at, uint32_t word)
{
    asm volatile("st.shared.u32 [%0], %1;" : : "r"(base + at), "r"(word) : "memory");
}

/* `at` is a multiple of 8. */
DEV_FN uint64_t dev_near_get64(dev_near base, uint32_t at)
{
    uint64_t word;
    asm volatile("ld.shared.u64 %0, [%1];" : "=l"(word) : "r"(base + at) : "memory");
    return word;
}

DEV_FN void dev_near_get2(dev_near base, uint32_t at, uint32_t *low, uint32_t *high)
{
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                 : "=r"(*low), "=r"(*high)
                 : "r"(base + at)
                 : "memory");
}

DEV_FN void dev_near_set2(dev_near base, uint32_t at, uint32_t low, uint32_t high)
{
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};"
                 :
                 : "r"(base + at), "r"(low), "r"(high)
                 : "memory");
}

/* Four words side by side; `at` is a multiple of 16. */
struct dev_four {
    uint32_t word[4];
};

DEV_FN struct dev_four dev_near_get4(dev_near base, uint32_t at)
{
    struct dev_four four;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(four.word[0]), "=r"(four.word[1]), "=r"(four.word[2]), "=r"(four.word[3])
                 : "r"(base + at)
                 : "memory");
    return four;
}

DEV_FN void dev_near_set4(dev_near base, uint32_t at, struct dev_four four)
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "r"(base + at), "r"(four.word[0]), "r"(four.word[1]), "r"(four.word[2]),
                   "r"(four.word[3])
                 : "memory");
}

/* Stores, without a branch: the four words where `at` is below `end`, or those with a bit in
 * `takers`. */
DEV_FN void dev_near_set4_below(dev_near base, uint32_t at, uint32_t end, struct dev_four four)
{
    asm volatile("{ .reg .pred p;\n\t"
                 "setp.lt.u32 p, %0, %1;\n\t"
                 "@p st.shared.v4.u32 [%2], {%3, %4, %5, %6}; }"
                 :
                 : "r"(at), "r"(end), "r"(base + at), "r"(four.word[0]), "r"(four.word[1]),
                   "r"(four.word[2]), "r"(four.word[3])
                 : "memory");
}

/* `st` is the store, `kind` the letter of its address. */
#    define DEV_SET_SOME(st, kind, address)                                                        \
        asm volatile("{ .reg .pred p;\n\t"                                                         \
                     ".reg .pred q;\n\t"                                                           \
                     ".reg .b32 bit;\n\t"                                                          \
                     "setp.eq.u32 p, %0, 15;\n\t"                                                  \
                     "@p " st ".v4.u32 [%1], {%2, %3, %4, %5};\n\t"                                \
                     "and.b32 bit, %0, 1;\n\t"                                                     \
                     "setp.ne.and.u32 q, bit, 0, !p;\n\t"                                          \
                     "@q " st ".u32 [%1], %2;\n\t"                                                 \
                     "and.b32 bit, %0, 2;\n\t"                                                     \
                     "setp.ne.and.u32 q, bit, 0, !p;\n\t"                                          \
                     "@q " st ".u32 [%1 + 4], %3;\n\t"                                             \
                     "and.b32 bit, %0, 4;\n\t"                                                     \
                     "setp.ne.and.u32 q, bit, 0, !p;\n\t"                                          \
                     "@q " st ".u32 [%1 + 8], %4;\n\t"                                             \
                     "and.b32 bit, %0, 8;\n\t"                                                     \
                     "setp.ne.and.u32 q, bit, 0, !p;\n\t"                                          \
                     "@q " st ".u32 [%1 + 12], %5; }"                                              \
                     :                                                                             \
                     : "r"(takers), kind(address), "r"(four.word[0]), "r"(four.word[1]),           \
                       "r"(four.word[2]), "r"(four.word[3])                                        \
                     : "memory")

DEV_FN void dev_near_set_some(dev_near base, uint32_t at, uint32_t takers, struct dev_four four)
{
    DEV_SET_SOME("st.shared", "r", base + at);
}

DEV_FN struct dev_op dev_near_op(dev_near base, uint32_t at)
{
    struct dev_op op;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(op.op), "=r"(op.d), "=r"(op.a), "=r"(op.b)
                 : "r"(base + at)
                 : "memory");
    uint32_t low, high;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(op.c), "=r"(op.imm), "=r"(low), "=r"(high)
                 : "r"(base + at + 16)
                 : "memory");
    op.run = (uint64_t)high << 32 | low;
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

DEV_FN uint64_t dev_near_get64(dev_near base, uint32_t at)
{
    return *(const uint64_t *)(const void *)(base + at);
}

DEV_FN void dev_near_get2(dev_near base, uint32_t at, uint32_t *low, uint32_t *high)
{
    *low = dev_near_get(base, at);
    *high = dev_near_get(base, at + 4);
}

DEV_FN void dev_near_set2(dev_near base, uint32_t at, uint32_t low, uint32_t high)
{
    dev_near_set(base, at, low);
    dev_near_set(base, at + 4, high);
}

struct dev_four {
    uint32_t word[4];
};

DEV_FN struct dev_four dev_near_get4(dev_near base, uint32_t at)
{
    return *(const struct dev_four *)(const void *)(base + at);
}

DEV_FN void dev_near_set4(dev_near base, uint32_t at, struct dev_four four)
{
    *(struct dev_four *)(void *)(base + at) = four;
}

DEV_FN void dev_near_set4_below(dev_near base, uint32_t at, uint32_t end, struct dev_four four)
{
    if (at < end) dev_near_set4(base, at, four);
}

DEV_FN void dev_near_set_some(dev_near base, uint32_t at, uint32_t takers, struct dev_four four)
{
    for (uint32_t k = 0; k < 4; k++)
        if (takers >> k & 1) dev_near_set(base, at + k * 4, four.word[k]);
}

DEV_FN struct dev_op dev_near_op(dev_near base, uint32_t at)
{
    return *(const struct dev_op *)(const void *)(base + at);
}
#endif

/*
 * An instruction goes through a register in passes of four units, and a lane of the warp has four
 * neighbours of them, a quad: one access for four words. Places are bytes from the register's
 * start, the same for all registers; those past its end belong to nobody: there words of the code
 * are read, which nobody writes, and nothing is written. Whoever reads or writes
 * registers in another order, as unit by unit, has a dev_warp_sync before and after.
 */
struct dev_span {
    dev_near room;
    uint32_t row;   /* bytes of a register */
    uint32_t code;  /* place of the decoded code */
    uint32_t masks; /* of the masks of this level */
};

/* The place of role l, from that of the first one. (On a GPU a lane knows its own.) */
#if defined(__CUDACC__)
#    define DEV_PLACE(place, l) (place)
#else
#    define DEV_PLACE(place, l) ((place) + (l)*DEV_PASS * 4u)
#endif

/* `whole`: all places of the pass are the register's. */
DEV_INLINE void dev_quads_get(const struct dev_span *span, uint32_t place, uint32_t operand,
                              int whole, struct dev_pass *pass)
{
    const uint32_t each = 0u - (operand >> 31), base = operand & ~DEV_EACH;
    DEV_ROLES(l)
    {
        const uint32_t at = DEV_PLACE(place, l);
        const struct dev_four four =
            dev_near_get4(span->room, whole || at < span->row ? base + (at & each) : span->code);
        DEV_UNROLL
        for (uint32_t k = 0; k < DEV_PASS; k++)
            pass->word[k][DEV_MINE(l)] = four.word[k];
    }
}

/* A bit for each lane of a quad that is in the mask. */
DEV_INLINE uint32_t dev_quad_takers(const struct dev_span *span, uint32_t at)
{
    const uint32_t unit = at < span->row ? at / (4 * DEV_WARP) : 0;
    const uint32_t takers =
        dev_near_get(span->room, span->masks + unit * 4) >> at / 4 % DEV_WARP & 15u;
    return at < span->row ? takers : 0;
}

/* How the quads of a pass are written. */
enum dev_quads_how { DEV_QUADS_WHOLE, DEV_QUADS_PART, DEV_QUADS_MASKED };

DEV_INLINE void dev_quads_set(const struct dev_span *span, uint32_t place, uint32_t d,
                              enum dev_quads_how how, const struct dev_pass *pass)
{
    const uint32_t base = d & ~DEV_EACH;
    DEV_ROLES(l)
    {
        const uint32_t at = DEV_PLACE(place, l);
        struct dev_four four;
        DEV_UNROLL
        for (uint32_t k = 0; k < DEV_PASS; k++)
            four.word[k] = pass->word[k][DEV_MINE(l)];
        if (how == DEV_QUADS_MASKED)
            dev_near_set_some(span->room, base + at, dev_quad_takers(span, at), four);
        else if (how == DEV_QUADS_PART)
            dev_near_set4_below(span->room, base + at, base + span->row, four);
        else
            dev_near_set4(span->room, base + at, four);
    }
}

/* Writes a scalar: whoever still reads it goes first, whoever reads it next comes after. */
DEV_INLINE void dev_near_scalar_put(dev_near room, uint32_t d, uint32_t value)
{
    const struct dev_four four = {{value, value, value, value}};
    dev_warp_sync();
    DEV_FIRST dev_near_set4(room, d, four);
    dev_warp_sync();
}

/* The state of the loop: as struct dev_core, but in the room's addresses. */
struct dev_quick {
    struct dev_span span;
    uint32_t masks, views, actives; /* places */
    uint32_t units, lanes, level_count, code_count;
    uint32_t first_id; /* invocation id of lane 0 along x */
    uint32_t pc, level, active;
    uint32_t place; /* of a lane's first quad */
    uint64_t steps, limit;
};

/* Whether only some lanes take the result. */
DEV_INLINE int dev_quick_masked(const struct dev_quick *q, const struct dev_op *op)
{
    return (op->op >> 16 & VM_MASKED) != 0 && q->active != q->lanes;
}

DEV_INLINE void dev_quick_set(const struct dev_quick *q, const struct dev_op *op, uint32_t place,
                              const struct dev_pass *pass)
{
    if (dev_quick_masked(q, op))
        dev_quads_set(&q->span, place, op->d, DEV_QUADS_MASKED, pass);
    else
        dev_quads_set(&q->span, place, op->d, DEV_QUADS_PART, pass);
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
    uint32_t place = q->place;
    for (uint32_t first = 0; first < q->units; first += DEV_PASS) {
        struct dev_pass result;
        DEV_UNROLL
        for (uint32_t k = 0; k < DEV_PASS; k++) {
            DEV_ROLES(l)
            {
                result.word[k][DEV_MINE(l)] = base + DEV_PLACE(place, l) / 4 + k;
            }
        }
        dev_quick_set(q, op, place, &result);
        place += DEV_PASS_BYTES;
    }
}

/* Goes on at a level with so many lanes. */
DEV_FN void dev_quick_at(struct dev_quick *q, uint32_t level, uint32_t active)
{
    q->level = level;
    q->active = active;
    q->span.masks = q->masks + level * q->units * 4;
}

DEV_FN void dev_quick_level(struct dev_quick *q, uint32_t level, uint32_t active)
{
    DEV_FIRST dev_near_set(q->span.room, q->actives + level * 4, active);
    dev_warp_sync();
    dev_quick_at(q, level, active);
}

DEV_FN void dev_quick_back(struct dev_quick *q, uint32_t level)
{
    dev_quick_at(q, level, dev_near_get(q->span.room, q->actives + level * 4));
}

/* Opens a mask: active lanes whose condition holds. */
DEV_FN void dev_quick_push(struct dev_quick *q, const struct dev_op *op)
{
    const uint32_t base = op->a & ~DEV_EACH;
    uint32_t count = 0;
    dev_warp_sync(); /* what the lanes have written is read unit by unit */
    for (uint32_t u = 0; u < q->units; u++) {
        uint32_t yes[DEV_WARP_ROLES];
        DEV_ROLES(l)
        {
            yes[DEV_MINE(l)] = dev_near_get(q->span.room, base + (u * DEV_WARP + l) * 4) != 0;
        }
        uint32_t word = dev_warp_ballot(yes) & dev_near_get(q->span.room, q->span.masks + u * 4);
        DEV_FIRST dev_near_set(q->span.room, q->span.masks + (q->units + u) * 4, word);
        count += dev_popcount(word);
    }
    dev_quick_level(q, q->level + 1, count);
}

/* The lanes of the mask below that are not in this one. */
DEV_FN void dev_quick_others(struct dev_quick *q)
{
    uint32_t count = 0;
    for (uint32_t u = 0; u < q->units; u++) {
        uint32_t below = dev_near_get(q->span.room, q->span.masks - (q->units - u) * 4);
        uint32_t word = below & ~dev_near_get(q->span.room, q->span.masks + u * 4);
        dev_warp_sync();
        DEV_FIRST dev_near_set(q->span.room, q->span.masks + u * 4, word);
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
        if (dev_near_get(q->span.room, op->a) == 0) q->pc = op->imm;
        break;
    case VM_OP_JUMP:
        q->pc = op->imm;
        break;
    case VM_OP_LOOP: {
        uint32_t from = dev_near_get(q->span.room, op->a), to = dev_near_get(q->span.room, op->b);
        dev_near_scalar_put(q->span.room, op->d, from);
        if (from >= to) q->pc = op->imm;
        break;
    }
    case VM_OP_NEXT: {
        uint32_t next = dev_near_get(q->span.room, op->d) + 1u,
                 to = dev_near_get(q->span.room, op->a);
        dev_near_scalar_put(q->span.room, op->d, next);
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
