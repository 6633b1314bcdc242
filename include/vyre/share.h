/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file share.h
 * Sharing memory with code that is not vyre's, without a copy, both ways: a buffer is exported as a
 * descriptor that an ordinary CUDA application, of this process or another, maps into its own
 * context; and memory that such an application made becomes a buffer. docs/sharing.md shows both,
 * and how to order the two sides: nothing here waits for a slot or for a kernel.
 *
 * All functions may be called from any thread.
 */
#ifndef VYRE_SHARE_H
#define VYRE_SHARE_H

#include "vyre/buffer.h"

#ifdef __cplusplus
extern "C" {
#endif

enum vyre_share_kind {
    VYRE_SHARE_CUDA = 1,  /**< GPU memory: a descriptor of cuMemExportToShareableHandle, kind
                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR */
    VYRE_SHARE_MEMORY = 2 /**< host memory: a memfd, for mmap */
};

/** Memory as it passes from one side to the other. Start from VYRE_SHARE_INIT. */
typedef struct vyre_share {
    uint32_t size;     /**< sizeof(vyre_share) */
    uint32_t kind;     /**< enum vyre_share_kind */
    int32_t fd;        /**< the descriptor; -1: none */
    uint32_t reserved; /**< 0 */
    uint64_t bytes;    /**< of the buffer; it begins where the memory begins */
    uint64_t extent;   /**< of the whole memory, what the other side maps: `bytes` or more. To
                          import CUDA memory: what cuMemCreate was given; 0: as large as `bytes` */
    char device[48];   /**< CUDA: UUID of its GPU, "GPU-...". To import: "" asks for no check */
} vyre_share;

#define VYRE_SHARE_INIT                                                                            \
    {                                                                                              \
        (uint32_t)sizeof(vyre_share), 0u, -1, 0u, 0u, 0u,                                          \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/**
 * Fills *share with a descriptor of the buffer's memory. The descriptor is the caller's, who closes
 * it; it is closed on exec. As often as wanted. Every PINNED buffer can be exported (MEMORY), and a
 * DEVICE buffer that was made with VYRE_BUFFER_SHARED (CUDA; on the CPU backend MEMORY), and what
 * was imported.
 *
 * The memory lives until the buffer is freed and every descriptor is closed and every mapping is
 * gone, whichever is last: freeing an exported buffer takes nothing away from the other side. It
 * holds this buffer and nothing else. A restart of the device host keeps it, with what is in it.
 *
 * Statuses: E_NULL, E_SIZE, E_STATE (a DEVICE buffer without VYRE_BUFFER_SHARED), E_UNSUPPORTED
 * (the allocator's map gave memory without a descriptor), E_SYSTEM (no descriptor left).
 */
VYRE_API vyre_status vyre_buffer_export(const vyre_buffer *buffer, vyre_share *share,
                                        vyre_error *err);

/**
 * Makes a buffer of memory that somebody else made: CUDA memory becomes a DEVICE buffer, host
 * memory a PINNED one; the option `kind` means nothing here, tenant and rights are as ever.
 * options NULL: the defaults. What is in the memory stays. The descriptor stays the caller's and
 * may be closed at once. The library keeps one of its own until the buffer is freed, by which a
 * restart of the device host imports the memory again, with what is in it.
 *
 * CUDA memory must come from cuMemCreate with that handle type, on the GPU of this runtime; memory
 * of cudaMalloc cannot be exported so. Host memory must be a memfd of at least `bytes`, made with
 * MFD_ALLOW_SEALING: it is sealed against shrinking.
 *
 * Statuses: E_NULL, E_SIZE, E_RESERVED, E_RANGE (no bytes, no kind, extent below bytes),
 * E_CONFLICT (VYRE_BUFFER_RESTORED; memory of another GPU), E_UNSUPPORTED (CUDA memory on the CPU
 * backend; a GPU or a driver that cannot; host memory where the allocator has a map of its own),
 * E_MISALIGNED (extent is not a multiple of the GPU's granularity), E_TOO_SMALL (the memory is
 * smaller than that), E_NOT_PERMITTED (a descriptor that is no such memory), E_SYSTEM, and those of
 * vyre_buffer_create.
 */
VYRE_API vyre_status vyre_buffer_import(vyre *runtime, const vyre_share *share,
                                        const vyre_buffer_options *options, vyre_buffer **buffer,
                                        vyre_error *err);

#ifdef __cplusplus
}
#endif

#endif
