/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * An ordinary CUDA application that shares memory with vyre, without a copy: its kernel runs on a
 * buffer that a vyre program filled, and a vyre program on memory that its kernel filled. The two
 * are ordered in two ways: by waiting, and by work that is put into a stream ahead of time. Then
 * it measures what the two contexts on one GPU cost each other. docs/sharing.md explains each step.
 *
 *     nvcc -std=c++17 -arch=native -o cuda_share cuda_share.cu $(pkg-config --cflags --libs vyre)
 *     ./cuda_share
 *
 * Exit code 77: there is no GPU that can do this.
 */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <unistd.h>

#include <cuda.h>
#include <cuda_runtime.h>
#include <vyre/vyre.h>

static const uint32_t WORDS = 1u << 24;
static const size_t BYTES = (size_t)WORDS * 4;
static const int SKIPPED = 77, ROUNDS = 20, LATENCIES = 2000;

#define CUDA(call)                                                                                 \
    do {                                                                                           \
        cudaError_t cuda_result = (call);                                                          \
        if (cuda_result != cudaSuccess) die(#call, cudaGetErrorString(cuda_result), nullptr);      \
    } while (0)

#define DRIVER(call)                                                                               \
    do {                                                                                           \
        CUresult driver_result = (call);                                                           \
        if (driver_result != CUDA_SUCCESS) {                                                       \
            char number[32];                                                                       \
            snprintf(number, sizeof number, "CUDA error %d", (int)driver_result);                  \
            die(#call, number, nullptr);                                                           \
        }                                                                                          \
    } while (0)

#define VYRE(call)                                                                                 \
    do {                                                                                           \
        if ((call) != VYRE_OK) die(#call, err.message, err.fix);                                   \
    } while (0)

[[noreturn]] static void die(const char *call, const char *why, const char *fix)
{
    fprintf(stderr, "error: %s: %s\n", call, why);
    if (fix) fprintf(stderr, "  fix: %s\n", fix);
    exit(1);
}

/* The application's own kernels. */
__global__ void square(uint32_t *word, uint32_t count)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) word[i] *= word[i];
}

__global__ void ramp(uint32_t *word, uint32_t count, uint32_t by)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) word[i] = i * by;
}

/* Counts the words that are not (i * by + add) squared `squares` times. */
__global__ void check(const uint32_t *word, uint32_t count, uint32_t by, uint32_t add, int squares,
                      uint32_t *wrong)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t expected = i * by + add;
    for (int k = 0; k < squares; k++)
        expected *= expected;
    if (i < count && word[i] != expected) atomicAdd(wrong, 1u);
}

static const unsigned GRID = (WORDS + 255) / 256;

/* Calls of the driver, found at run time: nothing but the runtime is linked. */
template <typename F> static void find(const char *name, F *function)
{
    void *found = nullptr;
    cudaDriverEntryPointQueryResult how;
    CUDA(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &how));
    if (!found) die(name, "the driver does not have it", "install a driver of series 580 or newer");
    memcpy(function, &found, sizeof found);
}

static struct {
    decltype(&cuMemCreate) create;
    decltype(&cuMemRelease) release;
    decltype(&cuMemExportToShareableHandle) to_descriptor;
    decltype(&cuMemImportFromShareableHandle) from_descriptor;
    decltype(&cuMemAddressReserve) reserve;
    decltype(&cuMemMap) map;
    decltype(&cuMemSetAccess) set_access;
    decltype(&cuStreamWaitValue32) wait_value;
} driver;

static void find_driver()
{
    find("cuMemCreate", &driver.create);
    find("cuMemRelease", &driver.release);
    find("cuMemExportToShareableHandle", &driver.to_descriptor);
    find("cuMemImportFromShareableHandle", &driver.from_descriptor);
    find("cuMemAddressReserve", &driver.reserve);
    find("cuMemMap", &driver.map);
    find("cuMemSetAccess", &driver.set_access);
    find("cuStreamWaitValue32", &driver.wait_value);
}

/* Maps the whole of an allocation into this context. */
static uint32_t *map(CUmemGenericAllocationHandle handle, size_t extent)
{
    CUdeviceptr at = 0;
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUDA(cudaGetDevice(&access.location.id));
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DRIVER(driver.reserve(&at, extent, 0, 0, 0));
    DRIVER(driver.map(at, extent, 0, handle, 0));
    DRIVER(driver.set_access(at, extent, &access, 1));
    DRIVER(driver.release(handle)); /* the mapping keeps the memory */
    return (uint32_t *)at;
}

/* What vyre exported, as the application sees it. */
static uint32_t *open_share(const vyre_share *share)
{
    CUmemGenericAllocationHandle handle;
    DRIVER(driver.from_descriptor(&handle, (void *)(uintptr_t)share->fd,
                                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    return map(handle, share->extent);
}

/* Memory of the application that vyre can import. */
static uint32_t *make_share(vyre_share *share)
{
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp kind = {};
    kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    kind.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUDA(cudaGetDevice(&kind.location.id));
    DRIVER(driver.create(&handle, BYTES, &kind, 0)); /* 64 MiB: whole granules */
    DRIVER(driver.to_descriptor(&share->fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    share->kind = VYRE_SHARE_CUDA;
    share->bytes = share->extent = BYTES;
    return map(handle, BYTES);
}

static uint32_t *wrong_words; /* of the GPU */

static uint32_t count_wrong(const uint32_t *word, uint32_t by, uint32_t add, int squares)
{
    uint32_t wrong = 0;
    CUDA(cudaMemset(wrong_words, 0, 4));
    check<<<GRID, 256>>>(word, WORDS, by, add, squares, wrong_words);
    CUDA(cudaMemcpy(&wrong, wrong_words, 4, cudaMemcpyDeviceToHost));
    return wrong;
}

/* vyre's side: a program and what it works on. */
struct job {
    vyre_queue *queue;
    vyre_run run;
    uint32_t scalar;
};

static job make_job(vyre *rt, vyre_queue *queue, const char *source, vyre_buffer *buffer)
{
    vyre_buffer *buffers[2] = {nullptr, buffer}; /* the number comes with the slot */
    vyre_program *program;
    vyre_bindings *bindings;
    vyre_error err;
    job made = {queue, VYRE_RUN_INIT, 0};
    VYRE(vyre_program_compile(rt, source, strlen(source), nullptr, nullptr, &program, &err));
    VYRE(vyre_bindings_create(program, buffers, 2, &bindings, &err));
    made.run.program = program;
    made.run.bindings = bindings;
    made.run.grid[0] = (WORDS + 63) / 64;
    return made;
}

static uint64_t submit(job *work, uint32_t scalar)
{
    vyre_error err;
    uint64_t ticket = 0;
    work->scalar = scalar;
    work->run.scalars = &work->scalar;
    work->run.scalar_count = 1;
    VYRE(vyre_prep_run(vyre_queue_slot(work->queue), &work->run, &err));
    VYRE(vyre_queue_submit(work->queue, &ticket, &err));
    return ticket;
}

static void await(job *work, uint64_t ticket)
{
    vyre_completion end;
    vyre_error err;
    VYRE(vyre_wait(work->queue, ticket, VYRE_FOREVER, &end, &err));
    if (end.outcome != VYRE_DONE)
        die("a vyre program", vyre_fault_text((enum vyre_fault)end.fault), nullptr);
}

static const char ramp_source[] =
    "@guard(y)\nkernel ramp(u32 by, inout u32 y[]) { y[i] = i * by; }\n";
static const char add_source[] =
    "@guard(y)\nkernel add(u32 by, inout u32 y[]) { y[i] = y[i] + by; }\n";

/* 1. The ordinary way: each side is waited for before the other begins. */
static int by_waiting(job *fill, uint32_t *lent, job *add, uint32_t *own)
{
    await(fill, submit(fill, 3));       /* vyre fills its buffer, */
    square<<<GRID, 256>>>(lent, WORDS); /* the application's kernel works on it */
    uint32_t first = count_wrong(lent, 3, 0, 1);
    ramp<<<GRID, 256>>>(own, WORDS, 5); /* the application fills its memory, */
    CUDA(cudaDeviceSynchronize());
    await(add, submit(add, 7)); /* a vyre program works on it */
    uint32_t second = count_wrong(own, 5, 7, 0);
    printf("ordered by waiting:   vyre, then a kernel: %u words wrong; a kernel, then vyre: %u\n",
           first, second);
    return first == 0 && second == 0;
}

/* 2. Work is put into the stream first. The stream waits for a word, which the thread that reaps
 * raises when the slot has ended; and a host function of the stream submits the slot that follows a
 * kernel. */
struct after_kernel {
    job *work;
    std::atomic<uint64_t> ticket;
};

static void CUDART_CB submit_after(void *argument)
{
    after_kernel *after = (after_kernel *)argument;
    after->ticket.store(submit(after->work, 7), std::memory_order_release);
}

static int by_streams(job *fill, uint32_t *lent, job *add, uint32_t *own)
{
    uint32_t *word, *device_word;
    cudaStream_t stream;
    after_kernel after = {add, {UINT64_MAX}};
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaHostAlloc(&word, 64, cudaHostAllocMapped));
    CUDA(cudaHostGetDevicePointer(&device_word, word, 0));
    *word = 0;
    DRIVER(driver.wait_value(stream, (CUdeviceptr)device_word, 1, CU_STREAM_WAIT_VALUE_GEQ));
    square<<<GRID, 256, 0, stream>>>(lent, WORDS);
    await(fill, submit(fill, 3));
    __atomic_store_n(word, 1u, __ATOMIC_RELEASE); /* the kernel begins */
    ramp<<<GRID, 256, 0, stream>>>(own, WORDS, 5);
    CUDA(cudaLaunchHostFunc(stream, submit_after, &after));
    CUDA(cudaStreamSynchronize(stream));
    await(add, after.ticket.load(std::memory_order_acquire));
    uint32_t first = count_wrong(lent, 3, 0, 1), second = count_wrong(own, 5, 7, 0);
    printf("ordered in a stream:  vyre, then a kernel: %u words wrong; a kernel, then vyre: %u\n",
           first, second);
    CUDA(cudaFreeHost(word));
    CUDA(cudaStreamDestroy(stream));
    return first == 0 && second == 0;
}

/* 3. What the two cost each other. */
static double now_us()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The application's kernel: launch until it has ended, p50 and greatest of ROUNDS batches of ten.
 */
static double time_kernel(const char *when, uint32_t *word, double alone)
{
    double took[ROUNDS];
    square<<<GRID, 256>>>(word, WORDS);
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < ROUNDS; i++) {
        double began = now_us();
        for (int k = 0; k < 10; k++)
            square<<<GRID, 256>>>(word, WORDS);
        CUDA(cudaDeviceSynchronize());
        took[i] = (now_us() - began) / 10;
    }
    qsort(took, ROUNDS, sizeof took[0], compare);
    double p50 = took[ROUNDS / 2];
    printf("  %-34s p50 %9.1f us  max %9.1f us", when, p50, took[ROUNDS - 1]);
    if (alone > 0) printf("  %5.2f x alone", p50 / alone);
    printf("\n");
    return p50;
}

static void time_slots(const char *when, vyre_queue *queue, int count)
{
    double *took = (double *)malloc((size_t)count * sizeof *took);
    vyre_completion end;
    vyre_error err;
    for (int i = 0; i < count; i++) {
        uint64_t ticket;
        double began = now_us();
        VYRE(vyre_prep_nop(vyre_queue_slot(queue), &err));
        VYRE(vyre_queue_submit(queue, &ticket, &err));
        VYRE(vyre_wait(queue, ticket, VYRE_FOREVER, &end, &err));
        took[i] = now_us() - began;
    }
    qsort(took, (size_t)count, sizeof *took, compare);
    printf("  %-34s p50 %9.1f us  p99 %9.1f us  max %9.1f us\n", when, took[count / 2],
           took[count * 99 / 100], took[count - 1]);
    free(took);
}

static void keep_gpu_busy(std::atomic<bool> *stop, uint32_t *word)
{
    CUDA(cudaSetDevice(0));
    while (!stop->load()) {
        for (int k = 0; k < 10; k++)
            square<<<GRID, 256>>>(word, WORDS);
        CUDA(cudaDeviceSynchronize());
    }
}

static void keep_vyre_busy(std::atomic<bool> *stop, job *work)
{
    while (!stop->load()) {
        uint64_t tickets[4];
        for (uint64_t &ticket : tickets)
            ticket = submit(work, 3);
        for (uint64_t ticket : tickets)
            await(work, ticket);
    }
}

static void measure(vyre *rt, job *busy_job, double alone, uint32_t *own)
{
    vyre_error err;
    std::atomic<bool> stop{false};
    VYRE(vyre_pause(rt, &err));
    time_kernel("vyre paused", own, alone);
    VYRE(vyre_resume(rt, &err));
    time_kernel("vyre resident and idle", own, alone);
    std::thread vyre_load(keep_vyre_busy, &stop, busy_job);
    time_kernel("vyre busy with a program", own, alone);
    stop = true;
    vyre_load.join();
    printf("a slot of vyre (NOP), submit to completion:\n");
    time_slots("application idle", vyre_queue_default(rt), LATENCIES);
    stop = false;
    std::thread gpu_load(keep_gpu_busy, &stop, own);
    time_slots("application busy with its kernel", vyre_queue_default(rt), LATENCIES / 10);
    stop = true;
    gpu_load.join();
    double began = now_us();
    VYRE(vyre_pause(rt, &err));
    double paused = now_us();
    VYRE(vyre_resume(rt, &err));
    time_slots("the first slot after a resume", vyre_queue_default(rt), 1);
    printf("  %-34s %13.1f us\n", "vyre_pause itself", paused - began);
}

int main()
{
    setvbuf(stdout, nullptr, _IOLBF, 0);
    vyre *rt = nullptr;
    vyre_error err;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("# SKIP this needs an NVIDIA GPU\n");
        return SKIPPED;
    }
    CUDA(cudaSetDevice(0));
    CUDA(cudaMalloc(&wrong_words, 4));
    find_driver();
    vyre_share given = VYRE_SHARE_INIT, share = VYRE_SHARE_INIT;
    uint32_t *own = make_share(&given);
    double alone = 0;
    printf("the application's kernel (%zu MiB read and written):\n", BYTES >> 20);
    alone = time_kernel("alone, before vyre is opened", own, 0);

    vyre_options options = VYRE_OPTIONS_INIT;
    options.backend = VYRE_BACKEND_CUDA;
    options.park_ns = 0; /* it stays while it is idle, so that this can be measured */
    vyre_status status = vyre_open(&rt, &options, &err);
    if (status == VYRE_E_UNSUPPORTED || status == VYRE_E_NO_DEVICE) {
        printf("# SKIP %s\n", err.message);
        return SKIPPED;
    }
    if (status != VYRE_OK) die("vyre_open", err.message, err.fix);

    vyre_buffer_options shared = VYRE_BUFFER_OPTIONS_INIT;
    vyre_buffer *lent_buffer, *own_buffer;
    vyre_queue *queue;
    shared.flags = VYRE_BUFFER_SHARED;
    VYRE(vyre_buffer_create_with(rt, BYTES, &shared, &lent_buffer, &err));
    VYRE(vyre_buffer_export(lent_buffer, &share, &err));
    uint32_t *lent = open_share(&share);
    VYRE(vyre_buffer_import(rt, &given, nullptr, &own_buffer, &err));
    close(share.fd); /* both sides have what they need */
    close(given.fd);
    /* Queues of their own: each has one thread at a time that submits, and one that reaps. */
    VYRE(vyre_queue_open(rt, nullptr, &queue, &err));
    job fill = make_job(rt, queue, ramp_source, lent_buffer);
    VYRE(vyre_queue_open(rt, nullptr, &queue, &err));
    job add = make_job(rt, queue, add_source, own_buffer);

    measure(rt, &fill, alone, own);
    int right = by_waiting(&fill, lent, &add, own);
    right &= by_streams(&fill, lent, &add, own);
    vyre_close(rt);
    printf("the application's kernel, after vyre_close:\n");
    time_kernel("alone again", own, alone);
    return right ? 0 : 1;
}
