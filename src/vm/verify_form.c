/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The verifier's second part: each instruction by itself. After it every field that names a
 * register, a buffer or an axis is in range for what the instruction does with it.
 */
#include "vm/verify.h"

/* The bytes that a load or store moves: for the rule WIDTH. 0: not one of them. */
static uint32_t access_bytes(uint32_t op)
{
    switch (op) {
    case VM_OP_LD8:
    case VM_OP_ST8:
        return 1;
    case VM_OP_LD16:
    case VM_OP_ST16:
        return 2;
    case VM_OP_LD32:
    case VM_OP_LDF32:
    case VM_OP_ST32:
    case VM_OP_STF32:
    case VM_OP_ADDTO:
        return 4;
    case VM_OP_LD64:
    case VM_OP_ST64:
        return 8;
    case VM_OP_LD128:
    case VM_OP_ST128:
        return 16;
    default:
        return 0;
    }
}

static vyre_status check_buffer(struct vm_check *check, uint32_t pc, uint32_t number, uint32_t need)
{
    if (number >= check->header->buffer_count)
        return vyre_vm_reject(check, VM_AT(NUMBER, pc), "%s names buffer %u of %u",
                              vyre_vm_row(check->code[pc].op)->name, (unsigned)number,
                              (unsigned)check->header->buffer_count);
    if (need & ~check->buffers[number].flags)
        return vyre_vm_reject(check, VM_AT(ACCESS, pc),
                              "%s needs flags 0x%x of buffer %u, which has 0x%x",
                              vyre_vm_row(check->code[pc].op)->name, (unsigned)need,
                              (unsigned)number, (unsigned)check->buffers[number].flags);
    return VYRE_OK;
}

static vyre_status check_access(struct vm_check *check, uint32_t pc)
{
    const struct vm_insn *insn = &check->code[pc];
    uint32_t op = insn->op;
    vyre_status status;
    if (op == VM_OP_COPY || op == VM_OP_COPYTO) {
        status = check_buffer(check, pc, insn->imm & 0xFFFFu, VM_BUFFER_READ);
        return status ? status : check_buffer(check, pc, insn->imm >> 16, VM_BUFFER_WRITTEN);
    }
    uint32_t need = 0; /* BUFLEN */
    if (op >= VM_OP_LD8 && op <= VM_OP_LD128) need = VM_BUFFER_READ;
    if (op >= VM_OP_ST8 && op <= VM_OP_ST128) need = VM_BUFFER_WRITTEN;
    if (op == VM_OP_ADDTO) need = VM_BUFFER_READ | VM_BUFFER_WRITTEN;
    if (op >= VM_OP_ATADD && op <= VM_OP_ATCAS) need = VM_BUFFER_WRITTEN | VM_BUFFER_ATOMIC;
    status = check_buffer(check, pc, insn->imm, need);
    if (status) return status;
    const struct vm_buffer *buffer = &check->buffers[insn->imm];
    uint32_t bytes = access_bytes(op);
    if (bytes != 0 && buffer->stride != 0 && buffer->stride != bytes)
        return vyre_vm_reject(check, VM_AT(WIDTH, pc), "%s on buffer %u, whose stride is %u",
                              vyre_vm_row(op)->name, (unsigned)insn->imm, (unsigned)buffer->stride);
    if (op == VM_OP_BUFLEN && buffer->bits == 0)
        return vyre_vm_reject(check, VM_AT(LENGTH, pc), "buflen of buffer %u, which has no bits",
                              (unsigned)insn->imm);
    return VYRE_OK;
}

static vyre_status check_imm(struct vm_check *check, const struct vm_shape *shape, uint32_t pc)
{
    const struct vm_insn *insn = &check->code[pc];
    uint32_t op = insn->op;
    if (shape->imm == VM_IMM_BUFFER) return check_access(check, pc);
    if (shape->imm == VM_IMM_NONE && insn->imm != 0)
        return vyre_vm_reject(check, VM_AT(UNUSED, pc), "%s has 0x%x in imm, which it does not use",
                              vyre_vm_row(op)->name, (unsigned)insn->imm);
    if ((op == VM_OP_LOCALID || op == VM_OP_GLOBALID || op == VM_OP_GROUPID) && insn->imm > 2)
        return vyre_vm_reject(check, VM_AT(AXIS, pc), "%s on axis %u", vyre_vm_row(op)->name,
                              (unsigned)insn->imm);
    if (op == VM_OP_TRAPIF && (insn->imm < VM_TRAP_TRAP || insn->imm > VM_TRAP_ASYNC))
        return vyre_vm_reject(check, VM_AT(TRAP, pc), "trapif with code %u", (unsigned)insn->imm);
    return VYRE_OK;
}

struct use {
    uint32_t number;
    struct vm_operand operand;
    int written;
};

static vyre_status refuse_operand(struct vm_check *check, struct use use, uint32_t pc)
{
    const struct vm_header *h = check->header;
    struct vm_register_text name = vyre_vm_register_text(use.number);
    const char *op = vyre_vm_row(check->code[pc].op)->name;
    uint32_t scalar = use.number & VM_SCALAR;
    uint32_t first = use.number & (VM_SCALAR - 1u);
    if (first + use.operand.words > (scalar ? h->scalar_count : h->register_count))
        return vyre_vm_reject(check, VM_AT(REGISTER, pc),
                              "%s names %u words at %s, there are %u %s", op,
                              (unsigned)use.operand.words, name.text,
                              (unsigned)(scalar ? h->scalar_count : h->register_count),
                              scalar ? "scalars" : "registers");
    if (use.operand.bank == (scalar ? VM_BANK_VECTOR : VM_BANK_SCALAR))
        return vyre_vm_reject(check, VM_AT(BANK, pc), "%s takes no %s such as %s here", op,
                              scalar ? "scalar" : "vector", name.text);
    return vyre_vm_reject(check, VM_AT(CONSTANT, pc), "%s writes the constant %s", op, name.text);
}

/* Whether an operand is in range and where it must be. */
static inline int operand_fits(const struct vm_header *h, struct use use)
{
    uint32_t first = use.number & (VM_SCALAR - 1u);
    if ((use.number & VM_SCALAR) == 0)
        return first + use.operand.words <= h->register_count && use.operand.bank != VM_BANK_SCALAR;
    return first + use.operand.words <= h->scalar_count && use.operand.bank != VM_BANK_VECTOR &&
           (!use.written || first >= h->constant_count);
}

static vyre_status check_flags(struct vm_check *check, const struct vm_shape *shape, uint32_t pc)
{
    const struct vm_insn *insn = &check->code[pc];
    if (insn->flags == VM_MASKED && shape->result.words != 0 && !shape->control &&
        (insn->d & VM_SCALAR) == 0)
        return VYRE_OK;
    return vyre_vm_reject(check, VM_AT(FLAGS, pc), "%s has flags 0x%x", vyre_vm_row(insn->op)->name,
                          (unsigned)insn->flags);
}

/* Loads, atomics and exchanges between lanes: whether a source shares a word with the result. */
static int shares_words(const struct vm_insn *insn, const struct vm_shape *shape, struct use source)
{
    uint32_t d = insn->d; /* the banks differ in their numbers, too */
    return insn->op >= VM_OP_LD8 && insn->op <= VM_OP_SGBALLOT &&
           d < source.number + source.operand.words && source.number < d + shape->result.words;
}

static vyre_status check_sources(struct vm_check *check, const struct vm_shape *shape, uint32_t pc)
{
    const struct vm_insn *insn = &check->code[pc];
    uint32_t fields[3] = {insn->a, insn->b, insn->c};
    uint32_t count = shape->control ? 2 : 3;
    uint32_t scalar = shape->result.words != 0 && insn->d & VM_SCALAR;
    for (uint32_t i = 0; i < count; i++) {
        struct use use = {fields[i], shape->source[i], 0};
        if (use.operand.bank == VM_BANK_RESULT)
            use.operand.bank = insn->d & VM_SCALAR ? VM_BANK_SCALAR : VM_BANK_VECTOR;
        if (i >= shape->sources && use.number != 0)
            return vyre_vm_reject(
                check, VM_AT(UNUSED, pc), "%s has 0x%x in field %c, which it does not use",
                vyre_vm_row(insn->op)->name, (unsigned)use.number, (char)('a' + i));
        if (i >= shape->sources) continue;
        if (!operand_fits(check->header, use)) return refuse_operand(check, use, pc);
        if (scalar && (use.number & VM_SCALAR) == 0)
            return vyre_vm_reject(check, VM_AT(UNIFORM, pc), "%s makes the scalar %s from %s",
                                  vyre_vm_row(insn->op)->name, vyre_vm_register_text(insn->d).text,
                                  vyre_vm_register_text(use.number).text);
        if (shape->result.words != 0 && shares_words(insn, shape, use))
            return vyre_vm_reject(check, VM_AT(APART, pc), "%s writes %s where its source %s lies",
                                  vyre_vm_row(insn->op)->name, vyre_vm_register_text(insn->d).text,
                                  vyre_vm_register_text(use.number).text);
    }
    return VYRE_OK;
}

vyre_status vyre_vm_check_form(struct vm_check *check, uint32_t pc)
{
    const struct vm_insn *insn = &check->code[pc];
    if (insn->op == VM_OP_NONE || insn->op >= VM_OPCODES)
        return vyre_vm_reject(check, VM_AT(OPCODE, pc), "opcode %u; they are 1 to %u",
                              (unsigned)insn->op, (unsigned)VM_OPCODES - 1u);
    const struct vm_shape *shape = vm_shape_of(check, insn->op);
    struct use result = {insn->d, shape->result, 1};
    if (shape->result.words == 0 && insn->d != 0)
        return vyre_vm_reject(check, VM_AT(UNUSED, pc),
                              "%s has 0x%x in field d, which it does not use",
                              vyre_vm_row(insn->op)->name, (unsigned)insn->d);
    if (shape->result.words != 0 && !operand_fits(check->header, result))
        return refuse_operand(check, result, pc);
    vyre_status status = insn->flags ? check_flags(check, shape, pc) : VYRE_OK;
    if (!status) status = check_sources(check, shape, pc);
    return status ? status : check_imm(check, shape, pc);
}
