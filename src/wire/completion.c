/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The completion entry in bytes. Strict both ways: an entry is DONE without a fault, or FAULT with
 * a fault of fault.def, and has a lap; what decode accepts, encode gives back bit for bit. Public.
 * The reaping side of a queue reads its ring by words of its own and shares completion.h.
 */
#include "wire/completion.h"

#include "wire/bytes.h"

static_assert(sizeof(vyre_completion) == 64, "a completion is as large as its entry");

static int is_fault(uint32_t fault)
{
    switch (fault) {
#define VYRE_FAULT(name, value, text) case (value):
#include "vyre/fault.def"
#undef VYRE_FAULT
        return fault != VYRE_FAULT_NONE;
    default:
        return 0;
    }
}

/* The status word of what the caller says; a contradiction is refused. */
static vyre_status status_word(const vyre_completion *completion, uint32_t *word, vyre_error *err)
{
    uint32_t outcome = completion->outcome;
    uint32_t fault = completion->fault;
    if (outcome != VYRE_DONE && outcome != VYRE_FAULTED && outcome != VYRE_CANCELLED)
        return vyre_fail(err, VYRE_E_WIRE_COMPLETION, "no entry says the outcome %u", outcome);
    uint32_t made = outcome == VYRE_DONE ? vyre_completion_word_of(VYRE_SLOT_DONE, fault)
                                         : vyre_completion_word_of(VYRE_SLOT_FAULT, fault);
    int fits = outcome == VYRE_DONE
                   ? fault == VYRE_FAULT_NONE
                   : is_fault(fault) && vyre_completion_outcome_of(made) == outcome;
    if (!fits)
        return vyre_fail_at(err, VYRE_E_WIRE_COMPLETION_FAULT, VYRE_PLACE_WORD,
                            VYRE_COMPLETION_STATUS, "fault %u (%s) with the outcome %u", fault,
                            vyre_fault_name(fault), outcome);
    *word = made;
    return VYRE_OK;
}

vyre_status vyre_wire_completion_encode(void *bytes, size_t length,
                                        const vyre_completion *completion, uint32_t lap,
                                        vyre_error *err)
{
    uint32_t word = 0;
    vyre_status status = vyre_bytes_check_pointer(completion, "completion", err);
    if (status) return status;
    status =
        vyre_bytes_check_exact(bytes, length, VYRE_COMPLETION_BYTES, "a completion entry", err);
    if (status) return status;
    status = status_word(completion, &word, err);
    if (status) return status;
    if (lap == 0)
        return vyre_fail_at(err, VYRE_E_WIRE_COMPLETION_LAP, VYRE_PLACE_WORD, VYRE_COMPLETION_LAP,
                            "an entry with the lap 0 cannot be told from an empty place");

    vyre_bytes_set_word(bytes, VYRE_COMPLETION_TICKET_LOW, (uint32_t)completion->ticket);
    vyre_bytes_set_word(bytes, VYRE_COMPLETION_TICKET_HIGH, (uint32_t)(completion->ticket >> 32));
    vyre_bytes_set_word(bytes, VYRE_COMPLETION_STATUS, word);
    vyre_bytes_set_word(bytes, VYRE_COMPLETION_PROGRAM, completion->opcode);
    vyre_bytes_set_word(bytes, VYRE_COMPLETION_PC, completion->pc);
    vyre_bytes_set_word(bytes, VYRE_COMPLETION_OUT_OF_BOUNDS, completion->out_of_bounds);
    vyre_bytes_set_word(bytes, VYRE_COMPLETION_STEPS, completion->steps);
    for (size_t i = 0; i < VYRE_COMPLETION_RESULTS; i++)
        vyre_bytes_set_word(bytes, VYRE_COMPLETION_RESULT0 + i, completion->result[i]);
    vyre_bytes_set_word(bytes, VYRE_COMPLETION_LAP, lap);
    return VYRE_OK;
}

static vyre_status check_entry(const void *bytes, vyre_error *err)
{
    uint32_t word = vyre_bytes_word(bytes, VYRE_COMPLETION_STATUS);
    uint32_t slot_status = vyre_completion_status_of(word);
    uint32_t fault = vyre_completion_fault_of(word);
    if (vyre_bytes_word(bytes, VYRE_COMPLETION_LAP) == 0)
        return vyre_fail_at(err, VYRE_E_WIRE_COMPLETION_LAP, VYRE_PLACE_WORD, VYRE_COMPLETION_LAP,
                            "the entry's lap is 0");
    if (slot_status != VYRE_SLOT_DONE && slot_status != VYRE_SLOT_FAULT)
        return vyre_fail_at(err, VYRE_E_WIRE_COMPLETION, VYRE_PLACE_WORD, VYRE_COMPLETION_STATUS,
                            "the entry's status is %u, neither DONE nor FAULT", slot_status);
    if (slot_status == VYRE_SLOT_DONE ? fault != VYRE_FAULT_NONE : !is_fault(fault))
        return vyre_fail_at(err, VYRE_E_WIRE_COMPLETION_FAULT, VYRE_PLACE_WORD,
                            VYRE_COMPLETION_STATUS, "fault %u (%s) with the status %u", fault,
                            vyre_fault_name(fault), slot_status);
    return VYRE_OK;
}

vyre_status vyre_wire_completion_decode(const void *bytes, size_t length,
                                        vyre_completion *completion, uint32_t *lap, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(completion, "completion", err);
    if (status) return status;
    status = vyre_bytes_check_pointer(lap, "lap", err);
    if (status) return status;
    status =
        vyre_bytes_check_exact(bytes, length, VYRE_COMPLETION_BYTES, "a completion entry", err);
    if (status) return status;
    status = check_entry(bytes, err);
    if (status) return status;

    uint32_t word = vyre_bytes_word(bytes, VYRE_COMPLETION_STATUS);
    completion->ticket = vyre_bytes_get64(bytes, 4 * VYRE_COMPLETION_TICKET_LOW);
    completion->outcome = (uint16_t)vyre_completion_outcome_of(word);
    completion->fault = (uint16_t)vyre_completion_fault_of(word);
    completion->opcode = vyre_bytes_word(bytes, VYRE_COMPLETION_PROGRAM);
    completion->pc = vyre_bytes_word(bytes, VYRE_COMPLETION_PC);
    completion->out_of_bounds = vyre_bytes_word(bytes, VYRE_COMPLETION_OUT_OF_BOUNDS);
    completion->steps = vyre_bytes_word(bytes, VYRE_COMPLETION_STEPS);
    completion->flags = 0;
    for (size_t i = 0; i < VYRE_COMPLETION_RESULTS; i++)
        completion->result[i] = vyre_bytes_word(bytes, VYRE_COMPLETION_RESULT0 + i);
    *lap = vyre_bytes_word(bytes, VYRE_COMPLETION_LAP);
    return VYRE_OK;
}
