/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Lowering a validated tree to bytecode: the passes, their memory and their errors. See lower.h.
 */
#include "vm/lower.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/float_env.h"

#define PASSES      28u /* walks until the guesses about variables have settled */
#define PASSES_FINE 14u /* after so many, variables that are assigned count as vectors */

int vyre_low_grow(struct lowering *low, void **array, uint32_t *room, size_t size)
{
    void *fresh;
    if (low->status != VYRE_OK) return 0;
    uint32_t wanted = *room < 16 ? 32 : *room * 2;
    low->status =
        vyre_memory_alloc(low->memory, wanted, size, "lowering of a program", &fresh, low->err);
    if (low->status != VYRE_OK) return 0;
    if (*array) memcpy(fresh, *array, *room * size);
    vyre_memory_free(low->memory, *array, *room * size);
    *array = fresh;
    *room = wanted;
    return 1;
}

void vyre_low_refuse(struct lowering *low, uint32_t id, const char *format, ...)
{
    char what[128], path[96];
    va_list args;
    if (low->status != VYRE_OK) return;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    vyre_ir_path(low->tree, id, path, sizeof path);
    low->status = vyre_fail_at(low->err, VYRE_E_VM_UNSUPPORTED, VYRE_PLACE_INSTRUCTION, id,
                               "%s: %s", path, what);
}

void vyre_low_limit(struct lowering *low, const char *what, uint64_t has, uint64_t most)
{
    if (low->status != VYRE_OK) return;
    low->status = vyre_fail(low->err, VYRE_E_VM_LIMIT, "the program has %llu %s, at most %llu",
                            (unsigned long long)has, what, (unsigned long long)most);
}

/* Room for what is likely to be needed, at once: about half of the expressions are leaves. */
static void reserve(struct lowering *low)
{
    const struct ir_program *tree = low->tree;
    size_t nodes = tree->node_count < 4096 ? tree->node_count : 4096;
    size_t exprs = tree->expr_count < 16384 ? tree->expr_count : 16384;
    struct {
        void **array;
        uint32_t *room;
        size_t count;
        size_t size;
    } parts[] = {
        {(void **)&low->code.at, &low->code.room, exprs / 2 + 2 * nodes + 16, sizeof *low->code.at},
        {(void **)&low->regs, &low->reg_room, exprs / 2 + nodes + 32, sizeof *low->regs},
        {(void **)&low->words, &low->word_room, exprs / 4 + 32, sizeof *low->words},
        {(void **)&low->scope, NULL, tree->name_count + 1u, sizeof *low->scope},
        {(void **)&low->assigned, NULL, tree->name_count + 1u, sizeof *low->assigned},
        {(void **)&low->lengths, NULL, 2 * (size_t)tree->buffer_count + 1, sizeof *low->lengths},
        {(void **)&low->constant_map, &low->constant_map_size, 64, sizeof *low->constant_map},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && low->status == VYRE_OK; i++) {
        void *fresh;
        low->status = vyre_memory_alloc(low->memory, parts[i].count, parts[i].size,
                                        "lowering of a program", &fresh, low->err);
        if (low->status != VYRE_OK) return;
        *parts[i].array = fresh;
        if (parts[i].room) *parts[i].room = (uint32_t)parts[i].count;
    }
    low->params = low->lengths + tree->buffer_count;
}

static void give_back(struct lowering *low)
{
    const struct ir_program *tree = low->tree;
    struct vyre_memory *memory = low->memory;
    vyre_memory_free(memory, low->code.at, low->code.room * sizeof *low->code.at);
    vyre_memory_free(memory, low->prologue.at, low->prologue.room * sizeof *low->prologue.at);
    vyre_memory_free(memory, low->regs, low->reg_room * sizeof *low->regs);
    vyre_memory_free(memory, low->words, low->word_room * sizeof *low->words);
    vyre_memory_free(memory, low->constant_map, low->constant_map_size * sizeof *low->constant_map);
    vyre_memory_free(memory, low->variables, low->variable_room * sizeof *low->variables);
    vyre_memory_free(memory, low->facts, low->fact_room * sizeof *low->facts);
    vyre_memory_free(memory, low->scope, (tree->name_count + 1u) * sizeof *low->scope);
    vyre_memory_free(memory, low->assigned, (tree->name_count + 1u) * sizeof *low->assigned);
    vyre_memory_free(memory, low->lengths,
                     (2 * (size_t)tree->buffer_count + 1) * sizeof *low->lengths);
    vyre_memory_free(memory, low->sites, low->site_room * sizeof *low->sites);
    vyre_memory_free(memory, low->tags, low->tag_room * sizeof *low->tags);
}

/* One walk through the tree, with the guesses as they are. */
static void walk(struct lowering *low)
{
    low->again = 0;
    low->depth = 0;
    low->leaving = NULL;
    low->leave = IR_NONE;
    low->code.count = low->prologue.count = 0;
    low->reg_count = 1;
    low->regs[0] = (struct low_reg){0};
    low->word_count = low->variable_count = low->fact_count = 0;
    low->constant_map_used = 0;
    memset(low->constant_map, 0, low->constant_map_size * sizeof *low->constant_map);
    memset(low->ids, 0, sizeof low->ids);
    memset(low->lengths, 0, 2 * (size_t)low->tree->buffer_count * sizeof *low->lengths);
    vyre_low_async_start(low);
    vyre_low_list(low, &low->tree->entry);
    while (low->variable_count > 0)
        low->scope[low->variables[--low->variable_count].name] = 0;
    vyre_low_async_end(low);
    vyre_low_emit(low, &(struct low_insn){.op = VM_OP_END});
}

static void walk_until_settled(struct lowering *low)
{
    for (uint32_t pass = 0; low->status == VYRE_OK; pass++) {
        walk(low);
        if (!low->again) return;
        if (pass + 1 == PASSES)
            vyre_low_limit(low, "rounds until the kinds of its variables are known", PASSES + 1u,
                           PASSES);
        for (uint32_t i = 0; pass >= PASSES_FINE && i < low->fact_count; i++)
            low->facts[i].vector = 1;
    }
}

static void check_lanes(struct lowering *low)
{
    const uint32_t *axis = low->tree->workgroup;
    uint64_t lanes = axis[0];
    for (uint32_t i = 1; i < 3 && lanes <= VM_MAX_LANES; i++)
        lanes *= axis[i];
    if (lanes == 0 || lanes > VM_MAX_LANES)
        low->status = vyre_fail(
            low->err, VYRE_E_VM_LIMIT, "a workgroup of %u x %u x %u lanes, from 1 to %u in all",
            (unsigned)axis[0], (unsigned)axis[1], (unsigned)axis[2], (unsigned)VM_MAX_LANES);
    low->lanes = (uint32_t)lanes;
}

vyre_status vyre_vm_lower(const struct ir_program *tree, const struct vm_lower_options *options,
                          struct vm_program **out, vyre_error *err)
{
    struct lowering low = {.tree = tree, .memory = tree->memory, .err = err};
    uint32_t mode = vyre_float_enter();
    low.strict = options ? options->strict : 0;
    check_lanes(&low);
    if (tree->buffer_count > VM_MAX_BUFFERS)
        vyre_low_limit(&low, "buffers", tree->buffer_count, VM_MAX_BUFFERS);
    if (low.status == VYRE_OK) reserve(&low);
    if (low.status == VYRE_OK) vyre_low_scan(&low, &tree->entry);
    walk_until_settled(&low);
    vyre_low_tidy(&low);
    vyre_low_allocate(&low);
    vyre_low_order(&low);
    vyre_status status = vyre_low_block(&low, out);
    give_back(&low);
    vyre_float_leave(mode);
    return status;
}

void vyre_vm_free(struct vm_program *program)
{
    if (!program) return;
    struct vyre_memory *memory = program->memory;
    if (program->header) {
        vyre_memory_free(memory, program->source,
                         program->header->code_count * sizeof *program->source);
        vyre_memory_free(memory, program->header, program->header->bytes);
    }
    vyre_memory_free(memory, program, sizeof *program);
}
