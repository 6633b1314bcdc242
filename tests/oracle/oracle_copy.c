/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Asynchronous copies of the oracle: taken when they start, written when they are waited for.
 */
#include "oracle/oracle_inside.h"

#include <stdlib.h>
#include <string.h>

static struct oracle_copy **find(struct oracle_lane *lane, uint32_t tag)
{
    struct oracle_copy **place = &lane->copies;
    while (*place && (*place)->tag != tag)
        place = &(*place)->next;
    return place;
}

void oracle_copy_start(struct oracle *o, struct oracle_lane *lane, const struct ir_node *node)
{
    uint64_t offset = oracle_eval_index(o, lane, node->a), size;
    if (o->run->error) return;
    size = oracle_eval_index(o, lane, node->b);
    uint32_t from = oracle_buffer(o, node->name, node->id);
    uint32_t to = oracle_buffer(o, node->other, node->id);
    if (!o->run->error && *find(lane, node->tag)) (void)oracle_fail(o, ORACLE_ASYNC, node->id);
    if (o->run->error) return;

    /* A load reads at the offset and writes at 0, a store the other way round. */
    uint64_t read_at = node->kind == IR_NODE_ASYNC_LOAD ? offset : 0;
    uint64_t write_at = node->kind == IR_NODE_ASYNC_LOAD ? 0 : offset;
    uint64_t room = write_at < o->bytes[to] ? o->bytes[to] - write_at : 0;
    if (size > room) size = room;
    struct oracle_copy *copy = calloc(1, sizeof *copy);
    unsigned char *staged = calloc(1, size + 1);
    if (copy == NULL || staged == NULL) {
        free(copy);
        free(staged);
        (void)oracle_fail(o, ORACLE_NO_MEMORY, node->id);
        return;
    }
    for (uint64_t i = 0; i < size && read_at + i < o->bytes[from]; i++)
        staged[i] = o->memory[from][read_at + i];
    *copy = (struct oracle_copy){.next = lane->copies,
                                 .tag = node->tag,
                                 .to = to,
                                 .offset = write_at,
                                 .size = size,
                                 .staged = staged};
    lane->copies = copy;
}

void oracle_copy_wait(struct oracle *o, struct oracle_lane *lane, const struct ir_node *node)
{
    struct oracle_copy **place = find(lane, node->tag), *copy = *place;
    if (copy == NULL) {
        (void)oracle_fail(o, ORACLE_ASYNC, node->id);
        return;
    }
    if (copy->size != 0) memcpy(o->memory[copy->to] + copy->offset, copy->staged, copy->size);
    *place = copy->next;
    free(copy->staged);
    free(copy);
}

void oracle_copies_free(struct oracle_lane *lane)
{
    while (lane->copies) {
        struct oracle_copy *copy = lane->copies;
        lane->copies = copy->next;
        free(copy->staged);
        free(copy);
    }
}
