/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every function of device/math.h at every one of the 2^32 arguments, against the C library in
 * double: no error above 2 units in the last place, and no wrong special value. And against
 * gpu/math_sums.txt, the sums that a GPU is compared with; where a function is changed on purpose,
 * they are taken from this test's output.
 *
 * Arguments: threads (default 2), then the names of functions (default all). Half a minute each.
 */
#include "tap.h"

#include <pthread.h>

#include "math_reference.h"
#include "math_sum.h"

#define LIMIT   2.0
#define THREADS 64u
#define CHUNK   0x1000000u /* arguments that a thread takes at a time; 2^32 is a multiple */

struct search {
    const struct math_function *function;
    uint64_t next; /* the first argument that no thread has taken */
    pthread_mutex_t lock;
    double worst;
    uint32_t worst_at;
    uint64_t misrounded;
    uint64_t sum;
};

static void look(struct search *search, uint32_t first)
{
    const struct math_function *function = search->function;
    double worst = 0;
    uint32_t worst_at = first;
    uint64_t misrounded = 0, sum = 0;
    for (uint32_t i = 0; i < CHUNK; i++) {
        uint32_t got = function->one(first + i);
        double exact = math_exact(function, first + i);
        sum += math_sum_of(first + i, got);
        if (got == math_rounded(exact)) continue;
        double distance = math_distance(got, exact);
        misrounded++;
        if (distance <= worst) continue;
        worst = distance;
        worst_at = first + i;
    }
    pthread_mutex_lock(&search->lock);
    search->misrounded += misrounded;
    search->sum += sum;
    if (worst > search->worst) {
        search->worst = worst;
        search->worst_at = worst_at;
    }
    pthread_mutex_unlock(&search->lock);
}

static void *run(void *argument)
{
    struct search *search = argument;
    for (;;) {
        uint64_t first = __atomic_fetch_add(&search->next, CHUNK, __ATOMIC_RELAXED);
        if (first >> 32 != 0) return NULL;
        look(search, (uint32_t)first);
    }
}

/* The sum that is written down; 0: there is none. */
static uint64_t written_sum(const char *name)
{
    char word[32];
    uint64_t sum;
    FILE *file = fopen(MATH_SUMS, "r");
    if (!file) bail("cannot read %s", MATH_SUMS);
    while (fscanf(file, "%31s %" SCNx64, word, &sum) == 2) {
        if (strcmp(word, name) != 0) continue;
        fclose(file);
        return sum;
    }
    fclose(file);
    return 0;
}

static void check(const struct math_function *function, unsigned threads)
{
    struct search search = {.function = function, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread[THREADS];
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, run, &search) != 0) bail("cannot start a thread");
    for (unsigned i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    /* A value that is correctly rounded is not looked at further: its error is at most a half. */
    ok(search.worst <= LIMIT,
       "%s: largest error %.6f ULP at 0x%08" PRIX32 ", %" PRIu64 " of 2^32 not correctly rounded",
       function->name, search.worst > 0.5 ? search.worst : 0.5, search.worst_at, search.misrounded);
    ok(search.sum == written_sum(function->name), "%s: sum %016" PRIx64 ", as in gpu/math_sums.txt",
       function->name, search.sum);
}

static int wanted(const struct math_function *function, int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], function->name) == 0) return 1;
    return argc <= 2;
}

int main(int argc, char **argv)
{
    unsigned long threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 2;
    if (threads < 1 || threads > THREADS) bail("threads: 1 to %u", THREADS);
    for (size_t i = 0; i < MATH_FUNCTIONS; i++)
        if (wanted(&math_functions[i], argc, argv)) check(&math_functions[i], (unsigned)threads);
    return done();
}
