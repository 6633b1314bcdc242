/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Single instructions for a warp, as they were verified: all of them, and so the ones that are rare
 * or were not decoded. Instructions mean what interp.h makes of them, whose words about masks hold
 * here too; one decode serves all lanes.
 */
#ifndef VYRE_DEVICE_WARP_INSN_H
#define VYRE_DEVICE_WARP_INSN_H

#include "device/warp_near_memory.h"
#include "device/warp_print.h"

DEV_FN void dev_core_subgroup(struct dev_core *core, const struct vm_insn *in)
{
    const struct dev_source a = dev_source(core, in->a), b = dev_source(core, in->b);
    dev_warp_sync(); /* lanes look at each other's words */
    for (uint32_t u = 0; u < core->units; u++) {
        const uint32_t first = u * DEV_WARP;
        const uint32_t size = core->lanes - first < DEV_WARP ? core->lanes - first : DEV_WARP;
        uint32_t out[DEV_WARP_ROLES], all = 0;
        for (uint32_t k = 0; k < size; k++) {
            uint32_t word = a.word[(first + k) & a.each];
            if (in->op == VM_OP_SGADD) all += word;
            if (in->op == VM_OP_SGFADD) all = vm_canon(vm_fadd(all, vm_canon(word)));
            if (in->op == VM_OP_SGBALLOT && word != 0) all |= 1u << k;
        }
        DEV_ROLES(l)
        {
            uint32_t from = b.word[(first + l) & b.each];
            uint32_t value =
                in->op == VM_OP_SGSHUF && from < size ? a.word[(first + from) & a.each] : 0;
            out[DEV_MINE(l)] = in->op == VM_OP_SGSHUF ? value : all;
        }
        dev_warp_sync();
        dev_put_unit(core, in, 0, u, out);
    }
    dev_warp_sync();
}

DEV_FN uint32_t dev_core_trap(struct dev_core *core, const struct vm_insn *in)
{
    const struct dev_source a = dev_source(core, in->a), b = dev_source(core, in->b);
    const uint32_t *mask = dev_core_mask(core, core->level);
    for (uint32_t u = 0; u < core->units; u++) {
        uint32_t yes[DEV_WARP_ROLES];
        DEV_ROLES(l)
        {
            yes[DEV_MINE(l)] = a.word[(u * DEV_WARP + l) & a.each] != 0;
        }
        uint32_t word = dev_warp_ballot(yes) & mask[u];
        if (word == 0) continue;
        uint32_t lane = u * DEV_WARP + dev_first_bit(word);
        dev_warp_sync();
        return dev_core_fault(core, dev_trap_fault(in->imm), lane, b.word[lane & b.each]);
    }
    return 0;
}

/* Ids and lengths. */
DEV_FN uint32_t dev_core_identify(struct dev_core *core, const struct vm_insn *in)
{
    const struct dev_frame *frame = core->frame;
    const struct vm_header *program = &frame->header;
    if (in->imm >= (in->op == VM_OP_BUFLEN ? program->buffer_count : 3u))
        return dev_core_damaged(core);
    if (in->op == VM_OP_GROUPID || in->op == VM_OP_BUFLEN) {
        dev_scalar_put(core, in->d,
                       in->op == VM_OP_GROUPID ? frame->group[in->imm]
                                               : frame->views[in->imm].count);
        return 0;
    }
    const uint32_t axis = in->imm;
    const uint32_t size = program->workgroup[axis];
    const uint32_t below = axis == 0   ? 1
                           : axis == 1 ? program->workgroup[0]
                                       : program->workgroup[0] * program->workgroup[1];
    const uint32_t base = in->op == VM_OP_GLOBALID ? frame->group[axis] * size : 0;
    for (uint32_t u = 0; u < core->units; u++) {
        uint32_t value[DEV_WARP_ROLES];
        DEV_ROLES(l)
        {
            uint32_t i = u * DEV_WARP + l;
            value[DEV_MINE(l)] = (size == core->lanes ? i : i / below % size) + base;
        }
        dev_put_unit(core, in, 0, u, value);
    }
    return 0;
}

/* How a control instruction ended: go on, or as the turn does. */
#define DEV_CORE_GO 3u

/* Back edges: at least a step is paid at each. */
DEV_FN uint32_t dev_core_back(struct dev_core *core, const struct vm_insn *in)
{
    core->pc = in->imm;
    core->steps += in->c == 0;
    return core->steps >= core->limit ? (uint32_t)DEV_FRAME_TURN_OVER : DEV_CORE_GO;
}

/* Ifs and loops whose lanes differ: those that open and close masks. */
DEV_FN uint32_t dev_core_masks(struct dev_core *core, const struct vm_insn *in)
{
    const uint32_t level = core->level;
    const int opens = in->op == VM_OP_IF || in->op == VM_OP_IFLEAVE || in->op == VM_OP_VLOOP;
    if (opens ? level >= core->frame->header.level_count : level == 0)
        return dev_core_damaged(core);
    switch (in->op) {
    case VM_OP_IF:
        dev_core_push(core, in->a);
        if (core->active == 0) core->pc = in->imm;
        break;
    case VM_OP_IFLEAVE:
        dev_core_push(core, in->a);
        if (core->active != 0) break;
        dev_level_back(core, level);
        core->pc = in->imm;
        break;
    case VM_OP_ELSE:
        dev_core_others(core);
        if (core->active == 0) core->pc = in->imm;
        break;
    case VM_OP_ENDIF:
        dev_level_back(core, level - 1);
        break;
    case VM_OP_VLOOP: {
        const struct dev_source from = dev_source(core, in->a);
        uint32_t *d = dev_vector(core, in->d);
        for (uint32_t u = 0; u < core->units; u++)
            DEV_ROLES(l) d[u * DEV_WARP + l] = from.word[(u * DEV_WARP + l) & from.each];
        dev_core_below(core, d, in->b, level, level + 1);
        if (core->active != 0) break;
        dev_level_back(core, level);
        core->pc = in->imm;
        break;
    }
    default: { /* VNEXT */
        uint32_t *d = dev_vector(core, in->d);
        for (uint32_t u = 0; u < core->units; u++)
            DEV_ROLES(l) d[u * DEV_WARP + l] += 1u;
        dev_core_below(core, d, in->a, level, level);
        if (core->active != 0) return dev_core_back(core, in);
        dev_level_back(core, level - 1);
        break;
    }
    }
    return DEV_CORE_GO;
}

/* Control instructions. The pc stands behind the instruction. */
DEV_FN uint32_t dev_core_control(struct dev_core *core, const struct vm_insn *in)
{
    core->steps += (uint64_t)in->c * core->units;
    switch (in->op) {
    case VM_OP_JZ:
    case VM_OP_LEAVE:
        if (*dev_scalar(core, in->a) == 0) core->pc = in->imm;
        return DEV_CORE_GO;
    case VM_OP_JUMP:
        core->pc = in->imm;
        return DEV_CORE_GO;
    case VM_OP_LOOP: {
        uint32_t from = *dev_scalar(core, in->a);
        uint32_t to = *dev_scalar(core, in->b);
        dev_scalar_put(core, in->d, from);
        if (from >= to) core->pc = in->imm;
        return DEV_CORE_GO;
    }
    case VM_OP_NEXT: {
        uint32_t next = *dev_scalar(core, in->d) + 1u;
        uint32_t to = *dev_scalar(core, in->a);
        dev_scalar_put(core, in->d, next);
        return next < to && core->active != 0 ? dev_core_back(core, in) : DEV_CORE_GO;
    }
    case VM_OP_RET:
        dev_core_return(core);
        return DEV_CORE_GO;
    case VM_OP_BARRIER:
    case VM_OP_STEP:
        dev_warp_sync();
        return DEV_CORE_GO;
    default:
        return dev_core_masks(core, in);
    }
}

/* Words from words are dev_core_words' business. */
#define DEV_RUN_W1(expression)
#define DEV_RUN_W2(expression)
#define DEV_RUN_W3(expression)

/* Runs one of the instructions that are rare, or long enough: its fault, or 0. Not inline, so that
 * the others stay small; `core` is a copy, so that the loop's own stays in registers. */
DEV_NO_INLINE uint32_t dev_core_rare(struct dev_core *core, const struct vm_insn *in)
{
    switch (in->op) {
#define VM_ALU(name, text, shape, types, expression, what)                                         \
case VM_OP_##name:                                                                                 \
    DEV_RUN_##shape(expression);                                                                   \
    return 0;
#define VM_MATH(name, text, reach, expression, near, what)                                         \
case VM_OP_##name:                                                                                 \
    DEV_RUN_MATH(expression);                                                                      \
    return 0;
#define VM_CHECKED(name, text, types, result, bad, code, what)                                     \
case VM_OP_##name:                                                                                 \
    DEV_RUN_CHECKED(result, bad, VYRE_FAULT_##code);                                               \
    return 0;
#include "vm/opcodes.def"
    case VM_OP_LD64:
        return dev_core_load(core, in, 8, 0);
    case VM_OP_LD128:
        return dev_core_load(core, in, 16, 0);
    case VM_OP_ST64:
        return dev_core_store(core, in, 8, 0);
    case VM_OP_ST128:
        return dev_core_store(core, in, 16, 0);
    case VM_OP_ATADD:
    case VM_OP_ATOR:
    case VM_OP_ATAND:
    case VM_OP_ATXOR:
    case VM_OP_ATMIN:
    case VM_OP_ATMAX:
    case VM_OP_ATXCHG:
    case VM_OP_ATCAS:
        return dev_core_atomic(core, in);
    case VM_OP_SGADD:
    case VM_OP_SGFADD:
    case VM_OP_SGSHUF:
    case VM_OP_SGBALLOT:
        dev_core_subgroup(core, in);
        return 0;
    case VM_OP_FPOLY4:
        return dev_core_poly4(core, in);
    case VM_OP_PRINT:
        dev_core_print(core, in);
        return 0;
    case VM_OP_COPY:
    case VM_OP_COPYTO:
        return dev_core_copy(core, in);
    case VM_OP_TRAPIF:
        return dev_core_trap(core, in);
    default:
        return dev_core_damaged(core);
    }
}

/* Runs one instruction that is neither words from words nor control: its fault, or 0. */
DEV_INLINE uint32_t dev_core_other(struct dev_core *core, const struct vm_insn *in)
{
    switch (in->op) {
    case VM_OP_LOCALID:
    case VM_OP_GLOBALID:
    case VM_OP_GROUPID:
    case VM_OP_BUFLEN:
        return dev_core_identify(core, in);
    case VM_OP_LD8:
        return dev_core_load(core, in, 1, 0);
    case VM_OP_LD16:
        return dev_core_load(core, in, 2, 0);
    case VM_OP_LD32:
        return dev_core_load(core, in, 4, 0);
    case VM_OP_LDF32:
        return dev_core_load(core, in, 4, 1);
    case VM_OP_ST8:
        return dev_core_store(core, in, 1, 0);
    case VM_OP_ST16:
        return dev_core_store(core, in, 2, 0);
    case VM_OP_ST32:
        return dev_core_store(core, in, 4, 0);
    case VM_OP_STF32:
        return dev_core_store(core, in, 4, 1);
    case VM_OP_ADDTO:
        return dev_core_add_to(core, in);
    default: {
        struct dev_core copy = *core;
        struct vm_insn one = *in;
        uint32_t fault = dev_core_rare(&copy, &one);
        core->steps = copy.steps;
        return fault;
    }
    }
}

/* Takes up a frame, and puts it down. */
DEV_FN void dev_core_open(struct dev_core *core, struct dev_frame *frame)
{
    core->frame = frame;
    core->code = frame->code;
    core->registers = frame->registers;
    core->far_registers = frame->far_registers;
    core->near_registers = frame->near_registers;
    core->scalars = frame->scalars;
    core->masks = frame->masks;
    core->lanes = frame->header.lanes;
    core->register_count = frame->header.register_count;
    core->scalar_count = frame->header.scalar_count;
    core->units = dev_units(core->lanes);
    core->stride = core->units * DEV_WARP;
    core->pc = frame->pc;
    core->steps = frame->steps;
    core->limit = frame->limit;
    dev_level_back(core, frame->level);
}

DEV_FN void dev_frame_keep(struct dev_frame *frame, uint32_t pc, uint32_t level, uint64_t steps)
{
    dev_warp_sync();
    DEV_FIRST
    {
        frame->pc = pc;
        frame->level = level;
        frame->steps = steps;
    }
    dev_warp_sync();
}

/* Runs one instruction. */
DEV_INLINE uint32_t dev_core_one(struct dev_core *core)
{
    if (core->pc >= core->frame->header.code_count) return dev_core_damaged(core);
    const struct vm_insn in = core->code[core->pc];
    const uint32_t sources = dev_alu_sources(in.op);
    uint32_t end = DEV_CORE_GO;
    if (sources != 0) {
        dev_core_words(core, &in, sources);
        core->pc++;
    } else if (vm_is_control(in.op)) {
        const uint32_t from = ++core->pc;
        if (in.op == VM_OP_END) {
            core->steps += (uint64_t)in.c * core->units;
            return DEV_FRAME_ENDED;
        }
        end = dev_core_control(core, &in);
        if (core->pc < from && in.op != VM_OP_NEXT && in.op != VM_OP_VNEXT)
            return dev_core_damaged(core); /* only the ends of loops go back */
        /* All lanes have returned. */
        if (end == DEV_CORE_GO && core->active == 0 && core->frame->active[0] == 0)
            end = DEV_FRAME_ENDED;
    } else if (dev_core_other(core, &in)) {
        end = DEV_FRAME_FAULT;
    } else {
        core->pc++;
        if (in.op == VM_OP_PRINT) end = DEV_FRAME_TURN_OVER;
    }
    return end;
}

/* Runs one instruction, or all: from the frame's pc on. */
DEV_NO_INLINE uint32_t dev_core_run(struct dev_frame *frame, int one)
{
    struct dev_core core;
    uint32_t end;
    dev_core_open(&core, frame);
    do {
        end = dev_core_one(&core);
    } while (end == DEV_CORE_GO && !one);
    dev_frame_keep(frame, core.pc, core.level, core.steps);
    return end;
}

#endif
