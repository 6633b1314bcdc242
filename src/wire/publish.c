/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Publishing into a ring: one slot, a batch with or without a fence, work items, a window.
 *
 * The invariant: every check of a call is made before its first store, so either all of its slots
 * are published or the ring is as it was. Each slot is written whole (arguments that are not given
 * are 0, so no word of an earlier use is left), its status word last. Public.
 */
#include <string.h>

#include "base/checked.h"
#include "wire/bytes.h"
#include "wire/opcode.h"

/* What goes into one slot. `head` are arguments before those of the operation. */
struct content {
    uint32_t tenant;
    uint32_t opcode;
    const uint32_t *head;
    size_t head_count;
    const uint32_t *args;
    size_t arg_count;
};

static void put_slot(void *bytes, size_t index, const struct content *content)
{
    unsigned char *slot = (unsigned char *)bytes + index * VYRE_SLOT_BYTES;
    size_t word = VYRE_SLOT_ARG0;

    vyre_bytes_set_word(slot, VYRE_SLOT_OPCODE, content->opcode);
    vyre_bytes_set_word(slot, VYRE_SLOT_TENANT, content->tenant);
    vyre_bytes_set_word(slot, VYRE_SLOT_PRIORITY, VYRE_PRIORITY_NORMAL);
    for (size_t i = 0; i < content->head_count; i++)
        vyre_bytes_set_word(slot, word++, content->head[i]);
    for (size_t i = 0; i < content->arg_count; i++)
        vyre_bytes_set_word(slot, word++, content->args[i]);
    while (word < VYRE_SLOT_WORDS)
        vyre_bytes_set_word(slot, word++, 0);
    vyre_bytes_set_word(slot, VYRE_SLOT_STATUS, VYRE_SLOT_PUBLISHED);
}

static vyre_status check_room(size_t length, size_t first, size_t count, vyre_error *err)
{
    size_t end;
    if (!vyre_add_size(first, count, &end))
        return vyre_fail(err, VYRE_E_OVERFLOW, "%zu slots from slot %zu on", count, first);
    if (end > length / VYRE_SLOT_BYTES)
        return vyre_fail_at(err, VYRE_E_WIRE_CAPACITY, VYRE_PLACE_SLOT, first,
                            "%zu slots from slot %zu on, the ring has %zu", count, first,
                            length / VYRE_SLOT_BYTES);
    return VYRE_OK;
}

static vyre_status check_opcode(uint32_t opcode, size_t place, vyre_error *err)
{
    if (vyre_opcode_is_publishable(opcode)) return VYRE_OK;
    return vyre_fail_at(err, VYRE_E_WIRE_OPCODE, VYRE_PLACE_ARGUMENT, place,
                        "operation %zu has the opcode 0x%08X, which is reserved", place, opcode);
}

/* place: of the first operation in the caller's count. */
static vyre_status check_ops(const vyre_wire_op *ops, size_t count, size_t place, vyre_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (ops[i].arg_count > VYRE_SLOT_ARGS)
            return vyre_fail_at(err, VYRE_E_WIRE_ARGS, VYRE_PLACE_ARGUMENT, place + i,
                                "operation %zu has %u arguments, at most %u", place + i,
                                ops[i].arg_count, VYRE_SLOT_ARGS);
        if (!ops[i].args && ops[i].arg_count != 0)
            return vyre_fail_at(err, VYRE_E_NULL, VYRE_PLACE_ARGUMENT, place + i,
                                "args of operation %zu is NULL with %u arguments", place + i,
                                ops[i].arg_count);
        vyre_status status = check_opcode(ops[i].opcode, place + i, err);
        if (status) return status;
    }
    return VYRE_OK;
}

static vyre_status check_free(const void *bytes, size_t first, size_t count, vyre_error *err)
{
    for (size_t slot = first; slot < first + count; slot++) {
        uint32_t state = vyre_bytes_get32(bytes, slot * VYRE_SLOT_BYTES);
        if (state != VYRE_SLOT_EMPTY && state != VYRE_SLOT_DONE)
            return vyre_fail_at(err, VYRE_E_WIRE_SLOT_BUSY, VYRE_PLACE_SLOT, slot,
                                "slot %zu has status %u, neither EMPTY nor DONE", slot, state);
    }
    return VYRE_OK;
}

/* All checks of a batch that takes `slots` slots, the fence among them. */
static vyre_status check_batch(const void *bytes, size_t length, const vyre_wire_batch *batch,
                               size_t slots, vyre_error *err)
{
    vyre_status status = check_room(length, batch->first_slot, slots, err);
    if (status) return status;
    status = check_ops(batch->ops, batch->count, 0, err);
    if (status) return status;
    return check_free(bytes, batch->first_slot, slots, err);
}

static vyre_status check_batch_pointers(const void *bytes, size_t length,
                                        const vyre_wire_batch *batch, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(batch, "batch", err);
    if (status) return status;
    status = vyre_bytes_check_list(batch->ops, batch->count, "batch->ops", err);
    if (status) return status;
    return vyre_bytes_check_ring(bytes, length, err);
}

static void put_batch(void *bytes, const vyre_wire_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct content content = {batch->tenant,      batch->ops[i].opcode,   NULL, 0,
                                  batch->ops[i].args, batch->ops[i].arg_count};
        put_slot(bytes, batch->first_slot + i, &content);
    }
}

vyre_status vyre_wire_batch_publish(void *bytes, size_t length, const vyre_wire_batch *batch,
                                    vyre_error *err)
{
    vyre_status status = check_batch_pointers(bytes, length, batch, err);
    if (status) return status;
    status = check_batch(bytes, length, batch, batch->count, err);
    if (status) return status;
    put_batch(bytes, batch);
    return VYRE_OK;
}

vyre_status vyre_wire_batch_publish_fenced(void *bytes, size_t length, const vyre_wire_batch *batch,
                                           size_t *published, vyre_error *err)
{
    size_t slots;
    vyre_status status = vyre_bytes_check_pointer(published, "published", err);
    if (status) return status;
    status = check_batch_pointers(bytes, length, batch, err);
    if (status) return status;
    if (!vyre_add_size(batch->count, 1, &slots))
        return vyre_fail(err, VYRE_E_OVERFLOW, "%zu operations and a fence", batch->count);
    status = check_batch(bytes, length, batch, slots, err);
    if (status) return status;

    put_batch(bytes, batch);
    /* The count fits a word: a ring has fewer than 2^28 slots. */
    uint32_t args[2] = {(uint32_t)batch->count, batch->tag};
    struct content fence = {batch->tenant, VYRE_OP_BATCH_FENCE, NULL, 0, args, 2};
    put_slot(bytes, batch->first_slot + batch->count, &fence);
    *published = slots;
    return VYRE_OK;
}

vyre_status vyre_wire_slot_publish(void *bytes, size_t length, size_t index, uint32_t tenant,
                                   const vyre_wire_op *op, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(op, "op", err);
    if (status) return status;
    status = vyre_bytes_check_ring(bytes, length, err);
    if (status) return status;
    if (index >= length / VYRE_SLOT_BYTES)
        return vyre_fail_at(err, VYRE_E_WIRE_SLOT_INDEX, VYRE_PLACE_SLOT, index,
                            "slot %zu of a ring of %zu", index, length / VYRE_SLOT_BYTES);
    vyre_wire_batch batch = {index, tenant, 0, op, 1};
    return vyre_wire_batch_publish(bytes, length, &batch, err);
}

static vyre_status check_payloads(const vyre_wire_op *ops, size_t count, size_t place,
                                  vyre_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (ops[i].arg_count > VYRE_WINDOW_PAYLOAD)
            return vyre_fail_at(err, VYRE_E_WIRE_WINDOW_PAYLOAD, VYRE_PLACE_ARGUMENT, place + i,
                                "operation %zu has %u payload words, at most %u", place + i,
                                ops[i].arg_count, VYRE_WINDOW_PAYLOAD);
    return check_ops(ops, count, place, err);
}

static vyre_status check_window(const void *bytes, size_t length, const vyre_wire_window *window,
                                vyre_error *err)
{
    size_t slots;
    vyre_status status = vyre_bytes_check_pointer(window, "window", err);
    if (status) return status;
    status =
        vyre_bytes_check_list(window->required, window->required_count, "window->required", err);
    if (status) return status;
    status =
        vyre_bytes_check_list(window->lookahead, window->lookahead_count, "window->lookahead", err);
    if (status) return status;
    status = vyre_bytes_check_ring(bytes, length, err);
    if (status) return status;
    if (!vyre_add_size(window->required_count, window->lookahead_count, &slots))
        return vyre_fail(err, VYRE_E_OVERFLOW, "%zu required and %zu lookahead operations",
                         window->required_count, window->lookahead_count);
    status = check_room(length, window->first_slot, slots, err);
    if (status) return status;
    status = check_payloads(window->required, window->required_count, 0, err);
    if (status) return status;
    status =
        check_payloads(window->lookahead, window->lookahead_count, window->required_count, err);
    if (status) return status;
    return check_free(bytes, window->first_slot, slots, err);
}

vyre_status vyre_wire_window_publish(void *bytes, size_t length, const vyre_wire_window *window,
                                     vyre_error *err)
{
    vyre_status status = check_window(bytes, length, window, err);
    if (status) return status;

    size_t required = window->required_count;
    for (size_t i = 0; i < required + window->lookahead_count; i++) {
        const vyre_wire_op *op =
            i < required ? &window->required[i] : &window->lookahead[i - required];
        uint32_t head[2] = {window->ticket,
                            i < required ? VYRE_WINDOW_REQUIRED : VYRE_WINDOW_LOOKAHEAD};
        struct content content = {window->tenant, op->opcode, head, 2, op->args, op->arg_count};
        put_slot(bytes, window->first_slot + i, &content);
    }
    return VYRE_OK;
}

static vyre_status check_work(const vyre_wire_work *work, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(work, "work", err);
    if (status) return status;
    return vyre_bytes_check_list(work->items, work->count, "work->items", err);
}

static vyre_status check_items(const vyre_wire_work *work, vyre_error *err)
{
    for (size_t i = 0; i < work->count; i++) {
        vyre_status status = check_opcode(work->items[i].opcode, i, err);
        if (status) return status;
    }
    return VYRE_OK;
}

static void put_items(void *bytes, const vyre_wire_work *work)
{
    for (size_t i = 0; i < work->count; i++) {
        const vyre_wire_item *item = &work->items[i];
        uint32_t args[3] = {item->input, item->output, item->param};
        struct content content = {work->tenant, item->opcode, NULL, 0, args, 3};
        put_slot(bytes, work->first_slot + i, &content);
    }
}

vyre_status vyre_wire_work_publish(void *bytes, size_t length, const vyre_wire_work *work,
                                   vyre_error *err)
{
    vyre_status status = check_work(work, err);
    if (status) return status;
    status = check_items(work, err);
    if (status) return status;
    status = vyre_bytes_check_ring(bytes, length, err);
    if (status) return status;
    status = check_room(length, work->first_slot, work->count, err);
    if (status) return status;
    status = check_free(bytes, work->first_slot, work->count, err);
    if (status) return status;
    put_items(bytes, work);
    return VYRE_OK;
}

vyre_status vyre_wire_work_encode(void *bytes, size_t length, const vyre_wire_work *work,
                                  vyre_error *err)
{
    vyre_status status = check_work(work, err);
    if (status) return status;
    status = vyre_bytes_check_ring(bytes, length, err);
    if (status) return status;
    status = check_room(length, work->first_slot, work->count, err);
    if (status) return status;
    status = check_items(work, err);
    if (status) return status;
    status = vyre_bytes_check_cap(length / VYRE_SLOT_BYTES, "slots", err);
    if (status) return status;
    if (length != 0) memset(bytes, 0, length);
    put_items(bytes, work);
    return VYRE_OK;
}
