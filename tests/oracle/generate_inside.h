/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of the generator share; nobody else includes it.
 *
 * Types here are types of values when they run, which is not always what the validator calls them:
 * a load from a bool buffer is bool to the validator and a u32 word when it runs, so it is a type
 * of its own here (BOOL_WORD). All expressions of one type are of one type to the validator as
 * well.
 */
#ifndef VYRE_TESTS_GENERATE_INSIDE_H
#define VYRE_TESTS_GENERATE_INSIDE_H

#include "oracle/generate.h"

/* Types: name, element type, flag that allows it. From U8 on they are raw bytes when they run: they
 * can be copied, and cast to those before. */
#define GEN_TYPES(ROW)                                                                             \
    ROW(U32, U32, 0)                                                                               \
    ROW(I32, I32, 0)                                                                               \
    ROW(BOOL, BOOL, 0)                                                                             \
    ROW(F32, F32, GENERATE_FLOATS)                                                                 \
    ROW(U64, U64, GENERATE_WIDE)                                                                   \
    ROW(BOOL_WORD, BOOL, GENERATE_SMALL)                                                           \
    ROW(U8, U8, GENERATE_SMALL)                                                                    \
    ROW(I8, I8, GENERATE_SMALL)                                                                    \
    ROW(U16, U16, GENERATE_SMALL)                                                                  \
    ROW(I16, I16, GENERATE_SMALL)                                                                  \
    ROW(I64, I64, GENERATE_SMALL)                                                                  \
    ROW(VEC2, VEC2_U32, GENERATE_SMALL)                                                            \
    ROW(VEC4, VEC4_U32, GENERATE_SMALL)                                                            \
    ROW(F16, F16, GENERATE_SMALL)                                                                  \
    ROW(F64, F64, GENERATE_SMALL)

enum gen_type {
#define ROW(name, element, flag) GEN_##name,
    GEN_TYPES(ROW)
#undef ROW
        GEN_TYPE_COUNT
};

/* What a buffer is for. */
enum gen_role {
    ROLE_INPUT,  /* read by everybody, written by nobody */
    ROLE_SCALAR, /* the same, one word */
    ROLE_OWN,    /* each invocation reads and writes its own elements */
    ROLE_WRITE,  /* the same, never read */
    ROLE_SUM,    /* one commutative atomic operator, whose results nobody looks at */
    ROLE_CELLS,  /* atomics, each invocation on its own elements */
    ROLE_SHARED, /* workgroup memory */
    ROLE_COPY    /* target of one asynchronous copy */
};

struct gen_buffer {
    enum gen_role role;
    enum gen_type type;
    uint32_t name;
    uint32_t each; /* elements of an invocation */
    uint32_t op;   /* ROLE_SUM */
    uint32_t used; /* ROLE_COPY */
    uint32_t count;
};

struct gen_var {
    uint32_t name;
    enum gen_type type; /* GEN_TYPE_COUNT: nobody may read it */
    uint8_t fixed;      /* not to be assigned */
    uint8_t uniform;    /* the same in all invocations of a workgroup, and fixed */
};

#define GEN_BUFFERS 56u /* inputs 21, own elements 28, others 7: no more can come together */
#define GEN_VARS    512u

struct gen {
    struct generate_options options;
    uint64_t random;
    struct ir_program *program;
    uint32_t grid[3];
    uint32_t lanes; /* of a workgroup */
    uint32_t invocations;
    struct gen_buffer buffers[GEN_BUFFERS];
    uint32_t buffer_count;
    struct gen_var vars[GEN_VARS];
    uint32_t var_count;
    uint32_t me, lid; /* names of the linear invocation id and the linear local id */
    uint32_t budget;  /* statements still to be made */
    uint64_t weight;  /* iterations of the loops around this place, multiplied */
    uint64_t most_weight;
    uint32_t depth;
    uint32_t loops;      /* around this place */
    uint8_t uniform;     /* a barrier may stand here */
    uint8_t shared_open; /* between two barriers, where nobody writes workgroup memory */
    uint8_t quiet;       /* no atomics: the expression may be evaluated more than once */
    uint8_t no_return;
};

/* generate_build.c: drawing, and making pieces of a tree */
uint64_t gen_draw(struct gen *g);
uint32_t gen_below(struct gen *g, uint32_t limit); /* 0 where limit is 0 */
int gen_chance(struct gen *g, uint32_t of_hundred);
int gen_has(const struct gen *g, uint32_t flag);
int gen_allowed(const struct gen *g, enum gen_type type);
int gen_errs(struct gen *g); /* whether to let something go wrong here */
uint8_t gen_tag(enum gen_type type);
uint32_t gen_name(struct gen *g, const char *text);

struct ir_expr *gen_u32(struct gen *g, uint32_t value);
struct ir_expr *gen_literal(struct gen *g, uint8_t kind, uint32_t value);
struct ir_expr *gen_var(struct gen *g, uint32_t name);
struct ir_expr *gen_bin(struct gen *g, uint8_t op, struct ir_expr *a, struct ir_expr *b);
struct ir_expr *gen_un(struct gen *g, uint8_t op, struct ir_expr *a);
struct ir_expr *gen_cast(struct gen *g, uint8_t tag, struct ir_expr *a);
struct ir_expr *gen_load(struct gen *g, const struct gen_buffer *buffer, struct ir_expr *index);
struct ir_expr *gen_plain(struct gen *g, uint8_t kind); /* to be filled in */
struct ir_node *gen_node(struct gen *g, struct ir_list *list, uint8_t kind);
struct ir_node *gen_let(struct gen *g, struct ir_list *list, enum gen_type type,
                        struct ir_expr *value); /* declares the next variable */
void gen_assign(struct gen *g, struct ir_list *list, uint32_t name, struct ir_expr *value);
void gen_store(struct gen *g, struct ir_list *list, const struct gen_buffer *buffer,
               struct ir_expr *index, struct ir_expr *value);
/* A variable or a buffer of this type and role, or NULL. */
struct gen_var *gen_pick_var(struct gen *g, enum gen_type type, int assignable);
struct gen_buffer *gen_pick_buffer(struct gen *g, int type, enum gen_role role);

/* generate_values.c: numbers that go wrong most often */
uint32_t gen_number(struct gen *g);
uint32_t gen_float_bits(struct gen *g);
uint32_t gen_small(struct gen *g);

/* generate_expr.c: an expression of this type; depth 0 is a leaf */
struct ir_expr *gen_expr(struct gen *g, enum gen_type type, uint32_t depth);
struct ir_expr *gen_uniform(struct gen *g, uint32_t depth); /* u32 */
/* A value to be stored to a buffer of this type. */
struct ir_expr *gen_stored(struct gen *g, enum gen_type type, uint32_t depth);
enum gen_type gen_any_type(struct gen *g);

/* generate_cast.c: casts, by the type they give, and what their operands may be */
struct ir_expr *gen_cast_to(struct gen *g, enum gen_type type, uint32_t depth);

/* generate_memory.c: indices, loads and atomics */
struct ir_expr *gen_own_index(struct gen *g, const struct gen_buffer *buffer);
struct ir_expr *gen_any_index(struct gen *g, const struct gen_buffer *buffer, uint32_t depth);
struct ir_expr *gen_loaded(struct gen *g, enum gen_type type, uint32_t depth); /* or NULL */
struct ir_expr *gen_atomic(struct gen *g, const struct gen_buffer *buffer, uint32_t depth);

/* generate_list.c: statements */
void gen_list(struct gen *g, struct ir_list *list, uint32_t statements);
void gen_show(struct gen *g, struct ir_list *list, uint32_t first);
/* generate_flow.c */
void gen_flow(struct gen *g, struct ir_list *list);
/* generate_phase.c: what needs all invocations in step */
void gen_phase(struct gen *g, struct ir_list *list);

/* generate_buffers.c */
void gen_buffers(struct gen *g);

#endif
