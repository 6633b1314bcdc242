/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The least a round trip between the host and a resident kernel can be: the host stores a number
 * into its own memory, one thread of the GPU sees it and stores it back, both sides looking without
 * pause. The memory is a memfd mapping that is registered with the driver, as vyre's queues are.
 *
 * One writer a word: `ping` is the host's, `pong` the GPU's, each on lines of its own.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "cuda_peers.h"

#define PAGE     4096u
#define PONG_AT  512u /* in words: far from the line of `ping` */
#define END      0xFFFFFFFFu
#define WARM_UP  2000u
#define DEAF_NS  5000000000ull /* a kernel that does not answer for so long never will */
#define GIVEN_UP 0xFFFFFFFFu

static uint32_t *map_shared(void)
{
    int fd = memfd_create("vyre-peers", MFD_CLOEXEC);
    if (fd < 0) return NULL;
    void *memory = MAP_FAILED;
    if (ftruncate(fd, PAGE) == 0)
        memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Nanoseconds of one round trip, or GIVEN_UP. */
static uint32_t ask(uint32_t *words, uint32_t number)
{
    uint64_t begin = bench_clock_ns();
    uint32_t spins = 0;
    __atomic_store_n(&words[0], number, __ATOMIC_RELEASE);
    while (__atomic_load_n(&words[PONG_AT], __ATOMIC_ACQUIRE) != number)
        if (++spins % 65536 == 0 && bench_clock_ns() - begin > DEAF_NS) return GIVEN_UP;
    uint64_t took = bench_clock_ns() - begin;
    return took < GIVEN_UP ? (uint32_t)took : GIVEN_UP - 1;
}

static const char *sample(struct cuda_peers *peers, uint32_t *words, size_t *count)
{
    uint32_t number = 0;
    while (number < WARM_UP)
        if (ask(words, ++number) == GIVEN_UP) return "the kernel does not answer";
    uint64_t until = bench_clock_ns() + peers->duration_ns;
    while (*count < CUDA_PEERS_SAMPLES) {
        uint32_t took = ask(words, ++number);
        if (took == GIVEN_UP) return "the kernel stopped answering";
        peers->samples[(*count)++] = took;
        if (*count % 256 == 0 && bench_clock_ns() > until) break;
    }
    return NULL;
}

static const char *run(struct cuda_peers *peers, cuda_object kernel, uint32_t *words, size_t *count)
{
    uint64_t address = 0;
    const char *why = cuda_failed("cuMemHostGetDevicePointer",
                                  cuda.cuMemHostGetDevicePointer_v2(&address, words, 0));
    uint64_t answer = address + PONG_AT * sizeof words[0];
    void *params[] = {&address, &answer};
    if (why != NULL) return why;
    words[0] = 0;
    words[PONG_AT] = 0;
    why = cuda_failed("cuLaunchKernel", cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0,
                                                            peers->stream, params, NULL));
    if (why != NULL) return why;
    const char *trouble = sample(peers, words, count);
    if (trouble != NULL) return trouble; /* waiting for its end would take for ever */
    __atomic_store_n(&words[0], END, __ATOMIC_RELEASE);
    return cuda_failed("cuStreamSynchronize", cuda.cuStreamSynchronize(peers->stream));
}

void measure_ping_pong(struct cuda_peers *peers)
{
    static const char *const names[2] = {"ping-pong", "ping-pong-strict"};
    const cuda_object kernels[2] = {peers->ping_pong, peers->ping_pong_strict};
    uint32_t *words = map_shared();
    const char *why = "no shared memory to be had";
    if (words != NULL)
        why = cuda_failed("cuMemHostRegister",
                          cuda.cuMemHostRegister_v2(words, PAGE, CUDA_REGISTER_DEVICEMAP));
    for (int i = 0; i < 2; i++) {
        size_t count = 0;
        if (why == NULL) why = run(peers, kernels[i], words, &count);
        if (why != NULL)
            print_absent(names[i], why);
        else
            print_percentiles(names[i], peers->samples, count);
    }
}
