/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Code for the lean loop (lean.h): made of what was decoded for the other one (warp_decode.h), once
 * the buffers are known too. All that can be known before a workgroup begins is in it: functions,
 * elements and lengths of buffers, places. Ids, lengths and scalars of the slot are filled in
 * before anything else, where nothing before them has to do with their rows.
 */
#ifndef VYRE_DEVICE_LEAN_CODE_H
#define VYRE_DEVICE_LEAN_CODE_H

#include "device/handle.h"
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

#define VM_ALU(name, text, shape, types, expression, what) DEV_LEAN_##shape(name, expression)
#include "vm/opcodes.def"

/* By opcode, as dev_words_table; moves are sums (dev_lean_make_words). */
#define DEV_LEAN_ROW_W1(name) dev_lean_##name,
#define DEV_LEAN_ROW_W2(name) dev_lean_##name,
#define DEV_LEAN_ROW_W3(name) dev_lean_##name,
#define DEV_LEAN_ROW_D1(name) 0,
#define DEV_LEAN_ROW_D2(name) 0,
#define DEV_LEAN_ROW_C1(name) 0,
#define DEV_LEAN_ROW_C2(name) 0,

DEV_TABLE dev_lean_fn dev_lean_table[] = {
    0,
#define VM_ALU(name, text, shape, types, expression, what) DEV_LEAN_ROW_##shape(name)
#include "vm/opcodes.def"
};

/* What an instruction is here, a bit each, so that the loop finds the usual ones first. */
enum dev_lean_kind {
    DEV_LEAN_SUM = 1, /* a * b + c */
    DEV_LEAN_LOAD = 2,
    DEV_LEAN_STORE = 4,
    DEV_LEAN_END = 8,
    DEV_LEAN_WORDS = 16, /* any other word from words, by a function */
    DEV_LEAN_FILL = 32,  /* a word that is known before, and what a lane counts up to it */
    DEV_LEAN_IF = 64,
    DEV_LEAN_ENDIF = 128,
    DEV_LEAN_JZ = 256,
    DEV_LEAN_GO = 512,     /* to imm, whatever the lanes have */
    DEV_LEAN_LEAVE = 1024, /* anything else */
    DEV_LEAN_FLOAT = 2048, /* of a sum, a load, a store or a fill: of floats */
    DEV_LEAN_LESS = 4096,  /* of a sum: whether a < b instead */
    DEV_LEAN_ALL = 8192,   /* of a load: for all lanes of the warp, of a scalar */
    DEV_LEAN_PAIR = 16384, /* of a load: the next one is a load that needs nothing of it */
    DEV_LEAN_UP = 32768    /* of a store: its places are known to count up */
};

/* Code as this loop reads it. Operands are bytes from the start of the room to a row: of two words
 * for each lane of the warp, those of its lane of both units. What is none is 0, which can be read
 * too: the loop reads operands before it looks what they are for. */
struct dev_lean_op {
    uint32_t kind_d; /* kind, d << 16 */
    uint32_t ab;     /* a, b << 16 */
    uint32_t c;
    uint32_t imm;  /* where control goes, in bytes of code; or the elements of a buffer; or the
                      place of a word in the room; or, where not 0, what a sum has instead of b */
    uint64_t what; /* the function, or where those elements are; or the steps of a control
                      instruction; or how much a lane counts; or, where not 0, what a sum has
                      instead of c, with bit 32 */
    uint32_t pc;
    uint32_t reserved;
};

static_assert(sizeof(struct dev_lean_op) == 32, "two loads");

#define DEV_LEAN_D(op) ((op)->kind_d >> 16)
#define DEV_LEAN_A(op) ((op)->ab & 0xFFFFu)
#define DEV_LEAN_B(op) ((op)->ab >> 16)

#define DEV_LEAN_ROW_BYTES 256u

/* What lies behind all that a frame uses of its room: this, what is filled first (of the first
 * instructions, one for each lane; scalars of the slot last), code, rows (registers before
 * scalars), and a row of one word for each lane, for answers. */
struct dev_lean_head {
    uint32_t early;   /* how many */
    uint32_t same;    /* of them, are the same for every slot that differs in scalars only */
    uint32_t code;    /* where it is in the room */
    uint32_t answers; /* and where that row is; 0: stores are not answered */
    uint32_t first_id;
    uint32_t zero;
    uint32_t group[3];
    uint32_t reserved[3];
};

static_assert(sizeof(struct dev_lean_head) % 16 == 0, "what follows is read 16 bytes at a time");

/* Programs with more stores than these make one fence for all instead of waiting for each. */
#define DEV_LEAN_ANSWERED 2u

struct dev_lean_layout {
    uint32_t head, early, code, rows, answers, end;
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
    at.answers =
        at.rows + ((uint32_t)header->register_count + header->scalar_count) * DEV_LEAN_ROW_BYTES;
    at.end = at.answers + DEV_WARP * 4u;
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
    return maker->at.rows + number * DEV_LEAN_ROW_BYTES;
}

/* The upper half of `what` of a fill with a scalar: which argument of the slot it is. */
#define DEV_LEAN_ARG(op) ((uint32_t)((op)->what >> 32))

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
    lean->what = dev_op_class(op) == DEV_CLASS_ID;
}

/* A summand that every lane has, as `what` of a sum. */
#define DEV_LEAN_SUMMAND(word) ((uint64_t)1 << 32 | (word))

/* Words from words: sums where they are some, which the loop does by itself, or by a function. (The
 * function would give the same, bit for bit: a product with 1 is exact, and a float that -0 is
 * added to stays what it is.) */
DEV_FN void dev_lean_make_words(const struct dev_lean_maker *maker, const struct dev_op *op,
                                struct dev_lean_op *lean)
{
    const uint32_t code = op->op & 0xFFu;
    uint32_t a = dev_lean_row(maker, op->a), b = dev_lean_row(maker, op->b);
    uint32_t c = dev_lean_row(maker, op->c), kind = DEV_LEAN_SUM;
    switch (code) {
    case VM_OP_MOV:
        lean->imm = 1;
        lean->what = DEV_LEAN_SUMMAND(0u);
        break;
    case VM_OP_ADD:
        c = b;
        lean->imm = 1;
        break;
    case VM_OP_SUB:
        c = a;
        a = b;
        lean->imm = 0xFFFFFFFFu; /* -1 */
        break;
    case VM_OP_MUL:
        lean->what = DEV_LEAN_SUMMAND(0u);
        break;
    case VM_OP_MAD:
        break;
    case VM_OP_LT:
        kind |= DEV_LEAN_LESS;
        break;
    case VM_OP_FADD:
        kind |= DEV_LEAN_FLOAT;
        c = b;
        lean->imm = 0x3F800000u; /* 1 */
        break;
    case VM_OP_FSUB:
        kind |= DEV_LEAN_FLOAT;
        c = a;
        a = b;
        lean->imm = 0xBF800000u; /* -1 */
        break;
    case VM_OP_FMUL:
        kind |= DEV_LEAN_FLOAT;
        lean->what = DEV_LEAN_SUMMAND(0x80000000u); /* -0 */
        break;
    case VM_OP_FMULADD:
        kind |= DEV_LEAN_FLOAT;
        break;
    default:
        kind = DEV_LEAN_WORDS;
        lean->what = (uint64_t)(uintptr_t)dev_lean_table[code];
        break;
    }
    lean->kind_d = kind | dev_lean_row(maker, op->d) << 16;
    lean->ab = a | b << 16;
    lean->c = c;
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
    const uintptr_t args = (uintptr_t)frame->args.scalar, element = (uintptr_t)view->element;
    const uint32_t index = (op->a - maker->scalars) / (DEV_SCALAR_WORDS * 4u);
    const uint64_t scalar = (uint64_t)(element - args) / 4u;
    if (dev_op_class(op) != DEV_CLASS_LOAD_ONE || view->length == 0 ||
        (view->access & ~DEV_VIEW_WRITE) != 4 || element < args || scalar >= DEV_SLOT_SCALARS ||
        index >= frame->header.constant_count || frame->scalars[index * DEV_SCALAR_WORDS] != 0)
        return 0;
    dev_lean_make_fill(maker, op, view->element, lean);
    lean->what = (DEV_ARG_SCALARS + scalar) << 32;
    if ((op->op & 0xFFu) == VM_OP_LDF32) lean->kind_d |= DEV_LEAN_FLOAT;
    return 1;
}

DEV_FN void dev_lean_make_control(const struct dev_lean_maker *maker, const struct dev_op *op,
                                  uint32_t pc, struct dev_lean_op *lean)
{
    const uint32_t code = op->op & 0xFFu;
    lean->what = op->c;
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
        if (code == VM_OP_GROUPID || code == VM_OP_BUFLEN)
            dev_lean_make_id(maker, op, &lean);
        else
            dev_lean_make_words(maker, op, &lean);
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
    uint32_t row[4] = {DEV_LEAN_D(op), DEV_LEAN_A(op), DEV_LEAN_B(op), op->c};
    uint64_t bits = kind & DEV_LEAN_LEAVE ? ~(uint64_t)0 : 0;
    for (uint32_t i = 0; i < 4; i++)
        if (row[i] >= maker->at.rows)
            bits |= (uint64_t)1 << ((row[i] - maker->at.rows) / DEV_LEAN_ROW_BYTES & 63u);
    return bits;
}

/* What was found out of all instructions together. */
struct dev_lean_plan {
    uint32_t early;   /* a bit for each of the first that is done before all others */
    uint32_t of_slot; /* and of these, for scalars of the slot */
    uint64_t up;      /* rows in which lanes count up as long as the workgroup runs */
};

/*
 * Which of the first instructions are done before all others: fills of rows that none before them
 * has to do with. Bit i: instruction i. Where control skips one nobody misses what was there.
 */
DEV_FN struct dev_lean_plan dev_lean_choose(const struct dev_lean_maker *maker,
                                            const struct dev_lean_op ops[DEV_WARP_ROLES],
                                            uint32_t count)
{
    uint64_t touches[DEV_WARP_ROLES], own[DEV_WARP_ROLES], before = 0;
    uint32_t early[DEV_WARP_ROLES], of_slot[DEV_WARP_ROLES];
    struct dev_lean_plan plan = {0, 0, 0};
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
        const uint32_t row = (DEV_LEAN_D(op) - maker->at.rows) / DEV_LEAN_ROW_BYTES & 63u;
        const uint32_t counts = early[DEV_MINE(l)] & (uint32_t)op->what;
        if (l < count && DEV_LEAN_D(op) != 0) own[DEV_MINE(l)] = (uint64_t)1 << row;
        touches[DEV_MINE(l)] = counts ? own[DEV_MINE(l)] : 0;
        if (counts) own[DEV_MINE(l)] = 0;
        of_slot[DEV_MINE(l)] = early[DEV_MINE(l)] != 0 && DEV_LEAN_ARG(op) != 0;
    }
    for (uint32_t i = 0; i < DEV_WARP; i++) {
        written |= dev_warp_word(own, i);
        counted |= dev_warp_word(touches, i);
    }
    const uint32_t rows = (maker->at.answers - maker->at.rows) / DEV_LEAN_ROW_BYTES;
    if (rows > 64) return plan;
    plan.early = dev_warp_ballot(early);
    plan.of_slot = dev_warp_ballot(of_slot);
    if (count == maker->frame->header.code_count) plan.up = counted & ~written;
    return plan;
}

/* How many of the instructions in front of `pc` have a bit. */
DEV_FN uint32_t dev_lean_before(uint32_t bits, uint32_t pc)
{
    return dev_popcount(pc < DEV_WARP ? bits & ((1u << pc) - 1u) : bits);
}

/* Puts one instruction where it belongs. */
DEV_FN void dev_lean_place(const struct dev_lean_maker *maker, const struct dev_lean_op *made,
                           const struct dev_lean_plan *plan)
{
    unsigned char *room = (unsigned char *)(uintptr_t)maker->frame;
    struct dev_lean_op *code = (struct dev_lean_op *)(void *)(room + maker->at.code);
    struct dev_lean_op *first = (struct dev_lean_op *)(void *)(room + maker->at.early);
    const uint32_t size = (uint32_t)sizeof *code, pc = made->pc;
    const uint32_t same = plan->early & ~plan->of_slot;
    struct dev_lean_op op = *made;
    if (op.kind_d & (DEV_LEAN_IF | DEV_LEAN_ENDIF | DEV_LEAN_JZ | DEV_LEAN_GO))
        op.imm = (op.imm - dev_lean_before(plan->early, op.imm)) * size;
    if ((op.kind_d & DEV_LEAN_STORE) != 0 &&
        (plan->up >> ((DEV_LEAN_A(&op) - maker->at.rows) / DEV_LEAN_ROW_BYTES & 63u) & 1) != 0)
        op.kind_d |= DEV_LEAN_UP;
    if (pc >= DEV_WARP || (plan->early >> pc & 1) == 0)
        code[pc - dev_lean_before(plan->early, pc)] = op;
    else if (plan->of_slot >> pc & 1)
        first[dev_popcount(same) + dev_lean_before(plan->of_slot, pc)] = op;
    else
        first[dev_lean_before(same, pc)] = op;
}

/* How many instructions of the code are stores; for the first lane. */
DEV_FN uint32_t dev_lean_stores(const struct dev_lean_maker *maker, uint32_t count)
{
    const unsigned char *room = (const unsigned char *)maker->frame;
    const struct dev_lean_op *code =
        (const struct dev_lean_op *)(const void *)(room + maker->at.code);
    uint32_t stores = 0;
    for (uint32_t i = 0; i < count; i++)
        stores += (code[i].kind_d & DEV_LEAN_STORE) != 0;
    return stores;
}

/* Marks loads behind which is another that needs nothing of them: the two go together. */
DEV_FN void dev_lean_pair(const struct dev_lean_maker *maker, uint32_t count)
{
    unsigned char *room = (unsigned char *)(uintptr_t)maker->frame;
    struct dev_lean_op *code = (struct dev_lean_op *)(void *)(room + maker->at.code);
    uint32_t kind[DEV_WARP_ROLES];
    for (uint32_t first = 0; first < count; first += DEV_WARP) {
        DEV_ROLES(l)
        {
            const struct dev_lean_op *op = &code[first + l < count ? first + l : count];
            const int pair = (op->kind_d & DEV_LEAN_LOAD) != 0 &&
                             (op[1].kind_d & DEV_LEAN_LOAD) != 0 &&
                             DEV_LEAN_A(&op[1]) != DEV_LEAN_D(op);
            kind[DEV_MINE(l)] = op->kind_d | (pair ? (uint32_t)DEV_LEAN_PAIR : 0);
        }
        dev_warp_sync();
        DEV_ROLES(l)
        {
            if (first + l < count) code[first + l].kind_d = kind[DEV_MINE(l)];
        }
        dev_warp_sync();
    }
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
    const struct dev_lean_plan plan = dev_lean_choose(&maker, made, count);
    const uint32_t rest = header->code_count - dev_popcount(plan.early);
    DEV_ROLES(l)
    {
        if (l < count) dev_lean_place(&maker, &made[DEV_MINE(l)], &plan);
        for (uint32_t i = DEV_WARP + l; i < header->code_count; i += DEV_WARP) {
            const struct dev_lean_op later = dev_lean_make(&maker, &ops[i], i);
            dev_lean_place(&maker, &later, &plan);
        }
        if (l < 2) { /* there it ends; and the loop reads one ahead */
            const struct dev_lean_op none = {DEV_LEAN_LEAVE, 0, 0, 0, 0, header->code_count, 0};
            ((struct dev_lean_op *)(void *)(room + maker.at.code))[rest + l] = none;
        }
        for (uint32_t s = 0; s < header->scalar_count; s++) {
            uint32_t *row = (uint32_t *)(void *)(room + maker.at.rows +
                                                 (header->register_count + s) * DEV_LEAN_ROW_BYTES);
            row[2 * l] = row[2 * l + 1] = frame->scalars[s * DEV_SCALAR_WORDS];
        }
    }
    dev_warp_sync();
    DEV_FIRST
    {
        struct dev_lean_head *head = (struct dev_lean_head *)(void *)(room + maker.at.head);
        const int few = dev_lean_stores(&maker, rest) <= DEV_LEAN_ANSWERED;
        head->early = dev_popcount(plan.early);
        head->same = dev_popcount(plan.early & ~plan.of_slot);
        head->code = maker.at.code;
        head->answers = few && !frame->seen ? maker.at.answers : 0;
        head->zero = head->group[1] = head->group[2] = 0;
    }
    dev_warp_sync();
    dev_lean_pair(&maker, rest);
}

#endif
