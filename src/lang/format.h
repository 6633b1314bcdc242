/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the three files of the formatter share. format_token.c reads the tokens and says for each
 * whether a space or a line break may stand before it; format_line.c writes lines; format.c knows
 * statements. Nobody else includes it.
 */
#ifndef VYRE_LANG_FORMAT_H
#define VYRE_LANG_FORMAT_H

#include "lang/token.h"

#define FORMAT_COLUMNS    100u
#define FORMAT_INDENT     4u
#define FORMAT_MOST_DEPTH 512u /* more than any source nests that the compiler takes */

struct format_token {
    uint32_t at;
    uint32_t length;
    uint8_t kind;   /* enum lang_token_kind */
    uint8_t breaks; /* how many lines end before it in the source, at most 2 */
    bool space;     /* stands before it where it is not the first of a line */
    uint16_t level; /* how far inside a line break before it is; 0: there may be none */
};

struct format {
    struct vyre_memory *memory;
    const char *text;
    size_t length;
    struct format_token *tokens; /* the last is LANG_END */
    uint32_t count;
    uint32_t at; /* the next token to write */
    char *out;
    size_t used, room;
    uint32_t column; /* characters in the line that is being written */
    bool open;       /* there is one */
    bool fresh;      /* the next line has no blank one before it */
    vyre_status status;
    vyre_error *err;
};

/* format_token.c */

/* Refuses a source with what an error says at an offset. */
void vyre_lang_format_refuse(struct format *format, size_t at, const char *fix, const char *what);
/* Fills the tokens. E_SOURCE where they are no tokens or the brackets do not match. */
void vyre_lang_format_read(struct format *format);
/* E_SOURCE where the parser has something against the source: a text of another kind is not ours to
 * lay out. */
void vyre_lang_format_grammar(struct format *format);
bool vyre_lang_format_is_comment(const struct format *format, uint32_t token);
/* The first token from this one on that is no comment. */
uint32_t vyre_lang_format_code(const struct format *format, uint32_t token);
/* Behind the bracket that closes the one at `token`. */
uint32_t vyre_lang_format_group(const struct format *format, uint32_t token);

/* format_line.c */

void vyre_lang_format_put(struct format *format, const char *text, size_t length);
/* Begins a line for a token, with the blank line before it that the author put there. */
void vyre_lang_format_line(struct format *format, uint32_t indent, uint32_t token);
/* Writes tokens behind what is in the line, with as many line breaks as it takes. */
void vyre_lang_format_piece(struct format *format, uint32_t to, uint32_t indent);
/* Whether these tokens fit the line as it is, with no line break in them. */
bool vyre_lang_format_fits(const struct format *format, uint32_t to);
/* Writes the comments that stand behind the code of this line, and then all those on lines of their
 * own. */
void vyre_lang_format_trail(struct format *format);
void vyre_lang_format_comments(struct format *format, uint32_t indent);

#endif
