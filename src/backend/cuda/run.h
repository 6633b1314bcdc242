/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of the CUDA backend share: the device that is open.
 *
 * Beside a running kernel some calls of the driver never return (module loading, unregistering,
 * context destruction). So the launch thread says under launch.lock whether a kernel runs, and
 * whoever needs one of those calls holds that lock and finds it not running, or puts the call off.
 * A kernel that is armed, in the stream behind a wait, counts as one that runs.
 *
 * Locks: launch.lock before store.lock.
 */
#ifndef VYRE_BACKEND_CUDA_RUN_H
#define VYRE_BACKEND_CUDA_RUN_H

#include <pthread.h>

#include "backend/backend.h"
#include "backend/cuda/arena.h"
#include "backend/cuda/devices.h"

#define VYRE_CUDA_EXIT 40 /* of a device host whose kernel died */

/* A mapping that is registered with the driver. */
struct vyre_cuda_shared {
    struct vyre_cuda_shared *next;
    struct vyre_mapping mapping;
    uint64_t address;
    struct vyre_memory *owner; /* of one that is to be unregistered: who unmaps it then */
};

/* memory.c, share.c */
struct vyre_cuda_store {
    pthread_mutex_t lock; /* of all below */
    struct vyre_arena arena;
    size_t granularity;
    struct vyre_cuda_shared *shared;
    struct vyre_cuda_shared *deferred;
    struct vyre_mapping own; /* our own registered pages: see memory.c */
    uint64_t own_address;
    pthread_mutex_t copy_lock; /* of the copy stream and the bounce buffer */
};

/* A native operation: a function of an image that is linked with the kernel. */
struct vyre_cuda_native {
    struct vyre_cuda_native *next;
    struct vyre_cuda_blob *blob;
    char function[128];
};

/* An image given by the embedding program; each is linked once. */
struct vyre_cuda_blob {
    struct vyre_cuda_blob *next;
    uint32_t users;
    int type; /* VYRE_CU_INPUT_PTX or _CUBIN */
    size_t bytes;
    unsigned char contents[];
};

/* link.c */
struct vyre_cuda_module {
    void *module;
    void *kernel;
    void *clock;
    struct vyre_cuda_native *natives; /* in order of their numbers, from 1 */
    struct vyre_cuda_blob *blobs;
};

/* launch.c */
struct vyre_cuda_launch {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    uint32_t threaded; /* the thread was started and not joined */
    uint32_t running;  /* (lock) a kernel runs, or may as soon as it is woken */
    uint32_t held;     /* (lock) somebody links */
    uint32_t paused;   /* (lock) nothing is launched or armed until somebody resumes */
    uint32_t forgiven; /* (lock) number of a launch that was told to park by one who gave up */
    uint32_t awaited;  /* (lock) who told the last launch to park has neither linked nor woken it */
    uint32_t first;    /* (lock) the first launch was tried, and first_result says how it went */
    int first_result;
    uint32_t ended;        /* (lock) the thread launches no more */
    uint32_t abandoned;    /* the kernel did not end in time: nothing is freed any more */
    uint32_t number;       /* (lock) of the last launch; the thread alone changes it */
    uint32_t recorded;     /* the event stands for the end of it */
    uint32_t streams_wait; /* a stream can wait for a word: a kernel that has parked is armed */
    uint32_t finite; /* for tools that must know all memory when a kernel starts: see finite.c */
    uint32_t blocks;
    int64_t clock_shift;
    uint64_t clock_measured_ns;
    struct dev_page *page;    /* as this process sees it */
    uint64_t release_address; /* where the device has page->release */
    uint64_t device;          /* and its struct dev_runtime */
};

struct vyre_backend_run {
    struct vyre_memory *memory;
    const struct vyre_log *log;
    const vyre_options *options;
    struct vyre_cuda_driver driver;
    struct vyre_cuda_device device;
    int handle;          /* of the device */
    uint32_t room_bytes; /* of each warp */
    void *context;
    void *kernel_stream;
    void *copy_stream;
    void *ended; /* event */
    struct vyre_cuda_store store;
    struct vyre_cuda_module module;
    struct vyre_cuda_launch launch;
};

/* What happens when a kernel has died: the process ends with this code, so that the application
 * notices and starts another. A test puts a function of its own here, which may return. */
extern void (*vyre_cuda_on_death)(int code);

/* Makes the context the calling thread's; before any other call of the driver. */
vyre_status vyre_cuda_enter(struct vyre_backend_run *run, vyre_error *err);

/* memory.c */
extern const struct vyre_backend_memory vyre_cuda_memory;
vyre_status vyre_cuda_store_open(struct vyre_backend_run *run, vyre_error *err);
void vyre_cuda_store_close(struct vyre_backend_run *run); /* no kernel runs; may be half open */
/* What plain memory of the device is to the driver. */
struct vyre_cu_memory_kind vyre_cuda_memory_kind(const struct vyre_backend_run *run);
/* Maps the whole of an allocation, whose handle stays the caller's; a CUresult. */
int vyre_cuda_map_handle(struct vyre_backend_run *run, uint64_t handle, size_t bytes,
                         uint64_t *address);
void vyre_cuda_unmap(struct vyre_backend_run *run, uint64_t address, size_t bytes);
vyre_status vyre_cuda_zero(struct vyre_backend_run *run, uint64_t address, size_t bytes,
                           vyre_error *err);
/* The error of an allocation, with how much is left. */
vyre_status vyre_cuda_refuse_memory(struct vyre_backend_run *run, int result, size_t bytes,
                                    vyre_error *err);
/* Eight bytes that host and device see, for the clock. */
uint64_t *vyre_cuda_clock_word(struct vyre_backend_run *run, uint64_t *address);

/* share.c */
vyre_status vyre_cuda_share(struct vyre_backend_run *run, const struct vyre_mapping *mapping,
                            uint64_t *address, vyre_error *err);
void vyre_cuda_unshare(struct vyre_backend_run *run, struct vyre_mapping *mapping,
                       struct vyre_memory *memory, int *later);
/* Registers a mapping that is in no list; *registered says whether it is, also where this fails. */
vyre_status vyre_cuda_register(struct vyre_backend_run *run, const struct vyre_mapping *mapping,
                               uint64_t *address, int *registered, vyre_error *err);
int vyre_cuda_is_shared(struct vyre_backend_run *run, const void *pointer, size_t bytes);
void vyre_cuda_store_settle(struct vyre_backend_run *run); /* no kernel runs (launch.lock) */
void vyre_cuda_share_close(struct vyre_backend_run *run);  /* no kernel runs */

/* lend.c */
vyre_status vyre_cuda_lend(struct vyre_backend_run *run, size_t bytes,
                           struct vyre_backend_lent *lent, vyre_error *err);
vyre_status vyre_cuda_borrow(struct vyre_backend_run *run, struct vyre_backend_lent *lent,
                             vyre_error *err);
void vyre_cuda_give_back(struct vyre_backend_run *run, uint64_t address, size_t bytes);

/* link.c */
vyre_status vyre_cuda_module_open(struct vyre_backend_run *run, vyre_error *err);
void vyre_cuda_module_close(struct vyre_backend_run *run); /* no kernel runs; may be half open */
vyre_status vyre_cuda_link(struct vyre_backend_run *run, const struct vyre_native_image *image,
                           uint64_t *number, vyre_error *err);

/* launch.c */
vyre_status vyre_cuda_start(struct vyre_backend_run *run, const struct vyre_backend_image *image,
                            vyre_error *err);
void vyre_cuda_join(struct vyre_backend_run *run);
/* A kernel looks at the bells after this; where one runs, another does when it has left. */
void vyre_cuda_wake(struct vyre_backend_run *run);
/* Waits until no kernel runs and keeps it so; E_BUSY: it does not end. */
vyre_status vyre_cuda_hold(struct vyre_backend_run *run, vyre_error *err);
void vyre_cuda_release(struct vyre_backend_run *run);

/* Waits until no kernel runs, and keeps it so until resume; E_BUSY: it does not end, and goes on.
 */
vyre_status vyre_cuda_pause(struct vyre_backend_run *run, vyre_error *err);
void vyre_cuda_resume(struct vyre_backend_run *run);

/* Around everything that makes memory; see finite.c. */
vyre_status vyre_cuda_memory_begin(struct vyre_backend_run *run, vyre_error *err);
void vyre_cuda_memory_end(struct vyre_backend_run *run);
/* Reads from the environment whether kernels shall be finite. */
void vyre_cuda_finite_init(struct vyre_backend_run *run);

#endif
