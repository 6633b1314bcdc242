/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Operators: which instruction an operator is for each kind of its operands, and what it is where
 * one of them is a constant. Only rewrites that are exact to the bit for every input.
 */
#include "vm/lower.h"

#define NOTHING ((struct low_value){0, 0})

enum gives { SAME, TRUTH, WORD };

struct operator_row {
    uint8_t u32; /* opcodes; 0: not defined for this kind */
    uint8_t i32;
    uint8_t u64;
    uint8_t f32;
    uint8_t boolean;
    uint8_t gives; /* enum gives */
    uint8_t swap;  /* operands change places */
};

static_assert(VM_OPCODES <= 256, "opcodes fit the table");

#define OP(name) VM_OP_##name
static const struct operator_row binary[] = {
    [IR_BIN_ADD] = {OP(ADD), OP(ADD), OP(DADD), OP(FADD), 0, SAME, 0},
    [IR_BIN_SUB] = {OP(SUB), OP(SUB), OP(DSUB), OP(FSUB), 0, SAME, 0},
    [IR_BIN_MUL] = {OP(MUL), OP(MUL), OP(DMUL), OP(FMUL), 0, SAME, 0},
    [IR_BIN_DIV] = {OP(DIV), OP(IDIV), OP(DDIV), OP(FDIV), 0, SAME, 0},
    [IR_BIN_MOD] = {OP(MOD), OP(IMOD), OP(DMOD), 0, 0, SAME, 0},
    [IR_BIN_BIT_AND] = {OP(AND), OP(AND), OP(DAND), 0, 0, SAME, 0},
    [IR_BIN_BIT_OR] = {OP(OR), OP(OR), OP(DOR), 0, 0, SAME, 0},
    [IR_BIN_BIT_XOR] = {OP(XOR), OP(XOR), OP(DXOR), 0, 0, SAME, 0},
    [IR_BIN_SHL] = {OP(SHL), OP(SHL), OP(DSHL), 0, 0, SAME, 0},
    [IR_BIN_SHR] = {OP(SHR), OP(SAR), OP(DSHR), 0, 0, SAME, 0},
    [IR_BIN_EQ] = {OP(EQ), OP(EQ), OP(DEQ), OP(FEQ), OP(EQ), TRUTH, 0},
    [IR_BIN_NE] = {OP(NE), OP(NE), OP(DNE), OP(FNE), OP(NE), TRUTH, 0},
    [IR_BIN_LT] = {OP(LT), OP(ILT), OP(DLT), OP(FLT), 0, TRUTH, 0},
    [IR_BIN_GT] = {OP(LT), OP(ILT), OP(DLT), OP(FLT), 0, TRUTH, 1},
    [IR_BIN_LE] = {OP(LE), OP(ILE), OP(DLE), OP(FLE), 0, TRUTH, 0},
    [IR_BIN_GE] = {OP(LE), OP(ILE), OP(DLE), OP(FLE), 0, TRUTH, 1},
    /* Of the truth of both. */
    [IR_BIN_AND] = {OP(BAND), OP(BAND), OP(BAND), 0, OP(BAND), TRUTH, 0},
    [IR_BIN_OR] = {OP(BOR), OP(BOR), OP(BOR), 0, OP(BOR), TRUTH, 0},
    [IR_BIN_ABS_DIFF] = {OP(ABSDIFF), OP(IABSDIFF), OP(DABSDIFF), 0, 0, WORD, 0},
    [IR_BIN_MIN] = {OP(MIN), OP(IMIN), OP(DMIN), OP(FMIN), 0, SAME, 0},
    [IR_BIN_MAX] = {OP(MAX), OP(IMAX), OP(DMAX), OP(FMAX), 0, SAME, 0},
    [IR_BIN_SAT_ADD] = {OP(SATADD), OP(ISATADD), OP(DSATADD), 0, 0, SAME, 0},
    [IR_BIN_SAT_SUB] = {OP(SATSUB), OP(ISATSUB), OP(DSATSUB), 0, 0, SAME, 0},
    [IR_BIN_SAT_MUL] = {OP(SATMUL), OP(ISATMUL), OP(DSATMUL), 0, 0, SAME, 0},
    [IR_BIN_ROT_L] = {OP(ROTL), 0, 0, 0, 0, SAME, 0},
    [IR_BIN_ROT_R] = {OP(ROTR), 0, 0, 0, 0, SAME, 0},
    [IR_BIN_WRAP_ADD] = {OP(ADD), OP(ADD), OP(DADD), 0, 0, SAME, 0},
    [IR_BIN_WRAP_SUB] = {OP(SUB), OP(SUB), OP(DSUB), 0, 0, SAME, 0},
    [IR_BIN_MUL_HIGH] = {OP(MULHI), 0, OP(DMULHI), 0, 0, SAME, 0},
};

static const struct operator_row unary[] = {
    [IR_UN_NEGATE] = {OP(SUB), OP(SUB), OP(DNEG), OP(FNEG), 0, SAME, 0}, /* words: 0 - x */
    [IR_UN_BIT_NOT] = {OP(NOT), OP(NOT), OP(DNOT), 0, 0, SAME, 0},
    [IR_UN_LOGICAL_NOT] = {OP(EQ), OP(EQ), OP(DTRUE), 0, OP(BNOT), TRUTH, 0}, /* x == 0 */
    [IR_UN_POPCOUNT] = {OP(POPC), OP(POPC), OP(DPOPC), 0, 0, SAME, 0},
    [IR_UN_CLZ] = {OP(CLZ), OP(CLZ), OP(DCLZ), 0, 0, SAME, 0},
    [IR_UN_CTZ] = {OP(CTZ), OP(CTZ), OP(DCTZ), 0, 0, SAME, 0},
    [IR_UN_REVERSE_BITS] = {OP(BREV), OP(BREV), OP(DBREV), 0, 0, SAME, 0},
    [IR_UN_COS] = {.f32 = OP(FCOS)},
    [IR_UN_SIN] = {.f32 = OP(FSIN)},
    [IR_UN_ABS] = {.f32 = OP(FABS)},
    [IR_UN_SQRT] = {.f32 = OP(FSQRT)},
    [IR_UN_FLOOR] = {.f32 = OP(FFLOOR)},
    [IR_UN_CEIL] = {.f32 = OP(FCEIL)},
    [IR_UN_ROUND] = {.f32 = OP(FROUND)},
    [IR_UN_TRUNC] = {.f32 = OP(FTRUNC)},
    [IR_UN_SIGN] = {.f32 = OP(FSIGN)},
    [IR_UN_IS_NAN] = {.f32 = OP(ISNAN), .gives = TRUTH},
    [IR_UN_IS_INF] = {.f32 = OP(ISINF), .gives = TRUTH},
    [IR_UN_IS_FINITE] = {.f32 = OP(ISFIN), .gives = TRUTH},
    [IR_UN_EXP] = {.f32 = OP(FEXP)},
    [IR_UN_LOG] = {.f32 = OP(FLOG)},
    [IR_UN_LOG2] = {.f32 = OP(FLOG2)},
    [IR_UN_EXP2] = {.f32 = OP(FEXP2)},
    [IR_UN_TAN] = {.f32 = OP(FTAN)},
    [IR_UN_ACOS] = {.f32 = OP(FACOS)},
    [IR_UN_ASIN] = {.f32 = OP(FASIN)},
    [IR_UN_ATAN] = {.f32 = OP(FATAN)},
    [IR_UN_TANH] = {.f32 = OP(FTANH)},
    [IR_UN_SINH] = {.f32 = OP(FSINH)},
    [IR_UN_COSH] = {.f32 = OP(FCOSH)},
    [IR_UN_INVERSE_SQRT] = {.f32 = OP(FRSQRT)},
    [IR_UN_RECIPROCAL] = {.f32 = OP(FRCP)},
};
#undef OP

static uint32_t opcode_for(const struct operator_row *row, uint32_t kinds)
{
    switch (kinds) {
    case LOW_U32:
        return row->u32;
    case LOW_I32:
        return row->i32;
    case LOW_U64:
        return row->u64;
    case LOW_F32:
        return row->f32;
    case LOW_BOOL:
        return row->boolean;
    default:
        return 0;
    }
}

static uint32_t result_kind(const struct operator_row *row, uint32_t kinds)
{
    if (row->gives == TRUTH) return LOW_BOOL;
    return row->gives == WORD && kinds == LOW_I32 ? LOW_U32 : kinds;
}

/* x op constant where that is x, a constant, or a cheaper operation. */
static int with_constant(struct lowering *low, uint32_t op, struct low_value x, uint32_t constant,
                         struct low_value *result)
{
    int power = constant != 0 && (constant & (constant - 1)) == 0;
    low_word word = low_at(x.reg, 0);
    *result = x;
    switch (op) {
    case VM_OP_ADD:
    case VM_OP_SUB:
    case VM_OP_OR:
    case VM_OP_XOR:
        return constant == 0;
    case VM_OP_SHL:
    case VM_OP_SHR:
    case VM_OP_SAR:
    case VM_OP_ROTL:
    case VM_OP_ROTR:
        return (constant & 31) == 0;
    case VM_OP_MUL:
    case VM_OP_AND:
        if (constant == 0) *result = vyre_low_constant(low, x.kinds, 0);
        return constant == 0 || constant == (op == VM_OP_MUL ? 1u : UINT32_MAX);
    case VM_OP_DIV:
        if (power && constant != 1)
            *result = vyre_low_op2(
                low, VM_OP_SHR, x.kinds, word,
                low_at(vyre_low_constant(low, LOW_U32, (uint32_t)__builtin_ctz(constant)).reg, 0));
        return power;
    case VM_OP_MOD:
        if (power)
            *result = vyre_low_op2(low, VM_OP_AND, x.kinds, word,
                                   low_at(vyre_low_constant(low, LOW_U32, constant - 1).reg, 0));
        return power;
    default:
        return 0;
    }
}

static int commutes(uint32_t op)
{
    return op == VM_OP_ADD || op == VM_OP_MUL || op == VM_OP_AND || op == VM_OP_OR ||
           op == VM_OP_XOR;
}

static struct low_value make_binary(struct lowering *low, uint32_t op, uint32_t kinds,
                                    struct low_value pair[2])
{
    uint32_t constant;
    struct low_value result;
    low_word a = low_at(pair[0].reg, 0), b = low_at(pair[1].reg, 0);
    if (op == VM_OP_IDIV || op == VM_OP_IMOD) return vyre_low_checked(low, op, kinds, a, b);
    if (!low->regs[pair[0].reg].constant && vyre_low_is_constant(low, b, &constant) &&
        with_constant(low, op, pair[0], constant, &result))
        return result;
    if (commutes(op) && !low->regs[pair[1].reg].constant &&
        vyre_low_is_constant(low, a, &constant) &&
        with_constant(low, op, pair[1], constant, &result))
        return result;
    return vyre_low_op2(low, op, kinds, a, b);
}

struct low_value vyre_low_binary(struct lowering *low, const struct ir_expr *expr,
                                 struct low_value left, struct low_value right)
{
    char one[64], other[64];
    if (low->status != VYRE_OK) return NOTHING;
    const char *word = expr->op == IR_OP_EXTENSION ? "extension" : vyre_ir_bin_word(expr->op);
    const struct operator_row *row =
        expr->op < sizeof binary / sizeof binary[0] ? &binary[expr->op] : &binary[0];
    if (left.kinds != right.kinds || !low_one_kind(left.kinds)) {
        vyre_low_refuse(low, expr->id, "%s of %s and %s", word ? word : "?",
                        vyre_low_kind_name(left.kinds, one),
                        vyre_low_kind_name(right.kinds, other));
        return NOTHING;
    }
    uint32_t op = opcode_for(row, left.kinds);
    if (op == 0) {
        vyre_low_refuse(low, expr->id, "%s of two %s", word ? word : "?",
                        vyre_low_kind_name(left.kinds, one));
        return NOTHING;
    }
    struct low_value pair[2] = {row->swap ? right : left, row->swap ? left : right};
    if (op == VM_OP_BAND || op == VM_OP_BOR) {
        pair[0] = vyre_low_truth(low, pair[0]);
        pair[1] = vyre_low_truth(low, pair[1]);
    }
    return make_binary(low, op, result_kind(row, left.kinds), pair);
}

/* Not of a comparison is the other comparison; of floats only where no order is involved. */
static int turn_over(struct low_insn *insn)
{
    low_word a = insn->a;
    switch (insn->op) {
    case VM_OP_EQ:
        insn->op = VM_OP_NE;
        return 1;
    case VM_OP_NE:
        insn->op = VM_OP_EQ;
        return 1;
    case VM_OP_FEQ:
        insn->op = VM_OP_FNE;
        return 1;
    case VM_OP_FNE:
        insn->op = VM_OP_FEQ;
        return 1;
    case VM_OP_DEQ:
        insn->op = VM_OP_DNE;
        return 1;
    case VM_OP_DNE:
        insn->op = VM_OP_DEQ;
        return 1;
    case VM_OP_LT:
        insn->op = VM_OP_LE;
        break;
    case VM_OP_LE:
        insn->op = VM_OP_LT;
        break;
    case VM_OP_ILT:
        insn->op = VM_OP_ILE;
        break;
    case VM_OP_ILE:
        insn->op = VM_OP_ILT;
        break;
    default:
        return 0;
    }
    insn->a = insn->b;
    insn->b = a;
    return 1;
}

static struct low_value logical_not(struct lowering *low, struct low_value operand)
{
    low_word word = low_at(operand.reg, 0);
    if (operand.kinds == LOW_U64) {
        operand = vyre_low_truth(low, operand);
        word = low_at(operand.reg, 0);
    }
    if (operand.kinds != LOW_BOOL)
        return vyre_low_op2(low, VM_OP_EQ, LOW_BOOL, word,
                            low_at(vyre_low_constant(low, LOW_U32, 0).reg, 0));
    struct low_insn *last = vyre_low_last(low, operand);
    if (last && turn_over(last)) return operand;
    return vyre_low_op1(low, VM_OP_BNOT, LOW_BOOL, word);
}

struct low_value vyre_low_unary(struct lowering *low, const struct ir_expr *expr,
                                struct low_value operand)
{
    char name[64];
    low_word word = low_at(operand.reg, 0);
    if (low->status != VYRE_OK) return NOTHING;
    const struct operator_row *row =
        expr->op < sizeof unary / sizeof unary[0] ? &unary[expr->op] : &unary[0];
    /* A variable that is now a bool and now a word: not 0 means the same for both. */
    int any_word = expr->op == IR_UN_LOGICAL_NOT &&
                   (operand.kinds & ~(uint32_t)(LOW_U32 | LOW_I32 | LOW_BOOL)) == 0;
    uint32_t op = any_word ? VM_OP_EQ : opcode_for(row, operand.kinds);
    if (op == 0) {
        const char *text = expr->op == IR_OP_EXTENSION ? "extension" : vyre_ir_un_word(expr->op);
        vyre_low_refuse(low, expr->id, "%s of %s", text ? text : "?",
                        vyre_low_kind_name(operand.kinds, name));
        return NOTHING;
    }
    if (expr->op == IR_UN_LOGICAL_NOT) return logical_not(low, operand);
    if (op == VM_OP_SUB)
        return vyre_low_op2(low, op, operand.kinds,
                            low_at(vyre_low_constant(low, LOW_U32, 0).reg, 0), word);
    return vyre_low_op1(low, op, result_kind(row, operand.kinds), word);
}
