/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Finding the CUDA driver, and saying what it refused.
 */
#include "backend/cuda/driver.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libcuda.so.1"

const struct vyre_cuda_driver *vyre_cuda_driver_override;

/* What a result means to the caller, and what helps. */
struct remedy {
    int result;
    vyre_status status;
    const char *fix;
};

static const struct remedy remedies[] = {
    {VYRE_CU_OUT_OF_MEMORY, VYRE_E_NO_MEMORY,
     "free memory of the GPU (`nvidia-smi` shows who has it), or ask for less"},
    {VYRE_CU_STUB_LIBRARY, VYRE_E_UNSUPPORTED,
     "take the toolkit's stubs directory out of LD_LIBRARY_PATH and install the driver"},
    {VYRE_CU_DEVICE_UNAVAILABLE, VYRE_E_BUSY,
     "end the process that has the GPU (`nvidia-smi`), or as root: `nvidia-smi -c DEFAULT`"},
    {VYRE_CU_NO_DEVICE, VYRE_E_NO_DEVICE,
     "see `nvidia-smi -L`; CUDA_VISIBLE_DEVICES hides GPUs; a container needs `--gpus all`"},
    {VYRE_CU_INVALID_DEVICE, VYRE_E_NO_DEVICE, "run `vyre info` to see which GPUs there are"},
    {VYRE_CU_NO_JIT_COMPILER, VYRE_E_UNSUPPORTED,
     "install libnvidia-ptxjitcompiler.so.1 of the driver's version"},
    {VYRE_CU_UNSUPPORTED_PTX, VYRE_E_UNSUPPORTED,
     "install a driver of series " VYRE_CUDA_LEAST_SERIES " or newer"},
    {VYRE_CU_SYSTEM_NOT_READY, VYRE_E_UNSUPPORTED,
     "start the fabric manager: `systemctl start nvidia-fabricmanager`"},
    {VYRE_CU_DRIVER_MISMATCH, VYRE_E_UNSUPPORTED,
     "restart the machine: kernel module and libcuda are of different versions"},
    {VYRE_CU_COMPAT_NOT_SUPPORTED, VYRE_E_UNSUPPORTED,
     "install the driver itself; the compatibility package does not support this GPU"},
    {VYRE_CU_MPS_CONNECTION_FAILED, VYRE_E_UNSUPPORTED,
     "start the MPS daemon (`nvidia-cuda-mps-control -d`), or unset CUDA_MPS_PIPE_DIRECTORY"},
};

static const struct remedy *remedy_of(int result)
{
    static const struct remedy other = {
        0, VYRE_E_SYSTEM,
        "see `nvidia-smi` for the GPU's state, and `dmesg | grep NVRM` for the reason"};
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++)
        if (remedies[i].result == result) return &remedies[i];
    return &other;
}

const char *vyre_cuda_result_name(const struct vyre_cuda_driver *driver, int result)
{
    const char *name = NULL;
    if (driver->cuGetErrorName(result, &name) || !name) return "an unknown CUDA error";
    return name;
}

vyre_status vyre_fail_cuda(const struct vyre_cuda_driver *driver, vyre_error *err, int result,
                           const char *format, ...)
{
    const struct remedy *remedy = remedy_of(result);
    if (!err) return remedy->status;
    char what[VYRE_ERROR_MESSAGE_BYTES];
    const char *text = NULL;
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (driver->cuGetErrorString(result, &text) || !text) text = "no text";
    vyre_fail_with(err, remedy->status, remedy->fix, "%.120s: %s (%s)", what, text,
                   vyre_cuda_result_name(driver, result));
    err->domain = VYRE_DOMAIN_CUDA;
    err->code = result;
    return remedy->status;
}

typedef int (*get_proc_fn)(const char *symbol, void **function, int version, uint64_t flags,
                           int *found);

struct symbol {
    const char *name;
    int version;
    size_t offset;
};

static const struct symbol symbols[] = {
#define CUDA_API(name, version, parameters, use)                                                   \
    {#name, version, offsetof(struct vyre_cuda_driver, name)},
#include "backend/cuda/cuda_api.def"
#undef CUDA_API
};

static vyre_status resolve(struct vyre_cuda_driver *driver, get_proc_fn get, vyre_error *err)
{
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        const struct symbol *symbol = &symbols[i];
        void *function = NULL;
        int found = 0;
        int result = get(symbol->name, &function, symbol->version, 0, &found);
        if (result || !function)
            return vyre_fail_with(err, VYRE_E_UNSUPPORTED,
                                  "install a driver of series " VYRE_CUDA_LEAST_SERIES " or newer",
                                  LIBRARY " has no %s of CUDA %d.%d", symbol->name,
                                  symbol->version / 1000, symbol->version % 1000 / 10);
        memcpy((char *)driver + symbol->offset, &function, sizeof function);
    }
    return VYRE_OK;
}

static vyre_status refuse_version(int version, vyre_error *err)
{
    return vyre_fail_with(err, VYRE_E_UNSUPPORTED,
                          "install a driver of series " VYRE_CUDA_LEAST_SERIES " or newer",
                          "the driver supports CUDA %d.%d; %d.%d (series " VYRE_CUDA_LEAST_SERIES
                          ") or newer is needed",
                          version / 1000, version % 1000 / 10, VYRE_CUDA_LEAST_VERSION / 1000,
                          VYRE_CUDA_LEAST_VERSION % 1000 / 10);
}

/* The version is asked for first: an old driver shall say that it is old, not what it lacks. */
static vyre_status load(struct vyre_cuda_driver *driver, vyre_error *err)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        return vyre_fail_with(err, VYRE_E_UNSUPPORTED,
                              "install the NVIDIA driver, series " VYRE_CUDA_LEAST_SERIES
                              " or newer; a container needs `--gpus all`",
                              "there is no CUDA driver here: %.160s",
                              why ? why : LIBRARY " cannot be opened");
    }
    int (*get_version)(int *);
    void *symbol = dlsym(library, "cuDriverGetVersion");
    int version = 0;
    memcpy(&get_version, &symbol, sizeof symbol);
    if (symbol) get_version(&version);
    get_proc_fn get;
    symbol = dlsym(library, "cuGetProcAddress_v2");
    memcpy(&get, &symbol, sizeof symbol);
    if (version < VYRE_CUDA_LEAST_VERSION || !symbol) return refuse_version(version, err);
    return resolve(driver, get, err);
}

vyre_status vyre_cuda_driver_open(struct vyre_cuda_driver *driver, vyre_error *err)
{
    vyre_status status = VYRE_OK;
    if (vyre_cuda_driver_override)
        *driver = *vyre_cuda_driver_override;
    else
        status = load(driver, err);
    if (status) return status;
    int result = driver->cuDriverGetVersion(&driver->version);
    if (result) return vyre_fail_cuda(driver, err, result, "asking for the driver's version");
    if (driver->version < VYRE_CUDA_LEAST_VERSION) return refuse_version(driver->version, err);
    result = driver->cuInit(0);
    return result ? vyre_fail_cuda(driver, err, result, "initialising the CUDA driver") : VYRE_OK;
}
