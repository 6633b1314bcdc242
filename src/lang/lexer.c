/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The lexer. Every byte of a source is part of a token, of a comment or of white space; what is
 * none of these becomes LANG_BAD, one token for a whole run of bad bytes, with one complaint. It
 * looks at bytes and never at the locale.
 */
#include <string.h>

#include "lang/token.h"

static const char *const texts[LANG_TOKENS] = {
#define LANG_OTHER(name, text) [LANG_##name] = text,
#define LANG_WORD(name, text)  [LANG_##name] = text,
#define LANG_MARK(name, text)  [LANG_##name] = text,
#include "lang/tokens.def"
    [LANG_COMMENT_LINE] = "a comment",
    [LANG_COMMENT_BLOCK] = "a comment",
};

/* In the order of the table: longer marks come first. */
static const uint8_t marks[] = {
#define LANG_MARK(name, text) LANG_##name,
#include "lang/tokens.def"
};

static const uint8_t words[] = {
#define LANG_WORD(name, text) LANG_##name,
#include "lang/tokens.def"
};

enum { NUMBER_CHARACTER = 1, NUMBER_UTF8, NUMBER_COMMENT, NUMBER_TEXT, NUMBER_NUMBER };

const char *vyre_lang_token_text(uint32_t kind)
{
    return kind < LANG_TOKENS ? texts[kind] : "?";
}

bool vyre_lang_is_word(uint32_t kind)
{
    return kind >= words[0] && kind <= words[sizeof words - 1];
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static char peek(const struct lang_lexer *lexer, size_t ahead)
{
    return lexer->length - lexer->at > ahead ? lexer->text[lexer->at + ahead] : '\0';
}

/* A file that is no text has many wrong bytes: one of each kind is enough to say so. */
static bool said_before(struct lang_lexer *lexer, uint32_t diagnostic, size_t from)
{
    bool zero = diagnostic == NUMBER_CHARACTER && lexer->text[from] == '\0';
    bool before = diagnostic == NUMBER_UTF8 ? lexer->said_utf8 : zero && lexer->said_zero;
    if (diagnostic == NUMBER_UTF8) lexer->said_utf8 = true;
    if (zero) lexer->said_zero = true;
    return before;
}

static void complain(struct lang_lexer *lexer, uint32_t diagnostic, size_t from,
                     const char *message, const char *fix)
{
    struct lang_span span = {(uint32_t)from, (uint32_t)(lexer->at - from)};
    if (said_before(lexer, diagnostic, from)) return;
    if (lexer->complain) lexer->complain(lexer->ctx, diagnostic, span, message, fix);
}

/* The bytes of the UTF-8 character at `at`, or 0 where there is none. */
static size_t utf8(const char *text, size_t room)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t more = c[0] >= 0xF0 ? 3 : c[0] >= 0xE0 ? 2 : 1;
    if (c[0] < 0x80) return 1;
    if (c[0] < 0xC2 || c[0] > 0xF4 || room <= more) return 0;
    for (size_t i = 1; i <= more; i++)
        if ((c[i] & 0xC0) != 0x80) return 0;
    if (c[0] == 0xE0 && c[1] < 0xA0) return 0;
    if (c[0] == 0xED && c[1] > 0x9F) return 0;
    if (c[0] == 0xF0 && c[1] < 0x90) return 0;
    if (c[0] == 0xF4 && c[1] > 0x8F) return 0;
    return more + 1;
}

/* Over one character inside a comment or a text; complains of bytes that are none. */
static void step(struct lang_lexer *lexer)
{
    size_t from = lexer->at, bytes = utf8(lexer->text + from, lexer->length - from);
    lexer->at += bytes ? bytes : 1;
    if (bytes == 0)
        complain(lexer, NUMBER_UTF8, from, "this byte is not part of a UTF-8 character",
                 "save the file as UTF-8");
}

static uint8_t block_comment(struct lang_lexer *lexer)
{
    size_t from = lexer->at;
    lexer->at += 2;
    while (lexer->at < lexer->length && !(peek(lexer, 0) == '*' && peek(lexer, 1) == '/'))
        step(lexer);
    if (lexer->at < lexer->length) {
        lexer->at += 2;
        return LANG_COMMENT_BLOCK;
    }
    size_t end = lexer->at;
    lexer->at = from + 2;
    complain(lexer, NUMBER_COMMENT, from, "this comment does not end",
             "close it with `*/`; comments do not nest");
    lexer->at = end;
    return LANG_COMMENT_BLOCK;
}

static uint8_t line_comment(struct lang_lexer *lexer)
{
    while (lexer->at < lexer->length && peek(lexer, 0) != '\n')
        step(lexer);
    return LANG_COMMENT_LINE;
}

static uint8_t string(struct lang_lexer *lexer)
{
    size_t from = lexer->at++;
    for (;;) {
        char c = peek(lexer, 0);
        if (lexer->at >= lexer->length || c == '\n') {
            complain(lexer, NUMBER_TEXT, from, "this text does not end on its line",
                     "close it with a `\"`");
            return LANG_BAD;
        }
        if (c == '"') break;
        if (c == '\\') {
            char escaped = peek(lexer, 1);
            size_t at = lexer->at;
            if (escaped != 'n' && escaped != 't' && escaped != '"' && escaped != '\\') {
                lexer->at++;
                if (lexer->at < lexer->length && peek(lexer, 0) != '\n') step(lexer);
                complain(lexer, NUMBER_TEXT, at, "there is no such escape",
                         "use one of \\n, \\t, \\\" and \\\\");
                continue;
            }
            lexer->at++;
        } else if (c == '\0') {
            lexer->at++;
            complain(lexer, NUMBER_CHARACTER, lexer->at - 1, "a zero byte in a text",
                     "remove it; a text cannot hold one");
            continue;
        }
        step(lexer);
    }
    lexer->at++;
    return LANG_STRING;
}

/* Digits, letters and dots that belong together; what they are worth is for the parser to say. */
static uint8_t number(struct lang_lexer *lexer)
{
    bool hex = peek(lexer, 0) == '0' && (peek(lexer, 1) | 0x20) == 'x';
    bool based = hex || (peek(lexer, 0) == '0' && (peek(lexer, 1) | 0x20) == 'b');
    uint8_t kind = LANG_INTEGER;
    size_t from = lexer->at;
    for (;; lexer->at++) {
        char c = peek(lexer, 0);
        if (c == '.' && !based) {
            kind = LANG_FLOAT;
            continue;
        }
        if (!is_digit(c) && !is_letter(c)) return kind;
        if (based) continue;
        bool exponent = (c | 0x20) == 'e';
        if (exponent || ((c | 0x20) == 'f' && lexer->at > from)) kind = LANG_FLOAT;
        if (exponent && (peek(lexer, 1) == '-' || peek(lexer, 1) == '+')) lexer->at++;
    }
}

/* The rest of a word that goes on with other letters than those of ASCII. */
static void foreign_letters(struct lang_lexer *lexer, size_t from)
{
    while (lexer->at < lexer->length) {
        char c = peek(lexer, 0);
        size_t bytes = utf8(lexer->text + lexer->at, lexer->length - lexer->at);
        if (!is_letter(c) && !is_digit(c) && ((unsigned char)c < 0x80 || bytes == 0)) break;
        lexer->at += bytes;
    }
    complain(lexer, NUMBER_CHARACTER, from, "a name has letters other than a-z and A-Z",
             "make names of a-z, A-Z, 0-9 and _");
}

static uint8_t word(struct lang_lexer *lexer)
{
    const char *from = lexer->text + lexer->at;
    while (is_letter(peek(lexer, 0)) || is_digit(peek(lexer, 0)))
        lexer->at++;
    size_t length = (size_t)(lexer->text + lexer->at - from);
    if (lexer->at < lexer->length && (unsigned char)peek(lexer, 0) >= 0x80 &&
        utf8(lexer->text + lexer->at, lexer->length - lexer->at) != 0) {
        foreign_letters(lexer, lexer->at - length);
        return LANG_NAME;
    }
    for (size_t i = 0; i < sizeof words; i++) {
        const char *text = texts[words[i]];
        if (text[0] == from[0] && strlen(text) == length && memcmp(text, from, length) == 0)
            return words[i];
    }
    return LANG_NAME;
}

static bool begins(const struct lang_lexer *lexer, const char *text)
{
    size_t length = strlen(text);
    return lexer->length - lexer->at >= length &&
           memcmp(lexer->text + lexer->at, text, length) == 0;
}

/* What is meant by characters that editors, and people, write instead of those of ASCII. */
static const char *character_fix(const struct lang_lexer *lexer)
{
    static const char *const others[][2] = {{"\xE2\x80\x9C", "write the plain quote \""},
                                            {"\xE2\x80\x9D", "write the plain quote \""},
                                            {"\xE2\x80\x98", "write the plain quote \""},
                                            {"\xE2\x80\x99", "write the plain quote \""},
                                            {"\xE2\x89\xA4", "write `<=`"},
                                            {"\xE2\x89\xA5", "write `>=`"},
                                            {"\xE2\x89\xA0", "write `!=`"},
                                            {"\xC3\x97", "write `*`"},
                                            {"\xC3\xB7", "write `/`"},
                                            {"\xE2\x88\x92", "write `-`"},
                                            {"\xE2\x80\x93", "write `-`"},
                                            {"\xC2\xA0", "write a plain blank"},
                                            {"\\", "remove it; a line needs no mark to go on"}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (begins(lexer, others[i][0])) return others[i][1];
    return "remove it";
}

/* A line of the preprocessor, with those that a backslash continues. */
static uint8_t directive(struct lang_lexer *lexer)
{
    size_t from = lexer->at;
    bool define = begins(lexer, "#define"), include = begins(lexer, "#include");
    bool other = begins(lexer, "#if") || begins(lexer, "#e") || begins(lexer, "#pragma") ||
                 begins(lexer, "#undef") || begins(lexer, "#line");
    while (lexer->at < lexer->length &&
           !(peek(lexer, 0) == '\n' && lexer->text[lexer->at - 1] != '\\'))
        step(lexer);
    size_t end = lexer->at;
    while (lexer->at > from + 1 &&
           (lexer->text[lexer->at - 1] == '\r' || lexer->text[lexer->at - 1] == ' '))
        lexer->at--;
    complain(lexer, NUMBER_CHARACTER, from,
             define || include || other ? "there is no preprocessor" : "no token begins with `#`",
             define    ? "use `const u32 NAME = 1;` for a constant, a function for a macro"
             : include ? "remove it; a source stands alone"
             : other   ? "remove it"
                       : "begin a comment with `//`");
    lexer->at = end;
    return LANG_BAD;
}

/* Between single quotes, if they close on the line. */
static uint8_t quoted(struct lang_lexer *lexer)
{
    size_t from = lexer->at, end = from + 1;
    bool digits = from > 0 && is_digit(lexer->text[from - 1]) && is_digit(peek(lexer, 1));
    while (!digits && end < lexer->length && lexer->text[end] != '\'' && lexer->text[end] != '\n')
        end += lexer->text[end] == '\\' && lexer->length - end > 1 ? 2 : 1;
    bool closed = !digits && end < lexer->length && lexer->text[end] == '\'';
    bool one = closed && (end == from + 2 || (end == from + 3 && lexer->text[from + 1] == '\\'));
    lexer->at++;
    while (closed && lexer->at <= end)
        step(lexer);
    complain(lexer, NUMBER_CHARACTER, from,
             digits           ? "digits are not separated by `'`"
             : closed && !one ? "a text stands in double quotes"
                              : "there are no character literals",
             digits           ? "use `_`, as in 1_000"
             : closed && !one ? "write \"...\"; only print and assert take a text"
                              : "write the number of the character, such as 65 for A");
    return LANG_BAD;
}

/* A run of bytes that begin no token. */
static uint8_t bad(struct lang_lexer *lexer)
{
    size_t from = lexer->at;
    bool utf = true;
    if (peek(lexer, 0) == '#') return directive(lexer);
    if (peek(lexer, 0) == '\'') return quoted(lexer);
    const char *fix = character_fix(lexer);
    while (lexer->at < lexer->length) {
        char c = peek(lexer, 0);
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || is_letter(c) || is_digit(c) ||
            c == '"' || (c > ' ' && strchr("()[]{},;.@?:=<>+-*/%&|^~!", c)))
            break;
        size_t bytes = utf8(lexer->text + lexer->at, lexer->length - lexer->at);
        utf = utf && bytes != 0;
        lexer->at += bytes ? bytes : 1;
    }
    if (!utf)
        complain(lexer, NUMBER_UTF8, from, "these bytes are not UTF-8", "save the file as UTF-8");
    else if (lexer->text[from] == '\0')
        complain(lexer, NUMBER_CHARACTER, from, "a zero byte",
                 "remove it; this may be no text file");
    else
        complain(lexer, NUMBER_CHARACTER, from, "no token begins with this character", fix);
    return LANG_BAD;
}

static uint8_t mark(struct lang_lexer *lexer)
{
    size_t left = lexer->length - lexer->at;
    char c = peek(lexer, 0);
    for (size_t i = 0; i < sizeof marks; i++) {
        const char *text = texts[marks[i]];
        if (text[0] != c) continue;
        size_t length = strlen(text);
        if (length > left || memcmp(text, lexer->text + lexer->at, length) != 0) continue;
        lexer->at += length;
        return marks[i];
    }
    return bad(lexer);
}

static uint8_t scan(struct lang_lexer *lexer)
{
    char c = peek(lexer, 0), next = peek(lexer, 1);
    if (c == '/' && next == '*') return block_comment(lexer);
    if (c == '/' && next == '/') return line_comment(lexer);
    if (c == '"') return string(lexer);
    if (is_letter(c)) return word(lexer);
    if (is_digit(c) || (c == '.' && is_digit(next))) return number(lexer);
    return mark(lexer);
}

struct lang_token vyre_lang_next(struct lang_lexer *lexer)
{
    static const char mark_of_utf8[] = "\xEF\xBB\xBF"; /* some editors begin a file with it */
    if (lexer->at == 0 && lexer->length >= 3 && memcmp(lexer->text, mark_of_utf8, 3) == 0)
        lexer->at = 3;
    for (;;) {
        while (lexer->at < lexer->length && (peek(lexer, 0) == ' ' || peek(lexer, 0) == '\t' ||
                                             peek(lexer, 0) == '\n' || peek(lexer, 0) == '\r'))
            lexer->at++;
        struct lang_token token = {(uint32_t)lexer->at, 0, LANG_END};
        if (lexer->at >= lexer->length) return token;
        token.kind = scan(lexer);
        token.length = (uint32_t)lexer->at - token.at;
        if (token.kind < LANG_COMMENT_LINE || lexer->comments) return token;
    }
}
