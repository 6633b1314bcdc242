/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * DFA_STEP: a table made by hand, random tables against a plain reference, the bounds of table and
 * input, and tables of random words, which must fault or run but never lead outside.
 */
#include "device_fixture.h"

#include <pthread.h>

#define TABLE 1u
#define INPUT 2u

/* A table while it is made. */
struct table {
    uint32_t states, classes;
    uint32_t *transitions, *accept, *class_map;
};

static void table_free(struct table *t)
{
    free(t->transitions);
    free(t->accept);
    free(t->class_map);
}

/* Writes it to a new buffer, the parts in an order and with gaps that the seed chooses. */
static uint32_t table_install(struct fixture *f, const struct table *t, uint64_t *seed)
{
    const uint32_t *part[3] = {t->transitions, t->accept, t->class_map};
    uint32_t length[3] = {t->states * t->classes, t->states, 256}, base[3], next = 5;
    uint32_t turn = fixture_random(seed) % 3;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t k = (i + turn) % 3;
        next += fixture_random(seed) % 3;
        base[k] = next;
        next += length[k];
    }
    uint32_t handle = fixture_buffer(f, TABLE, 1, (size_t)next * 4);
    uint32_t *word = fixture_bytes(f, handle);
    uint32_t meta[5] = {base[0], base[1], t->states, base[2], t->classes};
    memcpy(word, meta, sizeof meta);
    for (uint32_t i = 0; i < 3; i++)
        memcpy(word + base[i], part[i], (size_t)length[i] * 4);
    return handle;
}

static void buffer_drop(struct fixture *f, uint32_t index)
{
    free((void *)(uintptr_t)f->rt.handles[index].address);
    f->rt.handles[index].kind = DEV_FREE;
}

/* What a run over input[first..first+length) leaves in the four result words. */
static void reference(const struct table *t, uint32_t state, const uint8_t *input, uint64_t first,
                      uint32_t length, uint32_t *result)
{
    memset(result, 0, 16);
    for (uint64_t i = first; i < first + length; i++) {
        state = t->transitions[state * t->classes + t->class_map[input[i]]];
        if (t->accept[state] && !result[1]) {
            result[1] = 1;
            result[2] = (uint32_t)(i + 1);
            result[3] = (uint32_t)((i + 1) >> 32);
        }
    }
    result[0] = state;
}

/* "ab" anywhere: states 0 (nothing), 1 (after a), 2 (found, stays). */
static struct table table_ab(void)
{
    static const uint32_t transitions[] = {0, 1, 0, 0, 1, 2, 2, 2, 2};
    struct table t = {3, 3, fixture_alloc(9, 4), fixture_alloc(3, 4), fixture_alloc(256, 4)};
    memcpy(t.transitions, transitions, sizeof transitions);
    t.accept[2] = 1;
    t.class_map['a'] = 1;
    t.class_map['b'] = 2;
    return t;
}

static void test_by_hand(struct fixture *f)
{
    uint64_t seed = 1;
    struct table t = table_ab();
    uint32_t table = table_install(f, &t, &seed), input = fixture_buffer(f, INPUT, 1, 8);
    memcpy(fixture_bytes(f, input), "xaabxaby", 8);
    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 0, input, 0, 0, 8), 0, "xaabxaby");
    is_u64(f->call.result[0], 2, "ends in state 2");
    is_u64(f->call.result[1], 1, "accepts");
    is_u64(f->call.result[2], 4, "first after the fourth byte");
    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 0, input, 4, 0, 4), 0, "from byte 4 on");
    is_u64(f->call.result[2], 7, "the offset is that in the buffer");
    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 0, input, 0, 0, 3), 0, "xaa");
    is_u64(f->call.result[0], 1, "ends in state 1");
    is_u64(f->call.result[1], 0, "does not accept");
    is_u64(f->call.result[2], 0, "and says no offset");
    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 2, input, 0, 0, 0), 0, "nothing");
    is_u64(f->call.result[0], 2, "stays in its state");
    is_u64(f->call.result[1], 0, "an accepting start state is not counted");
    is_u64(f->call.steps, 1, "and costs one step");
    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 2, input, 0, 0, 1), 0, "one byte from it");
    is_u64(f->call.result[2], 1, "is counted after the byte");

    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 3, input, 0, 0, 0), VYRE_FAULT_DFA_TABLE,
           "a start state that is none");
    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 0, input, 0, 0, 9), VYRE_FAULT_BUFFER_BOUNDS,
           "one byte too many");
    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 0, input, 8, 0, 0), 0, "none at the end");
    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 0, input, 9, 0, 0), VYRE_FAULT_BUFFER_BOUNDS,
           "none past the end");
    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 0, input, 0, 1, 1), VYRE_FAULT_BUFFER_BOUNDS,
           "the high half of the offset counts");
    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 0, input, ~0u, ~0u, 2),
           VYRE_FAULT_BUFFER_BOUNDS, "an offset that would wrap");
    is_u64(FIXTURE_RUN(f, 2, VYRE_OP_DFA_STEP, table, 0, input, 0, 0, 1), VYRE_FAULT_HANDLE_RIGHTS,
           "another tenant's buffers");
    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table + 0x10000u, 0, input, 0, 0, 1),
           VYRE_FAULT_BAD_HANDLE, "a stale table");
    f->rt.handles[INPUT].rights = VYRE_RIGHT_WRITE;
    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 0, input, 0, 0, 1), VYRE_FAULT_HANDLE_RIGHTS,
           "an input that may not be read");
    table_free(&t);
    buffer_drop(f, TABLE);
    buffer_drop(f, INPUT);
}

/* Each word of the meta at its edges, each target and class that is too large. */
static void test_table_faults(struct fixture *f)
{
    enum { WORDS = 5 + 9 + 3 + 256 };
    static const struct {
        uint32_t word, value, fault;
        const char *what;
    } cases[] = {
        {0, 5, 0, "as it is"},
        {0, 4, VYRE_FAULT_DFA_TABLE, "transitions in the meta words"},
        {0, WORDS - 8, VYRE_FAULT_DFA_TABLE, "transitions one word past the end"},
        {0, ~0u, VYRE_FAULT_DFA_TABLE, "transitions far out"},
        {1, 4, VYRE_FAULT_DFA_TABLE, "accept in the meta words"},
        {1, WORDS - 3, 0, "accept in the last words"},
        {1, WORDS - 2, VYRE_FAULT_DFA_TABLE, "accept one word past the end"},
        {2, 0, VYRE_FAULT_DFA_TABLE, "no state"},
        {2, 0x40000000u, VYRE_FAULT_DFA_TABLE, "so many states that the bytes overflow"},
        {2, ~0u, VYRE_FAULT_DFA_TABLE, "so many states that the words overflow"},
        {3, 4, VYRE_FAULT_DFA_TABLE, "the class map in the meta words"},
        {3, WORDS - 255, VYRE_FAULT_DFA_TABLE, "the class map one word past the end"},
        {3, 0xFFFFFF00u, VYRE_FAULT_DFA_TABLE, "the class map where it wraps"},
        {4, 0, VYRE_FAULT_DFA_TABLE, "no class"},
        {4, 2, VYRE_FAULT_DFA_TABLE, "a class that is too large"},
        {4, 257, VYRE_FAULT_DFA_TABLE, "more classes than bytes"},
        {5 + 1, 3, VYRE_FAULT_DFA_TABLE, "a target that is too large"},
        {5 + 8, ~0u, 0, "one that is not met"},
        {5 + 9 + 3 + 'b', 3, VYRE_FAULT_DFA_TABLE, "a class that is none"},
        {5 + 9 + 3 + 'z', ~0u, 0, "one that is not met"},
    };
    struct table t = table_ab();
    uint32_t meta[5] = {5, 14, 3, 17, 3};
    uint32_t input = fixture_buffer(f, INPUT, 1, 3);
    memcpy(fixture_bytes(f, input), "xab", 3);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t table = fixture_buffer(f, TABLE, 1, WORDS * 4);
        uint32_t *word = fixture_bytes(f, table);
        memcpy(word, meta, sizeof meta);
        memcpy(word + 5, t.transitions, 9 * 4);
        memcpy(word + 14, t.accept, 3 * 4);
        memcpy(word + 17, t.class_map, 256 * 4);
        word[cases[i].word] = cases[i].value;
        is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 0, input, 0, 0, 3), cases[i].fault, "%s",
               cases[i].what);
        if (cases[i].fault) ok(!f->call.result[0] && !f->call.result[2], "gives no result");
        buffer_drop(f, TABLE);
    }
    for (uint32_t bytes = 0; bytes < 24; bytes++) {
        uint32_t table = fixture_buffer(f, TABLE, 1, bytes);
        if (FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 0, input, 0, 0, 1) != VYRE_FAULT_DFA_TABLE)
            ok(0, "a table of %u bytes is refused", bytes);
        buffer_drop(f, TABLE);
    }
    table_free(&t);
    buffer_drop(f, INPUT);
}

/* So large a table that counts which only wrap would fit into it. */
static void test_large_table(struct fixture *f)
{
    const uint32_t states = 1u << 24, map = 5 + states;
    uint32_t table = fixture_buffer(f, TABLE, 1, ((size_t)map + 256) * 4);
    uint32_t input = fixture_buffer(f, INPUT, 1, 1);
    uint32_t *word = fixture_bytes(f, table);
    const uint32_t meta[5] = {5, 5, states, map, 256};
    memcpy(word, meta, sizeof meta);
    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 0, input, 0, 0, 1), VYRE_FAULT_DFA_TABLE,
           "2^32 transitions");
    word[4] = 1;
    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, states - 1, input, 0, 0, 1), 0,
           "2^24 states and one class");
    word[2] = 1;
    word[4] = 256;
    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 0, input, 0, 0, 1), 0, "256 classes");
    word[4] = 257;
    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 0, input, 0, 0, 1), VYRE_FAULT_DFA_TABLE,
           "257 classes");
    buffer_drop(f, TABLE);
    buffer_drop(f, INPUT);
}

static struct table random_table(uint64_t *seed)
{
    struct table t;
    t.states = 1 + fixture_random(seed) % 40;
    t.classes = 1 + fixture_random(seed) % (fixture_random(seed) % 8 ? 16 : 256);
    t.transitions = fixture_alloc(t.states * t.classes, 4);
    t.accept = fixture_alloc(t.states, 4);
    t.class_map = fixture_alloc(256, 4);
    for (uint32_t i = 0; i < t.states * t.classes; i++)
        t.transitions[i] = fixture_random(seed) % t.states;
    for (uint32_t i = 0; i < t.states; i++)
        t.accept[i] = fixture_random(seed) % 30 ? 0 : fixture_random(seed);
    for (uint32_t i = 0; i < 256; i++)
        t.class_map[i] = fixture_random(seed) % t.classes;
    return t;
}

static void test_random(struct fixture *f, uint64_t *seed)
{
    uint32_t wrong = 0, accepted = 0;
    for (uint32_t n = 0; n < 300; n++) {
        struct table t = random_table(seed);
        uint32_t bytes = 1 + fixture_random(seed) % (n % 50 ? 300 : 20000), expected[4];
        uint32_t table = table_install(f, &t, seed), input = fixture_buffer(f, INPUT, 1, bytes);
        uint8_t *byte = fixture_bytes(f, input);
        for (uint32_t i = 0; i < bytes; i++)
            byte[i] = (uint8_t)fixture_random(seed);
        for (uint32_t runs = 0; runs < 4; runs++) {
            uint32_t first = fixture_random(seed) % (bytes + 1), state = fixture_random(seed);
            uint32_t length =
                runs == 0 ? bytes - first : fixture_random(seed) % (bytes - first + 1);
            state %= t.states;
            reference(&t, state, byte, first, length, expected);
            wrong +=
                FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, state, input, first, 0, length) != 0 ||
                memcmp(expected, f->call.result, sizeof expected) != 0 ||
                f->call.steps != (length == 0 ? 1 : (length + 63) / 64);
            accepted += expected[1];
        }
        table_free(&t);
        buffer_drop(f, TABLE);
        buffer_drop(f, INPUT);
    }
    is_u64(wrong, 0, "1200 runs over 300 random tables are as the reference says");
    ok(accepted > 100 && accepted < 1100, "some accept, some do not (%u)", accepted);
}

/* Tables of random words: half of them small numbers, so that many pass the first checks. */
static void test_hostile(struct fixture *f, uint64_t *seed)
{
    uint32_t ended[16] = {0};
    uint32_t input = fixture_buffer(f, INPUT, 1, 512);
    uint8_t *byte = fixture_bytes(f, input);
    for (uint32_t i = 0; i < 512; i++)
        byte[i] = (uint8_t)fixture_random(seed);
    for (uint32_t n = 0; n < 5000; n++) {
        uint32_t words = fixture_random(seed) % 700;
        uint32_t table = fixture_buffer(f, TABLE, 1, words * 4 + fixture_random(seed) % 4);
        uint32_t *word = fixture_bytes(f, table);
        for (uint32_t i = 0; i < words; i++) {
            uint32_t value = fixture_random(seed);
            word[i] = n % 2 ? value : i < 5 ? value % 200 : value % (1 + n % 4);
        }
        if (words > 5 && n % 4 == 0) word[2] = 1 + word[2] % 8;
        if (words > 5 && n % 4 == 0) word[4] = 1 + word[4] % 8;
        ended[FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, n % 3, input, 0, 0, 512)]++;
        buffer_drop(f, TABLE);
    }
    is_u64(ended[0] + ended[VYRE_FAULT_DFA_TABLE], 5000, "hostile tables fault or run");
    ok(ended[0] > 10, "some run (%u)", ended[0]);
    ok(ended[VYRE_FAULT_DFA_TABLE] > 1000, "more fault");
    buffer_drop(f, INPUT);
}

static void test_stopped(struct fixture *f)
{
    static const uint32_t faults[] = {0, VYRE_FAULT_CANCELLED, VYRE_FAULT_DEADLINE,
                                      VYRE_FAULT_STOPPED};
    uint64_t seed = 1;
    struct table t = table_ab();
    uint32_t table = table_install(f, &t, &seed), input = fixture_buffer(f, INPUT, 1, 10000);
    for (uint32_t why = 0; why < 4; why++) {
        f->entry.cancel = why == 1 ? VYRE_FAULT_CANCELLED : 0;
        f->entry.deadline_ns = why == 2 ? 1 : why == 0 ? UINT64_MAX : 0;
        f->rt.shutdown = why == 3;
        is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 0, input, 0, 0, 10000), faults[why],
               "a long run, wish %u", why);
        is_u64(f->call.steps, why == 0 ? 157 : 64, "ends after %s", why ? "4096 bytes" : "all");
        is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 0, input, 0, 0, 4096), 0,
               "a shorter one ends by itself");
    }
    f->rt.shutdown = 0;
    table_free(&t);
    buffer_drop(f, TABLE);
    buffer_drop(f, INPUT);
}

struct scribbler {
    uint32_t *word;
    uint32_t words, stop;
};

static void *scribble(void *argument)
{
    struct scribbler *s = argument;
    uint64_t seed = 7;
    while (!dev_load_relaxed(&s->stop)) {
        /* Now and then a wild word; else one that may well be part of a table. */
        static const uint32_t least[5] = {5, 5, 1, 5, 1}, range[5] = {200, 200, 8, 300, 8};
        uint32_t value = fixture_random(&seed), i = fixture_random(&seed) % s->words;
        uint32_t tame = i < 5 ? least[i] + value % range[i] : value % 8;
        dev_store_relaxed(&s->word[i], fixture_random(&seed) % 500 ? tame : value);
    }
    return NULL;
}

/* Somebody writes to the table while it is read. */
static void test_scribbled(struct fixture *f)
{
    uint32_t ended[16] = {0}, others = 0;
    uint32_t table = fixture_buffer(f, TABLE, 1, 700 * 4), input = fixture_buffer(f, INPUT, 1, 64);
    struct scribbler s = {fixture_bytes(f, table), 700, 0};
    static const uint32_t meta[5] = {5, 14, 3, 17, 3};
    memcpy(s.word, meta, sizeof meta);
    pthread_t thread;
    if (pthread_create(&thread, NULL, scribble, &s) != 0) bail("cannot start a thread");
    for (uint32_t n = 0; n < 20000; n++)
        ended[FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 0, input, 0, 0, 64)]++;
    dev_store_relaxed(&s.stop, 1);
    pthread_join(thread, NULL);
    for (uint32_t i = 0; i < 16; i++)
        others += i == 0 || i == VYRE_FAULT_DFA_TABLE ? 0 : ended[i];
    is_u64(others, 0, "a table that changes under the run faults or not (%u, %u)",
           ended[VYRE_FAULT_DFA_TABLE], ended[0]);
    buffer_drop(f, TABLE);
    buffer_drop(f, INPUT);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    struct fixture f;
    fixture_open(&f, 16);
    test_by_hand(&f);
    test_table_faults(&f);
    test_large_table(&f);
    test_random(&f, &seed);
    test_hostile(&f, &seed);
    test_stopped(&f);
    test_scribbled(&f);
    fixture_close(&f);
    return done();
}
