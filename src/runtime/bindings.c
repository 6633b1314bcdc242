/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Binding sets: the buffers of a program's runs, checked once and known by one handle.
 *
 * Device and host keep the buffers of a set, each in its own way: the device holds their handles
 * until the drop of the set is complete, and the host sends no drop of a buffer before that.
 */
#include "device/system.h"
#include "runtime/internal.h"

/* What a set is made from. */
struct request {
    vyre_program *program;
    vyre_buffer *const *buffers;
    const char *name; /* of the buffer that is looked at */
    uint32_t index;   /* the same */
};

static uint32_t rights_needed(const struct vm_buffer *view)
{
    uint32_t rights = 0;
    if (view->flags & (VM_BUFFER_READ | VM_BUFFER_ATOMIC)) rights |= VYRE_RIGHT_READ;
    if (view->flags & (VM_BUFFER_WRITTEN | VM_BUFFER_ATOMIC)) rights |= VYRE_RIGHT_WRITE;
    return rights;
}

static vyre_status refuse_missing(const struct request *request, const struct vm_buffer *view,
                                  vyre_error *err)
{
    if (view->flags & VM_BUFFER_SCALAR)
        return vyre_fail_with(err, VYRE_E_NULL, "bind all scalar parameters to buffers",
                              "parameter %u (%.60s) is null; a slot carries %u parameters at most, "
                              "the program has %u",
                              request->index, request->name, VYRE_RUN_MAX_SCALARS,
                              request->program->code->scalar_params);
    return vyre_fail(err, VYRE_E_NULL, "buffer %u (%.60s) is null", request->index, request->name);
}

static vyre_status check_buffer(const struct request *request, const vyre_buffer *buffer,
                                const struct vm_buffer *view, vyre_error *err)
{
    const vyre_program *program = request->program;
    uint32_t needed = rights_needed(view);
    if (buffer->runtime != program->runtime)
        return vyre_fail_with(err, VYRE_E_NOT_PERMITTED, "make it in the program's runtime",
                              "buffer %u (%.60s) belongs to another runtime", request->index,
                              request->name);
    if (program->tenant != VYRE_TENANT_ANY && buffer->tenant != program->tenant)
        return vyre_fail(err, VYRE_E_NOT_PERMITTED,
                         "buffer %u (%.60s) is tenant %u's, the program is tenant %u's",
                         request->index, request->name, buffer->tenant, program->tenant);
    if ((buffer->rights & needed) != needed)
        return vyre_fail_with(err, VYRE_E_NOT_PERMITTED, "make the buffer with those rights",
                              "buffer %u (%.60s) has rights %u; the program needs %u (1 reads, "
                              "2 writes)",
                              request->index, request->name, buffer->rights, needed);
    if (buffer->block.bytes < view->bytes)
        return vyre_fail(
            err, VYRE_E_TOO_SMALL, "buffer %u (%.60s) has %zu bytes; the program asks for %llu",
            request->index, request->name, buffer->block.bytes, (unsigned long long)view->bytes);
    return VYRE_OK;
}

/* Checks all buffers; *tenant receives whose they are. */
static vyre_status check(struct request *request, uint32_t *tenant, vyre_error *err)
{
    const vyre_program *program = request->program;
    const struct vm_header *header = program->code;
    const struct ir_program *tree = program->kernel->tree;
    const vyre_buffer *first = NULL;
    *tenant = program->tenant;
    for (uint32_t i = 0; i < header->buffer_count; i++) {
        const struct vm_buffer *view = &vm_buffers(header)[i];
        const vyre_buffer *buffer = request->buffers[i];
        request->index = i;
        request->name = tree->names[tree->buffers[i].name].text;
        if (view->flags & VM_BUFFER_SHARED) {
            if (!buffer) continue;
            return vyre_fail_with(err, VYRE_E_RANGE, "pass NULL for it",
                                  "buffer %u (%.60s) is workgroup memory and is never bound", i,
                                  request->name);
        }
        if (!buffer) {
            if ((view->flags & VM_BUFFER_SCALAR) && header->scalar_params <= VYRE_RUN_MAX_SCALARS)
                continue;
            return refuse_missing(request, view, err);
        }
        vyre_status status = check_buffer(request, buffer, view, err);
        if (status) return status;
        if (!first) first = buffer;
        if (buffer->tenant != first->tenant)
            return vyre_fail(err, VYRE_E_NOT_PERMITTED,
                             "buffer %u (%.60s) is tenant %u's, others are tenant %u's", i,
                             request->name, buffer->tenant, first->tenant);
        *tenant = buffer->tenant;
    }
    return VYRE_OK;
}

static size_t set_bytes(uint32_t count)
{
    return sizeof(struct dev_bindings) + count * sizeof(struct dev_bound);
}

/* Frees a set that is in no list and that the device does not know. */
static void free_memory(vyre_bindings *bindings)
{
    struct vyre_memory *memory = &bindings->runtime->memory;
    bindings->runtime->port->block_free(bindings->runtime, &bindings->block);
    vyre_memory_free(memory, bindings->set, set_bytes(bindings->count));
    vyre_memory_free(memory, bindings->kept, bindings->count * sizeof(vyre_buffer *));
    vyre_memory_free(memory, bindings, sizeof *bindings);
}

static vyre_status get_memory(const vyre_program *program, vyre_bindings **out, vyre_error *err)
{
    struct vyre_memory *memory = &program->runtime->memory;
    uint32_t count = program->code->view_count;
    void *storage, *set = NULL, *kept = NULL;
    vyre_status status =
        vyre_memory_alloc(memory, 1, sizeof(vyre_bindings), "binding set", &storage, err);
    if (status) return status;
    vyre_bindings *bindings = storage;
    bindings->runtime = program->runtime;
    bindings->count = count;
    status = vyre_memory_alloc(memory, 1, set_bytes(count), "bound buffers", &set, err);
    bindings->set = set;
    if (!status && count != 0)
        status =
            vyre_memory_alloc(memory, count, sizeof(vyre_buffer *), "kept buffers", &kept, err);
    bindings->kept = kept;
    if (status)
        free_memory(bindings);
    else
        *out = bindings;
    return status;
}

static void fill(vyre_bindings *bindings, const struct request *request)
{
    const struct vm_header *header = request->program->code;
    bindings->program = request->program;
    bindings->set->program = request->program->handle;
    bindings->set->count = header->view_count;
    for (uint32_t i = 0; i < header->buffer_count; i++) {
        const struct vm_buffer *view = &vm_buffers(header)[i];
        vyre_buffer *buffer = request->buffers[i];
        if (view->flags & VM_BUFFER_SHARED) continue;
        struct dev_bound *bound = &bindings->set->bound[view->view];
        bindings->kept[view->view] = buffer;
        bound->rights = rights_needed(view);
        bound->handle = buffer ? buffer->handle : 0;
        bindings->set->open_scalars += buffer ? 0 : 1;
    }
}

/* (system.lock) */
static void keep(vyre_bindings *bindings)
{
    for (uint32_t i = 0; i < bindings->count; i++)
        if (bindings->kept[i]) bindings->kept[i]->drop.keepers++;
}

static void let_go(vyre_bindings *bindings)
{
    for (uint32_t i = 0; i < bindings->count; i++)
        if (bindings->kept[i]) bindings->kept[i]->drop.keepers--;
}

static vyre_status install(vyre_bindings *bindings, uint32_t tenant, vyre_error *err)
{
    vyre *runtime = bindings->runtime;
    bindings->block = (struct vyre_block){.kind = VYRE_BLOCK_BINDINGS,
                                          .bytes = set_bytes(bindings->count),
                                          .memory = &runtime->memory,
                                          .what = "bound buffers"};
    vyre_status status = runtime->port->block_make(runtime, &bindings->block, bindings->set, err);
    if (status) return status;
    pthread_mutex_lock(&runtime->system.lock);
    status = vyre_handle_take(runtime, &bindings->handle, err);
    if (!status) keep(bindings);
    pthread_mutex_unlock(&runtime->system.lock);
    if (status) return status;
    uint64_t address = bindings->block.address;
    uint32_t args[VYRE_SLOT_ARGS] = {
        bindings->handle, DEV_BINDINGS, tenant, 0, (uint32_t)address, (uint32_t)(address >> 32),
    };
    uint32_t result;
    status = vyre_system_call(runtime, DEV_SYS_INSTALL, args, &result, err);
    if (!status && result)
        status = vyre_fail(err, VYRE_E_INTERNAL, "the device refused the binding set: %s",
                           vyre_fault_text((enum vyre_fault)result));
    pthread_mutex_lock(&runtime->system.lock);
    if (status) {
        vyre_handle_give(runtime, bindings->handle);
        let_go(bindings);
    } else {
        bindings->program->sets++;
        bindings->next = runtime->bindings;
        runtime->bindings = bindings;
    }
    pthread_mutex_unlock(&runtime->system.lock);
    return status;
}

vyre_status vyre_bindings_create(vyre_program *program, vyre_buffer *const *buffers, size_t count,
                                 vyre_bindings **out, vyre_error *err)
{
    struct request request = {program, buffers, NULL, 0};
    vyre_bindings *bindings;
    uint32_t tenant;
    if (!program) return vyre_fail(err, VYRE_E_NULL, "program is null");
    if (!buffers && count != 0) return vyre_fail(err, VYRE_E_NULL, "buffers is null");
    if (!out) return vyre_fail(err, VYRE_E_NULL, "bindings is null");
    uint32_t declared = program->code->buffer_count;
    if (count != declared)
        return vyre_fail_with(err, VYRE_E_RANGE, "give one for each, NULL where none is bound",
                              "%zu buffers for a program that declares %u", count, declared);
    vyre_status status = check(&request, &tenant, err);
    if (status) return status;
    if (vyre_runtime_stopped(program->runtime)) return vyre_runtime_refuse(program->runtime, err);
    status = get_memory(program, &bindings, err);
    if (status) return status;
    fill(bindings, &request);
    status = install(bindings, tenant, err);
    if (status) {
        free_memory(bindings);
        return status;
    }
    *out = bindings;
    return VYRE_OK;
}

/* Frees a set that no slot uses any more. (system.lock) */
void vyre_bindings_release(void *subject)
{
    vyre_bindings *bindings = subject;
    vyre *runtime = bindings->runtime;
    vyre_bindings **link = &runtime->bindings;
    while (*link != bindings)
        link = &(*link)->next;
    *link = bindings->next;
    vyre_handle_give(runtime, bindings->handle);
    let_go(bindings);
    free_memory(bindings);
}

void vyre_bindings_free(vyre_bindings *bindings)
{
    if (!bindings) return;
    vyre *runtime = bindings->runtime;
    pthread_mutex_lock(&runtime->system.lock);
    bindings->program->sets--;
    pthread_mutex_unlock(&runtime->system.lock);
    bindings->drop.handle = bindings->handle;
    bindings->drop.subject = bindings;
    bindings->drop.release = vyre_bindings_release;
    vyre_system_drop(runtime, &bindings->drop);
}

uint32_t vyre_bindings_handle(const vyre_bindings *bindings)
{
    return bindings ? bindings->handle : 0;
}
