/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What device and pump share: the requests of slots that ask for input or output (LOAD_MISS), and
 * the answers to them. The pump lives in the process that owns the sources' descriptors; the device
 * knows of a source nothing but its number.
 *
 * One mapping: a page of single words, the ring of requests, the ring of answers, and, for a device
 * with memory that the pump cannot see, chunks through which bytes travel. Only the device writes
 * requests, only the pump writes answers. Each request but CANCEL has one answer. No more than
 * `entries` of them are without one that the device has read, and each is cancelled at most once;
 * so neither ring can be full: of requests that the pump has not read there are at most three times
 * `entries` (as many cancels of requests that it has read and answered since, and as many requests
 * with their cancels), of answers no more than `entries` and one TICK.
 */
#ifndef VYRE_DEVICE_IO_RING_H
#define VYRE_DEVICE_IO_RING_H

#include "device/platform.h"

#define DEV_IO_RINGS_AT    256u
#define DEV_IO_MOST        4096u      /* entries, at most */
#define DEV_IO_CHUNKS_MOST 64u        /* as many as a word of 64 bits has */
#define DEV_IO_CHUNK       (1u << 17) /* bytes of a chunk */
#define DEV_IO_ALIGN       16u /* bytes lie in a chunk as they do in the buffer, modulo this */

enum dev_io_op {
    DEV_IO_READ = 1,     /* from the source into the buffer or chunk */
    DEV_IO_WRITE = 2,    /* from there to the source */
    DEV_IO_PREFETCH = 3, /* the source's pages are wanted soon; no slot waits */
    DEV_IO_CANCEL = 4 /* the answer to `number` and `serial` is wanted now; or no further piece of
                         it follows */
};

#define DEV_IO_OP_BITS 0xFFu
#define DEV_IO_BOUNCE  0x100u /* `buffer` is the number of a chunk */
#define DEV_IO_LATER   0x200u /* not the first piece of its slot */
#define DEV_IO_FOLLOWS 0x400u /* another piece follows, or a CANCEL */

#define DEV_IO_HERE 0xFFFFFFFFFFFFFFFFull /* an offset: where the source stands */

struct dev_io_request {
    uint32_t what;   /* enum dev_io_op, DEV_IO_BOUNCE; the queue in the high half */
    uint32_t number; /* of the slot that waits: its place in the in-flight table; DEV_NONE: none */
    uint32_t serial; /* tells slots apart that had the place */
    uint32_t source;
    uint32_t buffer; /* handle of a buffer that the pump sees, or number of a chunk */
    uint32_t length;
    uint32_t tenant;
    uint32_t reserved;
    uint64_t offset; /* in the source */
    uint64_t at;     /* in the buffer or chunk */
    uint64_t ticket;
    uint64_t deadline_ns; /* for reports: the device sees to it itself */
};

enum dev_io_status {
    DEV_IO_DONE = 0,      /* all bytes, or those before the end of the source */
    DEV_IO_FAILED = 1,    /* see error */
    DEV_IO_CANCELLED = 2, /* and `bytes` had been moved by then */
    DEV_IO_TICK = 3       /* no answer: page->deadline_ns, as it was here, has come */
};

struct dev_io_answer {
    uint32_t number;
    uint32_t serial;
    uint32_t status; /* enum dev_io_status */
    uint32_t error;  /* errno */
    uint32_t bytes;
    uint32_t reserved;
    uint64_t deadline_ns; /* of a TICK */
};

/* The single words. One line a writer. */
struct dev_io_page {
    /* device */
    uint32_t requested; /* index after the last request (R18) */
    uint32_t reserved;
    uint64_t deadline_ns; /* when the device wants a TICK; 0: not at all */
    uint32_t device_pad[12];
    /* pump */
    uint32_t answered; /* index after the last answer (R19) */
    uint32_t asleep;   /* it sleeps, or is about to */
    uint32_t pump_pad[14];
    /* processors, of whichever process */
    uint32_t event; /* (atomic) changes when the pump is woken; it sleeps on it */
    uint32_t event_pad[15];
};

DEV_FN uint32_t dev_io_requests(uint32_t entries)
{
    return 4 * entries;
}

DEV_FN uint32_t dev_io_answers(uint32_t entries)
{
    return 2 * entries;
}

DEV_FN size_t dev_io_answers_at(uint32_t entries)
{
    return DEV_IO_RINGS_AT + (size_t)dev_io_requests(entries) * sizeof(struct dev_io_request);
}

DEV_FN size_t dev_io_chunks_at(uint32_t entries)
{
    size_t end =
        dev_io_answers_at(entries) + (size_t)dev_io_answers(entries) * sizeof(struct dev_io_answer);
    return (end + 4095u) & ~(size_t)4095u;
}

DEV_FN size_t dev_io_bytes(uint32_t entries, uint32_t chunks)
{
    return dev_io_chunks_at(entries) + (size_t)chunks * DEV_IO_CHUNK;
}

static_assert(sizeof(struct dev_io_request) == 64, "one line");
static_assert(offsetof(struct dev_io_request, offset) == 32, "eight bytes in one piece");
static_assert(sizeof(struct dev_io_answer) == 32, "two to a line");
static_assert(sizeof(struct dev_io_page) == 192, "one line a writer");
static_assert(offsetof(struct dev_io_page, answered) == 64, "one line a writer");
static_assert(offsetof(struct dev_io_page, event) == 128, "one line a writer");

#endif
