/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The verifier's third part: control flow. One walk in the order of the code with a stack of the
 * ifs and loops that are open; after it every jump goes to the one place that its construct has,
 * the masks are as many as the header says, and every stretch of code is paid for by the control
 * instruction at its end.
 */
#include "vm/verify.h"

static vyre_status open_frame(struct vm_check *check, struct vm_flow *flow, uint32_t pc)
{
    const struct vm_insn *insn = &check->code[pc];
    if (flow->depth == VM_MAX_NESTING)
        return vyre_vm_reject(check, VM_AT(DEPTH, pc), "%s is the %uth that is open",
                              vyre_vm_row(insn->op)->name, (unsigned)flow->depth + 1u);
    struct vm_frame frame = {pc, insn->imm, insn->op, 0, 0};
    flow->frame[flow->depth++] = frame;
    if (flow->depth > check->deepest) check->deepest = flow->depth;
    if (insn->op == VM_OP_JZ || insn->op == VM_OP_LOOP) return VYRE_OK;
    if (++flow->levels > check->header->level_count)
        return vyre_vm_reject(check, VM_AT(LEVELS, pc), "%s opens mask %u, the header has %u",
                              vyre_vm_row(insn->op)->name, (unsigned)flow->levels,
                              (unsigned)check->header->level_count);
    return VYRE_OK;
}

/* The innermost open construct, or NULL where it is none of the two kinds. */
static struct vm_frame *top_of(struct vm_flow *flow, uint32_t op, uint32_t other)
{
    struct vm_frame *top = flow->depth ? &flow->frame[flow->depth - 1] : NULL;
    return top && (top->op == op || top->op == other) ? top : NULL;
}

static vyre_status refuse_nesting(struct vm_check *check, struct vm_flow *flow, uint32_t pc)
{
    const char *name = vyre_vm_row(check->code[pc].op)->name;
    if (flow->depth == 0)
        return vyre_vm_reject(check, VM_AT(NESTING, pc), "%s where nothing is open", name);
    const struct vm_frame *top = &flow->frame[flow->depth - 1];
    return vyre_vm_reject(check, VM_AT(NESTING, pc),
                          "%s does not belong to the %s of instruction %u, which is open", name,
                          vyre_vm_row(top->op)->name, (unsigned)top->pc);
}

static vyre_status refuse_target(struct vm_check *check, uint32_t pc, uint32_t right)
{
    return vyre_vm_reject(check, VM_AT(TARGET, pc), "%s goes to %u, not to %u",
                          vyre_vm_row(check->code[pc].op)->name, (unsigned)check->code[pc].imm,
                          (unsigned)right);
}

/* LEAVE, IFLEAVE: directly in a loop, to the place behind it. */
static vyre_status check_leave(struct vm_check *check, struct vm_flow *flow, uint32_t pc)
{
    const struct vm_frame *loop = top_of(flow, VM_OP_LOOP, VM_OP_LOOP);
    if (!loop || check->code[pc].imm != loop->end)
        return vyre_vm_reject(check, VM_AT(LEAVE, pc), "%s to %u %s",
                              vyre_vm_row(check->code[pc].op)->name, (unsigned)check->code[pc].imm,
                              loop ? "does not leave its loop" : "is not directly in a loop");
    return check->code[pc].op == VM_OP_LEAVE ? VYRE_OK : open_frame(check, flow, pc);
}

static vyre_status check_else(struct vm_check *check, struct vm_flow *flow, uint32_t pc)
{
    struct vm_frame *top = top_of(flow, VM_OP_IF, VM_OP_IF);
    if (!top || top->otherwise) return refuse_nesting(check, flow, pc);
    if (top->end != pc) return refuse_target(check, top->pc, pc);
    top->otherwise = 1;
    top->pc = pc; /* whose target the endif is */
    top->end = check->code[pc].imm;
    return VYRE_OK;
}

static vyre_status check_endif(struct vm_check *check, struct vm_flow *flow, uint32_t pc)
{
    struct vm_frame *top = top_of(flow, VM_OP_IF, VM_OP_IFLEAVE);
    if (!top) return refuse_nesting(check, flow, pc);
    if (top->op == VM_OP_IF && top->end != pc) return refuse_target(check, top->pc, pc);
    if (top->op == VM_OP_IFLEAVE && check->code[pc + 1].op != VM_OP_NEXT)
        return vyre_vm_reject(check, VM_AT(LEAVE, pc),
                              "the endif of the ifleave of instruction %u is not followed by next",
                              (unsigned)top->pc);
    flow->depth--;
    flow->levels--;
    return VYRE_OK;
}

/* JZ, JUMP: forwards, and not past the end. */
static vyre_status check_forwards(struct vm_check *check, struct vm_flow *flow, uint32_t pc)
{
    const struct vm_insn *insn = &check->code[pc];
    if (insn->imm <= pc || insn->imm >= check->header->code_count)
        return vyre_vm_reject(check, VM_AT(TARGET, pc), "%s goes to %u, not to %u or up to %u",
                              vyre_vm_row(insn->op)->name, (unsigned)insn->imm, (unsigned)pc + 1u,
                              (unsigned)check->header->code_count - 1u);
    if (insn->op == VM_OP_JZ) return open_frame(check, flow, pc);
    struct vm_frame *top = top_of(flow, VM_OP_JZ, VM_OP_JZ);
    if (!top || top->otherwise || top->end != pc + 1) return refuse_nesting(check, flow, pc);
    top->otherwise = 1;
    top->end = insn->imm;
    return VYRE_OK;
}

/* LOOP, VLOOP. Behind the end of a loop there is always an instruction: at least END. */
static vyre_status check_loop(struct vm_check *check, struct vm_flow *flow, uint32_t pc)
{
    const struct vm_insn *insn = &check->code[pc];
    uint32_t closing = insn->op == VM_OP_LOOP ? VM_OP_NEXT : VM_OP_VNEXT;
    if (insn->imm <= pc + 1 || insn->imm >= check->header->code_count ||
        check->code[insn->imm - 1].op != closing)
        return vyre_vm_reject(check, VM_AT(TARGET, pc), "%s goes to %u, not behind its %s",
                              vyre_vm_row(insn->op)->name, (unsigned)insn->imm,
                              vyre_vm_row(closing)->name);
    if (insn->d == insn->b)
        return vyre_vm_reject(check, VM_AT(COUNTER, pc), "%s has %s as counter and as limit",
                              vyre_vm_row(insn->op)->name, vyre_vm_register_text(insn->d).text);
    return open_frame(check, flow, pc);
}

static vyre_status check_next(struct vm_check *check, struct vm_flow *flow, uint32_t pc)
{
    const struct vm_insn *insn = &check->code[pc];
    uint32_t opening = insn->op == VM_OP_NEXT ? VM_OP_LOOP : VM_OP_VLOOP;
    const struct vm_frame *top = top_of(flow, opening, opening);
    if (!top) return refuse_nesting(check, flow, pc);
    if (top->end != pc + 1) return refuse_target(check, top->pc, pc + 1);
    if (insn->imm != top->pc + 1) return refuse_target(check, pc, top->pc + 1);
    const struct vm_insn *loop = &check->code[top->pc];
    if (insn->d != loop->d || insn->a != loop->b)
        return vyre_vm_reject(check, VM_AT(COUNTER, pc), "%s counts %s to %s, its loop %s to %s",
                              vyre_vm_row(insn->op)->name, vyre_vm_register_text(insn->d).text,
                              vyre_vm_register_text(insn->a).text,
                              vyre_vm_register_text(loop->d).text,
                              vyre_vm_register_text(loop->b).text);
    flow->depth--;
    flow->levels -= opening == VM_OP_VLOOP;
    return VYRE_OK;
}

static vyre_status check_end(struct vm_check *check, struct vm_flow *flow, uint32_t pc)
{
    if (pc + 1 != check->header->code_count)
        return vyre_vm_reject(check, VM_AT(END, pc), "end, with %u instructions behind it",
                              (unsigned)(check->header->code_count - pc - 1));
    return flow->depth ? refuse_nesting(check, flow, pc) : VYRE_OK;
}

vyre_status vyre_vm_check_flow(struct vm_check *check, struct vm_flow *flow, uint32_t pc)
{
    const struct vm_insn *insn = &check->code[pc];
    struct vm_frame *jz;
    while ((jz = top_of(flow, VM_OP_JZ, VM_OP_JZ)) != NULL && jz->end == pc)
        flow->depth--;
    if (!vm_is_control(insn->op)) return VYRE_OK;
    uint32_t cost = pc + 1 - flow->control;
    if (insn->c != cost)
        return vyre_vm_reject(check, VM_AT(COST, pc), "%s costs %u, not %u",
                              vyre_vm_row(insn->op)->name, (unsigned)insn->c, (unsigned)cost);
    flow->control = pc + 1;
    switch (insn->op) {
    case VM_OP_IF:
        return open_frame(check, flow, pc);
    case VM_OP_IFLEAVE:
    case VM_OP_LEAVE:
        return check_leave(check, flow, pc);
    case VM_OP_ELSE:
        return check_else(check, flow, pc);
    case VM_OP_ENDIF:
        return check_endif(check, flow, pc);
    case VM_OP_JZ:
    case VM_OP_JUMP:
        return check_forwards(check, flow, pc);
    case VM_OP_LOOP:
    case VM_OP_VLOOP:
        return check_loop(check, flow, pc);
    case VM_OP_NEXT:
    case VM_OP_VNEXT:
        return check_next(check, flow, pc);
    case VM_OP_END:
        return check_end(check, flow, pc);
    case VM_OP_BARRIER:
        if (flow->levels != 0)
            return vyre_vm_reject(check, VM_AT(BARRIER, pc), "a barrier with %u masks open",
                                  (unsigned)flow->levels);
        return VYRE_OK;
    default: /* RET, STEP */
        return VYRE_OK;
    }
}
