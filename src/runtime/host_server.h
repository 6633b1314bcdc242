/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A device host from the inside: one connection, one runtime that owns the device (the core), and
 * what the application has there: blocks by number, and for each handle and queue which blocks it
 * uses. One thread serves the connection and owns everything here; a second one only passes on the
 * application's wake calls.
 *
 * What the host sends to the device it has checked as if the application meant harm: no number, no
 * size and no bytecode of it is believed. What lies in shared memory the device has to cope with,
 * as it does with any producer.
 */
#ifndef VYRE_RUNTIME_HOST_SERVER_H
#define VYRE_RUNTIME_HOST_SERVER_H

#include "runtime/internal.h"
#include "runtime/protocol.h"

#define HOST_BUCKETS      1024u
#define HOST_MAX_REQUESTS 1024u /* under way; more are left in the socket */
#define HOST_SHADOW_USES  3u

/* A block under its number. */
struct host_held {
    struct host_held *next; /* in its bucket */
    uint64_t number;
    uint32_t uses;      /* by handles, queues and frames that the device knows */
    uint32_t forgotten; /* the device was stopped before it gave the block up: kept to the end */
    struct vyre_block block;
    void *contents; /* PROGRAM, BINDINGS: what was checked, where only the host can change it */
};

enum host_shadow_state {
    HOST_SHADOW_FREE = 0,
    HOST_SHADOW_COMING = 1, /* the device has been asked to take it */
    HOST_SHADOW_LIVE = 2,
    HOST_SHADOW_GOING = 3 /* the device has been asked to give it up */
};

/* What the device knows under a handle or the number of a queue, and which blocks it uses. */
struct host_shadow {
    uint32_t state;
    uint32_t kind; /* of a handle: enum dev_handle_kind */
    uint32_t word; /* of a handle: with its generation */
    uint32_t reserved;
    uint64_t bytes; /* of a buffer */
    struct host_held *held[HOST_SHADOW_USES];
};

/* A request to queue 0. */
struct host_request {
    struct vyre_request request;
    struct host_request *next;
    uint32_t type;   /* HOST_SLOT; 0: the host's own, on behalf of a row */
    uint64_t ticket; /* of a SLOT: the application's */
    uint32_t taken;  /* the application has heard that the device has it */
    uint32_t ended;
    struct host_shadow *shadow; /* what it changes, or NULL */
    struct host_row *row;       /* of the host's own: the queue that it is about */
    struct vyre_block block;    /* of a REPLAY: what it runs */
    vyre_completion completion;
};

struct host_server {
    int socket;
    uint32_t user;    /* whose process it is */
    uint32_t test;    /* may be told to fail */
    uint32_t greeted; /* the application has said who it is */
    uint32_t deaf;    /* told to hang: nothing is read any more */
    struct vyre_memory memory;
    char device[64];
    vyre *core; /* NULL: not opened */
    uint32_t stopped;
    uint32_t block_count;
    uint32_t block_limit;
    struct host_held *buckets[HOST_BUCKETS];
    struct host_shadow *handles; /* max_handles */
    struct host_shadow *queues;  /* max_queues + 1 */
    struct host_shadow frames;
    struct host_shadow io; /* the rings of device and pump */
    struct vyre_block staging;
    uint64_t *functions; /* numbers of native operations that were linked */
    uint32_t function_count;
    uint32_t slot_seen; /* a SLOT has come; next_ticket is set */
    uint64_t next_ticket;
    struct host_request *requests; /* in the order in which they came */
    struct host_request **requests_end;
    uint32_t request_count;
    uint32_t own_count;    /* those of them that are the host's own */
    struct host_row *rows; /* queues that are held: host_replay.c */
    int wake_fd;           /* the application's event */
    int wake_stop;         /* ends the thread that waits for it */
    uint32_t waking;
    pthread_t wake_thread;
    struct host_message message; /* the one that is being served */
};

/* host_serve.c
 * ------------------------------------------------------------------------------------------------
 */

vyre_status host_server_init(struct host_server *server, int socket, const vyre_allocator *hooks,
                             vyre_error *err);

/* Stops the device and frees everything; the socket stays open. */
void host_server_destroy(struct host_server *server);

/* Greets and serves until the connection ends. 0: the application went; else its status: it broke
 * the protocol, or was refused. */
vyre_status host_serve(struct host_server *server);

/* Does what server->message asks for. Not 0: the connection must end. */
vyre_status host_dispatch(struct host_server *server, vyre_error *err);

/* One look at what the device has ended and at what waits for room. */
vyre_status host_progress(struct host_server *server, vyre_error *err);

/* Sends the REPLY to a request: with the answer, or with *err where status is not 0. */
vyre_status host_reply(struct host_server *server, uint32_t serial, vyre_status status,
                       const vyre_error *cause);
vyre_status host_reply_with(struct host_server *server, uint32_t serial, const void *answer,
                            uint32_t bytes);

/* Handlers: a status says no to the request, and its REPLY holds *err. Where one has a REPLY of its
 * own to send, *replied is set.
 * ------------------------------------------------------------------------------------------------
 */

/* host_open.c */
vyre_status host_do_caps(struct host_server *server, int *replied, vyre_error *err);
vyre_status host_do_devices(struct host_server *server, int *replied, vyre_error *err);
vyre_status host_do_open(struct host_server *server, vyre_error *err);

/* host_block.c */
vyre_status host_do_block(struct host_server *server, int *replied, vyre_error *err);
vyre_status host_do_forget(struct host_server *server, vyre_error *err);
struct host_held *host_block_find(const struct host_server *server, uint64_t number);
/* Takes a block whose contents are set into the table. */
vyre_status host_block_enter(struct host_server *server, uint64_t number, struct host_held **held,
                             vyre_error *err);
void host_blocks_free(struct host_server *server);
/* A private copy of the first `bytes` bytes of a descriptor. */
vyre_status host_copy_out(struct host_server *server, int *fd, size_t bytes, const char *what,
                          void **out, vyre_error *err);

/* host_copy.c */
vyre_status host_do_copy(struct host_server *server, vyre_error *err); /* WRITE and READ */
vyre_status host_do_view(struct host_server *server, vyre_error *err);

/* host_slot.c */
vyre_status host_do_slot(struct host_server *server, vyre_error *err);
/* A request at the end of the list; type as in the structure. */
vyre_status host_request_make(struct host_server *server, uint32_t type,
                              struct host_request **request, vyre_error *err);
vyre_status host_requests_progress(struct host_server *server, vyre_error *err);
void host_requests_free(struct host_server *server);

/* host_replay.c */
struct host_bell {
    uint64_t address; /* the device's */
    const struct dev_bell *host;
};
vyre_status host_do_replay(struct host_server *server, int *replied, vyre_error *err);
/* A queue is opened that is held, with these arguments: what to put in place of its bell. */
vyre_status host_row_open(struct host_server *server, const uint32_t *args,
                          const struct host_bell *bell, uint64_t *address, vyre_error *err);
void host_row_close(struct host_server *server, uint32_t queue); /* nothing where it is not held */
void host_rows_free(struct host_server *server);
int host_row_held(const struct host_server *server, uint32_t queue);
/* A CANCEL of a queue that is held; 1: it is seen to here. */
int host_row_cancel(struct host_server *server, const uint32_t *args);
/* Hands over what can be; and the end of one of those requests. */
vyre_status host_rows_progress(struct host_server *server, vyre_error *err);
vyre_status host_row_answer(struct host_server *server, const struct host_request *request,
                            vyre_error *err);

/* host_check.c: checks the arguments of a request to queue 0, replaces the numbers of blocks in
 * them, and notes what it will change. A fault, or 0. */
uint32_t host_check(struct host_server *server, uint32_t opcode, uint32_t *args,
                    struct host_shadow **shadow);
void host_shadow_release(struct host_shadow *shadow);

/* host_install.c: the part of it for INSTALL; the handle's entry is free. */
uint32_t host_check_install(struct host_server *server, uint32_t *args, struct host_shadow *shadow);

/* host_native.c: MODULE, and INJECT */
vyre_status host_do_module(struct host_server *server, int *replied, vyre_error *err);
int host_function_known(const struct host_server *server, uint64_t number);
vyre_status host_do_inject(struct host_server *server, vyre_error *err);

/* host_wake.c: the thread that passes wake calls on. */
vyre_status host_wake_start(struct host_server *server, int fd, vyre_error *err);
void host_wake_end(struct host_server *server);

#endif
