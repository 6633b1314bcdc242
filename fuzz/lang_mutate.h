/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a fuzz target over sources mutates with, where libFuzzer is linked: bytes as they are, or
 * tokens: one put in, taken out, doubled, moved, or replaced by another of the same sort. The
 * tables of the language are the dictionary.
 */
#ifndef VYRE_FUZZ_LANG_MUTATE_H
#define VYRE_FUZZ_LANG_MUTATE_H

#ifdef VYRE_LIBFUZZER

#    include <stdint.h>
#    include <string.h>

#    include "lang/token.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

#    define LANG_MUTATE_TOKENS 4096u

static const char *const lang_words[] = {
#    define LANG_WORD(name, text) text,
#    define LANG_MARK(name, text) text,
#    include "lang/tokens.def"
#    define LANG_FUNCTION(name, signature, how, operator, text) name,
#    include "lang/functions.def"
    "i",
    "x",
    "y",
    "0",
    "1",
    "64",
    "-1",
    "0xFFFFFFFF",
    "0x80000000",
    "1.0",
    "1e-3",
    "3.4e38",
    "1u",
    "7i",
    "\"%u %d\"",
    "global_id.x",
    "local_id.y",
    "group_id.z",
    "group_size.x",
    "local_index",
    "@workgroup(8)",
    "@guard(x)",
    "x[i]",
    "// c\n",
    "/* c */",
    "\n",
    "for (u32 k = 0; k < 4; k++) {",
    "while (true) {",
    "do {",
    "} while (x[0] > 1);",
    "if (i < 3)",
    "else",
    "break;",
    "continue;",
    "return;",
    "return 1;",
    "u32 a = 1;",
    "barrier();",
    "workgroup u32 w[8];",
    "kernel k(inout u32 x[]) {",
    "u32 f(u32 a) {",
    "const u32 C = 2;"};

static inline uint32_t lang_draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)*seed * below) >> 32);
}

struct lang_cut {
    size_t from, to;
};

/* One or a few tokens of the source, by their place; empty where there is none. */
static inline struct lang_cut lang_cut(const struct lang_token *tokens, uint32_t count,
                                       uint32_t *seed)
{
    if (count == 0) return (struct lang_cut){0, 0};
    uint32_t first = lang_draw(seed, count), last = first;
    if (lang_draw(seed, 3) == 0) last += lang_draw(seed, count - first < 24 ? count - first : 24);
    return (struct lang_cut){tokens[first].at, (size_t)tokens[last].at + tokens[last].length};
}

/* Puts `piece` in the place of [from, to); the new size, or 0 where there is no room. */
static inline size_t lang_put(uint8_t *data, size_t size, size_t most, struct lang_cut cut,
                              const char *piece, size_t length)
{
    size_t kept = size - cut.to, spaced = length ? length + 2 : 1;
    if (cut.from + spaced + kept > most) return 0;
    memmove(data + cut.from + spaced, data + cut.to, kept);
    memset(data + cut.from, ' ', spaced);
    if (length) memcpy(data + cut.from + 1, piece, length);
    return cut.from + spaced + kept;
}

static inline size_t lang_mutate_tokens(uint8_t *data, size_t size, size_t most, uint32_t seed)
{
    static struct lang_token tokens[LANG_MUTATE_TOKENS];
    static char piece[4096];
    struct lang_lexer lexer = {.text = (const char *)data, .length = size};
    uint32_t count = 0;
    while (count < LANG_MUTATE_TOKENS) {
        tokens[count] = vyre_lang_next(&lexer);
        if (tokens[count].kind == LANG_END) break;
        count++;
    }
    struct lang_cut at = lang_cut(tokens, count, &seed), other = lang_cut(tokens, count, &seed);
    uint32_t what = lang_draw(&seed, 5);
    const char *word = lang_words[lang_draw(&seed, sizeof lang_words / sizeof lang_words[0])];
    if (what == 0) return lang_put(data, size, most, at, "", 0);
    if (what == 1) at.to = at.from;
    if (what <= 2) return lang_put(data, size, most, at, word, strlen(word));
    size_t length = other.to - other.from;
    if (length > sizeof piece) return 0;
    memcpy(piece, data + other.from, length);
    if (what == 3) at.to = at.from;
    return lang_put(data, size, most, at, piece, length);
}

static inline size_t lang_mutate(uint8_t *data, size_t size, size_t most, uint32_t seed)
{
    size_t length = 0;
    if (seed % 8 != 0) length = lang_mutate_tokens(data, size, most, seed / 8);
    if (length && seed % 8 < 3) {
        size_t more = lang_mutate_tokens(data, length, most, seed / 8 + 77);
        length = more ? more : length;
    }
    return length ? length : LLVMFuzzerMutate(data, size, most);
}

#endif

#endif
