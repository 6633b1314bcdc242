/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The rules about size and depth, for t_ir_validate.c.
 */
#ifndef VYRE_TESTS_IR_VALIDATE_LIMITS_H
#define VYRE_TESTS_IR_VALIDATE_LIMITS_H

#include "ir_validate_test.h"

static struct ir_node *nested(uint32_t blocks, struct ir_node *inner)
{
    for (uint32_t i = 0; i < blocks; i++)
        inner = block(list(inner));
    return inner;
}

static struct ir_expr *negated(uint32_t times)
{
    struct ir_expr *made = u32(1);
    for (uint32_t i = 0; i < times; i++)
        made = un(IR_UN_NEGATE, made);
    return made;
}

static struct ir_program *returns(uint32_t count)
{
    struct ir_list statements = {0};
    begin(&memory);
    for (uint32_t i = 0; i < count; i++)
        vyre_ir_append(&statements, block(nothing));
    return ib_program(region(IB_ROOT, statements));
}

/* u32(1) inside `times` expressions, each of which has it as operand `slot`. */
static struct ir_expr *deep(uint8_t kind, uint32_t slot, uint32_t times)
{
    struct ir_expr *made = u32(1);
    for (uint32_t i = 0; i < times; i++) {
        struct ir_expr *operands[3] = {u32(1), u32(1), u32(1)};
        operands[slot] = made;
        if (kind == IR_EXPR_LOAD)
            made = load("a", made);
        else if (kind == IR_EXPR_BIN_OP)
            made = add(operands[0], operands[1]);
        else if (kind == IR_EXPR_CAST)
            made = cast(IR_TYPE_U32, made);
        else if (kind == IR_EXPR_CALL)
            made = slot == 1 ? call("vyre.print", u32(1), made)
                             : call("vyre.print", u32(1), u32(1), made);
        else if (kind == IR_EXPR_ATOMIC)
            made = compare_exchange("d", operands[0], operands[1], operands[2]);
        else if (kind == IR_EXPR_SELECT)
            made = select_(operands[0], operands[1], operands[2]);
        else if (kind == IR_EXPR_FMA)
            made = cast(IR_TYPE_U32, fma_(cast(IR_TYPE_F32, made), f32(1), f32(1)));
        else if (kind == IR_EXPR_SUBGROUP_SHUFFLE)
            made = subgroup_shuffle(operands[0], operands[1]);
        else
            made = subgroup_add(made);
    }
    return made;
}

static void depths(void)
{
    static const struct {
        uint8_t kind, slot, levels;
    } rows[] = {{IR_EXPR_LOAD, 0, 1},         {IR_EXPR_BIN_OP, 0, 1},
                {IR_EXPR_BIN_OP, 1, 1},       {IR_EXPR_CAST, 0, 1},
                {IR_EXPR_CALL, 1, 1},         {IR_EXPR_CALL, 2, 1},
                {IR_EXPR_ATOMIC, 0, 1},       {IR_EXPR_ATOMIC, 1, 1},
                {IR_EXPR_ATOMIC, 2, 1},       {IR_EXPR_SELECT, 0, 1},
                {IR_EXPR_SELECT, 1, 1},       {IR_EXPR_SELECT, 2, 1},
                {IR_EXPR_SUBGROUP_ADD, 0, 1}, {IR_EXPR_SUBGROUP_SHUFFLE, 0, 1},
                {IR_EXPR_FMA, 0, 3},          {IR_EXPR_SUBGROUP_SHUFFLE, 1, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t most = 128 / rows[i].levels;
        start();
        judge(IR_RULE_NONE, 1, vyre_ir_expr_word(rows[i].kind),
              program(let("t", deep(rows[i].kind, rows[i].slot, most))));
        start();
        judge(IR_RULE_EXPR_DEPTH, 1, vyre_ir_expr_word(rows[i].kind),
              program(let("t", deep(rows[i].kind, rows[i].slot, most + 1))));
        start();
        judge(IR_RULE_NONE, 1, "in a trap",
              program(trap(deep(rows[i].kind, rows[i].slot, most), "t")));
    }
    start();
    judge(IR_RULE_EXPR_DEPTH, 1, "fma below one more",
          program(let("t", deep(IR_EXPR_CAST, 0, 3)),
                  let("y", un(IR_UN_NEGATE,
                              un(IR_UN_NEGATE, un(IR_UN_NEGATE, deep(IR_EXPR_FMA, 0, 42)))))));
}

static void limits(void)
{
    good(nested(63, ret()));
    bad(NESTING, nested(64, ret()));
    bad(NESTING, nested(5000, ret()));
    good(value_of(negated(128)));
    bad(EXPR_DEPTH, value_of(negated(129)));
    bad(EXPR_DEPTH, value_of(negated(5000)));
    bad(EXPR_DEPTH, trap(negated(5000), "t"));
    bad(EXPR_DEPTH, value_of(ATOMIC_ADD_D), store("d", u32(0), negated(5000)));
    judge(IR_RULE_NONE, 1, "8192 statements", returns(8191));
    judge(IR_RULE_NODE_COUNT, 1, "8193 statements", returns(8192));
    judge(IR_RULE_NODE_COUNT, 1, "a hundred thousand statements", returns(100000));
}

#endif
