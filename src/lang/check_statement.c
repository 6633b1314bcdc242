/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Statements: scopes, what is assigned, where jumps lead, and what is never reached. Leaves in each
 * statement which jumps leave it and whether it ends its list, for the lowering.
 */
#include "lang/ast.h"

struct flow {
    uint8_t jumps;
    bool ends;
};

static struct flow check_list(struct lang_unit *unit, struct lang_stmt *first);

static struct flow check_scope(struct lang_unit *unit, struct lang_stmt *first)
{
    struct lang_symbol *saved;
    vyre_lang_open_scope(unit, &saved);
    struct flow flow = check_list(unit, first);
    vyre_lang_close_scope(unit, saved);
    return flow;
}

static void check_declare(struct lang_unit *unit, struct lang_stmt *stmt)
{
    struct lang_symbol *symbol = stmt->symbol;
    if (stmt->value) {
        vyre_lang_check_value(unit, stmt->value, symbol->type,
                              vyre_lang_text(unit, "`%s`", symbol->name->text));
        if (symbol->fixed && stmt->value->known && stmt->value->type == symbol->type) {
            symbol->kind = LANG_SYMBOL_CONSTANT;
            symbol->value = stmt->value->value;
        }
    }
    vyre_lang_declare(unit, symbol);
}

static void check_array(struct lang_unit *unit, struct lang_stmt *stmt)
{
    struct lang_symbol *symbol = stmt->symbol;
    if (!symbol) return;
    if (!unit->function->kernel || unit->level != 3) {
        vyre_lang_say(unit, LANG_D_PLACE, symbol->span,
                      "workgroup memory is declared in the outermost block of a kernel",
                      unit->function->kernel ? "move it there"
                                             : "pass it as a parameter: `workgroup f32 tile[]`");
    }
    vyre_lang_check_size(unit, symbol);
    vyre_lang_declare(unit, symbol);
    symbol->next = unit->function->arrays;
    unit->function->arrays = symbol;
}

/* The variable or element that is assigned; NULL after a complaint. */
static struct lang_symbol *check_target(struct lang_unit *unit, struct lang_stmt *stmt)
{
    struct lang_expr *target = stmt->target;
    bool reads = stmt->op != LANG_SET;
    if (target->kind == LANG_E_INDEX) {
        vyre_lang_check_index(unit, target);
        vyre_lang_check_access(unit, target, reads, true);
        return target->symbol;
    }
    struct lang_symbol *symbol = target->kind == LANG_E_NAME ? target->name->symbol : NULL;
    if (symbol && symbol->kind == LANG_SYMBOL_VARIABLE && !symbol->fixed) {
        symbol->assigns++;
        target->symbol = symbol;
        target->type = symbol->type;
        return symbol;
    }
    if (symbol && symbol->type == LANG_TYPE_WRONG && symbol->kind != LANG_SYMBOL_FUNCTION) {
        symbol->read = true;
        return NULL;
    }
    if (symbol && (symbol->kind == LANG_SYMBOL_CONSTANT || symbol->fixed)) {
        symbol->read = true;
        if (symbol->told) return NULL;
        symbol->told = true;
        vyre_lang_say(
            unit, LANG_D_CONSTANT_SET, target->span,
            vyre_lang_text(unit, "`%s` is a %s and cannot be assigned", symbol->name->text,
                           symbol->kind == LANG_SYMBOL_FUNCTION ? "function" : "constant"),
            symbol->kind == LANG_SYMBOL_FUNCTION ? "assign to a variable"
            : symbol->level == 1                 ? "assign to a variable of another name"
                                                 : "declare it without `const`");
        return NULL;
    }
    uint8_t type = vyre_lang_check_expr(unit, target, LANG_TYPE_WRONG);
    if (type == LANG_TYPE_WRONG) return NULL;
    if (target->kind == LANG_E_FIELD)
        vyre_lang_say(unit, LANG_D_CONSTANT_SET, target->span,
                      vyre_lang_text(unit, "`%s` is given and cannot be assigned",
                                     vyre_lang_quote(unit, target->span)),
                      vyre_lang_text(unit, "copy it to a variable: `u32 k = %s;`",
                                     vyre_lang_quote(unit, target->span)));
    else
        vyre_lang_say(unit, LANG_D_NOT_A_PLACE, target->span,
                      "this is a value, and cannot be assigned",
                      "assign to a variable or an element of a buffer");
    return NULL;
}

/* The operator of a compound assignment. */
static uint8_t operator_of(uint8_t op)
{
    switch (op) {
    case LANG_ADD_SET:
    case LANG_PLUS_PLUS:
        return LANG_PLUS;
    case LANG_SUB_SET:
    case LANG_MINUS_MINUS:
        return LANG_MINUS;
    case LANG_MUL_SET:
        return LANG_STAR;
    case LANG_DIV_SET:
        return LANG_SLASH;
    case LANG_MOD_SET:
        return LANG_PERCENT;
    case LANG_AND_SET:
        return LANG_AND;
    case LANG_OR_SET:
        return LANG_OR;
    case LANG_XOR_SET:
        return LANG_XOR;
    case LANG_SHL_SET:
        return LANG_SHL;
    default:
        return LANG_SHR;
    }
}

/* `x op= v` is judged as `x op v`; the expression stays for the lowering. */
static void check_compound(struct lang_unit *unit, struct lang_stmt *stmt,
                           const struct lang_symbol *symbol)
{
    struct lang_expr *old = vyre_lang_alloc(unit, 1, sizeof *old);
    struct lang_expr *sum = vyre_lang_alloc(unit, 1, sizeof *sum);
    struct lang_expr *value = stmt->value;
    if (!value && symbol->type == LANG_TYPE_BOOL) {
        vyre_lang_say(
            unit, LANG_D_OPERAND, stmt->span,
            vyre_lang_text(unit, "`%s` does not take bool", vyre_lang_token_text(stmt->op)),
            "assign `true` or `false`");
        return;
    }
    if (!value) {
        value = vyre_lang_alloc(unit, 1, sizeof *value);
        *value = (struct lang_expr){
            .kind = LANG_E_LITERAL, .open = true, .value = 1, .span = stmt->span, .depth = 1};
    }
    *old = (struct lang_expr){.kind = LANG_E_OLD,
                              .type = symbol->type,
                              .effects = LANG_EFFECT_LANES,
                              .span = stmt->target->span,
                              .depth = 1};
    *sum = (struct lang_expr){.kind = LANG_E_BINARY,
                              .op = operator_of(stmt->op),
                              .span = vyre_lang_join(stmt->target->span, value->span),
                              .mark = stmt->span,
                              .depth = value->depth + 1,
                              .arg = {old, value}};
    uint8_t type = vyre_lang_check_expr(unit, sum, symbol->type);
    if (type != symbol->type && type != LANG_TYPE_WRONG)
        vyre_lang_say(unit, LANG_D_ASSIGN_TYPE, stmt->span,
                      vyre_lang_text(unit, "`%s` is %s, its new value %s", symbol->name->text,
                                     vyre_lang_type_name(symbol->type), vyre_lang_type_name(type)),
                      "cast the value");
    stmt->value = sum;
}

static void check_assign(struct lang_unit *unit, struct lang_stmt *stmt)
{
    struct lang_symbol *symbol = check_target(unit, stmt);
    if (!symbol && stmt->target->kind == LANG_E_NAME && stmt->target->name->symbol &&
        stmt->target->name->symbol->kind == LANG_SYMBOL_BUFFER)
        return; /* `y = x` of whole buffers is one mistake */
    if (!symbol || symbol->type == LANG_TYPE_WRONG) {
        if (stmt->value) vyre_lang_check_expr(unit, stmt->value, LANG_TYPE_WRONG);
        return;
    }
    if (stmt->op != LANG_SET) {
        check_compound(unit, stmt, symbol);
        return;
    }
    const char *what = symbol->kind == LANG_SYMBOL_BUFFER
                           ? vyre_lang_text(unit, "an element of `%s`", symbol->name->text)
                           : vyre_lang_text(unit, "`%s`", symbol->name->text);
    vyre_lang_check_value(unit, stmt->value, symbol->type, what);
}

static void check_call(struct lang_unit *unit, struct lang_stmt *stmt)
{
    if (stmt->value->kind == LANG_E_CALL)
        vyre_lang_check_call(unit, stmt->value, LANG_TYPE_WRONG);
    else
        vyre_lang_check_expr(unit, stmt->value, LANG_TYPE_WRONG);
    if (stmt->value->effects & LANG_EFFECT_ACT || stmt->value->type == LANG_TYPE_WRONG) return;
    vyre_lang_say(unit, LANG_D_NO_EFFECT, stmt->value->span,
                  "this value is computed and thrown away",
                  stmt->value->kind == LANG_E_BINARY && stmt->value->op == LANG_EQ
                      ? "use `=` to assign"
                      : "assign it to something, or remove it");
}

static struct flow check_if(struct lang_unit *unit, struct lang_stmt *stmt)
{
    if (stmt->value) vyre_lang_check_condition(unit, stmt->value, "the condition of `if`");
    struct flow yes = check_scope(unit, stmt->body);
    struct flow no = {0, false};
    const struct lang_stmt *body = stmt->body;
    if (body && body->kind == LANG_S_EMPTY && !stmt->otherwise)
        vyre_lang_say(unit, LANG_D_NO_EFFECT, body->span,
                      "the body of this `if` is an empty statement",
                      "remove the `;`, or write `{}`");
    if (stmt->otherwise) no = check_scope(unit, stmt->otherwise);
    return (struct flow){(uint8_t)(yes.jumps | no.jumps), yes.ends && no.ends};
}

static struct flow check_loop(struct lang_unit *unit, struct lang_stmt *stmt)
{
    struct lang_symbol *saved;
    bool before = stmt->kind == LANG_S_FOR;
    vyre_lang_open_scope(unit, &saved);
    for (struct lang_stmt *init = stmt->init; init; init = init->next) {
        if (init->kind == LANG_S_DECLARE)
            check_declare(unit, init);
        else if (init->kind == LANG_S_ASSIGN)
            check_assign(unit, init);
        else if (init->kind == LANG_S_CALL)
            check_call(unit, init);
    }
    if (stmt->value && before)
        vyre_lang_check_condition(unit, stmt->value, "the condition of the loop");
    unit->loops++;
    struct flow body = check_scope(unit, stmt->body);
    unit->loops--;
    for (struct lang_stmt *step = stmt->step; step; step = step->next)
        if (step->kind == LANG_S_ASSIGN)
            check_assign(unit, step);
        else
            check_call(unit, step);
    if (stmt->value && !before)
        vyre_lang_check_condition(unit, stmt->value, "the condition of the loop");
    vyre_lang_close_scope(unit, saved);
    bool forever = before && (!stmt->value || (stmt->value->known && stmt->value->value));
    bool ends = forever && !(body.jumps & LANG_JUMP_BREAK);
    if (!before && body.ends && !(body.jumps & (LANG_JUMP_BREAK | LANG_JUMP_CONTINUE))) ends = true;
    return (struct flow){(uint8_t)(body.jumps & LANG_JUMP_RETURN), ends};
}

static void check_return(struct lang_unit *unit, struct lang_stmt *stmt)
{
    const struct lang_function *function = unit->function;
    if (function->type == LANG_TYPE_VOID) {
        if (!stmt->value) return;
        uint8_t found = vyre_lang_check_expr(unit, stmt->value, LANG_TYPE_WRONG);
        if (found == LANG_TYPE_WRONG) return;
        vyre_lang_say(unit, LANG_D_RETURN, stmt->value->span,
                      vyre_lang_text(unit, "%s `%s` has no result, and this returns one",
                                     function->kernel ? "the kernel" : "the function",
                                     function->symbol.name->text),
                      function->kernel ? "store it to an `out` buffer, and write `return;`"
                                       : vyre_lang_text(unit, "declare it `%s %s(...)`",
                                                        vyre_lang_type_name(found),
                                                        function->symbol.name->text));
        return;
    }
    if (!stmt->value) {
        vyre_lang_say(unit, LANG_D_RETURN, stmt->span,
                      vyre_lang_text(unit, "`%s` returns a value of type %s",
                                     function->symbol.name->text,
                                     vyre_lang_type_name(function->type)),
                      "write the value behind `return`");
        return;
    }
    uint8_t type = vyre_lang_check_expr(unit, stmt->value, function->type);
    if (type == function->type || type == LANG_TYPE_WRONG || function->type == LANG_TYPE_WRONG)
        return;
    vyre_lang_say(unit, LANG_D_RETURN, stmt->value->span,
                  vyre_lang_text(unit, "`%s` returns %s, and this value is %s",
                                 function->symbol.name->text, vyre_lang_type_name(function->type),
                                 vyre_lang_type_name(type)),
                  vyre_lang_value_fix(unit, stmt->value, function->type));
}

static struct flow check_jump(struct lang_unit *unit, struct lang_stmt *stmt)
{
    if (stmt->kind == LANG_S_RETURN) {
        check_return(unit, stmt);
        return (struct flow){LANG_JUMP_RETURN, true};
    }
    bool leave = stmt->kind == LANG_S_BREAK;
    if (unit->loops == 0) {
        vyre_lang_say(unit, LANG_D_OUTSIDE_LOOP, stmt->span,
                      vyre_lang_text(unit, "`%s` outside a loop", leave ? "break" : "continue"),
                      unit->function->kernel ? "use `return;` to end the lane here"
                                             : "use `return` to end the function here");
        return (struct flow){0, false};
    }
    return (struct flow){leave ? LANG_JUMP_BREAK : LANG_JUMP_CONTINUE, true};
}

static struct flow check_statement(struct lang_unit *unit, struct lang_stmt *stmt)
{
    switch (stmt->kind) {
    case LANG_S_DECLARE:
        check_declare(unit, stmt);
        break;
    case LANG_S_ARRAY:
        check_array(unit, stmt);
        break;
    case LANG_S_ASSIGN:
        check_assign(unit, stmt);
        break;
    case LANG_S_CALL:
        check_call(unit, stmt);
        break;
    case LANG_S_BLOCK:
        return check_scope(unit, stmt->body);
    case LANG_S_IF:
        return check_if(unit, stmt);
    case LANG_S_FOR:
    case LANG_S_DO:
        return check_loop(unit, stmt);
    case LANG_S_BREAK:
    case LANG_S_CONTINUE:
    case LANG_S_RETURN:
        return check_jump(unit, stmt);
    default:
        break;
    }
    return (struct flow){0, false};
}

/* What to do where nothing behind a statement is reached. */
static const char *ends_by(const struct lang_stmt *stmt)
{
    switch (stmt->kind) {
    case LANG_S_RETURN:
        return "remove it, or the `return` before it";
    case LANG_S_BREAK:
        return "remove it, or the `break` before it";
    case LANG_S_CONTINUE:
        return "remove it, or the `continue` before it";
    case LANG_S_FOR:
    case LANG_S_DO:
        return "remove it, or leave the loop before it by a `break`";
    default:
        return "remove it, or let a way through the statement before it end without a jump";
    }
}

static struct flow check_list(struct lang_unit *unit, struct lang_stmt *first)
{
    struct flow all = {0, false};
    for (struct lang_stmt *stmt = first; stmt; stmt = stmt->next) {
        bool reached = !all.ends;
        struct flow flow = check_statement(unit, stmt);
        stmt->jumps = flow.jumps;
        stmt->ends = flow.ends;
        if (!reached) continue;
        all.jumps |= flow.jumps;
        all.ends = flow.ends;
        if (flow.ends && stmt->next && stmt->next->kind != LANG_S_EMPTY)
            vyre_lang_say(unit, LANG_D_UNREACHABLE, stmt->next->span, "this is never reached",
                          ends_by(stmt));
    }
    return all;
}

void vyre_lang_check_body(struct lang_unit *unit, struct lang_function *function)
{
    uint32_t errors = unit->errors;
    struct flow flow = check_scope(unit, function->body);
    if (function->type > LANG_TYPE_VOID && !flow.ends && !function->patched)
        vyre_lang_say(unit, LANG_D_NO_RETURN, function->symbol.span,
                      vyre_lang_text(unit, "`%s` may end without returning a value of type %s",
                                     function->symbol.name->text,
                                     vyre_lang_type_name(function->type)),
                      "end it with a `return`");
    if (!function->patched && unit->errors == errors) vyre_lang_check_barriers(unit, function);
}
