/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The verifier's fourth part: what each register may be taken for (enum vm_can), instruction after
 * instruction. 0 is undefined. Fields and control flow have been checked.
 *
 * Where paths meet, what both have is left: a bitwise and. All lanes run all branches that any lane
 * takes, one after the other, and a write without VM_MASKED changes all of them; so the else of a
 * lane's if begins with what is left of the state before the if and that after its first branch.
 *
 * A loop begins with the state before it, less what any write in its body takes away, and ends with
 * the same: so one look at the body is enough, where the types that the body writes are known
 * ahead. Those of copies (type t) are not. They are taken for anything at first; where a copy in a
 * loop turns out to be less, and that changes what the loop begins with, the body is looked at
 * again. Types only get fewer, so that ends; the looks are counted, so that it ends soon.
 */
#include <string.h>

#include "vm/verify.h"

#define LOOKS 256u /* at each instruction, on average */

struct types {
    struct vm_check *check;
    const struct vm_header *header;
    const struct vm_insn *code;
    uint8_t *state;   /* of the scalars, then of the registers */
    uint8_t *slots;   /* one state for each open construct: what it joins with in the end */
    uint8_t *copies;  /* what an instruction of type t gives, as far as it is known */
    uint16_t *locked; /* how many open loops have it as counter or limit */
    uint32_t first;   /* constants come before it and never change */
    uint32_t count;   /* of a state */
    uint32_t depth;
    uint64_t looks;
    struct vm_frame frame[VM_MAX_NESTING];
};

static uint32_t place_of(const struct types *t, uint32_t number)
{
    return number & VM_SCALAR ? number & (VM_SCALAR - 1u) : t->header->scalar_count + number;
}

static uint8_t *slot_of(const struct types *t, uint32_t depth)
{
    return t->slots + (size_t)depth * t->count;
}

static void join(struct types *t, const uint8_t *other)
{
    for (uint32_t i = t->first; i < t->count; i++)
        t->state[i] &= other[i];
}

static void copy_state(const struct types *t, uint8_t *to, const uint8_t *from)
{
    memcpy(to + t->first, from + t->first, t->count - t->first);
}

/* Why a source is refused. */
static vyre_status refuse_read(struct types *t, uint32_t pc, uint32_t number, uint32_t need)
{
    static const char *const names[] = {"nothing", "a word",      "?", "a bool",
                                        "a float", "any 32 bits", "?", "any 32 bits"};
    uint8_t can = t->state[place_of(t, number)];
    const char *op = vyre_vm_row(t->code[pc].op)->name;
    struct vm_register_text name = vyre_vm_register_text(number);
    if (can == 0)
        return vyre_vm_reject(t->check, VM_AT(UNDEFINED, pc),
                              "%s reads %s, which is not written with one type on every path", op,
                              name.text);
    return vyre_vm_reject(t->check, VM_AT(TYPE, pc), "%s reads %s, which is %s and not %s", op,
                          name.text, names[can], names[need]);
}

/* Checks the sources; *kept: what those of type t have in common. */
static vyre_status read_sources(struct types *t, const struct vm_shape *shape, uint32_t pc,
                                uint8_t *kept)
{
    const struct vm_insn *insn = &t->code[pc];
    uint32_t fields[3] = {insn->a, insn->b, insn->c};
    *kept = VM_CAN_ALL;
    for (uint32_t i = 0; i < shape->sources; i++) {
        const struct vm_operand *operand = &shape->source[i];
        const uint8_t *can = t->state + place_of(t, fields[i]);
        if (operand->can == 0) {
            uint8_t before = *kept;
            *kept &= *can;
            if (*kept == 0) return refuse_read(t, pc, fields[i], before);
        }
        for (uint32_t word = 0; word < operand->words; word++)
            if ((can[word] & operand->can) != operand->can)
                return refuse_read(t, pc, fields[i] + word, operand->can);
    }
    return VYRE_OK;
}

static vyre_status write_result(struct types *t, const struct vm_shape *shape, uint32_t pc,
                                uint8_t kept)
{
    const struct vm_insn *insn = &t->code[pc];
    uint32_t place = place_of(t, insn->d);
    if (shape->result.can == 0 && (t->copies[pc] & ~kept) != 0) {
        t->copies[pc] &= kept;
        if (t->depth) t->frame[t->depth - 1].changed = 1;
    }
    uint8_t can = shape->result.can ? shape->result.can : kept;
    for (uint32_t word = 0; word < shape->result.words; word++) {
        uint8_t *state = &t->state[place + word];
        if (t->locked[place + word])
            return vyre_vm_reject(
                t->check, VM_AT(LOCKED, pc), "%s writes %s, counter or limit of an open loop",
                vyre_vm_row(insn->op)->name, vyre_vm_register_text(insn->d + word).text);
        if ((insn->flags & VM_MASKED) == 0) {
            *state = can;
            continue;
        }
        if ((*state & can) == 0)
            return vyre_vm_reject(
                t->check, VM_AT(MASKED, pc), "masked %s writes %s, which is %s before it",
                vyre_vm_row(insn->op)->name, vyre_vm_register_text(insn->d + word).text,
                *state ? "of another type" : "not defined for all lanes");
        *state &= can;
    }
    return VYRE_OK;
}

/* Takes from a state what the writes of a loop's body take away; says whether it was anything. */
static int weaken(struct types *t, uint8_t *state, uint32_t from, uint32_t to)
{
    uint8_t lost = 0;
    for (uint32_t pc = from; pc < to; pc++) {
        const struct vm_shape *shape = &t->check->shapes[t->code[pc].op];
        uint8_t *can = state + place_of(t, t->code[pc].d);
        uint8_t given = shape->result.can ? shape->result.can : t->copies[pc];
        for (uint32_t word = 0; word < shape->result.words; word++) {
            lost |= (uint8_t)(can[word] & ~given);
            can[word] &= given;
        }
    }
    t->looks += to - from;
    return lost != 0;
}

static void push(struct types *t, uint32_t pc)
{
    struct vm_frame frame = {pc, t->code[pc].imm, t->code[pc].op, 0, 0};
    copy_state(t, slot_of(t, t->depth), t->state);
    t->frame[t->depth++] = frame;
}

static void pop(struct types *t)
{
    uint8_t changed = t->frame[--t->depth].changed;
    if (t->depth) t->frame[t->depth - 1].changed |= changed;
}

/* The other branch begins: of a lane's if with what the first one left, of an if for all lanes at
 * once with what was before. */
static void turn(struct types *t)
{
    uint8_t *slot = slot_of(t, t->depth - 1);
    uint8_t lockstep = t->frame[t->depth - 1].op == VM_OP_IF ? 0 : VM_CAN_ALL;
    for (uint32_t i = t->first; i < t->count; i++) {
        uint8_t first = t->state[i];
        t->state[i] = (uint8_t)(slot[i] & (first | lockstep));
        slot[i] = first;
    }
}

static void lock(struct types *t, const struct vm_insn *loop, int by)
{
    t->locked[place_of(t, loop->d)] = (uint16_t)(t->locked[place_of(t, loop->d)] + by);
    t->locked[place_of(t, loop->b)] = (uint16_t)(t->locked[place_of(t, loop->b)] + by);
}

/* The slot of a loop is what its body begins with, but for the counter. */
static void begin_round(struct types *t)
{
    const struct vm_frame *loop = &t->frame[t->depth - 1];
    copy_state(t, t->state, slot_of(t, t->depth - 1));
    t->state[place_of(t, t->code[loop->pc].d)] = VM_CAN_U;
}

static vyre_status open_loop(struct types *t, uint32_t pc)
{
    const struct vm_insn *insn = &t->code[pc];
    if (t->locked[place_of(t, insn->d)])
        return vyre_vm_reject(t->check, VM_AT(LOCKED, pc),
                              "%s counts with %s, counter or limit of an open loop",
                              vyre_vm_row(insn->op)->name, vyre_vm_register_text(insn->d).text);
    push(t, pc);
    weaken(t, slot_of(t, t->depth - 1), pc, insn->imm);
    lock(t, insn, 1);
    begin_round(t);
    return VYRE_OK;
}

/* Returns the next instruction: the body's first one where it must be looked at again. */
static uint32_t close_loop(struct types *t, uint32_t pc)
{
    struct vm_frame *loop = &t->frame[t->depth - 1];
    uint8_t *slot = slot_of(t, t->depth - 1);
    if (loop->changed && weaken(t, slot, loop->pc, pc)) {
        begin_round(t);
        return loop->pc + 1;
    }
    copy_state(t, t->state, slot);
    lock(t, &t->code[loop->pc], -1);
    pop(t);
    return pc + 1;
}

/* *next: where to go on. */
static vyre_status control(struct types *t, uint32_t pc, uint32_t *next)
{
    switch (t->code[pc].op) {
    case VM_OP_IF:
    case VM_OP_IFLEAVE:
    case VM_OP_JZ:
        push(t, pc);
        return VYRE_OK;
    case VM_OP_JUMP:
        t->frame[t->depth - 1].end = t->code[pc].imm;
        turn(t);
        return VYRE_OK;
    case VM_OP_ELSE:
        turn(t);
        return VYRE_OK;
    case VM_OP_ENDIF:
        join(t, slot_of(t, t->depth - 1));
        pop(t);
        return VYRE_OK;
    case VM_OP_LOOP:
    case VM_OP_VLOOP:
        return open_loop(t, pc);
    case VM_OP_NEXT:
    case VM_OP_VNEXT:
        *next = close_loop(t, pc);
        return VYRE_OK;
    default:
        return VYRE_OK;
    }
}

static vyre_status walk(struct types *t)
{
    uint64_t most = (uint64_t)LOOKS * t->header->code_count;
    uint32_t pc = 0;
    while (pc < t->header->code_count) {
        const struct vm_shape *shape = &t->check->shapes[t->code[pc].op];
        uint32_t next = pc + 1;
        uint8_t kept;
        while (t->depth && t->frame[t->depth - 1].op == VM_OP_JZ &&
               t->frame[t->depth - 1].end == pc) {
            join(t, slot_of(t, t->depth - 1));
            pop(t);
        }
        if (++t->looks > most)
            return vyre_vm_reject(t->check, VM_AT(SETTLE, pc),
                                  "%llu looks at %u instructions and the types still change",
                                  (unsigned long long)most, (unsigned)t->header->code_count);
        vyre_status status = read_sources(t, shape, pc, &kept);
        if (!status && shape->control)
            status = control(t, pc, &next);
        else if (!status && shape->result.words != 0)
            status = write_result(t, shape, pc, kept);
        if (status) return status;
        pc = next;
    }
    return VYRE_OK;
}

/* A constant is any bits; as a float it must not be subnormal, nobody would flush it. */
static uint8_t constant_can(uint32_t bits)
{
    uint8_t can = VM_CAN_U;
    if (bits <= 1) can |= VM_CAN_B;
    if ((bits & 0x7F800000u) != 0 || (bits & 0x007FFFFFu) == 0) can |= VM_CAN_F;
    return can;
}

static size_t round_up(size_t bytes)
{
    return (bytes + 15u) / 16u * 16u;
}

size_t vyre_vm_types_bytes(const struct vm_check *check)
{
    size_t count = (size_t)check->header->scalar_count + check->header->register_count;
    return round_up(sizeof(struct types)) + round_up(2 * count) +
           round_up(count * ((size_t)check->deepest + 1) + check->header->code_count);
}

vyre_status vyre_vm_check_types(struct vm_check *check, void *scratch)
{
    const struct vm_header *h = check->header;
    struct types *t = (struct types *)scratch;
    unsigned char *rest = (unsigned char *)scratch + round_up(sizeof *t);
    t->check = check;
    t->header = h;
    t->code = check->code;
    t->first = h->constant_count;
    t->count = h->scalar_count + h->register_count;
    t->locked = (uint16_t *)(void *)rest;
    t->state = rest + round_up(2 * (size_t)t->count);
    t->slots = t->state + t->count;
    t->copies = t->slots + (size_t)t->count * check->deepest;
    memset(t->copies, VM_CAN_ALL, h->code_count);
    for (uint32_t i = 0; i < h->constant_count; i++)
        t->state[i] = constant_can(check->constants[i]);
    return walk(t);
}
