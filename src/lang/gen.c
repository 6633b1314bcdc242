/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The lowering's top: nodes of the tree with their place in the source, names, the kernel's buffers
 * and scalars, and the end: ids in the order of the wire, bytes, VIR0's own rules.
 */
#include <stdio.h>
#include <string.h>

#include "lang/gen.h"

static const struct ir_type types[] = {
    [IR_TYPE_U32] = {.tag = IR_TYPE_U32}, [IR_TYPE_I32] = {.tag = IR_TYPE_I32},
    [IR_TYPE_F32] = {.tag = IR_TYPE_F32}, [IR_TYPE_BOOL] = {.tag = IR_TYPE_BOOL},
    [IR_TYPE_U8] = {.tag = IR_TYPE_U8},   [IR_TYPE_I8] = {.tag = IR_TYPE_I8},
    [IR_TYPE_U16] = {.tag = IR_TYPE_U16}, [IR_TYPE_I16] = {.tag = IR_TYPE_I16},
};

void vyre_gen_must(struct gen *gen, vyre_status status)
{
    if (status == VYRE_E_LIMIT)
        vyre_lang_give_up(gen->unit, gen->kernel->symbol.span,
                          "the kernel becomes larger than a VIR0 program can be",
                          "split it, or use loops");
    if (status) vyre_lang_leave(gen->unit, status);
}

/* Room for what is known about a node by its id. */
static void note(struct gen *gen, uint32_t id, uint8_t depth)
{
    if (id >= gen->room) {
        uint32_t room = gen->room ? gen->room * 2u : 1024u;
        while (room <= id)
            room *= 2u;
        struct lang_span *spans = vyre_lang_alloc(gen->unit, room, sizeof *spans);
        uint8_t *depths = vyre_lang_alloc(gen->unit, room, sizeof *depths);
        if (gen->room) memcpy(spans, gen->spans, gen->room * sizeof *spans);
        if (gen->room) memcpy(depths, gen->depths, gen->room * sizeof *depths);
        gen->spans = spans;
        gen->depths = depths;
        gen->room = room;
    }
    gen->spans[id] = gen->span;
    gen->depths[id] = depth;
}

static bool take_name(struct gen *gen, uint32_t name)
{
    if (name >= gen->used_room) {
        uint32_t room = gen->used_room ? gen->used_room * 2u : 256u;
        while (room <= name)
            room *= 2u;
        uint8_t *used = vyre_lang_alloc(gen->unit, room, sizeof *used);
        uint32_t *turns = vyre_lang_alloc(gen->unit, room, sizeof *turns);
        if (gen->used_room) memcpy(used, gen->used, gen->used_room);
        if (gen->used_room) memcpy(turns, gen->turns, gen->used_room * sizeof *turns);
        gen->used = used;
        gen->turns = turns;
        gen->used_room = room;
    }
    if (gen->used[name]) return false;
    gen->used[name] = 1;
    return true;
}

static uint32_t intern(struct gen *gen, const char *text)
{
    uint32_t name;
    vyre_gen_must(gen, vyre_ir_name(gen->ir, text, strlen(text), &name, gen->unit->err));
    return name;
}

uint32_t vyre_gen_fresh(struct gen *gen, const char *base)
{
    uint32_t plain = intern(gen, base);
    if (take_name(gen, plain)) return plain;
    for (;;) {
        /* No name of a source has a dot in it. */
        uint32_t name = intern(
            gen, vyre_lang_text(gen->unit, "%.300s.%u", base, (unsigned)++gen->turns[plain] + 1u));
        if (take_name(gen, name)) return name;
    }
}

struct ir_node *vyre_gen_node(struct gen *gen, uint8_t kind)
{
    struct ir_node *node;
    if (gen->ir->node_count >= GEN_MOST_NODES)
        vyre_lang_give_up(gen->unit, gen->span,
                          vyre_lang_text(gen->unit, "`%s` becomes more than %u statements of VIR0",
                                         gen->kernel->symbol.name->text, GEN_MOST_NODES),
                          "use loops, call fewer functions, or split the kernel");
    vyre_gen_must(gen, vyre_ir_node(gen->ir, kind, &node, gen->unit->err));
    note(gen, node->id, 0);
    vyre_ir_append(gen->list, node);
    return node;
}

struct ir_expr *vyre_gen_make(struct gen *gen, uint8_t kind)
{
    struct ir_expr *expr;
    if (gen->ir->expr_count >= LANG_MOST_EXPRS)
        vyre_lang_give_up(gen->unit, gen->span,
                          vyre_lang_text(gen->unit, "`%s` becomes more than %u expressions of VIR0",
                                         gen->kernel->symbol.name->text, LANG_MOST_EXPRS),
                          "use loops, call fewer functions, or split the kernel");
    vyre_gen_must(gen, vyre_ir_expr(gen->ir, kind, &expr, gen->unit->err));
    note(gen, expr->id, 1);
    return expr;
}

struct ir_expr *vyre_gen_done(struct gen *gen, struct ir_expr *expr)
{
    uint8_t depth = 0;
    for (uint32_t i = 0; i < 3; i++)
        if (expr->arg[i] && gen->depths[expr->arg[i]->id] > depth)
            depth = gen->depths[expr->arg[i]->id];
    gen->depths[expr->id] = ++depth;
    return depth < GEN_MOST_EXPR_DEEP ? expr : vyre_gen_spill(gen, expr);
}

struct ir_expr *vyre_gen_literal(struct gen *gen, uint8_t type, uint32_t bits)
{
    struct ir_expr *expr = vyre_gen_make(gen, type == LANG_TYPE_F32    ? IR_EXPR_LIT_F32
                                              : type == LANG_TYPE_I32  ? IR_EXPR_LIT_I32
                                              : type == LANG_TYPE_BOOL ? IR_EXPR_LIT_BOOL
                                                                       : IR_EXPR_LIT_U32);
    /* VIR0 has no literal of a negative zero. */
    bool negative_zero = type == LANG_TYPE_F32 && bits == 0x80000000u;
    expr->value = negative_zero ? 0 : bits;
    return negative_zero ? vyre_gen_un(gen, IR_UN_NEGATE, expr) : expr;
}

struct ir_expr *vyre_gen_var(struct gen *gen, uint32_t name)
{
    struct ir_expr *expr = vyre_gen_make(gen, IR_EXPR_VAR);
    expr->name = name;
    return expr;
}

struct ir_expr *vyre_gen_bin(struct gen *gen, uint8_t op, struct ir_expr *a, struct ir_expr *b)
{
    struct ir_expr *expr = vyre_gen_make(gen, IR_EXPR_BIN_OP);
    expr->op = op;
    expr->arg[0] = a;
    expr->arg[1] = b;
    return vyre_gen_done(gen, expr);
}

struct ir_expr *vyre_gen_un(struct gen *gen, uint8_t op, struct ir_expr *a)
{
    struct ir_expr *expr = vyre_gen_make(gen, IR_EXPR_UN_OP);
    expr->op = op;
    expr->arg[0] = a;
    return vyre_gen_done(gen, expr);
}

struct ir_expr *vyre_gen_cast(struct gen *gen, uint8_t tag, struct ir_expr *a)
{
    struct ir_expr *expr = vyre_gen_make(gen, IR_EXPR_CAST);
    expr->type = &types[tag];
    expr->arg[0] = a;
    return vyre_gen_done(gen, expr);
}

struct ir_expr *vyre_gen_id(struct gen *gen, uint8_t kind, uint8_t axis)
{
    struct ir_expr *expr = vyre_gen_make(gen, kind);
    expr->axis = axis;
    return expr;
}

uint32_t vyre_gen_let(struct gen *gen, const char *base, struct ir_expr *value)
{
    uint32_t name = vyre_gen_fresh(gen, base);
    struct ir_node *node = vyre_gen_node(gen, IR_NODE_LET);
    node->name = name;
    node->a = value;
    return name;
}

struct ir_expr *vyre_gen_spill(struct gen *gen, struct ir_expr *value)
{
    if (value->kind == IR_EXPR_VAR) return value;
    return vyre_gen_var(gen, vyre_gen_let(gen, "t", value));
}

void vyre_gen_assign(struct gen *gen, uint32_t name, struct ir_expr *value)
{
    struct ir_node *node = vyre_gen_node(gen, IR_NODE_ASSIGN);
    node->name = name;
    node->a = value;
}

struct ir_list *vyre_gen_open(struct gen *gen, struct ir_list *list)
{
    struct ir_list *outer = gen->list;
    if (++gen->depth > GEN_MOST_STATEMENTS_DEEP)
        vyre_lang_give_up(gen->unit, gen->span,
                          vyre_lang_text(gen->unit, "`%s` becomes more than %u statements deep",
                                         gen->kernel->symbol.name->text, GEN_MOST_STATEMENTS_DEEP),
                          "put inner loops into kernels of their own, or use fewer `else if`, "
                          "`break` and `continue` in one list");
    gen->list = list;
    return outer;
}

void vyre_gen_close(struct gen *gen, struct ir_list *outer)
{
    gen->list = outer;
    gen->depth--;
}

void vyre_gen_splice(struct gen *gen, struct ir_list *list)
{
    while (list->first) {
        struct ir_node *node = list->first;
        list->first = node->next;
        node->next = NULL;
        vyre_ir_append(gen->list, node);
    }
    *list = (struct ir_list){0};
}

static void declare_buffer(struct gen *gen, struct lang_symbol *symbol, uint32_t number,
                           uint32_t *binding)
{
    static const struct {
        uint8_t access, kind;
    } how[] = {[0] = {IR_ACCESS_READ_ONLY, IR_KIND_PUSH},
               [LANG_ACCESS_IN] = {IR_ACCESS_READ_ONLY, IR_KIND_READONLY},
               [LANG_ACCESS_OUT] = {IR_ACCESS_WRITE_ONLY, IR_KIND_GLOBAL},
               [LANG_ACCESS_INOUT] = {IR_ACCESS_READ_WRITE, IR_KIND_GLOBAL},
               [LANG_ACCESS_WORKGROUP] = {IR_ACCESS_WORKGROUP, IR_KIND_SHARED}};
    bool shared = symbol->access == LANG_ACCESS_WORKGROUP;
    symbol->ir = intern(gen, symbol->name->text);
    take_name(gen, symbol->ir);
    gen->ir->buffers[number] = (struct ir_buffer){
        .name = symbol->ir,
        .binding = shared ? 0 : (*binding)++,
        .count = symbol->kind == LANG_SYMBOL_BUFFER ? symbol->count : 1,
        .access = how[symbol->access].access,
        .kind = how[symbol->access].kind,
        .hints = {.locality = 1},
        .type = types[symbol->element],
    };
}

static void buffers(struct gen *gen)
{
    uint32_t count = gen->kernel->parameters, binding = 0, number = 0;
    for (struct lang_symbol *symbol = gen->kernel->arrays; symbol; symbol = symbol->next)
        count++;
    vyre_gen_must(gen, vyre_ir_buffers(gen->ir, count, gen->unit->err));
    for (struct lang_symbol *symbol = gen->kernel->first; symbol; symbol = symbol->next)
        declare_buffer(gen, symbol, number++, &binding);
    for (struct lang_symbol *symbol = gen->kernel->arrays; symbol; symbol = symbol->next)
        declare_buffer(gen, symbol, number++, &binding);
    vyre_ir_buffers_named(gen->ir);
}

/* A scalar parameter is a buffer of one element; the source knows it as a variable. */
static void scalars(struct gen *gen)
{
    for (struct lang_symbol *symbol = gen->kernel->first; symbol; symbol = symbol->next) {
        if (symbol->kind != LANG_SYMBOL_VARIABLE || (!symbol->read && !symbol->assigns)) continue;
        gen->span = symbol->span;
        struct ir_expr *value = vyre_gen_load(gen, symbol, vyre_gen_literal(gen, LANG_TYPE_U32, 0));
        symbol->ir = vyre_gen_let(gen, symbol->name->text, value);
    }
}

static void body(struct gen *gen)
{
    struct lang_function *kernel = gen->kernel;
    if (!kernel->guarded) {
        vyre_gen_list(gen, kernel->body);
        return;
    }
    gen->span = kernel->guard_span;
    struct ir_expr *length = vyre_gen_make(gen, IR_EXPR_BUF_LEN);
    length->name = kernel->guarded->ir;
    struct ir_node *node = vyre_gen_node(gen, IR_NODE_IF);
    node->a = vyre_gen_bin(gen, IR_BIN_LT, vyre_gen_id(gen, IR_EXPR_INVOCATION_ID, 0), length);
    struct ir_list *outer = vyre_gen_open(gen, &node->body);
    vyre_gen_list(gen, kernel->body);
    vyre_gen_close(gen, outer);
}

/* The end: ids, bytes, rules
 * -------------------------- */

struct numbering {
    struct gen *gen;
    struct lang_span *spans; /* by the id that the decoder gives */
    uint32_t next;
};

static void number_expr(struct numbering *n, struct ir_expr *expr)
{
    if (!expr) return;
    n->spans[n->next] = n->gen->spans[expr->id];
    expr->id = n->next++;
    for (uint32_t i = 0; i < 3; i++)
        number_expr(n, expr->arg[i]);
    for (uint32_t i = 0; i < expr->arg_count; i++)
        number_expr(n, expr->args[i]);
}

static void number_list(struct numbering *n, struct ir_list *list)
{
    for (struct ir_node *node = list->first; node; node = node->next) {
        n->spans[n->next] = n->gen->spans[node->id];
        node->id = n->next++;
        number_expr(n, node->a);
        number_expr(n, node->b);
        number_list(n, &node->body);
        number_list(n, &node->otherwise);
    }
}

static size_t padded(size_t bytes)
{
    return (bytes + 15u) & ~(size_t)15u;
}

static uint32_t count_lines(const struct lang_request *request, uint32_t *starts)
{
    uint32_t lines = 1;
    if (starts) starts[0] = 0;
    for (size_t i = 0; i < request->length; i++) {
        if (request->text[i] != '\n') continue;
        if (starts) starts[lines] = (uint32_t)i + 1u;
        lines++;
    }
    return lines;
}

/* One piece of memory: the structure, spans, lines, prints, and all texts. */
static void make_output(struct gen *gen, const struct numbering *n)
{
    const struct lang_request *request = gen->unit->request;
    const char *file = request->file ? request->file : "";
    uint32_t lines = count_lines(request, NULL);
    size_t spans_at = padded(sizeof(struct lang_output));
    size_t lines_at = spans_at + padded((size_t)n->next * sizeof *n->spans);
    size_t prints_at = lines_at + padded((size_t)lines * sizeof(uint32_t));
    size_t text_at = prints_at + padded((size_t)gen->print_count * sizeof(struct lang_print));
    size_t room = text_at + strlen(file) + 1;
    void *memory;
    for (uint32_t i = 0; i < gen->print_count; i++)
        room += strlen(gen->prints[i].text) + 1;
    vyre_gen_must(gen, vyre_memory_alloc(gen->unit->memory, 1, room, "source table", &memory,
                                         gen->unit->err));
    char *base = memory, *text = base + text_at;
    struct lang_output *output = memory;
    struct lang_print *prints = (struct lang_print *)(void *)(base + prints_at);
    output->memory = gen->unit->memory;
    output->room = room;
    output->kernel = gen->kernel->symbol.span;
    gen->unit->output = output;
    memcpy(base + spans_at, n->spans, (size_t)n->next * sizeof *n->spans);
    output->spans = (const struct lang_span *)(const void *)(base + spans_at);
    output->span_count = n->next;
    output->lines = (const uint32_t *)(const void *)(base + lines_at);
    output->line_count = count_lines(request, (uint32_t *)(void *)(base + lines_at));
    output->file = strcpy(text, file);
    text += strlen(file) + 1;
    for (uint32_t i = 0; i < gen->print_count; i++) {
        prints[i] = (struct lang_print){gen->prints[i].number, strcpy(text, gen->prints[i].text)};
        text += strlen(text) + 1;
    }
    output->prints = prints;
    output->print_count = gen->print_count;
}

static void encode(struct gen *gen)
{
    struct lang_unit *unit = gen->unit;
    struct lang_output *output = unit->output;
    size_t length = 0;
    vyre_gen_must(gen, vyre_ir_encode(gen->ir, NULL, 0, &length, unit->err));
    vyre_gen_must(gen,
                  vyre_memory_alloc(unit->memory, 1, length, "program", &output->bytes, unit->err));
    output->length = length;
    vyre_gen_must(gen, vyre_ir_encode(gen->ir, output->bytes, length, &length, unit->err));
}

void vyre_lang_lower(struct lang_unit *unit, struct lang_function *kernel)
{
    struct gen gen = {.unit = unit, .kernel = kernel};
    vyre_gen_must(&gen, vyre_ir_program_make(unit->memory, &unit->tree, unit->err));
    gen.ir = unit->tree;
    gen.span = kernel->symbol.span;
    memcpy(gen.ir->workgroup, kernel->workgroup, sizeof kernel->workgroup);
    buffers(&gen);
    gen.list = &gen.ir->entry;
    struct ir_node *root = vyre_gen_node(&gen, IR_NODE_REGION);
    root->name = intern(&gen, "vyre.program.root");
    gen.list = &root->body;
    scalars(&gen);
    body(&gen);
    struct numbering n = {.gen = &gen};
    n.spans = vyre_lang_alloc(unit, gen.ir->node_count + gen.ir->expr_count, sizeof *n.spans);
    number_list(&n, &gen.ir->entry);
    make_output(&gen, &n);
    encode(&gen);
}
