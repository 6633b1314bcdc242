/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file runtime.h
 * Opening, describing, stopping and closing a runtime: one megakernel on one device.
 */
#ifndef VYRE_RUNTIME_H
#define VYRE_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "vyre/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VYRE_VERSION_MAJOR 0
#define VYRE_VERSION_MINOR 1
#define VYRE_VERSION_PATCH 0
#define VYRE_VERSION       "0.1.0"

/** The version of the library that is loaded, such as "0.1.0". Any thread. */
VYRE_API const char *vyre_version(void);

/** A runtime. All functions that take one may be called from any thread, except as their comments
 * say. */
typedef struct vyre vyre;

enum vyre_backend {
    VYRE_BACKEND_AUTO = 0, /**< CUDA if there is one, else CPU; vyre_describe says which and why */
    VYRE_BACKEND_CPU = 1,  /**< worker threads */
    VYRE_BACKEND_CUDA = 2  /**< a resident kernel on an NVIDIA GPU */
};

/** In a 32-bit option of vyre_options whose comment names a default: let the library choose. */
#define VYRE_DEFAULT   0xFFFFFFFFu
/** The same for its 64-bit options. */
#define VYRE_DEFAULT64 0xFFFFFFFFFFFFFFFFull

/** The tenant of every call that names none. */
#define VYRE_TENANT_DEFAULT 0u
/** Owner of an operation or a program that every tenant may use. */
#define VYRE_TENANT_ANY     0xFFFFFFFFu

/**
 * Where the library gets memory. Give all of alloc and free, and either both or none of map and
 * unmap. The functions may be called from any thread that calls the library. They return NULL when
 * there is none left.
 */
typedef struct vyre_allocator {
    void *(*alloc)(void *ctx, size_t size, size_t align); /**< contents do not matter */
    void (*free)(void *ctx, void *memory, size_t size);
    /** Zeroed, page-aligned, shareable memory; stores a descriptor of it in *fd, or -1 where it has
     * none. */
    void *(*map)(void *ctx, size_t size, int *fd);
    void (*unmap)(void *ctx, void *memory, size_t size, int fd);
    void *ctx;
} vyre_allocator;

enum vyre_log_level { VYRE_LOG_ERROR = 0, VYRE_LOG_WARNING = 1, VYRE_LOG_INFO = 2 };

/** Receives one line without a newline. May be called from any thread that calls the library, and
 * from threads of the library. */
typedef void (*vyre_log_fn)(void *ctx, enum vyre_log_level level, const char *line);

/** Where the device lives. */
enum vyre_place {
    VYRE_PLACE_AUTO = 0,    /**< CPU: in this process; CUDA, and backend AUTO with a `host`: in a
                               device host */
    VYRE_PLACE_PROCESS = 1, /**< worker threads of this process; CPU only */
    VYRE_PLACE_HOST = 2     /**< a process of its own, vyre-host, which this one starts and ends */
};

/** What to do about a device, or a slot, that makes no progress. */
enum vyre_stall_policy {
    VYRE_STALL_REPORT = 0, /**< say so, no more */
    VYRE_STALL_CANCEL = 1, /**< also cancel the slots of the busy workers */
    VYRE_STALL_RESTART = 2 /**< also end the device host and start another; a device host only */
};

/** A worker that is at a slot, as its line of the vitals page says. */
typedef struct vyre_vital_worker {
    uint32_t worker;
    uint32_t queue; /**< its number; vyre_queue_number */
    uint32_t tenant;
    uint32_t opcode;
    uint64_t ticket;
    uint64_t busy_ns; /**< since when, counted back from now */
} vyre_vital_worker;

/** A device that is stalled: it had no heartbeat for stall_ns though there is work, or would not
 * leave; or it goes on, but slots have passed their deadlines by stall_ns and have not ended, then
 * `worker` has those alone. */
typedef struct vyre_stall {
    uint32_t size;
    uint32_t policy;  /**< enum vyre_stall_policy: what is being done about it */
    uint64_t idle_ns; /**< since the last heartbeat */
    uint64_t beats;   /**< heartbeats before that */
    uint32_t workers;
    uint32_t busy; /**< entries of `worker` */
    const vyre_vital_worker *worker;
    const char *text; /**< all of it in lines */
} vyre_stall;

/** Receives a report. Called from a thread of the library; the report lives as long as the call. It
 * may call anything but vyre_close. */
typedef void (*vyre_stall_fn)(void *ctx, const vyre_stall *stall);

/** By what the library reads and writes sources. */
enum vyre_io_engine {
    VYRE_IO_ENGINE_AUTO = 0,  /**< io_uring where it can be had, else threads; reports say which */
    VYRE_IO_ENGINE_URING = 1, /**< io_uring, or E_UNSUPPORTED */
    VYRE_IO_ENGINE_PREAD = 2  /**< threads that call pread and pwrite */
};

/** How to open a runtime. Start from VYRE_OPTIONS_INIT; VYRE_DEFAULT leaves a choice to the
 * library. */
typedef struct vyre_options {
    uint32_t size;                /**< sizeof(vyre_options) */
    uint32_t backend;             /**< enum vyre_backend; default AUTO */
    uint32_t workers;             /**< 1..256 worker threads; default one per core; 0 is an error */
    uint32_t default_queue_slots; /**< slots of vyre_queue_default; default 256; 0: there is none */
    uint32_t max_queues;          /**< 1..1024, default 64 */
    uint32_t max_tenants;         /**< 1..1024, default 32; tenants are numbered from 0 */
    uint32_t
        max_handles; /**< buffers, operations, programs and binding sets, 1..65535, default 1024 */
    uint32_t inflight_slots;   /**< slots between ring and completion, 16..65536, default 4096 */
    uint32_t observable_words; /**< of each tenant, 1..1048576, default 256 */
    uint32_t seal_polls; /**< how often a slot whose seal does not fit is read again, not 0; default
                            1000 */
    uint64_t idle_spin_ns; /**< how long one idle worker looks before it sleeps; default 100 us, 0
                              on one core */
    uint64_t ageing_ns; /**< a waiting priority level is served at least this often; default 1 ms,
                           not 0 */
    const vyre_allocator *allocator; /**< NULL: malloc and memfd; copied */
    vyre_log_fn log;                 /**< NULL: no log */
    void *log_ctx;
    uint32_t run_slots;     /**< programs in flight, the last ones kept for other queues, 1..65536,
                               default 256 */
    uint32_t continuations; /**< workgroups that can be put aside for others to have their turn,
                               0..4096, default 64 */
    uint32_t step_budget;   /**< steps of a workgroup before it is put aside, 1..0x7FFFFFFF, default
                               65536 */
    uint32_t reserved;      /**< 0 */
    uint64_t frame_bytes;   /**< what a workgroup may need while it runs, 64 KiB..64 MiB, rounded up
                               to   4096; default 1 MiB. Each worker and each continuation has as much
                               from   the first program on; what is never used costs only addresses */
    uint32_t place;         /**< enum vyre_place; default AUTO */
    uint32_t stall_policy;  /**< enum vyre_stall_policy; default REPORT */
    uint64_t stall_ns;      /**< a device without heartbeat for so long is stalled; 0: nobody looks;
                               default 1 s in a device host, 0 in this process, where looking takes a
                               thread */
    uint64_t park_ns;  /**< CUDA: an idle kernel leaves the GPU after so long; 0: never; default 200
                          ms */
    uint64_t sleep_ns; /**< CUDA: how often a thread that waits without spinning looks at its
                          completion ring; default 50 us, 1 us..1 s */
    const char *device;  /**< CUDA: which GPU, by index ("1") or UUID ("GPU-..."); NULL: the first.
                            With backend AUTO nothing is taken in its place; with CPU, or in this
                            process, it is E_CONFLICT */
    const char *host;    /**< path of vyre-host; NULL: the variable VYRE_HOST, then where it was
                            installed, then near the program or libvyre. E_CONFLICT for worker
                            threads of this process; the variable means nothing there */
    vyre_stall_fn stall; /**< NULL: a stall is only logged */
    void *stall_ctx;
    uint32_t io_entries; /**< requests of slots for input and output that are under way at once
                            (source.h): a power of two up to 4096, default 256; 0: none can be had.
                            What they need is made with the first source */
    uint32_t io_engine;  /**< enum vyre_io_engine; default AUTO */
} vyre_options;

#define VYRE_OPTIONS_INIT                                                                          \
    {                                                                                              \
        (uint32_t)sizeof(vyre_options), VYRE_BACKEND_AUTO, VYRE_DEFAULT, VYRE_DEFAULT,             \
            VYRE_DEFAULT, VYRE_DEFAULT, VYRE_DEFAULT, VYRE_DEFAULT, VYRE_DEFAULT, VYRE_DEFAULT,    \
            VYRE_DEFAULT64, VYRE_DEFAULT64, 0, 0, 0, VYRE_DEFAULT, VYRE_DEFAULT, VYRE_DEFAULT, 0u, \
            VYRE_DEFAULT64, VYRE_PLACE_AUTO, VYRE_STALL_REPORT, VYRE_DEFAULT64, VYRE_DEFAULT64,    \
            VYRE_DEFAULT64, 0, 0, 0, 0, VYRE_DEFAULT, VYRE_IO_ENGINE_AUTO                          \
    }

/**
 * Starts a runtime; the caller closes it with vyre_close. options NULL: all defaults.
 * Statuses: E_NULL, E_SIZE, E_RESERVED, E_RANGE, E_CONFLICT, E_NO_MEMORY, E_SYSTEM, E_UNSUPPORTED
 * (the backend asked for cannot be had, or vyre-host is of another version; the message says why),
 * E_NOT_FOUND (no vyre-host), E_TIMEOUT (it does not answer), E_LOST (it ended meanwhile).
 */
VYRE_API vyre_status vyre_open(vyre **runtime, const vyre_options *options, vyre_error *err);

/**
 * Ends all work promptly: native operations that run finish, all other slots end as cancelled with
 * fault STOPPED (a long built-in at its next look), later submits return VYRE_E_STOPPED. Queues
 * stay open for reaping. Slots that wait for input or output (source.h) end when the system has
 * given that up. Returns when the workers have ended; a device host that does not stop
 * within a second is ended, and what it had under way ends as LOST. A second call does nothing. Not
 * from inside a native operation (E_STATE). Statuses: E_NULL, E_STATE.
 */
VYRE_API vyre_status vyre_stop(vyre *runtime, vyre_error *err);

/**
 * Parks the kernel until vyre_resume: returns when every slot that the device had taken has ended
 * and no kernel of this runtime runs, so that the GPU is entirely free for others. On the CPU
 * backend the workers sleep. What is submitted meanwhile waits in its queue and wakes nobody;
 * deadlines go on. Buffers can be read and written; calls that change what the device knows (making
 * buffers, queues, programs, binding sets, operations; cancelling) return E_STATE, and those that
 * wait for slots (vyre_queue_close, giving back programs and operations) wait for vyre_resume.
 * vyre_stop and vyre_close end the pause. A device host that dies is replaced by one that is
 * paused.
 *
 * Pausing what is paused does nothing. Not from inside a native operation (E_STATE). Statuses:
 * E_NULL, E_STATE, E_BUSY (slots ran on for a second, or kept coming: nothing has changed),
 * E_TIMEOUT (the device host does not answer: not paused), E_STOPPED, E_LOST.
 */
VYRE_API vyre_status vyre_pause(vyre *runtime, vyre_error *err);

/**
 * Ends a pause: what has been submitted meanwhile runs. Does nothing where there is none. Statuses:
 * E_NULL, E_STATE (inside a native operation), E_STOPPED, E_LOST.
 */
VYRE_API vyre_status vyre_resume(vyre *runtime, vyre_error *err);

/**
 * Stops, then frees the runtime with all its queues, buffers, operations, programs and binding
 * sets; no other thread may be inside a call on any of them. NULL is allowed. Not from inside a
 * native operation: then it does nothing.
 */
VYRE_API void vyre_close(vyre *runtime);

/** What a backend can do on this machine. */
typedef struct vyre_caps {
    uint32_t size;      /**< sizeof(vyre_caps), set by the caller */
    uint32_t supported; /**< 1 or 0 */
    uint32_t max_workers;
    uint32_t default_workers;
    char name[16];
    char device[96];  /**< what it would run on */
    char reason[160]; /**< why it is not supported; empty if it is */
    char fix[160];    /**< what would make it so; empty if it is */
} vyre_caps;

#define VYRE_CAPS_INIT                                                                             \
    {                                                                                              \
        (uint32_t)sizeof(vyre_caps), 0u, 0u, 0u, {0}, {0}, {0},                                    \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/** Fills *caps for a backend, CPU or CUDA; for CUDA a short-lived device host looks. Any thread.
 * Statuses: E_NULL, E_RANGE, E_SIZE. */
VYRE_API vyre_status vyre_backend_caps(enum vyre_backend backend, vyre_caps *caps, vyre_error *err);

/** A GPU of this machine. */
typedef struct vyre_device {
    uint32_t size;      /**< sizeof(vyre_device), set by the caller */
    uint32_t index;     /**< for vyre_options.device */
    uint32_t supported; /**< 1 or 0 */
    uint32_t compute_major;
    uint32_t compute_minor;
    uint32_t multiprocessors;
    uint32_t watchdog;     /**< 1: its driver ends kernels after seconds */
    uint32_t compute_mode; /**< 0 default, 2 prohibited, 3 exclusive */
    uint64_t memory_bytes;
    uint32_t driver; /**< the newest CUDA that its driver knows, such as 13000 for 13.0 */
    uint32_t reserved;
    char name[64];
    char uuid[48];    /**< "GPU-...", also for vyre_options.device */
    char reason[160]; /**< why it is not supported; empty if it is */
    char fix[160];    /**< what would make it so; empty if it is */
} vyre_device;

#define VYRE_DEVICE_INIT                                                                           \
    {                                                                                              \
        (uint32_t)sizeof(vyre_device), 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, {0}, {0}, {0},      \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/**
 * Lists the GPUs: up to `room` of them, each over an element whose size the caller has set; *count
 * receives how many there are. A short-lived device host asks the driver. Any thread. Statuses:
 * E_NULL, E_SIZE, E_NOT_FOUND (no vyre-host), E_UNSUPPORTED (no driver, or one that is too old),
 * E_TIMEOUT, E_SYSTEM.
 */
VYRE_API vyre_status vyre_devices(vyre_device *devices, size_t room, size_t *count,
                                  vyre_error *err);

/** What a runtime is, as it was opened, and what it holds now. */
typedef struct vyre_description {
    uint32_t size;    /**< sizeof(vyre_description), set by the caller */
    uint32_t backend; /**< CPU or CUDA, never AUTO */
    uint32_t workers;
    uint32_t queues;  /**< open now, the system queue not counted */
    uint32_t handles; /**< buffers, operations, programs and binding sets that exist now */
    uint32_t stopped;
    uint64_t memory_bytes; /**< through the allocator and mappings, buffers not counted */
    uint64_t buffer_bytes; /**< of all buffers that exist now */
    char choice[160];      /**< what was chosen and why, one line */
    uint32_t programs;     /**< that are loaded now */
    uint32_t frames_full;  /**< workgroups that went on past their turn because no frame was free */
    uint32_t place;        /**< PROCESS or HOST */
    uint32_t host_pid;     /**< process number of the device host, or 0 */
    uint32_t restarts;     /**< of the device host since the runtime was opened */
    uint32_t stalls;       /**< reported so far */
    uint64_t lost;         /**< slots that restarts have ended as LOST */
    uint64_t repeated;     /**< repeatable slots that restarts have run again */
    uint32_t paused;       /**< 1 between vyre_pause and vyre_resume */
    uint32_t reserved;     /**< 0 */
} vyre_description;

#define VYRE_DESCRIPTION_INIT                                                                      \
    {                                                                                              \
        (uint32_t)sizeof(vyre_description), 0u, 0u, 0u, 0u, 0u, 0u, 0u, {0}, 0u, 0u, 0u, 0u, 0u,   \
            0u, 0u, 0u, 0u, 0u                                                                     \
    }

/** Fills *description, and frees what slots have stopped using. Statuses: E_NULL, E_SIZE. */
VYRE_API vyre_status vyre_describe(vyre *runtime, vyre_description *description, vyre_error *err);

#ifdef __cplusplus
}
#endif

#endif
