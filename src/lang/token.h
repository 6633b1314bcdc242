/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Tokens, and the lexer that makes them. A source becomes one array of tokens that ends with
 * LANG_END; comments are tokens of none of the stages but the formatter's, so they are skipped
 * unless asked for. Offsets are 32 bits: a source is at most VYRE_SOURCE_MOST_BYTES long.
 */
#ifndef VYRE_LANG_TOKEN_H
#define VYRE_LANG_TOKEN_H

#include <stdbool.h>

#include "lang/lang.h"

enum lang_token_kind {
#define LANG_OTHER(name, text) LANG_##name,
#define LANG_WORD(name, text)  LANG_##name,
#define LANG_MARK(name, text)  LANG_##name,
#include "lang/tokens.def"
    LANG_COMMENT_LINE,  /* from two slashes to the end of the line, which is not in it */
    LANG_COMMENT_BLOCK, /* between slash-star and star-slash */
    LANG_TOKENS
};

struct lang_token {
    uint32_t at;
    uint32_t length;
    uint8_t kind; /* enum lang_token_kind */
};

struct lang_lexer {
    const char *text;
    size_t length;
    size_t at; /* the next byte */
    /* Called with what is wrong; diagnostic: a number of diagnostics.def. */
    void (*complain)(void *ctx, uint32_t diagnostic, struct lang_span span, const char *message,
                     const char *fix);
    void *ctx;
    bool comments; /* whether they are tokens */
    bool said_utf8;
    bool said_zero;
};

/* The next token; LANG_END again and again at the end. LANG_BAD was complained of. */
struct lang_token vyre_lang_next(struct lang_lexer *lexer);

/* The text of a token that has a fixed one, else what diagnostics call it. */
const char *vyre_lang_token_text(uint32_t kind);
/* Whether it is one of the reserved words. */
bool vyre_lang_is_word(uint32_t kind);

#endif
