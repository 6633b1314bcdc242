/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A source's tree as text. Parentheses stand where C's precedence needs them and where the tree
 * says so, so that the compiler's precedence is part of the test.
 */
#include "oracle/source.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    const struct source *source;
    const struct source_function *function;
    char *bytes;
    size_t used, room;
};

static const char *const type_names[] = {"void", "u32", "i32", "f32", "bool",
                                         "u8",   "i8",  "u16", "i16"};

static const char *const op_marks[] = {"+",  "-",  "*",  "/",  "%", "&", "|",  "^",
                                       "<<", ">>", "==", "!=", "<", ">", "<=", ">=",
                                       "&&", "||", "-",  "~",  "!", "+", ""};

static const uint8_t op_levels[] = {10, 10, 11, 11, 11, 6, 4, 5, 9, 9, 7, 7, 8, 8, 8, 8, 3, 2};

enum { LEVEL_CHOOSE = 1, LEVEL_UNARY = 12, LEVEL_POSTFIX = 13 };

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...)
{
    for (;;) {
        va_list args;
        va_start(args, format);
        int wanted = vsnprintf(text->bytes + text->used, text->room - text->used, format, args);
        va_end(args);
        if (wanted >= 0 && (size_t)wanted < text->room - text->used) {
            text->used += (size_t)wanted;
            return;
        }
        text->room = text->room * 2 + 4096;
        text->bytes = realloc(text->bytes, text->room);
        if (!text->bytes) abort();
    }
}

static void put_expr(struct text *text, const struct source_expr *expr, int level);

static void put_float(struct text *text, const struct source_expr *expr)
{
    char digits[32];
    float value;
    memcpy(&value, &expr->value, sizeof value);
    if (expr->bare && value >= 0.0f && value < 16777216.0f && value == (float)(uint32_t)value &&
        !(expr->value >> 31)) {
        put(text, "%u", (uint32_t)value);
        return;
    }
    snprintf(digits, sizeof digits, "%.9g", (double)value);
    put(text, "%s%s", digits, strpbrk(digits, ".e") ? "" : ".0");
}

static bool is_negative(const struct source_expr *expr)
{
    return expr->kind == SOURCE_X_LITERAL && expr->value >> 31 &&
           (expr->type == SOURCE_I32 || expr->type == SOURCE_F32);
}

static void put_literal(struct text *text, const struct source_expr *expr)
{
    switch (expr->type) {
    case SOURCE_U32:
        put(text, expr->value % 3 ? "%u" : "0x%X", expr->value);
        put(text, "%s", expr->bare ? "" : "u");
        return;
    case SOURCE_I32:
        if (expr->value == 0x80000000u && !expr->bare)
            put(text, "i32(0x80000000u)");
        else
            put(text, "%lld%s", (long long)(int32_t)expr->value, expr->bare ? "" : "i");
        return;
    case SOURCE_F32:
        put_float(text, expr);
        return;
    default:
        put(text, "%s", expr->value ? "true" : "false");
    }
}

static void put_id(struct text *text, uint32_t which)
{
    static const char *const names[] = {"global_id", "local_id", "group_id", "group_size"};
    put(text, "%s.%c", names[which / 3], "xyz"[which % 3]);
}

static void put_lane(struct text *text, const struct source_expr *expr)
{
    const uint32_t *size = text->source->workgroup, *grid = text->source->grid;
    bool flat = size[1] * size[2] * grid[1] * grid[2] == 1;
    bool named = flat && !text->source->hides && expr->value == 0;
    put(text, "%s", named ? "i" : flat ? "global_id.x" : "me()");
}

static void put_atomic(struct text *text, const struct source_expr *expr)
{
    static const char *const names[] = {
        "add", "sub", "and", "or", "xor", "min", "max", "exchange", "compare_exchange"};
    put(text, "atomic_%s(%s[", names[expr->op], expr->buffer->name);
    put_expr(text, expr->arg[0], 0);
    put(text, "], ");
    put_expr(text, expr->arg[1], 0);
    if (expr->arg[2]) {
        put(text, ", ");
        put_expr(text, expr->arg[2], 0);
    }
    put(text, ")");
}

static void put_call(struct text *text, const struct source_expr *expr)
{
    const struct source_function *function = expr->function;
    uint32_t values = 0, buffers = 0;
    put(text, "%s(", function->name);
    for (uint32_t i = 0; i < function->param_count; i++) {
        if (i) put(text, ", ");
        if (function->params[i])
            put(text, "%s", expr->buffers[buffers++]->name);
        else
            put_expr(text, expr->arg[values++], 0);
    }
    put(text, ")");
}

static void put_given(struct text *text, const struct source_expr *expr)
{
    put(text, "%s(", source_given_name(expr->op));
    for (uint32_t i = 0; i < 3 && expr->arg[i]; i++) {
        if (i) put(text, ", ");
        put_expr(text, expr->arg[i], 0);
    }
    put(text, ")");
}

static void put_unary(struct text *text, const struct source_expr *expr)
{
    const struct source_expr *operand = expr->arg[0];
    bool sign = operand->kind == SOURCE_X_UNARY || is_negative(operand);
    put(text, "%s", op_marks[expr->op]);
    put_expr(text, operand, sign ? LEVEL_POSTFIX : LEVEL_UNARY);
}

static int level_of(const struct source_expr *expr)
{
    switch (expr->kind) {
    case SOURCE_X_BINARY:
        return op_levels[expr->op];
    case SOURCE_X_CHOOSE:
        return LEVEL_CHOOSE;
    case SOURCE_X_UNARY:
        return LEVEL_UNARY;
    case SOURCE_X_CAST:
        return expr->value ? LEVEL_UNARY : LEVEL_POSTFIX;
    default:
        return is_negative(expr) ? LEVEL_UNARY : LEVEL_POSTFIX;
    }
}

static void put_cast(struct text *text, const struct source_expr *expr)
{
    const char *type = type_names[expr->type];
    put(text, expr->value ? "(%s)" : "%s(", type);
    put_expr(text, expr->arg[0], expr->value ? LEVEL_UNARY : 0);
    if (!expr->value) put(text, ")");
}

static void put_operator(struct text *text, const struct source_expr *expr, int level)
{
    if (expr->kind == SOURCE_X_CHOOSE) {
        put_expr(text, expr->arg[0], level + 1);
        put(text, " ? ");
        put_expr(text, expr->arg[1], 0);
        put(text, " : ");
        put_expr(text, expr->arg[2], level);
        return;
    }
    put_expr(text, expr->arg[0], level);
    put(text, " %s ", op_marks[expr->op]);
    put_expr(text, expr->arg[1], level + 1);
}

static void put_inside(struct text *text, const struct source_expr *expr, int level)
{
    switch (expr->kind) {
    case SOURCE_X_LITERAL:
        put_literal(text, expr);
        return;
    case SOURCE_X_CONSTANT:
        put(text, "C%u", expr->value);
        return;
    case SOURCE_X_VARIABLE:
        put(text, "%s", text->function->vars[expr->value]);
        return;
    case SOURCE_X_LANE:
        put_lane(text, expr);
        return;
    case SOURCE_X_LOCAL:
        put(text, "local_index");
        return;
    case SOURCE_X_ID:
        put_id(text, expr->value);
        return;
    case SOURCE_X_LOAD:
        put(text, "%s[", expr->buffer->name);
        put_expr(text, expr->arg[0], 0);
        put(text, "]");
        return;
    case SOURCE_X_LENGTH:
        put(text, "len(%s)", expr->buffer->name);
        return;
    case SOURCE_X_UNARY:
        put_unary(text, expr);
        return;
    case SOURCE_X_CAST:
        put_cast(text, expr);
        return;
    case SOURCE_X_GIVEN:
        put_given(text, expr);
        return;
    case SOURCE_X_CALL:
        put_call(text, expr);
        return;
    case SOURCE_X_ATOMIC:
        put_atomic(text, expr);
        return;
    default:
        put_operator(text, expr, level);
    }
}

/* level: what binds less than this stands in parentheses. */
static void put_expr(struct text *text, const struct source_expr *expr, int level)
{
    int own = level_of(expr);
    bool parens = own < level || expr->parens;
    put(text, "%s", parens ? "(" : "");
    put_inside(text, expr, own);
    put(text, "%s", parens ? ")" : "");
}

static void put_list(struct text *text, const struct source_stmt *stmt);

static const struct source_stmt *first_left(const struct source_stmt *stmt)
{
    while (stmt && stmt->dropped)
        stmt = stmt->next;
    return stmt;
}

/* What belongs to an if or a loop. */
static void put_body(struct text *text, const struct source_stmt *stmt, bool braces)
{
    const struct source_stmt *first = first_left(stmt);
    bool one = first && !first_left(first->next) &&
               (first->kind == SOURCE_S_ASSIGN || first->kind == SOURCE_S_STORE ||
                first->kind == SOURCE_S_BREAK || first->kind == SOURCE_S_CONTINUE ||
                first->kind == SOURCE_S_RETURN || first->kind == SOURCE_S_CALL ||
                first->kind == SOURCE_S_EMPTY);
    put(text, one && !braces ? "\n" : " {\n");
    put_list(text, stmt);
    if (!one || braces) put(text, "}\n");
}

static void put_assign(struct text *text, const struct source_stmt *stmt)
{
    const char *twice = stmt->op == SOURCE_ADD ? "++" : "--";
    if (stmt->form == 2) put(text, "%s", twice);
    if (stmt->kind == SOURCE_S_STORE) {
        put(text, "%s[", stmt->buffer->name);
        put_expr(text, stmt->a, 0);
        put(text, "]");
    } else {
        put(text, "%s", text->function->vars[stmt->var]);
    }
    if (stmt->form == 1) put(text, "%s", twice);
    if (stmt->form) return;
    put(text, " %s= ", op_marks[stmt->op]);
    put_expr(text, stmt->b, 0);
}

/* Variables of one type that follow each other may stand in one statement. */
static const struct source_stmt *put_declare(struct text *text, const struct source_stmt *stmt)
{
    const struct source_function *function = text->function;
    put(text, "%s%s", stmt->form ? "const " : "", type_names[function->types[stmt->var]]);
    for (bool first = true;; first = false) {
        put(text, "%s %s", first ? "" : ",", function->vars[stmt->var]);
        if (stmt->b) {
            put(text, " = ");
            put_expr(text, stmt->b, 0);
        }
        const struct source_stmt *next = first_left(stmt->next);
        if (!next || next->kind != SOURCE_S_DECLARE || next->form != stmt->form ||
            function->types[next->var] != function->types[stmt->var] || !(next->var & 1))
            return stmt;
        stmt = next;
    }
}

static void put_parts(struct text *text, const struct source_stmt *stmt)
{
    stmt = first_left(stmt);
    if (stmt && stmt->kind == SOURCE_S_DECLARE) {
        (void)put_declare(text, stmt);
        return;
    }
    for (bool first = true; stmt; stmt = first_left(stmt->next), first = false) {
        put(text, "%s", first ? "" : ", ");
        put_assign(text, stmt);
    }
}

static void put_loop(struct text *text, const struct source_stmt *stmt)
{
    if (stmt->kind == SOURCE_S_DO) {
        put(text, "do");
        put_body(text, stmt->body, stmt->braces);
        put(text, "while (");
        put_expr(text, stmt->a, 0);
        put(text, ");\n");
        return;
    }
    put(text, "%s (", stmt->kind == SOURCE_S_FOR ? "for" : "while");
    if (stmt->kind == SOURCE_S_FOR) {
        put_parts(text, stmt->init);
        put(text, "; ");
    }
    if (stmt->a) put_expr(text, stmt->a, 0);
    if (stmt->kind == SOURCE_S_FOR) {
        put(text, "; ");
        put_parts(text, stmt->step);
    }
    put(text, ")");
    put_body(text, stmt->body, stmt->braces);
}

static void put_if(struct text *text, const struct source_stmt *stmt)
{
    put(text, "if (");
    put_expr(text, stmt->a, 0);
    put(text, ")");
    put_body(text, stmt->body, stmt->braces);
    if (!first_left(stmt->otherwise)) return;
    put(text, "else");
    put_body(text, stmt->otherwise, stmt->braces);
}

static const char *letter(const struct source_expr *expr)
{
    return expr->type == SOURCE_I32 ? "%d" : expr->type == SOURCE_F32 ? "%f" : "%u";
}

static void put_statement_call(struct text *text, const struct source_stmt *stmt)
{
    if (stmt->form == 0) {
        put_expr(text, stmt->b, 0);
    } else if (stmt->form == 1) {
        put(text, "print(\"at %s %s\", ", letter(stmt->a), letter(stmt->b));
        put_expr(text, stmt->a, 0);
        put(text, ", ");
        put_expr(text, stmt->b, 0);
        put(text, ")");
    } else {
        put(text, "assert(");
        put_expr(text, stmt->a, 0);
        put(text, "%s)", stmt->braces ? ", \"text\"" : "");
    }
    put(text, ";\n");
}

static void put_return(struct text *text, const struct source_stmt *stmt)
{
    put(text, "return");
    if (stmt->b) {
        put(text, " ");
        put_expr(text, stmt->b, 0);
    }
    put(text, ";\n");
}

/* Returns the last statement that it wrote. */
static const struct source_stmt *put_stmt(struct text *text, const struct source_stmt *stmt)
{
    bool braces = stmt->kind == SOURCE_S_BLOCK || stmt->form == 1;
    switch (stmt->kind) {
    case SOURCE_S_DECLARE:
        stmt = put_declare(text, stmt);
        put(text, ";\n");
        return stmt;
    case SOURCE_S_ASSIGN:
    case SOURCE_S_STORE:
        put_assign(text, stmt);
        put(text, ";\n");
        return stmt;
    case SOURCE_S_IF:
        put_if(text, stmt);
        return stmt;
    case SOURCE_S_FOR:
    case SOURCE_S_WHILE:
    case SOURCE_S_DO:
        put_loop(text, stmt);
        return stmt;
    case SOURCE_S_RETURN:
        put_return(text, stmt);
        return stmt;
    case SOURCE_S_CALL:
        put_statement_call(text, stmt);
        return stmt;
    case SOURCE_S_BLOCK:
    case SOURCE_S_PHASE:
        put(text, "%s", braces ? "{\n" : "");
        put_list(text, stmt->body);
        put(text, "%s", braces ? "}\n" : "");
        return stmt;
    case SOURCE_S_BARRIER:
        put(text, stmt->form ? "sync();\n" : "barrier();\n");
        return stmt;
    default:
        put(text, stmt->kind == SOURCE_S_BREAK      ? "break;\n"
                  : stmt->kind == SOURCE_S_CONTINUE ? "continue;\n"
                                                    : ";\n");
        return stmt;
    }
}

static void put_list(struct text *text, const struct source_stmt *stmt)
{
    for (stmt = first_left(stmt); stmt; stmt = first_left(stmt->next))
        stmt = put_stmt(text, stmt);
}

static void put_buffer(struct text *text, const struct source_buffer *buffer)
{
    static const char *const accesses[] = {"in", "out", "inout", "workgroup"};
    put(text, "%s %s %s[", accesses[buffer->access], type_names[buffer->element], buffer->name);
    if (buffer->declared) put(text, "%u", buffer->declared);
    put(text, "]");
}

static void put_function(struct text *text, const struct source_function *function, bool kernel)
{
    const uint32_t *size = text->source->workgroup;
    uint32_t values = 0, buffers = 0;
    text->function = function;
    if (kernel) put(text, "@workgroup(%u, %u, %u)", size[0], size[1], size[2]);
    if (kernel && function->guard) put(text, " @guard(%s)", function->guard->name);
    put(text, "%s %s(", kernel ? "\nkernel" : type_names[function->type], function->name);
    for (uint32_t i = 0; i < function->param_count; i++) {
        if (i) put(text, ", ");
        if (function->params[i]) {
            put_buffer(text, &function->buffers[buffers++]);
        } else {
            put(text, "%s %s", type_names[function->types[values]], function->vars[values]);
            values++;
        }
    }
    put(text, ")\n{\n");
    for (; buffers < function->buffer_count; buffers++) {
        put_buffer(text, &function->buffers[buffers]);
        put(text, ";\n");
    }
    put_list(text, function->body);
    put(text, "}\n");
}

char *source_text(const struct source *source)
{
    struct text text = {.source = source};
    const struct source_function *kernel = &source->functions[source->function_count - 1];
    const uint32_t *size = source->workgroup, *grid = source->grid;
    bool kernel_first = source->own & 1;
    put(&text, "%s", "");
    for (uint32_t i = 0; i < source->constant_count; i++) {
        put(&text, "const %s C%u = ", type_names[source->constant_types[i]], i);
        put_expr(&text, source->constant_values[i], 0);
        put(&text, ";\n");
    }
    if (size[1] * size[2] * grid[1] * grid[2] != 1)
        put(&text,
            "u32 me() { return (group_id.x + %u * (group_id.y + %u * group_id.z)) * %u + "
            "local_index; }\n",
            grid[0], grid[1], size[0] * size[1] * size[2]);
    if (kernel->groups) put(&text, "void sync() { barrier(); }\n");
    if (kernel_first) put_function(&text, kernel, true);
    for (uint32_t i = 0; i + 1 < source->function_count; i++)
        put_function(&text, &source->functions[i], false);
    if (!kernel_first) put_function(&text, kernel, true);
    return text.bytes;
}
