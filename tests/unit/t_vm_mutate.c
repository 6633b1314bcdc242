/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Good blocks with one field changed by chance, and programs that are all chance but well nested.
 * Whatever the verifier says, it must not crash and not change the block; what it lets pass must
 * keep its promises along random paths (vm_walk.h).
 */
#include "tap.h"
#include "vm_build.h"
#include "vm_walk.h"

#define MUTATIONS 100000u
#define PATHS     6u

static uint64_t state;

static uint32_t chance(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

/* Straight code over every kind of operand. */
static struct vm_header *straight(void)
{
    struct vmb b = vmb_begin(5, 3, 1);
    vmb_buffer(&b, VM_BUFFER_READ, 4, 64);
    vmb_buffer(&b, VM_BUFFER_WRITTEN, 4, 64);
    vmb_buffer(&b, VM_BUFFER_READ | VM_BUFFER_WRITTEN | VM_BUFFER_SHARED, 16, 64);
    vmb_buffer(&b, VM_BUFFER_READ | VM_BUFFER_WRITTEN | VM_BUFFER_ATOMIC, 4, 64);
    vmb_buffer(&b, VM_BUFFER_READ | VM_BUFFER_SCALAR, 4, 4);
    uint16_t half = vmb_f(&b, 0.5f);
    vmb_f(&b, 0.25f);
    vmb_f(&b, -1.0f);
    uint16_t zero = vmb_u(&b, 0), one = vmb_u(&b, 1);
    vmb_op(&b, VM_OP_GLOBALID, R(0), 0, 0, 0, 0);
    vmb_op(&b, VM_OP_LD32, S(0), zero, 0, 0, 4);
    vmb_op(&b, VM_OP_MAD, R(1), R(0), S(0), one, 0);
    vmb_op(&b, VM_OP_LDF32, R(2), R(1), 0, 0, 0);
    vmb_op(&b, VM_OP_FMULADD, R(2), R(2), half, R(2), 0);
    vmb_op(&b, VM_OP_FPOLY4, R(2), half, R(2), half, 0); /* with the first four constants */
    vmb_op(&b, VM_OP_FSIN, R(2), R(2), 0, 0, 0);
    vmb_op(&b, VM_OP_FLT, R(3), R(2), half, 0, 0);
    vmb_op(&b, VM_OP_BNOT, R(3), R(3), 0, 0, 0);
    vmb_op(&b, VM_OP_SELECT, R(2), R(3), R(2), half, 0);
    vmb_op(&b, VM_OP_LD128, R(4), zero, 0, 0, 2);
    vmb_op(&b, VM_OP_DMUL, R(4), R(4), R(6), 0, 0);
    vmb_op(&b, VM_OP_ST128, 0, one, R(4), 0, 2);
    vmb_op(&b, VM_OP_ATCAS, R(8), R(1), R(4), one, 3);
    vmb_op(&b, VM_OP_SGADD, R(9), R(8), 0, 0, 0);
    vmb_op(&b, VM_OP_IDIV, R(8), R(9), R(1), 0, 0);
    vmb_op(&b, VM_OP_STF32, 0, R(0), R(2), 0, 1);
    vmb_op(&b, VM_OP_COPYTO, 0, zero, one, 0, 1u << 16 | 3u);
    vmb_op(&b, VM_OP_PRINT, 0, R(8), S(0), 0, 4);
    vmb_control(&b, VM_OP_BARRIER);
    return vmb_end(&b);
}

/* Variables that change in ifs and loops of all kinds. */
static struct vm_header *branches(void)
{
    struct vmb b = vmb_begin(64, 1, 1);
    uint16_t zero = vmb_u(&b, 0), ten = vmb_u(&b, 10), half = vmb_f(&b, 0.5f);
    vmb_op(&b, VM_OP_LOCALID, R(0), 0, 0, 0, 0);
    vmb_op(&b, VM_OP_GROUPID, S(0), 0, 0, 0, 0);
    vmb_op(&b, VM_OP_MOV, R(1), zero, 0, 0, 0);
    vmb_op(&b, VM_OP_MOV, R(2), half, 0, 0, 0);
    vmb_loop(&b, S(1), zero, ten);
    vmb_op(&b, VM_OP_LT, R(3), R(0), S(1), 0, 0);
    vmb_ifleave(&b, R(3));
    vmb_if(&b, R(1));
    vmb_masked(&b, VM_OP_FADD, R(2), R(2), half, 0, 0);
    vmb_op(&b, VM_OP_F2BITS, R(4), R(2), 0, 0, 0);
    vmb_else(&b);
    vmb_op(&b, VM_OP_ADD, R(4), R(0), S(1), 0, 0);
    vmb_control(&b, VM_OP_RET);
    vmb_endif(&b);
    vmb_masked(&b, VM_OP_MOV, R(1), R(4), 0, 0, 0);
    vmb_vloop(&b, R(5), zero, R(4));
    vmb_jz(&b, S(0));
    vmb_op(&b, VM_OP_ADD, R(3), R(5), R(1), 0, 0);
    vmb_jelse(&b);
    vmb_op(&b, VM_OP_MOV, R(3), R(5), 0, 0, 0);
    vmb_jend(&b);
    vmb_masked(&b, VM_OP_XOR, R(1), R(1), R(3), 0, 0);
    vmb_vnext(&b);
    vmb_endif(&b);
    vmb_next(&b);
    vmb_jz(&b, S(0));
    vmb_control(&b, VM_OP_BARRIER);
    vmb_loop(&b, S(1), S(0), ten);
    vmb_op(&b, VM_OP_MOV, R(3), R(2), 0, 0, 0);
    vmb_leave(&b, S(0));
    vmb_op(&b, VM_OP_FADD, R(2), R(3), R(3), 0, 0);
    vmb_control(&b, VM_OP_STEP);
    vmb_next(&b);
    vmb_jend(&b);
    vmb_op(&b, VM_OP_NOT, R(1), R(1), 0, 0, 0);
    vmb_op(&b, VM_OP_FNEG, R(2), R(2), 0, 0, 0);
    return vmb_end(&b);
}

static uint32_t other_value(uint32_t value)
{
    switch (chance(7)) {
    case 0:
        return value + 1;
    case 1:
        return value - 1;
    case 2:
        return value ^ 1u << chance(32);
    case 3:
        return value ^ VM_SCALAR;
    case 4:
        return chance(16);
    case 5:
        return VM_SCALAR | chance(8);
    default:
        return chance(0x7FFFFFFF);
    }
}

/* Changes one field somewhere, most often of an instruction. */
static void mutate(struct vm_header *block, const struct vm_header *good)
{
    uint32_t where = chance(16);
    if (where == 0) {
        uint32_t *words = (uint32_t *)(void *)block;
        uint32_t word = chance(sizeof *block / 4);
        words[word] = other_value(words[word]);
    } else if (where == 1 && good->buffer_count) {
        uint32_t *words = (uint32_t *)(void *)((char *)block + good->buffer_offset);
        uint32_t word = chance(6 * good->buffer_count);
        words[word] = other_value(words[word]);
    } else {
        struct vm_insn *insn = (struct vm_insn *)(void *)((char *)block + good->code_offset) +
                               chance(good->code_count);
        uint16_t *fields = &insn->op;
        uint32_t field = chance(8);
        if (field == 0)
            insn->op = (uint16_t)chance(VM_OPCODES);
        else if (field < 6)
            fields[field] = (uint16_t)other_value(fields[field]);
        else
            insn->imm = other_value(insn->imm);
    }
}

/* What does not change the costs by itself is more telling with the costs right again. */
static void repair(struct vm_header *block, const struct vm_header *good)
{
    uint32_t facts[VMB_BUFFERS];
    if (memcmp(block, good, sizeof *block) != 0) return;
    vmb_costs(vmb_at(block, 0), block->code_count);
    block->flags = vyre_vm_derive(block, facts);
}

static const char *walk_all(struct vm_walk *walk, const struct vm_header *block)
{
    const char *broken = NULL;
    for (uint32_t i = 0; i < PATHS && !broken; i++)
        broken = vm_walk(walk, block, (uint64_t)chance(0x7FFFFFFF) << 20 | i);
    return broken;
}

static void check_mutants(struct vyre_memory *memory, struct vm_header *good, const char *name)
{
    struct vm_walk *walk = malloc(sizeof *walk);
    char *before = malloc(good->bytes), *block = aligned_alloc(64, (good->bytes + 63u) / 64u * 64u);
    uint32_t passed = 0, broken_walks = 0, changed = 0, silent = 0, caught = 0;
    vyre_error err;
    if (!walk || !before || !block) bail("no memory");
    ok(vyre_vm_verify(memory, good, good->bytes, &err) == VYRE_OK, "%s passes", name);
    for (uint32_t i = 0; i < MUTATIONS / 2; i++) {
        struct vm_header *mutant = (struct vm_header *)(void *)block;
        memcpy(block, good, good->bytes);
        for (uint32_t n = 0; n <= (i & 1); n++)
            mutate(mutant, good);
        if (i % 4 < 2) repair(mutant, good);
        memcpy(before, block, good->bytes);
        vyre_status status = vyre_vm_verify(memory, mutant, good->bytes, i % 8 ? NULL : &err);
        changed += memcmp(before, block, good->bytes) != 0;
        silent += status != VYRE_OK && i % 8 == 0 && (err.status != status || !err.message[0]);
        int whole = mutant->code_offset == good->code_offset &&
                    mutant->code_count == good->code_count && mutant->buffer_count <= VMB_BUFFERS &&
                    mutant->buffer_offset == good->buffer_offset &&
                    mutant->constant_offset == good->constant_offset &&
                    mutant->constant_count == good->constant_count &&
                    mutant->buffer_count == good->buffer_count;
        if (status != VYRE_OK) {
            if (whole && i % 8 == 0) caught += walk_all(walk, mutant) != NULL;
            continue;
        }
        passed++;
        const char *broken = walk_all(walk, mutant);
        if (broken && broken_walks++ < 3) note("mutant %u passed, but: %s", (unsigned)i, broken);
    }
    note("%s: %u mutants passed; of every eighth that did not, the walk found %u bad, too", name,
         (unsigned)passed, (unsigned)caught);
    ok(passed > 500, "%s: some mutants pass", name);
    ok(caught > 500, "%s: the walk can find bad ones", name);
    is_u64(broken_walks, 0, "%s: what passes keeps its promises", name);
    is_u64(changed, 0, "%s: no block is changed", name);
    is_u64(silent, 0, "%s: every refusal says why", name);
    free(walk);
    free(before);
    free(block);
    free(good);
}

/* One instruction over 6 registers and 3 scalars, of which any may be undefined or another type. */
static void random_op(struct vmb *b)
{
    static const uint16_t ops[] = {VM_OP_ADD, VM_OP_EQ,     VM_OP_FADD, VM_OP_MOV,    VM_OP_MOV,
                                   VM_OP_MOV, VM_OP_SELECT, VM_OP_BNOT, VM_OP_F2BITS, VM_OP_BITS2F};
    struct vm_shape shape;
    uint32_t op = ops[chance(sizeof ops / sizeof ops[0])];
    uint32_t fields[4] = {0};
    int scalar = chance(4) == 0;
    vyre_vm_shape(op, &shape);
    for (uint32_t i = 0; i <= shape.sources; i++) {
        int constant = i > 0 && chance(4) == 0;
        fields[i] = scalar || (i > 0 && chance(5) == 0) ? S(chance(3)) : R(chance(6));
        if (constant) fields[i] = vmb_u(b, chance(3) == 0 ? 0x3F000000u : chance(3));
    }
    uint32_t pc = vmb_op(b, op, fields[0], fields[1], fields[2], fields[3], 0);
    if (!scalar && chance(2)) b->code[pc].flags = VM_MASKED;
}

static void random_list(struct vmb *b, uint32_t depth);

static void random_construct(struct vmb *b, uint32_t depth)
{
    uint32_t kind = chance(5);
    uint16_t counter = kind == 2 ? S(3 + depth) : R(6 + depth);
    switch (kind) {
    case 0:
        vmb_if(b, R(chance(6)));
        random_list(b, depth + 1);
        if (chance(2)) vmb_else(b), random_list(b, depth + 1);
        vmb_endif(b);
        break;
    case 1:
        vmb_jz(b, S(chance(3)));
        random_list(b, depth + 1);
        if (chance(2)) vmb_jelse(b), random_list(b, depth + 1);
        vmb_jend(b);
        break;
    case 2: {
        int leave = chance(2) == 0;
        vmb_loop(b, counter, vmb_u(b, 0), vmb_u(b, 9));
        random_list(b, depth + 1);
        if (leave) vmb_ifleave(b, R(chance(6)));
        if (leave) random_list(b, depth + 1);
        if (leave) vmb_endif(b);
        vmb_next(b);
        break;
    }
    case 3:
        vmb_vloop(b, counter, vmb_u(b, 0), vmb_u(b, 9));
        random_list(b, depth + 1);
        vmb_vnext(b);
        break;
    default:
        vmb_control(b, chance(3) ? VM_OP_STEP : VM_OP_RET);
    }
}

static void random_list(struct vmb *b, uint32_t depth)
{
    for (uint32_t count = chance(4); count > 0; count--) {
        if (depth < 4 && chance(3) == 0)
            random_construct(b, depth);
        else
            random_op(b);
    }
}

static void check_random(struct vyre_memory *memory, uint32_t programs)
{
    struct vm_walk *walk = malloc(sizeof *walk);
    struct vmb *b = malloc(sizeof *b);
    uint32_t passed = 0, caught = 0, refused = 0, broken_walks = 0;
    if (!walk || !b) bail("no memory");
    for (uint32_t i = 0; i < programs; i++) {
        *b = vmb_begin(8, 1, 1);
        for (uint32_t n = 0; n < 9; n++) /* all defined; a zero may be taken for anything */
            vmb_op(b, VM_OP_MOV, n < 6 ? R(n) : S(n - 6), vmb_u(b, chance(6) ? 0 : 7), 0, 0, 0);
        for (uint32_t n = 0; n < 3; n++)
            random_list(b, 0);
        struct vm_header *block = vmb_end(b);
        vyre_status status = vyre_vm_verify(memory, block, block->bytes, NULL);
        const char *broken = walk_all(walk, block);
        passed += status == VYRE_OK;
        refused += status != VYRE_OK;
        caught += status != VYRE_OK && broken;
        if (!status && broken && broken_walks++ < 3) note("program %u: %s", (unsigned)i, broken);
        free(block);
    }
    note("%u random programs passed; of %u that did not, the walk found %u bad, too",
         (unsigned)passed, (unsigned)refused, (unsigned)caught);
    ok(passed > programs / 20, "some random programs pass");
    ok(caught > programs / 20, "some random programs do not, with reason");
    is_u64(broken_walks, 0, "random programs that pass keep their promises");
    free(b);
    free(walk);
}

int main(int argc, char **argv)
{
    struct vyre_memory memory;
    vyre_error err;
    state = tap_seed(argc, argv);
    if (vyre_memory_init(&memory, NULL, &err)) bail("%s", err.message);
    check_mutants(&memory, straight(), "straight code");
    check_mutants(&memory, branches(), "code with branches");
    check_random(&memory, 20000);
    is_u64(vyre_memory_live(&memory), 0, "nothing is left behind");
    return done();
}
