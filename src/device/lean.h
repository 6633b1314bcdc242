/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The loop for single workgroups in a hurry, which the aides have (desk.h): at most two units, of
 * each of which a lane of the warp has its own lane. A small program runs through its code once,
 * and what it takes is not the work of its instructions but the time from one to the next. So all
 * that can be known before is in the code as this loop reads it: functions, elements and lengths of
 * buffers, places. And each lane has its words to itself, scalars too, so that none waits for
 * another.
 *
 * It goes straight on only. Whatever is not as it nearly always is (lanes that part, accesses out
 * of bounds, stores that may meet, all that is rare) is left, before anything of it is done, to the
 * other loop (warp_interp.h), which goes on at that instruction.
 */
#ifndef VYRE_DEVICE_LEAN_H
#define VYRE_DEVICE_LEAN_H

#include "device/run.h"
#include "device/warp_interp.h"

#define DEV_LEAN_UNITS 2u

/* Computes an instruction for two lanes: the result of the first is in the low half. */
typedef uint64_t (*dev_lean_fn)(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, uint32_t c0,
                                uint32_t c1);

#define DEV_LEAN_EACH(expression, x, y, z)                                                         \
    {                                                                                              \
        const uint32_t a = (x), b = (y), c = (z);                                                  \
        (void)a, (void)b, (void)c;                                                                 \
        word = (expression);                                                                       \
    }

#define DEV_LEAN_FN(name, expression)                                                              \
    DEV_NO_INLINE uint64_t dev_lean_##name(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1,     \
                                           uint32_t c0, uint32_t c1)                               \
    {                                                                                              \
        uint32_t word, low;                                                                        \
        DEV_LEAN_EACH(expression, a0, b0, c0)                                                      \
        low = word;                                                                                \
        DEV_LEAN_EACH(expression, a1, b1, c1)                                                      \
        return (uint64_t)word << 32 | low;                                                         \
    }

#define DEV_LEAN_W1(name, expression) DEV_LEAN_FN(name, expression)
#define DEV_LEAN_W2(name, expression) DEV_LEAN_FN(name, expression)
#define DEV_LEAN_W3(name, expression) DEV_LEAN_FN(name, expression)
#define DEV_LEAN_D1(name, expression)
#define DEV_LEAN_D2(name, expression)
#define DEV_LEAN_C1(name, expression)
#define DEV_LEAN_C2(name, expression)

DEV_LEAN_FN(MOV, a)
#define VM_ALU(name, text, shape, types, expression, what) DEV_LEAN_##shape(name, expression)
#include "vm/opcodes.def"

/* By opcode, as dev_words_table. */
#define DEV_LEAN_ROW_W1(name) dev_lean_##name,
#define DEV_LEAN_ROW_W2(name) dev_lean_##name,
#define DEV_LEAN_ROW_W3(name) dev_lean_##name,
#define DEV_LEAN_ROW_D1(name) 0,
#define DEV_LEAN_ROW_D2(name) 0,
#define DEV_LEAN_ROW_C1(name) 0,
#define DEV_LEAN_ROW_C2(name) 0,

DEV_TABLE dev_lean_fn dev_lean_table[] = {
    dev_lean_MOV,
#define VM_ALU(name, text, shape, types, expression, what) DEV_LEAN_ROW_##shape(name)
#include "vm/opcodes.def"
};

/* What an instruction is here, a bit each, so that the loop finds the usual ones first. */
enum dev_lean_kind {
    DEV_LEAN_WORDS = 1, /* words from words, by a function */
    DEV_LEAN_LOAD = 2,
    DEV_LEAN_STORE = 4,
    DEV_LEAN_END = 8,
    DEV_LEAN_FILL = 16, /* a word that is known before, and what a lane counts up to it */
    DEV_LEAN_IF = 32,
    DEV_LEAN_ENDIF = 64,
    DEV_LEAN_JZ = 128,
    DEV_LEAN_GO = 256,     /* to imm, whatever the lanes have */
    DEV_LEAN_LEAVE = 512,  /* anything else */
    DEV_LEAN_FLOAT = 1024, /* of a load, a store or a word: of floats */
    DEV_LEAN_ALL = 2048,   /* of a load: for all lanes of the warp, of a scalar */
    DEV_LEAN_UP = 4096     /* of a store: its places are known to count up */
};

/* Code as this loop reads it. Operands are bytes from the start of the room to a row: of two words
 * for each lane of the warp, those of its lane of both units. */
struct dev_lean_op {
    uint32_t kind_d; /* kind, d << 16 */
    uint32_t ab;     /* a, b << 16 */
    uint32_t c;      /* or the steps of a control instruction; or how much a lane counts */
    uint32_t imm;    /* where control goes, in bytes of code; or the elements of a buffer; or the
                        place of a word in the room */
    uint64_t what;   /* the function, or where those elements are */
    uint32_t pc;
    uint32_t reserved;
};

static_assert(sizeof(struct dev_lean_op) == 32, "two loads");

#define DEV_LEAN_D(op) ((op)->kind_d >> 16)
#define DEV_LEAN_A(op) ((op)->ab & 0xFFFFu)
#define DEV_LEAN_B(op) ((op)->ab >> 16)

#define DEV_LEAN_ROW 256u

/* What lies behind all that a frame uses of its room: this, what is filled first (of the first
 * instructions, one for each lane), code, rows; registers before scalars. */
struct dev_lean_head {
    uint32_t early; /* how many */
    uint32_t code;  /* where it is in the room */
    uint32_t first_id;
    uint32_t zero;
    uint32_t group[3];
    uint32_t reserved;
};

struct dev_lean_layout {
    uint32_t head, early, code, rows, end;
};

DEV_FN struct dev_lean_layout dev_lean_layout(const struct dev_frame *frame)
{
    const struct vm_header *header = &frame->header;
    const uint32_t size = (uint32_t)sizeof(struct dev_lean_op);
    struct dev_lean_layout at;
    at.head = (frame->near_bytes + 15u) & ~15u;
    at.early = at.head + (uint32_t)sizeof(struct dev_lean_head);
    at.code = at.early + (header->code_count < DEV_WARP ? header->code_count : DEV_WARP) * size;
    at.rows = at.code + (header->code_count + 2u) * size;
    at.end = at.rows + ((uint32_t)header->register_count + header->scalar_count) * DEV_LEAN_ROW;
    return at;
}

/* Makes code for this loop of code that was decoded for the other one. */
struct dev_lean_maker {
    const struct dev_frame *frame;
    struct dev_lean_layout at;
    uint32_t registers, scalars; /* where they lie for the other loop */
    uint32_t row;                /* bytes of a register there */
};

/* The row of an operand as the other loop has it. */
DEV_FN uint32_t dev_lean_row(const struct dev_lean_maker *maker, uint32_t operand)
{
    const struct vm_header *header = &maker->frame->header;
    uint32_t number = operand & DEV_EACH ? ((operand & ~DEV_EACH) - maker->registers) / maker->row
                                         : header->register_count +
                                               (operand - maker->scalars) / (DEV_SCALAR_WORDS * 4u);
    return maker->at.rows + number * DEV_LEAN_ROW;
}

/* A fill with a word of the room. */
DEV_FN void dev_lean_make_fill(const struct dev_lean_maker *maker, const struct dev_op *op,
                               const void *word, struct dev_lean_op *lean)
{
    const unsigned char *room = (const unsigned char *)maker->frame;
    lean->kind_d = (uint32_t)DEV_LEAN_FILL | dev_lean_row(maker, op->d) << 16;
    lean->imm = (uint32_t)((const unsigned char *)word - room);
}

DEV_FN void dev_lean_make_id(const struct dev_lean_maker *maker, const struct dev_op *op,
                             struct dev_lean_op *lean)
{
    const struct dev_lean_head *head =
        (const struct dev_lean_head *)(const void *)((const unsigned char *)maker->frame +
                                                     maker->at.head);
    const uint32_t code = op->op & 0xFFu;
    const void *word = code == VM_OP_GLOBALID  ? &head->first_id
                       : code == VM_OP_GROUPID ? &head->group[op->imm]
                       : code == VM_OP_BUFLEN  ? &maker->frame->views[op->imm].count
                                               : &head->zero;
    dev_lean_make_fill(maker, op, word, lean);
    lean->c = dev_op_class(op) == DEV_CLASS_ID;
}

DEV_FN void dev_lean_make_memory(const struct dev_lean_maker *maker, const struct dev_op *op,
                                 struct dev_lean_op *lean)
{
    const struct dev_view *view = &maker->frame->views[op->imm];
    const uint32_t code = op->op & 0xFFu;
    const int store = dev_op_class(op) == DEV_CLASS_STORE;
    uint32_t kind = store ? (uint32_t)DEV_LEAN_STORE : (uint32_t)DEV_LEAN_LOAD;
    if (dev_op_class(op) == DEV_CLASS_LOAD_ONE) kind |= DEV_LEAN_ALL;
    if (view->length != 0 && (view->access & ~DEV_VIEW_WRITE) != 4) kind = DEV_LEAN_LEAVE;
    if (store && !(view->access & DEV_VIEW_WRITE)) kind = DEV_LEAN_LEAVE;
    if (code == VM_OP_LDF32 || code == VM_OP_STF32) kind |= DEV_LEAN_FLOAT;
    lean->kind_d = kind | (store ? 0 : dev_lean_row(maker, op->d)) << 16;
    lean->ab = dev_lean_row(maker, op->a) | (store ? dev_lean_row(maker, op->b) : 0) << 16;
    lean->imm = view->length;
    lean->what = (uint64_t)(uintptr_t)view->element;
}

/* A scalar of the slot, which lies in the frame, at index 0 that is a constant: a word that is
 * known before. 0: it is not that. */
DEV_FN int dev_lean_make_scalar(const struct dev_lean_maker *maker, const struct dev_op *op,
                                struct dev_lean_op *lean)
{
    const struct dev_frame *frame = maker->frame;
    const struct dev_view *view = &frame->views[op->imm];
    const unsigned char *args = (const unsigned char *)frame->args.scalar;
    const uint32_t index = (op->a - maker->scalars) / (DEV_SCALAR_WORDS * 4u);
    if (dev_op_class(op) != DEV_CLASS_LOAD_ONE || view->length == 0 ||
        (view->access & ~DEV_VIEW_WRITE) != 4 || view->element < args ||
        view->element >= args + sizeof frame->args.scalar ||
        index >= frame->header.constant_count || frame->scalars[index * DEV_SCALAR_WORDS] != 0)
        return 0;
    dev_lean_make_fill(maker, op, view->element, lean);
    if ((op->op & 0xFFu) == VM_OP_LDF32) lean->kind_d |= DEV_LEAN_FLOAT;
    return 1;
}

DEV_FN void dev_lean_make_control(const struct dev_lean_maker *maker, const struct dev_op *op,
                                  uint32_t pc, struct dev_lean_op *lean)
{
    const uint32_t code = op->op & 0xFFu;
    lean->c = op->c;
    lean->imm = pc + 1;
    if (code == VM_OP_IF || code == VM_OP_IFLEAVE) {
        lean->kind_d = DEV_LEAN_IF;
        lean->ab = dev_lean_row(maker, op->a);
    } else if (code == VM_OP_JZ || code == VM_OP_LEAVE) {
        lean->kind_d = DEV_LEAN_JZ;
        lean->ab = dev_lean_row(maker, op->a);
        lean->imm = op->imm;
    } else if (code == VM_OP_JUMP) {
        lean->kind_d = DEV_LEAN_GO;
        lean->imm = op->imm;
    } else if (code == VM_OP_BARRIER || code == VM_OP_STEP) {
        lean->kind_d = DEV_LEAN_GO;
    } else if (code == VM_OP_ENDIF) {
        lean->kind_d = DEV_LEAN_ENDIF;
    } else if (code == VM_OP_END) {
        lean->kind_d = DEV_LEAN_END;
    }
}

/* One instruction; control goes to a pc as yet. */
DEV_FN struct dev_lean_op dev_lean_make(const struct dev_lean_maker *maker, const struct dev_op *op,
                                        uint32_t pc)
{
    struct dev_lean_op lean = {DEV_LEAN_LEAVE, 0, 0, 0, 0, pc, 0};
    const uint32_t code = op->op & 0xFFu;
    switch (dev_op_class(op)) {
    case DEV_CLASS_WORDS:
    case DEV_CLASS_SCALAR:
        if (code == VM_OP_GROUPID || code == VM_OP_BUFLEN) {
            dev_lean_make_id(maker, op, &lean);
        } else {
            lean.kind_d = (uint32_t)DEV_LEAN_WORDS | dev_lean_row(maker, op->d) << 16;
            lean.ab = dev_lean_row(maker, op->a) | dev_lean_row(maker, op->b) << 16;
            lean.c = dev_lean_row(maker, op->c);
            lean.what = (uint64_t)(uintptr_t)dev_lean_table[code == VM_OP_MOV ? 0 : code];
        }
        break;
    case DEV_CLASS_ID:
        dev_lean_make_id(maker, op, &lean);
        break;
    case DEV_CLASS_LOAD:
    case DEV_CLASS_LOAD_ONE:
    case DEV_CLASS_STORE:
        if (!dev_lean_make_scalar(maker, op, &lean)) dev_lean_make_memory(maker, op, &lean);
        break;
    case DEV_CLASS_CONTROL:
        dev_lean_make_control(maker, op, pc, &lean);
        break;
    default:
        break;
    }
    return lean;
}

/* A bit for each row, where there are few enough: all that an instruction reads or writes. */
DEV_FN uint64_t dev_lean_touches(const struct dev_lean_maker *maker, const struct dev_lean_op *op)
{
    const uint32_t kind = op->kind_d & 0xFFFFu;
    uint32_t row[4] = {DEV_LEAN_D(op), DEV_LEAN_A(op), DEV_LEAN_B(op),
                       kind & DEV_LEAN_WORDS ? op->c : 0};
    uint64_t bits = kind & DEV_LEAN_LEAVE ? ~(uint64_t)0 : 0;
    for (uint32_t i = 0; i < 4; i++)
        if (row[i] >= maker->at.rows)
            bits |= (uint64_t)1 << ((row[i] - maker->at.rows) / DEV_LEAN_ROW & 63u);
    return bits;
}

/*
 * Which of the first instructions are done before all others: fills of rows that none before them
 * has to do with. Bit i: instruction i. Where control skips one nobody misses what was there.
 * *up: rows in which lanes count up as long as the workgroup runs.
 */
DEV_FN uint32_t dev_lean_choose(const struct dev_lean_maker *maker,
                                const struct dev_lean_op ops[DEV_WARP_ROLES], uint32_t count,
                                uint64_t *up)
{
    uint64_t touches[DEV_WARP_ROLES], own[DEV_WARP_ROLES], before = 0;
    uint32_t early[DEV_WARP_ROLES];
    DEV_ROLES(l)
    {
        const struct dev_lean_op *op = &ops[DEV_MINE(l)];
        touches[DEV_MINE(l)] = l < count ? dev_lean_touches(maker, op) : 0;
        early[DEV_MINE(l)] = 0;
        own[DEV_MINE(l)] = 0;
    }
    /* One after the other: a bit of each row that was seen is enough for all. */
    for (uint32_t i = 0; i < DEV_WARP; i++) {
        DEV_ROLES(l)
        {
            if (l == i && l < count && (ops[DEV_MINE(l)].kind_d & DEV_LEAN_FILL) != 0)
                early[DEV_MINE(l)] = (touches[DEV_MINE(l)] & before) == 0;
        }
        before |= dev_warp_word(touches, i);
    }
    /* Rows that something else writes later do not count up for ever. */
    uint64_t written = 0, counted = 0;
    DEV_ROLES(l)
    {
        const struct dev_lean_op *op = &ops[DEV_MINE(l)];
        const uint32_t row = (DEV_LEAN_D(op) - maker->at.rows) / DEV_LEAN_ROW & 63u;
        const uint32_t counts = early[DEV_MINE(l)] & op->c;
        if (l < count && DEV_LEAN_D(op) != 0) own[DEV_MINE(l)] = (uint64_t)1 << row;
        touches[DEV_MINE(l)] = counts ? own[DEV_MINE(l)] : 0;
        if (counts) own[DEV_MINE(l)] = 0;
    }
    for (uint32_t i = 0; i < DEV_WARP; i++) {
        written |= dev_warp_word(own, i);
        counted |= dev_warp_word(touches, i);
    }
    const uint32_t rows = maker->frame->header.register_count + maker->frame->header.scalar_count;
    *up = count == maker->frame->header.code_count && rows <= 64 ? counted & ~written : 0;
    return rows <= 64 ? dev_warp_ballot(early) : 0;
}

/* Puts one instruction where it belongs, when it is known which ones are early. */
DEV_FN void dev_lean_place(const struct dev_lean_maker *maker, const struct dev_lean_op *made,
                           uint32_t early, uint64_t up)
{
    unsigned char *room = (unsigned char *)(uintptr_t)maker->frame;
    struct dev_lean_op *code = (struct dev_lean_op *)(void *)(room + maker->at.code);
    struct dev_lean_op *first = (struct dev_lean_op *)(void *)(room + maker->at.early);
    const uint32_t size = (uint32_t)sizeof *code, pc = made->pc;
    const uint32_t below = dev_popcount(pc < DEV_WARP ? early & ((1u << pc) - 1u) : early);
    struct dev_lean_op op = *made;
    if (op.kind_d & (DEV_LEAN_IF | DEV_LEAN_ENDIF | DEV_LEAN_JZ | DEV_LEAN_GO)) {
        const uint32_t target = op.imm;
        op.imm =
            (target - dev_popcount(target < DEV_WARP ? early & ((1u << target) - 1u) : early)) *
            size;
    }
    if ((op.kind_d & DEV_LEAN_STORE) != 0 &&
        (up >> ((DEV_LEAN_A(&op) - maker->at.rows) / DEV_LEAN_ROW & 63u) & 1) != 0)
        op.kind_d |= DEV_LEAN_UP;
    if (pc < DEV_WARP && (early >> pc & 1) != 0)
        first[below] = op;
    else
        code[pc - below] = op;
}

/* Makes a frame that is ready for its program and its buffers ready for this loop too, if that can
 * run it and there is room: frame->lean says where its head is. */
DEV_FN void dev_lean_prepare(struct dev_frame *frame, uint32_t room_bytes)
{
    const struct vm_header *header = &frame->header;
    unsigned char *room = (unsigned char *)frame;
    const struct dev_op *ops = (const struct dev_op *)(const void *)(room + frame->quick);
    const uint32_t count = header->code_count < DEV_WARP ? header->code_count : DEV_WARP;
    const uint32_t place = dev_near_place(frame);
    struct dev_lean_op made[DEV_WARP_ROLES];
    struct dev_lean_maker maker;
    uint64_t up = 0;
    maker.frame = frame;
    maker.at = dev_lean_layout(frame);
    maker.registers = place + (uint32_t)((const unsigned char *)frame->registers - room);
    maker.scalars = place + (uint32_t)((const unsigned char *)frame->scalars - room);
    maker.row = dev_units(header->lanes) * DEV_WARP * 4u;
    const int can = frame->quick != 0 && dev_units(header->lanes) <= DEV_LEAN_UNITS &&
                    header->shared_bytes == 0 && maker.at.end <= room_bytes &&
                    room_bytes <= 0xFFFFu;
    dev_warp_sync();
    DEV_FIRST frame->lean = can ? maker.at.head : 0;
    if (!can) {
        dev_warp_sync();
        return;
    }
    DEV_ROLES(l)
    {
        made[DEV_MINE(l)] = dev_lean_make(&maker, &ops[l < count ? l : 0], l);
    }
    const uint32_t early = dev_lean_choose(&maker, made, count, &up);
    DEV_ROLES(l)
    {
        if (l < count) dev_lean_place(&maker, &made[DEV_MINE(l)], early, up);
        for (uint32_t i = DEV_WARP + l; i < header->code_count; i += DEV_WARP) {
            const struct dev_lean_op later = dev_lean_make(&maker, &ops[i], i);
            dev_lean_place(&maker, &later, early, up);
        }
        if (l < 2) { /* there it ends; and the loop reads one ahead */
            const struct dev_lean_op none = {DEV_LEAN_LEAVE, 0, 0, 0, 0, header->code_count, 0};
            ((struct dev_lean_op *)(void *)(room + maker.at.code))[header->code_count -
                                                                   dev_popcount(early) + l] = none;
        }
        for (uint32_t s = 0; s < header->scalar_count; s++) {
            uint32_t *row = (uint32_t *)(void *)(room + maker.at.rows +
                                                 (header->register_count + s) * DEV_LEAN_ROW);
            row[2 * l] = row[2 * l + 1] = frame->scalars[s * DEV_SCALAR_WORDS];
        }
    }
    DEV_FIRST
    {
        struct dev_lean_head *head = (struct dev_lean_head *)(void *)(room + maker.at.head);
        head->early = dev_popcount(early);
        head->code = maker.at.code;
        head->zero = 0;
    }
    dev_warp_sync();
}

/* The words of a lane of the warp. */
struct dev_two {
    uint32_t word[DEV_LEAN_UNITS][DEV_WARP_ROLES];
};

/* The state of the loop. All lanes of the workgroup are active. */
struct dev_lean {
    dev_near room;
    uint32_t place; /* of the room */
    uint32_t lane;  /* of the warp; on a GPU it would else be asked for again and again */
    uint32_t mine;  /* from a row to this lane's words */
    uint32_t lanes;
    uint32_t number; /* of the workgroup */
    uint32_t level, steps;
    uint32_t level_count; /* levels that there may be */
    uint32_t code;        /* where it is in the room */
};

#if defined(__CUDACC__)
#    define DEV_LEAN_MINE(lean, l) ((lean)->mine)
#    define DEV_LEAN_LANE(lean, l) ((lean)->lane)
#else
#    define DEV_LEAN_MINE(lean, l) ((l)*8u)
#    define DEV_LEAN_LANE(lean, l) (l)
#endif

DEV_INLINE void dev_lean_get(const struct dev_lean *lean, uint32_t row, struct dev_two *two)
{
    DEV_ROLES(l)
    {
        const uint64_t both = dev_near_get64(lean->room, row + DEV_LEAN_MINE(lean, l));
        two->word[0][DEV_MINE(l)] = (uint32_t)both;
        two->word[1][DEV_MINE(l)] = (uint32_t)(both >> 32);
    }
}

DEV_INLINE void dev_lean_set(const struct dev_lean *lean, uint32_t row, const struct dev_two *two)
{
    DEV_ROLES(l)
    {
        dev_near_set2(lean->room, row + DEV_LEAN_MINE(lean, l), two->word[0][DEV_MINE(l)],
                      two->word[1][DEV_MINE(l)]);
    }
}

/* Fills a row: with a word of the room, and what each lane counts. */
DEV_INLINE void dev_lean_fill(const struct dev_lean *lean, const struct dev_lean_op *op)
{
    const uint32_t word = dev_near_get(lean->room, lean->place + op->imm);
    const uint32_t base = op->kind_d & DEV_LEAN_FLOAT ? vm_flush_now(word) : word;
    DEV_ROLES(l)
    {
        const uint32_t first = base + op->c * DEV_LEAN_LANE(lean, l);
        dev_near_set2(lean->room, DEV_LEAN_D(op) + DEV_LEAN_MINE(lean, l), first,
                      first + op->c * DEV_WARP);
    }
}

DEV_INLINE struct dev_lean_op dev_lean_read(const struct dev_lean *lean, uint32_t at)
{
    const struct dev_four low = dev_near_get4(lean->room, at);
    struct dev_lean_op op;
    op.kind_d = low.word[0];
    op.ab = low.word[1];
    op.c = low.word[2];
    op.imm = low.word[3];
    op.what = dev_near_get64(lean->room, at + 16);
    op.pc = op.reserved = 0; /* looked up by whoever needs it */
    return op;
}

DEV_INLINE void dev_lean_words(const struct dev_lean *lean, const struct dev_lean_op *op)
{
    const dev_lean_fn run = (dev_lean_fn)(uintptr_t)op->what;
    struct dev_two a, b, c, result;
    dev_lean_get(lean, DEV_LEAN_A(op), &a);
    dev_lean_get(lean, DEV_LEAN_B(op), &b);
    dev_lean_get(lean, op->c, &c);
    DEV_ROLES(l)
    {
        const uint64_t both =
            run(a.word[0][DEV_MINE(l)], a.word[1][DEV_MINE(l)], b.word[0][DEV_MINE(l)],
                b.word[1][DEV_MINE(l)], c.word[0][DEV_MINE(l)], c.word[1][DEV_MINE(l)]);
        result.word[0][DEV_MINE(l)] = (uint32_t)both;
        result.word[1][DEV_MINE(l)] = (uint32_t)(both >> 32);
    }
    dev_lean_set(lean, DEV_LEAN_D(op), &result);
}

/* A load on its way. */
struct dev_lean_load {
    struct dev_two result;
    uint32_t odd[DEV_WARP_ROLES]; /* lanes of which are out of bounds */
};

DEV_INLINE void dev_lean_load_begin(const struct dev_lean *lean, const struct dev_lean_op *op,
                                    struct dev_lean_load *load)
{
    const uint32_t lanes = op->kind_d & DEV_LEAN_ALL ? DEV_LEAN_UNITS * DEV_WARP : lean->lanes;
    const unsigned char *element = (const unsigned char *)(uintptr_t)op->what;
    struct dev_two index;
    dev_lean_get(lean, DEV_LEAN_A(op), &index);
    DEV_ROLES(l)
    {
        load->odd[DEV_MINE(l)] = 0;
        DEV_UNROLL
        for (uint32_t u = 0; u < DEV_LEAN_UNITS; u++) {
            const uint32_t at = index.word[u][DEV_MINE(l)];
            const uint32_t used = DEV_LEAN_LANE(lean, l) + u * DEV_WARP < lanes;
            const uint32_t inside = at < op->imm;
            load->odd[DEV_MINE(l)] |= used & (inside ^ 1u);
            load->result.word[u][DEV_MINE(l)] = 0;
            if (used & inside)
                load->result.word[u][DEV_MINE(l)] = dev_get(element + (uint64_t)at * 4, 4);
        }
    }
}

DEV_INLINE void dev_lean_load_end(const struct dev_lean *lean, const struct dev_lean_op *op,
                                  struct dev_lean_load *load)
{
    if (op->kind_d & DEV_LEAN_ALL) { /* a scalar is one word, whoever writes there meanwhile */
        const uint32_t one = dev_warp_word32(load->result.word[0], 0);
        DEV_ROLES(l)
        {
            load->result.word[0][DEV_MINE(l)] = load->result.word[1][DEV_MINE(l)] = one;
        }
    }
    DEV_ROLES(l)
    {
        DEV_UNROLL
        for (uint32_t u = 0; u < DEV_LEAN_UNITS; u++) {
            const uint32_t word = load->result.word[u][DEV_MINE(l)];
            load->result.word[u][DEV_MINE(l)] =
                op->kind_d & DEV_LEAN_FLOAT ? vm_flush_now(word) : word;
        }
    }
    dev_lean_set(lean, DEV_LEAN_D(op), &load->result);
}

/* A load, and the one behind it if that is one that needs nothing of it: how many are done. */
DEV_INLINE uint32_t dev_lean_loads(const struct dev_lean *lean, const struct dev_lean_op *op,
                                   const struct dev_lean_op *next)
{
    const int pair = (next->kind_d & DEV_LEAN_LOAD) != 0 && DEV_LEAN_A(next) != DEV_LEAN_D(op);
    struct dev_lean_load first, second;
    dev_lean_load_begin(lean, op, &first);
    if (pair) {
        dev_lean_load_begin(lean, next, &second);
        DEV_ROLES(l)
        {
            first.odd[DEV_MINE(l)] |= second.odd[DEV_MINE(l)];
        }
    }
    if (dev_warp_ballot(first.odd) != 0) return 0;
    dev_lean_load_end(lean, op, &first);
    if (!pair) return 1;
    dev_lean_load_end(lean, next, &second);
    return 2;
}

/* Marks lanes whose places do not count up. */
DEV_INLINE void dev_lean_meet(const struct dev_lean *lean, const struct dev_two *index,
                              uint32_t *odd)
{
    const uint32_t last = dev_warp_word32(index->word[0], DEV_WARP - 1);
    DEV_ROLES(l)
    {
        const uint32_t lane = DEV_LEAN_LANE(lean, l);
        DEV_UNROLL
        for (uint32_t u = 0; u < DEV_LEAN_UNITS; u++) {
            const uint32_t below = dev_warp_word32(index->word[u], lane != 0 ? lane - 1 : 0);
            const uint32_t before = lane != 0 ? below : last;
            const uint32_t up =
                (uint32_t)(index->word[u][DEV_MINE(l)] > before) | (uint32_t)(lane + u == 0);
            odd[DEV_MINE(l)] |= (uint32_t)(lane + u * DEV_WARP < lean->lanes) & (up ^ 1u);
        }
    }
}

/* Stores at places that count up, so that no two meet. 0: they do not, and nothing is done. */
DEV_INLINE uint32_t dev_lean_store(const struct dev_lean *lean, const struct dev_lean_op *op)
{
    unsigned char *element = (unsigned char *)(uintptr_t)op->what;
    struct dev_two index, value;
    uint32_t odd[DEV_WARP_ROLES];
    dev_lean_get(lean, DEV_LEAN_A(op), &index);
    dev_lean_get(lean, DEV_LEAN_B(op), &value);
    DEV_ROLES(l)
    {
        odd[DEV_MINE(l)] = 0;
        DEV_UNROLL
        for (uint32_t u = 0; u < DEV_LEAN_UNITS; u++)
            odd[DEV_MINE(l)] |= (uint32_t)(DEV_LEAN_LANE(lean, l) + u * DEV_WARP < lean->lanes) &
                                (uint32_t)(index.word[u][DEV_MINE(l)] >= op->imm);
    }
    if (!(op->kind_d & DEV_LEAN_UP)) dev_lean_meet(lean, &index, odd);
    if (dev_warp_ballot(odd) != 0) return 0;
    dev_warp_sync(); /* others may have loaded what is stored over */
    DEV_ROLES(l)
    {
        DEV_UNROLL
        for (uint32_t u = 0; u < DEV_LEAN_UNITS; u++) {
            const uint32_t word = value.word[u][DEV_MINE(l)];
            if (DEV_LEAN_LANE(lean, l) + u * DEV_WARP < lean->lanes)
                dev_set(element + (uint64_t)index.word[u][DEV_MINE(l)] * 4,
                        op->kind_d & DEV_LEAN_FLOAT ? vm_canon(word) : word, 4);
        }
    }
    dev_warp_sync(); /* lanes of later instructions may meet these */
    return 1;
}

/* Whether a word of a row is not 0 for all lanes of the workgroup. */
DEV_INLINE int dev_lean_all(const struct dev_lean *lean, uint32_t row)
{
    struct dev_two condition;
    uint32_t no[DEV_WARP_ROLES];
    dev_lean_get(lean, row, &condition);
    DEV_ROLES(l)
    {
        no[DEV_MINE(l)] = 0;
        DEV_UNROLL
        for (uint32_t u = 0; u < DEV_LEAN_UNITS; u++)
            no[DEV_MINE(l)] |= (uint32_t)(DEV_LEAN_LANE(lean, l) + u * DEV_WARP < lean->lanes) &
                               (uint32_t)(condition.word[u][DEV_MINE(l)] == 0);
    }
    return dev_warp_ballot(no) == 0;
}

/* How a workgroup ended. */
struct dev_lean_end {
    uint32_t how; /* enum dev_frame_end */
    uint32_t steps;
    uint32_t out_of_bounds;
    uint32_t left; /* not all of it was run by this loop */
};

/* Hands the workgroup over to the other loop, at an instruction of which nothing is done. */
DEV_NO_INLINE struct dev_lean_end dev_lean_leave(struct dev_frame *frame, struct dev_lean state,
                                                 uint32_t pc, const uint32_t grid[3],
                                                 uint32_t budget)
{
    const struct vm_header *header = &frame->header;
    const uint32_t units = dev_units(header->lanes);
    const unsigned char *room = (const unsigned char *)frame;
    const struct dev_lean_layout at = dev_lean_layout(frame);
    struct dev_lean_end end;
    dev_warp_begin(frame, state.number, grid);
    DEV_ROLES(l)
    {
        for (uint32_t r = 0; r < header->register_count + header->scalar_count; r++) {
            const uint32_t *row =
                (const uint32_t *)(const void *)(room + at.rows + r * DEV_LEAN_ROW) + 2 * l;
            uint32_t s = r - header->register_count;
            for (uint32_t u = 0; u < units && r < header->register_count; u++)
                frame->registers[(r * units + u) * DEV_WARP + l] = row[u];
            if (r >= header->register_count && l < DEV_SCALAR_WORDS)
                frame->scalars[s * DEV_SCALAR_WORDS + l] = row[0];
        }
        for (uint32_t i = units + l; i < (state.level + 1) * units; i += DEV_WARP)
            frame->masks[i] = frame->masks[i % units];
        for (uint32_t i = 1 + l; i <= state.level; i += DEV_WARP)
            frame->active[i] = header->lanes;
    }
    DEV_FIRST frame->limit = budget;
    dev_frame_keep(frame, pc, state.level, state.steps);
    end.how = dev_quick_run(frame);
    end.steps = dev_saturated(frame->steps);
    end.out_of_bounds = frame->out_of_bounds;
    end.left = 1;
    return end;
}

/* The same where a grid has more axes than one. */
DEV_NO_INLINE void dev_lean_tell_axes(struct dev_lean_head *head, const struct dev_frame *frame,
                                      uint32_t number, const uint32_t grid[3])
{
    head->group[0] = number % grid[0];
    head->group[1] = number / grid[0] % grid[1];
    head->group[2] = number / grid[0] / grid[1];
    head->first_id = head->group[0] * frame->header.workgroup[0];
}

/* What fills need to know of a workgroup; on the first lane. */
DEV_INLINE void dev_lean_tell(struct dev_lean_head *head, const struct dev_frame *frame,
                              uint32_t number, const uint32_t grid[3])
{
    head->group[0] = number;
    head->group[1] = head->group[2] = 0;
    head->first_id = number * frame->header.workgroup[0];
    if (grid[1] != 1 || grid[2] != 1) dev_lean_tell_axes(head, frame, number, grid);
}

/* Begins a workgroup: all that can be filled before anything else is done. */
DEV_INLINE void dev_lean_begin(struct dev_lean *lean, struct dev_frame *frame, uint32_t number,
                               const uint32_t grid[3])
{
    struct dev_lean_head *head =
        (struct dev_lean_head *)(void *)((unsigned char *)frame + frame->lean);
    const uint32_t size = (uint32_t)sizeof(struct dev_lean_op);
    uint32_t lane[DEV_WARP_ROLES];
    DEV_ROLES(l)
    {
        lane[DEV_MINE(l)] = l;
    }
    lean->room = dev_near_base(frame);
    lean->place = dev_near_place(frame);
    lean->lane = dev_warp_word32(lane, dev_lane()); /* see dev_quick_open */
    lean->mine = lean->place + lean->lane * 8;
    lean->lanes = frame->header.lanes;
    lean->number = number;
    lean->level = lean->steps = 0;
    lean->level_count = frame->header.level_count;
    dev_warp_sync(); /* whoever still reads what the last one was told */
    DEV_FIRST dev_lean_tell(head, frame, number, grid);
    dev_warp_sync();
    const uint32_t count = head->early;
    lean->code = head->code;
    uint32_t at = lean->place + frame->lean + (uint32_t)sizeof *head;
    DEV_NO_UNROLL
    for (uint32_t i = 0; i < count; i++) {
        const struct dev_lean_op op = dev_lean_read(lean, at);
        dev_lean_fill(lean, &op);
        at += size;
    }
}

/* Runs what is neither of words nor a load or a store. The place of the next instruction, in bytes
 * of code; DEV_NONE: it must be left. */
DEV_INLINE uint32_t dev_lean_other(struct dev_lean *lean, const struct dev_lean_op *op,
                                   uint32_t next)
{
    const uint32_t kind = op->kind_d;
    uint32_t target = op->imm;
    if (kind & DEV_LEAN_FILL) {
        dev_lean_fill(lean, op);
        return next;
    }
    if (kind & DEV_LEAN_IF) {
        if (lean->level >= lean->level_count || !dev_lean_all(lean, DEV_LEAN_A(op)))
            return DEV_NONE;
        lean->level++;
    } else if (kind & DEV_LEAN_ENDIF) {
        if (lean->level == 0) return DEV_NONE;
        lean->level--;
    } else if (kind & DEV_LEAN_JZ) {
        if (dev_lean_all(lean, DEV_LEAN_A(op))) target = next;
    } else if (kind & DEV_LEAN_GO) {
        dev_warp_sync();
    } else {
        return DEV_NONE;
    }
    lean->steps += op->c;
    return target;
}

/* Runs a workgroup from its beginning. Nothing here goes back, and behind the code is a place that
 * must be left. */
DEV_INLINE struct dev_lean_end dev_lean_run(struct dev_frame *frame, uint32_t number,
                                            const uint32_t grid[3], uint32_t budget)
{
    const uint32_t size = (uint32_t)sizeof(struct dev_lean_op);
    struct dev_lean_end end = {DEV_FRAME_ENDED, 0, 0, 0};
    struct dev_lean lean;
    uint32_t at = 0;
    dev_lean_begin(&lean, frame, number, grid);
    const uint32_t code = lean.place + lean.code;
    struct dev_lean_op op = dev_lean_read(&lean, code);
    for (;;) {
        const struct dev_lean_op next = dev_lean_read(&lean, code + at + size);
        if (op.kind_d & DEV_LEAN_WORDS) {
            dev_lean_words(&lean, &op);
            at += size;
            op = next;
            continue;
        }
        if (op.kind_d & DEV_LEAN_LOAD) {
            const uint32_t done = dev_lean_loads(&lean, &op, &next);
            if (done == 0) break;
            at += done * size;
            op = done == 1 ? next : dev_lean_read(&lean, code + at);
            continue;
        }
        if (op.kind_d & DEV_LEAN_STORE) {
            if (!dev_lean_store(&lean, &op)) break;
            at += size;
            op = next;
            continue;
        }
        if (op.kind_d & DEV_LEAN_END) {
            end.steps = lean.steps + op.c;
            return end;
        }
        const uint32_t target = dev_lean_other(&lean, &op, at + size);
        if (target == DEV_NONE) break;
        at = target;
        op = dev_lean_read(&lean, code + at);
    }
    const uint32_t pc =
        dev_near_get(lean.room, code + at + (uint32_t)offsetof(struct dev_lean_op, pc));
    return dev_lean_leave(frame, lean, pc, grid, budget);
}

#endif
