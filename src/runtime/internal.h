/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of the runtime room share: the runtime, its queues, buffers, operations, programs
 * and binding sets.
 *
 * Locks: system.lock guards queue 0 and every list and count below that names it; it is never held
 * while waiting for the device. frames_lock comes before it. Queues have no lock: one thread
 * submits, one reaps.
 */
#ifndef VYRE_RUNTIME_INTERNAL_H
#define VYRE_RUNTIME_INTERNAL_H

#include <pthread.h>

#include "backend/backend.h"
#include "base/log.h"
#include "base/memory.h"
#include "device/vitals.h"
#include "lang/lang.h"
#include "runtime/io.h"
#include "runtime/port.h"
#include "runtime/ticket_map.h"
#include "vm/vm.h"
#include "vyre/vyre.h"

/* A request to queue 0 that is under way. (system.lock) */
struct vyre_request {
    struct vyre_request *next;
    uint64_t ticket;
    uint32_t done;
    uint32_t lost; /* the device was gone before it answered */
    uint32_t result;
    uint32_t posted;
    uint32_t waits; /* for a condition: it may be under way for long */
    uint32_t opcode;
    uint32_t args[VYRE_SLOT_ARGS];
    /* of a drop that nobody waits for: */
    uint32_t handle;                /* what it drops */
    uint32_t keepers;               /* binding sets that hold it: it is sent when they are gone */
    void *subject;                  /* NULL: somebody waits for the answer */
    void (*release)(void *subject); /* called with the answer (system.lock) */
    /* of one that vyre_system_send has sent: called with its end, whatever that is (system.lock) */
    void (*ended)(struct vyre_request *request, const vyre_completion *completion);
};

struct vyre_system {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    uint32_t reaping; /* a thread waits for the ring on behalf of all */
    uint32_t waiting; /* requests under way that wait for a condition */
    struct vyre_request *requests;
};

/* The numbers of handles: which are free, and the generation that each has next. (system.lock) */
struct vyre_handle_pool {
    uint16_t *generation;
    uint32_t *free; /* a circle, so that a number rests as long as possible */
    uint32_t first;
    uint32_t count;
    uint32_t size;
};

#define VYRE_SHORT_PLACES 64u /* an opcode has one of them; whoever comes second has none */

struct vyre {
    struct vyre_memory memory;
    struct vyre_memory buffer_memory; /* the same hooks, counted apart */
    struct vyre_log log;
    const struct vyre_backend_table *backend;
    const struct vyre_port *port;
    vyre_options options;      /* as checked: no VYRE_DEFAULT left */
    struct dev_page *page;     /* what the device says to every producer */
    struct dev_vitals *vitals; /* and about itself */
    struct vyre_block shared;  /* the memory that these two lie in */
    struct dev_bell *bells;    /* one for each queue where they lie together, or NULL */
    struct vyre_block bells_block;
    uint32_t sealed;            /* queues are sealed unless they ask for something else */
    uint32_t silent;            /* the device wakes no sleeper of this process: look now and then */
    struct vyre_local *local;   /* local port: the device */
    struct vyre_hosted *hosted; /* hosted port: the connection */
    struct vyre_system system;
    struct vyre_handle_pool handles;
    vyre_queue *default_queue;
    vyre_queue *queues;         /* (system.lock) */
    uint32_t *queue_numbers;    /* (system.lock) 1: taken */
    uint32_t queue_count;       /* (system.lock) without queue 0 */
    vyre_buffer *buffers;       /* (system.lock) */
    vyre_operation *operations; /* (system.lock) */
    vyre_program *programs;     /* (system.lock) in order of loading */
    vyre_bindings *bindings;    /* (system.lock) */
    uint32_t program_count;     /* (system.lock) */
    uint32_t program_serial;    /* (system.lock) of the newest program */
    uint32_t next_opcode;       /* (system.lock) the next one to try for a program without one */
    uint64_t short_programs[VYRE_SHORT_PLACES]; /* (atomic) opcode, and above it the weight, of
                                                   programs that are over soon; 0: none */
    pthread_mutex_t frames_lock;
    struct vyre_block frames; /* (frames_lock) made for the first program */
    pthread_mutex_t stop_lock;
    uint32_t started;           /* the device runs, or did */
    uint32_t joined;            /* (stop_lock) the workers have ended */
    uint32_t lost;              /* (atomic) the device host is gone and no other could be started */
    uint32_t stalls;            /* (atomic) reported */
    uint32_t paused;            /* (atomic; pause_lock changes it) pause.c */
    pthread_mutex_t pause_lock; /* after stop_lock, before all others */
    struct vyre_watchdog *watchdog; /* NULL where nobody looks */
    struct vyre_io io;
    char choice[160];
};

/* The weight of a program that is over soon (vm_short_weight), or 0. Any thread. */
static inline uint32_t vyre_short_weight(const vyre *runtime, uint32_t opcode)
{
    uint64_t entry =
        __atomic_load_n(&runtime->short_programs[opcode % VYRE_SHORT_PLACES], __ATOMIC_RELAXED);
    return (uint32_t)entry == opcode ? (uint32_t)(entry >> 32) : 0;
}

/* A completion that arrived while another one was waited for. */
struct vyre_kept {
    vyre_completion completion;
    uint32_t next;
    uint32_t previous;
};

/* A slot that may run twice, as it was submitted: its place in the ring may be another's by the
 * time that a restart wants to run it again. */
struct vyre_shadow {
    uint32_t word[VYRE_SLOT_WORDS];
    struct dev_params params; /* where has_params says so */
    uint32_t has_params;
    uint32_t tries; /* how often a restart has run it again */
    uint32_t next;  /* in the list of free shadows */
};

struct vyre_watcher;

struct vyre_queue {
    vyre *runtime;
    uint32_t number;
    uint32_t slots;
    uint32_t mask;
    uint32_t log2_slots;
    uint32_t tenant;
    uint32_t sealed;
    uint64_t first_ticket;
    uint64_t deadline_ns;
    struct vyre_block rings;
    struct vyre_block cancel_bits;
    vyre_slot *submission;
    uint32_t *completion;
    struct dev_params *params;
    struct dev_queue_page *page;
    struct dev_bell *bell;
    uint32_t classify; /* the bell says which slots are not plain */
    vyre_queue *next;  /* (system.lock) in the runtime's list */
    struct vyre_watcher *watcher;

    /* submitting thread */
    char submit_line[2 * VYRE_CACHE_LINE];
    uint64_t got;        /* ticket of the next slot to hand out */
    uint64_t submitted;  /* (atomic) tickets below are published */
    uint64_t room_until; /* slots below this ticket may be handed out, as last seen */
    uint32_t special;    /* as in the bell */
    uint32_t overrides;  /* slots got but not submitted that have a parameter block of their own */
    uint32_t new_marks;  /* slots got but not submitted that were marked */

    /* reaping thread */
    char reap_line[2 * VYRE_CACHE_LINE];
    uint64_t reaped; /* (atomic) first_ticket plus how many completions the caller has received */
    uint64_t next_entry; /* (atomic) index of the next entry to take from the ring */
    uint32_t wait_mode;
    uint32_t guarded;       /* the device may be restarted: reap_lock guards what follows */
    uint32_t salvaged;      /* (atomic) a restart has kept completions since the last look */
    uint32_t untaken_known; /* the device is gone: untaken_next is set */
    uint64_t untaken_next;  /* the first ticket that it did not take and that has not ended here */
    struct vyre_kept *kept;
    uint32_t kept_free;
    uint32_t kept_first;
    uint32_t kept_last;
    uint32_t kept_count;
    struct vyre_ticket_map kept_index;
    uint64_t arrived;            /* one more than the greatest ticket that has ended */
    struct vyre_ticket_map gaps; /* the tickets below it that have not */

    /* marked slots: rare, so under a lock of their own */
    char mark_line[2 * VYRE_CACHE_LINE];
    uint32_t marked; /* (atomic) how many */
    pthread_mutex_t mark_lock;
    struct vyre_ticket_map marks; /* made with the first mark; of each ticket its shadow */
    struct vyre_shadow *shadows;  /* `slots` of them where the queue is guarded, else NULL */
    uint32_t shadow_free;

    pthread_mutex_t reap_lock; /* guarded: between the reaping thread and a restart */
    uint64_t *underway;        /* guarded: a restart's list of tickets, `slots` of them */
};

struct vyre_buffer {
    vyre *runtime;
    uint32_t handle;
    uint32_t kind;
    uint32_t tenant;
    uint32_t rights;
    struct vyre_block block;
    struct vyre_request drop;
    vyre_buffer *next; /* (system.lock) */
};

struct vyre_operation {
    vyre *runtime;
    uint32_t handle;
    vyre_operation *next; /* (system.lock) */
};

/* Nothing in it changes but refs. */
struct vyre_kernel {
    struct vyre_memory own;
    struct vyre_memory *memory; /* its own, or that of the runtime it was loaded into */
    uint32_t refs;              /* (atomic) the reader's and one of each program */
    struct ir_program *tree;
    struct vm_program *code;
    struct lang_output *lang; /* what it knows of its source; NULL where it was not compiled */
    void *bytes;              /* VIR0, a copy */
    size_t length;
    uint8_t fingerprint[32];
};

struct vyre_program {
    vyre *runtime;
    vyre_kernel *kernel;
    struct vm_header *code;  /* its own copy */
    struct vyre_block block; /* the same for the device */
    uint32_t handle;
    uint32_t opcode;
    uint32_t tenant;
    uint32_t sets;      /* (system.lock) binding sets that have not been freed */
    vyre_program *next; /* (system.lock) */
};

struct vyre_bindings {
    vyre_program *program; /* not to be followed after vyre_bindings_free */
    vyre *runtime;
    uint32_t handle;
    uint32_t count; /* the program's views */
    struct vyre_request drop;
    vyre_bindings *next;      /* (system.lock) */
    vyre_buffer **kept;       /* the buffer of each view, or NULL */
    struct dev_bindings *set; /* as it was made */
    struct vyre_block block;  /* the same for the device, which notes addresses in it */
};

/* system.c: queue 0
 * ---------------------------------------------------------------------------------------- */

void vyre_system_init(vyre *runtime);
void vyre_system_destroy(vyre *runtime);

/* A slot of queue 0. */
void vyre_system_slot(uint32_t *slot, uint32_t opcode, const uint32_t args[VYRE_SLOT_ARGS]);

/* Sends a request with these arguments and waits for its answer. Any thread, workers too.
 * E_STOPPED. */
vyre_status vyre_system_call(vyre *runtime, uint32_t opcode, const uint32_t args[VYRE_SLOT_ARGS],
                             uint32_t *result, vyre_error *err);

/* Sends a drop, of which handle, subject and release are set, and does not wait for long: release
 * is called when the answer comes. One that a binding set holds is sent when the set is gone. Any
 * thread. */
void vyre_system_drop(vyre *runtime, struct vyre_request *drop);

/* Sends a request, of which opcode, args and ended are set, if there is room for it now, and
 * returns whether there was. It must live until it has ended: some call of this file, by any
 * thread, then calls `ended`. */
int vyre_system_send(vyre *runtime, struct vyre_request *request);

/* Frees what slots have stopped using since the last call. Any thread. */
void vyre_system_collect(vyre *runtime);

/* Whether the device has stopped taking work. */
int vyre_runtime_stopped(const vyre *runtime);
/* Whether no device works any more, and none will: all that it did is in the rings. */
int vyre_runtime_gone(const vyre *runtime);
/* Whether the device in a device host is being stopped by this side. */
int vyre_hosted_stopping(const vyre *runtime);

/* The error of a call on a device that does not take work any more: E_STOPPED or E_LOST. */
vyre_status vyre_runtime_refuse(const vyre *runtime, vyre_error *err);

/* open.c, caps.c
 * ------------------------------------------------------------------------------------------------------
 */

/* Checks options and puts defaults in; the backend is chosen, caps are its. */
vyre_status vyre_options_check(vyre_options *options, const vyre_caps *caps, vyre_error *err);

/* A runtime without port, device or tables. */
vyre_status vyre_runtime_make(const struct vyre_memory *memory, const vyre_options *options,
                              vyre **runtime, vyre_error *err);

/* What a backend can do for these options: asks a short-lived device host where it must. */
vyre_status vyre_caps_find(uint32_t backend, const vyre_options *options, vyre_caps *caps,
                           vyre_error *err);

/* Bytes of a frame, whole pages. */
uint64_t vyre_frame_stride(const vyre *runtime);

/* Fills what restarts and stalls have counted. */
void vyre_runtime_account(vyre *runtime, vyre_description *description);

/* Waits until a stop that is under way has ended the last worker. */
void vyre_runtime_await_stop(vyre *runtime);

/* Refuses what would wait for slots to end while the caller is one of them. E_STATE. */
vyre_status vyre_runtime_refuse_worker(vyre *runtime, const char *call, vyre_error *err);

/* pause.c
 * ------------------------------------------------------------------------------------------------------
 */

int vyre_runtime_paused(const vyre *runtime);
/* Ends a pause because the device is to be stopped. */
void vyre_pause_end(vyre *runtime);
/* The error of a call that needs a device which is paused. E_STATE. */
vyre_status vyre_pause_refuse(vyre_error *err);

/* buffer.c
 * ------------------------------------------------------------------------------------------------------
 */

/* Checks the options of a buffer to make or to import. */
vyre_status vyre_buffer_check(const vyre *runtime, size_t bytes, const vyre_buffer_options *options,
                              vyre_error *err);

/* Makes the buffer of a block, of which everything is set that the maker sets; on failure nothing
 * of the block is left. */
vyre_status vyre_buffer_make(vyre *runtime, const vyre_buffer_options *options,
                             struct vyre_block *block, vyre_buffer **buffer, vyre_error *err);

/* handles.c: numbers of handles. (system.lock)
 * ---------------------------------------------------------------- */

vyre_status vyre_handles_init(vyre *runtime, uint32_t size, vyre_error *err);
void vyre_handles_destroy(vyre *runtime);
vyre_status vyre_handle_take(vyre *runtime, uint32_t *handle, vyre_error *err);
void vyre_handle_give(vyre *runtime, uint32_t handle);

/* queue.c
 * ----------------------------------------------------------------------------------------------------
 */

/* Makes a queue that the device does not know yet. */
vyre_status vyre_queue_make(vyre *runtime, const vyre_queue_options *options, uint32_t number,
                            vyre_queue **queue, vyre_error *err);
void vyre_queue_free(vyre_queue *queue);

/* The arguments of QUEUE_OPEN. */
void vyre_queue_open_args(const vyre_queue *queue, uint32_t args[VYRE_SLOT_ARGS]);

/* submit.c
 * ---------------------------------------------------------------------------------------------------
 */

/* The parameter block of a slot that was got and not submitted, now that slot's own, with the
 * queue's deadline until it is given another. E_NULL, E_RANGE. */
vyre_status vyre_slot_params(vyre_queue *queue, const vyre_slot *slot, struct dev_params **params,
                             vyre_error *err);

/* reap.c
 * -----------------------------------------------------------------------------------------------------
 */

/* Whether the completion entry with this index, not a lap behind, has been written. Any thread. */
int vyre_queue_written(const vyre_queue *queue, uint64_t index);

/* Whether the next completion is there, or the device is gone. */
int vyre_queue_ready(const vyre_queue *queue);

/* Of a device that wakes nobody: how long to sleep after idle_ns without news. */
uint64_t vyre_queue_nap_ns(const vyre_queue *queue, uint64_t idle_ns);

/* The reaping side's books, for a restart. (reap_lock) */
const uint32_t *vyre_queue_entry(const vyre_queue *queue, uint64_t index); /* NULL: not written */
void vyre_queue_keep_entry(vyre_queue *queue, const uint32_t *entry);      /* pending, ended so */
void vyre_queue_keep_end(vyre_queue *queue, uint64_t ticket, uint32_t outcome); /* the same */
int vyre_queue_pending(const vyre_queue *queue, uint64_t ticket);

/* Sleeps or spins, as the wait mode says, until vyre_queue_ready or the clock shows until_ns. */
void vyre_queue_pause(vyre_queue *queue, uint64_t until_ns);

/* salvage.c: a queue whose device is gone
 * -----------------------------------------------------------------------------------------------------
 */

struct vyre_salvage {
    uint32_t for_good; /* no device follows: nothing is run again */
    uint32_t repeats;  /* tickets at the beginning of queue->underway that are to be run again */
    uint32_t lost;     /* how many ended so */
    uint64_t first_ticket; /* that the next device shall take */
    uint64_t first_entry;  /* index of the first completion entry that it shall write */
};

/* Takes what the device has ended out of the ring, finds what is to be run again, and ends all the
 * rest as lost. Wakes whoever sleeps on the queue. No device has the queue. */
void vyre_queue_salvage(vyre_queue *queue, struct vyre_salvage *salvage);

/* The same of a device that has stopped in order: ends as lost what it did take, or was to be given
 * to run again, and has not ended. How many. */
uint32_t vyre_queue_abandon(vyre_queue *queue);

/* Nobody copies slots out of the ring any more: a producer need not wait for that. No device has
 * the queue. */
void vyre_queue_free_places(vyre_queue *queue);

/* Wakes whoever sleeps on it. No device has the queue, or it wakes nobody. */
void vyre_queue_tell(vyre_queue *queue);

/* The shadow of a ticket that is about to be run again. */
void vyre_queue_shadow(vyre_queue *queue, uint64_t ticket, struct vyre_shadow *shadow);

/* Ends one that could not be. */
void vyre_queue_lose(vyre_queue *queue, uint64_t ticket);

/* watcher.c
 * --------------------------------------------------------------------------------------------------
 */

/* Ends the thread. The device must have given the queue up. */
void vyre_watcher_stop(vyre_queue *queue);

/* watchdog.c
 * -------------------------------------------------------------------------------------------------
 */

/* Starts the thread if stall_ns says so; the device runs. */
vyre_status vyre_watchdog_start(vyre *runtime, vyre_error *err);
/* Ends it; nothing where there is none. */
void vyre_watchdog_stop(vyre *runtime);

/* restart.c: the device host shall be ended and another one started; returns at once. Any thread.
 */
void vyre_restart_request(vyre *runtime, const char *why);

/* tenant.c */

/* Whether the runtime has this tenant. E_RANGE. */
vyre_status vyre_tenant_check(const vyre *runtime, uint32_t tenant, vyre_error *err);

/* buffer.c, operation.c
 * --------------------------------------------------------------------------------------- */

void vyre_buffer_release(void *buffer); /* (system.lock) */
void vyre_operation_release(vyre_operation *operation);

/* kernel.c
 * ---------------------------------------------------------------------------------------------------
 */

/* As vyre_kernel_read with checked options; memory NULL: the kernel has its own from the options.
 */
vyre_status vyre_kernel_make(struct vyre_memory *memory, const void *bytes, size_t length,
                             const vyre_kernel_options *options, vyre_kernel **kernel,
                             vyre_error *err);
void vyre_kernel_hold(vyre_kernel *kernel);
/* E_RESERVED where there is one that this version does not know. */
vyre_status vyre_kernel_check_flags(uint32_t flags, vyre_error *err);

/* compile.c: where an item of a kernel's tree is in its source; line 0 where that is not known. */
vyre_position vyre_kernel_source(const vyre_kernel *kernel, uint32_t id);

/* program.c, bindings.c
 * -------------------------------------------------------------------------------------- */

void vyre_program_release(vyre_program *program);
void vyre_bindings_release(void *bindings); /* (system.lock) */

#endif
