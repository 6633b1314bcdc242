/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Handles and opcodes: what is found and what is refused, that a slot holds exactly what it names
 * and gives exactly that back, and the opcode map against a plain list.
 */
#include "device_fixture.h"

static uint32_t nothing(vyre_call *call)
{
    (void)call;
    return 0;
}

static void expect(struct fixture *f, uint32_t handle, uint32_t rights, uint32_t fault,
                   const char *what)
{
    uint32_t got = 12345;
    struct dev_handle *entry = dev_handle_find(&f->rt, handle, DEV_BUFFER, 1, rights, &got);
    is_u64(got, fault, "%s", what);
    ok(entry == (fault ? NULL : &f->rt.handles[handle & 0xFFFFu]), "%s: the entry", what);
}

static void test_find(struct fixture *f)
{
    uint32_t mine = fixture_buffer(f, 3, 1, 16), other = fixture_buffer(f, 4, 2, 16);
    uint32_t last = fixture_buffer(f, FIXTURE_HANDLES - 1, 1, 16);
    uint32_t shared = fixture_buffer(f, 5, VYRE_TENANT_ANY, 16);
    fixture_operation(f, 6, 300, nothing);
    expect(f, mine, VYRE_RIGHT_READ, 0, "a buffer");
    expect(f, mine, VYRE_RIGHT_READ | VYRE_RIGHT_WRITE, 0, "with both rights");
    expect(f, mine, 0, 0, "with none");
    expect(f, last, VYRE_RIGHT_READ, 0, "the last place");
    expect(f, shared, VYRE_RIGHT_WRITE, 0, "everybody's");
    expect(f, other, VYRE_RIGHT_READ, VYRE_FAULT_HANDLE_RIGHTS, "another tenant's");
    expect(f, 0, 0, VYRE_FAULT_BAD_HANDLE, "handle 0");
    expect(f, mine + 0x10000u, 0, VYRE_FAULT_BAD_HANDLE, "a later generation");
    expect(f, mine - 0x10000u, 0, VYRE_FAULT_BAD_HANDLE, "an earlier one");
    expect(f, mine & 0xFFFFu, 0, VYRE_FAULT_BAD_HANDLE, "none");
    expect(f, mine + 7, 0, VYRE_FAULT_BAD_HANDLE, "a free place");
    expect(f, 1u << 16 | 6, 0, VYRE_FAULT_BAD_HANDLE, "an operation");
    expect(f, last + 1, 0, VYRE_FAULT_BAD_HANDLE, "the place after the last");
    expect(f, ~0u, 0, VYRE_FAULT_BAD_HANDLE, "far out");
    f->rt.handles[3].rights = VYRE_RIGHT_READ;
    expect(f, mine, VYRE_RIGHT_READ, 0, "one that can be read");
    expect(f, mine, VYRE_RIGHT_WRITE, VYRE_FAULT_HANDLE_RIGHTS, "but not written");
    expect(f, mine, VYRE_RIGHT_READ | VYRE_RIGHT_WRITE, VYRE_FAULT_HANDLE_RIGHTS, "nor both");
    f->rt.handles[3].state = DEV_DROPPING;
    expect(f, mine, 0, 0, "one that is being given back, for a slot from before");
    f->rt.late = 1;
    expect(f, mine, 0, VYRE_FAULT_BAD_HANDLE, "the same for a later slot");
    f->rt.late = 0;
    f->rt.handles[3].state = DEV_DYING;
    expect(f, mine, 0, VYRE_FAULT_BAD_HANDLE, "one that was given back");
    uint32_t fault;
    ok(dev_handle_find(&f->rt, 0, DEV_FREE, 1, 0, &fault) == NULL && fault == VYRE_FAULT_BAD_HANDLE,
       "a free place is never found");
}

/* Holds a slot, compares the counts of handles 0..7 with a list, drops it, compares with 0. */
static void holds(struct fixture *f, const uint32_t *slot, const uint32_t *counts, const char *what)
{
    struct dev_hold hold;
    uint32_t wrong = 0;
    is_u64(dev_slot_hold(&f->rt, slot, 1, &hold), 0, "%s: held", what);
    for (uint32_t i = 0; i < 8; i++)
        wrong += f->rt.handles[i].refs != counts[i];
    is_u64(wrong, 0, "%s: everything as often as it is named", what);
    dev_slot_drop(&f->rt, slot, hold.operation);
    is_u64(fixture_holds(f), 0, "%s: and dropped", what);
}

static void test_plain_slots(struct fixture *f)
{
    uint32_t a = fixture_buffer(f, 1, 1, 16), b = fixture_buffer(f, 2, 1, 16);
    struct dev_handle *operation = fixture_operation(f, 7, 500, nothing);
    operation->read_handles = 1u << 0 | 1u << 11 | 1u << 12 | 1u << 31; /* 12 and 31: no argument */
    operation->write_handles = 1u << 3;
    struct dev_hold hold;

    uint32_t store[16] = {0, VYRE_OP_STORE_U32, 0, 0, a, b};
    holds(f, store, (const uint32_t[8]){0}, "a slot without handles");
    uint32_t dfa[16] = {0, VYRE_OP_DFA_STEP, 0, 0, a, 0, b};
    holds(f, dfa, (const uint32_t[8]){0, 1, 1}, "DFA_STEP");
    dfa[6] = a;
    holds(f, dfa, (const uint32_t[8]){0, 2}, "DFA_STEP with one buffer twice");
    uint32_t native[16] = {0, 500, 0, 0, a, 0, 0, b, 0, 0, 0, 0, 0, 0, 0, a};
    holds(f, native, (const uint32_t[8]){0, 2, 1, 0, 0, 0, 0, 1}, "a native operation");
    is_u64(dev_slot_hold(&f->rt, native, 1, &hold), 0, "it is held");
    is_u64(hold.operation, 7, "and its place is told");
    dev_slot_drop(&f->rt, native, hold.operation);

    f->rt.handles[2].rights = VYRE_RIGHT_READ;
    is_u64(dev_slot_hold(&f->rt, native, 1, &hold), VYRE_FAULT_HANDLE_RIGHTS,
           "a buffer that it may not write");
    is_u64(fixture_holds(f), 0, "nothing is left held");
    native[15] = 0;
    f->rt.handles[2].rights = VYRE_RIGHT_WRITE;
    is_u64(dev_slot_hold(&f->rt, native, 1, &hold), VYRE_FAULT_BAD_HANDLE, "a bad last argument");
    is_u64(fixture_holds(f), 0, "nothing is left held");
    is_u64(hold.pc, 0, "pc is 0 in a plain slot");
    is_u64(dev_slot_hold(&f->rt, native, 2, &hold), VYRE_FAULT_HANDLE_RIGHTS, "another tenant");
    native[1] = 501;
    is_u64(dev_slot_hold(&f->rt, native, 1, &hold), VYRE_FAULT_UNKNOWN_OPCODE, "another opcode");
    native[1] = 500;
    operation->state = DEV_DROPPING;
    f->rt.late = 1;
    is_u64(dev_slot_hold(&f->rt, native, 1, &hold), VYRE_FAULT_UNKNOWN_OPCODE,
           "an operation that is being taken away");
    f->rt.late = 0;
    operation->state = DEV_DYING;
    is_u64(dev_slot_hold(&f->rt, native, 1, &hold), VYRE_FAULT_UNKNOWN_OPCODE,
           "an operation that was taken away");
}

static void test_packed_slots(struct fixture *f)
{
    uint32_t a = fixture_buffer(f, 1, 1, 16), b = fixture_buffer(f, 2, 1, 16);
    struct dev_handle *first = fixture_operation(f, 3, 8, nothing);
    struct dev_handle *second = fixture_operation(f, 4, 255, nothing);
    first->read_handles = 1u << 1;
    second->write_handles = 1u << 0;
    /* Operations 8, 255, 8, NOP with arguments at 0, 2, 3, 5; the header has three words. */
    uint32_t slot[16] = {0,
                         VYRE_OP_PACKED_SLOT,
                         0,
                         0,
                         4 | 5u << 8 | 8u << 16,
                         255 | 2u << 8 | 8u << 16 | 3u << 24,
                         5u << 8,
                         0,
                         a,
                         b,
                         0,
                         a};
    struct dev_hold hold;
    holds(f, slot, (const uint32_t[8]){0, 2, 1, 2, 1}, "a packed slot");
    slot[11] = 0;
    is_u64(dev_slot_hold(&f->rt, slot, 1, &hold), VYRE_FAULT_BAD_HANDLE, "its third handle is bad");
    is_u64(hold.pc, 2, "which is told");
    is_u64(fixture_holds(f), 0, "nothing is left held");
    slot[11] = a;
    second->owner = 2;
    is_u64(dev_slot_hold(&f->rt, slot, 1, &hold), VYRE_FAULT_UNKNOWN_OPCODE,
           "its second operation is another tenant's");
    is_u64(hold.pc, 1, "which is told");
    is_u64(fixture_holds(f), 0, "nothing is left held");
    slot[4] = 23 | 1u << 8;
    is_u64(dev_slot_hold(&f->rt, slot, 1, &hold), VYRE_FAULT_PACKED_FORM, "a form that is none");
    is_u64(fixture_holds(f), 0, "nothing is left held");
}

/* An operation that is taken away while a slot holds it stays findable for the drop. */
static void test_dying(struct fixture *f)
{
    uint32_t a = fixture_buffer(f, 1, 1, 16);
    struct dev_handle *operation = fixture_operation(f, 3, 9, nothing);
    uint32_t slot[16] = {0, VYRE_OP_PACKED_SLOT, 0, 0, 1 | 1u << 8 | 9u << 16, a};
    struct dev_hold hold;
    operation->read_handles = 1;
    is_u64(dev_slot_hold(&f->rt, slot, 1, &hold), 0, "a packed slot holds an operation");
    operation->state = DEV_DYING;
    f->rt.handles[1].state = DEV_DYING;
    dev_slot_drop(&f->rt, slot, hold.operation);
    is_u64(fixture_holds(f), 0, "and drops it although both are dying");
}

/* Random insertions and removals; a list of all opcodes in use says what must be found. */
static void test_map(struct fixture *f, uint64_t *seed)
{
    uint32_t opcode[FIXTURE_HANDLES], inside[FIXTURE_HANDLES] = {0}, wrong = 0, many = 0;
    f->rt.opcode_map_size = FIXTURE_HANDLES; /* so that it can be full */
    for (uint32_t i = 0; i < FIXTURE_HANDLES; i++) {
        /* One byte, neighbours, equal low bits, and anything. */
        uint32_t value = fixture_random(seed);
        opcode[i] = i % 4 == 0   ? 8 + i
                    : i % 4 == 1 ? 0x40000000u + i
                    : i % 4 == 2 ? 0x10000u * (i + 1)
                                 : (value & 0x7FFF0000u) + 0x10000u + i;
        f->rt.handles[i].kind = DEV_OPERATION;
        f->rt.handles[i].owner = i % 8 == 7 ? 2 : VYRE_TENANT_ANY;
        f->rt.handles[i].opcode = opcode[i];
    }
    for (uint32_t n = 0; n < 40000; n++) {
        uint32_t i = fixture_random(seed) % FIXTURE_HANDLES, in_use = 0;
        uint32_t grow = n / 1000 % 2 ? 4 : 1; /* now mostly in, now mostly out */
        if (fixture_random(seed) % 5 < grow) {
            wrong += dev_opcode_insert(&f->rt, i) != (inside[i] == 0);
            inside[i] = 1;
        } else {
            dev_opcode_remove(&f->rt, opcode[i]);
            inside[i] = 0;
        }
        for (uint32_t k = 0; k < FIXTURE_HANDLES; k++) {
            uint32_t expected = inside[k] ? k : DEV_NONE, owner = f->rt.handles[k].owner;
            wrong += dev_opcode_find(&f->rt, opcode[k], 2) != expected;
            wrong += dev_opcode_find(&f->rt, opcode[k], 1) != (owner == 2 ? DEV_NONE : expected);
            in_use += inside[k];
        }
        many += in_use > FIXTURE_HANDLES * 3 / 4;
    }
    is_u64(wrong, 0, "40000 changes of the opcode map");
    ok(many > 1000, "often it is more than three quarters full");
    is_u64(dev_opcode_find(&f->rt, 0x7FFFFFFFu, 1), DEV_NONE, "an opcode that never was there");
    for (uint32_t i = 0; i < FIXTURE_HANDLES; i++)
        f->rt.handles[i].kind = DEV_FREE;
}

/* A map of two places is full with two: the third is refused, not lost in a search without end. */
static void test_full_map(struct fixture *f)
{
    f->rt.opcode_map_size = 2;
    for (uint32_t i = 0; i < 3; i++)
        f->rt.handles[i].opcode = 1000 + i;
    ok(dev_opcode_insert(&f->rt, 0) && dev_opcode_insert(&f->rt, 1), "two fit");
    ok(!dev_opcode_insert(&f->rt, 2), "a third does not");
    is_u64(dev_opcode_find(&f->rt, 1002, VYRE_TENANT_ANY), DEV_NONE, "and is not found");
    dev_opcode_remove(&f->rt, 1002);
    dev_opcode_remove(&f->rt, 1000);
    ok(dev_opcode_insert(&f->rt, 2), "there is room again");
    ok(!dev_opcode_insert(&f->rt, 2), "but not for the same opcode twice");
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    void (*const tests[])(struct fixture *) = {test_find, test_plain_slots, test_packed_slots,
                                               test_dying, test_full_map};
    struct fixture f;
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        fixture_open(&f, 16);
        tests[i](&f);
        fixture_close(&f);
    }
    fixture_open(&f, 16);
    test_map(&f, &seed);
    fixture_close(&f);
    return done();
}
