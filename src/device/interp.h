/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The interpreter: runs a frame until its workgroup ends, faults, or its turn is over at a back
 * edge. One decode for all lanes. It trusts the bytecode, which the verifier has passed, and the
 * views, which the runtime has checked; values it does not trust.
 *
 * Masks. masks[0] are the lanes that have not returned; each open if and each loop with bounds that
 * differ has one more, a part of the one below. active[] counts their lanes. A lane that returns
 * leaves all of them.
 */
#ifndef VYRE_DEVICE_INTERP_H
#define VYRE_DEVICE_INTERP_H

#include "device/interp_alu.h"

/* Lanes whose condition is not 0 go on, one level up. */
DEV_FN void dev_push_where(struct dev_frame *frame, uint32_t number)
{
    uint32_t level = frame->level;
    frame->active[level + 1] =
        dev_mask_and(dev_frame_mask(frame, level + 1), dev_frame_mask(frame, level),
                     dev_vector(frame, number), dev_frame_width(frame));
    frame->level = level + 1;
}

/* Lanes with d < limit go on, at the level given; returns how many. */
DEV_FN uint32_t dev_mask_below(struct dev_frame *frame, const uint32_t *d, uint32_t limit_number,
                               uint32_t from, uint32_t to)
{
    struct dev_operand limit = dev_operand(frame, limit_number);
    const uint32_t *in = dev_frame_mask(frame, from);
    uint32_t *out = dev_frame_mask(frame, to);
    uint32_t n = dev_frame_width(frame), count = 0;
    DEV_LANES(i, n)
    {
        uint32_t most = limit.scalar ? limit.word[0] : limit.word[i];
        uint32_t mask = d[i] < most ? in[i] : 0u;
        out[i] = mask;
        count += mask & 1u;
    }
    return count;
}

DEV_FN void dev_vloop(struct dev_frame *frame, const struct vm_insn *in)
{
    struct dev_operand from = dev_operand(frame, in->a);
    uint32_t *d = dev_vector_new(frame, in->d);
    uint32_t n = dev_frame_width(frame), level = frame->level;
    DEV_LANES(i, n)
    d[i] = from.scalar ? from.word[0] : from.word[i];
    frame->active[level + 1] = dev_mask_below(frame, d, in->b, level, level + 1);
    if (frame->active[level + 1] != 0)
        frame->level = level + 1;
    else
        frame->pc = in->imm;
}

/* 1: another round. */
DEV_FN int dev_vnext(struct dev_frame *frame, const struct vm_insn *in)
{
    uint32_t *d = dev_vector_own(frame, in->d);
    uint32_t n = dev_frame_width(frame), level = frame->level;
    DEV_LANES(i, n)
    d[i] += 1u;
    frame->active[level] = dev_mask_below(frame, d, in->a, level, level);
    if (frame->active[level] != 0) return 1;
    frame->level = level - 1;
    return 0;
}

/* The active lanes have ended: they leave every mask. */
DEV_FN void dev_return(struct dev_frame *frame)
{
    uint32_t n = dev_frame_width(frame), gone = frame->active[frame->level];
    const uint32_t *mine = dev_frame_mask(frame, frame->level);
    for (uint32_t level = 0; level <= frame->level; level++) {
        uint32_t *mask = dev_frame_mask(frame, frame->level - level);
        if (level == 0) continue;
        DEV_LANES(i, n)
        mask[i] &= ~mine[i];
        frame->active[frame->level - level] -= gone;
    }
    uint32_t *mask = dev_frame_mask(frame, frame->level);
    DEV_LANES(i, n)
    mask[i] = 0;
    frame->active[frame->level] = 0;
}

DEV_NO_INLINE void dev_subgroup(struct dev_frame *frame, const struct vm_insn *in)
{
    const uint32_t lanes = frame->program->lanes;
    struct dev_operand a = dev_operand(frame, in->a), b = dev_operand(frame, in->b);
    uint32_t *out = frame->scratch + frame->program->stride;
    uint32_t *d = dev_vector_own(frame, in->d);
    const uint32_t *mask = dev_frame_mask(frame, frame->level);
    for (uint32_t first = 0; first < lanes; first += VM_SUBGROUP) {
        uint32_t size = lanes - first < VM_SUBGROUP ? lanes - first : VM_SUBGROUP;
        uint32_t all = 0;
        for (uint32_t k = 0; k < size; k++) {
            uint32_t word = a.word[a.scalar ? 0 : first + k];
            if (in->op == VM_OP_SGADD) all += word;
            if (in->op == VM_OP_SGFADD) all = vm_canon(vm_fadd(all, vm_canon(word)));
            if (in->op == VM_OP_SGBALLOT && word != 0) all |= 1u << k;
        }
        for (uint32_t k = 0; k < size; k++) {
            uint32_t from = in->op == VM_OP_SGSHUF ? b.word[b.scalar ? 0 : first + k] : 0;
            uint32_t value = from < size ? a.word[a.scalar ? 0 : first + from] : 0;
            out[first + k] = in->op == VM_OP_SGSHUF ? value : all;
        }
    }
    for (uint32_t i = 0; i < lanes; i++)
        if (!(in->flags & VM_MASKED) || mask[i] != 0) d[i] = out[i];
}

DEV_NO_INLINE void dev_print(struct dev_frame *frame, const struct vm_insn *in)
{
    struct dev_operand a = dev_operand(frame, in->a), b = dev_operand(frame, in->b);
    const uint32_t *mask = dev_frame_mask(frame, frame->level);
    for (uint32_t i = 0; i < frame->program->lanes; i++) {
        if (mask[i] == 0) continue;
        uint32_t word[4] = {in->imm, a.word[a.scalar ? 0 : i], b.word[b.scalar ? 0 : i],
                            frame->log_place};
        dev_log_append(frame->log, word);
    }
    frame->limit = frame->steps; /* it may have waited for others that print */
}

DEV_NO_INLINE uint32_t dev_trap_if(struct dev_frame *frame, const struct vm_insn *in)
{
    struct dev_operand a = dev_operand(frame, in->a), b = dev_operand(frame, in->b);
    const uint32_t *mask = dev_frame_mask(frame, frame->level);
    for (uint32_t i = 0; i < frame->program->lanes; i++)
        if (mask[i] != 0 && a.word[a.scalar ? 0 : i] != 0)
            return dev_fault_at(frame, dev_trap_fault(in->imm), i, b.word[b.scalar ? 0 : i]);
    return 0;
}

/* Ids and lengths. */
DEV_FN void dev_identify(struct dev_frame *frame, const struct vm_insn *in)
{
    uint32_t n = dev_frame_width(frame);
    if (in->op == VM_OP_GROUPID || in->op == VM_OP_BUFLEN) {
        frame->scalars[in->d & ~VM_SCALAR] =
            in->op == VM_OP_GROUPID ? frame->group[in->imm] : frame->views[in->imm].count;
        return;
    }
    const uint32_t *local = frame->local + (size_t)in->imm * frame->program->stride;
    uint32_t base =
        in->op == VM_OP_GLOBALID ? frame->group[in->imm] * frame->program->workgroup[in->imm] : 0;
    uint32_t *d = dev_result(frame, in);
    DEV_LANES(i, n)
    d[i] = local[i] + base;
    dev_result_done(frame, in, d);
    if (d != frame->scratch && in->imm == 0 &&
        frame->program->workgroup[0] == frame->program->lanes)
        frame->rows[in->d] = 1;
}

/* Control instructions. The frame's pc stands behind the instruction. */
DEV_FN uint32_t dev_control(struct dev_frame *frame, const struct vm_insn *in)
{
    int back = 0;
    frame->steps += (uint64_t)in->c * ((frame->program->lanes + VM_STEP_LANES - 1) / VM_STEP_LANES);
    switch (in->op) {
    case VM_OP_IF:
        dev_push_where(frame, in->a);
        if (frame->active[frame->level] == 0) frame->pc = in->imm;
        break;
    case VM_OP_IFLEAVE:
        dev_push_where(frame, in->a);
        if (frame->active[frame->level] != 0) break;
        frame->level--;
        frame->pc = in->imm;
        break;
    case VM_OP_ELSE:
        frame->active[frame->level] =
            dev_mask_others(dev_frame_mask(frame, frame->level),
                            dev_frame_mask(frame, frame->level - 1), dev_frame_width(frame));
        if (frame->active[frame->level] == 0) frame->pc = in->imm;
        break;
    case VM_OP_ENDIF:
        frame->level--;
        break;
    case VM_OP_JZ:
    case VM_OP_LEAVE:
        if (frame->scalars[in->a & ~VM_SCALAR] == 0) frame->pc = in->imm;
        break;
    case VM_OP_JUMP:
        frame->pc = in->imm;
        break;
    case VM_OP_LOOP: {
        uint32_t from = frame->scalars[in->a & ~VM_SCALAR];
        frame->scalars[in->d & ~VM_SCALAR] = from;
        if (from >= frame->scalars[in->b & ~VM_SCALAR]) frame->pc = in->imm;
        break;
    }
    case VM_OP_NEXT: {
        uint32_t next = frame->scalars[in->d & ~VM_SCALAR] + 1u;
        frame->scalars[in->d & ~VM_SCALAR] = next;
        back = next < frame->scalars[in->a & ~VM_SCALAR] && frame->active[frame->level] != 0;
        break;
    }
    case VM_OP_VLOOP:
        dev_vloop(frame, in);
        break;
    case VM_OP_VNEXT:
        back = dev_vnext(frame, in);
        break;
    case VM_OP_RET:
        dev_return(frame);
        break;
    default: /* BARRIER and STEP: lockstep has done it */
        break;
    }
    if (back) frame->pc = in->imm;
    return back && frame->steps >= frame->limit;
}

/* Runs the frame from its pc on. */
DEV_NO_INLINE uint32_t dev_interpret(struct dev_frame *frame)
{
    uint32_t fault = 0;
    for (;;) {
        const struct vm_insn *in = &frame->code[frame->pc];
        switch (in->op) {
#define VM_ALU(name, text, shape, types, expression, what)                                         \
case VM_OP_##name:                                                                                 \
    DEV_RUN_##shape(expression);                                                                   \
    break;
#define VM_MATH(name, text, reach, expression, near, what)                                         \
case VM_OP_##name:                                                                                 \
    DEV_RUN_MATH_##reach(expression, near);                                                        \
    break;
#define VM_CHECKED(name, text, types, result, bad, code, what)                                     \
case VM_OP_##name:                                                                                 \
    DEV_RUN_CHECKED(result, bad, VYRE_FAULT_##code);                                               \
    break;
#include "vm/opcodes.def"
        case VM_OP_MOV:
            DEV_RUN_W1(a);
            break;
        case VM_OP_LOCALID:
        case VM_OP_GLOBALID:
        case VM_OP_GROUPID:
        case VM_OP_BUFLEN:
            dev_identify(frame, in);
            break;
        case VM_OP_LD8:
            fault = dev_load(frame, in, 1);
            break;
        case VM_OP_LD16:
            fault = dev_load(frame, in, 2);
            break;
        case VM_OP_LD32:
            fault = dev_load(frame, in, 4);
            break;
        case VM_OP_LDF32:
            fault = dev_load_float(frame, in);
            break;
        case VM_OP_LD64:
            fault = dev_load(frame, in, 8);
            break;
        case VM_OP_LD128:
            fault = dev_load(frame, in, 16);
            break;
        case VM_OP_ST8:
            fault = dev_store(frame, in, 1, 0);
            break;
        case VM_OP_ST16:
            fault = dev_store(frame, in, 2, 0);
            break;
        case VM_OP_ST32:
            fault = dev_store(frame, in, 4, 0);
            break;
        case VM_OP_STF32:
            fault = dev_store(frame, in, 4, 1);
            break;
        case VM_OP_ST64:
            fault = dev_store(frame, in, 8, 0);
            break;
        case VM_OP_ST128:
            fault = dev_store(frame, in, 16, 0);
            break;
        case VM_OP_ADDTO:
            fault = dev_add_to(frame, in);
            break;
        case VM_OP_ATADD:
        case VM_OP_ATOR:
        case VM_OP_ATAND:
        case VM_OP_ATXOR:
        case VM_OP_ATMIN:
        case VM_OP_ATMAX:
        case VM_OP_ATXCHG:
        case VM_OP_ATCAS:
            fault = dev_atomic(frame, in);
            break;
        case VM_OP_SGADD:
        case VM_OP_SGFADD:
        case VM_OP_SGSHUF:
        case VM_OP_SGBALLOT:
            dev_subgroup(frame, in);
            break;
        case VM_OP_FPOLY4:
            dev_poly4(frame, in);
            break;
        case VM_OP_PRINT:
            dev_print(frame, in);
            break;
        case VM_OP_COPY:
        case VM_OP_COPYTO:
            fault = dev_copy_bytes(frame, in);
            break;
        case VM_OP_TRAPIF:
            fault = dev_trap_if(frame, in);
            break;
        case VM_OP_END:
            frame->steps +=
                (uint64_t)in->c * ((frame->program->lanes + VM_STEP_LANES - 1) / VM_STEP_LANES);
            return DEV_FRAME_ENDED;
        default:
            frame->pc++;
            if (dev_control(frame, in)) return DEV_FRAME_TURN_OVER;
            if (frame->active[0] == 0) return DEV_FRAME_ENDED; /* all lanes have returned */
            continue;
        }
        if (fault) return DEV_FRAME_FAULT;
        frame->pc++;
    }
}

#endif
