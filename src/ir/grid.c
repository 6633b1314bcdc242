/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * How many workgroups a program is dispatched with: enough for one invocation per element of its
 * largest output, spread over the axes that the workgroup itself uses.
 */
#include <stdbool.h>
#include <string.h>

#include "ir/program.h"

static bool expr_atomic(const struct ir_expr *expr)
{
    if (!expr) return false;
    if (expr->kind == IR_EXPR_ATOMIC) return true;
    for (int i = 0; i < 3; i++)
        if (expr_atomic(expr->arg[i])) return true;
    for (uint32_t i = 0; i < expr->arg_count; i++)
        if (expr_atomic(expr->args[i])) return true;
    return false;
}

static bool list_atomic(const struct ir_list *list)
{
    for (const struct ir_node *node = list->first; node; node = node->next)
        if (expr_atomic(node->a) || expr_atomic(node->b) || list_atomic(&node->body) ||
            list_atomic(&node->otherwise))
            return true;
    return false;
}

/* The reference takes the count of a graph's nodes from this buffer, whatever else is bound. */
static bool is_nodes(const struct ir_program *program, const struct ir_buffer *buffer)
{
    static const char nodes[] = "pg_nodes";
    const struct ir_name *name = &program->names[buffer->name];
    return buffer->binding == 0 && name->length == sizeof nodes - 1 &&
           memcmp(name->text, nodes, sizeof nodes - 1) == 0;
}

static uint64_t elements(const struct ir_program *program, const uint64_t *bytes)
{
    uint64_t most = 1, inputs = 1;
    bool outputs = false, shared = false;
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        const struct ir_buffer *buffer = &program->buffers[i];
        if (buffer->access == IR_ACCESS_WORKGROUP) {
            shared = true;
            continue;
        }
        uint64_t count = vyre_ir_buffer_elements(buffer, bytes[i]);
        bool returned = vyre_ir_buffer_returned(buffer);
        outputs = outputs || returned;
        if ((returned || is_nodes(program, buffer)) && count > most) most = count;
        if (!vyre_ir_buffer_allocated(buffer) && count > inputs) inputs = count;
    }
    if (inputs > most && (!outputs || shared || list_atomic(&program->entry))) most = inputs;
    return most;
}

/* Whether side^axes reaches `least`, without overflow. */
static bool reaches(uint64_t side, uint32_t axes, uint64_t least)
{
    uint64_t product = 1;
    for (uint32_t i = 0; i < axes; i++) {
        if (product > UINT64_MAX / side) return true;
        product *= side;
    }
    return product >= least;
}

/* The least side with side^axes >= least. */
static uint64_t root(uint64_t least, uint32_t axes)
{
    uint64_t low = 1, high = least;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (reaches(middle, axes, least))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

vyre_status vyre_ir_grid(const struct ir_program *program, const uint64_t *bytes, uint32_t grid[3],
                         vyre_error *err)
{
    uint64_t size = 1;
    uint32_t axes = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t side = program->workgroup[i] ? program->workgroup[i] : 1;
        size = size > UINT64_MAX / side ? UINT64_MAX : size * side;
        axes += side > 1;
    }
    uint64_t count = elements(program, bytes);
    uint64_t groups = count / size + (count % size != 0);
    uint64_t side = axes == 0 ? groups : root(groups, axes);
    if (side > UINT32_MAX)
        return vyre_fail_with(err, VYRE_E_RANGE, "bind less, or use a larger workgroup",
                              "%llu elements need %llu workgroups of %u x %u x %u on one axis, at "
                              "most %u",
                              (unsigned long long)count, (unsigned long long)side,
                              program->workgroup[0], program->workgroup[1], program->workgroup[2],
                              UINT32_MAX);
    for (int i = 0; i < 3; i++)
        grid[i] = 1;
    if (axes == 0) grid[0] = (uint32_t)side;
    for (int i = 0; i < 3; i++)
        if (program->workgroup[i] > 1) grid[i] = (uint32_t)side;
    return VYRE_OK;
}
