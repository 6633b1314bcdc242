/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Preparing slots: each function checks its arguments, then fills all 16 words of the slot at once.
 */
#include "base/error.h"
#include "vyre/queue.h"
#include "wire/opcode.h"
#include "wire/sealing.h"

/*
 * Fills the slot; the arguments that are not given are 0. Straight into the ring, and in few
 * stores: the line is still with the device, so each store waits for it in the core's store buffer,
 * and the fewer a slot needs there, the more slots wait at the same time.
 */
static inline void fill(vyre_slot *slot, uint32_t opcode, const uint32_t *args, size_t count)
{
    const vyre_four_words none = {0, 0, 0, 0};
    vyre_four_words *out = (vyre_four_words *)(void *)slot->word;
    out[0] = (vyre_four_words){VYRE_SLOT_PUBLISHED, opcode,
                               vyre_sealing_fill(slot, opcode, args, count), VYRE_PRIORITY_NORMAL};
    for (size_t i = 1; i < VYRE_SLOT_WORDS / 4; i++)
        out[i] = none;
    for (size_t i = 0; i < count; i++)
        slot->word[VYRE_SLOT_ARG0 + i] = args[i];
}

static vyre_status slot_is_null(vyre_error *err)
{
    vyre_fail(err, VYRE_E_NULL, "slot is null");
    vyre_fail_fix(err, "vyre_queue_slot returns NULL when the queue is full: submit, then reap");
    return VYRE_E_NULL;
}

static vyre_status check_word(uint32_t word, uint32_t place, vyre_error *err)
{
    if (word >= VYRE_CONTROL_OBSERVABLE) return VYRE_OK;
    vyre_fail_at(err, VYRE_E_RANGE, VYRE_PLACE_ARGUMENT, place,
                 "word %u belongs to the control header; observable words begin at %u", word,
                 VYRE_CONTROL_OBSERVABLE);
    vyre_fail_fix(err, "use VYRE_CONTROL_OBSERVABLE + %u for observable word %u", word, word);
    return VYRE_E_RANGE;
}

vyre_status vyre_prep_nop(vyre_slot *slot, vyre_error *err)
{
    if (!slot) return slot_is_null(err);
    fill(slot, VYRE_OP_NOP, NULL, 0);
    return VYRE_OK;
}

vyre_status vyre_prep_store_u32(vyre_slot *slot, uint32_t word, uint32_t value, vyre_error *err)
{
    const uint32_t args[] = {value, word};
    if (!slot) return slot_is_null(err);
    vyre_status status = check_word(word, 1, err);
    if (!status) fill(slot, VYRE_OP_STORE_U32, args, 2);
    return status;
}

vyre_status vyre_prep_atomic_add(vyre_slot *slot, uint32_t word, uint32_t addend, vyre_error *err)
{
    const uint32_t args[] = {addend, word};
    if (!slot) return slot_is_null(err);
    vyre_status status = check_word(word, 1, err);
    if (!status) fill(slot, VYRE_OP_ATOMIC_ADD, args, 2);
    return status;
}

vyre_status vyre_prep_load_u32(vyre_slot *slot, uint32_t word, uint32_t observable, vyre_error *err)
{
    const uint32_t args[] = {word, observable};
    if (!slot) return slot_is_null(err);
    vyre_status status = check_word(word, 0, err);
    if (!status && observable > UINT32_MAX - VYRE_CONTROL_OBSERVABLE)
        status = vyre_fail_at(err, VYRE_E_RANGE, VYRE_PLACE_ARGUMENT, 1,
                              "observable word %u lies past 32 bits", observable);
    if (!status) fill(slot, VYRE_OP_LOAD_U32, args, 2);
    return status;
}

vyre_status vyre_prep_compare_swap(vyre_slot *slot, uint32_t word, uint32_t expected,
                                   uint32_t desired, vyre_error *err)
{
    const uint32_t args[] = {word, expected, desired};
    if (!slot) return slot_is_null(err);
    vyre_status status = check_word(word, 0, err);
    if (!status) fill(slot, VYRE_OP_COMPARE_SWAP, args, 3);
    return status;
}

vyre_status vyre_prep_memcpy(vyre_slot *slot, uint32_t from, uint32_t to, uint32_t count,
                             vyre_error *err)
{
    const uint32_t args[] = {from, to, count};
    if (!slot) return slot_is_null(err);
    vyre_status status = check_word(from, 0, err);
    if (!status) status = check_word(to, 1, err);
    if (!status && (count > UINT32_MAX - from || count > UINT32_MAX - to))
        status = vyre_fail_at(err, VYRE_E_RANGE, VYRE_PLACE_ARGUMENT, 2,
                              "%u words from %u to %u reach past 32 bits", count, from, to);
    if (!status) fill(slot, VYRE_OP_MEMCPY, args, 3);
    return status;
}

vyre_status vyre_prep_dfa_step(vyre_slot *slot, const vyre_dfa_step *step, vyre_error *err)
{
    if (!slot) return slot_is_null(err);
    if (!step) return vyre_fail(err, VYRE_E_NULL, "step is null");
    if (step->reserved != 0)
        return vyre_fail(err, VYRE_E_RESERVED, "the reserved word is %u, not 0", step->reserved);
    if (step->length > UINT64_MAX - step->offset)
        return vyre_fail(err, VYRE_E_RANGE, "offset and length reach past 64 bits");
    const uint32_t args[] = {step->table,
                             step->state,
                             step->input,
                             (uint32_t)step->offset,
                             (uint32_t)(step->offset >> 32),
                             step->length};
    fill(slot, VYRE_OP_DFA_STEP, args, 6);
    return VYRE_OK;
}

vyre_status vyre_prep_fence(vyre_slot *slot, uint32_t item_count, uint32_t tag, vyre_error *err)
{
    const uint32_t args[] = {item_count, tag};
    if (!slot) return slot_is_null(err);
    fill(slot, VYRE_OP_BATCH_FENCE, args, 2);
    return VYRE_OK;
}

vyre_status vyre_prep_packed(vyre_slot *slot, const vyre_packed_op *ops, size_t count,
                             vyre_error *err)
{
    uint32_t args[VYRE_SLOT_ARGS];
    size_t arg_count = 0;
    if (!slot) return slot_is_null(err);
    vyre_status status = vyre_wire_packed_encode(ops, count, args, &arg_count, err);
    if (!status) fill(slot, VYRE_OP_PACKED_SLOT, args, arg_count);
    return status;
}

vyre_status vyre_prep_printf(vyre_slot *slot, uint32_t format, uint32_t a, uint32_t b,
                             vyre_error *err)
{
    const uint32_t args[] = {format, a, b};
    if (!slot) return slot_is_null(err);
    fill(slot, VYRE_OP_PRINTF, args, 3);
    return VYRE_OK;
}

vyre_status vyre_prep_op(vyre_slot *slot, uint32_t opcode, const uint32_t *args, size_t arg_count,
                         vyre_error *err)
{
    if (!slot) return slot_is_null(err);
    if (arg_count > VYRE_SLOT_ARGS)
        return vyre_fail(err, VYRE_E_WIRE_ARGS, "%zu arguments; a slot holds %u", arg_count,
                         VYRE_SLOT_ARGS);
    if (!args && arg_count != 0) return vyre_fail(err, VYRE_E_NULL, "args is null");
    if (!vyre_opcode_is_publishable(opcode))
        return vyre_fail(err, VYRE_E_WIRE_OPCODE, "opcode %u (0x%x) cannot be published", opcode,
                         opcode);
    fill(slot, opcode, args, arg_count);
    return VYRE_OK;
}

vyre_status vyre_slot_priority(vyre_slot *slot, uint32_t priority, vyre_error *err)
{
    if (!slot) return slot_is_null(err);
    if (priority >= VYRE_PRIORITIES)
        return vyre_fail(err, VYRE_E_RANGE, "priority is %u; 0 is critical, 4 is idle", priority);
    slot->word[VYRE_SLOT_PRIORITY] = priority;
    slot->word[VYRE_SLOT_TENANT] = 0; /* what was there was a seal of other words */
    return VYRE_OK;
}
