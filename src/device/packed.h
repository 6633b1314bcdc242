/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The payload of PACKED_SLOT: up to 23 operations in the 12 argument words of one slot.
 *
 * Byte 0 is the count n, byte 1 the number of argument words T, bytes 2+2i and 3+2i the opcode and
 * the argument offset of operation i; the argument words begin at the next word boundary. Once
 * dev_packed_open has returned 0, every operation's arguments lie inside the T words. The poller
 * opens a payload to check and hold what it names, a worker opens it again to run and to drop; both
 * read the device's own copy of the slot, which does not change between.
 */
#ifndef VYRE_DEVICE_PACKED_H
#define VYRE_DEVICE_PACKED_H

#include "device/builtin_table.h"

#define DEV_PACKED_MAX     23u
#define DEV_PACKED_OPCODES 256u /* a packed opcode is a byte */

struct dev_packed {
    const uint32_t *arg; /* 12 words */
    uint32_t count;
    uint32_t header; /* words before the arguments */
    uint32_t total;  /* argument words */
    uint32_t bad;    /* the operation that made dev_packed_open fail; 0 where it was the header */
};

DEV_FN uint32_t dev_packed_byte(const uint32_t *arg, uint32_t byte)
{
    return arg[byte / 4] >> (byte % 4 * 8) & 0xFFu;
}

/* How many argument words operation i has, or 0xFFFFFFFF where they do not fit. A built-in has as
 * many as it takes; a user operation has all from its offset on. */
DEV_FN uint32_t dev_packed_words(const struct dev_packed *packed, uint32_t i)
{
    uint32_t opcode = dev_packed_byte(packed->arg, 2 + 2 * i);
    uint32_t offset = dev_packed_byte(packed->arg, 3 + 2 * i);
    if (offset > packed->total) return 0xFFFFFFFFu;
    uint32_t given = packed->total - offset;
    const struct dev_builtin *row = dev_builtin_find(opcode);
    if (row == NULL) return given;
    return row->args <= given ? row->args : 0xFFFFFFFFu;
}

/* Checks the whole payload. Returns 0, or the fault PACKED_FORM with packed->bad set. */
DEV_FN uint32_t dev_packed_open(struct dev_packed *packed, const uint32_t *arg)
{
    packed->arg = arg;
    packed->count = dev_packed_byte(arg, 0);
    packed->total = dev_packed_byte(arg, 1);
    packed->header = (2 + 2 * packed->count + 3) / 4;
    packed->bad = 0;
    if (packed->header + packed->total > VYRE_SLOT_ARGS) return (uint32_t)VYRE_FAULT_PACKED_FORM;
    for (uint32_t i = 0; i < packed->count; i++) {
        if (dev_packed_words(packed, i) == 0xFFFFFFFFu) {
            packed->bad = i;
            return (uint32_t)VYRE_FAULT_PACKED_FORM;
        }
    }
    return 0;
}

/* Operation i of an opened payload; argument words that it was not given read as 0. Returns 0, or
 * PACKED_FORM where there is no such operation. */
DEV_FN uint32_t dev_packed_op(const struct dev_packed *packed, uint32_t i, uint32_t *opcode,
                              uint32_t *arg_out)
{
    if (i >= packed->count) return (uint32_t)VYRE_FAULT_PACKED_FORM;
    uint32_t words = dev_packed_words(packed, i);
    uint32_t first = packed->header + dev_packed_byte(packed->arg, 3 + 2 * i);
    *opcode = dev_packed_byte(packed->arg, 2 + 2 * i);
    for (uint32_t word = 0; word < VYRE_SLOT_ARGS; word++)
        arg_out[word] = word < words ? packed->arg[first + word] : 0;
    return 0;
}

/* Whether one of the operations is a fence: then the whole slot is one. */
DEV_FN int dev_packed_has_fence(const uint32_t *arg)
{
    uint32_t count = dev_packed_byte(arg, 0);
    if (count > DEV_PACKED_MAX) return 0;
    for (uint32_t i = 0; i < count; i++) {
        if (dev_packed_byte(arg, 2 + 2 * i) == VYRE_OP_BATCH_FENCE) return 1;
    }
    return 0;
}

static_assert((2 + 2 * DEV_PACKED_MAX + 3) / 4 == VYRE_SLOT_ARGS, "23 operations fill the header");

#endif
