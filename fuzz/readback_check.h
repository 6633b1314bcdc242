/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What must hold for any four buffers, whose lengths and bytes an input chooses: the status is the
 * one that the lengths deserve, judged here a second time; a refused drain has changed nothing;
 * what was accepted are the very blocks of memory that came, and the decoders of the format take
 * them.
 */
#ifndef VYRE_FUZZ_READBACK_CHECK_H
#define VYRE_FUZZ_READBACK_CHECK_H

#include "telemetry_reader.h"

static struct {
    uint64_t accepted, refused;
} readback_seen;

/* A length that is right, nearly right or anything. */
static inline size_t take_length(struct reader *in, size_t right)
{
    uint8_t kind = take_byte(in);
    if (kind < 192) return right;
    if (kind < 208) return right + 4;
    if (kind < 224) return right >= 4 ? right - 4 : 0;
    if (kind < 232) return right + kind % 4;
    return (size_t)take_bytes(in, 2) % 3000;
}

/* First refusal in the order of the buffers. */
static inline vyre_status judge(const vyre_readback_buffer *b, size_t count, uint64_t slots)
{
    if (count != 4) return VYRE_E_READBACK_COUNT;
    if (b[0].length % 4) return VYRE_E_WIRE_MISALIGNED;
    if (b[0].length < 640) return VYRE_E_WIRE_MISSING_WORD;
    if (b[1].length % 4) return VYRE_E_WIRE_MISALIGNED;
    if (slots > 268435455u) return VYRE_E_WIRE_OVERFLOW;
    if (b[1].length < 64 * slots) return VYRE_E_TOO_SMALL;
    if (b[1].length > 64 * slots) return VYRE_E_WIRE_LENGTH;
    if (b[2].length % 4) return VYRE_E_WIRE_MISALIGNED;
    if (b[2].length < 1028) return VYRE_E_TOO_SMALL;
    if (b[2].length > 1028) return VYRE_E_WIRE_LENGTH;
    if (b[3].length % 4) return VYRE_E_WIRE_MISALIGNED;
    if (b[3].length % 32) return VYRE_E_WIRE_LENGTH;
    return b[3].length > 2048 ? VYRE_E_WIRE_IO_SLOTS : VYRE_OK;
}

/* What was let through can be decoded. */
static inline void check_accepted(const vyre_readback *readback)
{
    const vyre_readback_buffer *b = readback->buffers;
    vyre_wire_control control;
    vyre_wire_ring ring;
    vyre_wire_io io[VYRE_IO_SLOTS];
    size_t count = 0;
    REQUIRE(vyre_wire_control_decode(b[0].bytes, b[0].length, &control, NULL) == VYRE_OK);
    REQUIRE(vyre_wire_ring_decode(b[1].bytes, b[1].length, &ring, NULL) == VYRE_OK);
    REQUIRE(ring.slots == readback->slot_count);
    REQUIRE(vyre_wire_io_poll(b[3].bytes, b[3].length, io, VYRE_IO_SLOTS, &count, NULL) == VYRE_OK);
    vyre_status status = vyre_wire_log_count(b[2].bytes, b[2].length, &count, NULL);
    REQUIRE(status == VYRE_OK || status == VYRE_E_WIRE_MISSING_WORD ||
            status == VYRE_E_WIRE_CURSOR);
    const vyre_readback_counters *c = &readback->counters;
    REQUIRE(c->control_bytes == b[0].length && c->ring_bytes == b[1].length);
    REQUIRE(c->log_bytes == b[2].length && c->io_bytes == b[3].length);
    REQUIRE(c->total_bytes == b[0].length + b[1].length + b[2].length + b[3].length);
}

/* A block of exactly its length, so that a sanitizer sees a read past its end. Its first words are
 * of the input. */
static inline vyre_readback_buffer make_buffer(struct reader *in, size_t length)
{
    vyre_readback_buffer buffer = {malloc(length ? length : 1), length, length};
    REQUIRE(buffer.bytes != NULL);
    for (size_t i = 0; i < length; i++)
        ((unsigned char *)buffer.bytes)[i] = i < 8 ? take_byte(in) : 0;
    return buffer;
}

static inline void check_drain(struct reader *in, vyre_readback *readback, vyre_error *err)
{
    uint32_t slots = take_byte(in) % 8;
    if (slots == 7) slots = take_u32(in);
    size_t count = take_byte(in);
    count = count < 240 ? 4 : count % 6;
    size_t right[5] = {640 + 4 * (size_t)(take_byte(in) % 8), slots < 32 ? 64 * (size_t)slots : 64,
                       1028, 32 * (size_t)(take_byte(in) % 66), 0};
    vyre_readback_buffer buffers[5], came[5];
    vyre_readback_counters counters;
    vyre_readback before = *readback;
    for (size_t i = 0; i < 5; i++)
        buffers[i] = make_buffer(in, take_length(in, right[i]));
    memcpy(came, buffers, sizeof came);
    CHECK_MARK(counters);

    vyre_status expected = judge(buffers, count, slots);
    REQUIRE(vyre_readback_check(buffers, count, slots, &counters, err) == expected);
    REQUIRE(!expected || CHECK_UNTOUCHED(counters));
    REQUIRE(vyre_readback_drain(readback, buffers, count, slots, err) == expected);
    if (expected) {
        readback_seen.refused++;
        REQUIRE(memcmp(&before, readback, sizeof before) == 0);
        REQUIRE(memcmp(came, buffers, sizeof came) == 0);
    } else {
        readback_seen.accepted++;
        REQUIRE(memcmp(readback->buffers, came, 4 * sizeof came[0]) == 0);
        REQUIRE(memcmp(&readback->counters, &counters, sizeof counters) == 0);
        for (size_t i = 0; i < 4; i++)
            REQUIRE(buffers[i].bytes == before.buffers[i].bytes && buffers[i].length == 0 &&
                    buffers[i].room == before.buffers[i].room);
        check_accepted(readback);
    }
    for (size_t i = 0; i < 5; i++)
        free(buffers[i].bytes);
}

static inline void check_readback(const uint8_t *data, size_t size)
{
    struct reader in = {data, size, 0};
    vyre_readback readback;
    memset(&readback, 0, sizeof readback);
    for (int drains = 0; drains < 2; drains++)
        check_drain(&in, &readback, check_err(data, size));
    for (size_t i = 0; i < 4; i++)
        free(readback.buffers[i].bytes);
}

#endif
