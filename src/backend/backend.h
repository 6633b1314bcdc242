/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a backend is: a const table of calls by which the process that owns a device gets memory of
 * it, starts the workers and ends them. The runtime lays out the device's memory (device/layout.h)
 * and hands it to start; from then on it talks to the device through memory alone, and wakes it
 * when it sleeps.
 *
 * Order of calls: open, then memory calls and start, then anything, then join (the device is
 * stopping), then memory calls, then destroy.
 */
#ifndef VYRE_BACKEND_BACKEND_H
#define VYRE_BACKEND_BACKEND_H

#include "base/log.h"
#include "base/memory.h"
#include "device/layout.h"
#include "vyre/runtime.h"

struct vyre_backend_run; /* what a backend keeps while it is open; each backend has its own */

/* What a backend is opened with. Pointers live as long as it is open. */
struct vyre_backend_setup {
    struct vyre_memory *memory;
    const struct vyre_log *log;
    const vyre_options *options; /* checked, no VYRE_DEFAULT left */
};

/* Where the device's tables lie: in this process, and for the device. The image becomes the
 * device's when it is started; afterwards `device` is a shadow where the two differ. */
struct vyre_backend_image {
    struct dev_runtime *device;   /* as this process sees it */
    struct dev_runtime *resident; /* the same with addresses of the device; equal where direct */
    uint64_t address;             /* where the device has the image */
    size_t bytes;
};

/* Memory of a device that another process can map. */
struct vyre_backend_lent {
    uint64_t address;
    size_t extent;   /* of the whole allocation, `bytes` or more */
    int fd;          /* the caller's */
    char device[48]; /* UUID of its GPU */
};

/* Memory of a device that this process cannot see. All may be called beside a running kernel. */
struct vyre_backend_memory {
    /* Makes a mapping of this process visible to the device. */
    vyre_status (*share)(struct vyre_backend_run *run, const struct vyre_mapping *mapping,
                         uint64_t *address, vyre_error *err);
    /* The mapping may be unmapped when it returns; *later: it may not, the backend does it itself
     * through the allocator when it can, and owns the mapping from now on. */
    void (*unshare)(struct vyre_backend_run *run, struct vyre_mapping *mapping,
                    struct vyre_memory *memory, int *later);
    /* Zeroed memory of the device. */
    vyre_status (*alloc)(struct vyre_backend_run *run, size_t bytes, uint64_t *address,
                         vyre_error *err);
    void (*free)(struct vyre_backend_run *run, uint64_t address, size_t bytes);
    vyre_status (*write)(struct vyre_backend_run *run, uint64_t address, const void *from,
                         size_t bytes, vyre_error *err);
    vyre_status (*read)(struct vyre_backend_run *run, void *into, uint64_t address, size_t bytes,
                        vyre_error *err);
    /* Zeroed memory, an allocation of its own, with a descriptor by which others map it. */
    vyre_status (*lend)(struct vyre_backend_run *run, size_t bytes, struct vyre_backend_lent *lent,
                        vyre_error *err);
    /* Maps the whole of an allocation of somebody else, of which fd and extent are given, and
     * perhaps the device (or ""); its contents stay. Sets address and device. The descriptor stays
     * the caller's, who may close it. */
    vyre_status (*borrow)(struct vyre_backend_run *run, struct vyre_backend_lent *lent,
                          vyre_error *err);
    void (*give_back)(struct vyre_backend_run *run, uint64_t address, size_t extent); /* of both */
};

/* A native operation for a GPU. */
struct vyre_native_image {
    const void *bytes;
    size_t length;
    const char *function;
};

enum vyre_visit {
    VYRE_VISIT_ENTER = 0, /* takes the role, if it can be had */
    VYRE_VISIT_PASS = 1,  /* one pass, if it has the role */
    VYRE_VISIT_LEAVE = 2
};

struct vyre_backend_table {
    uint32_t id; /* enum vyre_backend */
    const char *name;
    const struct vyre_backend_memory *memory; /* NULL: direct, the device's memory is our own */
    /* Fills everything but the size, for the device that options.device names. */
    void (*caps)(vyre_caps *caps, const char *device);
    vyre_status (*open)(const struct vyre_backend_setup *setup, struct vyre_backend_run **run,
                        vyre_error *err);
    /* Starts the workers on a device that is laid out. */
    vyre_status (*start)(struct vyre_backend_run *run, const struct vyre_backend_image *image,
                         vyre_error *err);
    /* Waits until all workers have left; the device is stopping. */
    void (*join)(struct vyre_backend_run *run);
    /* Frees run after join, or where start failed or was never called. */
    void (*destroy)(struct vyre_backend_run *run);
    /* Whether the caller is one of the workers. */
    int (*on_worker)(const struct vyre_backend_run *run);
    /*
     * The caller waits for queue 0. If all workers are busy with operations, so that nobody looks
     * at it, the caller does so itself; where the device is not in this process, nothing happens.
     */
    void (*help)(struct vyre_backend_run *run);
    /*
     * Links a function of the embedding program (PTX or a relocatable cubin) with the kernel and
     * loads the whole; *number is what the device calls it by. The kernel has been told to park
     * (DEV_SYS_PARK) and does not run again before this returns. NULL: the backend has no such
     * operations.
     */
    vyre_status (*link)(struct vyre_backend_run *run, const struct vyre_native_image *image,
                        uint64_t *number, vyre_error *err);
    /*
     * Waits until no worker has anything to do, and keeps all of them from taking more until
     * resume. A resident kernel has been told to park before. E_BUSY: slots run that do not end,
     * and all is as it was. One caller at a time.
     */
    vyre_status (*pause)(struct vyre_backend_run *run, vyre_error *err);
    void (*resume)(struct vyre_backend_run *run);
    /* Some of those who sleep shall look at the doorbells. Any thread. */
    void (*wake)(struct vyre_backend_run *run);
    /* A thread of the runtime polls in the workers' place for a while (worker.h). One thread,
     * always the same. Of a PASS: how much was taken or ended. NULL: not possible. */
    uint32_t (*visit)(struct vyre_backend_run *run, enum vyre_visit visit);
    /* 1: a device that sleeps is woken from every process by a word of its page (device/release.h);
     * 0: by a call of wake where it lives. */
    uint32_t wakes_by_word;
};

extern const struct vyre_backend_table vyre_backend_cpu;
extern const struct vyre_backend_table vyre_backend_cuda;

/* The table of a backend, or NULL for a number that is none; AUTO is none. */
const struct vyre_backend_table *vyre_backend_find(uint32_t id);

/* The one error of a backend that is not supported here, with its reason and fix. */
vyre_status vyre_backend_refuse(const vyre_caps *caps, vyre_error *err);

#endif
