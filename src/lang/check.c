/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The checker's top: scopes, what the file declares, recursion, attributes. Each function is
 * checked once, whether a kernel calls it or not; one that could not be parsed is left alone. What
 * is wrong gets LANG_TYPE_WRONG, and nothing that comes of it is reported again.
 */
#include "lang/ast.h"

const char *vyre_lang_type_name(uint32_t type)
{
    static const char *const names[] = {"?", "void", "u32", "i32", "f32", "bool"};
    return type <= LANG_TYPE_BOOL ? names[type] : "?";
}

const char *vyre_lang_element_name(uint32_t element)
{
    const char *word = vyre_ir_type_word(element);
    return word ? word : "?";
}

const char *vyre_lang_quote(struct lang_unit *unit, struct lang_span span)
{
    const char *text = unit->request->text + span.at;
    for (uint32_t i = 0; i < span.length; i++)
        if (text[i] == '\n' || text[i] == '\r') return NULL;
    if (span.length == 0 || span.length > 40) return NULL;
    return vyre_lang_text(unit, "%.*s", (int)span.length, text);
}

void vyre_lang_declare(struct lang_unit *unit, struct lang_symbol *symbol)
{
    struct lang_symbol *before = symbol->name->symbol;
    if (before && before->level == unit->level && !symbol->name->told) {
        bool variable = symbol->kind == LANG_SYMBOL_VARIABLE && !symbol->parameter;
        vyre_lang_say(unit, LANG_D_DUPLICATE, symbol->span,
                      vyre_lang_text(unit, "`%s` is declared twice; the first is in line %u",
                                     symbol->name->text,
                                     (unsigned)vyre_lang_line(unit, before->span.at)),
                      variable && before->kind == symbol->kind && !before->fixed
                          ? "choose another name, or assign to the first"
                          : "choose another name for one of them");
        /* Nobody knows which of the two is meant. */
        before->read = true;
        if (symbol->kind == LANG_SYMBOL_FUNCTION)
            symbol->function->broken = true;
        else if (symbol->kind != before->kind || symbol->type != before->type)
            symbol->type = LANG_TYPE_WRONG;
    }
    symbol->level = unit->level;
    symbol->outer = before;
    symbol->scope = unit->scope;
    symbol->name->symbol = symbol;
    unit->scope = symbol;
}

void vyre_lang_open_scope(struct lang_unit *unit, struct lang_symbol **saved)
{
    *saved = unit->scope;
    unit->scope = NULL;
    unit->level++;
}

static void warn_unused(struct lang_unit *unit, const struct lang_symbol *symbol)
{
    if (symbol->read || symbol->parameter || symbol->kind == LANG_SYMBOL_FUNCTION ||
        symbol->name->text[0] == '_' || unit->level < 2)
        return;
    vyre_lang_say(
        unit, LANG_D_UNUSED, symbol->span,
        vyre_lang_text(unit,
                       symbol->assigns ? "`%s` is assigned, but never read" : "`%s` is never read",
                       symbol->name->text),
        "remove it, or begin its name with `_`");
}

void vyre_lang_close_scope(struct lang_unit *unit, struct lang_symbol *saved)
{
    for (struct lang_symbol *symbol = unit->scope; symbol; symbol = symbol->scope) {
        symbol->name->symbol = symbol->outer;
        warn_unused(unit, symbol);
    }
    unit->scope = saved;
    unit->level--;
}

/* What must be known before the program runs is a parameter, or made of one: it stands behind. */
static bool is_parameter(const struct lang_function *function, const struct lang_expr *expr)
{
    const struct lang_symbol *symbol = function->first;
    while (symbol && (expr->kind != LANG_E_NAME || symbol->name != expr->name))
        symbol = symbol->next;
    return symbol && symbol->kind == LANG_SYMBOL_VARIABLE;
}

/* A size of something, which is a number of elements or lanes; false after a complaint. */
bool vyre_lang_check_known(struct lang_unit *unit, struct lang_expr *size, const char *of)
{
    bool later = is_parameter(unit->function, size);
    uint8_t type = later ? LANG_TYPE_U32 : vyre_lang_check_expr(unit, size, LANG_TYPE_U32);
    if (type == LANG_TYPE_WRONG) return false;
    const char *quote = vyre_lang_quote(unit, size->span);
    if (!later && type != LANG_TYPE_U32 && type != LANG_TYPE_I32)
        vyre_lang_say(unit, LANG_D_SIZE, size->span,
                      vyre_lang_text(unit, "%s is u32, not %s", of, vyre_lang_type_name(type)),
                      quote && size->kind != LANG_E_LITERAL
                          ? vyre_lang_text(unit, "cast it: `u32(%s)`", quote)
                          : "write a whole number");
    else if (later || !size->known)
        vyre_lang_say(unit, LANG_D_NOT_CONSTANT, size->span,
                      later ? vyre_lang_text(unit,
                                             "%s must be known before the program runs; `%s` is a "
                                             "parameter",
                                             of, size->name->text)
                            : vyre_lang_text(unit, "%s must be known before the program runs", of),
                      "use a number or a `const u32`");
    else
        return true;
    return false;
}

/* How a size is shown that is out of its range: as it was meant. */
static const char *amount(struct lang_unit *unit, const struct lang_expr *size)
{
    bool negative = size->value > 0x7FFFFFFFu &&
                    (size->type == LANG_TYPE_I32 || size->negative || size->kind == LANG_E_UNARY);
    return negative ? vyre_lang_text(unit, "-%u", (unsigned)(0u - size->value))
                    : vyre_lang_text(unit, "%u", (unsigned)size->value);
}

void vyre_lang_check_size(struct lang_unit *unit, struct lang_symbol *symbol)
{
    struct lang_expr *size = symbol->size;
    if (!size || !symbol->element) return;
    if (!vyre_lang_check_known(unit, size, "the number of elements")) return;
    uint32_t each = (uint32_t)vyre_ir_type_size(&(struct ir_type){.tag = symbol->element});
    bool workgroup = symbol->access == LANG_ACCESS_WORKGROUP;
    uint32_t most = (workgroup ? 4u << 20 : 0xFFFFFFFFu) / (each ? each : 1u);
    bool negative = size->type == LANG_TYPE_I32 && (int32_t)size->value < 0;
    if (size->value == 0 || size->value > most || negative)
        vyre_lang_say(unit, LANG_D_SIZE, size->span,
                      vyre_lang_text(unit, "`%s` has %s elements; %s of %s has 1 to %u",
                                     symbol->name->text, amount(unit, size),
                                     workgroup ? "workgroup memory" : "a buffer",
                                     vyre_lang_element_name(symbol->element), (unsigned)most),
                      size->value == 0 && !workgroup ? "write `[]` where the host decides"
                                                     : "choose a number in this range");
    else
        symbol->count = size->value;
}

/* Of an array in a kernel, or of a parameter. */
static void check_parameters(struct lang_unit *unit, struct lang_function *function)
{
    for (struct lang_symbol *symbol = function->first; symbol; symbol = symbol->next) {
        if (symbol->kind == LANG_SYMBOL_BUFFER) vyre_lang_check_size(unit, symbol);
        if (function->kernel && symbol->access == LANG_ACCESS_WORKGROUP)
            vyre_lang_say(unit, LANG_D_PLACE, symbol->span,
                          "workgroup memory is no parameter of a kernel",
                          "declare it in the body: `workgroup f32 tile[64];`");
        vyre_lang_declare(unit, symbol);
    }
}

static void check_lanes(struct lang_unit *unit, struct lang_function *function)
{
    uint64_t product = 1;
    function->workgroup[0] = function->lane_axes ? 1 : LANG_DEFAULT_LANES;
    function->workgroup[1] = function->workgroup[2] = 1;
    for (uint32_t i = 0; i < function->lane_axes; i++) {
        struct lang_expr *lanes = function->lanes[i];
        if (!vyre_lang_check_known(unit, lanes, "the size of a workgroup")) return;
        if (lanes->value == 0 || lanes->value > LANG_MOST_LANES) {
            vyre_lang_say(unit, LANG_D_SIZE, lanes->span,
                          vyre_lang_text(unit, "%s lanes; a workgroup has 1 to %u",
                                         amount(unit, lanes), (unsigned)LANG_MOST_LANES),
                          "use a number in this range");
            return;
        }
        function->workgroup[i] = lanes->value;
        product *= lanes->value;
    }
    const uint32_t *axes = function->workgroup;
    if (product > LANG_MOST_LANES)
        vyre_lang_say(unit, LANG_D_SIZE, function->lanes_span,
                      function->lane_axes == 2
                          ? vyre_lang_text(unit, "%u x %u = %u lanes; a workgroup has at most %u",
                                           (unsigned)axes[0], (unsigned)axes[1], (unsigned)product,
                                           (unsigned)LANG_MOST_LANES)
                          : vyre_lang_text(unit,
                                           "%u x %u x %u = %u lanes; a workgroup has at most %u",
                                           (unsigned)axes[0], (unsigned)axes[1], (unsigned)axes[2],
                                           (unsigned)product, (unsigned)LANG_MOST_LANES),
                      "use a smaller workgroup, and more of them");
}

static void check_guard(struct lang_unit *unit, struct lang_function *function)
{
    struct lang_symbol *symbol = function->guard ? function->guard->symbol : NULL;
    if (!function->guard) return;
    if (symbol && symbol->kind == LANG_SYMBOL_BUFFER) {
        function->guarded = symbol;
        return;
    }
    struct lang_guess guess = {function->guard->text, NULL, 0};
    for (symbol = function->first; symbol; symbol = symbol->next)
        if (symbol->kind == LANG_SYMBOL_BUFFER) vyre_lang_offer(&guess, symbol->name->text);
    if (function->guard->unknown_in == function || function->lost) return;
    vyre_lang_say(unit, LANG_D_ATTRIBUTE, function->guard_span,
                  vyre_lang_text(unit, "`%s` is no buffer of this kernel", function->guard->text),
                  guess.best ? vyre_lang_text(unit, "did you mean `%s`?", guess.best)
                             : "name one of its parameters that has brackets");
}

/* Warnings about a function that could not be read in whole may come of that. */
static void drop_warnings(struct lang_unit *unit, const struct lang_function *function)
{
    struct lang_said **place = &unit->said;
    while (*place) {
        uint32_t at = (*place)->span.at;
        bool drop = vyre_lang_is_warning((*place)->number) && at >= function->symbol.span.at &&
                    at <= function->end.at;
        if (drop)
            *place = (*place)->next;
        else
            place = &(*place)->next;
        unit->warnings -= drop;
    }
}

static void check_function(struct lang_unit *unit, struct lang_function *function)
{
    struct lang_symbol *saved;
    unit->function = function;
    unit->loops = 0;
    vyre_lang_open_scope(unit, &saved);
    if (function->kernel) check_lanes(unit, function);
    check_parameters(unit, function);
    check_guard(unit, function);
    vyre_lang_check_body(unit, function);
    vyre_lang_close_scope(unit, saved);
    unit->function = NULL;
    if (function->patched) drop_warnings(unit, function);
}

/* Depth first; the way back to a function that is on the way is a recursion. */
static void visit(struct lang_unit *unit, struct lang_function *function, uint32_t depth)
{
    function->visit = 1;
    for (struct lang_call_edge *call = function->calls; call; call = call->next) {
        if (call->to->visit == 1) {
            vyre_lang_say(
                unit, LANG_D_RECURSION, call->span,
                call->to == function
                    ? vyre_lang_text(unit, "`%s` calls itself", function->symbol.name->text)
                    : vyre_lang_text(unit, "`%s` calls `%s`, which comes back to `%s`",
                                     function->symbol.name->text, call->to->symbol.name->text,
                                     function->symbol.name->text),
                "use a loop; functions are written out where they are called");
            continue;
        }
        if (depth >= LANG_MOST_CALLS_DEEP)
            vyre_lang_give_up(unit, call->span,
                              vyre_lang_text(unit, "functions call each other more than %u deep",
                                             (unsigned)LANG_MOST_CALLS_DEEP),
                              "write some of them out");
        if (call->to->visit == 0) visit(unit, call->to, depth + 1);
        if (call->to->height + 1 > function->height) function->height = call->to->height + 1;
    }
    if (function->height > LANG_MOST_CALLS_DEEP)
        vyre_lang_give_up(unit, function->symbol.span,
                          vyre_lang_text(unit, "functions call each other more than %u deep",
                                         (unsigned)LANG_MOST_CALLS_DEEP),
                          "write some of them out");
    function->visit = 2;
}

static void check_constant(struct lang_unit *unit, struct lang_constant *constant)
{
    struct lang_symbol *symbol = &constant->symbol;
    if (constant->expr) {
        vyre_lang_check_value(unit, constant->expr, symbol->type,
                              vyre_lang_text(unit, "the constant `%s`", symbol->name->text));
        if (constant->expr->known)
            symbol->value = constant->expr->value;
        else if (constant->expr->type != LANG_TYPE_WRONG)
            vyre_lang_say(unit, LANG_D_NOT_CONSTANT, constant->expr->span,
                          "the value of a constant must be known before the program runs",
                          "use numbers, other constants and operators");
        if (!constant->expr->known) symbol->type = LANG_TYPE_WRONG;
    } else {
        symbol->type = LANG_TYPE_WRONG;
    }
    vyre_lang_declare(unit, symbol);
}

void vyre_lang_check(struct lang_unit *unit)
{
    bool kernels = false;
    unit->level = 1;
    for (struct lang_constant *constant = unit->constants; constant; constant = constant->next)
        check_constant(unit, constant);
    for (struct lang_function *function = unit->functions; function; function = function->next) {
        kernels = kernels || function->kernel;
        vyre_lang_declare(unit, &function->symbol);
    }
    for (struct lang_function *function = unit->functions; function; function = function->next)
        if (!function->unread) check_function(unit, function);
    for (struct lang_function *function = unit->functions; function; function = function->next)
        if (function->visit == 0) visit(unit, function, 0);
    if (!kernels && unit->errors == 0)
        vyre_lang_say(unit, LANG_D_NO_KERNEL, (struct lang_span){0, 0},
                      "there is no kernel in this source",
                      "begin with `kernel name(inout u32 x[]) { ... }`");
}
