/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Numbers out of the bytes of an input, for the checks of sketches, readback and policy. A number
 * begins with a byte that says what kind it is, so that zeros, greatest values and the neighbours
 * of thresholds come often. Past the end all bytes are 0.
 */
#ifndef VYRE_FUZZ_TELEMETRY_READER_H
#define VYRE_FUZZ_TELEMETRY_READER_H

#include "wire_checks.h"

struct reader {
    const uint8_t *data;
    size_t size;
    size_t at;
};

static inline uint8_t take_byte(struct reader *reader)
{
    return reader->at < reader->size ? reader->data[reader->at++] : 0;
}

static inline uint64_t take_bytes(struct reader *reader, unsigned count)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++)
        value |= (uint64_t)take_byte(reader) << (8 * i);
    return value;
}

/* A number around one that some rule has. */
static inline uint64_t take_near(struct reader *reader)
{
    static const uint32_t known[] = {4,    8,    16,   32,   64,   250,  256,  500,   750,
                                     1024, 3750, 4000, 4096, 4250, 8250, 8500, 10000, 65536};
    uint8_t choice = take_byte(reader);
    uint64_t value = known[choice % (sizeof known / sizeof known[0])];
    return value + choice / 64 - 1;
}

static inline uint64_t take_u64(struct reader *reader)
{
    switch (take_byte(reader) % 8) {
    case 0:
        return 0;
    case 1:
        return take_byte(reader);
    case 2:
        return take_bytes(reader, 2);
    case 3:
        return take_bytes(reader, 4);
    case 4:
        return UINT64_MAX - take_byte(reader);
    case 5:
        return (UINT64_C(1) << (take_byte(reader) % 64)) - 1 + take_byte(reader) % 3;
    case 6:
        return take_near(reader);
    default:
        return take_bytes(reader, 8);
    }
}

/* The low half of the greatest values is the greatest of 32 bits, too. */
static inline uint32_t take_u32(struct reader *reader)
{
    return (uint32_t)take_u64(reader);
}

static inline uint16_t take_u16(struct reader *reader)
{
    return (uint16_t)take_u64(reader);
}

#endif
