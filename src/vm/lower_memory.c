/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Loads, stores and atomics. A load gives a scalar only where it is in bounds whatever is bound:
 * elsewhere each active lane that goes past the end must be counted.
 */
#include "vm/lower.h"

#define NOTHING ((struct low_value){0, 0})

uint32_t vyre_low_buffer(struct lowering *low, uint32_t name)
{
    const struct ir_buffer *buffer = vyre_ir_find_buffer(low->tree, name);
    if (!buffer) {
        vyre_low_refuse(low, low->source, "no buffer has the name `%s`",
                        name < low->tree->name_count ? low->tree->names[name].text : "");
        return 0;
    }
    return (uint32_t)(buffer - low->tree->buffers);
}

/* What a load of an element gives, and by which instruction. */
static uint32_t load_opcode(const struct ir_type *type, uint32_t *kinds)
{
    uint64_t stride = vyre_ir_type_stride(type);
    switch (type->tag) {
    case IR_TYPE_U32:
    case IR_TYPE_BOOL:
        *kinds = LOW_U32;
        return VM_OP_LD32; /* bools are words in memory */
    case IR_TYPE_I32:
        *kinds = LOW_I32;
        return VM_OP_LD32;
    case IR_TYPE_F32:
        *kinds = LOW_F32;
        return VM_OP_LDF32;
    case IR_TYPE_U64:
        *kinds = LOW_U64;
        return VM_OP_LD64;
    default:
        break;
    }
    *kinds = stride <= 4 ? LOW_RAW4 : stride == 8 ? LOW_RAW8 : LOW_RAW16;
    switch (stride) {
    case 1:
        return VM_OP_LD8;
    case 2:
        return VM_OP_LD16;
    case 0:
    case 4:
        return VM_OP_LD32;
    case 8:
        return VM_OP_LD64;
    case 16:
        return VM_OP_LD128;
    default:
        return 0;
    }
}

/* Whether an index is one for all lanes and lies inside whatever is bound. */
static int is_inside(const struct lowering *low, low_word index, const struct ir_buffer *buffer)
{
    uint32_t constant, below = low->regs[index >> 2].below;
    if (vyre_ir_type_stride(&buffer->type) == 0) return 0;
    if (vyre_low_is_constant(low, index, &constant)) return constant < buffer->count;
    return below != 0 && below <= buffer->count;
}

struct low_value vyre_low_load(struct lowering *low, const struct ir_expr *expr,
                               struct low_value index)
{
    uint32_t kinds, number = vyre_low_buffer(low, expr->name);
    low_word word = vyre_low_index(low, index);
    if (low->status != VYRE_OK) return NOTHING;
    const struct ir_buffer *buffer = &low->tree->buffers[number];
    uint32_t op = load_opcode(&buffer->type, &kinds);
    if (op == 0) {
        vyre_low_refuse(low, expr->id, "a load of elements of %llu bytes",
                        (unsigned long long)vyre_ir_type_stride(&buffer->type));
        return NOTHING;
    }
    struct low_insn load = {.op = (uint16_t)op, .a = word, .imm = number};
    int safe = is_inside(low, word, buffer);
    if (safe && vyre_ir_buffer_scalar(buffer)) {
        if (low->params[number] == 0) low->params[number] = vyre_low_prologue(low, &load, 1);
        return (struct low_value){low->params[number], kinds};
    }
    uint32_t reg = vyre_low_reg(low, low_words(kinds), safe);
    load.d = low_at(reg, 0);
    load.notes = safe ? LOW_SAFE : 0;
    vyre_low_emit(low, &load);
    return (struct low_value){reg, kinds};
}

struct low_value vyre_low_length(struct lowering *low, const struct ir_expr *expr)
{
    uint32_t number = vyre_low_buffer(low, expr->name);
    if (low->status != VYRE_OK) return NOTHING;
    if (low->tree->buffers[number].access == IR_ACCESS_WORKGROUP)
        return vyre_low_constant(low, LOW_U32, low->tree->buffers[number].count);
    if (low->lengths[number] == 0)
        low->lengths[number] =
            vyre_low_prologue(low, &(struct low_insn){.op = VM_OP_BUFLEN, .imm = number}, 1);
    return (struct low_value){low->lengths[number], LOW_U32};
}

/* A float element takes a float, the bits of a u32, and 0 from anything else. */
static struct low_value float_to_store(struct lowering *low, struct low_value value)
{
    if (value.kinds == LOW_F32) return value;
    if (value.kinds == LOW_U32)
        return vyre_low_op1(low, VM_OP_BITS2F, LOW_F32, low_at(value.reg, 0));
    return vyre_low_constant(low, LOW_F32, 0);
}

void vyre_low_store(struct lowering *low, const struct ir_node *node, struct low_value index,
                    struct low_value value)
{
    uint32_t number = vyre_low_buffer(low, node->name);
    low_word word = vyre_low_index(low, index);
    char name[64];
    if (low->status != VYRE_OK) return;
    const struct ir_type *type = &low->tree->buffers[number].type;
    uint64_t stride = vyre_ir_type_stride(type);
    uint32_t op = stride == 1                  ? VM_OP_ST8
                  : stride == 2                ? VM_OP_ST16
                  : stride == 8                ? VM_OP_ST64
                  : stride == 16               ? VM_OP_ST128
                  : stride == 4 || stride == 0 ? VM_OP_ST32
                                               : 0;
    int floats = type->tag == IR_TYPE_F32;
    /* Two kinds at once that would be stored in two ways. */
    if (op == 0 || (floats ? !low_one_kind(value.kinds) : (value.kinds & LOW_F32) != 0)) {
        vyre_low_refuse(low, node->id, "a store of %s to elements of %llu bytes",
                        vyre_low_kind_name(value.kinds, name), (unsigned long long)stride);
        return;
    }
    if (floats) value = float_to_store(low, value);
    if (stride > 4) value = vyre_low_widen(low, stride == 8 ? LOW_RAW8 : LOW_RAW16, value);
    vyre_low_emit(low, &(struct low_insn){.op = (uint16_t)(floats ? VM_OP_STF32 : op),
                                          .a = word,
                                          .b = low_at(value.reg, 0),
                                          .imm = number});
}

static uint32_t atomic_opcode(uint32_t op)
{
    switch (op) {
    case IR_ATOMIC_ADD:
        return VM_OP_ATADD;
    case IR_ATOMIC_OR:
        return VM_OP_ATOR;
    case IR_ATOMIC_AND:
        return VM_OP_ATAND;
    case IR_ATOMIC_XOR:
        return VM_OP_ATXOR;
    case IR_ATOMIC_MIN:
        return VM_OP_ATMIN;
    case IR_ATOMIC_MAX:
    case IR_ATOMIC_LRU_UPDATE:
        return VM_OP_ATMAX;
    case IR_ATOMIC_EXCHANGE:
        return VM_OP_ATXCHG;
    case IR_ATOMIC_COMPARE_EXCHANGE:
        return VM_OP_ATCAS;
    default:
        return 0;
    }
}

struct low_value vyre_low_atomic(struct lowering *low, const struct ir_expr *expr)
{
    uint32_t op = atomic_opcode(expr->op);
    const char *name = expr->op == IR_OP_EXTENSION ? "extension" : vyre_ir_atomic_word(expr->op);
    if (op == 0 || (op == VM_OP_ATCAS) != (expr->arg[1] != NULL)) {
        vyre_low_refuse(low, expr->id, "the atomic %s ends every program that reaches it%s",
                        name ? name : "?", op == 0 ? "" : ": expected value");
        return NOTHING;
    }
    uint32_t number = vyre_low_buffer(low, expr->name);
    low_word index = vyre_low_index(low, vyre_low_expr(low, expr->arg[0]));
    low_word expected = expr->arg[1] ? vyre_low_index(low, vyre_low_expr(low, expr->arg[1])) : 0;
    low_word value = vyre_low_index(low, vyre_low_expr(low, expr->arg[2]));
    if (low->status != VYRE_OK) return NOTHING;
    low->source = expr->id;
    uint32_t reg = vyre_low_reg(low, 1, 0);
    vyre_low_emit(low, &(struct low_insn){.op = (uint16_t)op,
                                          .d = low_at(reg, 0),
                                          .a = index,
                                          .b = op == VM_OP_ATCAS ? expected : value,
                                          .c = op == VM_OP_ATCAS ? value : 0,
                                          .imm = number});
    return (struct low_value){reg, LOW_U32};
}
