/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Calls: of the functions that the language gives, by their signatures in functions.def, and of the
 * source's own.
 */
#include <string.h>

#include "lang/ast.h"

#define LANG_FUNCTION(name, signature, how, op, text) {name, signature, LANG_LOWER_##how, op},
const struct lang_builtin vyre_lang_builtins[] = {
#include "lang/functions.def"
};
const uint32_t vyre_lang_builtin_count = sizeof vyre_lang_builtins / sizeof vyre_lang_builtins[0];

static const struct lang_builtin *find_builtin(const struct lang_name *name)
{
    for (uint32_t i = 0; i < vyre_lang_builtin_count; i++)
        if (strcmp(vyre_lang_builtins[i].name, name->text) == 0) return &vyre_lang_builtins[i];
    return NULL;
}

bool vyre_lang_is_given(const struct lang_name *name)
{
    return find_builtin(name) != NULL;
}

static bool takes(char letter, uint8_t type)
{
    switch (letter) {
    case 'u':
        return type == LANG_TYPE_U32;
    case 'i':
        return type == LANG_TYPE_I32;
    case 'f':
        return type == LANG_TYPE_F32;
    case 'b':
        return type == LANG_TYPE_BOOL;
    case 'T':
        return type == LANG_TYPE_U32 || type == LANG_TYPE_I32 || type == LANG_TYPE_F32;
    case 'S':
        return type == LANG_TYPE_I32 || type == LANG_TYPE_F32;
    case 'M':
        return type == LANG_TYPE_U32 || type == LANG_TYPE_I32;
    default:
        return type >= LANG_TYPE_U32;
    }
}

static const char *wanted(char letter)
{
    switch (letter) {
    case 'u':
        return "u32";
    case 'i':
        return "i32";
    case 'f':
        return "f32";
    case 'b':
        return "bool";
    case 'T':
        return "u32, i32 or f32";
    case 'S':
        return "i32 or f32";
    case 'M':
        return "u32 or i32";
    default:
        return "a value";
    }
}

static uint8_t type_of(char letter)
{
    switch (letter) {
    case 'u':
        return LANG_TYPE_U32;
    case 'i':
        return LANG_TYPE_I32;
    case 'f':
        return LANG_TYPE_F32;
    case 'b':
        return LANG_TYPE_BOOL;
    default:
        return LANG_TYPE_WRONG;
    }
}

/* How a call of it looks. */
static const char *pattern(struct lang_unit *unit, const struct lang_expr *call)
{
    const struct lang_symbol *own = call->builtin ? NULL : call->symbol->function->first;
    const char *text = vyre_lang_text(unit, "call it as `%s(", call->name->text);
    const char *letters = call->builtin ? call->builtin->signature + 1 : "";
    char next = 'a';
    if (call->builtin && call->builtin->lowering == LANG_LOWER_ASSERT)
        return "call it as `assert(condition)` or `assert(condition, \"text\")`";
    for (uint32_t i = 0; call->builtin ? letters[i] != '\0' : own != NULL; i++) {
        char one[2] = {next, '\0'};
        const char *name = own                 ? own->name->text
                           : letters[i] == 'B' ? "x"
                           : letters[i] == 'E' ? "x[k]"
                           : letters[i] == 'b' ? "condition"
                                               : one;
        if (name == one) next++;
        text = vyre_lang_text(unit, "%s%s%s", text, i ? ", " : "", name);
        own = own ? own->next : NULL;
    }
    return vyre_lang_text(unit, "%s)`", text);
}

static const char *const access_words[] = {"", "in", "out", "inout", "workgroup"};

static bool wrong_count(struct lang_unit *unit, const struct lang_expr *call, uint32_t least,
                        uint32_t most)
{
    if (call->count >= least && call->count <= most) return false;
    const char *range = least == most
                            ? vyre_lang_text(unit, "%u", (unsigned)least)
                            : vyre_lang_text(unit, "%u to %u", (unsigned)least, (unsigned)most);
    vyre_lang_say(unit, LANG_D_COUNT, call->span,
                  vyre_lang_text(unit, "`%s` takes %s argument%s, not %u", call->name->text, range,
                                 least == most && least == 1 ? "" : "s", (unsigned)call->count),
                  pattern(unit, call));
    return true;
}

/* What is wrong with arguments in themselves, where nobody knows what they should be. */
static void look_at_arguments(struct lang_unit *unit, struct lang_expr *call)
{
    for (struct lang_expr *a = call->args; a; a = a->next)
        if (a->kind == LANG_E_NAME && a->name->symbol)
            a->name->symbol->read = true;
        else if (a->kind != LANG_E_TEXT)
            vyre_lang_check_expr(unit, a, LANG_TYPE_WRONG);
}

/* The buffer that an argument names, or NULL after a complaint. */
static struct lang_symbol *buffer_argument(struct lang_unit *unit, struct lang_expr *argument,
                                           const char *of)
{
    struct lang_symbol *symbol =
        argument->kind == LANG_E_NAME && argument->name->symbol ? argument->name->symbol : NULL;
    if (symbol && symbol->kind == LANG_SYMBOL_BUFFER) {
        symbol->read = true;
        argument->symbol = symbol;
        return symbol;
    }
    if (symbol && symbol->type == LANG_TYPE_WRONG && symbol->kind != LANG_SYMBOL_FUNCTION) {
        symbol->read = true;
        return NULL;
    }
    if (argument->kind == LANG_E_NAME && !symbol) {
        vyre_lang_check_expr(unit, argument, LANG_TYPE_WRONG);
        if (argument->type == LANG_TYPE_WRONG) return NULL;
    }
    if (argument->kind != LANG_E_WRONG)
        vyre_lang_say(unit, LANG_D_ARGUMENT, argument->span,
                      vyre_lang_text(unit, "%s takes a buffer by its name, not a value", of),
                      argument->kind == LANG_E_INDEX && argument->arg[0]->kind == LANG_E_NAME
                          ? vyre_lang_text(unit, "write `%s`", argument->arg[0]->name->text)
                          : "name a buffer, without brackets");
    if (symbol) symbol->read = true;
    return NULL;
}

static void check_atomic_target(struct lang_unit *unit, struct lang_expr *call,
                                struct lang_expr *target)
{
    if (target->kind != LANG_E_INDEX) {
        const char *quote = vyre_lang_quote(unit, target->span);
        if (target->kind != LANG_E_WRONG)
            vyre_lang_say(
                unit, LANG_D_ATOMIC, target->span,
                vyre_lang_text(unit, "`%s` works on an element of a buffer", call->name->text),
                target->kind == LANG_E_NAME && target->name->symbol &&
                        target->name->symbol->kind == LANG_SYMBOL_BUFFER
                    ? vyre_lang_text(unit, "write `%s[0]`", quote ? quote : "x")
                    : "name an element of an `inout u32` buffer, such as `x[0]`");
        return;
    }
    vyre_lang_check_index(unit, target);
    struct lang_symbol *symbol = target->symbol;
    if (!symbol) return;
    symbol->read = true;
    symbol->assigns++;
    if (symbol->told || symbol->type == LANG_TYPE_WRONG) return;
    symbol->told = true; /* where nothing is wrong with it, nobody looks */
    if (symbol->access == LANG_ACCESS_WORKGROUP)
        vyre_lang_say(unit, LANG_D_ATOMIC, target->span,
                      vyre_lang_text(unit, "`%s` is workgroup memory: VIR0 has no atomics on it",
                                     symbol->name->text),
                      "use an `inout u32` buffer, or subgroup functions and barriers");
    else if (symbol->access != LANG_ACCESS_INOUT || symbol->element != IR_TYPE_U32)
        vyre_lang_say(unit, LANG_D_ATOMIC, target->span,
                      vyre_lang_text(unit, "`%s` is declared `%s %s`; atomics need `inout u32`",
                                     symbol->name->text, access_words[symbol->access],
                                     vyre_lang_element_name(symbol->element)),
                      vyre_lang_text(unit, "declare it `inout u32 %s[]`", symbol->name->text));
    else
        symbol->told = false;
}

/* The type that the places with a capital letter share; looked for in arguments that have one. */
static uint8_t shared_type(struct lang_unit *unit, struct lang_expr *call, const char *parameters,
                           uint8_t want)
{
    uint8_t shared = LANG_TYPE_WRONG;
    uint32_t place = 0;
    for (struct lang_expr *a = call->args; a; a = a->next, place++) {
        char letter = parameters[place];
        if (letter != 'T' && letter != 'S' && letter != 'A') continue;
        if (vyre_lang_is_open(a)) continue;
        uint8_t type = vyre_lang_check_expr(unit, a, want);
        if (shared == LANG_TYPE_WRONG) shared = type;
    }
    return shared;
}

static void check_argument(struct lang_unit *unit, struct lang_expr *call, struct lang_expr *a,
                           char letter, uint8_t shared)
{
    bool generic = letter == 'T' || letter == 'S' || letter == 'A';
    if (letter == 'E') {
        check_atomic_target(unit, call, a);
        call->effects |= a->effects;
        return;
    }
    if (letter == 'B') {
        buffer_argument(unit, a, "`len`");
        return;
    }
    if (letter == 'b') {
        vyre_lang_check_condition(unit, a, "the condition");
    } else if (!generic || vyre_lang_is_open(a)) {
        uint8_t hint = generic ? shared : letter == 'M' ? LANG_TYPE_U32 : type_of(letter);
        if (letter == 'S' && shared == LANG_TYPE_WRONG) hint = LANG_TYPE_I32;
        vyre_lang_check_expr(unit, a, hint);
    }
    call->effects |= a->effects;
    if (a->type == LANG_TYPE_WRONG) {
        call->type = LANG_TYPE_WRONG;
        return;
    }
    bool fits = letter == 'b' || takes(letter, a->type);
    if (fits && (!generic || shared == LANG_TYPE_WRONG || a->type == shared)) return;
    const char *type = fits ? vyre_lang_type_name(shared) : wanted(letter);
    uint8_t to = fits ? shared : type_of(letter);
    if (to == LANG_TYPE_WRONG) to = letter == 'S' ? LANG_TYPE_I32 : LANG_TYPE_U32;
    vyre_lang_say(unit, LANG_D_ARGUMENT, a->span,
                  vyre_lang_text(unit, "`%s` takes %s here, not %s", call->name->text, type,
                                 vyre_lang_type_name(a->type)),
                  vyre_lang_value_fix(unit, a, to));
    call->type = LANG_TYPE_WRONG;
}

static void wrong_print(struct lang_unit *unit, struct lang_span span, const char *message,
                        const char *fix)
{
    vyre_lang_say(unit, LANG_D_PRINT, span, message, fix);
}

/* A conversion of the text and its value; true where they go together. */
static bool print_value(struct lang_unit *unit, char conversion, struct lang_span at,
                        const struct lang_expr *value)
{
    uint8_t type = value->type;
    const char *fits = conversion == 'u'   ? "u32"
                       : conversion == 'd' ? "i32"
                       : conversion == 'f' ? "f32"
                                           : "u32 or i32";
    bool right = conversion == 'u'   ? type == LANG_TYPE_U32 || type == LANG_TYPE_BOOL
                 : conversion == 'd' ? type == LANG_TYPE_I32
                 : conversion == 'f' ? type == LANG_TYPE_F32
                                     : type == LANG_TYPE_U32 || type == LANG_TYPE_I32;
    if (right || type == LANG_TYPE_WRONG) return true;
    wrong_print(unit, at,
                vyre_lang_text(unit, "%%%c shows %s, but its value is %s", conversion, fits,
                               vyre_lang_type_name(type)),
                vyre_lang_text(unit, "use %%%c",
                               type == LANG_TYPE_F32   ? 'f'
                               : type == LANG_TYPE_I32 ? 'd'
                                                       : 'u'));
    return false;
}

static uint8_t check_print(struct lang_unit *unit, struct lang_expr *call)
{
    struct lang_expr *format = call->args, *value = format ? format->next : NULL;
    uint32_t conversions = 0, values = call->count ? call->count - 1 : 0;
    call->effects = LANG_EFFECT_ACT | LANG_EFFECT_LANES;
    call->type = LANG_TYPE_VOID;
    for (struct lang_expr *a = value; a; a = a->next)
        vyre_lang_check_expr(unit, a, LANG_TYPE_WRONG);
    if (!format || format->kind != LANG_E_TEXT) {
        wrong_print(unit, format ? format->span : call->span, "print begins with a text",
                    "write print(\"x is %u\", x)");
        return call->type;
    }
    const char *text = unit->request->text;
    for (uint32_t i = format->span.at + 1; i + 1 < format->span.at + format->span.length; i++) {
        if (text[i] == '\\') i++;
        if (text[i] != '%') continue;
        if (i + 2 >= format->span.at + format->span.length) {
            wrong_print(unit, (struct lang_span){i, 1}, "a single % ends the text", "write %%");
            return call->type;
        }
        char conversion = text[++i];
        if (conversion == '%') continue;
        struct lang_span at = {i - 1, 2};
        if (!strchr("udxf", conversion)) {
            wrong_print(unit, at,
                        conversion > ' ' && conversion < 0x7F
                            ? vyre_lang_text(unit, "there is no conversion %%%c", conversion)
                            : "there is no such conversion",
                        conversion == 'i' ? "use %d" : "use %u, %d, %x, %f or %%");
            return call->type;
        }
        conversions++;
        if (value && !print_value(unit, conversion, at, value)) return call->type;
        value = value ? value->next : NULL;
    }
    if (conversions != values || values > 2)
        wrong_print(unit, call->span,
                    values > 2 ? vyre_lang_text(unit, "print shows at most two values, not %u",
                                                (unsigned)values)
                               : vyre_lang_text(unit, "the text shows %u value%s, and there %s %u",
                                                (unsigned)conversions, conversions == 1 ? "" : "s",
                                                values == 1 ? "is" : "are", (unsigned)values),
                    values > 2 ? "use two prints" : "give each %u, %d, %x and %f one value");
    return call->type;
}

static uint8_t check_assert(struct lang_unit *unit, struct lang_expr *call)
{
    call->effects = LANG_EFFECT_ACT | LANG_EFFECT_LANES;
    call->type = LANG_TYPE_VOID;
    if (wrong_count(unit, call, 1, 2)) return call->type;
    vyre_lang_check_condition(unit, call->args, "the condition of assert");
    if (call->count == 2 && call->args->next->kind != LANG_E_TEXT)
        vyre_lang_say(unit, LANG_D_ARGUMENT, call->args->next->span,
                      "the second argument of assert is a text", "write it in quotes");
    return call->type;
}

static uint8_t check_builtin(struct lang_unit *unit, struct lang_expr *call, uint8_t want)
{
    const struct lang_builtin *builtin = call->builtin;
    const char *parameters = builtin->signature + 1;
    uint32_t count = (uint32_t)strlen(parameters), place = 0;
    if (builtin->lowering == LANG_LOWER_PRINT) return check_print(unit, call);
    if (builtin->lowering == LANG_LOWER_ASSERT) return check_assert(unit, call);
    call->type = LANG_TYPE_WRONG;
    if (wrong_count(unit, call, count, count)) {
        look_at_arguments(unit, call);
        return call->type;
    }
    call->type = LANG_TYPE_VOID; /* until something is wrong */
    uint8_t shared = shared_type(unit, call, parameters, want);
    if (shared == LANG_TYPE_WRONG) {
        shared = want;
        /* Nothing but integer literals, and nobody wants anything: they are one kind. */
        for (struct lang_expr *a = call->args; a && shared == LANG_TYPE_WRONG; a = a->next)
            if (a->kind == LANG_E_LITERAL && a->negative) shared = LANG_TYPE_I32;
        for (struct lang_expr *a = call->args; a; a = a->next)
            if (a->type == LANG_TYPE_WRONG && !vyre_lang_is_open(a) && strchr(parameters, 'T'))
                shared = LANG_TYPE_WRONG;
    }
    for (struct lang_expr *a = call->args; a; a = a->next, place++) {
        check_argument(unit, call, a, parameters[place], shared);
        char letter = parameters[place];
        if (shared == LANG_TYPE_WRONG && (letter == 'T' || letter == 'S' || letter == 'A'))
            shared = a->type;
    }
    char result = builtin->signature[0];
    if (call->type != LANG_TYPE_WRONG && result != 'v')
        call->type = type_of(result) ? type_of(result) : shared;
    bool acts = builtin->lowering == LANG_LOWER_ATOMIC ||
                builtin->lowering == LANG_LOWER_ATOMIC_SUB ||
                builtin->lowering == LANG_LOWER_BARRIER;
    bool lanes = builtin->lowering >= LANG_LOWER_SUBGROUP_ADD &&
                 builtin->lowering <= LANG_LOWER_SUBGROUP_LANE;
    if (acts) call->effects |= LANG_EFFECT_ACT | LANG_EFFECT_LANES;
    /* What lanes exchange depends on which of them are there: it stays where it stands. */
    if (lanes) call->effects |= LANG_EFFECT_ACT | LANG_EFFECT_LANES;
    if (builtin->lowering == LANG_LOWER_SUBGROUP_SIZE) {
        call->known = true;
        call->value = 32;
    }
    return call->type;
}

static void check_buffer_parameter(struct lang_unit *unit, struct lang_expr *call,
                                   struct lang_expr *argument, const struct lang_symbol *parameter)
{
    struct lang_symbol *symbol = buffer_argument(
        unit, argument,
        vyre_lang_text(unit, "`%s` of `%s`", parameter->name->text, call->name->text));
    if (!symbol) return;
    if (parameter->access == LANG_ACCESS_OUT || parameter->access == LANG_ACCESS_INOUT)
        symbol->assigns++;
    bool access = parameter->access == symbol->access ||
                  (symbol->access == LANG_ACCESS_INOUT &&
                   (parameter->access == LANG_ACCESS_IN || parameter->access == LANG_ACCESS_OUT));
    if (access && parameter->element == symbol->element) return;
    if (parameter->told || symbol->told || !parameter->element || !symbol->element) return;
    vyre_lang_say(
        unit, LANG_D_ARGUMENT, argument->span,
        vyre_lang_text(unit, "`%s` is `%s %s`, the parameter `%s %s %s[]`", symbol->name->text,
                       access_words[symbol->access], vyre_lang_element_name(symbol->element),
                       access_words[parameter->access], vyre_lang_element_name(parameter->element),
                       parameter->name->text),
        parameter->element != symbol->element
            ? vyre_lang_text(unit, "write a function for buffers of %s",
                             vyre_lang_element_name(symbol->element))
        : symbol->access == LANG_ACCESS_WORKGROUP || parameter->access == LANG_ACCESS_WORKGROUP
            ? "write a function for each of the two kinds of memory"
            : vyre_lang_text(unit, "declare it `inout %s %s[]`",
                             vyre_lang_element_name(symbol->element), symbol->name->text));
}

static uint8_t check_own(struct lang_unit *unit, struct lang_expr *call,
                         struct lang_function *function)
{
    const struct lang_symbol *parameter = function->first;
    call->type = function->type;
    call->effects = LANG_EFFECT_ACT | LANG_EFFECT_LANES;
    call->symbol = &function->symbol;
    function->symbol.read = true;
    if (function->broken) {
        look_at_arguments(unit, call);
        return call->type;
    }
    if (wrong_count(unit, call, function->parameters, function->parameters)) {
        look_at_arguments(unit, call);
        return call->type;
    }
    for (struct lang_expr *a = call->args; a && parameter; a = a->next, parameter = parameter->next)
        if (parameter->kind == LANG_SYMBOL_BUFFER)
            check_buffer_parameter(unit, call, a, parameter);
        else
            vyre_lang_check_value(
                unit, a, parameter->type,
                vyre_lang_text(unit, "the parameter `%s`", parameter->name->text));
    struct lang_call_edge *edge = vyre_lang_alloc(unit, 1, sizeof *edge);
    edge->to = function;
    edge->span = call->mark;
    if (unit->function) {
        edge->next = unit->function->calls;
        unit->function->calls = edge;
    }
    return call->type;
}

static uint8_t unknown(struct lang_unit *unit, struct lang_expr *call)
{
    struct lang_name *name = call->name;
    call->type = LANG_TYPE_WRONG;
    look_at_arguments(unit, call);
    if (!vyre_lang_complain_of(unit, name)) return call->type;
    const struct lang_function *own = unit->function ? NULL : unit->functions;
    while (own && own->symbol.name != name)
        own = own->next;
    if (own) {
        vyre_lang_say(unit, LANG_D_NOT_CONSTANT, call->span,
                      "the value of a constant must be known before the program runs",
                      "use numbers, other constants and operators");
        return call->type;
    }
    struct lang_token token = {call->mark.at, call->mark.length, LANG_NAME};
    if (vyre_lang_is_foreign_type(unit, token)) {
        const char *ours = vyre_lang_foreign_name(unit, token);
        vyre_lang_say(unit, LANG_D_TYPE_NAME, call->mark,
                      vyre_lang_text(unit, "there is no type `%s`", name->text),
                      ours ? vyre_lang_text(unit, "write `%s(...)`", ours) : "use u32, i32 or f32");
        return call->type;
    }
    const char *fix = vyre_lang_foreign_function(unit, name);
    const char *guess = fix ? NULL : vyre_lang_guess_value(unit, name->text, true);
    vyre_lang_say(unit, LANG_D_UNKNOWN, call->mark,
                  vyre_lang_text(unit, "there is no function `%.60s`", name->text),
                  fix     ? fix
                  : guess ? vyre_lang_text(unit, "did you mean `%s`?", guess)
                          : "declare it in this source, or write it out");
    return call->type;
}

/* A call of something that has a meaning, but is no function. */
static uint8_t not_callable(struct lang_unit *unit, struct lang_expr *call)
{
    struct lang_symbol *symbol = call->name ? call->name->symbol : NULL;
    const char *quote = call->count == 1 ? vyre_lang_quote(unit, call->args->span) : NULL;
    const char *message = "only a function can be called", *fix = "";
    call->type = LANG_TYPE_WRONG;
    if (symbol) symbol->read = true;
    if (symbol && symbol->kind == LANG_SYMBOL_FUNCTION) {
        message = vyre_lang_text(unit, "`%s` is a kernel, and kernels are not called",
                                 symbol->name->text);
        fix = "put what both need into a function";
    } else if (symbol) {
        if (symbol->type == LANG_TYPE_WRONG) return call->type;
        message = vyre_lang_text(unit, "`%s` is no function", symbol->name->text);
        if (symbol->kind == LANG_SYMBOL_BUFFER)
            fix = vyre_lang_text(unit, "write `%s[%s]` for an element", symbol->name->text,
                                 quote ? quote : "...");
        else if (find_builtin(symbol->name))
            fix = vyre_lang_text(unit, "rename the variable: it hides the function `%s`",
                                 symbol->name->text);
    }
    vyre_lang_say(unit, LANG_D_NOT_CALLABLE, call->mark, message, fix);
    return call->type;
}

uint8_t vyre_lang_check_call(struct lang_unit *unit, struct lang_expr *call, uint8_t want)
{
    struct lang_symbol *symbol = call->name ? call->name->symbol : NULL;
    if (symbol && symbol->kind == LANG_SYMBOL_FUNCTION && !symbol->function->kernel)
        return check_own(unit, call, symbol->function);
    call->builtin = call->name ? find_builtin(call->name) : NULL;
    if (call->builtin && !symbol) return check_builtin(unit, call, want);
    if (call->name && !symbol) return unknown(unit, call);
    return not_callable(unit, call);
}
