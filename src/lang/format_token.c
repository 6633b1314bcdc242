/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The formatter's reading: the tokens with their comments, and what may stand between two of them.
 * Both follow from the tokens alone, never from how the author laid them out, so a second run finds
 * the same.
 */
#include <stdio.h>
#include <string.h>

#include "lang/format.h"

enum role { OTHER, UNARY, BINARY, POSTFIX };

/* An open bracket. */
struct bracket {
    uint32_t token;
    bool control; /* of if, for, while: what follows it is no operand's rest */
    bool call;    /* behind a name, a type or an operand */
};

/* What the reading knows before a token. */
struct reading {
    struct bracket stack[FORMAT_MOST_DEPTH];
    uint32_t depth;
    uint32_t last;  /* the last token that is no comment, or the count of all */
    bool operand;   /* it ends an operand */
    bool cast;      /* it ends a cast */
    enum role role; /* that it had */
};

void vyre_lang_format_refuse(struct format *format, size_t at, const char *fix, const char *what)
{
    unsigned line = 1, column = 1;
    if (format->status) return;
    for (size_t i = 0; i < at; i++, column++) {
        if (format->text[i] != '\n') continue;
        line++;
        column = 0;
    }
    format->status = vyre_fail_with(format->err, VYRE_E_SOURCE, fix && fix[0] ? fix : "mend it",
                                    "%u:%u: %s", line, column, what);
}

static void complain(void *ctx, uint32_t diagnostic, struct lang_span span, const char *message,
                     const char *fix)
{
    (void)diagnostic;
    vyre_lang_format_refuse(ctx, span.at, fix, message);
}

void vyre_lang_format_grammar(struct format *format)
{
    struct lang_listener listener = {complain, format};
    vyre_status status =
        vyre_lang_syntax(format->memory, format->text, format->length, listener, format->err);
    if (status) format->status = status;
}

bool vyre_lang_format_is_comment(const struct format *format, uint32_t token)
{
    return format->tokens[token].kind == LANG_COMMENT_LINE ||
           format->tokens[token].kind == LANG_COMMENT_BLOCK;
}

uint32_t vyre_lang_format_code(const struct format *format, uint32_t token)
{
    while (vyre_lang_format_is_comment(format, token))
        token++;
    return token;
}

static bool opens(uint32_t kind)
{
    return kind == LANG_LPAREN || kind == LANG_LBRACKET || kind == LANG_LBRACE;
}

static bool closes(uint32_t kind)
{
    return kind == LANG_RPAREN || kind == LANG_RBRACKET || kind == LANG_RBRACE;
}

uint32_t vyre_lang_format_group(const struct format *format, uint32_t token)
{
    uint32_t depth = 0;
    for (; format->tokens[token].kind != LANG_END; token++) {
        if (opens(format->tokens[token].kind)) depth++;
        if (closes(format->tokens[token].kind) && --depth == 0) return token + 1;
    }
    return token;
}

static bool is_type(uint32_t kind)
{
    return kind >= LANG_VOID && kind <= LANG_I16;
}

/* Its rank among the operators that a line breaks before, loosest first; 0: none of them. */
static uint32_t rank(uint32_t kind)
{
    switch (kind) {
    case LANG_QUESTION:
    case LANG_COLON:
        return 1;
    case LANG_OR_OR:
        return 2;
    case LANG_AND_AND:
        return 3;
    case LANG_OR:
        return 4;
    case LANG_XOR:
        return 5;
    case LANG_AND:
        return 6;
    case LANG_EQ:
    case LANG_NE:
        return 7;
    case LANG_LT:
    case LANG_GT:
    case LANG_LE:
    case LANG_GE:
        return 8;
    case LANG_SHL:
    case LANG_SHR:
        return 9;
    case LANG_PLUS:
    case LANG_MINUS:
        return 10;
    case LANG_STAR:
    case LANG_SLASH:
    case LANG_PERCENT:
        return 11;
    default:
        return 0;
    }
}

static enum role role_of(uint32_t kind, bool behind_operand)
{
    switch (kind) {
    case LANG_NOT:
    case LANG_TILDE:
        return UNARY;
    case LANG_PLUS:
    case LANG_MINUS:
        return behind_operand ? BINARY : UNARY;
    case LANG_PLUS_PLUS:
    case LANG_MINUS_MINUS:
        return behind_operand ? POSTFIX : UNARY;
    default:
        return rank(kind) ? BINARY : OTHER;
    }
}

/* Whether two tokens with nothing between them would be read as others. */
static bool merges(const struct format *format, const struct format_token *a,
                   const struct format_token *b)
{
    bool a_word = a->kind == LANG_NAME || a->kind == LANG_INTEGER || a->kind == LANG_FLOAT ||
                  vyre_lang_is_word(a->kind);
    bool b_word = b->kind == LANG_NAME || b->kind == LANG_INTEGER || b->kind == LANG_FLOAT ||
                  vyre_lang_is_word(b->kind);
    bool a_number = a->kind == LANG_INTEGER || a->kind == LANG_FLOAT;
    bool b_number = b->kind == LANG_INTEGER || b->kind == LANG_FLOAT;
    if (a->kind == LANG_STRING || b->kind == LANG_STRING) return false;
    if (a_word && b_word) return true;
    if (a_number)
        return b->kind == LANG_DOT || b->kind == LANG_PLUS || b->kind == LANG_MINUS ||
               b->kind == LANG_PLUS_PLUS || b->kind == LANG_MINUS_MINUS;
    if (b_number) return a->kind == LANG_DOT;
    if (a_word || b_word) return false;
    char both[8]; /* no mark has more than three characters */
    memcpy(both, format->text + a->at, a->length);
    memcpy(both + a->length, format->text + b->at, b->length);
    struct lang_lexer lexer = {.text = both, .length = a->length + b->length, .comments = true};
    return vyre_lang_next(&lexer).length != a->length;
}

static bool behind_name(const struct reading *reading, uint32_t kind)
{
    return kind == LANG_NAME || is_type(kind) || kind == LANG_WORKGROUP || reading->operand;
}

/* Whether a space stands between the last token, `a`, and `b`. */
static bool space_between(const struct format *format, const struct reading *reading,
                          const struct format_token *a, const struct format_token *b,
                          enum role role)
{
    if (a->kind == LANG_LPAREN || a->kind == LANG_LBRACKET || a->kind == LANG_AT ||
        a->kind == LANG_DOT)
        return merges(format, a, b);
    if (b->kind == LANG_RPAREN || b->kind == LANG_RBRACKET || b->kind == LANG_COMMA ||
        b->kind == LANG_SEMICOLON || b->kind == LANG_DOT)
        return merges(format, a, b);
    bool tight = reading->role == UNARY || role == POSTFIX || reading->cast;
    if (b->kind == LANG_LPAREN || b->kind == LANG_LBRACKET)
        tight = tight || behind_name(reading, a->kind);
    return !tight || merges(format, a, b);
}

/* The same where one of them is a comment. */
static bool space_at_comment(uint32_t a, uint32_t b)
{
    return a != LANG_LPAREN && a != LANG_LBRACKET && b != LANG_RPAREN && b != LANG_RBRACKET &&
           b != LANG_COMMA && b != LANG_SEMICOLON;
}

static uint32_t level_of(const struct reading *reading, uint32_t before,
                         const struct format_token *token, enum role role)
{
    uint32_t base = 1 + 16 * reading->depth;
    bool list = before == LANG_COMMA || (before == LANG_SEMICOLON && reading->depth != 0);
    if (list && !closes(token->kind) && token->kind != LANG_SEMICOLON) return base;
    if (token->kind == LANG_AT) return base;
    return role == BINARY ? base + rank(token->kind) : 0;
}

static void open_bracket(struct format *format, struct reading *reading, uint32_t token)
{
    uint32_t before = reading->last < format->count ? format->tokens[reading->last].kind : LANG_END;
    if (reading->depth == FORMAT_MOST_DEPTH) {
        vyre_lang_format_refuse(format, format->tokens[token].at,
                                "split what is inside into functions or variables",
                                "brackets are nested more than 512 deep here");
        return;
    }
    reading->stack[reading->depth++] = (struct bracket){
        .token = token,
        .control = before == LANG_IF || before == LANG_FOR || before == LANG_WHILE,
        .call = behind_name(reading, before),
    };
}

/* Whether the closed parenthesis is a cast's: just a type, and nothing that it could belong to. */
static bool is_cast(const struct format *format, const struct reading *reading,
                    const struct bracket *open)
{
    return !open->call && !open->control && is_type(format->tokens[reading->last].kind) &&
           vyre_lang_format_code(format, open->token + 1) == reading->last;
}

/* Takes the matching bracket off the stack; whether a cast ended here goes to *cast. */
static bool close_bracket(struct format *format, struct reading *reading, uint32_t token,
                          bool *cast)
{
    uint32_t kind = format->tokens[token].kind;
    char what[96];
    if (reading->depth == 0) {
        snprintf(what, sizeof what, "this `%s` closes nothing", vyre_lang_token_text(kind));
        vyre_lang_format_refuse(format, format->tokens[token].at, "remove it", what);
        return false;
    }
    const struct bracket *open = &reading->stack[--reading->depth];
    uint32_t opened = format->tokens[open->token].kind;
    uint32_t wanted = opened == LANG_LPAREN     ? LANG_RPAREN
                      : opened == LANG_LBRACKET ? LANG_RBRACKET
                                                : LANG_RBRACE;
    if (kind != wanted) {
        snprintf(what, sizeof what, "this `%s` stands where `%s` would close the last `%s`",
                 vyre_lang_token_text(kind), vyre_lang_token_text(wanted),
                 vyre_lang_token_text(opened));
        vyre_lang_format_refuse(format, format->tokens[token].at, "close the inner bracket first",
                                what);
        return false;
    }
    *cast = kind == LANG_RPAREN && is_cast(format, reading, open);
    return kind != LANG_RBRACE && !open->control && !*cast;
}

/* Says of one token what may stand before it, and goes past it. */
static void annotate(struct format *format, struct reading *reading, uint32_t i)
{
    struct format_token *token = &format->tokens[i];
    uint32_t before = i ? format->tokens[i - 1].kind : LANG_END;
    bool cast = false;
    if (vyre_lang_format_is_comment(format, i) ||
        (i && vyre_lang_format_is_comment(format, i - 1))) {
        token->space = space_at_comment(before, token->kind);
    }
    if (vyre_lang_format_is_comment(format, i)) {
        token->level = (uint16_t)level_of(reading, before, token, OTHER);
        return;
    }
    enum role role = role_of(token->kind, reading->operand);
    if (i && reading->last == i - 1)
        token->space = space_between(format, reading, &format->tokens[i - 1], token, role);
    token->level = (uint16_t)level_of(reading, before, token, role);
    bool operand = token->kind == LANG_NAME || token->kind == LANG_INTEGER ||
                   token->kind == LANG_FLOAT || token->kind == LANG_STRING ||
                   token->kind == LANG_TRUE || token->kind == LANG_FALSE || role == POSTFIX;
    if (opens(token->kind)) open_bracket(format, reading, i);
    if (closes(token->kind)) operand = close_bracket(format, reading, i, &cast);
    reading->last = i;
    reading->operand = operand;
    reading->cast = cast;
    reading->role = role;
}

static uint32_t count_tokens(struct format *format)
{
    struct lang_lexer lexer = {.text = format->text,
                               .length = format->length,
                               .complain = complain,
                               .ctx = format,
                               .comments = true};
    uint32_t count = 1;
    while (vyre_lang_next(&lexer).kind != LANG_END)
        count++;
    return count;
}

static void collect(struct format *format)
{
    struct lang_lexer lexer = {.text = format->text, .length = format->length, .comments = true};
    size_t behind = 0;
    for (uint32_t i = 0; i < format->count; i++) {
        struct lang_token token = vyre_lang_next(&lexer);
        struct format_token *kept = &format->tokens[i];
        *kept = (struct format_token){.at = token.at, .length = token.length, .kind = token.kind};
        for (; behind < token.at; behind++)
            if (format->text[behind] == '\n' && kept->breaks < 2) kept->breaks++;
        behind = (size_t)token.at + token.length;
    }
}

void vyre_lang_format_read(struct format *format)
{
    void *memory;
    struct reading *reading;
    format->count = count_tokens(format);
    if (format->status) return;
    format->status = vyre_memory_alloc(format->memory, format->count, sizeof(struct format_token),
                                       "tokens", &memory, format->err);
    if (format->status) return;
    format->tokens = memory;
    format->status = vyre_memory_alloc(format->memory, 1, sizeof(struct reading), "brackets",
                                       &memory, format->err);
    if (format->status) return;
    reading = memory;
    reading->last = format->count;
    collect(format);
    for (uint32_t i = 0; i < format->count && !format->status; i++)
        annotate(format, reading, i);
    if (!format->status && reading->depth) {
        const struct format_token *open = &format->tokens[reading->stack[reading->depth - 1].token];
        char what[64];
        snprintf(what, sizeof what, "this `%s` is never closed", vyre_lang_token_text(open->kind));
        vyre_lang_format_refuse(format, open->at, "close it", what);
    }
    vyre_memory_free(format->memory, reading, sizeof *reading);
}
