/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The verifier's entry, and how it says no. The interpreter checks nothing that is checked here: a
 * block that passes never leads it outside its registers, scalars, masks, buffers or code, and
 * every way round a loop pays.
 */
#include "vm/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct rule_row {
    uint32_t number;
    vyre_status status;
    const char *fix;
};

static const struct rule_row rule_rows[] = {
#define VM_RULE(number, name, status, text, fix) {number, VYRE_##status, fix},
#include "vm/rules_vm.def"
};

vyre_status vyre_vm_reject(struct vm_check *check, struct vm_site site, const char *format, ...)
{
    const struct rule_row *row = rule_rows;
    while (row->number != (uint32_t)site.rule)
        row++;
    if (!check->err) return row->status;
    char text[VYRE_ERROR_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    vyre_fail_at(check->err, row->status, site.place_kind, site.place, "B%03u: %.*s",
                 (unsigned)site.rule, VYRE_ERROR_MESSAGE_BYTES - 8, text);
    vyre_fail_fix(check->err, "%s", row->fix);
    return row->status;
}

struct vm_register_text vyre_vm_register_text(uint32_t number)
{
    struct vm_register_text name;
    snprintf(name.text, sizeof name.text, "%c%u", number & VM_SCALAR ? 's' : 'r',
             (unsigned)(number & (VM_SCALAR - 1u)));
    return name;
}

static vyre_status check_code(struct vm_check *check)
{
    uint32_t count = check->header->code_count;
    struct vm_flow flow;
    flow.depth = flow.levels = flow.control = 0;
    if (check->code[count - 1].op != VM_OP_END)
        return vyre_vm_reject(check, VM_AT(END, count - 1),
                              "the last of %u instructions has opcode %u, not end", (unsigned)count,
                              (unsigned)check->code[count - 1].op);
    for (uint32_t pc = 0; pc < count; pc++) {
        vyre_status status = vyre_vm_check_form(check, pc);
        if (!status) status = vyre_vm_check_flow(check, &flow, pc);
        if (status) return status;
    }
    return VYRE_OK;
}

/* What the header says about the whole program, against the code. */
static vyre_status check_facts(struct vm_check *check, uint32_t *buffers)
{
    static const char *const names[] = {"PURE", "BARRIER", "ATOMIC", "SUBGROUP", "LONG"};
    uint32_t said = check->header->flags;
    uint32_t found = vyre_vm_derive(check->header, buffers);
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint32_t bit = (uint32_t)VM_PROGRAM_PURE << i;
        int missing = bit != VM_PROGRAM_PURE && (found & ~said & bit) != 0;
        if (!missing && (said & ~found & bit) == 0) continue;
        return vyre_vm_reject(check, VM_AT_BYTE(FACTS, offsetof(struct vm_header, flags)),
                              "the header's flags 0x%x %s %s, the code says otherwise",
                              (unsigned)said, missing ? "lack" : "have", names[i]);
    }
    return VYRE_OK;
}

vyre_status vyre_vm_verify(struct vyre_memory *memory, const struct vm_header *block, size_t bytes,
                           vyre_error *err)
{
    struct vm_check check;
    void *scratch = NULL;
    if (!memory || !block) return vyre_fail(err, VYRE_E_NULL, "the memory or the block is NULL");
    memset(&check, 0, sizeof check);
    check.header = block;
    check.err = err;
    vyre_status status = vyre_vm_check_block(&check, bytes);
    if (!status) status = check_code(&check);
    if (status) return status;
    size_t types = vyre_vm_types_bytes(&check);
    size_t size = types + 4u * (size_t)block->buffer_count;
    status = vyre_memory_alloc(memory, 1, size, "the verifier", &scratch, err);
    if (status) return status;
    status = vyre_vm_check_types(&check, scratch);
    if (!status)
        status = check_facts(&check, (uint32_t *)(void *)((unsigned char *)scratch + types));
    vyre_memory_free(memory, scratch, size);
    return status;
}
