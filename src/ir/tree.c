/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The program: its arena, its names, its statements and expressions. Facts about types and buffers
 * are in facts.c.
 */
#include <string.h>

#include "base/checked.h"
#include "ir/program.h"

#define FIRST_CHUNK   4096u
#define GREATEST_STEP (256u << 10)
#define ALIGNMENT     16u
#define FIRST_NAMES   16u

struct ir_chunk {
    struct ir_chunk *next;
    size_t size; /* with this head */
    size_t used;
    size_t reserved;
};

/* The arena
 * --------------------------------------------------------------------------------------------- */

vyre_status vyre_ir_program_make(struct vyre_memory *memory, struct ir_program **out,
                                 vyre_error *err)
{
    void *made;
    vyre_status status =
        vyre_memory_alloc(memory, 1, sizeof(struct ir_program), "a program", &made, err);
    if (status != VYRE_OK) return status;
    struct ir_program *program = made;
    program->memory = memory;
    program->entry_op_id = IR_NONE;
    for (int i = 0; i < 3; i++)
        program->workgroup[i] = 1;
    *out = program;
    return VYRE_OK;
}

void vyre_ir_program_free(struct ir_program *program)
{
    if (!program) return;
    struct vyre_memory *memory = program->memory;
    for (struct ir_chunk *chunk = program->chunks; chunk;) {
        struct ir_chunk *next = chunk->next;
        vyre_memory_free(memory, chunk, chunk->size);
        chunk = next;
    }
    vyre_memory_free(memory, program->names, program->name_room * sizeof *program->names);
    vyre_memory_free(memory, program->name_map, program->name_map_size * sizeof *program->name_map);
    vyre_memory_free(memory, program, sizeof *program);
}

/* A chunk that has room for at least `bytes`. What is much larger than a step gets one of its own,
 * behind the current one, so that the rest of that one is not lost. */
static vyre_status add_chunk(struct ir_program *program, size_t bytes, struct ir_chunk **out,
                             vyre_error *err)
{
    size_t step = program->chunks ? 2 * program->chunks->size : FIRST_CHUNK;
    if (step > GREATEST_STEP) step = GREATEST_STEP;
    size_t size;
    if (!vyre_add_size(bytes, sizeof(struct ir_chunk), &size))
        return vyre_fail(err, VYRE_E_OVERFLOW, "%zu bytes of a program do not fit", bytes);
    bool alone = program->chunks && size > step;
    if (size < step) size = step;
    void *made;
    vyre_status status =
        vyre_memory_alloc(program->memory, 1, size, "a program's tree", &made, err);
    if (status != VYRE_OK) return status;
    struct ir_chunk *chunk = made;
    chunk->size = size;
    chunk->used = sizeof *chunk;
    struct ir_chunk **link = alone ? &program->chunks->next : &program->chunks;
    chunk->next = *link;
    *link = chunk;
    *out = chunk;
    return VYRE_OK;
}

vyre_status vyre_ir_alloc(struct ir_program *program, size_t count, size_t size, void **out,
                          vyre_error *err)
{
    size_t bytes;
    if (!vyre_mul_size(count, size, &bytes) || !vyre_round_up_size(bytes, ALIGNMENT, &bytes))
        return vyre_fail(err, VYRE_E_OVERFLOW, "%zu times %zu bytes of a program do not fit", count,
                         size);
    struct ir_chunk *chunk = program->chunks;
    if (!chunk || chunk->size - chunk->used < bytes) {
        vyre_status status = add_chunk(program, bytes, &chunk, err);
        if (status != VYRE_OK) return status;
    }
    *out = (char *)chunk + chunk->used;
    chunk->used += bytes;
    return VYRE_OK;
}

/* Names
 * --------------------------------------------------------------------------------------------- */

static uint64_t rotate(uint64_t word, int by)
{
    return word << by | word >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

/* SipHash-1-3. Programs come from strangers: where the key is known, names can be made that all
 * fall on one place and take quadratic time. The address of the program is the key, as no writer of
 * a file knows it; nothing that is seen outside depends on it. */
static uint64_t hash_name(const struct ir_program *program, const char *text, size_t length)
{
    uint64_t key = (uint64_t)(uintptr_t)program * 0x9E3779B97F4A7C15u;
    uint64_t v[4] = {key ^ 0x736f6d6570736575u, ~key ^ 0x646f72616e646f6du,
                     key ^ 0x6c7967656e657261u, ~key ^ 0x7465646279746573u};
    for (size_t at = 0;; at += 8) {
        size_t take = length - at < 8 ? length - at : 8;
        uint64_t word = take < 8 ? (uint64_t)length << 56 : 0;
        for (size_t i = 0; i < take; i++)
            word |= (uint64_t)(uint8_t)text[at + i] << (8 * i);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
        if (take < 8) break;
    }
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The place of a name in the map, or the free place where it belongs. */
static uint32_t *name_place(const struct ir_program *program, const char *text, size_t length)
{
    uint32_t mask = program->name_map_size - 1;
    uint32_t at = (uint32_t)hash_name(program, text, length) & mask;
    for (;; at = (at + 1) & mask) {
        uint32_t number = program->name_map[at];
        if (number == IR_NONE) break;
        const struct ir_name *name = &program->names[number];
        if (name->length == length && memcmp(name->text, text, length) == 0) break;
    }
    return &program->name_map[at];
}

/* Doubles the names and their map, which is never more than half full. */
static vyre_status grow_names(struct ir_program *program, vyre_error *err)
{
    uint32_t room = program->name_room ? 2 * program->name_room : FIRST_NAMES;
    void *names, *map;
    vyre_status status = vyre_memory_alloc(program->memory, room, sizeof *program->names,
                                           "a program's names", &names, err);
    if (status != VYRE_OK) return status;
    status = vyre_memory_alloc(program->memory, (size_t)2 * room, sizeof *program->name_map,
                               "a program's names", &map, err);
    if (status != VYRE_OK) {
        vyre_memory_free(program->memory, names, room * sizeof *program->names);
        return status;
    }
    if (program->name_count > 0)
        memcpy(names, program->names, program->name_count * sizeof *program->names);
    vyre_memory_free(program->memory, program->names, program->name_room * sizeof *program->names);
    vyre_memory_free(program->memory, program->name_map,
                     program->name_map_size * sizeof *program->name_map);
    program->names = names;
    program->name_room = room;
    program->name_map = map;
    program->name_map_size = 2 * room;
    for (uint32_t i = 0; i < program->name_map_size; i++)
        program->name_map[i] = IR_NONE;
    for (uint32_t i = 0; i < program->name_count; i++)
        *name_place(program, program->names[i].text, program->names[i].length) = i;
    return VYRE_OK;
}

vyre_status vyre_ir_name(struct ir_program *program, const char *text, size_t length,
                         uint32_t *name, vyre_error *err)
{
    if (length > IR_MAX_STRING)
        return vyre_fail_with(err, VYRE_E_LIMIT, "use a shorter name",
                              "a name of %zu bytes, at most %u", length, IR_MAX_STRING);
    if (program->name_count > 0) {
        uint32_t found = *name_place(program, text, length);
        if (found != IR_NONE) {
            *name = found;
            return VYRE_OK;
        }
    }
    if (program->name_count == program->name_room) {
        vyre_status status = grow_names(program, err);
        if (status != VYRE_OK) return status;
    }
    void *copy;
    vyre_status status = vyre_ir_alloc(program, length + 1, 1, &copy, err);
    if (status != VYRE_OK) return status;
    if (length > 0) memcpy(copy, text, length);
    uint32_t number = program->name_count;
    *name_place(program, text, length) = number;
    program->names[number] = (struct ir_name){copy, (uint32_t)length, IR_NONE};
    program->name_count++;
    *name = number;
    return VYRE_OK;
}

/* Statements, expressions, buffers
 * --------------------------------------------------------------------------------------------- */

vyre_status vyre_ir_node(struct ir_program *program, uint8_t kind, struct ir_node **out,
                         vyre_error *err)
{
    void *made;
    if (program->node_count >= IR_MAX_NODES)
        return vyre_fail_with(err, VYRE_E_LIMIT, "split the program",
                              "a program has at most %u statements", IR_MAX_NODES);
    vyre_status status = vyre_ir_alloc(program, 1, sizeof(struct ir_node), &made, err);
    if (status != VYRE_OK) return status;
    struct ir_node *node = made;
    node->kind = kind;
    node->name = node->other = node->tag = IR_NONE;
    node->id = program->node_count + program->expr_count;
    program->node_count++;
    *out = node;
    return VYRE_OK;
}

vyre_status vyre_ir_expr(struct ir_program *program, uint8_t kind, struct ir_expr **out,
                         vyre_error *err)
{
    void *made;
    if (program->expr_count >= IR_MAX_EXPRS)
        return vyre_fail_with(err, VYRE_E_LIMIT, "split the program",
                              "a program has at most %u expressions", IR_MAX_EXPRS);
    vyre_status status = vyre_ir_alloc(program, 1, sizeof(struct ir_expr), &made, err);
    if (status != VYRE_OK) return status;
    struct ir_expr *expr = made;
    expr->kind = kind;
    expr->name = IR_NONE;
    expr->id = program->node_count + program->expr_count;
    program->expr_count++;
    *out = expr;
    return VYRE_OK;
}

void vyre_ir_append(struct ir_list *list, struct ir_node *node)
{
    node->next = NULL;
    if (list->last)
        list->last->next = node;
    else
        list->first = node;
    list->last = node;
    list->count++;
}

vyre_status vyre_ir_buffers(struct ir_program *program, uint32_t count, vyre_error *err)
{
    void *made = NULL;
    if (count > IR_MAX_BUFFERS)
        return vyre_fail_with(err, VYRE_E_LIMIT, "declare fewer buffers", "%u buffers, at most %u",
                              count, IR_MAX_BUFFERS);
    vyre_status status = vyre_ir_alloc(program, count, sizeof(struct ir_buffer), &made, err);
    if (status != VYRE_OK) return status;
    program->buffers = made;
    program->buffer_count = count;
    for (uint32_t i = 0; i < count; i++)
        program->buffers[i].name = IR_NONE;
    return VYRE_OK;
}

void vyre_ir_buffers_named(struct ir_program *program)
{
    for (uint32_t i = 0; i < program->name_count; i++)
        program->names[i].buffer = IR_NONE;
    for (uint32_t i = program->buffer_count; i > 0; i--)
        if (program->buffers[i - 1].name < program->name_count)
            program->names[program->buffers[i - 1].name].buffer = i - 1;
}

const struct ir_buffer *vyre_ir_find_buffer(const struct ir_program *program, uint32_t name)
{
    if (name >= program->name_count || program->names[name].buffer == IR_NONE) return NULL;
    return &program->buffers[program->names[name].buffer];
}
