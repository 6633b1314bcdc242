/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file program.h
 * What a slot can run besides the built-ins: VIR0 programs, and native operations, C functions of
 * the embedding program that worker threads of the CPU backend call.
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

/** How to register an operation. Start from VYRE_OPERATION_OPTIONS_INIT and set opcode, and run or
 * image, image_bytes and function. */
typedef struct vyre_operation_options {
    uint32_t size;         /**< sizeof(vyre_operation_options) */
    uint32_t opcode;       /**< 8..0xFFEF or 0x10000..0x7FFFFFFF; below 256 it can also be packed */
    uint32_t tenant;       /**< whose slots may run it; default VYRE_TENANT_ANY */
    uint32_t read_handles; /**< bit i: argument i is a handle of a buffer it reads */
    uint32_t write_handles; /**< bit i: argument i is a handle of a buffer it writes */
    uint32_t steps;         /**< what a run costs, as it stands in the completion; default 1 */
    vyre_operation_fn run;  /**< a C function; NULL where there is an image */
    void *ctx;
    const void *image;    /**< CUDA: PTX text or a relocatable cubin; copied */
    size_t image_bytes;   /**< its length */
    const char *function; /**< the name of the device function in it; copied */
} vyre_operation_options;

#define VYRE_OPERATION_OPTIONS_INIT                                                                \
    {                                                                                              \
        (uint32_t)sizeof(vyre_operation_options), 0u, VYRE_TENANT_ANY, 0u, 0u, 1u, 0, 0, 0, 0u, 0  \
    }

/**
 * Registers an operation under a user opcode: a C function where the workers are threads of this
 * process, a device function written in CUDA C on a GPU, which is linked with the resident kernel
 * while that is parked, and again after a restart. Handles among the arguments are checked, and
 * their buffers held, before it is called. Statuses: E_NULL, E_SIZE, E_RESERVED, E_RANGE,
 * E_CONFLICT (both, or an image without its function), E_WIRE_OPCODE, E_EXISTS (opcode taken),
 * E_LIMIT, E_NO_MEMORY, E_STOPPED, E_LOST, E_UNSUPPORTED (the other kind for this backend or
 * place), E_SYSTEM (what the driver says of the image), E_BUSY (slots run that do not end).
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

/* Kernels: checked programs.
 * ------------------------------------------------------------------------------------------- */

/** A VIR0 program that was decoded, validated, lowered and verified. It belongs to no runtime. */
typedef struct vyre_kernel vyre_kernel;

enum vyre_kernel_flag {
    VYRE_KERNEL_STRICT = 1,      /**< an access out of bounds is a fault, not a zero */
    VYRE_KERNEL_NO_SUBGROUPS = 2 /**< refuse subgroup operations */
};

/** One rule of VIR0 that a program breaks. The texts live as long as the call that reports it. */
typedef struct vyre_finding {
    const char *code;    /**< such as "V012"; docs/verify.md lists them all */
    const char *message; /**< what is wrong, with names and values */
    const char *path;    /**< where, such as "entry[0].body[2].value" */
    const char *rule;    /**< the sentence that the program breaks */
    const char *fix;     /**< one imperative line */
} vyre_finding;

/** How to read a kernel. Start from VYRE_KERNEL_OPTIONS_INIT. */
typedef struct vyre_kernel_options {
    uint32_t size;     /**< sizeof(vyre_kernel_options) */
    uint32_t flags;    /**< enum vyre_kernel_flag */
    uint32_t findings; /**< report at most so many broken rules; default 1 */
    uint32_t reserved; /**< 0 */
    void (*report)(void *ctx, const vyre_finding *finding); /**< may be NULL */
    void *report_ctx;
    const vyre_allocator *allocator; /**< NULL: malloc */
} vyre_kernel_options;

#define VYRE_KERNEL_OPTIONS_INIT                                                                   \
    {                                                                                              \
        (uint32_t)sizeof(vyre_kernel_options), 0u, 1u, 0u, 0, 0, 0                                 \
    }

/**
 * Reads a VIR0 program (version 4) and checks it wholly; free it with vyre_kernel_free. options
 * NULL: all defaults. Statuses: E_NULL, E_SIZE, E_RESERVED, E_CONFLICT (half an allocator), E_IR_*
 * (not a program, or one that breaks a rule: the message names the rule's code), E_VM_UNSUPPORTED,
 * E_VM_LIMIT, E_NO_MEMORY.
 * Any thread.
 */
VYRE_API vyre_status vyre_kernel_read(const void *bytes, size_t length,
                                      const vyre_kernel_options *options, vyre_kernel **kernel,
                                      vyre_error *err);

/** NULL is allowed. Programs loaded from it stay. */
VYRE_API void vyre_kernel_free(vyre_kernel *kernel);

enum vyre_kernel_fact {
    VYRE_FACT_STRICT = 1,
    VYRE_FACT_PURE = 2,     /**< its outputs depend on its inputs alone: it may be run again */
    VYRE_FACT_BARRIER = 4,  /**< has barriers */
    VYRE_FACT_ATOMIC = 8,   /**< has atomics */
    VYRE_FACT_SUBGROUP = 16 /**< has subgroup operations */
};

/** What a kernel needs. Start from VYRE_KERNEL_INFO_INIT. */
typedef struct vyre_kernel_info {
    uint32_t size;         /**< sizeof(vyre_kernel_info) */
    uint32_t facts;        /**< enum vyre_kernel_fact */
    uint32_t workgroup[3]; /**< lanes on each axis */
    uint32_t buffers;      /**< all of them, workgroup memory and scalar parameters included */
    uint32_t scalars;      /**< scalar parameters */
    uint32_t instructions;
    uint32_t registers; /**< words a lane */
    uint32_t workgroup_bytes;
    uint64_t frame_bytes;    /**< what a running workgroup needs in all */
    uint8_t fingerprint[32]; /**< BLAKE3 of the program's bytes */
} vyre_kernel_info;

#define VYRE_KERNEL_INFO_INIT                                                                      \
    {                                                                                              \
        (uint32_t)sizeof(vyre_kernel_info), 0u, {0}, 0u, 0u, 0u, 0u, 0u, 0u,                       \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/** Statuses: E_NULL, E_SIZE. */
VYRE_API vyre_status vyre_kernel_query(const vyre_kernel *kernel, vyre_kernel_info *info,
                                       vyre_error *err);

enum vyre_kernel_buffer_flag {
    VYRE_KERNEL_BUFFER_READ = 1,       /**< the program reads it */
    VYRE_KERNEL_BUFFER_WRITTEN = 2,    /**< the program writes it */
    VYRE_KERNEL_BUFFER_OUTPUT = 4,     /**< starts zeroed, takes no input */
    VYRE_KERNEL_BUFFER_RETURNED = 8,   /**< what the program leaves in it is a result */
    VYRE_KERNEL_BUFFER_WORKGROUP = 16, /**< workgroup memory: never bound */
    VYRE_KERNEL_BUFFER_SCALAR = 32     /**< a scalar parameter: comes with the slot, or is bound */
};

/** One buffer of a kernel. Start from VYRE_KERNEL_BUFFER_INFO_INIT. */
typedef struct vyre_kernel_buffer_info {
    uint32_t size;    /**< sizeof(vyre_kernel_buffer_info) */
    uint32_t flags;   /**< enum vyre_kernel_buffer_flag */
    const char *name; /**< zero-terminated; lives as long as the kernel */
    const char *type; /**< of an element, such as "f32" */
    uint32_t binding;
    uint32_t stride; /**< bytes of an element */
    uint32_t count;  /**< elements; 0: as many as are bound */
    uint32_t reserved;
    uint64_t bytes;       /**< the least that must be bound */
    uint64_t range_start; /**< of a result: its first byte and the byte after its last; both 0: all
                             of it */
    uint64_t range_end;
} vyre_kernel_buffer_info;

#define VYRE_KERNEL_BUFFER_INFO_INIT                                                               \
    {                                                                                              \
        (uint32_t)sizeof(vyre_kernel_buffer_info), 0u, 0, 0, 0u, 0u, 0u, 0u, 0u, 0u, 0u            \
    }

/** Buffer `index`, in order of declaration. Statuses: E_NULL, E_SIZE, E_RANGE. */
VYRE_API vyre_status vyre_kernel_buffer(const vyre_kernel *kernel, uint32_t index,
                                        vyre_kernel_buffer_info *info, vyre_error *err);

/**
 * The workgroups that VIR0's own rule runs for buffers of these sizes: bytes[i] for buffer i, 0 for
 * workgroup memory and scalar parameters. One invocation for each element of the largest result
 * (where there is none, or the program has workgroup memory or atomics, of the largest buffer at
 * all), in workgroups along the axes that have more than one lane. A program that wants another
 * grid is given it in vyre_run. Statuses: E_NULL, E_RANGE.
 */
VYRE_API vyre_status vyre_kernel_grid(const vyre_kernel *kernel, const uint64_t *bytes,
                                      size_t count, uint32_t grid[3], vyre_error *err);

enum vyre_kernel_text {
    VYRE_TEXT_PROGRAM = 1, /**< statements and expressions */
    VYRE_TEXT_BYTECODE = 2 /**< what the workers run */
};

/** Receives text piece by piece; anything but 0 ends the printing. */
typedef int (*vyre_write_fn)(void *ctx, const char *text, size_t length);

/** Writes the kernel as text. Statuses: E_NULL, E_RANGE, E_SYSTEM (the writer ended it). */
VYRE_API vyre_status vyre_kernel_print(const vyre_kernel *kernel, enum vyre_kernel_text text,
                                       vyre_write_fn write, void *ctx, vyre_error *err);

/** The statement or expression that instruction `pc` came from, as a path cut to `room` bytes, its
 * zero included; "" for none. Statuses: E_NULL, E_RANGE (pc), E_TOO_SMALL (room is 0). */
VYRE_API vyre_status vyre_kernel_place(const vyre_kernel *kernel, uint32_t pc, char *path,
                                       size_t room, vyre_error *err);

/* Programs: kernels that a runtime has loaded.
 * --------------------------------------------------------------------------- */

typedef struct vyre_program vyre_program;

/** How to load a program. Start from VYRE_PROGRAM_OPTIONS_INIT. */
typedef struct vyre_program_options {
    uint32_t size;   /**< sizeof(vyre_program_options) */
    uint32_t opcode; /**< 256..0xFFEF or 0x10000..0x7FFFFFFF; default 0: one that is free */
    uint32_t tenant; /**< whose slots may run it; default VYRE_TENANT_ANY */
    uint32_t flags;  /**< of vyre_program_load: enum vyre_kernel_flag; else 0 */
} vyre_program_options;

#define VYRE_PROGRAM_OPTIONS_INIT                                                                  \
    {                                                                                              \
        (uint32_t)sizeof(vyre_program_options), 0u, VYRE_TENANT_ANY, 0u                            \
    }

/**
 * Reads a VIR0 program, checks it, and publishes it under an opcode. options NULL: all defaults.
 * Statuses: those of vyre_kernel_read and vyre_program_load_kernel.
 */
VYRE_API vyre_status vyre_program_load(vyre *runtime, const void *bytes, size_t length,
                                       const vyre_program_options *options, vyre_program **program,
                                       vyre_error *err);

/**
 * Publishes a kernel; the kernel may be freed afterwards. Statuses: E_NULL, E_SIZE, E_RESERVED,
 * E_RANGE, E_WIRE_OPCODE, E_EXISTS (opcode taken), E_VM_LIMIT (more than the runtime's
 * frame_bytes), E_LIMIT, E_NO_MEMORY, E_STATE (paused), E_STOPPED, E_LOST. On a GPU the resident
 * kernel runs on meanwhile.
 */
VYRE_API vyre_status vyre_program_load_kernel(vyre *runtime, vyre_kernel *kernel,
                                              const vyre_program_options *options,
                                              vyre_program **program, vyre_error *err);

/**
 * Takes the program away: slots submitted before still run it, later ones fault. Its binding sets
 * must have been freed (E_BUSY, nothing done). Returns when no slot runs it any more; so not from
 * inside a native operation (E_STATE). NULL is allowed. Any thread.
 */
VYRE_API vyre_status vyre_program_unload(vyre_program *program, vyre_error *err);

/** The kernel that the program was made from; lives as long as the program. */
VYRE_API const vyre_kernel *vyre_program_kernel(const vyre_program *program);

/** The opcode that slots name it by; 0 for NULL. */
VYRE_API uint32_t vyre_program_opcode(const vyre_program *program);

/** The programs of a runtime: up to `room` of them, *count receives how many there are. The caller
 * keeps others from unloading meanwhile. Statuses: E_NULL. */
VYRE_API vyre_status vyre_program_list(vyre *runtime, vyre_program **programs, size_t room,
                                       size_t *count, vyre_error *err);

/** The buffers of one program's runs, made ahead. */
typedef struct vyre_bindings vyre_bindings;

/**
 * Binds buffers[i] to buffer i of the program; NULL for workgroup memory, and for scalar parameters
 * that come with the slot, of a program that has no more than VYRE_RUN_MAX_SCALARS. All must belong
 * to one tenant and have the rights that the program uses. The set keeps them: freeing a buffer
 * takes effect when its sets are gone. Statuses: E_NULL (one is missing), E_RANGE (count, or a
 * buffer for workgroup memory), E_TOO_SMALL (shorter than the program asks for), E_NOT_PERMITTED
 * (rights, or of different tenants or runtimes), E_LIMIT, E_NO_MEMORY, E_STOPPED.
 */
VYRE_API vyre_status vyre_bindings_create(vyre_program *program, vyre_buffer *const *buffers,
                                          size_t count, vyre_bindings **bindings, vyre_error *err);

/** Gives the set back; slots submitted before still use it. NULL is allowed. */
VYRE_API void vyre_bindings_free(vyre_bindings *bindings);

/** The number by which slots name the set; 0 for NULL. */
VYRE_API uint32_t vyre_bindings_handle(const vyre_bindings *bindings);

#define VYRE_RUN_SLOT_SCALARS 7u  /**< scalar parameters that fit a slot */
#define VYRE_RUN_MAX_SCALARS  11u /**< with those that go beside it */

/** In result 6 of a run on a GPU, added up: what lay in device memory, which is slower. */
enum vyre_run_place {
    VYRE_RUN_REGISTERS_FAR = 1, /**< registers of a workgroup, those needed least */
    VYRE_RUN_WORKGROUP_FAR = 2  /**< its workgroup memory */
};

#define VYRE_RUN_MAX_WINDOWS  2u
#define VYRE_RUN_WINDOW_ALIGN 16u /**< of a window's offset */

/** A part of a bound buffer: in this run the program sees these bytes and no others of it. So one
 * binding set serves runs over many parts of the same buffers. */
typedef struct vyre_run_window {
    uint32_t buffer; /**< number of the program's buffer, one that is bound */
    uint32_t offset; /**< in bytes, a multiple of VYRE_RUN_WINDOW_ALIGN */
    uint32_t bytes;  /**< at least what the program asks for */
} vyre_run_window;

/** One run of a program. Start from VYRE_RUN_INIT. */
typedef struct vyre_run {
    uint32_t size;    /**< sizeof(vyre_run) */
    uint32_t grid[3]; /**< workgroups on each axis; default 1,1,1; with a 0 nothing runs */
    vyre_program *program;
    vyre_bindings *bindings; /**< of that program; may be NULL if it has no buffers to bind */
    const uint32_t *scalars; /**< bits of the scalar parameters, in order of declaration; those of
                                bound ones are passed over */
    uint32_t scalar_count;   /**< as many as the program has; 0 where all are bound */
    uint32_t reserved;       /**< 0 */
    vyre_queue *queue;       /**< of the slot; needed for more than VYRE_RUN_SLOT_SCALARS scalars */
    const vyre_run_window *windows; /**< of different buffers; each takes the place of two scalars
                                       in the slot, and then none go beside it */
    uint32_t window_count;          /**< at most VYRE_RUN_MAX_WINDOWS */
    uint32_t reserved2;             /**< 0 */
} vyre_run;

#define VYRE_RUN_INIT                                                                              \
    {                                                                                              \
        (uint32_t)sizeof(vyre_run), {1u, 1u, 1u}, 0, 0, 0, 0u, 0u, 0, 0, 0u, 0u                    \
    }

/**
 * Prepares a slot that runs a program over a grid of workgroups. The completion's result words: 0
 * and 1 the workgroups that ran to their end; of a fault, 2 and 3 the number of the workgroup (x
 * fastest), 4 what goes with the fault, 5 the lane. On a GPU, 6: enum vyre_run_place, what of a
 * workgroup did not fit the room in shared memory that the warp has which runs it; else 0.
 * Statuses: E_NULL, E_SIZE, E_RESERVED, E_RANGE (scalar_count, grid, a window that is not inside
 * its buffer; a slot that was not got from the queue), E_CONFLICT (bindings of another program, two
 * windows of one buffer), E_TOO_SMALL (a window), E_MISALIGNED.
 */
VYRE_API vyre_status vyre_prep_run(vyre_slot *slot, const vyre_run *run, vyre_error *err);

#ifdef __cplusplus
}
#endif

#endif
