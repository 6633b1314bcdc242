/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Expressions and data types as text. Every expression can be told from every other by its text, to
 * the bit: a float is written with the fewest digits that give it back, or as its bits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/print.h"

/* Data types
 * --------------------------------------------------------------------------------------------- */

static void say_dims(struct ir_page *page, const struct ir_type *type)
{
    vyre_ir_say(page, "[");
    for (uint32_t i = 0; i < type->dim_count; i++)
        vyre_ir_say(page, i ? ", %u" : "%u", type->dims[i]);
    vyre_ir_say(page, "]");
}

static void say_quantized(struct ir_page *page, const struct ir_type *type)
{
    static const char *const scales[] = {"per_tensor", "per_channel", "per_group"};
    static const char *const zeros[] = {"none", "per_tensor", "per_channel", "per_group"};
    vyre_ir_say(page, "; scale %s(%u), zero %s(%u)", type->scale < 3 ? scales[type->scale] : "?",
                type->a, type->zero < 4 ? zeros[type->zero] : "?", type->b);
}

/* Parameters of a type itself, before the type inside it. */
static void say_parameters(struct ir_page *page, const struct ir_type *type)
{
    switch (type->tag) {
    case IR_TYPE_VEC:
        vyre_ir_say(page, "%u x ", type->lanes);
        break;
    case IR_TYPE_SPARSE_BSR:
        vyre_ir_say(page, "%u x %u of ", type->a, type->b);
        break;
    case IR_TYPE_TENSOR_SHAPED:
        say_dims(page, type);
        vyre_ir_say(page, " of ");
        break;
    default:
        break;
    }
}

void vyre_ir_say_type(struct ir_page *page, const struct ir_type *type)
{
    uint64_t open = 0;
    for (; type && vyre_ir_type_nests(type->tag) && type->element && !page->failed;
         type = type->element, open++) {
        vyre_ir_say(page, "%s<", vyre_ir_type_word(type->tag));
        say_parameters(page, type);
        /* What a quantized type is stored as holds no other type. */
        if (type->tag == IR_TYPE_QUANTIZED) {
            vyre_ir_say(page, "%s", vyre_ir_type_word(type->element->tag));
            say_quantized(page, type);
            vyre_ir_say(page, ">");
            type = NULL;
            break;
        }
    }
    const char *word = type ? vyre_ir_type_word(type->tag) : "";
    vyre_ir_say(page, "%s", word ? word : "?");
    if (type && (type->tag == IR_TYPE_ARRAY || type->tag == IR_TYPE_HANDLE))
        vyre_ir_say(page, "<%u>", type->a);
    if (type && type->tag == IR_TYPE_OPAQUE) vyre_ir_say(page, "<0x%08x>", type->a);
    if (type && type->tag == IR_TYPE_DEVICE_MESH) say_dims(page, type);
    for (; open > 0 && !page->failed; open--)
        vyre_ir_say(page, ">");
}

/* Expressions
 * --------------------------------------------------------------------------------------------- */

/* Whatever the locale has for a decimal point, the text has a dot. */
static void put_dot(char *text)
{
    char *to = text;
    int dot = 0, whole = 1;
    for (const char *from = text; *from; from++) {
        if (strchr("+-0123456789e", *from)) {
            if (*from == 'e') whole = 0;
            *to++ = *from;
        } else if (!dot) {
            dot = 1;
            *to++ = '.';
        }
    }
    if (!dot && whole) {
        *to++ = '.';
        *to++ = '0';
    }
    *to = '\0';
}

static void say_f32(struct ir_page *page, uint32_t bits)
{
    float value, again = 0;
    char text[64];
    memcpy(&value, &bits, sizeof value);
    if ((bits & 0x7F800000u) == 0x7F800000u) {
        vyre_ir_say(page, "f32_bits(0x%08x)", bits);
        return;
    }
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text - 2, "%.*g", digits, (double)value);
        again = strtof(text, NULL);
        if (memcmp(&again, &value, sizeof value) == 0) break;
    }
    put_dot(text);
    vyre_ir_say(page, "%sf", text);
}

static void say_axis(struct ir_page *page, const struct ir_expr *expr)
{
    if (expr->axis < 3)
        vyre_ir_say(page, "%s.%c", vyre_ir_expr_word(expr->kind), "xyz"[expr->axis]);
    else
        vyre_ir_say(page, "%s[%u]", vyre_ir_expr_word(expr->kind), expr->axis);
}

static void say_list(struct ir_page *page, struct ir_expr *const *args, uint32_t count)
{
    vyre_ir_say(page, "(");
    for (uint32_t i = 0; i < count; i++) {
        if (i) vyre_ir_say(page, ", ");
        vyre_ir_say_expr(page, args[i]);
    }
    vyre_ir_say(page, ")");
}

/* The operators that C has too; the others are written as functions. */
static const char *const infix[] = {
    [IR_BIN_ADD] = "+",  [IR_BIN_SUB] = "-",     [IR_BIN_MUL] = "*",    [IR_BIN_DIV] = "/",
    [IR_BIN_MOD] = "%",  [IR_BIN_BIT_AND] = "&", [IR_BIN_BIT_OR] = "|", [IR_BIN_BIT_XOR] = "^",
    [IR_BIN_SHL] = "<<", [IR_BIN_SHR] = ">>",    [IR_BIN_EQ] = "==",    [IR_BIN_NE] = "!=",
    [IR_BIN_LT] = "<",   [IR_BIN_GT] = ">",      [IR_BIN_LE] = "<=",    [IR_BIN_GE] = ">=",
    [IR_BIN_AND] = "&&", [IR_BIN_OR] = "||",
};

static void say_bin(struct ir_page *page, const struct ir_expr *expr)
{
    if (expr->op >= sizeof infix / sizeof infix[0] || !infix[expr->op]) {
        if (expr->op == IR_OP_EXTENSION)
            vyre_ir_say(page, "binary<0x%08x>", expr->value);
        else
            vyre_ir_say(page, "%s", vyre_ir_bin_word(expr->op));
        say_list(page, expr->arg, 2);
        return;
    }
    vyre_ir_say(page, "(");
    vyre_ir_say_expr(page, expr->arg[0]);
    vyre_ir_say(page, " %s ", infix[expr->op]);
    vyre_ir_say_expr(page, expr->arg[1]);
    vyre_ir_say(page, ")");
}

static void say_un(struct ir_page *page, const struct ir_expr *expr)
{
    switch (expr->op) {
    case IR_UN_NEGATE:
        vyre_ir_say(page, "-");
        break;
    case IR_UN_BIT_NOT:
        vyre_ir_say(page, "~");
        break;
    case IR_UN_LOGICAL_NOT:
        vyre_ir_say(page, "!");
        break;
    case IR_OP_EXTENSION:
        vyre_ir_say(page, "unary<0x%08x>", expr->value);
        break;
    default:
        vyre_ir_say(page, "%s", vyre_ir_un_word(expr->op));
        break;
    }
    say_list(page, expr->arg, 1);
}

static void say_element(struct ir_page *page, uint32_t buffer, const struct ir_expr *index)
{
    vyre_ir_say_name(page, buffer);
    vyre_ir_say(page, "[");
    vyre_ir_say_expr(page, index);
    vyre_ir_say(page, "]");
}

static void say_atomic(struct ir_page *page, const struct ir_expr *expr)
{
    if (expr->op == IR_OP_EXTENSION)
        vyre_ir_say(page, "atomic<0x%08x>(", expr->value);
    else
        vyre_ir_say(page, "atomic_%s(", vyre_ir_atomic_word(expr->op));
    say_element(page, expr->name, expr->arg[0]);
    if (expr->arg[1]) {
        vyre_ir_say(page, ", expected ");
        vyre_ir_say_expr(page, expr->arg[1]);
    }
    vyre_ir_say(page, ", ");
    vyre_ir_say_expr(page, expr->arg[2]);
    vyre_ir_say(page, ", %s)", vyre_ir_ordering_word(expr->ordering));
}

static void say_cast(struct ir_page *page, const struct ir_expr *expr)
{
    vyre_ir_say(page, "cast<");
    vyre_ir_say_type(page, expr->type);
    vyre_ir_say(page, ">");
    say_list(page, expr->arg, 1);
}

static void say_kind(struct ir_page *page, const struct ir_expr *expr)
{
    switch (expr->kind) {
    case IR_EXPR_LIT_U32:
        vyre_ir_say(page, "%uu", expr->value);
        break;
    case IR_EXPR_LIT_I32:
        vyre_ir_say(page, "%s%u", expr->value >> 31 ? "-" : "",
                    expr->value >> 31 ? 0u - expr->value : expr->value);
        break;
    case IR_EXPR_LIT_BOOL:
        vyre_ir_say(page, "%s", expr->value ? "true" : "false");
        break;
    case IR_EXPR_LIT_F32:
        say_f32(page, expr->value);
        break;
    case IR_EXPR_VAR:
        vyre_ir_say_name(page, expr->name);
        break;
    case IR_EXPR_LOAD:
        say_element(page, expr->name, expr->arg[0]);
        break;
    case IR_EXPR_BUF_LEN:
        vyre_ir_say(page, "buf_len(");
        vyre_ir_say_name(page, expr->name);
        vyre_ir_say(page, ")");
        break;
    case IR_EXPR_INVOCATION_ID:
    case IR_EXPR_WORKGROUP_ID:
    case IR_EXPR_LOCAL_ID:
        say_axis(page, expr);
        break;
    case IR_EXPR_BIN_OP:
        say_bin(page, expr);
        break;
    case IR_EXPR_UN_OP:
        say_un(page, expr);
        break;
    case IR_EXPR_CALL:
        vyre_ir_say(page, "call ");
        vyre_ir_say_name(page, expr->name);
        say_list(page, expr->args, expr->arg_count);
        break;
    case IR_EXPR_CAST:
        say_cast(page, expr);
        break;
    case IR_EXPR_ATOMIC:
        say_atomic(page, expr);
        break;
    default:
        /* The rest are written as functions of their operands. */
        vyre_ir_say(page, "%s", vyre_ir_expr_word(expr->kind));
        say_list(page, expr->arg, (uint32_t)strlen(vyre_ir_expr_layout(expr->kind)));
        break;
    }
}

void vyre_ir_say_expr(struct ir_page *page, const struct ir_expr *expr)
{
    if (page->failed) return;
    if (!expr || !vyre_ir_expr_layout(expr->kind) || page->depth >= IR_DEEPEST) {
        vyre_ir_say(page, "...");
        return;
    }
    page->depth++;
    say_kind(page, expr);
    page->depth--;
}
