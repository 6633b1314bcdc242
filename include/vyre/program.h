/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file program.h
 * What a slot can run besides the built-ins: native operations, C functions of the embedding
 * program that worker threads of the CPU backend call.
 */
#ifndef VYRE_PROGRAM_H
#define VYRE_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "vyre/buffer.h"
#include "vyre/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One run of a native operation; valid only inside it. */
typedef struct vyre_call {
    uint32_t opcode;
    uint32_t tenant;
    uint64_t ticket;
    const uint32_t *args; /**< 12 words */
    uint32_t *result;     /**< 8 words, zero at first */
    void *ctx;            /**< as registered */
} vyre_call;

/**
 * A native operation. Returns 0 for done; any other value makes the slot fault with OPERATION, the
 * value in pc. That alone decides, also if the slot was cancelled or its deadline passed while it
 * ran.
 *
 * It runs on a worker thread, several at once if there are several workers, and must return:
 * nothing can stop it. It may submit slots, and make and free buffers and queues; it must not wait
 * for slots, which may need the very worker it runs on. vyre_stop, vyre_close, vyre_queue_close and
 * vyre_operation_unregister refuse to be called from it.
 */
typedef uint32_t (*vyre_operation_fn)(vyre_call *call);

typedef struct vyre_operation vyre_operation;

/** How to register an operation. Start from VYRE_OPERATION_OPTIONS_INIT and set opcode and run. */
typedef struct vyre_operation_options {
    uint32_t size;         /**< sizeof(vyre_operation_options) */
    uint32_t opcode;       /**< 8..0xFFEF or 0x10000..0x7FFFFFFF; below 256 it can also be packed */
    uint32_t tenant;       /**< whose slots may run it; default VYRE_TENANT_ANY */
    uint32_t read_handles; /**< bit i: argument i is a handle of a buffer it reads */
    uint32_t write_handles; /**< bit i: argument i is a handle of a buffer it writes */
    uint32_t steps;         /**< what a run costs, as it stands in the completion; default 1 */
    vyre_operation_fn run;
    void *ctx;
} vyre_operation_options;

#define VYRE_OPERATION_OPTIONS_INIT                                                                \
    {                                                                                              \
        (uint32_t)sizeof(vyre_operation_options), 0u, VYRE_TENANT_ANY, 0u, 0u, 1u, 0, 0            \
    }

/**
 * Registers a C function under a user opcode. Handles among the arguments are checked, and their
 * buffers held, before the function is called. Statuses: E_NULL, E_SIZE, E_RESERVED, E_RANGE,
 * E_WIRE_OPCODE, E_EXISTS (opcode taken), E_LIMIT, E_NO_MEMORY, E_STOPPED, E_UNSUPPORTED (not the
 * CPU backend).
 */
VYRE_API vyre_status vyre_operation_register(vyre *runtime, const vyre_operation_options *options,
                                             vyre_operation **operation, vyre_error *err);

/**
 * Takes the operation away: slots submitted before still run it, later ones fault. Returns when the
 * function will never be called again; so not from inside a native operation (E_STATE, nothing
 * done). NULL is allowed. Any thread.
 */
VYRE_API vyre_status vyre_operation_unregister(vyre_operation *operation, vyre_error *err);

/**
 * The buffer that argument `index` names; the index must be one of read_handles or write_handles.
 * Statuses: E_NULL, E_RANGE.
 */
VYRE_API vyre_status vyre_call_buffer(const vyre_call *call, uint32_t index, void **memory,
                                      size_t *bytes, vyre_error *err);

/** Whether the slot was cancelled, its deadline has passed, or the runtime is being stopped: time
 * to return. */
VYRE_API int vyre_call_cancelled(const vyre_call *call);

#ifdef __cplusplus
}
#endif

#endif
