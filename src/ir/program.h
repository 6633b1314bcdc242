/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The VIR0 program as a tree: what the decoder makes, the validator judges, the printer shows, the
 * encoder writes and the bytecode is lowered from.
 *
 * Everything that belongs to a program lies in its arena and goes with it. Names are interned: two
 * names of one program are equal exactly when their numbers are, so no later pass compares text.
 * A tree is built once, by one thread, and only read afterwards.
 */
#ifndef VYRE_IR_PROGRAM_H
#define VYRE_IR_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

#define IR_NONE         0xFFFFFFFFu
#define IR_VERSION      4u
#define IR_FLAGS        0x0004u
#define IR_HEADER_BYTES 40u
#define IR_MAX_BYTES    (64u << 20)
#define IR_MAX_BUFFERS  16384u
#define IR_MAX_LIST     1000000u
#define IR_MAX_ARGS     4096u
#define IR_MAX_STRING   (1u << 20)
#define IR_MAX_PAYLOAD  4194304u
#define IR_MAX_SHAPE    64u
#define IR_MAX_DEPTH    64u /* of statements and expressions together, on the wire */
/* What a tree may hold. The wire format has no such limit, but the validator takes no more than
 * 8,192 statements, and 64 MiB of one-byte statements must not become gigabytes. */
#define IR_MAX_NODES    (1u << 20)
#define IR_MAX_EXPRS    (1u << 22)

enum ir_node_kind {
#define IR_NODE(tag, name, id) IR_NODE_##name = tag,
#include "ir/tags.def"
};
enum ir_expr_kind {
#define IR_EXPR(tag, name, word) IR_EXPR_##name = tag,
#include "ir/tags.def"
};
enum ir_bin_op {
#define IR_BIN_OP(tag, name, word) IR_BIN_##name = tag,
#include "ir/tags.def"
    IR_OP_EXTENSION = 0x80 /* of any operator: the number is in `value` */
};
enum ir_un_op {
#define IR_UN_OP(tag, name, word) IR_UN_##name = tag,
#include "ir/tags.def"
};
enum ir_atomic_op {
#define IR_ATOMIC_OP(tag, name, word) IR_ATOMIC_##name = tag,
#include "ir/tags.def"
};
enum ir_type_tag {
#define IR_TYPE(tag, name, word, size, stride, bits) IR_TYPE_##name = tag,
#include "ir/tags.def"
};
enum ir_kind {
#define IR_KIND(tag, name, word) IR_KIND_##name = tag,
#include "ir/tags.def"
};
enum ir_access {
#define IR_ACCESS(tag, name, word) IR_ACCESS_##name = tag,
#include "ir/tags.def"
};
enum ir_ordering {
#define IR_ORDERING(tag, name, word) IR_ORDERING_##name = tag,
#include "ir/tags.def"
};
enum ir_collective {
#define IR_COLLECTIVE(tag, name, word) IR_COLLECTIVE_##name = tag,
#include "ir/tags.def"
};

struct ir_type {
    uint8_t tag;   /* enum ir_type_tag */
    uint8_t lanes; /* VEC */
    uint8_t scale; /* QUANTIZED: 0 per tensor, 1 per channel, 2 per group */
    uint8_t zero;  /* QUANTIZED: 0 absent, 1 per tensor, 2 per channel, 3 per group */
    uint32_t a;    /* ARRAY element size, HANDLE type id, OPAQUE extension, BSR rows, scale param */
    uint32_t b;    /* BSR columns, zero-point param */
    uint32_t dim_count;            /* TENSOR_SHAPED, DEVICE_MESH */
    const uint32_t *dims;          /* the same */
    const struct ir_type *element; /* VEC, TENSOR_SHAPED, SPARSE_*, QUANTIZED (its storage) */
};

struct ir_hints {
    uint8_t has_axis;
    uint8_t axis;
    uint8_t locality; /* 0 streaming, 1 temporal, 2 random */
    uint32_t alignment;
};

struct ir_buffer {
    uint32_t name;
    uint32_t binding;
    uint32_t count; /* elements; 0: as long as what is bound */
    uint8_t kind;   /* enum ir_kind */
    uint8_t access; /* enum ir_access */
    uint8_t is_output;
    uint8_t live_out;
    uint8_t has_range;
    uint64_t range_start; /* bytes of the output that are returned */
    uint64_t range_end;
    struct ir_hints hints;
    struct ir_type type;
};

struct ir_expr {
    uint8_t kind;       /* enum ir_expr_kind */
    uint8_t op;         /* operator of BIN_OP, UN_OP, ATOMIC; IR_OP_EXTENSION: see value */
    uint8_t ordering;   /* ATOMIC */
    uint8_t axis;       /* INVOCATION_ID, WORKGROUP_ID, LOCAL_ID: as on the wire, not checked */
    uint32_t value;     /* bits of a literal (bool: 0 or 1), or the number of an extension */
    uint32_t name;      /* VAR; buffer of LOAD, BUF_LEN, ATOMIC; op id of CALL */
    uint32_t id;        /* its place in the order of decoding, statements and expressions alike */
    uint32_t arg_count; /* CALL */
    const struct ir_type *type; /* CAST */
    /*
     * LOAD: index. BIN_OP: left, right. UN_OP, CAST, SUBGROUP_ADD, SUBGROUP_BALLOT: operand.
     * SELECT: condition, true, false. FMA: a, b, c. SUBGROUP_SHUFFLE: value, lane.
     * ATOMIC: index, expected or NULL, value.
     */
    struct ir_expr *arg[3];
    struct ir_expr **args; /* CALL */
};

struct ir_list {
    struct ir_node *first;
    struct ir_node *last;
    uint32_t count;
};

struct ir_node {
    uint8_t kind;     /* enum ir_node_kind */
    uint8_t ordering; /* BARRIER */
    uint8_t op;       /* ALL_REDUCE, REDUCE_SCATTER: enum ir_collective */
    /*
     * LET, ASSIGN, LOOP: variable. STORE, INDIRECT_DISPATCH, ALL_REDUCE, BROADCAST: buffer. REGION:
     * generator. ASYNC_LOAD, ASYNC_STORE: source. ALL_GATHER, REDUCE_SCATTER: input.
     */
    uint32_t name;
    uint32_t other; /* ASYNC_*: destination. ALL_GATHER, REDUCE_SCATTER: output. REGION: name of its
                       source, or IR_NONE */
    uint32_t tag;   /* ASYNC_*, TRAP, RESUME */
    uint32_t group; /* collectives */
    uint32_t root;  /* BROADCAST */
    uint32_t id;
    uint64_t offset; /* INDIRECT_DISPATCH */
    /*
     * LET, ASSIGN: value. STORE: index, value. IF: condition. LOOP: from, to. ASYNC_LOAD and
     * ASYNC_STORE: offset, size. TRAP: address.
     */
    struct ir_expr *a;
    struct ir_expr *b;
    struct ir_list body;      /* IF: then. LOOP, BLOCK, REGION. */
    struct ir_list otherwise; /* IF: else. */
    struct ir_node *next;     /* in its list */
};

struct ir_name {
    const char *text; /* UTF-8, and a zero byte after it; may hold zero bytes itself */
    uint32_t length;
    uint32_t buffer; /* the first buffer of this name, or IR_NONE */
};

struct ir_chunk;

struct ir_program {
    struct vyre_memory *memory;
    struct ir_chunk *chunks; /* the arena */
    struct ir_name *names;
    uint32_t name_count;
    uint32_t name_room;
    uint32_t *name_map; /* hash table of name numbers, IR_NONE: free */
    uint32_t name_map_size;
    uint32_t node_count; /* statements */
    uint32_t expr_count;
    uint32_t entry_op_id; /* name, or IR_NONE */
    uint32_t workgroup[3];
    uint32_t non_composable;
    uint32_t buffer_count;
    struct ir_buffer *buffers;
    struct ir_list entry;
};

/* tree.c: building a program
 * ----------------------------------------------------------------------------------- */

/* An empty program, 1x1x1, without buffers; its memory comes from `memory`, which must outlive it.
 */
vyre_status vyre_ir_program_make(struct vyre_memory *memory, struct ir_program **out,
                                 vyre_error *err);
void vyre_ir_program_free(struct ir_program *program); /* NULL is allowed */

/* Zeroed memory that goes with the program, aligned for any type. E_NO_MEMORY, E_OVERFLOW. */
vyre_status vyre_ir_alloc(struct ir_program *program, size_t count, size_t size, void **out,
                          vyre_error *err);

/* The number of a name; the text is copied. */
vyre_status vyre_ir_name(struct ir_program *program, const char *text, size_t length,
                         uint32_t *name, vyre_error *err);

/* A statement or an expression, zeroed but for kind, id, and names (IR_NONE). E_LIMIT, E_NO_MEMORY.
 */
vyre_status vyre_ir_node(struct ir_program *program, uint8_t kind, struct ir_node **out,
                         vyre_error *err);
vyre_status vyre_ir_expr(struct ir_program *program, uint8_t kind, struct ir_expr **out,
                         vyre_error *err);
void vyre_ir_append(struct ir_list *list, struct ir_node *node);

/* Makes room for buffers; to be called once. Names of buffers become known by
 * vyre_ir_buffers_named. */
vyre_status vyre_ir_buffers(struct ir_program *program, uint32_t count, vyre_error *err);
void vyre_ir_buffers_named(struct ir_program *program);

/* The buffer of a name, or NULL. */
const struct ir_buffer *vyre_ir_find_buffer(const struct ir_program *program, uint32_t name);

/* Facts about types (section 4). size and bits are 0 where the type has none. */
uint64_t vyre_ir_type_size(const struct ir_type *type);
uint64_t vyre_ir_type_stride(const struct ir_type *type);
uint64_t vyre_ir_type_bits(const struct ir_type *type);

/* The bytes that a buffer of this declaration has at least; 0 where its count is 0. */
uint64_t vyre_ir_buffer_bytes(const struct ir_buffer *buffer);
/* The elements in `bytes` bytes. */
uint64_t vyre_ir_buffer_elements(const struct ir_buffer *buffer, uint64_t bytes);

/* Whether the reference allocates it, zero filled: is_output, or write-only, or live-out and
 * read-write. */
int vyre_ir_buffer_allocated(const struct ir_buffer *buffer);
/* Whether it is returned: allocated, or read-write. */
int vyre_ir_buffer_returned(const struct ir_buffer *buffer);
/* A scalar parameter: read-only, kind Push, one element of 4 bytes. */
int vyre_ir_buffer_scalar(const struct ir_buffer *buffer);

/* The dispatch model of section 5. bytes[i]: what is bound to buffer i. E_RANGE where no grid fits.
 */
vyre_status vyre_ir_grid(const struct ir_program *program, const uint64_t *bytes, uint32_t grid[3],
                         vyre_error *err);

/* The word of a tag as in tags.def, or NULL. */
const char *vyre_ir_node_word(uint32_t kind);
const char *vyre_ir_node_id(uint32_t kind); /* op id of its record */
const char *vyre_ir_expr_word(uint32_t kind);
const char *vyre_ir_bin_word(uint32_t op);
const char *vyre_ir_un_word(uint32_t op);
const char *vyre_ir_atomic_word(uint32_t op);
const char *vyre_ir_type_word(uint32_t tag);
const char *vyre_ir_kind_word(uint32_t kind);
const char *vyre_ir_access_word(uint32_t access);
const char *vyre_ir_ordering_word(uint32_t ordering);
const char *vyre_ir_collective_word(uint32_t op);

/* decode.c, encode.c: the wire format
 * -------------------------------------------------------------------------- */

/*
 * Reads a program. Statuses: E_IR_SIZE, E_IR_MAGIC, E_IR_VERSION, E_IR_FLAGS, E_IR_DIGEST,
 * E_IR_FORM (with the byte it was found at as place), E_LIMIT, E_NO_MEMORY.
 */
vyre_status vyre_ir_decode(struct vyre_memory *memory, const void *bytes, size_t length,
                           struct ir_program **out, vyre_error *err);

/*
 * Writes a program, canonical. *length receives its size even where `room` is too small
 * (E_TOO_SMALL) or `bytes` is NULL (OK). Refuses what section 1's encoder refuses: E_IR_FORM.
 */
vyre_status vyre_ir_encode(const struct ir_program *program, void *bytes, size_t room,
                           size_t *length, vyre_error *err);

/* BLAKE3 of a whole program on the wire. */
void vyre_ir_fingerprint(const void *bytes, size_t length, uint8_t digest[32]);

/* print.c: for people
 * ------------------------------------------------------------------------------------------- */

/* Receives text piece by piece; non-zero ends the printing, which then returns E_SYSTEM. */
typedef int (*ir_writer)(void *ctx, const char *text, size_t length);
vyre_status vyre_ir_print(const struct ir_program *program, ir_writer write, void *ctx,
                          vyre_error *err);

/* path.c: where a statement or an expression is, as text
 * ------------------------------------------------------- */

/* The path to the item with this id, such as `entry[0].body[2].value.left`; "" if there is none. */
void vyre_ir_path(const struct ir_program *program, uint32_t id, char *text, size_t room);

/* validate.c: section 6
 * ------------------------------------------------------------------------------------------ */

enum ir_rule {
    IR_RULE_NONE = 0,
#define IR_RULE(number, name, text, fix) IR_RULE_##name = number,
#include "ir/rules.def"
    IR_RULE_END
};

struct ir_finding {
    enum ir_rule rule;
    uint32_t id;    /* of the statement or expression, or IR_NONE: the program or a buffer */
    uint32_t other; /* buffer index where it is about a buffer, else IR_NONE */
    char message[256];
    char path[192];
};

struct ir_validate_options {
    uint32_t subgroups; /* the backend has subgroup operations */
    uint32_t most;      /* stop after so many findings; 1 is enough to reject */
    void (*report)(void *ctx, const struct ir_finding *finding);
    void *ctx;
};

/* E_IR_INVALID with the first finding in err (place: id of the item). E_NO_MEMORY. */
vyre_status vyre_ir_validate(const struct ir_program *program,
                             const struct ir_validate_options *options, vyre_error *err);

/* The code a user sees ("V012"), its sentence and its fix. */
const char *vyre_ir_rule_code(enum ir_rule rule);
const char *vyre_ir_rule_text(enum ir_rule rule);
const char *vyre_ir_rule_fix(enum ir_rule rule);

#endif
