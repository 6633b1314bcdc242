/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What must hold for any bytes taken as the I/O queue: listing, claiming, completing and recycling,
 * and each slot by itself. See wire_checks.h.
 */
#ifndef VYRE_FUZZ_WIRE_CHECK_IOQUEUE_H
#define VYRE_FUZZ_WIRE_CHECK_IOQUEUE_H

#include "wire_checks.h"

static inline void check_io_slot(const uint8_t *data, size_t size, size_t index)
{
    vyre_error *err = check_err(data, size);
    uint32_t state = check_word(data, 8 * index + VYRE_IO_STATUS);
    vyre_wire_io io;
    vyre_wire_io_end end = {(uint32_t)index, state & 1};
    REQUIRE(vyre_wire_io_read(data, size, index, &io, err) == VYRE_OK && io.status == state);
    check_fresh_copy(data, size);
    memset(check_copy + 32 * index, 0, 32);
    vyre_status status = vyre_wire_io_publish(check_copy, size, index, &io, err);
    REQUIRE(status == (io.op >= 1 && io.op <= 3 ? VYRE_OK : VYRE_E_WIRE_IO_OP));
    if (status == VYRE_OK) /* the same request in the same words */
        memcpy(check_copy + 32 * index + 24, data + 32 * index + 24, 4);
    else
        memcpy(check_copy + 32 * index, data + 32 * index, 32);
    REQUIRE(check_unchanged(data, size));

    io.op = VYRE_IO_READ;
    status = vyre_wire_io_publish(check_copy, size, index, &io, err);
    REQUIRE(status == (state == VYRE_IO_EMPTY ? VYRE_OK : VYRE_E_WIRE_IO_STATUS));
    memcpy(check_copy + 32 * index, data + 32 * index, status == VYRE_OK ? 32 : 0);
    REQUIRE(check_unchanged(data, size));
    status = vyre_wire_io_complete(check_copy, size, &end, 1, err);
    REQUIRE(status == (state == VYRE_IO_CLAIMED ? VYRE_OK : VYRE_E_WIRE_IO_STATUS));
    memcpy(check_copy + 32 * index, data + 32 * index, status == VYRE_OK ? 32 : 0);
    REQUIRE(check_unchanged(data, size));
    status = vyre_wire_io_recycle(check_copy, size, index, err);
    REQUIRE(status == (state == VYRE_IO_DONE || state == VYRE_IO_OK || state == VYRE_IO_ERROR
                           ? VYRE_OK
                           : VYRE_E_WIRE_IO_STATUS));
    memcpy(check_copy + 32 * index, data + 32 * index, status == VYRE_OK ? 32 : 0);
    REQUIRE(check_unchanged(data, size));
}

static inline int check_same_io(const vyre_wire_io *a, const vyre_wire_io *b)
{
    return a->slot == b->slot && a->op == b->op && a->status == b->status &&
           a->source == b->source && a->destination == b->destination && a->count == b->count &&
           a->tag == b->tag && a->offset == b->offset;
}

static inline void check_io(const uint8_t *data, size_t size)
{
    if (size > CHECK_BYTES_MAX) size = CHECK_BYTES_MAX;
    vyre_error *err = check_err(data, size);
    static vyre_wire_io listed[VYRE_IO_SLOTS], claimed[VYRE_IO_SLOTS];
    vyre_wire_io_end ends[VYRE_IO_SLOTS];
    size_t count, count_claimed, none;
    CHECK_MARK(count);
    CHECK_MARK(listed[0]);
    vyre_status status = vyre_wire_io_poll(data, size, listed, VYRE_IO_SLOTS, &count, err);
    REQUIRE(status == (size % 4      ? VYRE_E_WIRE_MISALIGNED
                       : size % 32   ? VYRE_E_WIRE_LENGTH
                       : size > 2048 ? VYRE_E_WIRE_IO_SLOTS
                                     : VYRE_OK));
    check_fresh_copy(data, size);
    CHECK_MARK(count_claimed);
    REQUIRE(vyre_wire_io_claim(check_copy, size, claimed, VYRE_IO_SLOTS, &count_claimed, err) ==
            status);
    if (status) {
        REQUIRE(CHECK_UNTOUCHED(count) && CHECK_UNTOUCHED(listed[0]));
        REQUIRE(CHECK_UNTOUCHED(count_claimed) && check_unchanged(data, size));
        return;
    }
    REQUIRE(count == count_claimed);
    for (size_t i = 0; i < count; i++)
        REQUIRE(check_same_io(&listed[i], &claimed[i]));
    REQUIRE(vyre_wire_io_poll(check_copy, size, claimed, VYRE_IO_SLOTS, &none, err) == VYRE_OK);
    REQUIRE(none == 0);
    for (size_t i = 0; i < count; i++)
        ends[i] = (vyre_wire_io_end){listed[i].slot, 1};
    REQUIRE(vyre_wire_io_complete(check_copy, size, ends, count, err) == VYRE_OK);
    for (size_t i = 0; i < count; i++)
        REQUIRE(vyre_wire_io_recycle(check_copy, size, listed[i].slot, err) == VYRE_OK);
    for (size_t i = 0; i < size / 32 && i < 4; i++)
        check_io_slot(data, size, i);
}

#endif
