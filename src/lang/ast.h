/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the stages of the compiler share: the source as a tree, its names, and the unit that is
 * being compiled. Nobody outside the room includes it.
 *
 * Everything lies in the unit's arena and goes with it. Names are interned, so a name is a pointer,
 * and what it means at the moment hangs on it: a lookup is a load. Whatever ends a compilation at
 * once (no memory, a limit) leaves by vyre_lang_leave; recursion is bounded by LANG_MOST_DEPTH
 * everywhere.
 */
#ifndef VYRE_LANG_AST_H
#define VYRE_LANG_AST_H

#include <setjmp.h>

#include "ir/program.h"
#include "lang/token.h"

#define LANG_MOST_DEPTH      200u /* of an expression, and of statements in one another */
#define LANG_MOST_CALLS_DEEP 32u
#define LANG_MOST_CALLS      8192u /* that are written out in one kernel */
#define LANG_MOST_EXPRS      (1u << 18)
#define LANG_MOST_PARAMETERS 256u
#define LANG_DEFAULT_LANES   64u
#define LANG_MOST_LANES      1024u
#define LANG_MOST_ERRORS     192u /* that are kept; the caller may want fewer */
#define LANG_MOST_GUESSES    24u
#define LANG_MOST_WARNINGS   64u

enum lang_diagnostic_number {
#define LANG_DIAGNOSTIC(number, name, severity, text) LANG_D_##name = number,
#include "lang/diagnostics.def"
};

enum lang_type {
    LANG_TYPE_WRONG, /* and reported: nothing that comes of it is reported again */
    LANG_TYPE_VOID,
    LANG_TYPE_U32,
    LANG_TYPE_I32,
    LANG_TYPE_F32,
    LANG_TYPE_BOOL
};

enum lang_access { LANG_ACCESS_IN = 1, LANG_ACCESS_OUT, LANG_ACCESS_INOUT, LANG_ACCESS_WORKGROUP };

enum lang_symbol_kind {
    LANG_SYMBOL_VARIABLE = 1, /* and scalar parameters */
    LANG_SYMBOL_CONSTANT,     /* whose value is known */
    LANG_SYMBOL_BUFFER,
    LANG_SYMBOL_FUNCTION
};

struct lang_symbol {
    struct lang_name *name;
    struct lang_symbol *outer; /* what the name means outside this scope */
    struct lang_symbol *scope; /* declared before it in the same scope */
    struct lang_symbol *next;  /* parameter */
    struct lang_span span;     /* of the name, where it is declared */
    uint8_t kind;              /* enum lang_symbol_kind */
    uint8_t type;              /* enum lang_type; of a buffer that of a loaded element */
    uint8_t element;           /* of a buffer: enum ir_type_tag */
    uint8_t access;            /* of a buffer: enum lang_access */
    bool fixed;                /* not to be assigned */
    bool read;
    bool parameter;
    bool told;        /* of a buffer: what is done with it was complained of; once is enough */
    uint32_t level;   /* of the scope */
    uint32_t assigns; /* how often it is assigned, its declaration not counted */
    uint32_t value;   /* of a constant: bits */
    uint32_t count;   /* of a buffer: declared elements, 0: open */
    struct lang_expr *size;
    struct lang_function *function;
    uint32_t ir;                     /* its name in VIR0, while it is lowered */
    const struct lang_symbol *bound; /* of a function's buffer: the kernel's, while it is lowered */
};

struct lang_name {
    struct lang_name *chain; /* in its slot of the hash table */
    struct lang_symbol *symbol;
    const struct lang_function *unknown_in; /* where it was complained of: once is enough */
    bool told; /* complained of for the whole file, or in something that could not be read */
    uint32_t hash;
    uint32_t length;
    char text[]; /* and a zero */
};

enum lang_expr_kind {
    LANG_E_WRONG,
    LANG_E_LITERAL,
    LANG_E_TEXT,
    LANG_E_NAME,
    LANG_E_FIELD,
    LANG_E_INDEX,
    LANG_E_CALL,
    LANG_E_CAST,
    LANG_E_UNARY,
    LANG_E_BINARY,
    LANG_E_CHOOSE,
    LANG_E_OLD /* of a compound assignment: what its target holds */
};

/* What evaluating an expression can show, besides its value. */
enum lang_effect {
    LANG_EFFECT_LOAD = 1,    /* an access that may be out of bounds */
    LANG_EFFECT_FAULT = 2,   /* a division that may fault */
    LANG_EFFECT_ACT = 4,     /* an atomic, a print, a call */
    LANG_EFFECT_VARYING = 8, /* a load from a buffer that the kernel may write */
    LANG_EFFECT_LANES = 16   /* not the same in all lanes of a workgroup, or not known to be */
};

struct lang_expr {
    uint8_t kind;    /* enum lang_expr_kind */
    uint8_t op;      /* token of an operator; FIELD: the axis */
    uint8_t type;    /* enum lang_type, once checked; CAST: from the start */
    uint8_t effects; /* enum lang_effect */
    bool open;       /* LITERAL: an integer that takes the type that is wanted */
    bool negative;   /* LITERAL: with a minus before it */
    bool known;      /* `value` holds its bits */
    uint32_t depth;
    uint32_t value;
    struct lang_span span;
    struct lang_span mark;   /* of the operator, or the name of a field or call */
    struct lang_name *name;  /* NAME, FIELD (its left side), CALL */
    struct lang_name *field; /* FIELD */
    struct lang_symbol *symbol;
    const struct lang_builtin *builtin;
    struct lang_expr *arg[3]; /* INDEX: buffer, index */
    struct lang_expr *args;   /* CALL: the first argument; LITERAL of CALL lists: none */
    struct lang_expr *next;   /* in a list of arguments */
    uint32_t count;           /* CALL: arguments */
};

enum lang_stmt_kind {
    LANG_S_EMPTY,
    LANG_S_DECLARE,
    LANG_S_ARRAY,
    LANG_S_ASSIGN,
    LANG_S_CALL,
    LANG_S_BLOCK,
    LANG_S_IF,
    LANG_S_FOR, /* and while: without init and step */
    LANG_S_DO,
    LANG_S_BREAK,
    LANG_S_CONTINUE,
    LANG_S_RETURN
};

struct lang_stmt {
    uint8_t kind;
    uint8_t op;    /* ASSIGN: token; PLUS_PLUS and MINUS_MINUS have no value */
    uint8_t jumps; /* enum lang_jump, of the statement and what is in it */
    bool ends;     /* nothing behind it is reached from it */
    uint32_t depth;
    struct lang_span span; /* of its head: what a position or a diagnostic shows */
    struct lang_symbol *symbol;
    struct lang_expr *target;
    struct lang_expr *value; /* DECLARE, ASSIGN, CALL, RETURN; condition of IF, FOR, DO */
    struct lang_stmt *init;  /* FOR */
    struct lang_stmt *step;  /* FOR */
    struct lang_stmt *body;  /* first of a list; IF: then */
    struct lang_stmt *otherwise;
    struct lang_stmt *next;
};

enum lang_jump { LANG_JUMP_BREAK = 1, LANG_JUMP_CONTINUE = 2, LANG_JUMP_RETURN = 4 };

struct lang_call_edge {
    struct lang_function *to;
    struct lang_span span;
    struct lang_call_edge *next;
};

struct lang_function {
    struct lang_symbol symbol;
    bool kernel;
    bool broken;     /* its parameters could not all be read: calls of it are not checked */
    bool unread;     /* its body could not be read: it is not checked */
    bool patched;    /* there were mistakes in it: nothing that may come of them is reported */
    bool lost;       /* something in it was declared without its name */
    uint8_t type;    /* of its result */
    uint8_t visit;   /* looking for recursion: 1 on the way, 2 done */
    uint32_t height; /* calls below it */
    uint32_t parameters;
    uint32_t workgroup[3];
    struct lang_expr *lanes[3]; /* of @workgroup */
    uint32_t lane_axes;
    struct lang_span lanes_span;
    struct lang_name *guard;
    struct lang_span guard_span;
    struct lang_symbol *guarded;
    struct lang_symbol *first;  /* parameters */
    struct lang_symbol *arrays; /* workgroup memory, by `next` */
    struct lang_stmt *body;
    struct lang_call_edge *calls;
    struct lang_span end; /* its closing brace */
    struct lang_function *next;
};

/* A constant of the file, in the order of the source; `expr` is checked with the functions. */
struct lang_constant {
    struct lang_symbol symbol;
    struct lang_expr *expr;
    struct lang_constant *next;
};

enum lang_lowering {
    LANG_LOWER_LENGTH = 1,
    LANG_LOWER_BINARY,
    LANG_LOWER_UNARY,
    LANG_LOWER_BITS,
    LANG_LOWER_SHIFT,
    LANG_LOWER_CLAMP,
    LANG_LOWER_ABS,
    LANG_LOWER_SELECT,
    LANG_LOWER_FMA,
    LANG_LOWER_ATOMIC,
    LANG_LOWER_ATOMIC_SUB,
    LANG_LOWER_SUBGROUP_ADD,
    LANG_LOWER_SUBGROUP_SHUFFLE,
    LANG_LOWER_SUBGROUP_BALLOT,
    LANG_LOWER_SUBGROUP_LANE,
    LANG_LOWER_SUBGROUP_SIZE,
    LANG_LOWER_BARRIER,
    LANG_LOWER_PRINT,
    LANG_LOWER_ASSERT
};

/* A row of functions.def. */
struct lang_builtin {
    const char *name;
    const char *signature;
    uint8_t lowering; /* enum lang_lowering */
    uint8_t op;
};
extern const struct lang_builtin vyre_lang_builtins[];
extern const uint32_t vyre_lang_builtin_count;

struct lang_said {
    struct lang_said *next;
    uint32_t number; /* of diagnostics.def */
    struct lang_span span;
    const char *message;
    const char *fix;
};

struct lang_unit {
    struct vyre_memory *memory;
    const struct lang_request *request;
    vyre_error *err;
    vyre_status status;
    jmp_buf leave;
    struct lang_chunk *chunks;
    struct lang_name **names; /* hash table */
    uint32_t name_slots;
    uint32_t name_count;

    struct lang_token *tokens;
    uint32_t token_count;
    uint32_t at; /* the next token */
    uint32_t depth;
    bool noisy;    /* what is being parsed has been complained of: no more until it is left */
    bool unclosed; /* a brace was, and those around it are not */
    bool lost;     /* something outside functions was declared without its name */
    bool dubious;  /* a bracket was taken for there: what it closes may be more, or less */
    bool cut;      /* a comment does not end: what is missing behind it is nobody's mistake */
    bool astray;   /* outside every function, behind something that belongs into one */
    uint32_t character_at; /* behind the last one that the lexer complained of; 0: none */
    uint32_t body_at;      /* token: the opening brace of the function */
    uint32_t place_at;     /* token: the first of a statement, where `x++` is none of a value */

    struct lang_said *said;
    uint32_t errors;
    uint32_t warnings;
    uint32_t guesses;

    struct lang_function *functions; /* kernels too */
    struct lang_function *last_function;
    struct lang_constant *constants;
    struct lang_constant *last_constant;

    /* check */
    struct lang_function *function; /* the one that is being parsed, then checked */
    struct lang_symbol *scope;      /* the last symbol of the innermost scope */
    uint32_t level;
    uint32_t loops;

    struct ir_program *tree;
    struct lang_output *output;
};

/* unit.c: memory, names, diagnostics */

_Noreturn void vyre_lang_leave(struct lang_unit *unit, vyre_status status);
/* Zeroed. */
void *vyre_lang_alloc(struct lang_unit *unit, size_t count, size_t size);
struct lang_name *vyre_lang_intern(struct lang_unit *unit, const char *text, size_t length);
void vyre_lang_unit_free(struct lang_unit *unit);
/* One diagnostic. fix may be "". Both are kept as they are: literals, or vyre_lang_text. */
void vyre_lang_say(struct lang_unit *unit, enum lang_diagnostic_number number,
                   struct lang_span span, const char *message, const char *fix);
/* A text in the arena. */
const char *vyre_lang_text(struct lang_unit *unit, const char *format, ...) VYRE_PRINTF(2, 3);
/* Says it and ends the compilation. */
_Noreturn void vyre_lang_give_up(struct lang_unit *unit, struct lang_span span, const char *message,
                                 const char *fix);
const char *vyre_lang_diagnostic_code(uint32_t number, char text[8]);
bool vyre_lang_is_warning(uint32_t number);
/* From the first of a to the last of b. */
struct lang_span vyre_lang_join(struct lang_span a, struct lang_span b);

/* guess.c: "did you mean" */

struct lang_guess {
    const char *typed;
    const char *best;
    uint32_t edits;
};
void vyre_lang_offer(struct lang_guess *guess, const char *name);
/* Offers every name that has a meaning at the moment, and the functions that are given. */
const char *vyre_lang_guess_value(struct lang_unit *unit, const char *typed, bool callable);

/* foreign.c: words of C and of other languages, and what they are here */

enum lang_foreign_kind {
    LANG_FOREIGN_WORD = 1, /* what it begins is not to be read */
    LANG_FOREIGN_PREFIX,   /* what follows is to be read without it */
    LANG_FOREIGN_ARRAY,    /* stands for `workgroup` */
    LANG_FOREIGN_KERNEL    /* stands for `kernel` */
};
struct lang_foreign {
    const char *word;
    uint8_t kind; /* enum lang_foreign_kind */
    const char *fix;
};
/* NULL where it is none of these words. */
const struct lang_foreign *vyre_lang_foreign_word(const struct lang_unit *unit,
                                                  struct lang_token token);
/* Takes a type of another language and complains. The token of the type that stands for it,
 * LANG_BAD where there is none, 0 where no such type stands here (and nothing is taken). element:
 * of a buffer. */
uint32_t vyre_lang_foreign_type(struct lang_unit *unit, bool element);
/* Whether the token is one of their names of types. */
bool vyre_lang_is_foreign_type(const struct lang_unit *unit, struct lang_token token);
/* The type of a value that stands for it, or NULL. */
const char *vyre_lang_foreign_name(const struct lang_unit *unit, struct lang_token token);
/* A fix, or NULL. */
const char *vyre_lang_foreign_value(struct lang_unit *unit, const struct lang_name *name);
const char *vyre_lang_foreign_function(struct lang_unit *unit, const struct lang_name *name);

/* parse.c and the other files of the parser, all called parse_* */

void vyre_lang_parse(struct lang_unit *unit);
struct lang_token vyre_lang_peek(const struct lang_unit *unit, uint32_t ahead);
struct lang_token vyre_lang_take(struct lang_unit *unit);
bool vyre_lang_accept(struct lang_unit *unit, uint32_t kind);
/* Complains where the next token is another, and leaves it. True also where it is clear that only
 * this token is missing: then reading goes on as if it stood there. */
bool vyre_lang_expect(struct lang_unit *unit, uint32_t kind, const char *where);
/* The same for a semicolon behind a statement or a constant. */
bool vyre_lang_expect_end(struct lang_unit *unit, const char *where);
/* Complains of a bracket that is not closed, and of nothing else until the statement is left. */
void vyre_lang_never_closed(struct lang_unit *unit, struct lang_token open);
/* An error about the next token or another one; quiet where there was one. */
void vyre_lang_wrong(struct lang_unit *unit, enum lang_diagnostic_number number,
                     struct lang_span span, const char *message, const char *fix);
/* Takes the next token as part of what could not be read: what it names is not complained of. */
struct lang_token vyre_lang_skip(struct lang_unit *unit);
bool vyre_lang_begins_line(const struct lang_unit *unit, uint32_t ahead);
/* From 1, in bytes. */
uint32_t vyre_lang_column(const struct lang_unit *unit, uint32_t at);
uint32_t vyre_lang_line(const struct lang_unit *unit, uint32_t at);
/* The column at which the line of a token begins, blanks not counted. */
uint32_t vyre_lang_indent(const struct lang_unit *unit, struct lang_token token);
/* Whether a function or a kernel begins with the next token. */
bool vyre_lang_begins_function(const struct lang_unit *unit);
void vyre_lang_unexpected(struct lang_unit *unit, const char *wanted, const char *fix);
struct lang_span vyre_lang_span(struct lang_token token);
struct lang_name *vyre_lang_token_name(struct lang_unit *unit, struct lang_token token);
/* A name that is being declared, or NULL after a complaint. */
struct lang_name *vyre_lang_declared_name(struct lang_unit *unit, struct lang_span *span);
/* LANG_TYPE_WRONG where the token is no type of a value. */
uint8_t vyre_lang_value_type(uint32_t token);
/* IR_TYPE of an element, or 0. */
uint8_t vyre_lang_element_type(uint32_t token);
/* Takes a type: its token, LANG_BAD after a complaint about one that there is not, 0 where none
 * stands here. element: of a buffer. */
uint32_t vyre_lang_take_type(struct lang_unit *unit, bool element);
/* parse_function.c: what stands before the body */
void vyre_lang_parameters(struct lang_unit *unit, struct lang_function *function);
void vyre_lang_attributes(struct lang_unit *unit, struct lang_function *function);
struct lang_expr *vyre_lang_expression(struct lang_unit *unit);
/* What is loaded from such elements. */
uint8_t vyre_lang_loaded_type(uint8_t element);
/* Without the complaint about `=` behind it: for the left side of assignments. */
struct lang_expr *vyre_lang_operand(struct lang_unit *unit);
/* `=`, `+=` and the like. */
bool vyre_lang_is_assignment(uint32_t token);
/* parse_number.c: the worth of a number that was taken; LANG_E_WRONG after a complaint */
void vyre_lang_integer(struct lang_unit *unit, struct lang_expr *expr, struct lang_token token);
void vyre_lang_decimal(struct lang_unit *unit, struct lang_expr *expr, struct lang_token token);
struct lang_stmt *vyre_lang_block(struct lang_unit *unit, struct lang_span *end);
struct lang_stmt *vyre_lang_make_stmt(struct lang_unit *unit, uint8_t kind, struct lang_span span);
/* parse_declare.c: `T a = 1, b;`, a statement for each, and `workgroup T a[64];` */
struct lang_stmt *vyre_lang_declaration(struct lang_unit *unit, bool fixed);
struct lang_stmt *vyre_lang_array(struct lang_unit *unit);
/* Of a value that could not be read nothing is known; so of a constant neither. */
void vyre_lang_drop_value(struct lang_stmt *stmt);
/* What a statement declares is declared; nothing else of it is looked at. */
void vyre_lang_drop_rest(struct lang_stmt *stmt);
void vyre_lang_nest(struct lang_unit *unit);

/* check.c, check_expr.c, check_call.c, check_statement.c, constant.c */

void vyre_lang_check(struct lang_unit *unit);
uint8_t vyre_lang_check_expr(struct lang_unit *unit, struct lang_expr *expr, uint8_t want);
/* check_name.c: a name, or `x.y`, as a value */
uint8_t vyre_lang_check_name(struct lang_unit *unit, struct lang_expr *expr);
uint8_t vyre_lang_check_field(struct lang_unit *unit, struct lang_expr *expr);
/* Made of integer literals only: it takes any type of numbers that is wanted. */
bool vyre_lang_is_open(const struct lang_expr *expr);
uint8_t vyre_lang_check_call(struct lang_unit *unit, struct lang_expr *expr, uint8_t want);
void vyre_lang_check_body(struct lang_unit *unit, struct lang_function *function);
/* A condition: bool, u32 or i32. */
void vyre_lang_check_condition(struct lang_unit *unit, struct lang_expr *expr, const char *of);
/* Checks a value for something of a type; `what` names the receiver in the complaint. */
void vyre_lang_check_value(struct lang_unit *unit, struct lang_expr *expr, uint8_t type,
                           const char *what);
void vyre_lang_check_index(struct lang_unit *unit, struct lang_expr *expr);
/* The complaint about a call that has no result, where one is needed. */
void vyre_lang_no_value(struct lang_unit *unit, const struct lang_expr *call);
/* What makes a value one of another type. */
const char *vyre_lang_value_fix(struct lang_unit *unit, const struct lang_expr *expr, uint8_t type);
/* Whether it is right to complain of a name that nothing declares; once is enough. */
bool vyre_lang_complain_of(struct lang_unit *unit, struct lang_name *name);
/* Whether it is the name of a function that the language gives. */
bool vyre_lang_is_given(const struct lang_name *name);
/* A number of elements or lanes, which must be known; false after a complaint. */
bool vyre_lang_check_known(struct lang_unit *unit, struct lang_expr *size, const char *of);
/* The declared size of a buffer or of workgroup memory: sets its count. */
void vyre_lang_check_size(struct lang_unit *unit, struct lang_symbol *symbol);
/* Marks an element as read or written, with what the buffer's access forbids. */
void vyre_lang_check_access(struct lang_unit *unit, struct lang_expr *element, bool reads,
                            bool writes);
void vyre_lang_declare(struct lang_unit *unit, struct lang_symbol *symbol);
void vyre_lang_open_scope(struct lang_unit *unit, struct lang_symbol **saved);
void vyre_lang_close_scope(struct lang_unit *unit, struct lang_symbol *saved);
const char *vyre_lang_type_name(uint32_t type);
const char *vyre_lang_element_name(uint32_t element);
/* The source of an expression, for a fix; cut where it is long. */
const char *vyre_lang_quote(struct lang_unit *unit, struct lang_span span);
/* Sets known and value where they follow from the operands. */
void vyre_lang_fold(struct lang_unit *unit, struct lang_expr *expr);
float vyre_lang_float(uint32_t bits);
uint32_t vyre_lang_bits(float value);
/* The bits of a decimal literal; false where it is too large for an f32. */
bool vyre_lang_parse_float(const char *text, uint32_t *bits);

/* check_barrier.c: warns of workgroup memory that is read before a barrier */
void vyre_lang_check_barriers(struct lang_unit *unit, struct lang_function *function);

/* uniform.c: says L056 of the barrier with this id, with what keeps lanes from it; false where that
 * is not found */
bool vyre_lang_say_barrier(struct lang_unit *unit, const struct ir_program *tree, uint32_t id);

/* gen.c: makes unit->output */
void vyre_lang_lower(struct lang_unit *unit, struct lang_function *kernel);

#endif
