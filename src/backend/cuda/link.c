/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The resident kernel and the native operations of the embedding program, linked into one module.
 * The kernel calls a native operation by its number, through a table that a few generated lines of
 * PTX define: number 0 is none. Every change links everything again and swaps the module while no
 * kernel runs; where that fails the old module stays.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "backend/cuda/image.h"
#include "backend/cuda/run.h"

#define LOG_BYTES ((size_t)16 << 10)
#define STUB_HEAD 512u /* of the generated PTX, without its functions */
#define STUB_EACH 384u /* for each function */

/* The table of native functions, as PTX.
 * ------------------------------------------------------------------------------------------- */

static size_t stub_bytes(const struct vyre_cuda_module *module)
{
    size_t bytes = STUB_HEAD;
    for (const struct vyre_cuda_native *n = module->natives; n; n = n->next)
        bytes += STUB_EACH;
    return bytes;
}

static size_t stub_write(const struct vyre_cuda_module *module, char *text, size_t bytes)
{
    uint32_t count = 1;
    size_t used = (size_t)snprintf(text, bytes, ".version 7.0\n.target sm_75\n.address_size 64\n");
    for (const struct vyre_cuda_native *n = module->natives; n; n = n->next, count++)
        used += (size_t)snprintf(text + used, bytes - used,
                                 ".extern .func (.param .b32 code) %s (.param .b64 call);\n",
                                 n->function);
    used += (size_t)snprintf(text + used, bytes - used,
                             ".visible .global .align 4 .u32 vyre_native_count = %u;\n"
                             ".visible .global .align 8 .u64 vyre_native_table[%u] = {0",
                             count, count);
    for (const struct vyre_cuda_native *n = module->natives; n; n = n->next)
        used += (size_t)snprintf(text + used, bytes - used, ", %s", n->function);
    used += (size_t)snprintf(text + used, bytes - used, "};\n");
    return used + 1; /* the NUL belongs to it */
}

/* Linking.
 * ------------------------------------------------------------------------------------------- */

struct linker {
    struct vyre_backend_run *run;
    void *state;
    char *log;
    char *stub;
    size_t stub_bytes;
};

/* What the linker wrote goes to the log line by line, its first line into the message. */
static vyre_status refuse(struct linker *linker, int result, const char *what, vyre_error *err)
{
    char *log = linker->log;
    char first[100] = "";
    log[LOG_BYTES - 1] = '\0';
    for (char *line = log, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end) *end++ = '\0';
        if (!*line) continue;
        vyre_log_line(linker->run->log, VYRE_LOG_ERROR, "linker: %s", line);
        if (!first[0]) snprintf(first, sizeof first, ": %s", line);
    }
    vyre_status status =
        vyre_fail_cuda(&linker->run->driver, err, result, "linking %.20s%s", what, first);
    if (status == VYRE_E_SYSTEM)
        vyre_fail_fix(err, "compile it with nvcc -rdc=true, as PTX or for this GPU, and with all "
                           "functions that it calls; the log has the linker's lines");
    return status;
}

static vyre_status add_all(struct linker *linker, vyre_error *err)
{
    struct vyre_backend_run *run = linker->run;
    const struct vyre_cuda_driver *driver = &run->driver;
    struct vyre_cuda_image kernel =
        vyre_cuda_image_for(run->device.compute_major, run->device.compute_minor);
    int result = driver->cuLinkAddData(linker->state, kernel.type, (void *)(uintptr_t)kernel.bytes,
                                       kernel.length, "megakernel", 0, NULL, NULL);
    if (result) return refuse(linker, result, "the resident kernel", err);
    linker->stub_bytes = stub_write(&run->module, linker->stub, linker->stub_bytes);
    result = driver->cuLinkAddData(linker->state, VYRE_CU_INPUT_PTX, linker->stub,
                                   linker->stub_bytes, "table", 0, NULL, NULL);
    if (result) return refuse(linker, result, "the function table", err);
    for (struct vyre_cuda_blob *blob = run->module.blobs; blob; blob = blob->next) {
        result = driver->cuLinkAddData(linker->state, blob->type, blob->contents, blob->bytes,
                                       "operation", 0, NULL, NULL);
        if (result) return refuse(linker, result, "a native operation", err);
    }
    return VYRE_OK;
}

/* All workers must run at once: whoever waits for one that has no place would wait for ever. */
static vyre_status check_room(struct vyre_backend_run *run, void *kernel, vyre_error *err)
{
    int each = 0;
    uint32_t warps = run->device.block_warps, shared = warps * run->room_bytes;
    int result = run->driver.cuFuncSetAttribute(kernel, VYRE_CU_FUNCTION_SHARED, (int)shared);
    if (!result)
        result = run->driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &each, kernel, (int)(32u * warps), shared);
    if (result) return vyre_fail_cuda(&run->driver, err, result, "asking for the kernel's room");
    uint32_t most = (each < 0 ? 0u : (uint32_t)each) * run->device.multiprocessors;
    if (run->launch.blocks <= most) return VYRE_OK;
    uint32_t workers = most ? (most - 1) * warps : 0;
    vyre_fail(err, VYRE_E_RANGE,
              "%u workers need %u blocks at once; the kernel has room for %u on this GPU",
              run->options->workers, run->launch.blocks, most);
    vyre_fail_fix(err, "set workers to %u or less, or to VYRE_DEFAULT", workers);
    return VYRE_E_RANGE;
}

/* Loads what was linked; no kernel runs. */
static vyre_status load(struct vyre_backend_run *run, const void *cubin,
                        struct vyre_cuda_module *into, vyre_error *err)
{
    const struct vyre_cuda_driver *driver = &run->driver;
    void *module = NULL, *kernel = NULL, *clock = NULL;
    int result = driver->cuModuleLoadData(&module, cubin);
    if (result) return vyre_fail_cuda(driver, err, result, "loading the kernel");
    result = driver->cuModuleGetFunction(&kernel, module, "vyre_megakernel");
    if (!result) result = driver->cuModuleGetFunction(&clock, module, "vyre_clock");
    if (!result) result = driver->cuFuncLoad(kernel);
    if (!result) result = driver->cuFuncLoad(clock);
    vyre_status status = result
                             ? vyre_fail_cuda(driver, err, result, "loading the kernel's functions")
                             : check_room(run, kernel, err);
    if (status) {
        driver->cuModuleUnload(module);
        return status;
    }
    into->module = module;
    into->kernel = kernel;
    into->clock = clock;
    return VYRE_OK;
}

static vyre_status link_with(struct linker *linker, struct vyre_cuda_module *into, vyre_error *err)
{
    const struct vyre_cuda_driver *driver = &linker->run->driver;
    int options[] = {VYRE_CU_JIT_ERROR_LOG, VYRE_CU_JIT_ERROR_LOG_BYTES};
    void *values[] = {linker->log, (void *)(uintptr_t)LOG_BYTES};
    void *cubin = NULL;
    size_t bytes = 0;
    int result = driver->cuLinkCreate(2, options, values, &linker->state);
    if (result) return vyre_fail_cuda(driver, err, result, "starting the linker");
    vyre_status status = add_all(linker, err);
    if (!status) {
        result = driver->cuLinkComplete(linker->state, &cubin, &bytes);
        if (result) status = refuse(linker, result, "the kernel", err);
    }
    if (!status) status = load(linker->run, cubin, into, err);
    driver->cuLinkDestroy(linker->state); /* the cubin is the linker's */
    return status;
}

/* Links everything and puts the module in place of the old one. No kernel runs. */
static vyre_status build(struct vyre_backend_run *run, vyre_error *err)
{
    struct linker linker = {.run = run, .stub_bytes = stub_bytes(&run->module)};
    struct vyre_cuda_module made = run->module;
    size_t bytes = LOG_BYTES + linker.stub_bytes;
    void *memory;
    vyre_status status = vyre_memory_alloc(run->memory, 1, bytes, "linker", &memory, err);
    if (status) return status;
    linker.log = memory;
    linker.stub = linker.log + LOG_BYTES;
    status = link_with(&linker, &made, err);
    vyre_memory_free(run->memory, memory, bytes);
    if (status) return status;
    if (run->module.module) run->driver.cuModuleUnload(run->module.module);
    run->module = made;
    return VYRE_OK;
}

/* Native operations.
 * ------------------------------------------------------------------------------------------- */

static void drop_blob(struct vyre_backend_run *run, struct vyre_cuda_blob *blob)
{
    if (--blob->users > 0) return;
    struct vyre_cuda_blob **link = &run->module.blobs;
    while (*link != blob)
        link = &(*link)->next;
    *link = blob->next;
    vyre_memory_free(run->memory, blob, sizeof *blob + blob->bytes);
}

/* The image, new or known: one that is given for several functions is linked once. */
static vyre_status keep_blob(struct vyre_backend_run *run, const struct vyre_native_image *image,
                             struct vyre_cuda_blob **out, vyre_error *err)
{
    int elf = image->length >= 4 && memcmp(image->bytes, "\177ELF", 4) == 0;
    size_t bytes = image->length + (elf ? 0 : 1); /* PTX ends with a NUL */
    for (struct vyre_cuda_blob *blob = run->module.blobs; blob; blob = blob->next)
        if (blob->bytes == bytes && memcmp(blob->contents, image->bytes, image->length) == 0) {
            blob->users++;
            *out = blob;
            return VYRE_OK;
        }
    void *memory;
    vyre_status status = vyre_memory_alloc(run->memory, 1, sizeof(struct vyre_cuda_blob) + bytes,
                                           "native operation", &memory, err);
    if (status) return status;
    struct vyre_cuda_blob *blob = memory;
    blob->users = 1;
    blob->type = elf ? VYRE_CU_INPUT_CUBIN : VYRE_CU_INPUT_PTX;
    blob->bytes = bytes;
    memcpy(blob->contents, image->bytes, image->length);
    blob->next = run->module.blobs;
    run->module.blobs = blob;
    *out = blob;
    return VYRE_OK;
}

/* The name goes into PTX: it must be a name and nothing else. */
static vyre_status check_image(const struct vyre_native_image *image, vyre_error *err)
{
    const char *name = image->function;
    if (!image->bytes || image->length == 0)
        return vyre_fail_with(err, VYRE_E_RANGE, "pass PTX or a relocatable cubin",
                              "the image of a native operation is empty");
    if (!name || (!isalpha((unsigned char)name[0]) && name[0] != '_'))
        return vyre_fail_with(err, VYRE_E_RANGE, "name a function declared extern \"C\"",
                              "a native operation needs the name of its function");
    size_t length = 0;
    while (isalnum((unsigned char)name[length]) || name[length] == '_')
        length++;
    if (name[length] == '\0' && length < sizeof((struct vyre_cuda_native *)0)->function)
        return VYRE_OK;
    return vyre_fail_with(err, VYRE_E_RANGE, "name a function declared extern \"C\"",
                          "\"%.60s\" is not the name of a C function of up to 127 letters", name);
}

/* The number of a function that is linked already, or 0; *end is where the next one is put. */
static uint64_t find_native(struct vyre_backend_run *run, const struct vyre_cuda_blob *blob,
                            const char *function, struct vyre_cuda_native ***end)
{
    uint64_t number = 1;
    struct vyre_cuda_native **link = &run->module.natives;
    for (; *link; link = &(*link)->next, number++)
        if ((*link)->blob == blob && strcmp((*link)->function, function) == 0) return number;
    *end = link;
    return 0;
}

static vyre_status add_native(struct vyre_backend_run *run, struct vyre_cuda_blob *blob,
                              const char *function, struct vyre_cuda_native **link, vyre_error *err)
{
    void *memory;
    vyre_status status = vyre_memory_alloc(run->memory, 1, sizeof(struct vyre_cuda_native),
                                           "native operation", &memory, err);
    if (status) return status;
    struct vyre_cuda_native *native = memory;
    native->blob = blob;
    snprintf(native->function, sizeof native->function, "%s", function);
    *link = native;
    status = build(run, err);
    if (!status) return VYRE_OK;
    *link = NULL;
    vyre_memory_free(run->memory, native, sizeof *native);
    return status;
}

static vyre_status link_held(struct vyre_backend_run *run, const struct vyre_native_image *image,
                             uint64_t *number, vyre_error *err)
{
    struct vyre_cuda_blob *blob;
    struct vyre_cuda_native **link = NULL;
    vyre_status status = keep_blob(run, image, &blob, err);
    if (status) return status;
    uint64_t known = find_native(run, blob, image->function, &link);
    if (!known) status = add_native(run, blob, image->function, link, err);
    if (known || status) drop_blob(run, blob);
    if (status) return status;
    if (!known) known = find_native(run, blob, image->function, &link);
    *number = known;
    return VYRE_OK;
}

vyre_status vyre_cuda_link(struct vyre_backend_run *run, const struct vyre_native_image *image,
                           uint64_t *number, vyre_error *err)
{
    vyre_status status = vyre_cuda_enter(run, err);
    /* First of all: a kernel that was told to park rests until this is over. */
    if (!status) status = vyre_cuda_hold(run, err);
    if (status) return status;
    status = check_image(image, err);
    if (!status) status = link_held(run, image, number, err);
    vyre_cuda_release(run);
    return status;
}

vyre_status vyre_cuda_module_open(struct vyre_backend_run *run, vyre_error *err)
{
    return build(run, err);
}

void vyre_cuda_module_close(struct vyre_backend_run *run)
{
    while (run->module.natives) {
        struct vyre_cuda_native *native = run->module.natives;
        run->module.natives = native->next;
        drop_blob(run, native->blob);
        vyre_memory_free(run->memory, native, sizeof *native);
    }
    if (run->module.module) run->driver.cuModuleUnload(run->module.module);
    run->module.module = NULL;
}
