/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file buffer.h
 * Buffers: memory that slots name by a handle. A buffer belongs to one tenant; only that tenant's
 * slots can use it. All functions may be called from any thread; freeing a buffer while another
 * thread uses it is the caller's mistake. Each PINNED buffer holds a descriptor for its shared
 * memory, whose pages are taken when they are first touched.
 */
#ifndef VYRE_BUFFER_H
#define VYRE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "vyre/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vyre_buffer vyre_buffer;

enum vyre_buffer_kind {
    VYRE_DEVICE = 1, /**< memory of the device; on the CPU backend plain memory */
    VYRE_PINNED = 2  /**< host memory that the device sees: a shared mapping, always mappable */
};

/** What slots may do with a buffer. */
enum vyre_right { VYRE_RIGHT_READ = 1, VYRE_RIGHT_WRITE = 2 };

enum vyre_buffer_flag {
    VYRE_BUFFER_RESTORED = 1, /**< DEVICE in a device host: the library keeps a copy of what was
                                written with vyre_buffer_write, and a restart begins with it;
                                without it a restart leaves zeroes. The copy holds a descriptor.
                                PINNED buffers live in the application and survive as they are */
    VYRE_BUFFER_SHARED = 2    /**< DEVICE: can be exported (share.h), so it is an allocation of its
                                own, in steps of the GPU's granularity (2 MiB), and holds a
                                descriptor; not together with RESTORED, for a restart keeps it as
                                it is. PINNED buffers can be exported without it */
};

/** How to make a buffer. Start from VYRE_BUFFER_OPTIONS_INIT. */
typedef struct vyre_buffer_options {
    uint32_t size;     /**< sizeof(vyre_buffer_options) */
    uint32_t kind;     /**< enum vyre_buffer_kind; default DEVICE */
    uint32_t tenant;   /**< owner; default VYRE_TENANT_DEFAULT */
    uint32_t rights;   /**< enum vyre_right, at least one; default both */
    uint32_t flags;    /**< enum vyre_buffer_flag */
    uint32_t reserved; /**< 0 */
} vyre_buffer_options;

#define VYRE_BUFFER_OPTIONS_INIT                                                                   \
    {                                                                                              \
        (uint32_t)sizeof(vyre_buffer_options), 1u, 0u, 3u, 0u, 0u                                  \
    }

/**
 * Makes a buffer of `bytes` zero bytes for the default tenant, with all rights.
 * Statuses: E_NULL, E_RANGE (0 bytes, or not a kind), E_OVERFLOW, E_NO_MEMORY, E_LIMIT
 * (max_handles), E_STATE (paused), E_STOPPED, E_LOST.
 */
VYRE_API vyre_status vyre_buffer_create(vyre *runtime, size_t bytes, enum vyre_buffer_kind kind,
                                        vyre_buffer **buffer, vyre_error *err);

/** As vyre_buffer_create, with options; statuses also E_SIZE, E_RESERVED, E_CONFLICT (RESTORED and
 * SHARED), E_UNSUPPORTED (SHARED on a GPU that cannot). */
VYRE_API vyre_status vyre_buffer_create_with(vyre *runtime, size_t bytes,
                                             const vyre_buffer_options *options,
                                             vyre_buffer **buffer, vyre_error *err);

/**
 * Gives the buffer back. Slots submitted before still find it; its memory goes when the last of
 * them has ended, at the latest with vyre_close. The pointer and the handle must not be used after
 * the call. NULL is allowed.
 */
VYRE_API void vyre_buffer_free(vyre_buffer *buffer);

/** The number by which slots name the buffer; never 0. */
VYRE_API uint32_t vyre_buffer_handle(const vyre_buffer *buffer);

/** Its size in bytes. */
VYRE_API size_t vyre_buffer_size(const vyre_buffer *buffer);

/** Copies bytes in. The caller keeps slots from using them meanwhile. Statuses: E_NULL, E_RANGE
 * (past the end); of a DEVICE buffer whose device host is gone for good E_LOST, or E_STOPPED where
 * vyre_stop had to end it. */
VYRE_API vyre_status vyre_buffer_write(vyre_buffer *buffer, size_t offset, const void *bytes,
                                       size_t length, vyre_error *err);

/** Copies bytes out, as vyre_buffer_write. */
VYRE_API vyre_status vyre_buffer_read(vyre_buffer *buffer, size_t offset, void *bytes,
                                      size_t length, vyre_error *err);

/**
 * A pointer to the buffer's memory, valid until it is freed. Statuses: E_NULL, E_UNSUPPORTED (a
 * DEVICE buffer on a backend whose memory the host cannot see).
 */
VYRE_API vyre_status vyre_buffer_map(vyre_buffer *buffer, void **memory, vyre_error *err);

#ifdef __cplusplus
}
#endif

#endif
