/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Native operations: C functions of the embedding program under user opcodes, and what they may ask
 * while they run; on a GPU device functions that are linked with the resident kernel.
 */
#include "device/builtin_run.h"
#include "device/system.h"
#include "runtime/internal.h"
#include "runtime/options.h"
#include "wire/opcode.h"

#define ALL_ARGS ((1u << VYRE_SLOT_ARGS) - 1)

static vyre_status check_image(const vyre *runtime, const vyre_operation_options *options,
                               vyre_error *err)
{
    if (options->run)
        return vyre_fail_with(err, VYRE_E_CONFLICT, "set run to NULL, or image",
                              "an operation is a C function or an image, not both");
    if (!options->function || options->function[0] == '\0' || options->image_bytes == 0)
        return vyre_fail_with(err, VYRE_E_CONFLICT,
                              "set image_bytes to its length and function to the function's name",
                              "an image without its length or the name of its function");
    if (runtime->backend->id == VYRE_BACKEND_CUDA) return VYRE_OK;
    return vyre_fail_with(err, VYRE_E_UNSUPPORTED,
                          "give a C function as run, or open the runtime with VYRE_BACKEND_CUDA",
                          "the %s backend runs no CUDA code", runtime->backend->name);
}

/* Where a C function can be called: by threads of this process alone. */
static vyre_status check_place(const vyre *runtime, vyre_error *err)
{
    if (runtime->backend->id != VYRE_BACKEND_CPU)
        return vyre_fail_with(
            err, VYRE_E_UNSUPPORTED, "give the operation as image, image_bytes and function",
            "C functions run on the cpu backend only, not on %s", runtime->backend->name);
    if (runtime->port == &vyre_port_local) return VYRE_OK;
    return vyre_fail_with(err, VYRE_E_UNSUPPORTED,
                          "open the runtime with place VYRE_PLACE_PROCESS, or load a program",
                          "a device host cannot call a C function of this process");
}

static vyre_status check(const vyre *runtime, const vyre_operation_options *options,
                         vyre_error *err)
{
    if (!options->run && !options->image) return vyre_fail(err, VYRE_E_NULL, "run is null");
    if (!vyre_opcode_is_user(options->opcode)) {
        vyre_fail(err, VYRE_E_WIRE_OPCODE, "%u (0x%x) is not a user opcode", options->opcode,
                  options->opcode);
        vyre_fail_fix(err, "use 8 to 0xFFEF, or 0x10000 to 0x7FFFFFFF");
        return VYRE_E_WIRE_OPCODE;
    }
    vyre_status status = options->tenant == VYRE_TENANT_ANY
                             ? VYRE_OK
                             : vyre_tenant_check(runtime, options->tenant, err);
    if (status) return status;
    if ((options->read_handles | options->write_handles) & ~ALL_ARGS)
        return vyre_fail(err, VYRE_E_RANGE,
                         "handle masks 0x%x and 0x%x name arguments past the %uth",
                         options->read_handles, options->write_handles, VYRE_SLOT_ARGS);
    return options->image ? check_image(runtime, options, err) : check_place(runtime, err);
}

/* Frees an operation that is not in the list. */
void vyre_operation_release(vyre_operation *operation)
{
    vyre_memory_free(&operation->runtime->memory, operation, sizeof *operation);
}

static vyre_status install(vyre_operation *operation, const vyre_operation_options *options,
                           vyre_error *err)
{
    vyre *runtime = operation->runtime;
    uint64_t function = (uint64_t)(uintptr_t)options->run;
    vyre_status status = VYRE_OK;
    if (options->image) {
        struct vyre_native_image image = {options->image, options->image_bytes, options->function};
        status = runtime->port->link(runtime, &image, &function, err);
    }
    if (status) return status;
    pthread_mutex_lock(&runtime->system.lock);
    status = vyre_handle_take(runtime, &operation->handle, err);
    pthread_mutex_unlock(&runtime->system.lock);
    if (status) return status;
    uint64_t ctx = (uint64_t)(uintptr_t)options->ctx;
    uint32_t args[VYRE_SLOT_ARGS] = {
        operation->handle,      DEV_OPERATION,
        options->tenant,        0,
        (uint32_t)function,     (uint32_t)(function >> 32),
        (uint32_t)ctx,          (uint32_t)(ctx >> 32),
        options->opcode,        options->read_handles,
        options->write_handles, options->steps,
    };
    uint32_t result;
    status = vyre_system_call(runtime, DEV_SYS_INSTALL, args, &result, err);
    if (!status && result)
        status = vyre_fail(err, VYRE_E_EXISTS, "opcode %u (0x%x) is taken by another operation",
                           options->opcode, options->opcode);
    pthread_mutex_lock(&runtime->system.lock);
    if (status) {
        vyre_handle_give(runtime, operation->handle);
    } else {
        operation->next = runtime->operations;
        runtime->operations = operation;
    }
    pthread_mutex_unlock(&runtime->system.lock);
    return status;
}

vyre_status vyre_operation_register(vyre *runtime, const vyre_operation_options *options,
                                    vyre_operation **out, vyre_error *err)
{
    vyre_operation_options chosen = VYRE_OPERATION_OPTIONS_INIT;
    void *memory;
    if (!runtime) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    if (!options) return vyre_fail(err, VYRE_E_NULL, "options is null");
    if (!out) return vyre_fail(err, VYRE_E_NULL, "operation is null");
    vyre_status status =
        vyre_options_read(&chosen, options, sizeof chosen, "vyre_operation_options", err);
    if (!status) status = check(runtime, &chosen, err);
    if (status) return status;
    if (vyre_runtime_stopped(runtime)) return vyre_runtime_refuse(runtime, err);
    status =
        vyre_memory_alloc(&runtime->memory, 1, sizeof(vyre_operation), "operation", &memory, err);
    if (status) return status;
    vyre_operation *operation = memory;
    operation->runtime = runtime;
    status = install(operation, &chosen, err);
    if (status) {
        vyre_operation_release(operation);
        return status;
    }
    *out = operation;
    return VYRE_OK;
}

vyre_status vyre_operation_unregister(vyre_operation *operation, vyre_error *err)
{
    if (!operation) return VYRE_OK;
    vyre *runtime = operation->runtime;
    uint32_t args[VYRE_SLOT_ARGS] = {operation->handle};
    uint32_t result;
    vyre_status status = vyre_runtime_refuse_worker(runtime, "vyre_operation_unregister", err);
    if (status) return status;
    status = vyre_system_call(runtime, DEV_SYS_DROP, args, &result, NULL);
    if (status) vyre_runtime_await_stop(runtime); /* then no worker is left that could call it */
    pthread_mutex_lock(&runtime->system.lock);
    vyre_operation **link = &runtime->operations;
    while (*link != operation)
        link = &(*link)->next;
    *link = operation->next;
    vyre_handle_give(runtime, operation->handle);
    pthread_mutex_unlock(&runtime->system.lock);
    vyre_operation_release(operation);
    return VYRE_OK;
}

vyre_status vyre_call_buffer(const vyre_call *call, uint32_t index, void **memory, size_t *bytes,
                             vyre_error *err)
{
    if (!call) return vyre_fail(err, VYRE_E_NULL, "call is null");
    if (!memory) return vyre_fail(err, VYRE_E_NULL, "memory is null");
    const struct dev_native_call *native = (const struct dev_native_call *)(const void *)call;
    if (index >= VYRE_SLOT_ARGS ||
        ((native->read_handles | native->write_handles) >> index & 1) == 0) {
        vyre_fail(err, VYRE_E_RANGE, "argument %u was not registered as a handle", index);
        vyre_fail_fix(err, "set its bit in read_handles or write_handles when registering");
        return VYRE_E_RANGE;
    }
    const struct dev_handle *handle = dev_handle_held(native->call->rt, call->args[index]);
    *memory = (void *)(uintptr_t)handle->address;
    if (bytes) *bytes = (size_t)handle->bytes;
    return VYRE_OK;
}

int vyre_call_cancelled(const vyre_call *call)
{
    if (!call) return 0;
    const struct dev_native_call *native = (const struct dev_native_call *)(const void *)call;
    return dev_call_stopped(native->call) != 0;
}
