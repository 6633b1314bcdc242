/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: any bytes as a source of the kernel language, laid out. What must hold:
 *
 * - a status of OK or E_SOURCE, the latter with a message and a fix and nothing written;
 * - laid out again, the result stays as it is;
 * - it has the same tokens in the same order, and comments with the same text but for white space;
 * - no line ends in white space, and the last one ends;
 * - what compiled compiles to the same bytes, what did not does not;
 * - all memory comes back.
 */
#include "lang_check.h"
#include "lang_mutate.h"

#define MAX_BYTES 16384u
#define MAX_MADE  (1u << 22)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct made {
    char *text;
    size_t length;
};

static int keep(void *ctx, const char *text, size_t length)
{
    struct made *made = ctx;
    REQUIRE(length <= MAX_MADE - made->length);
    made->text = realloc(made->text, made->length + length);
    REQUIRE(made->text != NULL);
    memcpy(made->text + made->length, text, length);
    made->length += length;
    return 0;
}

static vyre_status lay_out(struct vyre_memory *memory, const char *text, size_t length,
                           struct made *made)
{
    vyre_error err = {0};
    vyre_status status = vyre_lang_format(memory, text, length, keep, made, &err);
    REQUIRE(status == VYRE_OK || status == VYRE_E_SOURCE);
    if (status) {
        REQUIRE(err.status == status && err.message[0] != '\0' && err.fix[0] != '\0');
        if (strstr(err.message, "would change")) fprintf(stderr, "%s\n", err.message);
        REQUIRE(made->length == 0 && strstr(err.message, "would change") == NULL);
    }
    return status;
}

/* A text without its white space, byte by byte; -1 at the end. */
static int ink(const char **at, const char *end)
{
    while (*at < end && (**at == ' ' || **at == '\t' || **at == '\r' || **at == '\n'))
        ++*at;
    return *at < end ? *(const unsigned char *)(*at)++ : -1;
}

static void same_tokens(const char *text, size_t length, const struct made *made)
{
    struct lang_lexer was = {.text = text, .length = length, .comments = true};
    struct lang_lexer is = {.text = made->text, .length = made->length, .comments = true};
    struct lang_token a, b;
    do {
        a = vyre_lang_next(&was);
        b = vyre_lang_next(&is);
        REQUIRE(a.kind == b.kind);
        const char *p = text + a.at, *q = made->text + b.at;
        int comment = a.kind == LANG_COMMENT_LINE || a.kind == LANG_COMMENT_BLOCK, c;
        if (a.kind == LANG_END) break;
        if (!comment) REQUIRE(a.length == b.length && memcmp(p, q, a.length) == 0);
        const char *p_end = p + a.length, *q_end = q + b.length;
        do {
            c = ink(&p, p_end);
            REQUIRE(c == ink(&q, q_end));
        } while (c >= 0);
    } while (a.kind != LANG_END);
}

static void tidy(const struct made *made)
{
    REQUIRE(made->length == 0 || made->text[made->length - 1] == '\n');
    for (size_t i = 1; i < made->length; i++)
        if (made->text[i] == '\n') REQUIRE(made->text[i - 1] != ' ' && made->text[i - 1] != '\t');
}

static void same_kernel(struct vyre_memory *memory, const char *text, size_t length,
                        const struct made *made, const char *name)
{
    struct lang_output *was = lang_check_compile(memory, text, length, name);
    struct lang_output *is = lang_check_compile(memory, made->text, made->length, name);
    REQUIRE((was == NULL) == (is == NULL));
    if (was) {
        REQUIRE(was->length == is->length);
        REQUIRE(memcmp(was->bytes, is->bytes, was->length) == 0);
        REQUIRE(was->span_count == is->span_count && was->print_count == is->print_count);
    }
    vyre_lang_free(was);
    vyre_lang_free(is);
}

/* A line is a value in the program where there is an assertion: it names its line when it fails. */
static int has_assertion(const char *text, size_t length)
{
    struct lang_lexer lexer = {.text = text, .length = length};
    struct lang_token token;
    do {
        token = vyre_lang_next(&lexer);
        if (token.kind == LANG_NAME && token.length == 6 &&
            memcmp(text + token.at, "assert", 6) == 0)
            return 1;
    } while (token.kind != LANG_END);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct made made = {0}, again = {0};
    struct lang_names names = {.count = 0};
    struct vyre_memory memory;
    if (size > MAX_BYTES) return 0;
    REQUIRE(vyre_memory_init(&memory, NULL, NULL) == VYRE_OK);
    if (lay_out(&memory, text, size, &made) == VYRE_OK) {
        REQUIRE(lay_out(&memory, made.text, made.length, &again) == VYRE_OK);
        REQUIRE(made.length == again.length);
        REQUIRE(made.length == 0 || memcmp(made.text, again.text, made.length) == 0);
        same_tokens(text, size, &made);
        tidy(&made);
        if (!has_assertion(text, size)) {
            REQUIRE(!vyre_lang_kernels(&memory, text, size, lang_check_name, &names, NULL));
            same_kernel(&memory, text, size, &made, NULL);
            for (uint32_t i = 0; i < names.count && names.count > 1; i++)
                same_kernel(&memory, text, size, &made, names.names[i]);
        }
    }
    free(made.text);
    free(again.text);
    REQUIRE(vyre_memory_live(&memory) == 0);
    return 0;
}

#ifdef VYRE_LIBFUZZER
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
    return lang_mutate(data, size, most, seed);
}
#endif
