/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A second opinion on a block that the verifier lets pass: runs it along random paths, without
 * values, and checks at every step what the verifier promised. Conditions fall by chance for each
 * lane; registers hold, for each lane, what their bits may be taken for. Shares nothing with the
 * verifier but the table of instructions.
 *
 * vm_walk gives NULL, or the promise that was broken.
 */
#ifndef VYRE_TESTS_VM_WALK_H
#define VYRE_TESTS_VM_WALK_H

#include <stdint.h>
#include <string.h>

#include "vm/shape.h"
#include "vm/vm.h"

#define VM_WALK_LANES 8u
#define VM_WALK_STEPS 3000u
#define VM_WALK_ALL   ((1u << VM_WALK_LANES) - 1u)

struct vm_walk {
    const struct vm_header *program;
    uint64_t random;
    uint32_t active, returned; /* a bit for each lane */
    uint32_t masks, loops;
    uint32_t pc;
    const char *broken;
    uint8_t registers[VM_MAX_REGISTERS][VM_WALK_LANES];
    uint8_t scalars[VM_MAX_SCALARS];
    struct {
        uint32_t entered, waiting;
    } mask[VM_MAX_LEVELS];
    struct {
        uint32_t pc, counter, limit;
    } loop[VM_MAX_NESTING];
};

static inline uint32_t vm_walk_random(struct vm_walk *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (uint32_t)(w->random >> 24);
}

static inline void vm_walk_require(struct vm_walk *w, int holds, const char *what)
{
    if (!holds && !w->broken) w->broken = what;
}

/* Which words of an operand there are. */
static inline int vm_walk_range(struct vm_walk *w, uint32_t number, uint32_t words)
{
    uint32_t first = number & 0x7FFFu;
    uint32_t count = number & VM_SCALAR ? w->program->scalar_count : w->program->register_count;
    vm_walk_require(w, count <= (number & VM_SCALAR ? VM_MAX_SCALARS : VM_MAX_REGISTERS),
                    "counts are within the limits");
    vm_walk_require(w, first + words <= count, "a register is out of range");
    return !w->broken;
}

/* What lane `lane` finds in one word. */
static inline uint8_t vm_walk_can(const struct vm_walk *w, uint32_t number, uint32_t lane)
{
    return number & VM_SCALAR ? w->scalars[number & 0x7FFFu] : w->registers[number][lane];
}

static inline void vm_walk_read(struct vm_walk *w, uint32_t number,
                                const struct vm_operand *operand)
{
    if (!vm_walk_range(w, number, operand->words)) return;
    if (operand->bank == VM_BANK_VECTOR) vm_walk_require(w, !(number & VM_SCALAR), "no vector");
    if (operand->bank == VM_BANK_SCALAR) vm_walk_require(w, number & VM_SCALAR, "no scalar");
    for (uint32_t word = 0; word < operand->words; word++)
        for (uint32_t lane = 0; lane < VM_WALK_LANES; lane++) {
            uint8_t can = vm_walk_can(w, number + word, lane);
            if ((w->active >> lane & 1) == 0) continue;
            vm_walk_require(w, can != 0, "an active lane reads what was not written");
            vm_walk_require(w, (can & operand->can) == operand->can, "a value of another type");
        }
}

static inline void vm_walk_write(struct vm_walk *w, const struct vm_insn *insn,
                                 const struct vm_shape *shape)
{
    uint32_t fields[3] = {insn->a, insn->b, insn->c};
    if (!vm_walk_range(w, insn->d, shape->result.words)) return;
    for (uint32_t i = 0; i < w->loops; i++)
        for (uint32_t word = 0; word < shape->result.words; word++)
            vm_walk_require(
                w, insn->d + word != w->loop[i].counter && insn->d + word != w->loop[i].limit,
                "a loop's counter or limit is written in it");
    for (uint32_t lane = 0; lane < VM_WALK_LANES; lane++) {
        uint8_t can = shape->result.can ? shape->result.can : VM_CAN_ALL;
        for (uint32_t i = 0; i < shape->sources; i++) {
            if (shape->result.can == 0 && shape->source[i].can == 0)
                can &= vm_walk_can(w, fields[i], lane);
            vm_walk_require(w, !(insn->d & VM_SCALAR) || fields[i] & VM_SCALAR,
                            "a scalar from a vector");
        }
        if (w->active >> lane & 1) vm_walk_require(w, can != 0, "a result without a type");
        for (uint32_t word = 0; word < shape->result.words; word++) {
            if (insn->d & VM_SCALAR) {
                vm_walk_require(w, (insn->d & 0x7FFFu) >= w->program->constant_count,
                                "a constant is written");
                w->scalars[(insn->d & 0x7FFFu) + word] = can;
            } else if (!(insn->flags & VM_MASKED) || w->active >> lane & 1) {
                w->registers[insn->d + word][lane] = can;
            }
        }
    }
}

static inline void vm_walk_touch(struct vm_walk *w, uint32_t number, uint32_t flags, uint32_t width)
{
    vm_walk_require(w, number < w->program->buffer_count, "a buffer that is not there");
    if (w->broken) return;
    const struct vm_buffer *buffer = &vm_buffers(w->program)[number];
    vm_walk_require(w, (buffer->flags & flags) == flags, "a buffer is used against its flags");
    vm_walk_require(w, width == 0 || buffer->stride == 0 || buffer->stride == width,
                    "a load or store of another width");
    if (buffer->flags & VM_BUFFER_SHARED)
        vm_walk_require(w, buffer->view + buffer->bytes <= w->program->shared_bytes,
                        "workgroup memory past its end");
    else
        vm_walk_require(w, buffer->view < w->program->view_count, "no such view");
    if (flags & VM_BUFFER_ATOMIC)
        vm_walk_require(w, !(buffer->flags & VM_BUFFER_SHARED) && buffer->stride == 4, "atomics");
}

static inline void vm_walk_memory(struct vm_walk *w, const struct vm_insn *insn)
{
    static const uint8_t widths[] = {1, 2, 4, 4, 8, 16};
    uint32_t op = insn->op;
    if (op == VM_OP_COPY || op == VM_OP_COPYTO) {
        vm_walk_touch(w, insn->imm & 0xFFFFu, VM_BUFFER_READ, 0);
        vm_walk_touch(w, insn->imm >> 16, VM_BUFFER_WRITTEN, 0);
    } else if (op >= VM_OP_LD8 && op <= VM_OP_LD128) {
        vm_walk_touch(w, insn->imm, VM_BUFFER_READ, widths[op - VM_OP_LD8]);
    } else if (op >= VM_OP_ST8 && op <= VM_OP_ST128) {
        vm_walk_touch(w, insn->imm, VM_BUFFER_WRITTEN, widths[op - VM_OP_ST8]);
    } else if (op == VM_OP_ADDTO) {
        vm_walk_touch(w, insn->imm, VM_BUFFER_READ, 4);
        vm_walk_touch(w, insn->imm, VM_BUFFER_WRITTEN, 4);
    } else if (op >= VM_OP_ATADD && op <= VM_OP_ATCAS) {
        vm_walk_touch(w, insn->imm, VM_BUFFER_ATOMIC | VM_BUFFER_WRITTEN, 4);
    } else {
        vm_walk_touch(w, insn->imm, 0, 0);
        if (!w->broken)
            vm_walk_require(w, vm_buffers(w->program)[insn->imm].bits != 0, "a division by 0 bits");
    }
}

static inline void vm_walk_push(struct vm_walk *w, uint32_t go_on)
{
    vm_walk_require(w, w->masks < w->program->level_count && w->masks < VM_MAX_LEVELS,
                    "more masks than the header has");
    if (w->broken) return;
    w->mask[w->masks].entered = w->active;
    w->mask[w->masks++].waiting = w->active & ~go_on;
    w->active &= go_on;
}

static inline void vm_walk_pop(struct vm_walk *w)
{
    vm_walk_require(w, w->masks > 0, "a mask that is not open is closed");
    if (!w->broken) w->active = w->mask[--w->masks].entered & ~w->returned;
}

static inline void vm_walk_leave(struct vm_walk *w)
{
    vm_walk_require(w, w->loops > 0, "a loop that is not open is closed");
    if (!w->broken) w->loops--;
}

static inline void vm_walk_loop(struct vm_walk *w, const struct vm_insn *insn)
{
    vm_walk_require(w, w->loops < VM_MAX_NESTING, "loops too deep");
    if (w->broken) return;
    w->loop[w->loops].pc = w->pc;
    w->loop[w->loops].counter = insn->d;
    w->loop[w->loops++].limit = insn->b;
}

static inline void vm_walk_next(struct vm_walk *w, const struct vm_insn *insn)
{
    vm_walk_require(w,
                    w->loops > 0 && w->loop[w->loops - 1].pc + 1 == insn->imm &&
                        w->loop[w->loops - 1].counter == insn->d &&
                        w->loop[w->loops - 1].limit == insn->a,
                    "next and loop do not match");
}

/* The next instruction. */
static inline uint32_t vm_walk_control(struct vm_walk *w, const struct vm_insn *insn,
                                       const struct vm_shape *shape)
{
    uint32_t chance = vm_walk_random(w) & vm_walk_random(w) % 4u * 0x55u; /* often none */
    if (vm_walk_random(w) % 4 == 0) chance = VM_WALK_ALL;
    switch (insn->op) {
    case VM_OP_IF:
        vm_walk_push(w, chance);
        return w->active ? w->pc + 1 : insn->imm;
    case VM_OP_IFLEAVE:
        vm_walk_push(w, chance);
        if (w->active) return w->pc + 1;
        vm_walk_pop(w);
        vm_walk_leave(w);
        return insn->imm;
    case VM_OP_ELSE:
        vm_walk_require(w, w->masks > 0, "an else without a mask");
        if (w->broken) return 0;
        w->active = w->mask[w->masks - 1].waiting & ~w->returned;
        return w->active ? w->pc + 1 : insn->imm;
    case VM_OP_ENDIF:
        vm_walk_pop(w);
        return w->pc + 1;
    case VM_OP_JZ:
        vm_walk_require(w, insn->imm > w->pc, "a jump backwards");
        return chance & 1 ? w->pc + 1 : insn->imm;
    case VM_OP_LEAVE:
        if (chance & 1) return w->pc + 1;
        vm_walk_leave(w);
        return insn->imm;
    case VM_OP_JUMP:
        vm_walk_require(w, insn->imm > w->pc, "a jump backwards");
        return insn->imm;
    case VM_OP_LOOP:
        vm_walk_write(w, insn, shape);
        if ((chance & 1) == 0) return insn->imm;
        vm_walk_loop(w, insn);
        return w->pc + 1;
    case VM_OP_NEXT:
        vm_walk_next(w, insn);
        if (chance & 1 && w->active) return insn->imm;
        vm_walk_leave(w);
        return w->pc + 1;
    case VM_OP_VLOOP:
        vm_walk_write(w, insn, shape);
        vm_walk_push(w, chance);
        if (w->active) {
            vm_walk_loop(w, insn);
            return w->pc + 1;
        }
        vm_walk_pop(w);
        return insn->imm;
    case VM_OP_VNEXT:
        vm_walk_next(w, insn);
        w->active &= chance;
        if (w->active) return insn->imm;
        vm_walk_pop(w);
        vm_walk_leave(w);
        return w->pc + 1;
    case VM_OP_BARRIER:
        vm_walk_require(w, w->active == (VM_WALK_ALL & ~w->returned) && w->masks == 0,
                        "a barrier that not all lanes reach");
        return w->pc + 1;
    case VM_OP_RET:
        w->returned |= w->active;
        w->active = 0;
        return w->pc + 1;
    default:
        return w->pc + 1;
    }
}

static inline uint32_t vm_walk_step(struct vm_walk *w)
{
    const struct vm_insn *insn = &vm_code(w->program)[w->pc];
    uint32_t fields[3] = {insn->a, insn->b, insn->c};
    struct vm_shape shape;
    vyre_vm_shape(insn->op, &shape);
    vm_walk_require(w, shape.known, "an opcode that is not in the table");
    for (uint32_t i = 0; i < shape.sources; i++)
        vm_walk_read(w, fields[i], &shape.source[i]);
    for (uint32_t i = 0; i < shape.sources; i++)
        vm_walk_require(
            w, shape.source[i].bank != VM_BANK_RESULT || ((fields[i] ^ insn->d) & VM_SCALAR) == 0,
            "a source is not where the result is");
    for (uint32_t i = 0; i < shape.sources * shape.result.words; i++)
        for (uint32_t k = 0; k < shape.source[i % shape.sources].words; k++)
            vm_walk_require(w,
                            insn->op < VM_OP_LD8 || insn->op > VM_OP_SGBALLOT ||
                                fields[i % shape.sources] + k != insn->d + i / shape.sources,
                            "a result lies where a source does");
    if (shape.imm == VM_IMM_BUFFER) vm_walk_memory(w, insn);
    if (w->broken) return 0;
    if (shape.control) return vm_walk_control(w, insn, &shape);
    if (shape.result.words) vm_walk_write(w, insn, &shape);
    return w->pc + 1;
}

/* w: room for the walk; its contents do not matter. */
static inline const char *vm_walk(struct vm_walk *w, const struct vm_header *program, uint64_t seed)
{
    uint32_t unpaid = 0;
    memset(w, 0, sizeof *w);
    w->program = program;
    w->random = seed | 1;
    w->active = VM_WALK_ALL;
    for (uint32_t i = 0; i < program->constant_count && i < VM_MAX_SCALARS; i++) {
        uint32_t bits = vm_constants(program)[i];
        int subnormal = (bits >> 23 & 0xFFu) == 0 && bits << 9 != 0;
        w->scalars[i] =
            (uint8_t)(VM_CAN_U | (bits < 2 ? VM_CAN_B : 0) | (subnormal ? 0 : VM_CAN_F));
    }
    for (uint32_t steps = 0; steps < VM_WALK_STEPS && !w->broken; steps++) {
        const struct vm_insn *insn = &vm_code(program)[w->pc];
        unpaid++;
        if (vm_is_control(insn->op)) {
            vm_walk_require(w, insn->c >= unpaid, "a stretch that is not paid for");
            unpaid = 0;
        }
        if (insn->op == VM_OP_END) {
            vm_walk_require(w, w->pc + 1 == program->code_count, "an end before the last");
            vm_walk_require(w, w->masks == 0 && w->loops == 0, "something is open at the end");
            return w->broken;
        }
        w->pc = vm_walk_step(w);
        vm_walk_require(w, w->pc < program->code_count, "control leaves the code");
    }
    return w->broken;
}

#endif
