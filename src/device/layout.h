/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Where each word of a running device lies, and who writes it.
 *
 * Three kinds of memory. A queue's mapping is shared with its application: submission ring,
 * completion ring, parameter blocks and one page of single words (struct dev_queue_page), each word
 * with one writer for its whole life. The device page (struct dev_page) is read by every
 * producer; one line of it is the device's, one is for waking it. All else is device memory: the
 * host lays it out before the first worker starts and changes it afterwards only through queue 0.
 *
 * Locks: `poller` is the poller's role; its holder owns everything marked (poller). `sched` guards
 * what is marked (sched). The order is poller before sched. Whatever is marked (atomic) stands
 * under no lock.
 */
#ifndef VYRE_DEVICE_LAYOUT_H
#define VYRE_DEVICE_LAYOUT_H

#include "device/io_ring.h"
#include "device/platform.h"
#include "vyre/wire.h"

#define DEV_NONE           0xFFFFFFFFu
#define DEV_LOG_RECORDS    64u
#define DEV_SYSTEM_ENTRIES 32u /* in-flight entries kept for system operations, at most */
#define DEV_GRACES         16u
#define DEV_SLOT_SCALARS   7u /* scalar parameters in a slot: its arguments 5..11 */
#define DEV_BLOCK_SCALARS  4u /* and in its parameter block */
#define DEV_SCALARS        (DEV_SLOT_SCALARS + DEV_BLOCK_SCALARS)
#define DEV_WINDOWS        2u /* views of a run that show a part of their buffer */
#define DEV_WINDOW_ALIGN   16u

/* One entry of the wire format's ring: a slot the device has taken and not yet ended. */
struct dev_inflight {
    uint32_t slot[VYRE_SLOT_WORDS]; /* wire form, true tenant, live status (atomic) */
    uint64_t ticket;
    uint64_t deadline_ns; /* 0: none */
    uint64_t taken_ns;
    uint32_t queue;
    uint32_t next;      /* (sched) next in a run queue; (poller) in the waiting list, or of the runs
                           to be told of */
    uint32_t operation; /* index of its native operation in the handle table, or DEV_NONE */
    uint32_t cancel;    /* (atomic) non-zero: its end is wanted */
    uint32_t place;     /* of the slot in its submission ring */
    uint32_t version;   /* (atomic) odd while the entry is being filled */
    uint32_t run;       /* index of its struct dev_run if it runs a program, or DEV_NONE */
    uint32_t spare;     /* (sched) not of this entry: a word of the stack of free ones (runq.h) */
    uint64_t claimed_ns; /* (atomic) when it was last taken out of its run queue */
};

/* Beside each place of a submission ring: what a slot says that does not fit its 64 bytes. */
struct dev_params {
    uint64_t ticket; /* the block belongs to the slot with this ticket, else it is an old one */
    uint64_t deadline_ns;               /* on the monotonic clock; 0: none */
    uint32_t scalar[DEV_BLOCK_SCALARS]; /* parameters of a program that the slot has no room for */
};

/*
 * What a producer says, stored in one piece. Where a device reads across a link the bells of one
 * application lie side by side, so that one read covers many; else in the page of their queue.
 */
struct dev_bell {
    uint32_t tail; /* index after the last published slot (R1) */
    uint32_t
        special; /* index after the last of them that is not plain: it has a parameter block, or
                    (as far as a producer looks, see setup.classified) may not be run in place */
};

/* The single words of a queue. One line a writer. */
struct dev_queue_page {
    /* producer */
    struct dev_bell bell; /* where the queue's bell has no other place */
    uint32_t producer_pad[14];
    /* reaping side and watcher thread */
    uint32_t waiter;  /* reaping thread: sleeping, or about to */
    uint32_t watcher; /* watcher thread: sleeping, or about to */
    uint32_t reaper_pad[14];
    /* device */
    uint32_t event;      /* changes when somebody is woken; sleepers wait on it */
    uint32_t final_head; /* set before the device's state becomes DEV_GONE */
    uint32_t taken;      /* queue 0: index after the last slot that was taken */
    uint32_t copied;     /* classified queues: all slots before this index have been copied; their
                            places are free, as far as the device is concerned */
    uint32_t device_pad[12];
};

/*
 * The mapping of a queue: its page, and behind it parameter blocks, submission ring and completion
 * ring, each where these say. Host and device lay it out by the same three functions.
 */
#define DEV_QUEUE_PARAMS_AT 256u

DEV_FN size_t dev_queue_submission_at(uint32_t slots)
{
    size_t bytes = DEV_QUEUE_PARAMS_AT + (size_t)slots * sizeof(struct dev_params);
    return (bytes + 127u) & ~(size_t)127u;
}

DEV_FN size_t dev_queue_completion_at(uint32_t slots)
{
    return dev_queue_submission_at(slots) + (size_t)slots * VYRE_SLOT_BYTES;
}

DEV_FN size_t dev_queue_bytes(uint32_t slots)
{
    return dev_queue_completion_at(slots) + (size_t)slots * VYRE_COMPLETION_BYTES;
}

enum dev_queue_flag {
    DEV_QUEUE_SEALED = 1,    /* slots carry seals; completions may */
    DEV_QUEUE_CLASSIFIED = 2 /* bell.special counts every slot that may not be run in place */
};

/* What the host says about a queue it opens; addresses are the device's. */
struct dev_queue_setup {
    uint32_t *submission; /* slots * 16 words */
    uint32_t *completion; /* slots * 16 words */
    struct dev_params *params;
    struct dev_queue_page *page;
    const struct dev_bell *bell;
    uint32_t *cancel_bits; /* one bit a place, in device memory */
    uint64_t first_ticket;
    uint64_t first_completion; /* index of the first entry to write */
    uint32_t slots;            /* a power of two */
    uint32_t tenant;
    uint32_t sealed;
    uint32_t classified;
};

struct dev_queue {
    struct dev_queue_setup setup;
    uint32_t open; /* (poller) */
    uint32_t log2_slots;
    uint64_t
        head; /* (poller) ticket of the next slot to take; read by others for a hint (atomic) */
    uint32_t watch;          /* (poller) its place in the list of watches */
    uint32_t barrier;        /* (poller) take nothing until inflight is 0 */
    uint32_t fence;          /* (poller) entry that waits for that, or DEV_NONE */
    uint32_t seal_misses;    /* (poller) how often the slot at head did not fit its seal */
    uint32_t cancel_pending; /* (poller) bits set in cancel_bits */
    uint32_t
        mixed; /* (poller) entries of the queue may be in flight: others reserve completions too */
    uint64_t grace_tail[DEV_GRACES]; /* (poller) what had been published when each period began */
    uint64_t completed; /* (atomic) completion entries reserved; the next one's index */
    uint32_t inflight;  /* (atomic) slots taken and not ended, a waiting fence not counted */
    uint32_t
        chunked;     /* (atomic) slots in chunks that were handed to workers of a resident kernel */
    uint32_t runs;   /* (atomic) those of them that run programs */
    uint32_t tasks;  /* (poller) resident kernel: number after that of its last chunk's task */
    uint32_t opened; /* (poller) how often this number was opened; tells queues apart that had it */
};

enum dev_handle_kind {
    DEV_FREE = 0,
    DEV_BUFFER = 1,
    DEV_OPERATION = 2, /* a native operation */
    DEV_PROGRAM = 3,   /* address: a block of bytecode that the verifier has passed */
    DEV_BINDINGS = 4   /* address: a struct dev_bindings */
};
/* DYING: no slot may take hold of it. DROPPING + p: only slots published before grace period p. */
enum dev_handle_state { DEV_LIVE = 0, DEV_DYING = 1, DEV_DROPPING = 2 };

/* A handle is generation << 16 | index. An entry's fields but refs and state change only while it
 * is DEV_FREE. */
struct dev_handle {
    uint32_t generation;
    uint32_t kind;  /* (poller) */
    uint32_t owner; /* tenant, or VYRE_TENANT_ANY */
    uint32_t rights;
    uint64_t address; /* of a buffer's bytes, of a native function, or as the kind says */
    uint64_t bytes;
    uint32_t refs;  /* (atomic) slots in flight that use it */
    uint32_t state; /* (poller) */
    uint32_t opcode;
    uint32_t read_handles; /* bit i: argument i of the operation is a buffer handle */
    uint32_t write_handles;
    uint32_t steps;
    uint64_t ctx;
};

/* The buffers of a program's runs. While the handle is installed the set holds each of them. */
struct dev_bound {
    uint64_t address;
    uint64_t bytes;
    uint32_t handle; /* 0: a scalar parameter that comes with the slot */
    uint32_t rights; /* that the program uses; with DEV_RIGHT_SEEN where the application sees it */
};

struct dev_bindings {
    uint32_t program;      /* handle of the program that it is for */
    uint32_t count;        /* the program's views */
    uint32_t open_scalars; /* views that come with the slot */
    uint32_t reserved;
    struct dev_bound bound[]; /* count of them */
};

/* What the views of a run show, besides its binding set. */
struct dev_run_args {
    uint32_t scalar[DEV_SCALARS];
    uint32_t windows;                 /* byte k + 1: the view that window k narrows, plus 1 */
    uint32_t window[2 * DEV_WINDOWS]; /* of each its offset and its length, in bytes */
};

/* A slot that runs a program, while it is in flight. (sched), but `next`, which workers move
 * without it, and what is marked; fault, fault_group and waiting are read without it for a hint. */
struct dev_run {
    uint64_t total;         /* workgroups of its grid */
    uint64_t next;          /* the next one to start */
    uint64_t ended;         /* (atomic) those that ran to their end */
    uint64_t settled;       /* (atomic) and those that will never run: the last one ends the slot */
    uint64_t steps;         /* (atomic) */
    uint64_t out_of_bounds; /* (atomic) */
    uint64_t fault_group;
    uint32_t fault; /* of the lowest-numbered workgroup that faulted, or 0 */
    uint32_t fault_pc;
    uint32_t fault_detail;
    uint32_t fault_lane;
    uint32_t holders;      /* (atomic) the slot until it has ended, and workers that are at it */
    uint32_t waiting;      /* first of the frames that wait to be resumed, or DEV_NONE */
    uint32_t queued;       /* its entry is in a run queue */
    uint32_t spare;        /* not of this run: a word of the stack of free ones (run.h) */
    uint32_t program;      /* index of its handle */
    uint32_t bindings;     /* the same */
    uint32_t waiting_last; /* of those frames, where there are any */
    struct dev_run_args args;
};

/* Where a slot that asked for input or output stands. */
enum dev_io_phase {
    DEV_IO_ENDED = 0,
    DEV_IO_FOR_ROOM = 1,   /* its request waits until others have been answered */
    DEV_IO_FOR_CHUNK = 2,  /* it waits for a chunk */
    DEV_IO_FOR_ANSWER = 3, /* the pump has its request */
    DEV_IO_FOR_COPY = 4,   /* a worker copies between chunk and buffer, or is to */
    DEV_IO_FOR_OTHERS = 5  /* a fence: it waits for the end of those before it */
};

/* A slot that asked for input or output, by the number of its entry. (poller) */
struct dev_io_wait {
    uint32_t next; /* of those that have not ended, in the order in which they were taken */
    uint32_t previous;
    uint32_t chunk;    /* its own, or DEV_NONE */
    uint32_t piece;    /* bytes that are asked for now; then those to copy */
    uint32_t done;     /* bytes that have been moved */
    uint8_t phase;     /* enum dev_io_phase */
    uint8_t last;      /* no piece follows this one */
    uint8_t follows;   /* the pump has answered a piece and expects another */
    uint8_t cancelled; /* the pump has been told so */
};

/* The device's side of requests and answers: io.h. */
struct dev_io {
    /* fixed while workers run */
    struct dev_io_wait *waits; /* inflight_slots; NULL: none can be had */
    uint32_t entries;          /* requests without an answer, at most; a power of two */
    uint32_t chunk_count;      /* set with the page */
    /* set once, by queue 0 (poller and sched) */
    struct dev_io_page *page; /* NULL until then */
    struct dev_io_request *requests;
    const struct dev_io_answer *answers;
    unsigned char *chunks;
    /* (poller) */
    uint64_t free_chunks; /* bit i: chunk i */
    uint64_t deadline_ns; /* as in the page */
    uint32_t posted;      /* index of the next request */
    uint32_t told;        /* as the page says it */
    uint32_t deadline_told;
    uint32_t answered;    /* (atomic) index of the next answer */
    uint32_t outstanding; /* (atomic) requests without one */
    uint32_t live;        /* (atomic) slots that have not ended */
    uint32_t fences;      /* those of them that are fences */
    uint32_t prefetches;  /* of the requests without an answer those that no slot waits for */
    uint32_t first;       /* of all those slots */
    uint32_t last;
    uint32_t room_first; /* of those that wait for room */
    uint32_t room_last;
    uint32_t chunk_first; /* of those that wait for a chunk */
    uint32_t chunk_last;
    uint32_t stopped; /* all have been told to end */
    uint32_t resting; /* (atomic) slots whose entries no worker is at */
    /* (sched) */
    uint32_t back; /* first of those that workers have copied for; read without the lock for a hint
                      (atomic) */
    uint32_t back_last;
    uint32_t pad[13];
};

struct dev_log_record {
    uint32_t stamp; /* of a whole record see dev_log_stamp; 0 while it is being written */
    uint32_t word[4];
};

/* A tenant's debug log: the newest records stay. */
struct dev_log {
    uint32_t lock;
    uint32_t reserved;
    uint64_t count; /* (atomic) records ever written */
    struct dev_log_record record[DEV_LOG_RECORDS];
};

/* Slots of one queue that wait at one priority, first come first served. (sched) */
struct dev_run_node {
    uint32_t first;
    uint32_t last;
    uint32_t next; /* the node that has its turn after this one */
    uint32_t queue;
};

/* One priority: a circle of nodes that take turns. Tenants' shares will stand between level and
 * node. (sched) */
struct dev_level {
    uint32_t first;
    uint32_t last;
    uint32_t waiting;
    uint32_t reserved;
    uint64_t since_ns; /* when the level was last served, or stopped being empty */
};

enum dev_state { DEV_RUNNING = 0, DEV_STOPPED = 1, DEV_GONE = 2 };

/* Read by every producer after its doorbell. One line a side. */
struct dev_page {
    /* device */
    uint32_t poller;   /* (atomic) the poller's role: 1 while a worker looks at the doorbells */
    uint32_t sleepers; /* (atomic) workers asleep, or about to be; resident kernel: number of the
                          launch that has parked, or is about to, else 0 */
    uint32_t state;    /* enum dev_state */
    uint32_t left;     /* resident kernel: number of the last launch that has left */
    uint32_t again; /* resident kernel: number of the last launch that left to be launched again */
    uint32_t told;  /* resident kernel: number of the last launch that queue 0 told to park */
    uint32_t pad[10];
    /* processors, of whichever process; see release.h */
    uint32_t release; /* (atomic) resident kernel: launches up to this number may begin */
    uint32_t release_pad;
    uint64_t woken_ns; /* (atomic) when it was last raised, on the monotonic clock */
    uint32_t waker_pad[12];
};

/*
 * What a look at the doorbells needs of each open queue, side by side. Entries come and go under
 * poller and sched; so a worker without the role may look under sched alone.
 */
struct dev_watch {
    const struct dev_bell *bell;
    uint32_t head; /* (atomic) low word of the queue's head */
    uint32_t queue;
    uint32_t slots;
    uint32_t blocked; /* (atomic) behind a fence: its doorbell is no news */
};

struct dev_vitals;

struct dev_runtime {
    /* fixed while workers run */
    struct dev_page *page;     /* begins the memory that is shared with the application */
    struct dev_vitals *vitals; /* follows it; see vitals.h */
    struct dev_queue *queues;  /* queues[0] is the system queue */
    struct dev_watch *watch;
    struct dev_handle *handles;
    uint32_t *opcode_map; /* open addressing: handle index or DEV_NONE; (poller) */
    struct dev_inflight *inflight;
    struct dev_run_node *nodes; /* VYRE_PRIORITIES * max_queues */
    uint32_t *observables;      /* max_tenants * observable_words */
    struct dev_log *logs;       /* max_tenants */
    struct dev_run *runs;       /* run_slots */
    uint32_t *worker_frame;     /* the frame of each worker; its own */
    uint32_t
        *worker_version; /* version of each worker's line of the vitals, a line apart; its own */
    struct dev_handover
        *handover; /* resident kernel: see resident.h; NULL where workers are threads */
    uint32_t max_queues;
    uint32_t max_tenants;
    uint32_t max_handles;
    uint32_t opcode_map_size; /* a power of two */
    uint32_t inflight_slots;
    uint32_t observable_words;
    uint32_t seal_polls;
    uint32_t workers;
    uint32_t run_slots;
    uint32_t step_budget;  /* of a workgroup before others have their turn */
    uint64_t frame_stride; /* bytes of a frame */
    uint64_t interpreter;  /* CPU: the function that runs a frame */
    uint32_t frame_count;  /* workers + continuations */
    uint32_t room_bytes;   /* of a warp's room; 0 where workers are threads */
    uint64_t idle_spin_ns;
    uint64_t ageing_ns;

    /* (poller) */
    uint32_t watch_count;
    uint32_t watch_turn;   /* where the next pass begins */
    uint32_t waiting_list; /* system operations that wait for a condition, or DEV_NONE */
    uint32_t waiting_ops;  /* how many those are; read by others for a hint (atomic) */
    uint32_t barriers;     /* queues that wait behind a fence; read by others for a hint (atomic) */
    uint32_t graces;       /* bit p: grace period p runs; see grace.h */
    uint32_t spread;       /* resident kernel: first of the entries whose runs workers are to be
                              told of, or DEV_NONE */
    uint32_t spread_last;
    uint32_t park;      /* the resident kernel has been told to leave */
    uint32_t late;      /* the periods that had begun when the slot being taken was published */
    uint32_t beat_ends; /* (atomic) what `ends` was when vitals.h last wrote the queues' counts */
    uint64_t beats;     /* heartbeats; vitals.h */
    uint64_t beat_ns;   /* when the last one was */
    uint32_t tasks_posted; /* resident kernel: by the last look at what waits on queue 0 */
    uint32_t tasks_ended;  /* of these, up to which all that may name handles have ended */
    uint32_t grace_tasks;  /* bit p: grace_task[p] is set */
    uint32_t grace_task[DEV_GRACES]; /* that many tasks were posted when its slots had been taken */
    uint32_t poller_pad[3];
    uint32_t lookups; /* (atomic) warps that look handles up, and whether any may; lookup.h */
    uint32_t
        settled; /* (poller) looks after which queue 0 was up to date; read by warps (atomic) */
    uint32_t lookups_pad[14];

    /* (sched) */
    uint32_t sched;
    uint32_t free_count; /* entries that are free; read without the lock for a hint (atomic) */
    uint32_t
        waiting_mask; /* bit p: level p is not empty; read without the lock for a hint (atomic) */
    struct dev_level levels[VYRE_PRIORITIES];
    uint32_t pushes;    /* (also read without the lock for a hint) how often a worker was wanted for
                           what is in the run queues */
    uint32_t free_runs; /* runs that are free; read by the poller for a hint (atomic) */
    uint32_t free_frame;   /* list of free frames */
    uint32_t frames_full;  /* how often a workgroup went on because no frame was free */
    unsigned char *frames; /* NULL until the first program is loaded; set by the poller */

    /* (atomic) */
    uint32_t wake_seq; /* sleeping workers wait on it */
    uint32_t shutdown;
    uint32_t running; /* workers that have not left */
    uint32_t ends;    /* entries that ended: whoever waits for one looks again when it changes */
    uint32_t guest;   /* 1: a thread that is no worker polls, or is about to; see worker.h */
    uint32_t wake_pad[11];
    uint32_t control[VYRE_CONTROL_WORDS]; /* the wire format's header, kept true */
    uint32_t byte_operation[256]; /* index + 1 of the operation under an opcode below 256, 0: none;
                                     written by the poller, never while a slot holds it */
    struct dev_io io;
};

/* One operation while it runs: a slot, or one of the operations packed into it. */
struct dev_call {
    struct dev_runtime *rt;
    struct dev_inflight *entry; /* NULL where the poller runs it in place */
    const uint32_t *arg;        /* 12 words */
    uint64_t ticket;
    uint32_t tenant;
    uint32_t place; /* of the slot in its submission ring */
    uint32_t pc;
    uint32_t steps;
    uint32_t result[VYRE_COMPLETION_RESULTS];
};

static_assert(sizeof(struct dev_inflight) == 128, "two lines");
static_assert(sizeof(struct dev_params) == 32, "two to a line");
static_assert(sizeof(struct dev_run) % 8 == 0, "in an array");
static_assert(sizeof(struct dev_bell) == 8, "stored in one piece");
static_assert(sizeof(struct dev_queue_page) == 192, "one line a writer");
static_assert(offsetof(struct dev_queue_page, waiter) == 64, "one line a writer");
static_assert(offsetof(struct dev_queue_page, event) == 128, "one line a writer");
static_assert(sizeof(struct dev_handle) == 64, "one line");
static_assert(sizeof(struct dev_io_wait) == 24, "one for each entry in flight");
static_assert(sizeof(struct dev_io) % 64 == 0, "whole lines");
static_assert(sizeof(struct dev_page) == 128, "one line a side");
static_assert(offsetof(struct dev_page, release) == 64, "one line a side");

#endif
