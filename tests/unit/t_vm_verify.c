/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every rule of the verifier: a block that passes, and neighbours of it that break that rule and no
 * other. The list of tests comes from rules_vm.def, so a rule without a test does not compile.
 */
#include "vm_rules_block.h"
#include "vm_rules_code.h"

struct rule_test {
    uint32_t number;
    const char *name;
    const char *sentence;
    vyre_status status;
    struct vm_header *(*make)(uint32_t variant);
};

static const struct rule_test rule_tests[] = {
#define VM_RULE(number, name, status, text, fix) {number, #name, text, VYRE_##status, rule_##name},
#include "vm/rules_vm.def"
};

/* Block and size as the case wants them given to the verifier. */
static vyre_status judge(struct vyre_memory *memory, struct vm_header *block, vyre_error *err)
{
    if (err) memset(err, 0, sizeof *err);
    return vyre_vm_verify(memory, (struct vm_header *)(void *)((char *)block + given.shift),
                          given.bytes ? given.bytes : block->bytes, err);
}

static void check_rule(struct vyre_memory *memory, const struct rule_test *test)
{
    char code[8];
    snprintf(code, sizeof code, "B%03u:", (unsigned)test->number);
    for (uint32_t variant = 0;; variant++) {
        vyre_error err;
        given.bytes = 0;
        given.shift = 0;
        struct vm_header *block = test->make(variant);
        if (!block) {
            ok(variant > 1, "%s has a bad neighbour", test->name);
            return;
        }
        vyre_status status = judge(memory, block, &err);
        if (variant == 0) {
            is_u64((uint32_t)status, VYRE_OK, "%s: the good block passes", test->name);
            if (status) note("%s", err.message);
        } else {
            ok(status == test->status && strncmp(err.message, code, 5) == 0 && err.fix[0] &&
                   err.status == status && err.place_kind != VYRE_PLACE_NONE,
               "%s: bad block %u: %s", test->name, (unsigned)variant,
               status ? err.message : "passed");
            is_u64((uint32_t)judge(memory, block, NULL), (uint32_t)status, "the same without err");
        }
        free(block);
    }
}

static void *no_memory(void *ctx, size_t bytes, size_t alignment)
{
    (void)ctx, (void)bytes, (void)alignment;
    return NULL;
}

static void no_free(void *ctx, void *pointer, size_t bytes)
{
    (void)ctx, (void)pointer, (void)bytes;
}

/* It allocates once: without memory it says so, and only after what needs none has been checked. */
static void check_no_memory(void)
{
    vyre_allocator hooks = {.alloc = no_memory, .free = no_free};
    struct vyre_memory memory;
    struct vm_header *block = plain();
    vyre_error err;
    if (vyre_memory_init(&memory, &hooks, &err)) bail("%s", err.message);
    is_u64((uint32_t)vyre_vm_verify(&memory, block, block->bytes, &err), (uint32_t)VYRE_E_NO_MEMORY,
           "without memory a good block is not verified");
    block->lanes++;
    is_u64((uint32_t)vyre_vm_verify(&memory, block, block->bytes, &err),
           (uint32_t)VYRE_E_VM_INVALID, "a bad one is still refused");
    free(block);
}

static void check_arguments(struct vyre_memory *memory)
{
    struct vm_header *block = plain();
    vyre_error err;
    is_u64((uint32_t)vyre_vm_verify(NULL, block, block->bytes, &err), (uint32_t)VYRE_E_NULL,
           "no memory");
    is_u64((uint32_t)vyre_vm_verify(memory, NULL, 80, &err), (uint32_t)VYRE_E_NULL, "no block");
    is_u64(vyre_memory_live(memory), 0, "the verifier leaves nothing behind");
    free(block);
}

int main(void)
{
    struct vyre_memory memory;
    vyre_error err;
    if (vyre_memory_init(&memory, NULL, &err)) bail("%s", err.message);
    for (size_t i = 0; i < sizeof rule_tests / sizeof rule_tests[0]; i++)
        check_rule(&memory, &rule_tests[i]);
    check_arguments(&memory);
    check_no_memory();
    return done();
}
