/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file wire.h
 * The wire format: four buffers of little-endian 32-bit words (control, ring, debug log, I/O
 * queue), the records around them, and the 64-byte completion entry that is our own.
 *
 * Everything here works on bytes in the caller's memory: no runtime, no allocation, no global
 * state; any thread may call any function on its own buffers. docs/wire.md has the word maps.
 */
#ifndef VYRE_WIRE_H
#define VYRE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "vyre/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Slots.
 * ------------------------------------------------------------------------------------------------
 */

#define VYRE_SLOT_WORDS     16u
#define VYRE_SLOT_BYTES     64u
#define VYRE_SLOT_ARGS      12u
#define VYRE_RING_MAX_SLOTS 268435455u /**< above: the byte length does not fit the format */
#define VYRE_ENCODE_MAX                                                                            \
    1048576u /**< the most slots, records or observable words an encoder makes */

/** Words of a slot. */
enum vyre_slot_word {
    VYRE_SLOT_STATUS = 0,
    VYRE_SLOT_OPCODE = 1,
    VYRE_SLOT_TENANT = 2, /**< in a submission ring this word carries the seal, if any */
    VYRE_SLOT_PRIORITY = 3,
    VYRE_SLOT_ARG0 = 4
};

/** What word 0 of a slot says. */
enum vyre_slot_status {
    VYRE_SLOT_EMPTY = 0,
    VYRE_SLOT_PUBLISHED = 1,
    VYRE_SLOT_CLAIMED = 2,
    VYRE_SLOT_DONE = 3,
    VYRE_SLOT_WAIT_IO = 4,
    VYRE_SLOT_YIELD = 5,
    VYRE_SLOT_REQUEUE = 6,
    VYRE_SLOT_FAULT = 7
};

enum vyre_priority {
    VYRE_PRIORITY_CRITICAL = 0,
    VYRE_PRIORITY_HIGH = 1,
    VYRE_PRIORITY_NORMAL = 2,
    VYRE_PRIORITY_LOW = 3,
    VYRE_PRIORITY_IDLE = 4
};
#define VYRE_PRIORITIES 5u

/** One slot in wire form. */
typedef struct vyre_slot {
    uint32_t word[VYRE_SLOT_WORDS];
} vyre_slot;

/* Opcodes; docs/builtins.md says what each does.
 * ---------------------------------------------------------- */

#define VYRE_OP_NOP          0u
#define VYRE_OP_STORE_U32    1u
#define VYRE_OP_ATOMIC_ADD   2u
#define VYRE_OP_LOAD_U32     3u
#define VYRE_OP_COMPARE_SWAP 4u
#define VYRE_OP_MEMCPY       5u
#define VYRE_OP_DFA_STEP     6u
#define VYRE_OP_BATCH_FENCE  7u
#define VYRE_OP_USER_FIRST   8u /**< 8..0xFFEF and 0x10000..0x7FFFFFFF are the user's */
#define VYRE_OP_LOAD_MISS    0x0000FFFDu
#define VYRE_OP_PRINTF       0x0000FFFEu
#define VYRE_OP_PACKED_SLOT  0x80000001u
#define VYRE_OP_SHUTDOWN     0xFFFFFFFFu

/* Control words.
 * -------------------------------------------------------------------------------------------- */

#define VYRE_CONTROL_WORDS              160u /**< the header; observable words follow it */
#define VYRE_CONTROL_BYTES              640u
#define VYRE_CONTROL_SHUTDOWN           0u
#define VYRE_CONTROL_DONE_COUNT         1u
#define VYRE_CONTROL_TENANT_BASE        2u
#define VYRE_CONTROL_TENANT_MASKS       3u
#define VYRE_CONTROL_TENANT_QUOTAS      32u
#define VYRE_CONTROL_TENANT_FAIRNESS    64u
#define VYRE_CONTROL_METRICS            96u
#define VYRE_CONTROL_EPOCH              128u
#define VYRE_CONTROL_PRIORITY_OFFSETS   129u
#define VYRE_CONTROL_STARVATION         135u
#define VYRE_CONTROL_PRIORITY_FAIRNESS  136u
#define VYRE_CONTROL_OBSERVABLE         160u
#define VYRE_CONTROL_TENANT_MASK_COUNT  29u
#define VYRE_CONTROL_TENANT_QUOTA_COUNT 32u
#define VYRE_CONTROL_METRIC_COUNT       32u
#define VYRE_CONTROL_DEFAULT_QUOTA      1000000u

/* Completion entry: 64 bytes, written by the device only.
 * ------------------------------------------------------ */

#define VYRE_COMPLETION_WORDS   16u
#define VYRE_COMPLETION_BYTES   64u
#define VYRE_COMPLETION_RESULTS 8u

/** Words of a completion entry. */
enum vyre_completion_word {
    VYRE_COMPLETION_TICKET_LOW = 0,
    VYRE_COMPLETION_TICKET_HIGH = 1,
    VYRE_COMPLETION_STATUS =
        2, /**< low half VYRE_SLOT_DONE or VYRE_SLOT_FAULT, high half the fault code */
    VYRE_COMPLETION_PROGRAM = 3, /**< the opcode that ran */
    VYRE_COMPLETION_PC = 4,
    VYRE_COMPLETION_OUT_OF_BOUNDS = 5,
    VYRE_COMPLETION_STEPS = 6,
    VYRE_COMPLETION_LAP = 7, /**< the lap of the ring (from 1), or a seal; written last */
    VYRE_COMPLETION_RESULT0 = 8
};

/** Why a slot faulted; see docs/builtins.md. The values never change. */
enum vyre_fault {
#define VYRE_FAULT(name, value, text) VYRE_FAULT_##name = (value),
#include "vyre/fault.def"
#undef VYRE_FAULT
    VYRE_FAULT_LAST_ = 0xffff
};

/** The fault as it is written in C without its prefix, such as "BAD_HANDLE"; "?" for a number that
 * is none. */
VYRE_API const char *vyre_fault_name(uint32_t fault);

/** One line on what the fault means; never NULL. */
VYRE_API const char *vyre_fault_text(uint32_t fault);

/* Functions.
 *
 * A buffer is (bytes, length in bytes). It needs no alignment, holds little-endian words on every
 * host, and may be NULL only where its length is 0. Calls that fail change nothing at all: neither
 * the buffer nor any out-parameter. Stores are plain stores, the status word of a slot last; a ring
 * that a device reads at the same time is filled through vyre/queue.h instead. What a call reads
 * must not overlap what it writes. Any pointer is required unless its comment says otherwise;
 * E_NULL is what every function returns for one that is missing, and is not repeated below.
 *
 * Each encode call wants exactly the length that the size call of its buffer names: E_TOO_SMALL for
 * less, E_WIRE_LENGTH for more.
 */

/** The system's opcodes, which no user may register: 0..7, 0xFFF0..0xFFFF and all with bit 31. */
VYRE_API int vyre_wire_opcode_system(uint32_t opcode);
/** 0..7, PRINTF, PACKED_SLOT, SHUTDOWN. */
VYRE_API int vyre_wire_opcode_builtin(uint32_t opcode);
/** What an embedding program may register under: all that are not the system's. */
VYRE_API int vyre_wire_opcode_user(uint32_t opcode);
/** What a slot may be published under: built-in, LOAD_MISS or user. */
VYRE_API int vyre_wire_opcode_publishable(uint32_t opcode);

/* Control buffer.
 * ------------------------------------------------------------------------------------------- */

/** The most observable words a control buffer can count. */
#define VYRE_CONTROL_MAX_OBSERVABLE 4294967135u
#define VYRE_CONTROL_OFFSET_COUNT   6u /**< one start a priority, then the number of slots */

/** The header of a control buffer in its order; words 141..159 are unused. */
typedef struct vyre_wire_control {
    uint32_t shutdown;
    uint32_t done_count;
    uint32_t tenant_base; /**< index of the word where the masks begin */
    uint32_t tenant_masks[VYRE_CONTROL_TENANT_MASK_COUNT];
    uint32_t tenant_quotas[VYRE_CONTROL_TENANT_QUOTA_COUNT];
    uint32_t tenant_fairness[32];
    uint32_t metrics[VYRE_CONTROL_METRIC_COUNT];
    uint32_t epoch;
    uint32_t priority_offsets[VYRE_CONTROL_OFFSET_COUNT];
    uint32_t starvation;
    uint32_t priority_fairness[VYRE_PRIORITIES];
    uint32_t observable_words; /**< not a word of the buffer: how many follow the header */
} vyre_wire_control;

/** How often an operation with an opcode below 32 ran. */
typedef struct vyre_wire_metric {
    uint32_t opcode;
    uint32_t count;
} vyre_wire_metric;

/** Bytes of a control buffer. Status: E_WIRE_OVERFLOW (above VYRE_CONTROL_MAX_OBSERVABLE). */
VYRE_API vyre_status vyre_wire_control_size(size_t observable_words, size_t *bytes,
                                            vyre_error *err);

/**
 * A fresh header: masks and default quotas for the first tenant_count tenants (any number; the
 * tables hold 29 and 32), all counters and the priority offsets 0. Status: E_WIRE_CAP (more than
 * VYRE_ENCODE_MAX observable words).
 */
VYRE_API vyre_status vyre_wire_control_init(vyre_wire_control *control, int shutdown,
                                            uint32_t tenant_count, size_t observable_words,
                                            vyre_error *err);

/** Writes the whole buffer, unused and observable words as 0. Statuses: E_WIRE_CAP, E_TOO_SMALL,
 * E_WIRE_LENGTH. */
VYRE_API vyre_status vyre_wire_control_encode(void *bytes, size_t length,
                                              const vyre_wire_control *control, vyre_error *err);

/** Reads the header; the number of observable words follows from the length. Statuses:
 * E_WIRE_MISALIGNED, E_WIRE_MISSING_WORD, E_WIRE_OVERFLOW (more words than the format counts). */
VYRE_API vyre_status vyre_wire_control_decode(const void *bytes, size_t length,
                                              vyre_wire_control *control, vyre_error *err);

/**
 * Splits `slots` between the five priorities: a fifth each, the remainder to NORMAL. offsets
 * receives the first slot of each, then `slots`.
 */
VYRE_API vyre_status vyre_wire_offsets_split(uint32_t slots,
                                             uint32_t offsets[VYRE_CONTROL_OFFSET_COUNT],
                                             vyre_error *err);

/** Writes that split into a control buffer. Statuses: E_WIRE_MISALIGNED, E_WIRE_MISSING_WORD. */
VYRE_API vyre_status vyre_wire_offsets_write(void *bytes, size_t length, uint32_t slots,
                                             vyre_error *err);

/** Reads how many slots were executed. Statuses: E_WIRE_MISALIGNED, E_WIRE_MISSING_WORD; the
 * buffer may end after the word. */
VYRE_API vyre_status vyre_wire_done_count_read(const void *bytes, size_t length, uint32_t *count,
                                               vyre_error *err);
/** Reads how many fences were passed. Statuses as above. */
VYRE_API vyre_status vyre_wire_epoch_read(const void *bytes, size_t length, uint32_t *epoch,
                                          vyre_error *err);
/** Reads observable word `index`. Statuses as above, and E_WIRE_OVERFLOW (no control buffer has
 * that word). */
VYRE_API vyre_status vyre_wire_observable_read(const void *bytes, size_t length, size_t index,
                                               uint32_t *value, vyre_error *err);
/** Reads the opcode counters that are not 0, ascending; metrics has room for
 * VYRE_CONTROL_METRIC_COUNT. Statuses as for the done count. */
VYRE_API vyre_status vyre_wire_metrics_read(const void *bytes, size_t length,
                                            vyre_wire_metric *metrics, size_t *count,
                                            vyre_error *err);

/* Ring: slots, and how they are published.
 * ------------------------------------------------------------------ */

/** How many slots of a ring are in which state. */
typedef struct vyre_wire_ring {
    size_t slots;
    size_t by_status[8]; /**< by enum vyre_slot_status */
    size_t unknown;      /**< a status word above 7 */
    size_t active;       /**< PUBLISHED, CLAIMED, WAIT_IO, YIELD, REQUEUE */
    size_t depth;        /**< all that are neither EMPTY nor DONE */
} vyre_wire_ring;

/** What one slot is to do. args may be NULL where arg_count is 0. */
typedef struct vyre_wire_op {
    uint32_t opcode;
    uint32_t arg_count;
    const uint32_t *args;
} vyre_wire_op;

/** Operations for consecutive slots. ops may be NULL where count is 0. */
typedef struct vyre_wire_batch {
    size_t first_slot;
    uint32_t tenant;
    uint32_t tag; /**< of the fence, where there is one */
    const vyre_wire_op *ops;
    size_t count;
} vyre_wire_batch;

/** A work item: 16 bytes. */
typedef struct vyre_wire_item {
    uint32_t opcode;
    uint32_t input;  /**< handle */
    uint32_t output; /**< handle */
    uint32_t param;
} vyre_wire_item;
#define VYRE_ITEM_BYTES 16u

/** Work items for consecutive slots. items may be NULL where count is 0. */
typedef struct vyre_wire_work {
    size_t first_slot;
    uint32_t tenant;
    const vyre_wire_item *items;
    size_t count;
} vyre_wire_work;

/** A window: slots under one ticket, first those that are required, then the lookahead. Each
 * operation has up to VYRE_WINDOW_PAYLOAD argument words; ticket and class go before them. */
typedef struct vyre_wire_window {
    size_t first_slot;
    uint32_t tenant;
    uint32_t ticket;
    const vyre_wire_op *required;
    size_t required_count;
    const vyre_wire_op *lookahead;
    size_t lookahead_count;
} vyre_wire_window;
#define VYRE_WINDOW_PAYLOAD   10u
#define VYRE_WINDOW_REQUIRED  0u /**< class of a slot, its second argument */
#define VYRE_WINDOW_LOOKAHEAD 1u

/** Defined in vyre/queue.h. */
struct vyre_packed_op;
struct vyre_completion;
/** Defined in vyre/tenant.h. */
struct vyre_log_record;

/** Bytes of a ring; 0 slots are allowed. Status: E_WIRE_OVERFLOW (above VYRE_RING_MAX_SLOTS). */
VYRE_API vyre_status vyre_wire_ring_size(size_t slots, size_t *bytes, vyre_error *err);

/** Writes a ring of empty slots. Statuses: E_WIRE_CAP (above VYRE_ENCODE_MAX), E_TOO_SMALL,
 * E_WIRE_LENGTH. */
VYRE_API vyre_status vyre_wire_ring_encode(void *bytes, size_t length, size_t slots,
                                           vyre_error *err);

/** Counts the slots by state. Statuses: E_WIRE_MISALIGNED, E_WIRE_LENGTH (no whole number of
 * slots), E_WIRE_OVERFLOW. These three are meant below by "a bad ring". */
VYRE_API vyre_status vyre_wire_ring_decode(const void *bytes, size_t length, vyre_wire_ring *ring,
                                           vyre_error *err);

/** Counts the DONE slots among the first `slots`, which is all that must be there; 0 slots are
 * never an error. Statuses: E_WIRE_OVERFLOW, E_WIRE_MISALIGNED, E_WIRE_MISSING_WORD. */
VYRE_API vyre_status vyre_wire_ring_count_done(const void *bytes, size_t length, size_t slots,
                                               size_t *done, vyre_error *err);

/** Copies a slot out, whatever its words say. Statuses: a bad ring, E_WIRE_SLOT_INDEX. */
VYRE_API vyre_status vyre_wire_slot_read(const void *bytes, size_t length, size_t index,
                                         vyre_slot *slot, vyre_error *err);
/** Copies a slot in, unconditionally and unchecked. Statuses as above. */
VYRE_API vyre_status vyre_wire_slot_write(void *bytes, size_t length, size_t index,
                                          const vyre_slot *slot, vyre_error *err);

/** PUBLISHED, YIELD or REQUEUE becomes CLAIMED. Statuses of all four: a bad ring,
 * E_WIRE_SLOT_INDEX, E_WIRE_SLOT_STATE. */
VYRE_API vyre_status vyre_wire_slot_claim(void *bytes, size_t length, size_t index,
                                          vyre_error *err);
/** CLAIMED becomes DONE. */
VYRE_API vyre_status vyre_wire_slot_complete(void *bytes, size_t length, size_t index,
                                             vyre_error *err);
/** PUBLISHED, CLAIMED, WAIT_IO, YIELD or REQUEUE becomes FAULT. */
VYRE_API vyre_status vyre_wire_slot_fault(void *bytes, size_t length, size_t index,
                                          vyre_error *err);
/** PUBLISHED, WAIT_IO, YIELD or REQUEUE becomes EMPTY. */
VYRE_API vyre_status vyre_wire_slot_cancel(void *bytes, size_t length, size_t index,
                                           vyre_error *err);

/**
 * Publishes operations into slots first_slot and on, with priority NORMAL; arguments that are not
 * given are 0. All of them or none. Statuses, in the order of the checks: a bad ring, E_OVERFLOW
 * (first slot plus count), E_WIRE_CAPACITY, for each operation E_WIRE_ARGS and E_WIRE_OPCODE, then
 * E_WIRE_SLOT_BUSY (neither EMPTY nor DONE). The tag is not used.
 */
VYRE_API vyre_status vyre_wire_batch_publish(void *bytes, size_t length,
                                             const vyre_wire_batch *batch, vyre_error *err);

/**
 * As above, with one more slot behind them: BATCH_FENCE with the count and the tag. *published
 * receives count + 1. Statuses as above.
 */
VYRE_API vyre_status vyre_wire_batch_publish_fenced(void *bytes, size_t length,
                                                    const vyre_wire_batch *batch, size_t *published,
                                                    vyre_error *err);

/** Publishes one operation. Statuses: a bad ring, E_WIRE_SLOT_INDEX, E_WIRE_ARGS, E_WIRE_OPCODE,
 * E_WIRE_SLOT_BUSY. */
VYRE_API vyre_status vyre_wire_slot_publish(void *bytes, size_t length, size_t index,
                                            uint32_t tenant, const vyre_wire_op *op,
                                            vyre_error *err);

/** Publishes the operations of a window. All of them or none. Statuses as for a batch;
 * E_WIRE_WINDOW_PAYLOAD in place of E_WIRE_ARGS. */
VYRE_API vyre_status vyre_wire_window_publish(void *bytes, size_t length,
                                              const vyre_wire_window *window, vyre_error *err);

/**
 * Publishes work items: input, output and param become the first three arguments. All of them or
 * none. Statuses, in the order of the checks: E_WIRE_OPCODE, a bad ring, E_OVERFLOW,
 * E_WIRE_CAPACITY, E_WIRE_SLOT_BUSY.
 */
VYRE_API vyre_status vyre_wire_work_publish(void *bytes, size_t length, const vyre_wire_work *work,
                                            vyre_error *err);

/** Makes the whole ring anew: these items published, every other slot zeroed. Statuses: a bad ring,
 * E_OVERFLOW, E_WIRE_CAPACITY, E_WIRE_OPCODE, E_WIRE_CAP. */
VYRE_API vyre_status vyre_wire_work_encode(void *bytes, size_t length, const vyre_wire_work *work,
                                           vyre_error *err);

/** One work item into 16 bytes, and back; the opcode is not judged. Statuses: E_TOO_SMALL,
 * E_WIRE_LENGTH (both), as for all encode calls. */
VYRE_API vyre_status vyre_wire_item_encode(void *bytes, size_t length, const vyre_wire_item *item,
                                           vyre_error *err);
VYRE_API vyre_status vyre_wire_item_decode(const void *bytes, size_t length, vyre_wire_item *item,
                                           vyre_error *err);

/** The most operations that fit a packed slot: 23 without arguments. */
#define VYRE_PACKED_MAX 23u

/**
 * Packs operations into the argument words of one PACKED_SLOT; words past *arg_count become 0.
 * ops may be NULL where count is 0. Statuses, in the order of the checks: E_WIRE_PACKED_COUNT
 * (above 255), E_WIRE_PACKED_HEADER (above 23), then for each operation E_WIRE_OPCODE (above 255),
 * E_WIRE_PACKED_ARGS.
 */
VYRE_API vyre_status vyre_wire_packed_encode(const struct vyre_packed_op *ops, size_t count,
                                             uint32_t args[VYRE_SLOT_ARGS], size_t *arg_count,
                                             vyre_error *err);

/**
 * Takes the argument words of a PACKED_SLOT apart. ops has room for VYRE_PACKED_MAX; their args
 * point into `args`. Padding is not judged. Statuses: E_WIRE_PACKED_HEADER, E_WIRE_PACKED_ARGS,
 * E_WIRE_PACKED_FORM (the arguments do not follow each other without a gap).
 */
VYRE_API vyre_status vyre_wire_packed_decode(const uint32_t args[VYRE_SLOT_ARGS],
                                             struct vyre_packed_op *ops, size_t *count,
                                             vyre_error *err);

/** Packs ops into one slot and publishes it. Statuses as for vyre_wire_packed_encode, then as for
 * vyre_wire_slot_publish. */
VYRE_API vyre_status vyre_wire_packed_publish(void *bytes, size_t length, size_t index,
                                              uint32_t tenant, const struct vyre_packed_op *ops,
                                              size_t count, vyre_error *err);

/** A LOAD_MISS slot as the Rust project writes it: 64 bytes, tenant 0, priority CRITICAL.
 * Statuses: E_TOO_SMALL, E_WIRE_LENGTH. */
VYRE_API vyre_status vyre_wire_load_miss_encode(void *bytes, size_t length, uint32_t resource,
                                                int prefetch, vyre_error *err);
/** Its two arguments, whatever the status word says. Statuses: E_WIRE_MISALIGNED,
 * E_WIRE_MISSING_WORD, E_WIRE_OTHER_OPCODE. */
VYRE_API vyre_status vyre_wire_load_miss_decode(const void *bytes, size_t length,
                                                uint32_t *resource, int *prefetch, vyre_error *err);

/* Debug log: a cursor in words, then records of four words.
 * ------------------------------------------------- */

#define VYRE_LOG_RECORDS      64u   /**< of the log that a device writes */
#define VYRE_LOG_BYTES        1028u /**< of that log */
#define VYRE_LOG_RECORD_WORDS 4u
#define VYRE_LOG_MAX_RECORDS  1073741823u

/** Bytes of a log; 0 records are allowed. Status: E_WIRE_OVERFLOW (above VYRE_LOG_MAX_RECORDS). */
VYRE_API vyre_status vyre_wire_log_size(size_t records, size_t *bytes, vyre_error *err);

/** Writes an empty log. Statuses: E_WIRE_CAP, E_TOO_SMALL, E_WIRE_LENGTH. */
VYRE_API vyre_status vyre_wire_log_encode(void *bytes, size_t length, size_t records,
                                          vyre_error *err);

/** How many records the cursor covers. Statuses: E_WIRE_MISALIGNED, E_WIRE_MISSING_WORD (no cursor,
 * or it lies past the end), E_WIRE_CURSOR (it stands inside a record). */
VYRE_API vyre_status vyre_wire_log_count(const void *bytes, size_t length, size_t *count,
                                         vyre_error *err);

/** Reads all records, oldest first, into an array of `max`; *count receives their number. Statuses
 * as above, and E_TOO_SMALL (more than max). */
VYRE_API vyre_status vyre_wire_log_decode(const void *bytes, size_t length,
                                          struct vyre_log_record *records, size_t max,
                                          size_t *count, vyre_error *err);

/** Adds a record. Statuses as for vyre_wire_log_count, and E_WIRE_LOG_FULL. */
VYRE_API vyre_status vyre_wire_log_append(void *bytes, size_t length,
                                          const struct vyre_log_record *record, vyre_error *err);

/* I/O queue: up to 64 slots of eight words.
 * ----------------------------------------------------------------- */

#define VYRE_IO_SLOTS      64u
#define VYRE_IO_SLOT_WORDS 8u
#define VYRE_IO_SLOT_BYTES 32u

/** Words of an I/O slot. */
enum vyre_io_word {
    VYRE_IO_OP = 0,
    VYRE_IO_SOURCE = 1,
    VYRE_IO_DESTINATION = 2,
    VYRE_IO_OFFSET_LOW = 3,
    VYRE_IO_OFFSET_HIGH = 4,
    VYRE_IO_COUNT = 5,
    VYRE_IO_STATUS = 6,
    VYRE_IO_TAG = 7
};

enum vyre_io_op { VYRE_IO_READ = 1, VYRE_IO_WRITE = 2, VYRE_IO_FENCE = 3 };

/** What the status word of an I/O slot says. */
enum vyre_io_status {
    VYRE_IO_EMPTY = 0,
    VYRE_IO_PUBLISHED = 1,
    VYRE_IO_CLAIMED = 2,
    VYRE_IO_DONE = 3, /**< the device has issued it */
    VYRE_IO_OK = 16,
    VYRE_IO_ERROR = 17
};

/** An I/O slot. */
typedef struct vyre_wire_io {
    uint32_t slot;   /**< its index; an output of the calls that list slots */
    uint32_t op;     /**< enum vyre_io_op */
    uint32_t status; /**< enum vyre_io_status; not read by vyre_wire_io_publish */
    uint32_t source; /**< handle, or 0 for a mapped slot */
    uint32_t destination;
    uint32_t count; /**< bytes */
    uint32_t tag;
    uint64_t offset;
} vyre_wire_io;

/** How one claimed I/O slot ended. */
typedef struct vyre_wire_io_end {
    uint32_t slot;
    uint32_t success; /**< not 0: OK, else ERROR */
} vyre_wire_io_end;

/** Bytes of an I/O queue. Status: E_WIRE_IO_SLOTS (above 64). */
VYRE_API vyre_status vyre_wire_io_size(size_t slots, size_t *bytes, vyre_error *err);

/** Writes an empty queue. Statuses: E_WIRE_IO_SLOTS (0 or above 64), E_TOO_SMALL, E_WIRE_LENGTH. */
VYRE_API vyre_status vyre_wire_io_encode(void *bytes, size_t length, size_t slots, vyre_error *err);

/** Reads one slot, whatever its words say. Statuses: E_WIRE_MISALIGNED, E_WIRE_LENGTH (no whole
 * number of slots) and E_WIRE_IO_SLOTS (above 64), meant below by "a bad queue"; E_WIRE_IO_INDEX.
 */
VYRE_API vyre_status vyre_wire_io_read(const void *bytes, size_t length, size_t index,
                                       vyre_wire_io *io, vyre_error *err);

/** Publishes a request into an EMPTY slot. Statuses: a bad queue, E_WIRE_IO_INDEX, E_WIRE_IO_OP,
 * E_WIRE_IO_STATUS. */
VYRE_API vyre_status vyre_wire_io_publish(void *bytes, size_t length, size_t index,
                                          const vyre_wire_io *request, vyre_error *err);

/** Lists up to `max` PUBLISHED slots, lowest index first. Statuses: a bad queue. */
VYRE_API vyre_status vyre_wire_io_poll(const void *bytes, size_t length, vyre_wire_io *requests,
                                       size_t max, size_t *count, vyre_error *err);

/** As above, and makes those it lists CLAIMED; the copies still say PUBLISHED. */
VYRE_API vyre_status vyre_wire_io_claim(void *bytes, size_t length, vyre_wire_io *requests,
                                        size_t max, size_t *count, vyre_error *err);

/** Makes CLAIMED slots OK or ERROR. All of them or none; ends may be NULL where count is 0.
 * Statuses: a bad queue, E_WIRE_IO_INDEX, E_WIRE_IO_STATUS, E_WIRE_IO_TWICE. */
VYRE_API vyre_status vyre_wire_io_complete(void *bytes, size_t length, const vyre_wire_io_end *ends,
                                           size_t count, vyre_error *err);

/** Zeroes a slot that is DONE, OK or ERROR. Statuses: a bad queue, E_WIRE_IO_INDEX,
 * E_WIRE_IO_STATUS. */
VYRE_API vyre_status vyre_wire_io_recycle(void *bytes, size_t length, size_t index,
                                          vyre_error *err);

/* Continuation task: 64 bytes in the shape of a slot.
 * ------------------------------------------------------- */

#define VYRE_TASK_BYTES 64u

enum vyre_task_state {
    VYRE_TASK_EMPTY = 0,
    VYRE_TASK_READY = 1,
    VYRE_TASK_RUNNING = 2,
    VYRE_TASK_DONE = 3,
    VYRE_TASK_PAUSED = 4,
    VYRE_TASK_YIELDED = 5,
    VYRE_TASK_REQUEUED = 6,
    VYRE_TASK_FAULTED = 7
};

enum vyre_task_flag {
    VYRE_TASK_FLAG_PAUSED = 1,
    VYRE_TASK_FLAG_YIELDED = 2,
    VYRE_TASK_FLAG_REQUEUE = 4,
    VYRE_TASK_FLAG_RESUME = 8
};

/** A task: its sixteen words in their order. */
typedef struct vyre_wire_task {
    uint32_t state; /**< enum vyre_task_state */
    uint32_t opcode;
    uint32_t tenant;
    uint32_t priority;
    uint32_t input;
    uint32_t output;
    uint32_t param;
    uint32_t pc;   /**< where to go on */
    uint32_t data; /**< what to go on with; the code of a fault */
    uint32_t resume_epoch;
    uint32_t id;
    uint32_t parent;
    uint32_t age_ticks;
    uint32_t requeue_count;
    uint32_t yield_count;
    uint32_t flags; /**< enum vyre_task_flag */
} vyre_wire_task;

/** How many tasks are in which state. */
typedef struct vyre_wire_tasks {
    size_t tasks;
    size_t by_state[8];     /**< by enum vyre_task_state */
    size_t schedulable;     /**< READY, YIELDED, REQUEUED */
    uint64_t requeue_count; /**< sum over all tasks */
    uint64_t pressure;      /**< YIELDED and REQUEUED tasks plus requeue_count */
    uint32_t max_age_ticks;
} vyre_wire_tasks;

/** One task into 64 bytes, and back. Statuses: E_TOO_SMALL, E_WIRE_LENGTH, E_WIRE_TASK_UNKNOWN (a
 * state above 7). */
VYRE_API vyre_status vyre_wire_task_encode(void *bytes, size_t length, const vyre_wire_task *task,
                                           vyre_error *err);
VYRE_API vyre_status vyre_wire_task_decode(const void *bytes, size_t length, vyre_wire_task *task,
                                           vyre_error *err);

/** Counts an array of tasks. Statuses: E_WIRE_MISALIGNED, E_WIRE_LENGTH, E_WIRE_TASK_UNKNOWN. */
VYRE_API vyre_status vyre_wire_tasks_count(const void *bytes, size_t length, vyre_wire_tasks *tasks,
                                           vyre_error *err);

/** A READY task made of a work item; parent, counters and flags are 0. Status: E_RANGE (priority
 * above 4). */
VYRE_API vyre_status vyre_wire_task_start(vyre_wire_task *task, const vyre_wire_item *item,
                                          uint32_t tenant, uint32_t priority, uint32_t id,
                                          vyre_error *err);

/*
 * Transitions. None starts from EMPTY, DONE or FAULTED (E_WIRE_TASK_STATE) or from a state that is
 * none (E_WIRE_TASK_UNKNOWN). docs/wire.md has the table.
 */
/** To PAUSED, to go on at pc in a later epoch. */
VYRE_API vyre_status vyre_wire_task_pause(vyre_wire_task *task, uint32_t pc, uint32_t data,
                                          uint32_t resume_epoch, vyre_error *err);
/** From PAUSED only, to READY. */
VYRE_API vyre_status vyre_wire_task_resume(vyre_wire_task *task, vyre_error *err);
/** To YIELDED. Status also: E_WIRE_TASK_COUNTER (yield_count is at its end). */
VYRE_API vyre_status vyre_wire_task_yield(vyre_wire_task *task, uint32_t pc, uint32_t data,
                                          vyre_error *err);
/** To REQUEUED with a new priority. Statuses also: E_RANGE (priority above 4), E_WIRE_TASK_COUNTER
 * (requeue_count or age_ticks is at its end). */
VYRE_API vyre_status vyre_wire_task_requeue(vyre_wire_task *task, uint32_t pc, uint32_t data,
                                            uint32_t priority, vyre_error *err);
/** To DONE; the flags become 0. */
VYRE_API vyre_status vyre_wire_task_complete(vyre_wire_task *task, vyre_error *err);
/** To FAULTED, with its code in data. */
VYRE_API vyre_status vyre_wire_task_fault(vyre_wire_task *task, uint32_t code, vyre_error *err);

/* Replay log: a header of 32 bytes, then records of 64 in a circle.
 * ----------------------------------------- */

#define VYRE_REPLAY_HEADER_BYTES 32u
#define VYRE_REPLAY_RECORD_BYTES 64u
#define VYRE_REPLAY_MAX_RECORDS  1048576u
#define VYRE_REPLAY_VERSION      1u

enum vyre_replay_failure {
    VYRE_REPLAY_NONE = 0,
    VYRE_REPLAY_DEVICE_LOSS = 1,
    VYRE_REPLAY_TRANSIENT = 2,
    VYRE_REPLAY_PROGRAM_BUG = 3,
    VYRE_REPLAY_UNCLASSIFIED = 4
};

typedef struct vyre_wire_replay_header {
    uint32_t flags;    /**< 0 when we write it, anything when we read it */
    uint64_t capacity; /**< records */
    uint64_t cursor;   /**< the record that is written next; below capacity */
} vyre_wire_replay_header;

/** One record. The last four fields are 0 in logs of the format's first version. */
typedef struct vyre_wire_replay_record {
    uint64_t timestamp_ns;
    uint32_t slot;
    uint32_t tenant;
    uint32_t opcode;
    uint32_t args[4]; /**< the first four of the slot */
    uint32_t epoch;
    uint32_t slot_status;
    uint32_t failure; /**< enum vyre_replay_failure */
    uint32_t backend_code;
    uint64_t output_digest;
} vyre_wire_replay_record;

/** Bytes of a log. Statuses: E_WIRE_REPLAY_ZERO, E_WIRE_REPLAY_CAPACITY. */
VYRE_API vyre_status vyre_wire_replay_size(size_t records, size_t *bytes, vyre_error *err);

/** Writes an empty log. Statuses as above, E_TOO_SMALL, E_WIRE_LENGTH. */
VYRE_API vyre_status vyre_wire_replay_encode(void *bytes, size_t length, size_t records,
                                             vyre_error *err);

/** Reads the header; the cursor is taken modulo the capacity. Statuses: E_WIRE_MISSING_WORD
 * (shorter than a header), E_WIRE_REPLAY_HEADER, E_WIRE_REPLAY_VERSION, E_WIRE_REPLAY_ZERO,
 * E_WIRE_REPLAY_CAPACITY, E_WIRE_REPLAY_SHORT; these are meant below by "a bad log". Bytes behind
 * the last record are left alone. */
VYRE_API vyre_status vyre_wire_replay_decode(const void *bytes, size_t length,
                                             vyre_wire_replay_header *header, vyre_error *err);

/** Writes a record at the cursor, then the cursor. Statuses: a bad log, E_WIRE_REPLAY_FAILURE (no
 * such class). */
VYRE_API vyre_status vyre_wire_replay_append(void *bytes, size_t length,
                                             const vyre_wire_replay_record *record,
                                             vyre_error *err);

/**
 * The next record, oldest first: start with *position 0, and call until E_WIRE_REPLAY_END. Places
 * never written are passed over. Statuses: a bad log, E_WIRE_REPLAY_RECORD, E_WIRE_REPLAY_FAILURE,
 * E_WIRE_REPLAY_END.
 */
VYRE_API vyre_status vyre_wire_replay_next(const void *bytes, size_t length, uint64_t *position,
                                           vyre_wire_replay_record *record, vyre_error *err);

/** One record into 64 bytes, and back. Statuses: E_TOO_SMALL, E_WIRE_LENGTH, E_WIRE_REPLAY_FAILURE;
 * decode also E_WIRE_REPLAY_EMPTY (never written), E_WIRE_REPLAY_RECORD (another mark). */
VYRE_API vyre_status vyre_wire_replay_record_encode(void *bytes, size_t length,
                                                    const vyre_wire_replay_record *record,
                                                    vyre_error *err);
VYRE_API vyre_status vyre_wire_replay_record_decode(const void *bytes, size_t length,
                                                    vyre_wire_replay_record *record,
                                                    vyre_error *err);

/* Completion entry.
 * ----------------------------------------------------------------------------------------- */

/**
 * One completion into 64 bytes, and back. `lap` is the entry's word 7: the lap, or a seal. The
 * flags of vyre_completion are the library's own: not written, read as 0. Statuses: E_TOO_SMALL,
 * E_WIRE_LENGTH, E_WIRE_COMPLETION (an outcome or status that no entry has),
 * E_WIRE_COMPLETION_FAULT (the fault is unknown or contradicts it), E_WIRE_COMPLETION_LAP (lap 0:
 * never written).
 */
VYRE_API vyre_status vyre_wire_completion_encode(void *bytes, size_t length,
                                                 const struct vyre_completion *completion,
                                                 uint32_t lap, vyre_error *err);
VYRE_API vyre_status vyre_wire_completion_decode(const void *bytes, size_t length,
                                                 struct vyre_completion *completion, uint32_t *lap,
                                                 vyre_error *err);

#ifdef __cplusplus
}
#endif

#endif
