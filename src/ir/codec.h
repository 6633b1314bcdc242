/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of the VIR0 codec share: which fields every statement and expression has on the
 * wire, the reader, and the writer. Nobody outside src/ir includes this.
 */
#ifndef VYRE_IR_CODEC_H
#define VYRE_IR_CODEC_H

#include <stdbool.h>

#include "ir/program.h"

#define IR_META_ID     "vyre.program.metadata"
#define IR_META_MARK   "VYRE-META"
#define IR_MAX_RECORDS 1000000u
#define IR_EXTENSION   0x80000000u /* a bit that every number of an extension has */
/* Types nest without limit on the wire, a byte a level; a tree must stay within reason. */
#define IR_MAX_TYPES   (1u << 20)
/* How deep a tree may be that was built by other means than the decoder. */
#define IR_DEEPEST     1024u

/* layout.c
 * -------------------------------------------------------------------------------------------------
 * Fields in the order of the wire, a letter each. Statements:
 *     n o t   name, other, tag: a string          a b   the expressions
 *     s       other, or a byte that there is none l e   the lists body and otherwise
 *     r       ordering       c  collective operator
 *     g R     group, root: u32                    8     offset: u64
 * Expressions:
 *     n       name           0 1 2  arg[0] to arg[2]       ?  arg[1], or a byte that there is none
 *     v       value: u32     f  value as f32      y  value as bool      x  axis
 *     b u m   operator of BIN_OP, UN_OP, ATOMIC   r  ordering
 *     T       type           A  args
 */

/* NULL for a tag that is none. */
const char *vyre_ir_node_layout(uint32_t kind);
const char *vyre_ir_expr_layout(uint32_t kind);

/* Whether a tag is one of its table; op_field is b, u or m as above. */
bool vyre_ir_known_op(char op_field, uint32_t op);

/* Whether a type may be what a quantized one is stored as. */
bool vyre_ir_type_storage(uint32_t tag);
/* Whether scale and zero point of a quantized type are of the format; else what is wrong. */
const char *vyre_ir_quantized_fault(const struct ir_type *type);
/* Whether a type has another one inside. */
bool vyre_ir_type_nests(uint32_t tag);

/* Reader: read.c. Every call leaves `mark` at where what it read begins.
 * ---------------------------------------------------------------------------------------------- */

struct ir_reader {
    const uint8_t *bytes;
    size_t at;
    size_t end; /* of the part being read */
    size_t mark;
    uint32_t depth;
    uint32_t types;
    struct ir_program *program;
    vyre_error *err;
};

/* E_IR_FORM with the mark as place. */
vyre_status vyre_ir_bad(struct ir_reader *r, const char *format, ...) VYRE_PRINTF(2, 3);

/* `what` names the field in messages. */
vyre_status vyre_ir_read_bytes(struct ir_reader *r, size_t count, const char *what,
                               const uint8_t **out);
vyre_status vyre_ir_read_u8(struct ir_reader *r, const char *what, uint8_t *out);
vyre_status vyre_ir_read_u32(struct ir_reader *r, const char *what, uint32_t *out);
vyre_status vyre_ir_read_u64(struct ir_reader *r, const char *what, uint64_t *out);
vyre_status vyre_ir_read_leb(struct ir_reader *r, const char *what, uint64_t *out);
/* As above, at most `most`. */
vyre_status vyre_ir_read_leb_most(struct ir_reader *r, const char *what, uint32_t most,
                                  uint32_t *out);
/* u32 length and text. */
vyre_status vyre_ir_read_name(struct ir_reader *r, const char *what, uint32_t *name);
/* LEB length and text, not interned. */
vyre_status vyre_ir_read_lstr(struct ir_reader *r, const char *what, const uint8_t **text,
                              uint32_t *length);
/* The part must have been read to its end. */
vyre_status vyre_ir_read_done(struct ir_reader *r, const char *what);

/* Parts of a program: decode_meta.c, decode_body.c, decode_expr.c, decode_type.c
 * ---------------------------------------------------------------------------------------------- */

vyre_status vyre_ir_read_metadata(struct ir_reader *r);
vyre_status vyre_ir_read_regions(struct ir_reader *r);
vyre_status vyre_ir_read_outputs(struct ir_reader *r);
vyre_status vyre_ir_read_node(struct ir_reader *r, struct ir_node **out);
vyre_status vyre_ir_read_expr(struct ir_reader *r, struct ir_expr **out);
vyre_status vyre_ir_read_type(struct ir_reader *r, const struct ir_type **out);
vyre_status vyre_ir_read_ordering(struct ir_reader *r, uint8_t *ordering);
/* One level down; every success is followed by vyre_ir_read_leave. */
vyre_status vyre_ir_read_enter(struct ir_reader *r);
void vyre_ir_read_leave(struct ir_reader *r);

/* Writer: encode.c. With bytes NULL it only counts. A failure stays: later calls do nothing.
 * ---------------------------------------------------------------------------------------------- */

struct ir_out {
    uint8_t *bytes;
    size_t at;
    uint32_t depth;
    vyre_status status;
    vyre_error *err;
    const struct ir_program *program;
};

void vyre_ir_refuse(struct ir_out *out, const char *format, ...) VYRE_PRINTF(2, 3);
void vyre_ir_put(struct ir_out *out, const void *bytes, size_t count);
void vyre_ir_put_u8(struct ir_out *out, uint32_t value);
void vyre_ir_put_u32(struct ir_out *out, uint32_t value);
void vyre_ir_put_u64(struct ir_out *out, uint64_t value);
void vyre_ir_put_leb(struct ir_out *out, uint64_t value);
void vyre_ir_put_name(struct ir_out *out, uint32_t name);
/* An empty writer that counts what the same calls would write; merge it to keep its failure. */
struct ir_out vyre_ir_put_count(const struct ir_out *out);

void vyre_ir_put_metadata(struct ir_out *out);
void vyre_ir_put_regions(struct ir_out *out);
void vyre_ir_put_outputs(struct ir_out *out);
void vyre_ir_put_node(struct ir_out *out, const struct ir_node *node);
void vyre_ir_put_type(struct ir_out *out, const struct ir_type *type);

#endif
