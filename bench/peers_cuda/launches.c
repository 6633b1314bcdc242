/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What launching an empty kernel costs: a launch with a wait for its end, and launches back to back
 * with one wait at the end of all.
 */
#include "cuda_peers.h"

#define WARM_UP 200u
#define IN_ROW  1000u /* launches between two looks at the clock */

static int launch(const struct cuda_peers *peers)
{
    return cuda.cuLaunchKernel(peers->empty, 1, 1, 1, 1, 1, 1, 0, peers->stream, NULL, NULL);
}

static const char *launch_and_wait(const struct cuda_peers *peers)
{
    const char *why = cuda_failed("cuLaunchKernel", launch(peers));
    if (why != NULL) return why;
    return cuda_failed("cuStreamSynchronize", cuda.cuStreamSynchronize(peers->stream));
}

static void one_by_one(struct cuda_peers *peers)
{
    size_t count = 0;
    const char *why = NULL;
    for (uint32_t i = 0; i < WARM_UP && why == NULL; i++)
        why = launch_and_wait(peers);
    uint64_t end = bench_clock_ns() + peers->duration_ns;
    while (why == NULL && count < CUDA_PEERS_SAMPLES) {
        uint64_t begin = bench_clock_ns();
        why = launch_and_wait(peers);
        uint64_t now = bench_clock_ns();
        peers->samples[count++] = (uint32_t)(now - begin);
        if (now > end) break;
    }
    if (why != NULL)
        print_absent("launch-sync", why);
    else
        print_percentiles("launch-sync", peers->samples, count);
}

static void back_to_back(struct cuda_peers *peers)
{
    uint64_t launches = 0;
    const char *why = launch_and_wait(peers);
    uint64_t begin = bench_clock_ns();
    while (why == NULL && bench_clock_ns() - begin < peers->duration_ns)
        for (uint32_t i = 0; i < IN_ROW && why == NULL; i++, launches++)
            why = cuda_failed("cuLaunchKernel", launch(peers));
    if (why == NULL)
        why = cuda_failed("cuStreamSynchronize", cuda.cuStreamSynchronize(peers->stream));
    uint64_t took = bench_clock_ns() - begin;
    if (why != NULL)
        print_absent("launches", why);
    else
        print_figure("launches", (double)launches * 1e3 / (double)took, "M/s");
}

void measure_launches(struct cuda_peers *peers)
{
    one_by_one(peers);
    back_to_back(peers);
}
