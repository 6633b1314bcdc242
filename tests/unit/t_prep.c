/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Preparing slots: each vyre_prep function fills the whole slot with what the wire format says, and
 * one that refuses leaves it as it was.
 */
#include "support.h"

#define FIRST VYRE_CONTROL_OBSERVABLE

static vyre_slot dirty(void)
{
    vyre_slot slot;
    memset(&slot, 0x5A, sizeof slot);
    return slot;
}

/* The words that were prepared: opcode, priority NORMAL, these arguments, and zeros after them. */
static void check_slot(const vyre_slot *slot, uint32_t opcode, const uint32_t *args, size_t count,
                       const char *name)
{
    uint32_t wrong = slot->word[VYRE_SLOT_STATUS] != VYRE_SLOT_PUBLISHED;
    wrong += slot->word[VYRE_SLOT_OPCODE] != opcode;
    wrong += slot->word[VYRE_SLOT_PRIORITY] != VYRE_PRIORITY_NORMAL;
    for (size_t i = 0; i < VYRE_SLOT_ARGS; i++)
        wrong += slot->word[VYRE_SLOT_ARG0 + i] != (i < count ? args[i] : 0);
    if (!is_u64(wrong, 0, "%s", name))
        for (size_t i = 0; i < VYRE_SLOT_WORDS; i++)
            note("word %zu: 0x%x", i, slot->word[i]);
}

static void check_untouched(const vyre_slot *slot, const char *name)
{
    vyre_slot before = dirty();
    ok(memcmp(slot, &before, sizeof before) == 0, "%s: the slot is as before", name);
}

static void word_operations(void)
{
    vyre_error err;
    vyre_slot slot = dirty();
    works(vyre_prep_nop(&slot, &err), &err, "nop");
    check_slot(&slot, VYRE_OP_NOP, NULL, 0, "NOP");
    slot = dirty();
    works(vyre_prep_store_u32(&slot, 170, 42, &err), &err, "store");
    check_slot(&slot, VYRE_OP_STORE_U32, (uint32_t[]){42, 170}, 2, "STORE_U32 value word");
    slot = dirty();
    works(vyre_prep_atomic_add(&slot, 171, 43, &err), &err, "add");
    check_slot(&slot, VYRE_OP_ATOMIC_ADD, (uint32_t[]){43, 171}, 2, "ATOMIC_ADD addend word");
    slot = dirty();
    works(vyre_prep_load_u32(&slot, 172, 5, &err), &err, "load");
    check_slot(&slot, VYRE_OP_LOAD_U32, (uint32_t[]){172, 5}, 2, "LOAD_U32 word index");
    slot = dirty();
    works(vyre_prep_compare_swap(&slot, 173, 6, 7, &err), &err, "compare and swap");
    check_slot(&slot, VYRE_OP_COMPARE_SWAP, (uint32_t[]){173, 6, 7}, 3, "COMPARE_SWAP");
    slot = dirty();
    works(vyre_prep_memcpy(&slot, 174, 175, 8, &err), &err, "copy");
    check_slot(&slot, VYRE_OP_MEMCPY, (uint32_t[]){174, 175, 8}, 3, "MEMCPY from to count");
    slot = dirty();
    works(vyre_prep_fence(&slot, 9, 10, &err), &err, "fence");
    check_slot(&slot, VYRE_OP_BATCH_FENCE, (uint32_t[]){9, 10}, 2, "BATCH_FENCE items tag");
    slot = dirty();
    works(vyre_prep_printf(&slot, 11, 12, 13, &err), &err, "printf");
    check_slot(&slot, VYRE_OP_PRINTF, (uint32_t[]){11, 12, 13}, 3, "PRINTF format a b");
}

static void other_operations(void)
{
    vyre_error err;
    vyre_slot slot = dirty();
    vyre_dfa_step step = {
        .table = 21, .state = 22, .input = 23, .offset = 0x500000004ull, .length = 24};
    works(vyre_prep_dfa_step(&slot, &step, &err), &err, "dfa step");
    check_slot(&slot, VYRE_OP_DFA_STEP, (uint32_t[]){21, 22, 23, 4, 5, 24}, 6, "DFA_STEP");

    uint32_t args[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const uint32_t opcodes[] = {0, 8, 0xFFEF, 0x10000, 0x7FFFFFFF, VYRE_OP_PRINTF};
    for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++) {
        slot = dirty();
        works(vyre_prep_op(&slot, opcodes[i], args, 2 * i, &err), &err, "opcode 0x%x", opcodes[i]);
        check_slot(&slot, opcodes[i], args, 2 * i, "any opcode");
    }
    slot = dirty();
    works(vyre_prep_op(&slot, 100, args, 12, &err), &err, "twelve arguments");
    check_slot(&slot, 100, args, 12, "all words");
    slot = dirty();
    works(vyre_prep_op(&slot, 100, NULL, 0, &err), &err, "no arguments");
    check_slot(&slot, 100, NULL, 0, "no words");

    static const uint32_t refused_opcodes[] = {0xFFF0,      0xFFFC,      0xFFFF,
                                               0x80000000u, 0x80000002u, 0xFFFFFFFEu};
    slot = dirty();
    for (size_t i = 0; i < sizeof refused_opcodes / sizeof refused_opcodes[0]; i++)
        refused(vyre_prep_op(&slot, refused_opcodes[i], args, 1, &err), VYRE_E_WIRE_OPCODE, &err,
                "opcode 0x%x cannot be published", refused_opcodes[i]);
    refused(vyre_prep_op(&slot, 100, args, 13, &err), VYRE_E_WIRE_ARGS, &err, "13 arguments");
    refused(vyre_prep_op(&slot, 100, NULL, 1, &err), VYRE_E_NULL, &err, "an argument from nowhere");
    check_untouched(&slot, "refused operations");
}

static void packed(void)
{
    vyre_error err;
    vyre_slot slot = dirty();
    uint32_t first[2] = {10, 32}, second[2] = {1, 64};
    vyre_packed_op ops[300] = {{1, 2, first}, {2, 2, second}};
    works(vyre_prep_packed(&slot, ops, 2, &err), &err, "two operations");
    check_slot(&slot, VYRE_OP_PACKED_SLOT, (uint32_t[]){0x00010402, 0x00000202, 10, 32, 1, 64}, 6,
               "PACKED_SLOT, byte by byte");
    slot = dirty();
    works(vyre_prep_packed(&slot, NULL, 0, &err), &err, "none");
    check_slot(&slot, VYRE_OP_PACKED_SLOT, NULL, 0, "an empty packed slot");

    slot = dirty();
    memset(ops, 0, sizeof ops);
    refused(vyre_prep_packed(&slot, ops, 256, &err), VYRE_E_WIRE_PACKED_COUNT, &err, "256");
    refused(vyre_prep_packed(&slot, ops, 24, &err), VYRE_E_WIRE_PACKED_HEADER, &err, "24");
    ops[0] = (vyre_packed_op){256, 0, NULL};
    refused(vyre_prep_packed(&slot, ops, 1, &err), VYRE_E_WIRE_OPCODE, &err, "no byte");
    uint32_t many[12] = {0};
    ops[0] = (vyre_packed_op){9, 12, many};
    refused(vyre_prep_packed(&slot, ops, 1, &err), VYRE_E_WIRE_PACKED_ARGS, &err, "no room");
    ops[0] = (vyre_packed_op){9, UINT32_MAX, many};
    refused(vyre_prep_packed(&slot, ops, 1, &err), VYRE_E_WIRE_PACKED_ARGS, &err, "far too many");
    ops[0] = (vyre_packed_op){9, 2, NULL};
    refused(vyre_prep_packed(&slot, ops, 1, &err), VYRE_E_NULL, &err, "arguments from nowhere");
    refused(vyre_prep_packed(&slot, NULL, 1, &err), VYRE_E_NULL, &err, "operations from nowhere");
    check_untouched(&slot, "refused packed slots");
}

static void refusals(void)
{
    vyre_error err;
    vyre_dfa_step step = {0};
    refused(vyre_prep_nop(NULL, &err), VYRE_E_NULL, &err, "nop: no slot");
    refused(vyre_prep_store_u32(NULL, FIRST, 0, &err), VYRE_E_NULL, &err, "store: no slot");
    refused(vyre_prep_atomic_add(NULL, FIRST, 0, &err), VYRE_E_NULL, &err, "add: no slot");
    refused(vyre_prep_load_u32(NULL, FIRST, 0, &err), VYRE_E_NULL, &err, "load: no slot");
    refused(vyre_prep_compare_swap(NULL, FIRST, 0, 0, &err), VYRE_E_NULL, &err, "swap: no slot");
    refused(vyre_prep_memcpy(NULL, FIRST, FIRST, 0, &err), VYRE_E_NULL, &err, "copy: no slot");
    refused(vyre_prep_dfa_step(NULL, &step, &err), VYRE_E_NULL, &err, "dfa: no slot");
    refused(vyre_prep_fence(NULL, 0, 0, &err), VYRE_E_NULL, &err, "fence: no slot");
    refused(vyre_prep_packed(NULL, NULL, 0, &err), VYRE_E_NULL, &err, "packed: no slot");
    refused(vyre_prep_printf(NULL, 0, 0, 0, &err), VYRE_E_NULL, &err, "printf: no slot");
    refused(vyre_prep_op(NULL, 0, NULL, 0, &err), VYRE_E_NULL, &err, "op: no slot");
    refused(vyre_slot_priority(NULL, 0, &err), VYRE_E_NULL, &err, "priority: no slot");

    vyre_slot slot = dirty();
    refused(vyre_prep_dfa_step(&slot, NULL, &err), VYRE_E_NULL, &err, "no step");
    step.reserved = 1;
    refused(vyre_prep_dfa_step(&slot, &step, &err), VYRE_E_RESERVED, &err, "a reserved word");
    step = (vyre_dfa_step){.offset = UINT64_MAX, .length = 1};
    refused(vyre_prep_dfa_step(&slot, &step, &err), VYRE_E_RANGE, &err, "past 64 bits");
    static const uint32_t low[] = {0, 1, FIRST - 1};
    for (size_t i = 0; i < 3; i++) {
        uint32_t word = low[i];
        refused(vyre_prep_store_u32(&slot, word, 0, &err), VYRE_E_RANGE, &err, "store %u", word);
        refused(vyre_prep_atomic_add(&slot, word, 0, &err), VYRE_E_RANGE, &err, "add %u", word);
        refused(vyre_prep_load_u32(&slot, word, 0, &err), VYRE_E_RANGE, &err, "load %u", word);
        refused(vyre_prep_compare_swap(&slot, word, 0, 0, &err), VYRE_E_RANGE, &err, "swap %u",
                word);
        refused(vyre_prep_memcpy(&slot, word, FIRST, 1, &err), VYRE_E_RANGE, &err, "from %u", word);
        refused(vyre_prep_memcpy(&slot, FIRST, word, 1, &err), VYRE_E_RANGE, &err, "to %u", word);
    }
    refused(vyre_prep_load_u32(&slot, FIRST, UINT32_MAX - FIRST + 1, &err), VYRE_E_RANGE, &err,
            "an observable past 32 bits");
    refused(vyre_prep_memcpy(&slot, UINT32_MAX, FIRST, 2, &err), VYRE_E_RANGE, &err,
            "a source past 32 bits");
    refused(vyre_prep_memcpy(&slot, FIRST, UINT32_MAX, 2, &err), VYRE_E_RANGE, &err,
            "a destination past 32 bits");
    check_untouched(&slot, "refused word operations");
}

static void priorities(void)
{
    vyre_error err;
    vyre_slot slot;
    must(vyre_prep_nop(&slot, &err), &err);
    for (uint32_t p = 0; p < VYRE_PRIORITIES; p++) {
        works(vyre_slot_priority(&slot, p, &err), &err, "priority %u", p);
        is_u64(slot.word[VYRE_SLOT_PRIORITY], p, "is in its word");
    }
    refused(vyre_slot_priority(&slot, 5, &err), VYRE_E_RANGE, &err, "priority 5");
    refused(vyre_slot_priority(&slot, UINT32_MAX, &err), VYRE_E_RANGE, &err, "priority 2^32 - 1");
    is_u64(slot.word[VYRE_SLOT_PRIORITY], 4, "the last one stays");
}

/* Deadlines and marks belong to slots that were got from this queue and not yet submitted. */
static void slot_marks(void)
{
    vyre *rt = open_cpu(1);
    vyre_queue *queue = vyre_queue_default(rt), *other = open_queue(rt, 8, 0);
    vyre_error err;
    vyre_slot *slot = next_slot(queue), *early = next_slot(other), strange;
    must(vyre_prep_nop(slot, &err), &err);
    must(vyre_prep_nop(early, &err), &err);
    submit(other);
    wait_for(other, 0);
    vyre_slot *wrong[] = {early, &strange, slot + 1, slot - 1,
                          (vyre_slot *)(void *)((char *)slot + 4)};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        refused(vyre_slot_deadline(queue, wrong[i], 1, &err), VYRE_E_RANGE, &err,
                "deadline: not such a slot (%zu)", i);
        refused(vyre_slot_repeatable(queue, wrong[i], &err), VYRE_E_RANGE, &err,
                "mark: not such a slot (%zu)", i);
    }
    refused(vyre_slot_deadline(other, early, 1, &err), VYRE_E_RANGE, &err, "submitted already");
    refused(vyre_slot_deadline(NULL, slot, 1, &err), VYRE_E_NULL, &err, "deadline: no queue");
    refused(vyre_slot_deadline(queue, NULL, 1, &err), VYRE_E_NULL, &err, "deadline: no slot");
    refused(vyre_slot_repeatable(NULL, slot, &err), VYRE_E_NULL, &err, "mark: no queue");
    refused(vyre_slot_repeatable(queue, NULL, &err), VYRE_E_NULL, &err, "mark: no slot");

    works(vyre_slot_repeatable(queue, slot, &err), &err, "a mark");
    must(vyre_prep_nop(next_slot(queue), &err), &err);
    uint64_t first = submit(queue);
    is_u64(wait_for(queue, first).flags, VYRE_COMPLETION_REPEATABLE, "it shows in the completion");
    is_u64(wait_for(queue, first + 1).flags, 0, "and in no other");
    for (uint32_t i = 0; i < vyre_queue_capacity(queue); i++) {
        must(vyre_prep_nop(next_slot(queue), &err), &err);
        if (wait_for(queue, submit(queue)).flags != 0) ok(0, "slot %u of the next lap has it", i);
    }
    vyre_close(rt);
}

int main(void)
{
    word_operations();
    other_operations();
    packed();
    refusals();
    priorities();
    slot_marks();
    return done();
}
