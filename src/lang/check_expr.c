/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Types of expressions. Nothing is converted by itself but integer literals, which take the type
 * that is wanted around them; so an operand that consists of such literals is looked at after the
 * other one.
 */
#include <string.h>

#include "lang/ast.h"

static bool is_integer(uint32_t type)
{
    return type == LANG_TYPE_U32 || type == LANG_TYPE_I32;
}

static bool is_number(uint32_t type)
{
    return is_integer(type) || type == LANG_TYPE_F32;
}

bool vyre_lang_is_open(const struct lang_expr *expr)
{
    switch (expr->kind) {
    case LANG_E_LITERAL:
        return expr->open;
    case LANG_E_UNARY:
        return expr->op != LANG_NOT && vyre_lang_is_open(expr->arg[0]);
    case LANG_E_BINARY:
        if (expr->op == LANG_SHL || expr->op == LANG_SHR) return vyre_lang_is_open(expr->arg[0]);
        return expr->op >= LANG_PLUS && expr->op <= LANG_XOR && vyre_lang_is_open(expr->arg[0]) &&
               vyre_lang_is_open(expr->arg[1]);
    case LANG_E_CHOOSE:
        return vyre_lang_is_open(expr->arg[1]) && vyre_lang_is_open(expr->arg[2]);
    default:
        return false;
    }
}

static bool has_minus(const struct lang_expr *expr)
{
    if (expr->kind == LANG_E_LITERAL) return expr->negative;
    if (expr->kind == LANG_E_UNARY) return expr->op == LANG_MINUS || has_minus(expr->arg[0]);
    if (expr->kind == LANG_E_BINARY) return has_minus(expr->arg[0]) || has_minus(expr->arg[1]);
    return false;
}

/* `u32(x)` */
static const char *cast_to(struct lang_unit *unit, const struct lang_expr *expr, uint8_t type)
{
    const char *quote = vyre_lang_quote(unit, expr->span);
    uint32_t length = expr->span.length;
    bool bare = quote && length > 2 && quote[0] == '(' && quote[length - 1] == ')' &&
                !strchr(quote + 1, '(');
    if (!quote) return vyre_lang_text(unit, "cast it to %s", vyre_lang_type_name(type));
    return bare ? vyre_lang_text(unit, "cast it: `%s%s`", vyre_lang_type_name(type), quote)
                : vyre_lang_text(unit, "cast it: `%s(%s)`", vyre_lang_type_name(type), quote);
}

const char *vyre_lang_value_fix(struct lang_unit *unit, const struct lang_expr *expr, uint8_t type)
{
    const char *quote = vyre_lang_quote(unit, expr->span);
    if (type == LANG_TYPE_BOOL && quote)
        return vyre_lang_text(unit, "compare it: `%s != %s`", quote,
                              expr->type == LANG_TYPE_F32 ? "0.0" : "0");
    float value = expr->known && expr->type == LANG_TYPE_F32 ? vyre_lang_float(expr->value) : -1.0f;
    if (expr->kind == LANG_E_LITERAL && is_integer(type) && value >= 0.0f && value < 16777216.0f &&
        (float)(uint32_t)value == value)
        return vyre_lang_text(unit, "write `%u`", (unsigned)value);
    return cast_to(unit, expr, type);
}

static void too_large(struct lang_unit *unit, const struct lang_expr *expr, const char *type,
                      const char *fix)
{
    vyre_lang_say(unit, LANG_D_LITERAL, expr->span,
                  vyre_lang_text(unit, "%s%u does not fit %s", expr->negative ? "-" : "",
                                 (unsigned)expr->value, type),
                  fix);
}

static uint8_t check_literal(struct lang_unit *unit, struct lang_expr *expr, uint8_t want)
{
    if (expr->known) return expr->type;
    if (expr->open) {
        bool float_wanted = want == LANG_TYPE_F32;
        uint8_t lone = expr->negative ? LANG_TYPE_I32 : LANG_TYPE_U32;
        expr->type = is_integer(want) || float_wanted ? want : lone;
    }
    if (expr->type == LANG_TYPE_I32 && expr->value > 0x7FFFFFFFu + expr->negative) {
        too_large(unit, expr, "an i32, which goes from -2147483648 to 2147483647",
                  expr->negative ? "use a number in this range" : "use u32, or a smaller number");
        return expr->type = LANG_TYPE_WRONG;
    }
    if (expr->open && expr->type == LANG_TYPE_F32) {
        float value = (float)expr->value;
        if ((uint64_t)value != expr->value) {
            too_large(unit, expr, "an f32 exactly", "write it with a dot to have it rounded");
            return expr->type = LANG_TYPE_WRONG;
        }
        expr->value = vyre_lang_bits(expr->negative ? -value : value);
    } else if (expr->negative) {
        expr->value = 0u - expr->value;
    }
    expr->known = true;
    return expr->type;
}

void vyre_lang_check_condition(struct lang_unit *unit, struct lang_expr *expr, const char *of)
{
    uint8_t type = vyre_lang_check_expr(unit, expr, LANG_TYPE_WRONG);
    if (type == LANG_TYPE_BOOL || is_integer(type) || type == LANG_TYPE_WRONG) return;
    const char *quote = vyre_lang_quote(unit, expr->span);
    vyre_lang_say(unit, LANG_D_CONDITION, expr->span,
                  vyre_lang_text(unit, "%s is %s; it must be bool, u32 or i32", of,
                                 vyre_lang_type_name(type)),
                  type != LANG_TYPE_F32 ? ""
                  : quote               ? vyre_lang_text(unit, "compare it: `%s != 0.0`", quote)
                                        : "compare it with something");
    expr->type = LANG_TYPE_WRONG;
}

static uint8_t check_unary(struct lang_unit *unit, struct lang_expr *expr, uint8_t want)
{
    struct lang_expr *operand = expr->arg[0];
    if (expr->op == LANG_NOT) {
        vyre_lang_check_condition(unit, operand, "the operand of `!`");
        expr->effects = operand->effects;
        return expr->type = operand->type == LANG_TYPE_WRONG ? LANG_TYPE_WRONG : LANG_TYPE_BOOL;
    }
    if (expr->op == LANG_MINUS && want == LANG_TYPE_WRONG && vyre_lang_is_open(operand))
        want = LANG_TYPE_I32;
    uint8_t type = vyre_lang_check_expr(unit, operand, want);
    expr->effects = operand->effects;
    expr->type = type;
    bool fits = expr->op == LANG_TILDE ? is_integer(type) : is_number(type);
    if (!fits && type != LANG_TYPE_WRONG) {
        vyre_lang_say(unit, LANG_D_OPERAND, expr->span,
                      vyre_lang_text(unit, "`%s` does not take %s", vyre_lang_token_text(expr->op),
                                     vyre_lang_type_name(type)),
                      type == LANG_TYPE_BOOL ? vyre_lang_text(unit, "use `!`, or %s",
                                                              cast_to(unit, operand, LANG_TYPE_U32))
                                             : cast_to(unit, operand, LANG_TYPE_U32));
        expr->type = LANG_TYPE_WRONG;
    }
    return expr->type;
}

static bool is_comparison(const struct lang_expr *expr)
{
    return expr->kind == LANG_E_BINARY &&
           (expr->op == LANG_EQ || expr->op == LANG_NE || expr->op == LANG_LT ||
            expr->op == LANG_GT || expr->op == LANG_LE || expr->op == LANG_GE);
}

/* Operators that bind otherwise than they are read: `a < b < c`, `a & b == c`, `!a == b`. */
static const char *binding_fix(struct lang_unit *unit, const struct lang_expr *expr)
{
    const struct lang_expr *left = expr->arg[0], *right = expr->arg[1];
    bool bits = expr->op == LANG_AND || expr->op == LANG_OR || expr->op == LANG_XOR;
    bool open = left->span.at == expr->span.at; /* no parentheses around the left side */
    const char *text = unit->request->text + left->span.at;
    if (is_comparison(expr) && is_comparison(left) && open && text[0] != '(') {
        const char *whole = vyre_lang_quote(unit, left->span);
        const char *middle = vyre_lang_quote(unit, left->arg[1]->span);
        const char *last = vyre_lang_quote(unit, right->span);
        if (whole && middle && last)
            return vyre_lang_text(unit, "write `%s && %s %s %s`", whole, middle,
                                  vyre_lang_token_text(expr->op), last);
    }
    if (bits && is_comparison(right) && unit->request->text[right->span.at] != '(') {
        struct lang_span inner = vyre_lang_join(left->span, right->arg[0]->span);
        const char *quote = vyre_lang_quote(unit, inner);
        return vyre_lang_text(unit, "write `(%s)`: `%s` binds tighter than `%s`",
                              quote ? quote : "...", vyre_lang_token_text(right->op),
                              vyre_lang_token_text(expr->op));
    }
    if (is_comparison(expr) && left->kind == LANG_E_UNARY && left->op == LANG_NOT && open)
        return vyre_lang_text(unit, "write `!(...)`: `!` binds tighter than `%s`",
                              vyre_lang_token_text(expr->op));
    return NULL;
}

/* The fix for two types that should be one: a cast of the operand that loses nothing by it. */
static const char *cast_fix(struct lang_unit *unit, const struct lang_expr *left,
                            const struct lang_expr *right)
{
    uint8_t to =
        left->type == LANG_TYPE_F32 || right->type == LANG_TYPE_F32 ? LANG_TYPE_F32 : left->type;
    if (to == LANG_TYPE_BOOL) to = right->type;
    const struct lang_expr *which = left->type == to ? right : left;
    const char *quote = vyre_lang_quote(unit, which->span);
    return quote
               ? vyre_lang_text(unit, "cast one of them: `%s(%s)`", vyre_lang_type_name(to), quote)
               : vyre_lang_text(unit, "cast one of them to %s", vyre_lang_type_name(to));
}

/* Both sides, the one that is open after the other. */
static bool check_pair(struct lang_unit *unit, struct lang_expr *expr, uint8_t want)
{
    struct lang_expr *left = expr->arg[0], *right = expr->arg[1];
    bool left_open = vyre_lang_is_open(left), right_open = vyre_lang_is_open(right);
    if (left_open && right_open && want == LANG_TYPE_WRONG && (has_minus(left) || has_minus(right)))
        want = LANG_TYPE_I32;
    if (left_open && !right_open) {
        uint8_t type = vyre_lang_check_expr(unit, right, want);
        vyre_lang_check_expr(unit, left, type);
    } else {
        uint8_t type = vyre_lang_check_expr(unit, left, want);
        vyre_lang_check_expr(unit, right, right_open ? type : want);
    }
    expr->effects = left->effects | right->effects;
    if (left->type == LANG_TYPE_WRONG || right->type == LANG_TYPE_WRONG) return false;
    if (left->type == right->type && left->type != LANG_TYPE_VOID) return true;
    const char *l = vyre_lang_quote(unit, left->span), *r = vyre_lang_quote(unit, right->span);
    const char *op = vyre_lang_token_text(expr->op), *fix = binding_fix(unit, expr);
    if (left->kind == LANG_E_OLD) { /* of `x += y` only y can be cast */
        op = vyre_lang_text(unit, "%s=", op);
        fix = vyre_lang_value_fix(unit, right, left->type);
    }
    const char *one = vyre_lang_type_name(left->type), *other = vyre_lang_type_name(right->type);
    vyre_lang_say(
        unit, LANG_D_MISMATCH, expr->span,
        l && r ? vyre_lang_text(unit,
                                "`%s` is %s and `%s` is %s; both sides of `%s` must have one type",
                                l, one, r, other, op)
               : vyre_lang_text(
                     unit, "the left side of `%s` is %s, the right one %s; both must have one type",
                     op, one, other),
        fix ? fix : cast_fix(unit, left, right));
    return false;
}

static void check_divisor(struct lang_unit *unit, struct lang_expr *expr)
{
    struct lang_expr *divisor = expr->arg[1];
    if (divisor->type == LANG_TYPE_F32) return; /* IEEE says what that is */
    if (divisor->known && divisor->value == 0) {
        const char *quote = vyre_lang_quote(unit, divisor->span);
        vyre_lang_say(unit, LANG_D_ZERO_DIVISOR, divisor->span,
                      divisor->kind == LANG_E_LITERAL || !quote
                          ? "this divides by zero"
                          : vyre_lang_text(unit, "this divides by zero: `%s` is 0", quote),
                      "");
        expr->type = LANG_TYPE_WRONG;
    }
    if (divisor->type == LANG_TYPE_I32 && !(divisor->known && divisor->value != 0xFFFFFFFFu))
        expr->effects |= LANG_EFFECT_FAULT;
}

static uint8_t check_shift(struct lang_unit *unit, struct lang_expr *expr, uint8_t want)
{
    struct lang_expr *left = expr->arg[0], *right = expr->arg[1];
    uint8_t type = vyre_lang_check_expr(unit, left, is_integer(want) ? want : LANG_TYPE_WRONG);
    uint8_t amount = vyre_lang_check_expr(unit, right, LANG_TYPE_U32);
    expr->effects = left->effects | right->effects;
    expr->type = type;
    if (type == LANG_TYPE_WRONG || amount == LANG_TYPE_WRONG) return expr->type = LANG_TYPE_WRONG;
    const struct lang_expr *bad = !is_integer(type) ? left : right;
    if (is_integer(type) && is_integer(amount)) return type;
    vyre_lang_say(unit, LANG_D_OPERAND, bad->span,
                  vyre_lang_text(unit, "`%s` takes u32 or i32, not %s",
                                 vyre_lang_token_text(expr->op), vyre_lang_type_name(bad->type)),
                  cast_to(unit, bad, LANG_TYPE_U32));
    return expr->type = LANG_TYPE_WRONG;
}

/* fix NULL: a cast of both. */
static uint8_t wrong_operand(struct lang_unit *unit, struct lang_expr *expr, const char *fix)
{
    const char *l = vyre_lang_quote(unit, expr->arg[0]->span);
    const char *r = vyre_lang_quote(unit, expr->arg[1]->span);
    bool number = expr->arg[1]->kind == LANG_E_LITERAL && expr->arg[1]->open;
    if (!fix && l && r)
        fix = vyre_lang_text(
            unit, number ? "cast it: `u32(%s) %s %s`" : "cast both: `u32(%s) %s u32(%s)`", l,
            vyre_lang_token_text(expr->op), r);
    vyre_lang_say(unit, LANG_D_OPERAND, expr->span,
                  vyre_lang_text(unit, "`%s` does not take %s", vyre_lang_token_text(expr->op),
                                 vyre_lang_type_name(expr->arg[0]->type)),
                  fix ? fix : "cast both to u32");
    return expr->type = LANG_TYPE_WRONG;
}

static uint8_t check_arithmetic(struct lang_unit *unit, struct lang_expr *expr, uint8_t want)
{
    if (!check_pair(unit, expr, want)) return expr->type = LANG_TYPE_WRONG;
    uint8_t type = expr->arg[0]->type;
    expr->type = type;
    switch (expr->op) {
    case LANG_PERCENT:
        if (type == LANG_TYPE_F32)
            return wrong_operand(unit, expr,
                                 "use `x - y * trunc(x / y)`, C's fmod for most numbers");
        if (!is_integer(type)) return wrong_operand(unit, expr, NULL);
        check_divisor(unit, expr);
        return expr->type;
    case LANG_AND:
    case LANG_OR:
    case LANG_XOR:
        if (type == LANG_TYPE_F32) return wrong_operand(unit, expr, NULL);
        return expr->type;
    default:
        if (!is_number(type)) return wrong_operand(unit, expr, NULL);
        if (expr->op == LANG_SLASH) check_divisor(unit, expr);
        return expr->type;
    }
}

static uint8_t check_logical(struct lang_unit *unit, struct lang_expr *expr)
{
    const char *of = expr->op == LANG_AND_AND ? "an operand of `&&`" : "an operand of `||`";
    for (uint32_t i = 0; i < 2; i++) {
        vyre_lang_check_condition(unit, expr->arg[i], of);
        expr->effects |= expr->arg[i]->effects;
    }
    if (expr->arg[0]->type == LANG_TYPE_WRONG || expr->arg[1]->type == LANG_TYPE_WRONG)
        return expr->type = LANG_TYPE_WRONG;
    return expr->type = LANG_TYPE_BOOL;
}

static uint8_t check_binary(struct lang_unit *unit, struct lang_expr *expr, uint8_t want)
{
    switch (expr->op) {
    case LANG_AND_AND:
    case LANG_OR_OR:
        return check_logical(unit, expr);
    case LANG_SHL:
    case LANG_SHR:
        return check_shift(unit, expr, want);
    case LANG_EQ:
    case LANG_NE:
    case LANG_LT:
    case LANG_GT:
    case LANG_LE:
    case LANG_GE:
        if (!check_pair(unit, expr, LANG_TYPE_WRONG)) return expr->type = LANG_TYPE_WRONG;
        if (expr->arg[0]->type == LANG_TYPE_BOOL && expr->op != LANG_EQ && expr->op != LANG_NE)
            return wrong_operand(unit, expr, NULL);
        return expr->type = LANG_TYPE_BOOL;
    default:
        return check_arithmetic(unit, expr, want);
    }
}

static uint8_t check_choose(struct lang_unit *unit, struct lang_expr *expr, uint8_t want)
{
    struct lang_expr *yes = expr->arg[1], *no = expr->arg[2];
    vyre_lang_check_condition(unit, expr->arg[0], "the condition of `?`");
    if (want == LANG_TYPE_WRONG && vyre_lang_is_open(yes) && !vyre_lang_is_open(no)) {
        uint8_t type = vyre_lang_check_expr(unit, no, want);
        vyre_lang_check_expr(unit, yes, type);
    } else {
        uint8_t type = vyre_lang_check_expr(unit, yes, want);
        vyre_lang_check_expr(unit, no, want == LANG_TYPE_WRONG ? type : want);
    }
    expr->effects = expr->arg[0]->effects | yes->effects | no->effects;
    if (yes->type == LANG_TYPE_WRONG || no->type == LANG_TYPE_WRONG)
        return expr->type = LANG_TYPE_WRONG;
    if (yes->type == no->type && yes->type != LANG_TYPE_VOID) return expr->type = yes->type;
    vyre_lang_say(unit, LANG_D_MISMATCH, expr->span,
                  vyre_lang_text(unit, "`?` chooses between %s and %s; both must have one type",
                                 vyre_lang_type_name(yes->type), vyre_lang_type_name(no->type)),
                  cast_fix(unit, yes, no));
    return expr->type = LANG_TYPE_WRONG;
}

static uint8_t check_cast(struct lang_unit *unit, struct lang_expr *expr)
{
    uint8_t to = expr->type;
    /* An integer literal is read as what it is cast to, where it fits. */
    bool open = vyre_lang_is_open(expr->arg[0]) && to != LANG_TYPE_BOOL;
    uint8_t from = vyre_lang_check_expr(unit, expr->arg[0],
                                        open && to != LANG_TYPE_F32 ? to : LANG_TYPE_WRONG);
    expr->effects = expr->arg[0]->effects;
    if (from == LANG_TYPE_WRONG) {
        expr->type = LANG_TYPE_WRONG;
        return expr->type;
    }
    return expr->type = to;
}

uint8_t vyre_lang_check_expr(struct lang_unit *unit, struct lang_expr *expr, uint8_t want)
{
    switch (expr->kind) {
    case LANG_E_LITERAL:
        return check_literal(unit, expr, want);
    case LANG_E_TEXT:
        vyre_lang_say(unit, LANG_D_NOT_A_VALUE, expr->span,
                      "a text is no value; only print and assert take one", "write a number");
        return expr->type = LANG_TYPE_WRONG;
    case LANG_E_NAME:
        return vyre_lang_check_name(unit, expr);
    case LANG_E_FIELD:
        return expr->field ? vyre_lang_check_field(unit, expr) : expr->type;
    case LANG_E_INDEX:
        vyre_lang_check_index(unit, expr);
        vyre_lang_check_access(unit, expr, true, false);
        return expr->type;
    case LANG_E_OLD:
        return expr->type;
    case LANG_E_CALL:
        if (vyre_lang_check_call(unit, expr, want) == LANG_TYPE_VOID) {
            vyre_lang_no_value(unit, expr);
            expr->type = LANG_TYPE_WRONG;
        }
        return expr->type;
    case LANG_E_CAST:
        check_cast(unit, expr);
        break;
    case LANG_E_UNARY:
        check_unary(unit, expr, want);
        break;
    case LANG_E_BINARY:
        check_binary(unit, expr, want);
        break;
    case LANG_E_CHOOSE:
        check_choose(unit, expr, want);
        break;
    default:
        return expr->type = LANG_TYPE_WRONG;
    }
    vyre_lang_fold(unit, expr);
    return expr->type;
}

void vyre_lang_no_value(struct lang_unit *unit, const struct lang_expr *call)
{
    const char *name = call->name ? call->name->text : "this function";
    vyre_lang_say(unit, LANG_D_NO_VALUE, call->span,
                  vyre_lang_text(unit, "`%s` has no result, and a value is needed here", name),
                  vyre_lang_text(unit, "call `%s` on a line of its own", name));
}

void vyre_lang_check_value(struct lang_unit *unit, struct lang_expr *expr, uint8_t type,
                           const char *what)
{
    uint8_t found = vyre_lang_check_expr(unit, expr, type);
    if (found == type || found == LANG_TYPE_WRONG || type == LANG_TYPE_WRONG) return;
    vyre_lang_say(unit, LANG_D_ASSIGN_TYPE, expr->span,
                  vyre_lang_text(unit, "%s is %s, and its value is %s", what,
                                 vyre_lang_type_name(type), vyre_lang_type_name(found)),
                  vyre_lang_value_fix(unit, expr, type));
    expr->type = LANG_TYPE_WRONG;
}
