/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file queue.h
 * Queues: get a slot, prepare it, submit, wait or reap.
 *
 * A queue is a submission ring and a completion ring with one producer, bound to one tenant. One
 * thread submits (vyre_queue_slot, vyre_queue_slots, vyre_prep_*, vyre_slot_*, vyre_queue_submit)
 * and one thread reaps (vyre_wait, vyre_queue_reap, vyre_queue_reap_wait); they may be two threads
 * or one. Different queues are independent. Each queue holds a descriptor for its shared memory.
 *
 * At most as many slots as the queue has are outstanding: submitted, and not yet received by the
 * reaping side.
 */
#ifndef VYRE_QUEUE_H
#define VYRE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "vyre/runtime.h"
#include "vyre/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vyre_queue vyre_queue;

/** How vyre_wait and vyre_queue_reap_wait spend their time. */
enum vyre_wait_mode {
    VYRE_WAIT_SPIN = 0,     /**< look without pause: the least latency, one core */
    VYRE_WAIT_ADAPTIVE = 1, /**< look for a while, then sleep */
    VYRE_WAIT_BLOCK = 2     /**< sleep at once: the least CPU time */
};

enum vyre_queue_flag {
    VYRE_QUEUE_SEALED = 1,  /**< slots certify themselves by a seal; the default on CUDA */
    VYRE_QUEUE_UNSEALED = 2 /**< they do not; the default on the CPU */
};

/** How to open a queue. Start from VYRE_QUEUE_OPTIONS_INIT. */
typedef struct vyre_queue_options {
    uint32_t size;         /**< sizeof(vyre_queue_options) */
    uint32_t slots;        /**< a power of two, 1..65536; default 256 */
    uint32_t tenant;       /**< below the runtime's max_tenants; default VYRE_TENANT_DEFAULT */
    uint32_t flags;        /**< enum vyre_queue_flag */
    uint32_t wait_mode;    /**< enum vyre_wait_mode; default ADAPTIVE */
    uint32_t reserved;     /**< 0 */
    uint64_t deadline_ns;  /**< for every slot, from its submit; 0: none */
    uint64_t first_ticket; /**< number of the first slot, to go on with an earlier numbering;
                              default 0 */
} vyre_queue_options;

#define VYRE_QUEUE_OPTIONS_INIT                                                                    \
    {                                                                                              \
        (uint32_t)sizeof(vyre_queue_options), 256u, 0u, 0u, 1u, 0u, 0u, 0u                         \
    }

/** How a slot ended. */
enum vyre_outcome {
    VYRE_DONE = 1,
    VYRE_FAULTED = 2,   /**< vyre_completion.fault says why */
    VYRE_CANCELLED = 3, /**< by vyre_cancel or vyre_stop */
    VYRE_LOST = 4       /**< the device ended without saying what became of it */
};

enum vyre_completion_flag {
    VYRE_COMPLETION_REPEATABLE = 1 /**< the slot had been marked by vyre_slot_repeatable */
};

/** The end of one slot, 64 bytes. */
typedef struct vyre_completion {
    uint64_t ticket;
    uint16_t outcome; /**< enum vyre_outcome */
    uint16_t fault;   /**< enum vyre_fault */
    uint32_t opcode;  /**< what ran */
    uint32_t pc; /**< instruction of a program, index of a packed operation, code of a native one */
    uint32_t out_of_bounds;
    uint32_t steps; /**< what it cost; saturating */
    uint32_t flags; /**< enum vyre_completion_flag */
    uint32_t result[VYRE_COMPLETION_RESULTS];
} vyre_completion;

/**
 * Opens a queue; close it with vyre_queue_close, or leave it to vyre_close. options NULL: all
 * defaults. Statuses: E_NULL, E_SIZE, E_RESERVED, E_RANGE, E_CONFLICT, E_LIMIT (max_queues),
 * E_NO_MEMORY, E_STOPPED, E_LOST.
 */
VYRE_API vyre_status vyre_queue_open(vyre *runtime, const vyre_queue_options *options,
                                     vyre_queue **queue, vyre_error *err);

/**
 * Waits until all submitted slots of the queue have ended, then frees it; completions nobody reaped
 * are dropped. Slots that were got but not submitted are forgotten. NULL is allowed. No other
 * thread may use the queue. Not from inside a native operation, and not the default queue: then it
 * does nothing but tell the log.
 */
VYRE_API void vyre_queue_close(vyre_queue *queue);

/** The queue that vyre_open made for the default tenant; NULL where default_queue_slots was 0. It
 * is the runtime's: vyre_close closes it, vyre_queue_close does not. */
VYRE_API vyre_queue *vyre_queue_default(vyre *runtime);

/** The number of slots of the queue. Any thread. */
VYRE_API uint32_t vyre_queue_capacity(const vyre_queue *queue);

/** The number by which vitals and stall reports name the queue, from 1 on; 0 where queue is NULL.
 * After a close another queue may get it. Any thread. */
VYRE_API uint32_t vyre_queue_number(const vyre_queue *queue);

/* Submitting.
 * --------------------------------------------------------------------------------------------- */

/**
 * The next free slot, to be filled by a vyre_prep function before vyre_queue_submit; NULL means
 * full and nothing else (or that queue is NULL). The slot lies in the ring: do not touch it after
 * the submit. It cannot be given back: one that is submitted without having been prepared ends with
 * the fault NOT_PUBLISHED. Whoever writes words of a slot by hand, also after a vyre_prep function,
 * sets word VYRE_SLOT_TENANT to 0, or the slot may end with the fault SEAL.
 */
VYRE_API vyre_slot *vyre_queue_slot(vyre_queue *queue);

/**
 * Up to `wanted` slots at once, which lie one after the other: the same as so many calls of
 * vyre_queue_slot, in less time. *count receives how many; fewer than wanted does not mean that the
 * queue is full, NULL and 0 does (or that queue or count is NULL, or wanted 0).
 */
VYRE_API vyre_slot *vyre_queue_slots(vyre_queue *queue, uint32_t wanted, uint32_t *count);

/**
 * Publishes all slots got since the last submit. *ticket, unless NULL, receives the ticket of the
 * first; the others follow by one. Nothing prepared is no error: *ticket is then the next ticket to
 * come. Statuses: E_NULL; E_STOPPED, or E_LOST where the device host is gone for good (nothing was
 * published; the slots are forgotten).
 */
VYRE_API vyre_status vyre_queue_submit(vyre_queue *queue, uint64_t *ticket, vyre_error *err);

/** One built-in operation inside a packed slot, or a user operation with an opcode below 256. */
typedef struct vyre_packed_op {
    uint32_t opcode;
    uint32_t arg_count;
    const uint32_t *args;
} vyre_packed_op;

/** Operands of DFA_STEP; see docs/builtins.md for the table's layout. */
typedef struct vyre_dfa_step {
    uint32_t table; /**< handle of the buffer with the table */
    uint32_t state; /**< state to start in */
    uint32_t input; /**< handle of the buffer with the bytes */
    uint32_t reserved;
    uint64_t offset; /**< of the first byte in the input buffer */
    uint32_t length; /**< bytes to step over */
} vyre_dfa_step;

/*
 * Each vyre_prep function fills a whole slot with priority NORMAL. Word arguments count from the
 * start of the control image; a tenant's observable word i is VYRE_CONTROL_OBSERVABLE + i.
 * Statuses: E_NULL; E_RANGE for a word below VYRE_CONTROL_OBSERVABLE or arguments past 32 bits;
 * nothing is written then.
 */
VYRE_API vyre_status vyre_prep_nop(vyre_slot *slot, vyre_error *err);
VYRE_API vyre_status vyre_prep_store_u32(vyre_slot *slot, uint32_t word, uint32_t value,
                                         vyre_error *err);
VYRE_API vyre_status vyre_prep_atomic_add(vyre_slot *slot, uint32_t word, uint32_t addend,
                                          vyre_error *err);
/** Loads a word into observable `observable`, and into result word 0. */
VYRE_API vyre_status vyre_prep_load_u32(vyre_slot *slot, uint32_t word, uint32_t observable,
                                        vyre_error *err);
/** What was found comes in result word 0. */
VYRE_API vyre_status vyre_prep_compare_swap(vyre_slot *slot, uint32_t word, uint32_t expected,
                                            uint32_t desired, vyre_error *err);
/** Copies `count` words upwards, one at a time. */
VYRE_API vyre_status vyre_prep_memcpy(vyre_slot *slot, uint32_t from, uint32_t to, uint32_t count,
                                      vyre_error *err);
/** Steps a DFA over bytes (status also E_RESERVED): result 0 the state, 1 whether one accepted, 2
 * and 3 the offset after the first accept. */
VYRE_API vyre_status vyre_prep_dfa_step(vyre_slot *slot, const vyre_dfa_step *step,
                                        vyre_error *err);
/**
 * Ends after every earlier slot of the queue has ended; later ones start after it. Counts the epoch
 * up and stores the tag in the tenant's observable word 0. item_count is the wire format's and
 * changes nothing.
 */
VYRE_API vyre_status vyre_prep_fence(vyre_slot *slot, uint32_t item_count, uint32_t tag,
                                     vyre_error *err);
/** Several small operations in one slot. Statuses also: E_WIRE_PACKED_*, E_WIRE_OPCODE (an opcode
 * above 255). */
VYRE_API vyre_status vyre_prep_packed(vyre_slot *slot, const vyre_packed_op *ops, size_t count,
                                      vyre_error *err);
/** Appends a record to the tenant's debug log. */
VYRE_API vyre_status vyre_prep_printf(vyre_slot *slot, uint32_t format, uint32_t a, uint32_t b,
                                      vyre_error *err);
/** Any opcode that can be published, with up to 12 argument words. Statuses: E_NULL, E_WIRE_OPCODE,
 * E_WIRE_ARGS. */
VYRE_API vyre_status vyre_prep_op(vyre_slot *slot, uint32_t opcode, const uint32_t *args,
                                  size_t arg_count, vyre_error *err);

/** Sets the priority (enum vyre_priority) of a slot that is prepared already. Statuses: E_NULL,
 * E_RANGE. */
VYRE_API vyre_status vyre_slot_priority(vyre_slot *slot, uint32_t priority, vyre_error *err);

/**
 * Sets the deadline of a slot that was got from this queue and not yet submitted, in place of the
 * queue's: this many nanoseconds after the submit; 0: none. A slot that has not ended by then
 * faults with DEADLINE; what already runs sees it at its next look, a native operation by
 * vyre_call_cancelled. Statuses: E_NULL, E_RANGE (not such a slot).
 */
VYRE_API vyre_status vyre_slot_deadline(vyre_queue *queue, vyre_slot *slot, uint64_t deadline_ns,
                                        vyre_error *err);

/**
 * Marks a slot as above as one that may run twice: after the device was lost it may be submitted
 * again under the same ticket. The mark is kept by the library and shows in the completion. The
 * first mark of a queue takes memory. Statuses: E_NULL, E_RANGE, E_NO_MEMORY.
 */
VYRE_API vyre_status vyre_slot_repeatable(vyre_queue *queue, vyre_slot *slot, vyre_error *err);

/**
 * Asks for an end of a submitted slot. One that has not started ends as cancelled; a native
 * operation that runs sees the wish by vyre_call_cancelled, and its return value alone decides how
 * the slot ends. A program that runs ends soon: what its workgroups have written stays, and the
 * result words say how many of them ran to their end. The end comes as an ordinary completion.
 * Returns when the device has heard of it: where that stands still, when the stall policy or
 * vyre_stop has ended it. Any thread. Statuses: E_NULL, E_NOT_FOUND (ended already or never
 * submitted), E_STOPPED, E_LOST.
 */
VYRE_API vyre_status vyre_cancel(vyre_queue *queue, uint64_t ticket, vyre_error *err);

/* Reaping.
 * ------------------------------------------------------------------------------------------------
 */

/** In any timeout: wait for ever. */
#define VYRE_FOREVER 0xFFFFFFFFFFFFFFFFull

/**
 * Waits for one ticket and receives its completion; others that arrive meanwhile are kept for later
 * calls. Statuses: E_NULL, E_TIMEOUT, E_NOT_FOUND (never submitted, or received before).
 */
VYRE_API vyre_status vyre_wait(vyre_queue *queue, uint64_t ticket, uint64_t timeout_ns,
                               vyre_completion *completion, vyre_error *err);

/** Receives up to `max` completions without waiting, in the order of their ends; *count may be 0.
 * Status: E_NULL. */
VYRE_API vyre_status vyre_queue_reap(vyre_queue *queue, vyre_completion *completions, size_t max,
                                     size_t *count, vyre_error *err);

/**
 * As vyre_queue_reap, but waits until there are at least `min` (or all that are outstanding, if
 * fewer). On E_TIMEOUT *count still tells how many were received. Statuses: E_NULL, E_RANGE (min >
 * max), E_TIMEOUT.
 */
VYRE_API vyre_status vyre_queue_reap_wait(vyre_queue *queue, vyre_completion *completions,
                                          size_t min, size_t max, uint64_t timeout_ns,
                                          size_t *count, vyre_error *err);

/** How many slots are submitted and not yet received. The reaping or the submitting thread. */
VYRE_API uint32_t vyre_queue_outstanding(const vyre_queue *queue);

/** Changes the wait mode; the reaping thread. Statuses: E_NULL, E_RANGE. */
VYRE_API vyre_status vyre_queue_set_wait_mode(vyre_queue *queue, uint32_t wait_mode,
                                              vyre_error *err);

/**
 * An eventfd for poll and epoll that becomes readable when completions have arrived; read it, then
 * reap until there are none. The first call starts the queue's watcher thread. It belongs to the
 * queue: do not close it. The reaping thread. Statuses: E_NULL, E_NO_MEMORY, E_SYSTEM.
 */
VYRE_API vyre_status vyre_queue_event_fd(vyre_queue *queue, int *fd, vyre_error *err);

#ifdef __cplusplus
}
#endif

#endif
