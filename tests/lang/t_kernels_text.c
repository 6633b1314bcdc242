/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Example kernels over bytes: search, bitap, crc32, sha256, fnv64, base64. The checksums are also
 * compared with published values.
 */
#include "lang_test.h"

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint8_t *random_text(uint64_t *seed, uint32_t length, uint32_t letters)
{
    uint8_t *text = zeroes(length, 1);
    for (uint32_t i = 0; i < length; i++)
        text[i] = (uint8_t)('a' + random_below(seed, letters));
    return text;
}

/* Texts of two letters, in which patterns are found often and may overlap themselves. */
static const struct {
    uint32_t text, pattern;
} searches[] = {{1, 1}, {1, 2}, {5, 5}, {64, 1}, {65, 3}, {1000, 4}, {1000, 32}, {20000, 6}};

static void search(vyre *rt, uint64_t *seed)
{
    struct kernel kernel = open_kernel(rt, "search", "search");
    kernel.unordered = true;
    for (size_t s = 0; s < COUNT(searches); s++) {
        uint32_t n = searches[s].text, m = searches[s].pattern, count, expected = 0;
        uint8_t *text = random_text(seed, n, 2), *pattern = random_text(seed, m, 2);
        uint32_t *places = zeroes(n, 4), *got = zeroes(n, 4);
        if (n >= m) memcpy(text + random_below(seed, n - m + 1), pattern, m);
        for (uint32_t i = 0; i + m <= n; i++)
            if (memcmp(text + i, pattern, m) == 0) places[expected++] = i;
        vyre_buffer *bt = buffer_of(rt, text, n), *bp = buffer_of(rt, pattern, m),
                    *counter = buffer_of(rt, NULL, 4), *to = buffer_of(rt, NULL, n * 4);
        RUN(&kernel, groups(n, 64), 1, BUFFER("pattern", bp), BUFFER("text", bt),
            BUFFER("count", counter), BUFFER("places", to));
        fetch(counter, &count, 4);
        fetch(to, got, n * 4);
        if (is_u64(count, expected, "matches of %u bytes in %u", m, n)) {
            qsort(got, count, 4, by_value);
            same(got, places, count, 4, "and their places");
        }
        vyre_buffer *all[] = {bt, bp, counter, to};
        for (size_t i = 0; i < COUNT(all); i++)
            vyre_buffer_free(all[i]);
        free(text);
        free(pattern);
        free(places);
        free(got);
    }
    close_kernel(&kernel);
}

/* More matches than there is room for are counted, and not written. */
static void search_full(vyre *rt)
{
    struct kernel kernel = open_kernel(rt, "search", "search");
    kernel.unordered = true;
    uint32_t count = 0, places[3];
    vyre_buffer *text = buffer_of(rt, "aaaaaaaaaa", 10), *pattern = buffer_of(rt, "aa", 2),
                *counter = buffer_of(rt, NULL, 4), *to = buffer_of(rt, NULL, sizeof places);
    RUN(&kernel, 1, 1, BUFFER("pattern", pattern), BUFFER("text", text), BUFFER("count", counter),
        BUFFER("places", to));
    fetch(counter, &count, 4);
    fetch(to, places, sizeof places);
    is_u64(count, 9, "9 matches where there is room for 3");
    ok(places[0] != places[1] && places[0] != places[2] && places[1] != places[2] &&
           places[0] < 9 && places[1] < 9 && places[2] < 9,
       "three of them are there");
    vyre_buffer *all[] = {text, pattern, counter, to};
    for (size_t i = 0; i < COUNT(all); i++)
        vyre_buffer_free(all[i]);
    close_kernel(&kernel);
}

static void bitap(vyre *rt, uint64_t *seed)
{
    struct kernel kernel = open_kernel(rt, "bitap", "bitap");
    for (size_t s = 0; s < COUNT(searches); s++) {
        uint32_t n = searches[s].text, m = searches[s].pattern, count = groups(n, 32);
        uint8_t *text = random_text(seed, n, 2), *pattern = random_text(seed, m, 2);
        uint32_t *expected = zeroes(count, 4), *got = zeroes(count, 4);
        if (n >= m) memcpy(text + random_below(seed, n - m + 1), pattern, m);
        for (uint32_t i = 0; i + m <= n; i++)
            if (memcmp(text + i, pattern, m) == 0)
                expected[(i + m - 1) / 32] |= 1u << (i + m - 1) % 32;
        vyre_buffer *bt = buffer_of(rt, text, n), *bp = buffer_of(rt, pattern, m),
                    *hits = buffer_of(rt, NULL, count * 4);
        RUN(&kernel, groups(count, 256), 1, BUFFER("pattern", bp), BUFFER("text", bt),
            BUFFER("hits", hits));
        fetch(hits, got, count * 4);
        same(got, expected, count, 4, "ends of %u bytes in %u", m, n);
        vyre_buffer_free(bt);
        vyre_buffer_free(bp);
        vyre_buffer_free(hits);
        free(text);
        free(pattern);
        free(expected);
        free(got);
    }
    close_kernel(&kernel);
}

/* Messages in one buffer: where each ends. The first ones have published checksums. */
struct messages {
    uint32_t count;
    uint32_t ends[200];
    uint8_t bytes[65536];
};

static void append(struct messages *messages, const void *bytes, size_t length)
{
    uint32_t at = messages->count ? messages->ends[messages->count - 1] : 0;
    if (at + length > sizeof messages->bytes || messages->count == COUNT(messages->ends))
        bail("no room for a message of %zu bytes", length);
    if (length) memcpy(messages->bytes + at, bytes, length);
    messages->ends[messages->count++] = at + (uint32_t)length;
}

/* An empty message, the published ones, then every length around the edges of a block of 64. */
static struct messages *make_messages(uint64_t *seed, const char *const *published, uint32_t count)
{
    struct messages *made = zeroes(1, sizeof *made);
    for (uint32_t i = 0; i < count; i++)
        append(made, published[i], strlen(published[i]));
    for (uint32_t length = 0; length < 140; length++) {
        uint8_t *text = random_text(seed, length + 1, 26);
        append(made, text, length);
        free(text);
    }
    uint8_t *longest = random_text(seed, 5000, 26);
    append(made, longest, 5000);
    free(longest);
    return made;
}

/* Runs a kernel that gives `each` words a message. */
static uint32_t *digest_all(vyre *rt, const char *name, uint32_t lanes, const char *result,
                            const struct messages *messages, uint32_t each)
{
    struct kernel kernel = open_kernel(rt, name, name);
    uint32_t n = messages->count, *got = zeroes(n * each, 4);
    vyre_buffer *ends = buffer_of(rt, messages->ends, n * 4),
                *bytes = buffer_of(rt, messages->bytes, messages->ends[n - 1]),
                *to = buffer_of(rt, NULL, n * each * 4);
    RUN(&kernel, groups(n, lanes), 1, BUFFER("ends", ends), BUFFER("bytes", bytes),
        BUFFER(result, to));
    fetch(to, got, n * each * 4);
    vyre_buffer_free(ends);
    vyre_buffer_free(bytes);
    vyre_buffer_free(to);
    close_kernel(&kernel);
    return got;
}

static uint32_t crc_of(const uint8_t *bytes, uint32_t length)
{
    uint32_t crc = UINT32_MAX;
    for (uint32_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    }
    return ~crc;
}

static void crc32(vyre *rt, uint64_t *seed)
{
    static const char *const published[] = {"123456789", "The quick brown fox jumps over the lazy "
                                                         "dog"};
    struct messages *messages = make_messages(seed, published, 2);
    uint32_t *got = digest_all(rt, "crc32", 64, "sums", messages, 1);
    uint32_t *expected = zeroes(messages->count, 4);
    for (uint32_t i = 0, at = 0; i < messages->count; at = messages->ends[i++])
        expected[i] = crc_of(messages->bytes + at, messages->ends[i] - at);
    is_u64(got[0], 0xCBF43926u, "the CRC-32 of \"123456789\"");
    is_u64(got[1], 0x414FA339u, "of the fox");
    is_u64(got[2], 0, "of nothing");
    same(got, expected, messages->count, 4, "of %u messages", messages->count);
    free(messages);
    free(got);
    free(expected);
}

static uint32_t rotate(uint32_t x, uint32_t n)
{
    return x >> n | x << (32 - n);
}

/* FIPS 180-4, with the constants derived: fractions of the roots of primes. */
static uint32_t root_bits(uint32_t prime, uint32_t degree)
{
    long double low = 0, high = prime;
    for (int i = 0; i < 200; i++) {
        long double middle = (low + high) / 2;
        long double power = degree == 2 ? middle * middle : middle * middle * middle;
        if (power > prime)
            high = middle;
        else
            low = middle;
    }
    return (uint32_t)(uint64_t)((low - (long double)(uint64_t)low) * 4294967296.0L);
}

static void sha_constants(uint32_t k[64], uint32_t start[8])
{
    uint32_t found = 0;
    for (uint32_t prime = 2; found < 64; prime++) {
        uint32_t divisor = 2;
        while (prime % divisor != 0)
            divisor++;
        if (divisor != prime) continue;
        if (found < 8) start[found] = root_bits(prime, 2);
        k[found++] = root_bits(prime, 3);
    }
}

static void sha_block(uint32_t state[8], const uint8_t *block, const uint32_t k[64])
{
    uint32_t w[64], v[8];
    memcpy(v, state, sizeof v);
    for (uint32_t t = 0; t < 64; t++) {
        if (t < 16) {
            const uint8_t *b = block + 4 * t;
            w[t] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
        } else {
            uint32_t a = w[t - 15], b = w[t - 2];
            w[t] = w[t - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[t - 7] +
                   (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
        }
        uint32_t e = v[4], a = v[0];
        uint32_t one = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                       ((e & v[5]) ^ (~e & v[6])) + k[t] + w[t];
        uint32_t two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                       ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += one;
        v[0] = one + two;
    }
    for (uint32_t i = 0; i < 8; i++)
        state[i] += v[i];
}

static void sha_of(const uint8_t *bytes, uint32_t length, uint32_t digest[8])
{
    static uint32_t k[64], start[8];
    uint8_t last[128] = {0};
    uint32_t whole = length / 64 * 64, rest = length - whole, end = rest < 56 ? 64 : 128;
    if (k[0] == 0) sha_constants(k, start);
    memcpy(digest, start, sizeof start);
    for (uint32_t at = 0; at < whole; at += 64)
        sha_block(digest, bytes + at, k);
    if (rest) memcpy(last, bytes + whole, rest);
    last[rest] = 0x80;
    for (uint32_t i = 0; i < 8; i++)
        last[end - 1 - i] = (uint8_t)((uint64_t)length * 8 >> 8 * i);
    for (uint32_t at = 0; at < end; at += 64)
        sha_block(digest, last + at, k);
}

static void sha256(vyre *rt, uint64_t *seed)
{
    static const char *const published[] = {
        "abc", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"};
    static const uint32_t vectors[3][8] = {{0xBA7816BF, 0x8F01CFEA, 0x414140DE, 0x5DAE2223,
                                            0xB00361A3, 0x96177A9C, 0xB410FF61, 0xF20015AD},
                                           {0x248D6A61, 0xD20638B8, 0xE5C02693, 0x0C3E6039,
                                            0xA33CE459, 0x64FF2167, 0xF6ECEDD4, 0x19DB06C1},
                                           {0xE3B0C442, 0x98FC1C14, 0x9AFBF4C8, 0x996FB924,
                                            0x27AE41E4, 0x649B934C, 0xA495991B, 0x7852B855}};
    struct messages *messages = make_messages(seed, published, 2);
    uint32_t *got = digest_all(rt, "sha256", 32, "digests", messages, 8);
    uint32_t *expected = zeroes(messages->count * 8, 4);
    for (uint32_t i = 0, at = 0; i < messages->count; at = messages->ends[i++])
        sha_of(messages->bytes + at, messages->ends[i] - at, expected + 8 * i);
    same(expected, vectors, 24, 4, "the test's own SHA-256 gives the published digests");
    same(got, vectors, 24, 4, "SHA-256 of the published messages");
    same(got, expected, messages->count * 8, 4, "of %u messages", messages->count);
    free(messages);
    free(got);
    free(expected);
}

static void fnv64(vyre *rt, uint64_t *seed)
{
    static const char *const published[] = {"a", "foobar"};
    struct messages *messages = make_messages(seed, published, 2);
    uint32_t *got = digest_all(rt, "fnv64", 64, "hashes", messages, 2);
    uint64_t *expected = zeroes(messages->count, 8);
    for (uint32_t i = 0, at = 0; i < messages->count; i++) {
        uint64_t hash = 0xCBF29CE484222325u;
        for (; at < messages->ends[i]; at++)
            hash = (hash ^ messages->bytes[at]) * 0x100000001B3u;
        expected[i] = hash;
    }
    is_u64(got[0] | (uint64_t)got[1] << 32, 0xAF63DC4C8601EC8Cu, "FNV-1a of \"a\"");
    is_u64(got[2] | (uint64_t)got[3] << 32, 0x85944171F73967E8u, "of \"foobar\"");
    is_u64(got[4] | (uint64_t)got[5] << 32, 0xCBF29CE484222325u, "of nothing");
    same(got, expected, messages->count, 8, "of %u messages", messages->count);
    free(messages);
    free(got);
    free(expected);
}

static void base64(vyre *rt, uint64_t *seed)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 6, 190, 191, 192, 193, 194, 1000, 9999};
    struct kernel kernel = open_kernel(rt, "base64", "base64");
    for (size_t s = 0; s < COUNT(sizes); s++) {
        uint32_t n = sizes[s], room = (n + 2) / 3 * 4;
        uint8_t *bytes = zeroes(n + 2, 1), *got = zeroes(room, 1), *expected = zeroes(room, 1);
        for (uint32_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)random_next(seed);
        for (uint32_t i = 0; i < room; i++) {
            const uint8_t *from = bytes + i / 4 * 3;
            uint32_t group = (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];
            uint32_t beyond = i / 4 * 3 + i % 4 > n ? 1 : 0; /* no bit of this letter is a byte's */
            expected[i] = (uint8_t)(beyond ? '=' : letters[group >> (18 - i % 4 * 6) & 63]);
        }
        vyre_buffer *from = buffer_of(rt, bytes, n), *to = buffer_of(rt, NULL, room);
        RUN(&kernel, groups(groups(n, 3), 64), 1, BUFFER("bytes", from), BUFFER("letters", to));
        fetch(to, got, room);
        same(got, expected, room, 1, "base64 of %u bytes", n);
        vyre_buffer_free(from);
        vyre_buffer_free(to);
        free(bytes);
        free(got);
        free(expected);
    }
    close_kernel(&kernel);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    vyre *rt = open_cpu(2);
    search(rt, &seed);
    search_full(rt);
    bitap(rt, &seed);
    crc32(rt, &seed);
    sha256(rt, &seed);
    fnv64(rt, &seed);
    base64(rt, &seed);
    vyre_close(rt);
    return done();
}
