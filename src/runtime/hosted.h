/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of the hosted port share: the connection to a device host, the requests that are
 * under way, and the journal from which a restart puts a new device into the state of the old one.
 *
 * One thread, the keeper, reads the socket and restarts the host; whatever is marked (keeper) is
 * its own. The lock guards the rest and is never held while waiting. Order: system.lock, then the
 * lock, then a queue's reap_lock.
 */
#ifndef VYRE_RUNTIME_HOSTED_H
#define VYRE_RUNTIME_HOSTED_H

#include "runtime/internal.h"
#include "runtime/protocol.h"
#include "runtime/spawn.h"

#define HOSTED_SLOTS 128u /* requests to queue 0 under way, or answered and not reaped */

#define HOSTED_OPEN_NS    120000000000u /* a driver that compiles the kernel takes long */
#define HOSTED_ATTEMPT_NS 10000000000u  /* for a restart, which finds caches warm */
#define HOSTED_LINK_NS    60000000000u  /* linking and loading a kernel takes its time */
#define HOSTED_STOP_NS    1000000000u   /* how long a device has to stop before its host is ended */
#define HOSTED_PAUSE_NS   2000000000u   /* ending what runs and leaving the GPU */
#define HOSTED_FIRST_NS   10000000000u  /* a host that has only just begun is given so long */

enum hosted_state {
    HOSTED_CONNECTED = 1,
    HOSTED_RESTARTING = 2, /* what is asked waits; from the start of open on */
    HOSTED_GONE = 3        /* for good */
};

/* An image of native operations; equal ones are kept once. (lock) */
struct hosted_image {
    struct hosted_image *next;
    uint32_t users;
    size_t bytes;
    unsigned char contents[];
};

/* A native operation for a GPU, as it was linked. */
struct hosted_module {
    struct hosted_module *next;
    uint64_t number;   /* by which the runtime knows it */
    uint64_t linked;   /* by which the present host knows it */
    uint32_t installs; /* handles that the device has for it */
    char function[sizeof((struct host_module *)0)->function];
    struct hosted_image *image;
};

/* A request with a REPLY; lies with its caller, who waits. */
struct hosted_call {
    struct hosted_call *next;
    struct host_sending sending; /* what it points to lives as long as the call */
    void *answer;
    uint32_t room; /* bytes of the answer */
    uint32_t sent;
    uint32_t done;
    uint32_t once; /* is not sent again to a new host */
    vyre_status status;
    vyre_error *err;
    struct vyre_block *block;     /* BLOCK: joins the list with its REPLY */
    struct hosted_module *module; /* MODULE: the same */
};

enum hosted_slot_state {
    HOSTED_SLOT_FREE = 0,
    HOSTED_SLOT_WAITING = 1, /* for a host */
    HOSTED_SLOT_SENT = 2,
    HOSTED_SLOT_TAKEN = 3, /* the device has looked at it */
    HOSTED_SLOT_ANSWERED = 4
};

/* A request to queue 0. */
struct hosted_slot {
    uint32_t state;
    uint64_t ticket; /* the runtime's */
    uint64_t wire;   /* the number that the present host has for it */
    uint32_t word[VYRE_SLOT_WORDS];
    vyre_completion completion;
};

/* What the device has under a handle: the arguments of its INSTALL. In order of installing. */
struct hosted_install {
    uint32_t args[VYRE_SLOT_ARGS];
    uint32_t live;
    uint32_t next;
    uint32_t previous;
};

/* What the device has under the number of a queue. */
struct hosted_queue {
    uint32_t args[VYRE_SLOT_ARGS];
    uint32_t open;
    uint32_t reached;  /* the present device may have taken slots of it */
    uint32_t repeats;  /* salvaged and not opened again: how many slots are to be run again */
    vyre_queue *queue; /* while restarting: the queue, or NULL where nobody has it yet */
};

/* Slots of one queue that are being run again. */
struct hosted_replay {
    vyre_queue *queue;
    uint64_t *tickets;
    uint32_t first_serial;
    uint32_t sent;
    uint32_t left; /* sent and not answered */
};

struct vyre_hosted {
    vyre *runtime;
    pthread_mutex_t lock;
    pthread_cond_t news; /* something has ended, or the state has changed */
    uint32_t state;
    struct vyre_host_process process;
    uint32_t serial;      /* of the last request */
    uint64_t wire;        /* of the next request to queue 0 */
    uint64_t next_ticket; /* the same, as the runtime counts */
    struct hosted_call *calls;
    struct hosted_slot slots[HOSTED_SLOTS];
    uint32_t late_serial; /* a call that nobody waits for any more still uses staging; 0: none */

    uint32_t next_number;     /* of blocks */
    struct vyre_block *first; /* in order of their numbers */
    struct vyre_block *last;
    struct vyre_block *walk; /* the next one that a restart will make */
    struct hosted_module *modules;
    struct hosted_image *images;
    uint64_t module_count; /* that there ever were */

    pthread_mutex_t staging_lock; /* before the lock */
    struct vyre_mapping staging;
    int wake_fd;
    int kick_fd; /* ends the keeper's sleep */

    uint32_t paused;      /* (lock) a host of this runtime is to be paused, the next ones too */
    uint32_t queues_left; /* (lock) the present host was made paused, and has no queues yet */
    uint32_t wanted;      /* (lock) the keeper shall resume such a host */

    uint32_t stopping;   /* (atomic) the runtime stops: no restart any more */
    uint32_t closing;    /* (atomic) the keeper shall leave */
    uint64_t stop_until; /* when a device that has not stopped is ended; 0: it need not */
    char why[160];       /* why the host was ended by us; "": it was not */
    pthread_t keeper;
    uint32_t keeping; /* the keeper was started */

    /* (keeper), and while open and destroy run */
    struct hosted_install *installs; /* max_handles */
    uint32_t install_first;
    uint32_t install_last;
    struct hosted_queue *queues; /* max_queues + 1 */
    uint32_t frames_args[VYRE_SLOT_ARGS];
    uint32_t frames_live;
    uint32_t io_args[VYRE_SLOT_ARGS];
    uint32_t io_live;
    uint32_t own_left;   /* requests to queue 0 that the restart itself waits for */
    uint32_t own_failed; /* a fault that one of them was answered with */
    struct hosted_replay replay;
    uint64_t until_ns;    /* of the attempt that is under way */
    uint64_t lived_ns;    /* when the present host was there */
    uint32_t short_lives; /* hosts in a row that died at once */

    uint32_t restarts; /* (atomic) */
    uint64_t lost;     /* (atomic) */
    uint64_t repeated; /* (atomic) */
};

/* hosted_call.c
 * ------------------------------------------------------------------------------------------- */

/* Sends a request and waits for its answer, over restarts too. limit_ns 0: as long as it takes.
 * E_LOST, E_STOPPED, E_TIMEOUT, or what the host says. */
vyre_status vyre_hosted_call(struct vyre_hosted *hosted, struct hosted_call *call,
                             uint64_t limit_ns, vyre_error *err);

/* Sends a request of the keeper's and handles messages until its answer is there. */
vyre_status vyre_hosted_ask(struct vyre_hosted *hosted, struct hosted_call *call, vyre_error *err);

/* (lock) Sends if that does not wait; 0: not sent. */
int vyre_hosted_send(struct vyre_hosted *hosted, const struct host_sending *sending);

/* (lock) A number for a request. */
uint32_t vyre_hosted_serial(struct vyre_hosted *hosted);

/* (keeper) Handles one message. A status: the host broke the protocol or takes its leave. */
vyre_status vyre_hosted_handle(struct vyre_hosted *hosted, struct host_message *message,
                               vyre_error *err);

/* (keeper) Waits for one message of an attempt and handles it. */
vyre_status vyre_hosted_pump(struct vyre_hosted *hosted, vyre_error *err);

/* (lock) Whether the host has been asked to link, which no kernel runs beside: for so long it can
 * neither launch one nor answer others. Who asked for it sees to it that it ends. */
int vyre_hosted_linking(const struct vyre_hosted *hosted);

/* Whether the present host has not given a sign of life yet. */
int vyre_hosted_fresh(const struct vyre_hosted *hosted);

/* (lock) Ends all calls that are under way. */
void vyre_hosted_fail_calls(struct vyre_hosted *hosted);

/* The status of calls on a device that is gone. */
vyre_status vyre_hosted_refuse(const struct vyre_hosted *hosted, vyre_error *err);

/* hosted_block.c
 * ------------------------------------------------------------------------------------------- */

vyre_status vyre_hosted_block_make(vyre *runtime, struct vyre_block *block, const void *contents,
                                   vyre_error *err);
void vyre_hosted_block_free(vyre *runtime, struct vyre_block *block);
vyre_status vyre_hosted_block_write(vyre *runtime, struct vyre_block *block, size_t at,
                                    const void *bytes, size_t length, vyre_error *err);
vyre_status vyre_hosted_block_read(vyre *runtime, struct vyre_block *block, size_t at, void *bytes,
                                   size_t length, vyre_error *err);
vyre_status vyre_hosted_view(vyre *runtime, uint32_t view, uint32_t tenant, void *room,
                             const void **words, vyre_error *err);

/* (lock) Puts a block that the host has made at the end of the list. */
void vyre_hosted_block_join(struct vyre_hosted *hosted, struct vyre_block *block);

/* (keeper) Makes all blocks in a new host. */
vyre_status vyre_hosted_blocks_again(struct vyre_hosted *hosted, vyre_error *err);

/* A descriptor with a copy of the bytes, which cannot shrink; the caller closes it. */
vyre_status vyre_hosted_file(const void *bytes, size_t length, int *fd, vyre_error *err);

/* A mapping with a descriptor that can be sent. E_UNSUPPORTED where the allocator gives none. */
vyre_status vyre_hosted_map(struct vyre_memory *memory, size_t bytes, const char *what,
                            struct vyre_mapping *mapping, vyre_error *err);

/* hosted_module.c
 * ------------------------------------------------------------------------------------------- */

vyre_status vyre_hosted_link(vyre *runtime, const struct vyre_native_image *image, uint64_t *number,
                             vyre_error *err);

/* (keeper) Links all modules with the kernel of a new host. */
vyre_status vyre_hosted_modules_again(struct vyre_hosted *hosted, vyre_error *err);

/* (keeper, lock) A handle of the native operation with this number has been installed (1), dropped
 * or refused (0). One without handles is forgotten: no restart links it again. */
void vyre_hosted_module_use(struct vyre_hosted *hosted, uint64_t number, int installed);

void vyre_hosted_modules_free(struct vyre_hosted *hosted);

/* hosted_pause.c
 * ------------------------------------------------------------------------------------------- */

vyre_status vyre_hosted_pause(vyre *runtime, vyre_error *err);
vyre_status vyre_hosted_resume(vyre *runtime, vyre_error *err);

/* (keeper) Its sleep was ended by kick_fd. 0: the host is of no use any more, *err says why. */
int vyre_hosted_wanted(struct vyre_hosted *hosted, vyre_error *err);

/* (keeper) Pauses a new host that has everything but its queues, where it is to be. */
vyre_status vyre_hosted_pause_again(struct vyre_hosted *hosted, int *paused, vyre_error *err);

/* hosted_slot.c: requests to queue 0, and the journal of what they have changed
 * ------------------------------------------------------------------------------------------- */

int vyre_hosted_post(vyre *runtime, const uint32_t *slot, uint64_t *ticket);
size_t vyre_hosted_reap(vyre *runtime, vyre_completion *completions, size_t max);
void vyre_hosted_wait(vyre *runtime, uint64_t until_ns);
int vyre_hosted_taken(vyre *runtime, uint64_t ticket);

/* (keeper) */
vyre_status vyre_hosted_answer(struct vyre_hosted *hosted, const struct host_answer *answer,
                               vyre_error *err);
void vyre_hosted_note_taken(struct vyre_hosted *hosted, uint64_t wire);

/* (keeper) Sends a request of the restart itself; vyre_hosted_settle waits for all of them. */
vyre_status vyre_hosted_own_slot(struct vyre_hosted *hosted, uint32_t opcode,
                                 const uint32_t args[VYRE_SLOT_ARGS], vyre_error *err);
vyre_status vyre_hosted_settle(struct vyre_hosted *hosted, vyre_error *err);

/* (lock) The host is gone: what it had is to be sent again; or nobody will answer. */
void vyre_hosted_slots_recall(struct vyre_hosted *hosted);
void vyre_hosted_slots_send(struct vyre_hosted *hosted);
void vyre_hosted_slots_lose(struct vyre_hosted *hosted);

/* Ends the host of a device that was told to stop and does not. */
void vyre_hosted_enforce_stop(struct vyre_hosted *hosted);

/* hosted.c
 * ------------------------------------------------------------------------------------------- */

/* (keeper, or open) Starts a host and opens the device there. */
vyre_status vyre_hosted_connect(struct vyre_hosted *hosted, vyre_error *err);

/* Ends the sleep of whoever waits for an event. */
void vyre_hosted_poke(int fd);

/* restart.c
 * ------------------------------------------------------------------------------------------- */

/* (keeper) Opens the queues in a host that has everything else; then it is connected. */
vyre_status vyre_hosted_queues_again(struct vyre_hosted *hosted, vyre_error *err);

/* (keeper) The host has died or broke the protocol. 0: the device is gone for good. */
int vyre_hosted_restart(struct vyre_hosted *hosted, const char *why);

/* Tests: has the host fail in the way that it numbers. */
vyre_status vyre_hosted_inject(vyre *runtime, uint64_t number, vyre_error *err);

#endif
