/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * OpenCL on the CPU by PoCL, as a peer of `vyre bench vm`: saxpy over 4 KiB arrays, one launch at a
 * time. The kernel is built and the buffers are filled before; a launch is an enqueue and a finish.
 *
 * libOpenCL is opened at run time, in a child process: PoCL brings a compiler with it and keeps
 * threads, and both shall go when the measuring is over. The child answers requests that come
 * through a socket, until that is closed.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peers.h"
#include "vm_peers.h"

/* Of CL/cl.h, what is used here. */
typedef struct cl_object *cl_object; /* platform, device, context, queue, program, kernel, buffer */
#define CL_SUCCESS         0
#define CL_TRUE            1u
#define CL_DEVICE_NAME     0x102Bu
#define CL_PLATFORM_NAME   0x0902u
#define CL_DEVICE_TYPE_ALL 0xFFFFFFFFull
#define CL_MEM_READ_WRITE  1ull

static struct {
#define OPENCL_API(name, type, args) type(*name) args;
#include "opencl_api.def"
} cl;

enum { DEVICES = 2, COUNT = VM_SAXPY_SMALL_COUNT, SAMPLES = 100000, WARM_UP = 200 };

/* The group has as many work items as vyre's workgroup has lanes. */
static const size_t global_size = COUNT;
static const size_t local_size = VM_LANES;

static const char source[] =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "__kernel void saxpy(float a, __global const float *restrict x,\n"
    "                    __global const float *restrict y, __global float *restrict out)\n"
    "{ size_t i = get_global_id(0); out[i] = a * x[i] + y[i]; }\n";

struct device {
    cl_object queue, kernel, out;
};

struct request {
    uint32_t device;
    uint64_t duration_ns;
};

/* In the child: everything that was made, or why it could not be. */
struct child {
    struct device device[DEVICES];
    struct bench_cpus cpus;
    int made;        /* it was tried */
    const char *why; /* it did not work */
    float x[COUNT], y[COUNT], a;
    uint32_t *samples;
};

struct vm_pocl {
    pid_t pid;
    int socket;
};

static const char *load_library(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return "no libOpenCL.so.1; install pocl-opencl-icd";
#define OPENCL_API(name, type, args)                                                               \
    *(void **)(void *)&cl.name = dlsym(library, #name);                                            \
    if (cl.name == NULL) return "libOpenCL.so.1 has no " #name;
#include "opencl_api.def"
    return NULL;
}

static cl_object find_platform(void)
{
    cl_object platform[16];
    uint32_t count = 0;
    if (cl.clGetPlatformIDs(16, platform, &count) != CL_SUCCESS) return NULL;
    for (uint32_t i = 0; i < count && i < 16; i++) {
        char name[128] = "";
        cl.clGetPlatformInfo(platform[i], CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
        if (strstr(name, "Portable Computing Language") != NULL) return platform[i];
    }
    return NULL;
}

static cl_object make_buffer(cl_object context, cl_object queue, const float *from)
{
    int code = 0;
    cl_object buffer =
        cl.clCreateBuffer(context, CL_MEM_READ_WRITE, COUNT * sizeof *from, NULL, &code);
    if (buffer == NULL) return NULL;
    code = cl.clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, COUNT * sizeof *from, from, 0, NULL,
                                   NULL);
    return code == CL_SUCCESS ? buffer : NULL;
}

static const char *make_device(struct child *child, struct device *made, cl_object id)
{
    const char *text = source;
    int code = 0;
    cl_object context = cl.clCreateContext(NULL, 1, &id, NULL, NULL, &code);
    if (context == NULL) return "PoCL makes no context";
    made->queue = cl.clCreateCommandQueue(context, id, 0, &code);
    if (made->queue == NULL) return "PoCL makes no queue";
    cl_object program = cl.clCreateProgramWithSource(context, 1, &text, NULL, &code);
    if (program == NULL || cl.clBuildProgram(program, 1, &id, "", NULL, NULL) != CL_SUCCESS)
        return "PoCL cannot build the kernel";
    made->kernel = cl.clCreateKernel(program, "saxpy", &code);
    cl_object x = make_buffer(context, made->queue, child->x);
    cl_object y = make_buffer(context, made->queue, child->y);
    made->out = make_buffer(context, made->queue, child->x);
    if (made->kernel == NULL || x == NULL || y == NULL || made->out == NULL)
        return "PoCL makes no kernel or no buffer";
    code = cl.clSetKernelArg(made->kernel, 0, sizeof child->a, &child->a);
    code |= cl.clSetKernelArg(made->kernel, 1, sizeof x, &x);
    code |= cl.clSetKernelArg(made->kernel, 2, sizeof y, &y);
    code |= cl.clSetKernelArg(made->kernel, 3, sizeof made->out, &made->out);
    return code == CL_SUCCESS ? NULL : "PoCL takes no arguments";
}

/* Its devices are named after their drivers, in an order that is not told. */
static cl_object find_device(const cl_object *id, uint32_t count, const char *driver)
{
    for (uint32_t i = 0; i < count; i++) {
        char name[128] = "";
        cl.clGetDeviceInfo(id[i], CL_DEVICE_NAME, sizeof name - 1, name, NULL);
        if (strncmp(name, driver, strlen(driver)) == 0) return id[i];
    }
    return NULL;
}

static const char *make_devices(struct child *child)
{
    static const char *const drivers[DEVICES] = {"pthread", "basic"};
    cl_object id[8];
    uint32_t count = 0;
    const char *why = load_library();
    if (why != NULL) return why;
    cl_object platform = find_platform();
    if (platform == NULL) return "PoCL is not installed; install pocl-opencl-icd";
    if (cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 8, id, &count) != CL_SUCCESS)
        return "PoCL offers no device";
    for (uint32_t i = 0; i < DEVICES && why == NULL; i++) {
        cl_object device = find_device(id, count < 8 ? count : 8, drivers[i]);
        why = device != NULL ? make_device(child, &child->device[i], device)
                             : "PoCL lacks the device `pthread` or `basic`";
    }
    return why;
}

static int launch(const struct device *device)
{
    int code = cl.clEnqueueNDRangeKernel(device->queue, device->kernel, 1, NULL, &global_size,
                                         &local_size, 0, NULL, NULL);
    return code != CL_SUCCESS ? code : cl.clFinish(device->queue);
}

static int compare_samples(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int result_right(const struct child *child, const struct device *device)
{
    float out[COUNT], exact[COUNT];
    struct vm_arrays arrays = {{child->x, child->y}, exact, COUNT, {0}};
    memcpy(&arrays.scalar[0], &child->a, sizeof child->a);
    vm_exact_saxpy(&arrays);
    if (cl.clEnqueueReadBuffer(device->queue, device->out, CL_TRUE, 0, sizeof out, out, 0, NULL,
                               NULL) != CL_SUCCESS)
        return 0;
    return memcmp(out, exact, sizeof out) == 0;
}

static void make_all(struct child *child)
{
    child->made = 1;
    child->a = 1.25f;
    for (uint32_t i = 0; i < COUNT; i++) {
        child->x[i] = (float)(i % 97) * 0.375f + 0.5f;
        child->y[i] = (float)(i % 89) * 0.625f + 0.25f;
    }
    /* PoCL reads these when it is first called. One worker thread; its simple device, which has
     * none, beside it; nothing left in the user's cache. */
    setenv("POCL_DEVICES", "pthread basic", 1);
    setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
    setenv("POCL_KERNEL_CACHE", "0", 1);
    /* Its worker is where vyre's is: threads inherit the place of the one that makes them. */
    bench_pin(child->cpus.consumer);
    child->why = make_devices(child);
    bench_pin(child->cpus.producer);
}

/* Launches for the duration; returns how many, 0 if one failed. */
static uint64_t measure(struct child *child, const struct device *device, uint64_t duration_ns,
                        uint64_t *elapsed_ns)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < WARM_UP; i++)
        if (launch(device) != CL_SUCCESS) return 0;
    uint64_t begin = bench_clock_ns();
    uint64_t last = begin;
    while (last - begin < duration_ns) {
        if (launch(device) != CL_SUCCESS) return 0;
        uint64_t now = bench_clock_ns();
        child->samples[n++ % SAMPLES] = (uint32_t)(now - last);
        last = now;
    }
    *elapsed_ns = last - begin;
    return n;
}

static void answer(struct child *child, const struct request *request, struct vm_pocl_rate *rate)
{
    const struct device *device = &child->device[request->device];
    memset(rate, 0, sizeof *rate);
    if (!child->made) make_all(child);
    if (child->why != NULL) {
        rate->state = PEER_ABSENT;
        snprintf(rate->note, sizeof rate->note, "%s", child->why);
        return;
    }
    rate->launches = measure(child, device, request->duration_ns, &rate->elapsed_ns);
    if (rate->launches == 0 || !result_right(child, device)) {
        rate->state = PEER_WRONG;
        snprintf(rate->note, sizeof rate->note, "PoCL's launch failed or gave a wrong result");
        return;
    }
    size_t kept = rate->launches < SAMPLES ? (size_t)rate->launches : SAMPLES;
    qsort(child->samples, kept, sizeof child->samples[0], compare_samples);
    rate->p50_ns = child->samples[kept / 2];
}

static _Noreturn void child_main(const struct bench_cpus *cpus, int socket)
{
    struct child *child = calloc(1, sizeof *child);
    struct request request;
    struct vm_pocl_rate rate;
    if (child == NULL) _exit(1);
    child->cpus = *cpus;
    child->samples = calloc(SAMPLES, sizeof child->samples[0]);
    if (child->samples == NULL) _exit(1);
    while (read(socket, &request, sizeof request) == (ssize_t)sizeof request) {
        answer(child, &request, &rate);
        if (write(socket, &rate, sizeof rate) != (ssize_t)sizeof rate) break;
    }
    _exit(0);
}

struct vm_pocl *vm_pocl_open(const struct bench_cpus *cpus)
{
    int ends[2];
    struct vm_pocl *pocl = calloc(1, sizeof *pocl);
    if (pocl == NULL) return NULL;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        free(pocl);
        return NULL;
    }
    pocl->pid = fork();
    if (pocl->pid == 0) {
        close(ends[0]);
        child_main(cpus, ends[1]);
    }
    close(ends[1]);
    pocl->socket = ends[0];
    if (pocl->pid > 0) return pocl;
    close(ends[0]);
    free(pocl);
    return NULL;
}

void vm_pocl_close(struct vm_pocl *pocl)
{
    if (pocl == NULL) return;
    close(pocl->socket);
    waitpid(pocl->pid, NULL, 0);
    free(pocl);
}

void vm_pocl_measure(struct vm_pocl *pocl, enum vm_pocl_device device, uint64_t duration_ns,
                     struct vm_pocl_rate *rate)
{
    struct request request = {(uint32_t)device, duration_ns};
    if (send(pocl->socket, &request, sizeof request, MSG_NOSIGNAL) == (ssize_t)sizeof request &&
        recv(pocl->socket, rate, sizeof *rate, 0) == (ssize_t)sizeof *rate)
        return;
    memset(rate, 0, sizeof *rate);
    rate->state = PEER_ABSENT;
    snprintf(rate->note, sizeof rate->note, "PoCL's process ended before it answered");
}
