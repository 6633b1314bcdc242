/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What an application and its device host say to each other: one packet a message over a Unix
 * socket of kind SEQPACKET, with descriptors attached where a row says so. The application asks;
 * each request but SLOT has exactly one REPLY with its serial, in any order. The ends of the
 * requests to queue 0 come as ANSWER, and TAKEN before that where the device has looked at one.
 *
 * Set-up only: slots of queues travel through shared memory and are never seen here. Neither side
 * believes the other: a message of another size, version or type than it must have, or a descriptor
 * too many, and the connection ends. A request that can be read but not be granted has an error in
 * its REPLY; a SLOT that names what is not there is answered by the host, as the device would do it
 * (ANSWER with outcome DONE and a fault as result 0).
 *
 * The host speaks first: HELLO with serial 0. The application answers with its own HELLO, which has
 * a REPLY only where the host refuses it. A host that ends the connection by itself says why in a
 * REPLY with serial 0.
 *
 * Blocks of memory have numbers, chosen by the application. The address of a block, wherever a
 * request needs one, is host_address(number), and the low 32 bits are an offset into the block (0
 * everywhere but for a bell). The bells that come with OPEN are the block HOST_BELLS.
 *
 * Descriptors that come with OPEN and BLOCK are memory that cannot shrink (F_SEAL_SHRINK), as
 * vyre_memory_map makes it; but that of a BORROWED block is GPU memory. The host keeps its own
 * copies: the sender may close them. The REPLY to a BLOCK of kind LENT has a descriptor with it.
 */
#ifndef VYRE_RUNTIME_PROTOCOL_H
#define VYRE_RUNTIME_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#include "vyre/vyre.h"

#define HOST_MAGIC         0x48525956u /* "VYRH" */
#define HOST_PROTOCOL      1u
#define HOST_SOCKET        3 /* the descriptor that a host finds its socket at */
#define HOST_MAX_FDS       4
#define HOST_STAGING_BYTES (4u << 20) /* of the mapping through which bytes are copied */
#define HOST_MAX_DEVICES   16u
#define HOST_PACKET_BYTES  8192u       /* no message is longer */
#define HOST_BELLS         1u          /* number of the block that OPEN makes of the bells */
#define HOST_MODULE_BYTES  (64u << 20) /* no image of native operations is larger */

struct host_header {
    uint32_t magic;
    uint16_t version;
    uint16_t type;   /* enum host_type */
    uint32_t serial; /* of a request, its own; of a REPLY, the request's; else 0 */
    uint32_t bytes;  /* that follow */
};

/* A row: name, number, structure that follows, descriptors, meaning. BLOCK and REPLY have 1
 * descriptor or none: see struct host_block. */
#define HOST_TYPES(ROW)                                                                            \
    ROW(HELLO, 1, struct host_hello, 0, "who speaks; the first message of each side")              \
    ROW(CAPS, 2, struct host_caps_ask, 0, "what a backend can do; the REPLY holds vyre_caps")      \
    ROW(DEVICES, 3, struct host_devices_ask, 0, "the GPUs; the REPLY holds struct host_devices")   \
    ROW(OPEN, 4, struct host_open, 4, "opens the device: shared page, bells, staging, wake event") \
    ROW(BLOCK, 5, struct host_block, 1, "makes a block under a number that is free")               \
    ROW(FORGET, 6, struct host_number, 0, "frees a block")                                         \
    ROW(WRITE, 7, struct host_copy, 0, "copies from staging into a DEVICE block")                  \
    ROW(READ, 8, struct host_copy, 0, "copies from a DEVICE block to staging")                     \
    ROW(VIEW, 9, struct host_view, 0, "copies words of the device to staging; see enum vyre_view") \
    ROW(SLOT, 10, struct host_slot, 0, "a request to queue 0; addresses in it are block numbers")  \
    ROW(REPLAY, 11, struct host_replay, 0, "runs a slot of a held queue again under its ticket")   \
    ROW(MODULE, 12, struct host_module, 1, "links native operations; the REPLY holds host_number") \
    ROW(PAUSE, 14, struct host_pause, 0, "the device takes no more and leaves; E_BUSY: it cannot") \
    ROW(RESUME, 15, struct host_pause, 0, "the device goes on")                                    \
    ROW(INJECT, 13, struct host_number, 0, "test hosts only: fails in the way that it numbers")    \
    ROW(REPLY, 32, struct host_reply, 1, "the answer to a request")                                \
    ROW(TAKEN, 33, struct host_taken, 0, "the device has taken a request to queue 0")              \
    ROW(ANSWER, 34, struct host_answer, 0, "a request to queue 0 has ended")

enum host_type {
#define HOST_ENUM(name, number, type, fds, text) HOST_##name = (number),
    HOST_TYPES(HOST_ENUM)
#undef HOST_ENUM
};

struct host_hello {
    char version[16]; /* VYRE_VERSION of the speaker */
    uint32_t protocol;
    uint32_t pid;
    uint32_t layout; /* host_layout() of the speaker */
};

struct host_caps_ask {
    uint32_t backend; /* enum vyre_backend */
    char device[64];  /* as vyre_options.device; "" for NULL */
};

struct host_devices_ask {
    uint32_t reserved;
};

/* The numbers of vyre_options, checked by the application and again by the host. */
struct host_open {
    uint32_t backend;
    uint32_t workers;
    uint32_t max_queues;
    uint32_t max_tenants;
    uint32_t max_handles;
    uint32_t inflight_slots;
    uint32_t observable_words;
    uint32_t seal_polls;
    uint32_t run_slots;
    uint32_t continuations;
    uint32_t step_budget;
    uint32_t restart; /* how many hosts of this runtime there were before */
    uint32_t io_entries;
    uint32_t reserved;
    uint64_t idle_spin_ns;
    uint64_t ageing_ns;
    uint64_t frame_bytes;
    uint64_t park_ns;
    char device[64];
};

struct host_block {
    uint64_t number; /* chosen by the application, not 0, below 2^32 */
    uint64_t bytes;
    uint32_t kind;     /* enum vyre_block_kind */
    uint32_t contents; /* 1: the descriptor holds what the block begins with; always so for PROGRAM
                          and BINDINGS, possible for DEVICE. 0: zeroes, no descriptor; but that of a
                          SHARED or BORROWED block is the block itself */
    uint64_t extent;   /* BORROWED: bytes of the whole allocation; else 0 */
    char device[48];   /* BORROWED: UUID of the GPU that it must be on, or ""; else "" */
};

/* The answer to a BLOCK of kind LENT, whose descriptor comes with it, or BORROWED. */
struct host_lent {
    uint64_t extent;
    char device[48];
};

struct host_pause {
    uint32_t reserved;
};

/* The address of a block in a request. */
static inline uint64_t host_address(uint64_t number)
{
    return number << 32;
}

struct host_number {
    uint64_t number;
};

/* WRITE and READ: the bytes stand at the beginning of staging. */
struct host_copy {
    uint64_t number; /* of the block */
    uint64_t at;
    uint64_t bytes; /* at most HOST_STAGING_BYTES */
};

struct host_view {
    uint32_t view; /* enum vyre_view */
    uint32_t tenant;
    uint64_t at;    /* the first byte wanted */
    uint64_t bytes; /* they stand at the beginning of staging afterwards */
};

/* A DROP has TAKEN before its ANSWER, others have only that. */
struct host_slot {
    uint64_t ticket; /* the first is chosen by the application; goes up by one */
    uint32_t word[VYRE_SLOT_WORDS];
};

/* Of a queue that was opened with DEV_QUEUE_HELD, in the order of their tickets. The REPLY says
 * that the host has noted it; one that is refused does not run. With the last one the queue is let
 * go, as soon as the device has them all. */
struct host_replay {
    uint32_t queue;
    uint32_t last;
    uint64_t ticket;
    uint64_t deadline_ns;
    uint32_t scalar[4];
    uint32_t has_params;
    uint32_t reserved2;
    uint32_t word[VYRE_SLOT_WORDS];
};

/* Native operations in CUDA C: an image (PTX or cubin, relocatable), and the name of one function.
 */
struct host_module {
    uint64_t bytes;
    char function[120];
};

struct host_device {
    uint32_t index;
    uint32_t supported;
    char name[64];
    char uuid[48]; /* "GPU-..." */
    uint64_t memory_bytes;
    uint32_t compute_major;
    uint32_t compute_minor;
    uint32_t multiprocessors;
    uint32_t watchdog;     /* kernels are ended after seconds */
    uint32_t compute_mode; /* 0 default, 2 prohibited, 3 exclusive */
    uint32_t driver;       /* such as 13000 */
    char reason[160];      /* why it is not supported */
    char fix[160];         /* what would make it so */
};

struct host_devices {
    uint32_t count;
    uint32_t reserved;
    struct host_device device[HOST_MAX_DEVICES];
};

/* status 0 and the structure that the request's row names; else the error. */
struct host_reply {
    vyre_status status;
    uint32_t bytes; /* of what follows this structure: a vyre_error, or the request's own answer */
};

struct host_taken {
    uint64_t ticket;
};

struct host_answer {
    uint64_t ticket;
    vyre_completion completion;
};

/* transport.c: sending and receiving, for both sides.
 * ------------------------------------------------------------------------------------------- */

/* One message as it came in. The payload lies in `packet`; descriptors are the receiver's. */
struct host_message {
    struct host_header header;
    const void *payload;
    uint32_t fd_count;
    int fd[HOST_MAX_FDS];
    uint32_t sender_pid; /* as the system says, not the sender; 0 where it says nothing */
    uint32_t sender_uid;
    uint64_t packet[HOST_PACKET_BYTES / 8];
};

/* A pair of connected sockets that say who sends, both closed on exec. */
vyre_status host_socket_pair(int fds[2], vyre_error *err);

/* Sends a message; extra bytes follow the payload. E_SYSTEM (EPIPE: the other side is gone). Whole
 * or not at all. Any thread: one packet is one call. */
struct host_sending {
    uint32_t type;
    uint32_t serial;
    const void *payload;
    uint32_t payload_bytes;
    const void *extra;
    uint32_t extra_bytes;
    const int *fds;
    uint32_t fd_count;
};
vyre_status host_send(int socket, const struct host_sending *sending, vyre_error *err);

/*
 * Receives one message and checks its form: magic, version, type, size and number of descriptors,
 * as the table says. Descriptors of one that is refused are closed. 0: one is there; 1: none now
 * (the call does not wait where `wait` is 0); negative: a status. E_SYSTEM: the other side is gone
 * (EPIPE, ECONNRESET) or the call failed; else it broke the protocol, and the connection is of no
 * use any more.
 */
int host_receive(int socket, struct host_message *message, int wait, vyre_error *err);

/* Closes the descriptors that nobody has taken (set to -1 by who takes one). */
void host_message_close(struct host_message *message);

/* The check of a packet of `bytes` bytes alone, without a socket: sets header and payload. For
 * host_receive and for fuzzing. */
vyre_status host_message_check(struct host_message *message, size_t bytes, vyre_error *err);

#endif
