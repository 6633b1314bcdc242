/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The compiler from end to end: tokens, tree, types, VIR0, and VIR0's own rules, which know more
 * about barriers and atomics than the checker does. Diagnostics are reported at the end, in the
 * order of the source.
 */
#include <stdio.h>
#include <string.h>

#include "base/float_env.h"
#include "lang/ast.h"

/* Whether a character on the same line was complained of: those behind it are of the same mistake,
 * such as quotes of another kind. */
static bool same_line(struct lang_unit *unit, struct lang_span span)
{
    const char *text = unit->request->text;
    uint32_t before = unit->character_at;
    unit->character_at = span.at + 1;
    return before && !memchr(text + before - 1, '\n', span.at + 1 - before);
}

static void lexer_says(void *ctx, uint32_t diagnostic, struct lang_span span, const char *message,
                       const char *fix)
{
    struct lang_unit *unit = ctx;
    const char *text = unit->request->text + span.at;
    unit->cut = unit->cut || diagnostic == LANG_D_COMMENT;
    if (diagnostic == LANG_D_CHARACTER) {
        /* A name that cannot be one is complained of once; its uses are no mistakes of their own.
         */
        struct lang_name *name = vyre_lang_intern(unit, text, span.length);
        bool told = name->told && text[0] != '\'' && span.length > 1;
        bool same = same_line(unit, span);
        name->told = true;
        if (told || same) return;
        if (text[0] == '\'' && span.length == 3)
            fix = vyre_lang_text(unit, "write %u, the number of the character",
                                 (unsigned)(unsigned char)text[1]);
    }
    vyre_lang_say(unit, (enum lang_diagnostic_number)diagnostic, span, message, fix);
}

static void lex(struct lang_unit *unit)
{
    struct lang_lexer lexer = {.text = unit->request->text,
                               .length = unit->request->length,
                               .complain = lexer_says,
                               .ctx = unit};
    uint32_t room = 0;
    do {
        if (unit->token_count == room) {
            room = room ? room * 2u : 1024u;
            struct lang_token *tokens = vyre_lang_alloc(unit, room, sizeof *tokens);
            if (unit->token_count) memcpy(tokens, unit->tokens, unit->token_count * sizeof *tokens);
            unit->tokens = tokens;
        }
        unit->tokens[unit->token_count++] = vyre_lang_next(&lexer);
    } while (unit->tokens[unit->token_count - 1].kind != LANG_END);
}

static void line_of(const struct lang_request *request, uint32_t at, uint32_t *line,
                    uint32_t *column)
{
    uint32_t start = 0;
    *line = 1;
    for (uint32_t i = 0; i < at && i < request->length; i++) {
        if (request->text[i] != '\n') continue;
        ++*line;
        start = i + 1;
    }
    *column = at - start + 1;
}

static void report(const struct lang_request *request, const struct lang_said *said)
{
    vyre_diagnostic told;
    char code[8];
    memset(&told, 0, sizeof told);
    told.severity =
        vyre_lang_is_warning(said->number) ? VYRE_SEVERITY_WARNING : VYRE_SEVERITY_ERROR;
    line_of(request, said->span.at, &told.line, &told.column);
    told.offset = said->span.at;
    told.length = said->span.length;
    told.code = vyre_lang_diagnostic_code(said->number, code);
    told.message = said->message;
    told.fix = said->fix;
    told.file = request->file ? request->file : "";
    request->report(request->ctx, &told);
}

/* The first error, for those who look at nothing else. */
static vyre_status first_error(const struct lang_request *request, const struct lang_said *said,
                               vyre_error *err)
{
    uint32_t line, column;
    line_of(request, said->span.at, &line, &column);
    vyre_status status = vyre_fail_at(err, VYRE_E_SOURCE, VYRE_PLACE_BYTE, said->span.at,
                                      "%.100s%s%u:%u: %s", request->file ? request->file : "",
                                      request->file ? ":" : "line ", line, column, said->message);
    if (said->fix[0]) vyre_fail_fix(err, "%s", said->fix);
    return status;
}

/* Errors first where not all fit. */
static vyre_status report_all(struct lang_unit *unit)
{
    const struct lang_request *request = unit->request;
    uint32_t left = request->most;
    const struct lang_said *first = NULL;
    uint32_t warnings = left > unit->errors ? left - unit->errors : 0;
    for (const struct lang_said *said = unit->said; said; said = said->next) {
        bool warning = vyre_lang_is_warning(said->number);
        if (!warning && !first) first = said;
        if (left == 0 || (warning && warnings == 0)) continue;
        left--;
        if (warning) warnings--;
        if (request->report) report(request, said);
    }
    return first ? first_error(request, first, unit->err) : VYRE_OK;
}

static const char barrier_message[] = "some lanes of a workgroup may not come to this barrier";
static const char barrier_fix[] = "put it where the conditions around it are made of numbers, "
                                  "constants, len(), group_id and variables of these";

static bool is_barrier(const struct lang_request *request, struct lang_span span)
{
    static const char word[] = "barrier";
    return span.length >= sizeof word - 1 &&
           memcmp(request->text + span.at, word, sizeof word - 1) == 0;
}

/* VIR0's rules, by the words of the language. */
static void finding(void *ctx, const struct ir_finding *found)
{
    struct lang_unit *unit = ctx;
    const struct lang_output *output = unit->output;
    struct lang_span span = {0, 0};
    if (found->id < output->span_count) span = output->spans[found->id];
    switch (found->rule) {
    case IR_RULE_BARRIER_UNIFORM:
        /* What keeps lanes from one barrier mostly keeps them from the next one, too. */
        for (const struct lang_said *said = unit->said; said; said = said->next)
            if (said->number == LANG_D_UNIFORM) return;
        if (!vyre_lang_say_barrier(unit, unit->tree, found->id))
            vyre_lang_say(unit, LANG_D_UNIFORM, span, barrier_message, barrier_fix);
        break;
    case IR_RULE_HAZARD:
        vyre_lang_say(unit, LANG_D_HAZARD, span, vyre_lang_text(unit, "%s", found->message),
                      "put `barrier();` before this statement, or use two buffers");
        break;
    default:
        vyre_lang_say(unit, LANG_D_REFUSED, span,
                      vyre_lang_text(unit, "VIR0 does not take this: %s (%s)", found->message,
                                     vyre_ir_rule_code(found->rule)),
                      vyre_ir_rule_fix(found->rule));
        break;
    }
}

static void check_rules(struct lang_unit *unit, const struct lang_function *kernel)
{
    struct ir_program *tree = NULL;
    const struct lang_request *request = unit->request;
    vyre_ir_program_free(unit->tree);
    unit->tree = NULL;
    vyre_status status =
        vyre_ir_decode(unit->memory, unit->output->bytes, unit->output->length, &tree, unit->err);
    if (status == VYRE_E_IR_FORM || status == VYRE_E_LIMIT)
        vyre_lang_give_up(unit, kernel->symbol.span,
                          "the kernel is deeper or larger than a VIR0 program can be",
                          "split it, or compute parts of it in variables");
    if (status) vyre_lang_leave(unit, status);
    unit->tree = tree;
    struct ir_validate_options rules = {.subgroups = request->subgroups,
                                        .most = request->most ? request->most : 1,
                                        .report = finding,
                                        .ctx = unit};
    status = vyre_ir_validate(tree, &rules, unit->err);
    if (status && status != VYRE_E_IR_INVALID) vyre_lang_leave(unit, status);
}

/* Which kernel is wanted. */
static struct lang_function *choose(struct lang_unit *unit)
{
    const char *wanted = unit->request->kernel;
    struct lang_function *found = NULL;
    struct lang_guess guess = {wanted, NULL, 0};
    char names[160] = "";
    uint32_t count = 0;
    for (struct lang_function *f = unit->functions; f; f = f->next) {
        if (!f->kernel) continue;
        const char *name = f->symbol.name->text;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%.40s", used ? ", " : "", name);
        if (wanted) vyre_lang_offer(&guess, name);
        if (wanted && strcmp(name, wanted) != 0) continue;
        found = f;
        count++;
    }
    if (found && (wanted || count == 1)) return found;
    if (wanted)
        vyre_fail_with(unit->err, VYRE_E_NOT_FOUND, "name one of the source's kernels",
                       "no kernel has the name `%.60s`; there %s %s", wanted,
                       strchr(names, ',') ? "are" : "is", names);
    else
        vyre_fail_with(unit->err, VYRE_E_NOT_FOUND, "say which one is wanted",
                       "the source has several kernels: %s", names);
    if (guess.best) vyre_fail_fix(unit->err, "did you mean `%s`?", guess.best);
    vyre_lang_leave(unit, VYRE_E_NOT_FOUND);
}

static void compile(struct lang_unit *unit)
{
    lex(unit);
    vyre_lang_parse(unit);
    vyre_lang_check(unit);
    if (unit->errors > 0) return;
    struct lang_function *kernel = choose(unit);
    vyre_lang_lower(unit, kernel);
    check_rules(unit, kernel);
}

/* Comes back when the stages are through, or one of them has left. */
static void attempt(struct lang_unit *unit)
{
    if (setjmp(unit->leave) == 0) compile(unit);
}

static vyre_status too_long(size_t length, vyre_error *err)
{
    return vyre_fail_with(err, VYRE_E_LIMIT, "split the source",
                          "the source has %zu bytes, at most %zu", length, VYRE_SOURCE_MOST_BYTES);
}

static vyre_status finish(struct lang_unit *unit)
{
    vyre_status status = unit->status;
    if (status == VYRE_OK || status == VYRE_E_SOURCE) {
        vyre_status told = report_all(unit);
        if (told) status = told;
    }
    vyre_lang_unit_free(unit);
    if (status == VYRE_OK) return VYRE_OK;
    vyre_lang_free(unit->output);
    unit->output = NULL;
    return status;
}

vyre_status vyre_lang_compile(struct vyre_memory *memory, const struct lang_request *request,
                              struct lang_output **out, vyre_error *err)
{
    vyre_error unwanted;
    struct lang_unit unit;
    if (request->length > VYRE_SOURCE_MOST_BYTES) return too_long(request->length, err);
    memset(&unit, 0, sizeof unit);
    unit.memory = memory;
    unit.request = request;
    unit.err = err ? err : &unwanted;
    uint32_t saved = vyre_float_enter();
    attempt(&unit);
    vyre_float_leave(saved);
    vyre_status status = finish(&unit);
    if (status == VYRE_OK) *out = unit.output;
    return status;
}

/* Comes back when all is read, or the parser has left. */
static void read_only(struct lang_unit *unit)
{
    if (setjmp(unit->leave) != 0) return;
    lex(unit);
    vyre_lang_parse(unit);
}

vyre_status vyre_lang_syntax(struct vyre_memory *memory, const char *text, size_t length,
                             struct lang_listener listener, vyre_error *err)
{
    vyre_error unwanted;
    struct lang_request request = {.text = text, .length = length};
    struct lang_unit unit;
    if (length > VYRE_SOURCE_MOST_BYTES) return too_long(length, err);
    memset(&unit, 0, sizeof unit);
    unit.memory = memory;
    unit.request = &request;
    unit.err = err ? err : &unwanted;
    uint32_t saved = vyre_float_enter();
    read_only(&unit);
    vyre_float_leave(saved);
    const struct lang_said *said = unit.said;
    while (said && vyre_lang_is_warning(said->number))
        said = said->next;
    vyre_status status = unit.status;
    if (said && (status == VYRE_OK || status == VYRE_E_SOURCE))
        listener.complain(listener.ctx, said->number, said->span, said->message, said->fix);
    vyre_lang_unit_free(&unit);
    return status == VYRE_E_SOURCE ? VYRE_OK : status;
}

void vyre_lang_free(struct lang_output *output)
{
    if (!output) return;
    vyre_memory_free(output->memory, output->bytes, output->length);
    vyre_memory_free(output->memory, output, output->room);
}

void vyre_lang_position(const struct lang_output *output, uint32_t id, vyre_position *position)
{
    uint32_t low = 0, high = output->line_count;
    *position = (vyre_position){output->file, 0, 0};
    if (id >= output->span_count) return;
    uint32_t at = output->spans[id].at;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (output->lines[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    position->line = low + 1;
    position->column = at - output->lines[low] + 1;
}

vyre_status vyre_lang_refuse(const struct lang_request *request, const struct lang_output *output,
                             uint32_t id, const vyre_error *why, vyre_error *err)
{
    vyre_error copy = *why; /* err may be the same */
    struct lang_said said = {.number = LANG_D_REFUSED,
                             .span = id < output->span_count ? output->spans[id] : output->kernel,
                             .message = copy.message,
                             .fix = copy.fix};
    /* Only the machine knows which lanes assign a variable. */
    if (is_barrier(request, said.span)) {
        said.number = LANG_D_UNIFORM;
        said.message = barrier_message;
        said.fix = barrier_fix;
    }
    if (request->report && request->most > 0) report(request, &said);
    return first_error(request, &said, err);
}

vyre_status vyre_lang_kernels(struct vyre_memory *memory, const char *text, size_t length,
                              void (*each)(void *ctx, const char *name), void *ctx, vyre_error *err)
{
    struct lang_lexer lexer = {.text = text, .length = length};
    struct lang_token before = {0, 0, LANG_END}, token;
    if (length > VYRE_SOURCE_MOST_BYTES) return too_long(length, err);
    /* By the words alone, so that a source with errors has its names, too. */
    for (;; before = token) {
        void *name;
        token = vyre_lang_next(&lexer);
        if (token.kind == LANG_END) return VYRE_OK;
        if (token.kind != LANG_NAME || before.kind != LANG_KERNEL) continue;
        vyre_status status = vyre_memory_alloc(memory, token.length + 1u, 1, "name", &name, err);
        if (status) return status;
        memcpy(name, text + token.at, token.length);
        each(ctx, name);
        vyre_memory_free(memory, name, token.length + 1u);
    }
}
