/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The loop for single workgroups in a hurry, which the aides have (desk.h): at most two units, of
 * each of which a lane of the warp has its own lane. A small program runs through its code once,
 * and what it takes is not the work of its instructions but the time from one to the next. So the
 * code is made for this loop (lean_code.h), and each lane has its words to itself, scalars too, so
 * that none waits for another.
 *
 * It goes straight on only. Whatever is not as it nearly always is (lanes that part, accesses out
 * of bounds, stores that may meet, all that is rare) is left, before anything of it is done, to the
 * other loop (warp_interp.h), which goes on at that instruction.
 */
#ifndef VYRE_DEVICE_LEAN_H
#define VYRE_DEVICE_LEAN_H

#include "device/lean_begin.h"
#include "device/run.h"

/* The operands of an instruction. */
struct dev_lean_words {
    struct dev_two a, b, c;
};

DEV_INLINE struct dev_lean_words dev_lean_operands(const struct dev_lean *lean,
                                                   const struct dev_lean_op *op)
{
    struct dev_lean_words in;
    dev_lean_get(lean, DEV_LEAN_A(op), &in.a);
    dev_lean_get(lean, DEV_LEAN_B(op), &in.b);
    dev_lean_get(lean, op->c, &in.c);
    return in;
}

/* Computes a sum for both words of each lane; with `factor` and `summand` where these are not 0. */
#define DEV_LEAN_BOTH(in, result, expression)                                                      \
    DEV_ROLES(l)                                                                                   \
    {                                                                                              \
        DEV_UNROLL                                                                                 \
        for (uint32_t u = 0; u < DEV_LEAN_UNITS; u++) {                                            \
            const uint32_t a = (in)->a.word[u][DEV_MINE(l)];                                       \
            const uint32_t b = factor != 0 ? factor : (in)->b.word[u][DEV_MINE(l)];                \
            const uint32_t c = summand != 0 ? (uint32_t)summand : (in)->c.word[u][DEV_MINE(l)];    \
            (void)c;                                                                               \
            (result).word[u][DEV_MINE(l)] = (expression);                                          \
        }                                                                                          \
    }

DEV_INLINE void dev_lean_sum(const struct dev_lean *lean, const struct dev_lean_op *op,
                             uint32_t kind, const struct dev_lean_words *in)
{
    const uint32_t factor = op->imm;
    const uint64_t summand = op->what;
    struct dev_two result;
    if (kind & DEV_LEAN_FLOAT)
        DEV_LEAN_BOTH(in, result, vm_fadd(vm_fmul(a, b), c))
    else if (kind & DEV_LEAN_LESS)
        DEV_LEAN_BOTH(in, result, (uint32_t)(a < b))
    else
        DEV_LEAN_BOTH(in, result, a * b + c)
    dev_lean_set(lean, DEV_LEAN_D(op), &result);
}

DEV_INLINE void dev_lean_call(const struct dev_lean *lean, const struct dev_lean_op *op,
                              const struct dev_lean_words *in)
{
    const dev_lean_fn run = (dev_lean_fn)(uintptr_t)op->what;
    struct dev_two result;
    DEV_ROLES(l)
    {
        const uint64_t both =
            run(in->a.word[0][DEV_MINE(l)], in->a.word[1][DEV_MINE(l)], in->b.word[0][DEV_MINE(l)],
                in->b.word[1][DEV_MINE(l)], in->c.word[0][DEV_MINE(l)], in->c.word[1][DEV_MINE(l)]);
        result.word[0][DEV_MINE(l)] = (uint32_t)both;
        result.word[1][DEV_MINE(l)] = (uint32_t)(both >> 32);
    }
    dev_lean_set(lean, DEV_LEAN_D(op), &result);
}

/* A load on its way. */
struct dev_lean_load {
    struct dev_two result;
    uint32_t odd[DEV_WARP_ROLES]; /* lanes of which are out of bounds */
};

DEV_INLINE void dev_lean_load_begin(const struct dev_lean *lean, const struct dev_lean_op *op,
                                    const struct dev_two *index, struct dev_lean_load *load)
{
    const uint32_t lanes = op->kind_d & DEV_LEAN_ALL ? DEV_LEAN_UNITS * DEV_WARP : lean->lanes;
    const unsigned char *element = (const unsigned char *)(uintptr_t)op->what;
    DEV_ROLES(l)
    {
        load->odd[DEV_MINE(l)] = 0;
        DEV_UNROLL
        for (uint32_t u = 0; u < DEV_LEAN_UNITS; u++) {
            const uint32_t at = index->word[u][DEV_MINE(l)];
            const uint32_t used = DEV_LEAN_LANE(lean, l) + u * DEV_WARP < lanes;
            const uint32_t inside = at < op->imm;
            load->odd[DEV_MINE(l)] |= used & (inside ^ 1u);
            load->result.word[u][DEV_MINE(l)] = 0;
            dev_get_if(element + (uint64_t)at * 4, used & inside,
                       &load->result.word[u][DEV_MINE(l)]);
        }
    }
}

DEV_INLINE void dev_lean_load_end(const struct dev_lean *lean, const struct dev_lean_op *op,
                                  uint32_t kind, struct dev_lean_load *load)
{
    if (kind & DEV_LEAN_ALL) { /* a scalar is one word, whoever writes there meanwhile */
        const uint32_t one = dev_warp_word32(load->result.word[0], 0);
        DEV_ROLES(l)
        {
            load->result.word[0][DEV_MINE(l)] = load->result.word[1][DEV_MINE(l)] = one;
        }
    }
    DEV_ROLES(l)
    {
        DEV_UNROLL
        for (uint32_t u = 0; u < DEV_LEAN_UNITS; u++) {
            const uint32_t word = load->result.word[u][DEV_MINE(l)];
            load->result.word[u][DEV_MINE(l)] = kind & DEV_LEAN_FLOAT ? vm_flush_now(word) : word;
        }
    }
    dev_lean_set(lean, DEV_LEAN_D(op), &load->result);
}

/* 0: some lane is out of bounds, and nothing is done. */
DEV_INLINE uint32_t dev_lean_load(const struct dev_lean *lean, const struct dev_lean_op *op,
                                  uint32_t kind, const struct dev_two *index)
{
    struct dev_lean_load load;
    dev_lean_load_begin(lean, op, index, &load);
    if (dev_warp_ballot(load.odd) != 0) return 0;
    dev_lean_load_end(lean, op, kind, &load);
    return 1;
}

/* The same of a load and the one behind it, which needs nothing of it: both are under way at
 * once. */
DEV_INLINE uint32_t dev_lean_load_pair(const struct dev_lean *lean, const struct dev_lean_op *op,
                                       const struct dev_lean_op *next, uint32_t kind,
                                       const struct dev_two *index)
{
    struct dev_lean_load first, second;
    struct dev_two other;
    dev_lean_get(lean, DEV_LEAN_A(next), &other);
    dev_lean_load_begin(lean, op, index, &first);
    dev_lean_load_begin(lean, next, &other, &second);
    DEV_ROLES(l)
    {
        first.odd[DEV_MINE(l)] |= second.odd[DEV_MINE(l)];
    }
    const uint32_t next_kind = dev_warp_first(next->kind_d);
    if (dev_warp_ballot(first.odd) != 0) return 0;
    dev_lean_load_end(lean, op, kind, &first);
    dev_lean_load_end(lean, next, next_kind, &second);
    return 1;
}

/* Marks lanes whose places do not count up. */
DEV_INLINE void dev_lean_meet(const struct dev_lean *lean, const struct dev_two *index,
                              uint32_t *odd)
{
    const uint32_t last = dev_warp_word32(index->word[0], DEV_WARP - 1);
    DEV_ROLES(l)
    {
        const uint32_t lane = DEV_LEAN_LANE(lean, l);
        DEV_UNROLL
        for (uint32_t u = 0; u < DEV_LEAN_UNITS; u++) {
            const uint32_t below = dev_warp_word32(index->word[u], lane != 0 ? lane - 1 : 0);
            const uint32_t before = lane != 0 ? below : last;
            const uint32_t up =
                (uint32_t)(index->word[u][DEV_MINE(l)] > before) | (uint32_t)(lane + u == 0);
            odd[DEV_MINE(l)] |= (uint32_t)(lane + u * DEV_WARP < lean->lanes) & (up ^ 1u);
        }
    }
}

/* Stores what is given to the lanes of the workgroup, and gets their answers, if need be; those of
 * the store before must have come. */
DEV_INLINE void dev_lean_put(struct dev_lean *lean, const struct dev_lean_op *op,
                             const struct dev_two *index, const struct dev_two *value)
{
    unsigned char *element = (unsigned char *)(uintptr_t)op->what;
    const int answered = lean->answers != 0;
    DEV_ROLES(l)
    {
        if (answered)
            lean->heard[DEV_MINE(l)] ^=
                lean->last.word[0][DEV_MINE(l)] ^ lean->last.word[1][DEV_MINE(l)];
        DEV_UNROLL
        for (uint32_t u = 0; u < DEV_LEAN_UNITS; u++) {
            unsigned char *to = element + (uint64_t)index->word[u][DEV_MINE(l)] * 4;
            const uint32_t mine = DEV_LEAN_LANE(lean, l) + u * DEV_WARP < lean->lanes;
            if (answered)
                dev_set_answered((uint32_t *)(void *)to, value->word[u][DEV_MINE(l)], mine,
                                 &lean->last.word[u][DEV_MINE(l)]);
            else if (mine)
                dev_set(to, value->word[u][DEV_MINE(l)], 4);
        }
    }
}

/* Waits until all that was stored is where all of the device see it: whoever puts an answer
 * somewhere has it. */
DEV_INLINE void dev_lean_hear(const struct dev_lean *lean)
{
    DEV_ROLES(l)
    {
        const uint32_t all = lean->heard[DEV_MINE(l)] ^ lean->last.word[0][DEV_MINE(l)] ^
                             lean->last.word[1][DEV_MINE(l)];
        dev_near_set(lean->room, lean->place + lean->answers + 4 * DEV_LEAN_LANE(lean, l), all);
    }
    dev_warp_sync();
}

/* Stores at places that count up, so that no two meet. 0: they do not, and nothing is done. */
DEV_INLINE uint32_t dev_lean_store(struct dev_lean *lean, const struct dev_lean_op *op,
                                   uint32_t kind, const struct dev_lean_words *in)
{
    uint32_t odd[DEV_WARP_ROLES];
    struct dev_two value;
    DEV_ROLES(l)
    {
        odd[DEV_MINE(l)] = 0;
        DEV_UNROLL
        for (uint32_t u = 0; u < DEV_LEAN_UNITS; u++)
            odd[DEV_MINE(l)] |= (uint32_t)(DEV_LEAN_LANE(lean, l) + u * DEV_WARP < lean->lanes) &
                                (uint32_t)(in->a.word[u][DEV_MINE(l)] >= op->imm);
    }
    if (!(kind & DEV_LEAN_UP)) dev_lean_meet(lean, &in->a, odd);
    if (dev_warp_ballot(odd) != 0) return 0;
    DEV_ROLES(l)
    {
        DEV_UNROLL
        for (uint32_t u = 0; u < DEV_LEAN_UNITS; u++) {
            const uint32_t word = in->b.word[u][DEV_MINE(l)];
            value.word[u][DEV_MINE(l)] = kind & DEV_LEAN_FLOAT ? vm_canon(word) : word;
        }
    }
    dev_warp_sync(); /* others may have loaded what is stored over */
    dev_lean_put(lean, op, &in->a, &value);
    dev_warp_sync(); /* lanes of later instructions may meet these */
    return 1;
}

/* Whether a condition is not 0 for all lanes of the workgroup. */
DEV_INLINE int dev_lean_all(const struct dev_lean *lean, const struct dev_two *condition)
{
    uint32_t no[DEV_WARP_ROLES];
    DEV_ROLES(l)
    {
        no[DEV_MINE(l)] = 0;
        DEV_UNROLL
        for (uint32_t u = 0; u < DEV_LEAN_UNITS; u++)
            no[DEV_MINE(l)] |= (uint32_t)(DEV_LEAN_LANE(lean, l) + u * DEV_WARP < lean->lanes) &
                               (uint32_t)(condition->word[u][DEV_MINE(l)] == 0);
    }
    return dev_warp_ballot(no) == 0;
}

/* How a workgroup ended. */
struct dev_lean_end {
    uint32_t how; /* enum dev_frame_end */
    uint32_t steps;
    uint32_t out_of_bounds;
    uint32_t left; /* not all of it was run by this loop */
};

/* Hands the workgroup over to the other loop, at an instruction of which nothing is done. */
DEV_NO_INLINE struct dev_lean_end dev_lean_leave(struct dev_frame *frame, struct dev_lean state,
                                                 uint32_t pc, struct dev_lean_job job)
{
    const struct vm_header *header = &frame->header;
    const uint32_t units = dev_units(header->lanes);
    const unsigned char *room = (const unsigned char *)frame;
    const struct dev_lean_layout at = dev_lean_layout(frame);
    struct dev_lean_end end;
    uint32_t turns = 0;
    dev_warp_begin(frame, state.number, job.args);
    DEV_ROLES(l)
    {
        for (uint32_t r = 0; r < header->register_count + header->scalar_count; r++) {
            const uint32_t *row =
                (const uint32_t *)(const void *)(room + at.rows + r * DEV_LEAN_ROW_BYTES) + 2 * l;
            uint32_t s = r - header->register_count;
            for (uint32_t u = 0; u < units && r < header->register_count; u++)
                frame->registers[(r * units + u) * DEV_WARP + l] = row[u];
            if (r >= header->register_count && l < DEV_SCALAR_WORDS)
                frame->scalars[s * DEV_SCALAR_WORDS + l] = row[0];
        }
        for (uint32_t i = units + l; i < (state.level + 1) * units; i += DEV_WARP)
            frame->masks[i] = frame->masks[i % units];
        for (uint32_t i = 1 + l; i <= state.level; i += DEV_WARP)
            frame->active[i] = header->lanes;
    }
    DEV_FIRST frame->limit = job.budget;
    dev_frame_keep(frame, pc, state.level, state.steps);
    do
        end.how = dev_quick_run(frame);
    while (dev_short_goes_on(end.how, turns++));
    end.steps = dev_saturated(frame->steps);
    end.out_of_bounds = frame->out_of_bounds;
    end.left = 1;
    return end;
}

/* Runs what is rarer. The place of the next instruction, in bytes of code; DEV_NONE: it must be
 * left. */
DEV_INLINE uint32_t dev_lean_other(struct dev_lean *lean, const struct dev_lean_op *op,
                                   uint32_t kind, const struct dev_lean_words *in, uint32_t next)
{
    uint32_t target = op->imm;
    if (kind & DEV_LEAN_WORDS) {
        dev_lean_call(lean, op, in);
        return next;
    }
    if (kind & DEV_LEAN_FILL) {
        dev_lean_fill(lean, op, dev_lean_word(lean, op));
        return next;
    }
    if (kind & DEV_LEAN_IF) {
        if (lean->level >= lean->level_count || !dev_lean_all(lean, &in->a)) return DEV_NONE;
        lean->level++;
    } else if (kind & DEV_LEAN_ENDIF) {
        if (lean->level == 0) return DEV_NONE;
        lean->level--;
    } else if (kind & DEV_LEAN_JZ) {
        if (dev_lean_all(lean, &in->a)) target = next;
    } else if (kind & DEV_LEAN_GO) {
        dev_warp_sync();
    } else {
        return DEV_NONE;
    }
    lean->steps += (uint32_t)op->what;
    return target;
}

/*
 * Runs a workgroup from its beginning, or, if it is `primed`, from its scalars. Nothing here goes
 * back, and behind the code is a place that must be left.
 *
 * All lanes read the same code, but a compiler does not know it, and would make them meet again
 * behind every branch. So what is branched on comes from the first lane, while operands are on
 * their way.
 */
DEV_INLINE struct dev_lean_end dev_lean_run(struct dev_lean *lean, struct dev_frame *frame,
                                            uint32_t number, const struct dev_lean_job *job,
                                            uint32_t primed)
{
    const uint32_t size = (uint32_t)sizeof(struct dev_lean_op), code = lean->code;
    struct dev_lean_end end = {DEV_FRAME_ENDED, 0, 0, 0};
    uint32_t at = 0;
    if (!primed) dev_lean_prime(frame, number, job->flat ? NULL : job->args);
    dev_lean_fill_slot(lean, job->args);
    lean->number = number;
    lean->level = lean->steps = 0;
    struct dev_lean_op op = dev_lean_read(lean, code);
    for (;;) {
        const struct dev_lean_words in = dev_lean_operands(lean, &op);
        const struct dev_lean_op next = dev_lean_read(lean, code + at + size);
        const uint32_t kind = dev_warp_first(op.kind_d);
        if (kind & DEV_LEAN_SUM) {
            dev_lean_sum(lean, &op, kind, &in);
            at += size;
            op = next;
        } else if (kind & DEV_LEAN_PAIR) {
            const struct dev_lean_op third = dev_lean_read(lean, code + at + 2 * size);
            if (!dev_lean_load_pair(lean, &op, &next, kind, &in.a)) break;
            at += 2 * size;
            op = third;
        } else if (kind & DEV_LEAN_LOAD) {
            if (!dev_lean_load(lean, &op, kind, &in.a)) break;
            at += size;
            op = next;
        } else if (kind & DEV_LEAN_STORE) {
            const uint32_t next_kind = dev_warp_first(next.kind_d);
            if (!dev_lean_store(lean, &op, kind, &in)) break;
            at += size;
            op = next;
            if (next_kind & DEV_LEAN_END) { /* as it mostly is */
                end.steps = lean->steps + (uint32_t)op.what;
                return end;
            }
        } else if (kind & DEV_LEAN_END) {
            end.steps = lean->steps + (uint32_t)op.what;
            return end;
        } else {
            const uint32_t target = dev_lean_other(lean, &op, kind, &in, at + size);
            if (target == DEV_NONE) break;
            at = target;
            op = dev_lean_read(lean, code + at);
        }
    }
    const uint32_t pc =
        dev_near_get(lean->room, code + at + (uint32_t)offsetof(struct dev_lean_op, pc));
    return dev_lean_leave(frame, *lean, pc, *job);
}

#endif
