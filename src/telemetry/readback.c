/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The four buffers that come back from a device: judged by their lengths, then handed over by
 * exchanging them with the caller's. The invariants: a readback never shows a buffer that was not
 * checked, and no byte of a buffer is read or written here. Public.
 */
#include "vyre/evidence.h"
#include "wire/bytes.h"

static const char *const names[VYRE_READBACK_BUFFERS] = {"control buffer", "ring", "debug log",
                                                         "I/O queue"};

const char *vyre_readback_name(uint32_t index)
{
    return index < VYRE_READBACK_BUFFERS ? names[index] : "?";
}

static vyre_status refuse(uint32_t index, vyre_status status, size_t length, const char *wants,
                          vyre_error *err)
{
    vyre_status refused = vyre_fail_at(err, status, VYRE_PLACE_ARGUMENT, index,
                                       "the %s has %zu bytes, %s", names[index], length, wants);
    vyre_fail_fix(err, "pass the %s as the device wrote it, whole", names[index]);
    return refused;
}

/* What holds for any of them. */
static vyre_status check_buffer(const vyre_readback_buffer *buffer, uint32_t index, vyre_error *err)
{
    if (!buffer->bytes && buffer->length != 0)
        return vyre_fail_at(err, VYRE_E_NULL, VYRE_PLACE_ARGUMENT, index,
                            "the %s is NULL with %zu bytes", names[index], buffer->length);
    if (buffer->length > buffer->room) {
        vyre_status status = vyre_fail_at(err, VYRE_E_RANGE, VYRE_PLACE_ARGUMENT, index,
                                          "the %s has %zu bytes in a room of %zu", names[index],
                                          buffer->length, buffer->room);
        vyre_fail_fix(err, "set the buffer's room to the bytes that it has");
        return status;
    }
    if (buffer->length % 4 != 0)
        return refuse(index, VYRE_E_WIRE_MISALIGNED, buffer->length, "no whole words", err);
    return VYRE_OK;
}

static vyre_status check_control(size_t length, vyre_error *err)
{
    if (length < VYRE_CONTROL_BYTES)
        return refuse(VYRE_READBACK_CONTROL, VYRE_E_WIRE_MISSING_WORD, length, "at least 640", err);
    if (length / 4 - VYRE_CONTROL_WORDS > VYRE_CONTROL_MAX_OBSERVABLE)
        return refuse(VYRE_READBACK_CONTROL, VYRE_E_WIRE_OVERFLOW, length,
                      "more words than 32 bits count", err);
    return VYRE_OK;
}

static vyre_status check_exact(uint32_t index, size_t length, uint64_t wanted, vyre_error *err)
{
    if (length == wanted) return VYRE_OK;
    vyre_status status =
        vyre_fail_at(err, length < wanted ? VYRE_E_TOO_SMALL : VYRE_E_WIRE_LENGTH,
                     VYRE_PLACE_ARGUMENT, index, "the %s has %zu bytes, exactly %llu are right",
                     names[index], length, (unsigned long long)wanted);
    vyre_fail_fix(err, "pass the %s as the device wrote it, whole", names[index]);
    return status;
}

static vyre_status check_ring(size_t length, uint32_t slot_count, vyre_error *err)
{
    if (slot_count > VYRE_RING_MAX_SLOTS)
        return vyre_fail_at(err, VYRE_E_WIRE_OVERFLOW, VYRE_PLACE_ARGUMENT, VYRE_READBACK_RING,
                            "a ring of %u slots, at most %u", slot_count, VYRE_RING_MAX_SLOTS);
    return check_exact(VYRE_READBACK_RING, length, (uint64_t)slot_count * VYRE_SLOT_BYTES, err);
}

static vyre_status check_io(size_t length, vyre_error *err)
{
    if (length % VYRE_IO_SLOT_BYTES != 0)
        return refuse(VYRE_READBACK_IO, VYRE_E_WIRE_LENGTH, length, "no whole slots of 32", err);
    if (length / VYRE_IO_SLOT_BYTES > VYRE_IO_SLOTS)
        return refuse(VYRE_READBACK_IO, VYRE_E_WIRE_IO_SLOTS, length, "at most 64 slots of 32",
                      err);
    return VYRE_OK;
}

static vyre_status check_one(const vyre_readback_buffer *buffer, uint32_t index,
                             uint32_t slot_count, vyre_error *err)
{
    vyre_status status = check_buffer(buffer, index, err);
    if (status) return status;
    switch (index) {
    case VYRE_READBACK_CONTROL:
        return check_control(buffer->length, err);
    case VYRE_READBACK_RING:
        return check_ring(buffer->length, slot_count, err);
    case VYRE_READBACK_LOG:
        return check_exact(index, buffer->length, VYRE_LOG_BYTES, err);
    default:
        return check_io(buffer->length, err);
    }
}

/* The formats' limits keep the sum far below 64 bits. */
static vyre_readback_counters count(const vyre_readback_buffer *buffers)
{
    vyre_readback_counters counters = {
        buffers[VYRE_READBACK_CONTROL].length,
        buffers[VYRE_READBACK_RING].length,
        buffers[VYRE_READBACK_LOG].length,
        buffers[VYRE_READBACK_IO].length,
        0,
    };
    counters.total_bytes =
        counters.control_bytes + counters.ring_bytes + counters.log_bytes + counters.io_bytes;
    return counters;
}

vyre_status vyre_readback_check(const vyre_readback_buffer *buffers, size_t buffer_count,
                                uint32_t slot_count, vyre_readback_counters *counters,
                                vyre_error *err)
{
    vyre_status status = vyre_bytes_check_list(buffers, buffer_count, "buffers", err);
    if (status) return status;
    if (buffer_count != VYRE_READBACK_BUFFERS)
        return vyre_fail(err, VYRE_E_READBACK_COUNT, "%zu buffers came back, %u are right",
                         buffer_count, VYRE_READBACK_BUFFERS);
    for (uint32_t i = 0; i < VYRE_READBACK_BUFFERS; i++) {
        status = check_one(&buffers[i], i, slot_count, err);
        if (status) return status;
    }
    if (counters) *counters = count(buffers);
    return VYRE_OK;
}

vyre_status vyre_readback_drain(vyre_readback *readback, vyre_readback_buffer *buffers,
                                size_t buffer_count, uint32_t slot_count, vyre_error *err)
{
    vyre_readback_counters counters;
    vyre_status status = vyre_bytes_check_pointer(readback, "readback", err);
    if (!status) status = vyre_readback_check(buffers, buffer_count, slot_count, &counters, err);
    if (status) return status;
    for (uint32_t i = 0; i < VYRE_READBACK_BUFFERS; i++) {
        vyre_readback_buffer old = readback->buffers[i];
        readback->buffers[i] = buffers[i];
        old.length = 0; /* storage, no content: nobody may take it for a second readback */
        buffers[i] = old;
    }
    readback->slot_count = slot_count;
    readback->counters = counters;
    return VYRE_OK;
}
