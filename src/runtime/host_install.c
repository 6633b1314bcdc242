/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What may become a handle. The interpreter and the built-ins check nothing that is checked here: a
 * program fits the frames, a binding set fits its program, and each of its buffers is as large as
 * the program was verified for.
 */
#include "device/system.h"
#include "device/warp_frame.h"
#include "runtime/host_server.h"
#include "wire/opcode.h"

static uint32_t check_owner(const struct host_server *server, uint32_t owner, int any)
{
    if (owner < server->core->options.max_tenants) return 0;
    return any && owner == VYRE_TENANT_ANY ? 0 : VYRE_FAULT_HANDLE_RIGHTS;
}

static uint32_t check_buffer(struct host_server *server, const uint32_t *args,
                             struct host_shadow *shadow)
{
    const struct vyre_block *block = &shadow->held[0]->block;
    uint64_t bytes = dev_pair(&args[6]);
    uint32_t rights = VYRE_RIGHT_READ | VYRE_RIGHT_WRITE | DEV_RIGHT_SEEN;
    if (block->kind != VYRE_BLOCK_DEVICE && block->kind != VYRE_BLOCK_SHARED &&
        block->kind != VYRE_BLOCK_LENT && block->kind != VYRE_BLOCK_BORROWED)
        return VYRE_FAULT_BAD_HANDLE;
    if (bytes == 0 || bytes > block->bytes || (args[3] & ~rights) != 0)
        return VYRE_FAULT_BAD_HANDLE;
    shadow->bytes = bytes;
    return check_owner(server, args[2], 0);
}

/* Some set is still for a program that had this handle before, and would take another one for it.
 */
static int has_sets(const struct host_server *server, uint32_t word)
{
    for (uint32_t i = 0; i < server->core->options.max_handles; i++) {
        const struct host_shadow *shadow = &server->handles[i];
        if (shadow->state == HOST_SHADOW_FREE || shadow->kind != DEV_BINDINGS) continue;
        const struct dev_bindings *set = shadow->held[0]->contents;
        if (set->program == word) return 1;
    }
    return 0;
}

static uint32_t check_program(struct host_server *server, const uint32_t *args,
                              const struct host_shadow *shadow)
{
    const struct host_held *held = shadow->held[0];
    if (held->block.kind != VYRE_BLOCK_PROGRAM || dev_pair(&args[6]) != held->block.bytes)
        return VYRE_FAULT_BAD_HANDLE;
    if (args[8] < DEV_PACKED_OPCODES || !vyre_opcode_is_user(args[8]))
        return VYRE_FAULT_UNKNOWN_OPCODE;
    if (server->frames.state == HOST_SHADOW_FREE ||
        dev_frame_needs(held->contents) > vyre_frame_stride(server->core))
        return VYRE_FAULT_BAD_HANDLE;
    if (has_sets(server, args[0])) return VYRE_FAULT_BAD_HANDLE;
    return check_owner(server, args[2], 1);
}

/* Whether the buffer that a set names will do for a view of the program. */
static int check_bound(const struct host_server *server, const struct dev_bound *bound,
                       const struct vm_header *program, const struct vm_buffer *view)
{
    uint32_t rights = 0;
    if (bound->handle == 0)
        return (view->flags & VM_BUFFER_SCALAR) != 0 && program->scalar_params <= DEV_SCALARS;
    if (view->flags & (VM_BUFFER_READ | VM_BUFFER_ATOMIC)) rights |= VYRE_RIGHT_READ;
    if (view->flags & (VM_BUFFER_WRITTEN | VM_BUFFER_ATOMIC)) rights |= VYRE_RIGHT_WRITE;
    uint32_t index = bound->handle & 0xFFFFu;
    if ((bound->rights & rights) != rights || index >= server->core->options.max_handles) return 0;
    const struct host_shadow *buffer = &server->handles[index];
    return buffer->state != HOST_SHADOW_FREE && buffer->kind == DEV_BUFFER &&
           buffer->word == bound->handle && buffer->bytes >= view->bytes;
}

/* The program that a set is for; NULL where the device has none under that handle. */
static const struct vm_header *program_of(const struct host_server *server, uint32_t word)
{
    uint32_t index = word & 0xFFFFu;
    if (index >= server->core->options.max_handles) return NULL;
    const struct host_shadow *named = &server->handles[index];
    if (named->state == HOST_SHADOW_FREE || named->kind != DEV_PROGRAM || named->word != word)
        return NULL;
    return named->held[0]->contents;
}

/* A set may outlive its program by a little: then no slot can run it, and check_program sees to it
 * that it stays so. */
static uint32_t check_bindings(struct host_server *server, const uint32_t *args,
                               const struct host_shadow *shadow)
{
    const struct host_held *held = shadow->held[0];
    if (held->block.kind != VYRE_BLOCK_BINDINGS) return VYRE_FAULT_BAD_HANDLE;
    const struct dev_bindings *set = held->contents;
    const struct vm_header *program = program_of(server, set->program);
    uint32_t open = 0;
    if (!program) return check_owner(server, args[2], 1);
    if (set->count != program->view_count) return VYRE_FAULT_BINDINGS;
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        const struct vm_buffer *view = &vm_buffers(program)[i];
        if (view->flags & VM_BUFFER_SHARED) continue;
        if (!check_bound(server, &set->bound[view->view], program, view))
            return VYRE_FAULT_BINDINGS;
        open += set->bound[view->view].handle == 0;
    }
    if (open != set->open_scalars) return VYRE_FAULT_BINDINGS;
    return check_owner(server, args[2], 1);
}

static uint32_t check_operation(struct host_server *server, const uint32_t *args)
{
    if (!host_function_known(server, dev_pair(&args[4]))) return VYRE_FAULT_BAD_HANDLE;
    if (!vyre_opcode_is_user(args[8])) return VYRE_FAULT_UNKNOWN_OPCODE;
    if ((args[9] | args[10]) & ~DEV_ARGS_MASK) return VYRE_FAULT_BAD_HANDLE;
    return check_owner(server, args[2], 1);
}

uint32_t host_check_install(struct host_server *server, uint32_t *args, struct host_shadow *shadow)
{
    switch (args[1]) {
    case DEV_BUFFER:
        return check_buffer(server, args, shadow);
    case DEV_OPERATION:
        return check_operation(server, args);
    case DEV_PROGRAM:
        return check_program(server, args, shadow);
    case DEV_BINDINGS:
        return check_bindings(server, args, shadow);
    default:
        return VYRE_FAULT_BAD_HANDLE;
    }
}
