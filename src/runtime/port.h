/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * How a runtime reaches its device. `local` is for the process that owns the device: memory comes
 * from the backend, requests go into the ring of queue 0. `hosted` is for an application whose
 * device lives in a device host: the same requests travel over a socket, and the host puts them
 * into queue 0. Everything above this table (handles, buffers, programs, queues, queue 0's
 * bookkeeping) is the same code for both.
 *
 * Requests name memory by blocks. The address of a block is the device's own address where the port
 * is local, and a number that the host knows where it is not.
 */
#ifndef VYRE_RUNTIME_PORT_H
#define VYRE_RUNTIME_PORT_H

#include "base/memory.h"
#include "vyre/vyre.h"

enum vyre_block_kind {
    VYRE_BLOCK_DEVICE = 1,   /* zeroed memory of the device */
    VYRE_BLOCK_SHARED = 2,   /* a mapping that this process and the device see */
    VYRE_BLOCK_PROGRAM = 3,  /* bytecode; whoever owns the device verifies it before it runs */
    VYRE_BLOCK_BINDINGS = 4, /* a struct dev_bindings */
    VYRE_BLOCK_FRAMES = 5,   /* zeroed memory of the device, most of which is never touched */
    VYRE_BLOCK_LENT = 6,     /* zeroed memory of the device that others can map, by mapping.fd */
    VYRE_BLOCK_BORROWED = 7  /* memory of the device that others made, known by mapping.fd */
};

struct vyre_block {
    /* set by the maker */
    size_t bytes;
    uint32_t kind;
    uint32_t restored;          /* DEVICE: a host copy is kept and written back after a restart */
    struct vyre_memory *memory; /* that counts it */
    const char *what;           /* names it in errors */
    /* set by block_make */
    uint64_t address;            /* by which requests name it; 0: there is none */
    void *host;                  /* where this process sees it, or NULL */
    struct vyre_mapping mapping; /* of a SHARED block (may be set before); hosted: of a host copy.
                                    LENT and BORROWED: a descriptor alone, and how much others map
                                    by it; of a BORROWED one set before */
    char device[48];             /* LENT: UUID of its GPU */
    struct vyre_block *next;     /* hosted: what a restart makes again */
    struct vyre_block *previous;
};

/* Words of the device that a tenant may see. */
enum vyre_view {
    VYRE_VIEW_CONTROL = 0,     /* VYRE_CONTROL_WORDS words */
    VYRE_VIEW_OBSERVABLES = 1, /* of the tenant: observable_words words */
    VYRE_VIEW_LOG = 2,         /* of the tenant: a struct dev_log */
    VYRE_VIEW_INFLIGHT = 3,    /* inflight_slots of struct dev_inflight, of all tenants */
    VYRE_VIEW_COUNTS = 4       /* one word: frames_full */
};

struct vyre_native_image; /* backend/backend.h */

struct vyre_port {
    const char *name;

    /* Memory. Any thread. contents NULL: zeroes. */
    vyre_status (*block_make)(vyre *runtime, struct vyre_block *block, const void *contents,
                              vyre_error *err);
    void (*block_free)(vyre *runtime,
                       struct vyre_block *block); /* one that was not made is allowed */
    vyre_status (*block_write)(vyre *runtime, struct vyre_block *block, size_t at,
                               const void *bytes, size_t length, vyre_error *err);
    vyre_status (*block_read)(vyre *runtime, struct vyre_block *block, size_t at, void *bytes,
                              size_t length, vyre_error *err);

    /* Requests, see system.c. post and reap under system.lock. */
    int (*post)(vyre *runtime, const uint32_t *slot, uint64_t *ticket); /* 0: no room now */
    size_t (*reap)(vyre *runtime, vyre_completion *completions, size_t max);
    void (*wait)(vyre *runtime, uint64_t until_ns); /* until there may be something to reap */
    int (*taken)(vyre *runtime, uint64_t ticket);   /* the device has looked at it */
    void (*help)(vyre *runtime); /* lends the caller to a device that nobody polls */

    /* Where the words of a view lie: directly, or NULL and they were copied to `room`, which has
     * vyre_view_bytes. Any thread. */
    vyre_status (*view)(vyre *runtime, uint32_t view, uint32_t tenant, void *room,
                        const void **words, vyre_error *err);

    /* Links a native operation for a GPU; *number is its address in the request that installs it.
     */
    vyre_status (*link)(vyre *runtime, const struct vyre_native_image *image, uint64_t *number,
                        vyre_error *err);

    /* See vyre_pause; one caller at a time, and runtime->paused is set. A resume that fails has no
     * effect but where the device is gone. */
    vyre_status (*pause)(vyre *runtime, vyre_error *err);
    vyre_status (*resume)(vyre *runtime, vyre_error *err);

    void (*wake)(vyre *runtime); /* a submit found the device asleep */
    /* As the backend's, which this process has; else nothing, and 0. */
    uint32_t (*visit)(vyre *runtime, uint32_t visit);
    void (*join)(vyre *runtime);           /* waits for the end of a device that was told to stop */
    int (*on_worker)(const vyre *runtime); /* whether the caller is one of the device's workers */
    void (*destroy)(vyre *runtime); /* frees what open made; after join, or where open failed */
};

extern const struct vyre_port vyre_port_local;
extern const struct vyre_port vyre_port_hosted;

/* Whether words of the device can be read where they lie: then views need no room. */
int vyre_port_direct(const vyre *runtime);

/* Bytes of a view. */
size_t vyre_view_bytes(const vyre *runtime, uint32_t view);

/* local.c: opens the backend, lays out the device's memory and queue 0, and starts the workers. The
 * options are checked. `shared`, unless NULL, is where page and vitals shall lie (a device host
 * gets it from its application). */
vyre_status vyre_local_open(vyre *runtime, const struct vyre_mapping *shared, vyre_error *err);

/* The device's tables as this process sees them; for tests of a direct device. */
struct dev_runtime *vyre_local_device(const vyre *runtime);

/* hosted.c: starts a device host and opens the device there. */
vyre_status vyre_hosted_open(vyre *runtime, vyre_error *err);

#endif
