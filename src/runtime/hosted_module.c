/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Native operations for a GPU in a device host. Their images are kept, in the order in which they
 * were linked, so that a restart can link them again; the runtime knows them by numbers of its own,
 * whatever the present host calls them.
 */
#include <string.h>
#include <unistd.h>

#include "runtime/hosted.h"

static void fill_module(struct hosted_call *call, struct host_module *out,
                        const struct hosted_module *module, const int *fd)
{
    memset(out, 0, sizeof *out);
    out->bytes = module->bytes;
    memcpy(out->function, module->function, sizeof out->function);
    call->sending = (struct host_sending){.type = HOST_MODULE,
                                          .payload = out,
                                          .payload_bytes = sizeof *out,
                                          .fds = fd,
                                          .fd_count = 1};
    call->room = sizeof(struct host_number);
}

static vyre_status make_module(vyre *runtime, const struct vyre_native_image *image,
                               struct hosted_module **out, vyre_error *err)
{
    void *memory, *copy;
    vyre_status status = vyre_memory_alloc(&runtime->memory, 1, sizeof(struct hosted_module),
                                           "native operation", &memory, err);
    if (status) return status;
    struct hosted_module *module = memory;
    status = vyre_memory_alloc(&runtime->memory, 1, image->length, "native operation", &copy, err);
    if (status) {
        vyre_memory_free(&runtime->memory, module, sizeof *module);
        return status;
    }
    memcpy(copy, image->bytes, image->length);
    strncpy(module->function, image->function, sizeof module->function - 1);
    module->image = copy;
    module->bytes = image->length;
    *out = module;
    return VYRE_OK;
}

vyre_status vyre_hosted_link(vyre *runtime, const struct vyre_native_image *image, uint64_t *number,
                             vyre_error *err)
{
    struct vyre_hosted *hosted = runtime->hosted;
    struct hosted_module *module;
    struct host_module out;
    int fd = -1;
    if (strlen(image->function) >= sizeof module->function || image->length > HOST_MODULE_BYTES)
        return vyre_fail(err, VYRE_E_RANGE,
                         "a function's name has at most %zu bytes, and an image %u",
                         sizeof module->function - 1, HOST_MODULE_BYTES);
    vyre_status status = make_module(runtime, image, &module, err);
    if (status) return status;
    struct hosted_call call = {.answer = &module->linked, .module = module};
    status = vyre_hosted_file(module->image, module->bytes, &fd, err);
    if (!status) {
        fill_module(&call, &out, module, &fd);
        status = vyre_hosted_call(hosted, &call, 0, err);
        close(fd);
    }
    if (!status) {
        *number = module->number;
        return VYRE_OK;
    }
    vyre_memory_free(&runtime->memory, module->image, module->bytes);
    vyre_memory_free(&runtime->memory, module, sizeof *module);
    return status;
}

vyre_status vyre_hosted_modules_again(struct vyre_hosted *hosted, vyre_error *err)
{
    vyre_status status = VYRE_OK;
    for (struct hosted_module *m = hosted->modules; m && !status; m = m->next) {
        struct hosted_call call = {.answer = &m->linked};
        struct host_module out;
        int fd;
        status = vyre_hosted_file(m->image, m->bytes, &fd, err);
        if (status) break;
        fill_module(&call, &out, m, &fd);
        status = vyre_hosted_ask(hosted, &call, err);
        close(fd);
    }
    return status;
}

void vyre_hosted_modules_free(struct vyre_hosted *hosted)
{
    struct vyre_memory *memory = &hosted->runtime->memory;
    while (hosted->modules) {
        struct hosted_module *module = hosted->modules;
        hosted->modules = module->next;
        vyre_memory_free(memory, module->image, module->bytes);
        vyre_memory_free(memory, module, sizeof *module);
    }
}
