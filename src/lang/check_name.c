/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Names, their parts and their elements: what they mean, what may be done with them, and what is
 * likely where they mean nothing. A name that nothing declares is complained of once in a function.
 */
#include <string.h>

#include "lang/ast.h"

/* `i`, and the names that stand before a dot. */
static bool is_id(const struct lang_name *name, uint8_t *kind)
{
    static const char *const ids[] = {"global_id", "local_id", "group_id", "group_size"};
    for (uint8_t i = 0; i < 4; i++) {
        if (strcmp(name->text, ids[i]) != 0) continue;
        *kind = i;
        return true;
    }
    return false;
}

/* What helps against a name that nothing declares. */
static const char *name_fix(struct lang_unit *unit, const struct lang_name *name, bool indexed)
{
    const char *fix = vyre_lang_foreign_value(unit, name);
    const char *guess = vyre_lang_guess_value(unit, name->text, false);
    struct lang_guess words = {name->text, NULL, 0};
    vyre_lang_offer(&words, "true");
    vyre_lang_offer(&words, "false");
    if (fix) return fix;
    /* What was meant is not called unused as well. */
    if (guess && vyre_lang_intern(unit, guess, strlen(guess))->symbol)
        vyre_lang_intern(unit, guess, strlen(guess))->symbol->read = true;
    if (words.best || guess)
        return vyre_lang_text(unit, "did you mean `%s`?", words.best ? words.best : guess);
    if (!unit->function)
        return vyre_lang_text(unit, "declare it before this line: `const u32 %.60s = 1;`",
                              name->text);
    if (indexed)
        return vyre_lang_text(unit, "declare a parameter, such as `in u32 %.60s[]`", name->text);
    return vyre_lang_text(unit, "declare it before, such as `u32 %.60s = 0;`", name->text);
}

bool vyre_lang_complain_of(struct lang_unit *unit, struct lang_name *name)
{
    if (unit->lost || name->told) return false;
    if (!unit->function) return name->told = true;
    if (unit->function->lost || name->unknown_in == unit->function) return false;
    name->unknown_in = unit->function;
    return true;
}

/* Where a name stands for nothing, or for something that is no value by itself. */
static uint8_t unknown(struct lang_unit *unit, struct lang_expr *expr, bool indexed)
{
    struct lang_name *name = expr->name;
    uint8_t kind;
    expr->type = LANG_TYPE_WRONG;
    if (!vyre_lang_complain_of(unit, name)) return expr->type;
    if (is_id(name, &kind))
        vyre_lang_say(unit, LANG_D_FIELD, expr->span,
                      vyre_lang_text(unit, "`%s` has three parts", name->text),
                      vyre_lang_text(unit, "write `%s.x`, `.y` or `.z`", name->text));
    else if (vyre_lang_is_given(name))
        vyre_lang_say(unit, LANG_D_NOT_A_VALUE, expr->span,
                      vyre_lang_text(unit, "`%s` is a function, not a value", name->text),
                      vyre_lang_text(unit, "call it: `%s(...)`", name->text));
    else
        vyre_lang_say(unit, LANG_D_UNKNOWN, expr->span,
                      vyre_lang_text(unit, "nothing here has the name `%.60s`", name->text),
                      name_fix(unit, name, indexed));
    return expr->type;
}

uint8_t vyre_lang_check_name(struct lang_unit *unit, struct lang_expr *expr)
{
    struct lang_symbol *symbol = expr->name->symbol;
    if (!symbol && strcmp(expr->name->text, "i") == 0) {
        expr->effects = LANG_EFFECT_LANES;
        expr->kind = LANG_E_FIELD;
        expr->op = 0;
        return expr->type = LANG_TYPE_U32;
    }
    if (!symbol && strcmp(expr->name->text, "local_index") == 0) {
        expr->effects = LANG_EFFECT_LANES;
        expr->kind = LANG_E_FIELD;
        expr->op = 15;
        return expr->type = LANG_TYPE_U32;
    }
    if (!symbol) return unknown(unit, expr, false);
    expr->symbol = symbol;
    symbol->read = true;
    if (symbol->kind == LANG_SYMBOL_FUNCTION) {
        vyre_lang_say(unit, LANG_D_NOT_A_VALUE, expr->span,
                      vyre_lang_text(unit, "`%s` is a %s, not a value", expr->name->text,
                                     symbol->function->kernel ? "kernel" : "function"),
                      symbol->function->kernel
                          ? "declare a variable or a parameter of another name"
                          : vyre_lang_text(unit, "call it: `%s(...)`", expr->name->text));
        return expr->type = LANG_TYPE_WRONG;
    }
    if (symbol->kind == LANG_SYMBOL_BUFFER) {
        if (symbol->type != LANG_TYPE_WRONG)
            vyre_lang_say(unit, LANG_D_NOT_A_VALUE, expr->span,
                          vyre_lang_text(unit, "`%s` is a buffer; a value is one of its elements",
                                         expr->name->text),
                          vyre_lang_text(unit, "write `%s[i]`, or `len(%s)` for its size",
                                         expr->name->text, expr->name->text));
        return expr->type = LANG_TYPE_WRONG;
    }
    if (symbol->kind == LANG_SYMBOL_CONSTANT && symbol->type != LANG_TYPE_WRONG) {
        expr->known = true;
        expr->value = symbol->value;
    } else if (symbol->assigns || !symbol->parameter || !unit->function ||
               !unit->function->kernel) {
        /* Only the kernel's own scalars are surely the same in all lanes. */
        expr->effects = LANG_EFFECT_LANES;
    }
    return expr->type = symbol->type;
}

/* `x.y` where x has no parts. */
static void no_parts(struct lang_unit *unit, struct lang_expr *expr)
{
    struct lang_symbol *symbol = expr->name ? expr->name->symbol : NULL;
    const char *field = expr->field->text, *fix = "only ids have parts: `global_id.x`";
    uint8_t type = LANG_TYPE_WRONG;
    if (expr->name && !symbol && strcmp(expr->name->text, "i") != 0) {
        unknown(unit, expr->arg[0], false);
        return;
    }
    if (symbol && symbol->kind == LANG_SYMBOL_BUFFER) {
        symbol->read = true;
        if (symbol->type == LANG_TYPE_WRONG) return;
        if (strcmp(field, "len") == 0 || strcmp(field, "length") == 0 ||
            strcmp(field, "size") == 0 || strcmp(field, "count") == 0)
            fix = vyre_lang_text(unit, "write `len(%s)`", expr->name->text);
        vyre_lang_say(unit, LANG_D_FIELD, expr->span,
                      vyre_lang_text(unit, "`%s` is a buffer and has no part `%.40s`",
                                     expr->name->text, field),
                      fix);
        return;
    }
    type = vyre_lang_check_expr(unit, expr->arg[0], LANG_TYPE_WRONG);
    if (type == LANG_TYPE_WRONG) return;
    vyre_lang_say(unit, LANG_D_FIELD, expr->mark,
                  vyre_lang_text(unit, "a value of type %s has no part `%.40s`",
                                 vyre_lang_type_name(type), field),
                  fix);
}

uint8_t vyre_lang_check_field(struct lang_unit *unit, struct lang_expr *expr)
{
    uint8_t kind = 0, axis = 3;
    expr->type = LANG_TYPE_WRONG;
    if (!expr->field) return expr->type;
    if (expr->field->length == 1 && expr->field->text[0] >= 'x' && expr->field->text[0] <= 'z')
        axis = (uint8_t)(expr->field->text[0] - 'x');
    if (!expr->name || expr->name->symbol || !is_id(expr->name, &kind)) {
        no_parts(unit, expr);
        return expr->type;
    }
    if (axis == 3) {
        vyre_lang_say(
            unit, LANG_D_FIELD, expr->mark,
            vyre_lang_text(unit, "`%s` has no part `%.40s`", expr->name->text, expr->field->text),
            "use .x, .y or .z");
        return expr->type;
    }
    expr->op = (uint8_t)(kind << 2 | axis);
    if (kind == 3 && unit->function && unit->function->kernel) {
        expr->known = true;
        expr->value = unit->function->workgroup[axis];
    }
    if (kind < 2) expr->effects = LANG_EFFECT_LANES;
    return expr->type = LANG_TYPE_U32;
}

/* `x[k]` where x is no buffer. */
static void no_elements(struct lang_unit *unit, struct lang_expr *buffer)
{
    struct lang_symbol *symbol = buffer->kind == LANG_E_NAME ? buffer->name->symbol : NULL;
    const char *fix = "";
    if (buffer->kind == LANG_E_WRONG) return;
    if (buffer->kind == LANG_E_INDEX) {
        vyre_lang_check_index(unit, buffer);
        if (buffer->type != LANG_TYPE_WRONG)
            vyre_lang_say(unit, LANG_D_NOT_INDEXABLE, buffer->span,
                          "an element has no elements of its own: a buffer has one index",
                          "compute it, such as `[y * width + x]`");
        return;
    }
    if (symbol) symbol->read = true;
    if (symbol && symbol->type == LANG_TYPE_WRONG && symbol->kind != LANG_SYMBOL_FUNCTION) return;
    if (symbol && symbol->kind == LANG_SYMBOL_FUNCTION)
        fix = vyre_lang_text(unit, "call it: `%s(...)`", symbol->name->text);
    else if (symbol && symbol->parameter)
        fix = vyre_lang_text(unit, "declare it as a buffer: `in %s %s[]`",
                             vyre_lang_type_name(symbol->type), symbol->name->text);
    vyre_lang_say(
        unit, LANG_D_NOT_INDEXABLE, buffer->span,
        symbol ? vyre_lang_text(unit, "`%s` is no buffer: it has no elements", symbol->name->text)
               : "only a buffer has elements",
        fix);
}

void vyre_lang_check_index(struct lang_unit *unit, struct lang_expr *expr)
{
    struct lang_expr *buffer = expr->arg[0], *index = expr->arg[1];
    uint8_t type = vyre_lang_check_expr(unit, index, LANG_TYPE_U32);
    expr->type = LANG_TYPE_WRONG;
    expr->effects = index->effects | LANG_EFFECT_LOAD | LANG_EFFECT_LANES;
    struct lang_symbol *symbol = buffer->kind == LANG_E_NAME ? buffer->name->symbol : NULL;
    if (buffer->kind == LANG_E_NAME && !symbol && strcmp(buffer->name->text, "i") != 0) {
        unknown(unit, buffer, true);
        return;
    }
    if (!symbol || symbol->kind != LANG_SYMBOL_BUFFER) {
        no_elements(unit, buffer);
        return;
    }
    buffer->symbol = symbol;
    expr->symbol = symbol;
    if (symbol->access != LANG_ACCESS_IN) expr->effects |= LANG_EFFECT_VARYING;
    if (type != LANG_TYPE_WRONG && type != LANG_TYPE_U32 && type != LANG_TYPE_I32)
        vyre_lang_say(unit, LANG_D_INDEX, index->span,
                      vyre_lang_text(unit, "the index is %s; it must be u32 or i32",
                                     vyre_lang_type_name(type)),
                      vyre_lang_value_fix(unit, index, LANG_TYPE_U32));
    else if (index->known && symbol->count && index->value >= symbol->count)
        vyre_lang_say(unit, LANG_D_BOUND, index->span,
                      vyre_lang_text(unit, "`%s` has %u element%s, and this is %s[%d]",
                                     symbol->name->text, (unsigned)symbol->count,
                                     symbol->count == 1 ? "" : "s", symbol->name->text,
                                     (int)index->value),
                      vyre_lang_text(unit, "the last is `%s[%u]`", symbol->name->text,
                                     (unsigned)symbol->count - 1u));
    expr->type = symbol->type;
}

void vyre_lang_check_access(struct lang_unit *unit, struct lang_expr *element, bool reads,
                            bool writes)
{
    struct lang_symbol *symbol = element->symbol;
    if (!symbol) return;
    symbol->read = true; /* a buffer that is only written is used, too */
    if (writes) symbol->assigns++;
    bool write_in = writes && symbol->access == LANG_ACCESS_IN;
    bool read_out = reads && symbol->access == LANG_ACCESS_OUT;
    if ((!write_in && !read_out) || symbol->told) return;
    symbol->told = true;
    if (write_in)
        vyre_lang_say(
            unit, LANG_D_WRITE_IN, element->span,
            vyre_lang_text(unit, "`%s` is declared `in`: it is read only", symbol->name->text),
            vyre_lang_text(unit, "declare it `inout %s %s[]`",
                           vyre_lang_element_name(symbol->element), symbol->name->text));
    else
        vyre_lang_say(
            unit, LANG_D_READ_OUT, element->span,
            vyre_lang_text(unit, "`%s` is declared `out`: it is written only", symbol->name->text),
            vyre_lang_text(unit, "declare it `inout %s %s[]`",
                           vyre_lang_element_name(symbol->element), symbol->name->text));
}
