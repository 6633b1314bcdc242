/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Asynchronous copies. Each lane remembers for each tag which statement began a copy, with which
 * offset and size; the copy takes place at the wait. To begin a tag that is pending, to wait for
 * one that is not, and to end with one pending are faults.
 */
#include "vm/lower.h"

static uint32_t tag_of(const struct lowering *low, uint32_t name)
{
    uint32_t i = 0;
    while (i < low->tag_count && low->tags[i].name != name)
        i++;
    return i;
}

void vyre_low_async_site(struct lowering *low, const struct ir_node *node)
{
    uint32_t tag = tag_of(low, node->tag);
    if (tag == low->tag_count) {
        if (!low_room(low, (void **)&low->tags, &low->tag_room, tag, sizeof *low->tags)) return;
        low->tags[low->tag_count++] = (struct low_tag){.name = node->tag};
    }
    if (!low_room(low, (void **)&low->sites, &low->site_room, low->site_count, sizeof *low->sites))
        return;
    low->sites[low->site_count++] = (struct low_site){node, tag};
}

static uint32_t start_at_0(struct lowering *low)
{
    low_word zero = low_at(vyre_low_constant(low, LOW_U32, 0).reg, 0);
    uint32_t reg = vyre_low_prologue(low, &(struct low_insn){.op = VM_OP_MOV, .a = zero}, 0);
    low->regs[reg].variable = 1;
    return reg;
}

void vyre_low_async_start(struct lowering *low)
{
    for (uint32_t i = 0; i < low->tag_count; i++) {
        low->tags[i].pending = start_at_0(low);
        low->tags[i].offset = start_at_0(low);
        low->tags[i].size = start_at_0(low);
    }
}

static low_word number(struct lowering *low, uint32_t value)
{
    return low_at(vyre_low_constant(low, LOW_U32, value).reg, 0);
}

static void trap_if(struct lowering *low, low_word condition, uint32_t tag)
{
    vyre_low_emit(
        low, &(struct low_insn){
                 .op = VM_OP_TRAPIF, .a = condition, .b = number(low, tag), .imm = VM_TRAP_ASYNC});
}

static void set(struct lowering *low, uint32_t reg, low_word value)
{
    vyre_low_emit(low, &(struct low_insn){.op = VM_OP_MOV,
                                          .flags = low->depth > 0 ? VM_MASKED : 0,
                                          .d = low_at(reg, 0),
                                          .a = value});
}

void vyre_low_async_begin(struct lowering *low, const struct ir_node *node)
{
    uint32_t site = 0;
    while (site < low->site_count && low->sites[site].node != node)
        site++;
    low_word offset = vyre_low_index(low, vyre_low_expr(low, node->a));
    low_word size = vyre_low_index(low, vyre_low_expr(low, node->b));
    if (low->status != VYRE_OK) return;
    low->source = node->id;
    struct low_tag tag = low->tags[low->sites[site].tag];
    trap_if(low, low_at(tag.pending, 0), low->sites[site].tag);
    set(low, tag.offset, offset);
    set(low, tag.size, size);
    set(low, tag.pending, number(low, site + 1));
}

static void copy(struct lowering *low, const struct low_site *site)
{
    struct low_tag tag = low->tags[site->tag];
    uint32_t from = vyre_low_buffer(low, site->node->name);
    uint32_t to = vyre_low_buffer(low, site->node->other);
    int load = site->node->kind == IR_NODE_ASYNC_LOAD;
    vyre_low_emit(low, &(struct low_insn){.op = load ? VM_OP_COPY : VM_OP_COPYTO,
                                          .a = low_at(tag.offset, 0),
                                          .b = low_at(tag.size, 0),
                                          .imm = from | to << 16});
}

void vyre_low_async_wait(struct lowering *low, const struct ir_node *node)
{
    uint32_t which = tag_of(low, node->tag), sites = 0;
    if (which == low->tag_count) {
        vyre_low_refuse(low, node->id, "a wait for the tag `%s`, which nothing begins",
                        low->tree->names[node->tag].text);
        return;
    }
    low_word pending = low_at(low->tags[which].pending, 0);
    for (uint32_t i = 0; i < low->site_count; i++)
        sites += low->sites[i].tag == which;
    low_word none = low_at(vyre_low_op2(low, VM_OP_EQ, LOW_BOOL, pending, number(low, 0)).reg, 0);
    trap_if(low, none, which);
    for (uint32_t i = 0; i < low->site_count && low->status == VYRE_OK; i++) {
        if (low->sites[i].tag != which) continue;
        uint32_t open = 0;
        if (sites > 1) {
            low_word here =
                low_at(vyre_low_op2(low, VM_OP_EQ, LOW_BOOL, pending, number(low, i + 1)).reg, 0);
            open = vyre_low_emit(low, &(struct low_insn){.op = VM_OP_IF, .a = here});
        }
        copy(low, &low->sites[i]);
        if (sites > 1) {
            uint32_t close = vyre_low_emit(low, &(struct low_insn){.op = VM_OP_ENDIF});
            if (low->status == VYRE_OK) low->code.at[open].imm = close;
        }
    }
    set(low, low->tags[which].pending, number(low, 0));
}

void vyre_low_async_end(struct lowering *low)
{
    for (uint32_t i = 0; i < low->tag_count; i++)
        trap_if(low, low_at(low->tags[i].pending, 0), i);
}
