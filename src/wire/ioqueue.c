/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The I/O queue: up to 64 requests that a device writes and a pump on the host serves, as an image
 * in bytes. Each slot goes EMPTY, PUBLISHED, CLAIMED, then OK or ERROR (or DONE where a device
 * serves itself), and back to EMPTY by vyre_wire_io_recycle. Calls that move several slots check
 * all of them before the first store. Public.
 */
#include <string.h>

#include "wire/bytes.h"

static vyre_status check_queue(const void *bytes, size_t length, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_words(bytes, length, err);
    if (status) return status;
    if (length % VYRE_IO_SLOT_BYTES != 0)
        return vyre_fail_at(err, VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE,
                            length - length % VYRE_IO_SLOT_BYTES,
                            "the I/O queue has %zu bytes: %zu slots and %zu bytes over", length,
                            length / VYRE_IO_SLOT_BYTES, length % VYRE_IO_SLOT_BYTES);
    if (length / VYRE_IO_SLOT_BYTES > VYRE_IO_SLOTS)
        return vyre_fail(err, VYRE_E_WIRE_IO_SLOTS, "the I/O queue has %zu slots, at most %u",
                         length / VYRE_IO_SLOT_BYTES, VYRE_IO_SLOTS);
    return VYRE_OK;
}

static vyre_status check_index(size_t length, size_t index, vyre_error *err)
{
    if (index < length / VYRE_IO_SLOT_BYTES) return VYRE_OK;
    return vyre_fail_at(err, VYRE_E_WIRE_IO_INDEX, VYRE_PLACE_SLOT, index,
                        "I/O slot %zu of a queue of %zu", index, length / VYRE_IO_SLOT_BYTES);
}

static uint32_t get(const void *bytes, size_t index, uint32_t word)
{
    return vyre_bytes_word(bytes, index * VYRE_IO_SLOT_WORDS + word);
}

static void put(void *bytes, size_t index, uint32_t word, uint32_t value)
{
    vyre_bytes_set_word(bytes, index * VYRE_IO_SLOT_WORDS + word, value);
}

static void copy_out(const void *bytes, size_t index, vyre_wire_io *io)
{
    io->slot = (uint32_t)index;
    io->op = get(bytes, index, VYRE_IO_OP);
    io->status = get(bytes, index, VYRE_IO_STATUS);
    io->source = get(bytes, index, VYRE_IO_SOURCE);
    io->destination = get(bytes, index, VYRE_IO_DESTINATION);
    io->count = get(bytes, index, VYRE_IO_COUNT);
    io->tag = get(bytes, index, VYRE_IO_TAG);
    io->offset = (uint64_t)get(bytes, index, VYRE_IO_OFFSET_LOW) |
                 (uint64_t)get(bytes, index, VYRE_IO_OFFSET_HIGH) << 32;
}

vyre_status vyre_wire_io_size(size_t slots, size_t *bytes, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(bytes, "bytes", err);
    if (status) return status;
    if (slots > VYRE_IO_SLOTS)
        return vyre_fail(err, VYRE_E_WIRE_IO_SLOTS, "%zu I/O slots, at most %u", slots,
                         VYRE_IO_SLOTS);
    *bytes = slots * VYRE_IO_SLOT_BYTES;
    return VYRE_OK;
}

vyre_status vyre_wire_io_encode(void *bytes, size_t length, size_t slots, vyre_error *err)
{
    if (slots == 0 || slots > VYRE_IO_SLOTS)
        return vyre_fail(err, VYRE_E_WIRE_IO_SLOTS, "%zu I/O slots, 1 to %u", slots, VYRE_IO_SLOTS);
    vyre_status status =
        vyre_bytes_check_exact(bytes, length, slots * VYRE_IO_SLOT_BYTES, "the I/O queue", err);
    if (status) return status;
    memset(bytes, 0, length);
    return VYRE_OK;
}

vyre_status vyre_wire_io_read(const void *bytes, size_t length, size_t index, vyre_wire_io *io,
                              vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(io, "io", err);
    if (status) return status;
    status = check_queue(bytes, length, err);
    if (status) return status;
    status = check_index(length, index, err);
    if (status) return status;
    copy_out(bytes, index, io);
    return VYRE_OK;
}

static vyre_status check_status(const void *bytes, size_t index, uint32_t wanted, vyre_error *err)
{
    uint32_t state = get(bytes, index, VYRE_IO_STATUS);
    if (state == wanted) return VYRE_OK;
    return vyre_fail_at(err, VYRE_E_WIRE_IO_STATUS, VYRE_PLACE_SLOT, index,
                        "I/O slot %zu has status 0x%X, this call starts from 0x%X", index, state,
                        wanted);
}

vyre_status vyre_wire_io_publish(void *bytes, size_t length, size_t index,
                                 const vyre_wire_io *request, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(request, "request", err);
    if (status) return status;
    status = check_queue(bytes, length, err);
    if (status) return status;
    status = check_index(length, index, err);
    if (status) return status;
    if (request->op < VYRE_IO_READ || request->op > VYRE_IO_FENCE)
        return vyre_fail_at(err, VYRE_E_WIRE_IO_OP, VYRE_PLACE_WORD, VYRE_IO_OP,
                            "I/O operation %u, 1 to 3", request->op);
    status = check_status(bytes, index, VYRE_IO_EMPTY, err);
    if (status) return status;

    put(bytes, index, VYRE_IO_OP, request->op);
    put(bytes, index, VYRE_IO_SOURCE, request->source);
    put(bytes, index, VYRE_IO_DESTINATION, request->destination);
    put(bytes, index, VYRE_IO_OFFSET_LOW, (uint32_t)request->offset);
    put(bytes, index, VYRE_IO_OFFSET_HIGH, (uint32_t)(request->offset >> 32));
    put(bytes, index, VYRE_IO_COUNT, request->count);
    put(bytes, index, VYRE_IO_TAG, request->tag);
    put(bytes, index, VYRE_IO_STATUS, VYRE_IO_PUBLISHED);
    return VYRE_OK;
}

vyre_status vyre_wire_io_poll(const void *bytes, size_t length, vyre_wire_io *requests, size_t max,
                              size_t *count, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(count, "count", err);
    if (status) return status;
    status = vyre_bytes_check_list(requests, max, "requests", err);
    if (status) return status;
    status = check_queue(bytes, length, err);
    if (status) return status;

    size_t found = 0;
    for (size_t index = 0; index < length / VYRE_IO_SLOT_BYTES && found < max; index++)
        if (get(bytes, index, VYRE_IO_STATUS) == VYRE_IO_PUBLISHED)
            copy_out(bytes, index, &requests[found++]);
    *count = found;
    return VYRE_OK;
}

vyre_status vyre_wire_io_claim(void *bytes, size_t length, vyre_wire_io *requests, size_t max,
                               size_t *count, vyre_error *err)
{
    vyre_status status = vyre_wire_io_poll(bytes, length, requests, max, count, err);
    if (status) return status;
    for (size_t i = 0; i < *count; i++)
        put(bytes, requests[i].slot, VYRE_IO_STATUS, VYRE_IO_CLAIMED);
    return VYRE_OK;
}

vyre_status vyre_wire_io_complete(void *bytes, size_t length, const vyre_wire_io_end *ends,
                                  size_t count, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_list(ends, count, "ends", err);
    if (status) return status;
    status = check_queue(bytes, length, err);
    if (status) return status;

    uint64_t seen = 0; /* one bit a slot */
    for (size_t i = 0; i < count; i++) {
        status = check_index(length, ends[i].slot, err);
        if (status) return status;
        status = check_status(bytes, ends[i].slot, VYRE_IO_CLAIMED, err);
        if (status) return status;
        if (seen >> ends[i].slot & 1)
            return vyre_fail_at(err, VYRE_E_WIRE_IO_TWICE, VYRE_PLACE_ARGUMENT, i,
                                "end %zu names I/O slot %u again", i, ends[i].slot);
        seen |= UINT64_C(1) << ends[i].slot;
    }
    for (size_t i = 0; i < count; i++)
        put(bytes, ends[i].slot, VYRE_IO_STATUS, ends[i].success ? VYRE_IO_OK : VYRE_IO_ERROR);
    return VYRE_OK;
}

vyre_status vyre_wire_io_recycle(void *bytes, size_t length, size_t index, vyre_error *err)
{
    vyre_status status = check_queue(bytes, length, err);
    if (status) return status;
    status = check_index(length, index, err);
    if (status) return status;
    uint32_t state = get(bytes, index, VYRE_IO_STATUS);
    if (state != VYRE_IO_DONE && state != VYRE_IO_OK && state != VYRE_IO_ERROR) {
        status =
            vyre_fail_at(err, VYRE_E_WIRE_IO_STATUS, VYRE_PLACE_SLOT, index,
                         "I/O slot %zu has status 0x%X, neither DONE, OK nor ERROR", index, state);
        vyre_fail_fix(err, "complete the slot first");
        return status;
    }
    memset((unsigned char *)bytes + index * VYRE_IO_SLOT_BYTES, 0, VYRE_IO_SLOT_BYTES);
    return VYRE_OK;
}
