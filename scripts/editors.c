/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Prints a grammar of the kernel language for editors, made from tokens.def and functions.def:
 * `vim` a syntax file, `textmate` a TextMate grammar. Called by scripts/gen-editors only. A
 * reserved word that belongs to no group here is an error, so a new one cannot be forgotten.
 */
#include <stdio.h>
#include <string.h>

enum group { DECLARE, TYPE, CONDITION, LOOP, LEAVE, TRUTH, FUNCTION, GIVEN, ATTRIBUTE, GROUPS };

struct group_row {
    const char *vim;      /* group of the syntax file */
    const char *standard; /* what it is linked to */
    const char *scope;    /* of the TextMate grammar */
};

static const struct group_row groups[GROUPS] = {
    [DECLARE] = {"vyreDeclare", "StorageClass", "storage.modifier.vyre"},
    [TYPE] = {"vyreType", "Type", "storage.type.vyre"},
    [CONDITION] = {"vyreConditional", "Conditional", "keyword.control.conditional.vyre"},
    [LOOP] = {"vyreRepeat", "Repeat", "keyword.control.loop.vyre"},
    [LEAVE] = {"vyreStatement", "Statement", "keyword.control.flow.vyre"},
    [TRUTH] = {"vyreBoolean", "Boolean", "constant.language.boolean.vyre"},
    [FUNCTION] = {"vyreFunction", "Function", "support.function.vyre"},
    [GIVEN] = {"vyreGiven", "Constant", "variable.language.vyre"},
    [ATTRIBUTE] = {"vyreAttribute", "PreProc", "storage.modifier.attribute.vyre"},
};

struct word {
    const char *name; /* of a token; "" of others */
    const char *text;
};

static const struct word words[] = {
#define LANG_WORD(name, text) {#name, text},
#include "lang/tokens.def"
};

static const struct word functions[] = {
#define LANG_FUNCTION(name, signature, how, operator, text) {"", name},
#include "lang/functions.def"
};

/* Marks that compute or compare; the rest is punctuation. */
static const struct word marks[] = {
#define LANG_MARK(name, text) {#name, text},
#include "lang/tokens.def"
};

/* Names that are no reserved words: a declaration may hide them. `i` is so often hidden that it is
 * left alone. */
static const struct word given[] = {
    {"", "global_id"}, {"", "local_id"}, {"", "group_id"}, {"", "group_size"}, {"", "local_index"},
};

static const struct word attributes[] = {{"", "workgroup"}, {"", "guard"}};

enum {
    WORDS = sizeof words / sizeof words[0],
    FUNCTIONS = sizeof functions / sizeof functions[0],
    MARKS = sizeof marks / sizeof marks[0],
    GIVENS = sizeof given / sizeof given[0],
    ATTRIBUTES = sizeof attributes / sizeof attributes[0]
};

static int one_of(const char *name, const char *list)
{
    size_t len = strlen(name);

    for (const char *at = list; (at = strstr(at, name)) != NULL; at += len)
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0')) return 1;
    return 0;
}

static enum group group_of(const char *name)
{
    static const struct {
        enum group group;
        const char *names;
    } lists[] = {
        {DECLARE, "KERNEL CONST WORKGROUP IN OUT INOUT"},
        {TYPE, "VOID U32 I32 F32 BOOL U8 I8 U16 I16"},
        {CONDITION, "IF ELSE"},
        {LOOP, "FOR WHILE DO"},
        {LEAVE, "BREAK CONTINUE RETURN"},
        {TRUTH, "TRUE FALSE"},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (one_of(name, lists[i].names)) return lists[i].group;
    return GROUPS;
}

static int is_operator(const char *name)
{
    return !one_of(name, "LPAREN RPAREN LBRACKET RBRACKET LBRACE RBRACE COMMA SEMICOLON DOT AT");
}

/* The words of a group, parted by `between`. */
static void put_words(enum group group, const char *between)
{
    const struct word *list = group == FUNCTION    ? functions
                              : group == GIVEN     ? given
                              : group == ATTRIBUTE ? attributes
                                                   : words;
    int count = group == FUNCTION    ? FUNCTIONS
                : group == GIVEN     ? GIVENS
                : group == ATTRIBUTE ? ATTRIBUTES
                                     : WORDS;
    const char *before = "";

    for (int i = 0; i < count; i++) {
        if (list == words && group_of(list[i].name) != group) continue;
        printf("%s%s", before, list[i].text);
        before = between;
    }
}

/* Each operator, its special characters escaped for the kind of pattern. */
static void put_operators(const char *between, const char *special, const char *escape)
{
    const char *before = "";

    for (int i = 0; i < MARKS; i++) {
        if (!is_operator(marks[i].name)) continue;
        fputs(before, stdout);
        for (const char *c = marks[i].text; *c != '\0'; c++)
            printf("%s%c", strchr(special, *c) != NULL ? escape : "", *c);
        before = between;
    }
}

/* The syntax file of Vim.
 * ------------------------------------------------------------------------------------------- */

static void vim(void)
{
    puts("\" SPDX-License-Identifier: MIT OR Apache-2.0\n"
         "\" The kernel language of vyre. Made from src/lang/tokens.def and functions.def by\n"
         "\" scripts/gen-editors.\n\n"
         "if exists(\"b:current_syntax\")\n"
         "  finish\n"
         "endif\n\n"
         "syntax case match\n");
    /* Of items that begin at one place the last one wins: comments stand behind operators. */
    fputs("syntax match vyreOperator \"\\V", stdout);
    put_operators("\\|", "\\", "\\");
    puts("\"");
    for (int group = 0; group < ATTRIBUTE; group++) {
        printf("syntax keyword %s ", groups[group].vim);
        put_words((enum group)group, " ");
        putchar('\n');
    }
    printf("syntax match %s \"@\\s*\\%%(", groups[ATTRIBUTE].vim);
    put_words(ATTRIBUTE, "\\|");
    puts("\\)\\>\"\n"
         "syntax match vyreNumber \"\\<\\d[0-9_]*[ui]\\=\\>\"\n"
         "syntax match vyreNumber \"\\<0[xX][0-9a-fA-F][0-9a-fA-F_]*[ui]\\=\\>\"\n"
         "syntax match vyreNumber \"\\<0[bB][01][01_]*[ui]\\=\\>\"\n"
         "syntax match vyreFloat \"\\<\\d[0-9_]*\\.[0-9_]*\\%([eE][-+]\\=\\d\\+\\)\\=[fF]\\=\"\n"
         "syntax match vyreFloat \"\\.\\d[0-9_]*\\%([eE][-+]\\=\\d\\+\\)\\=[fF]\\=\\>\"\n"
         "syntax match vyreFloat \"\\<\\d[0-9_]*\\%([eE][-+]\\=\\d\\+[fF]\\=\\|[fF]\\)\\>\"\n"
         "syntax match vyreEscape \"\\\\[nt\\\"\\\\]\" contained\n"
         "syntax match vyreFormat \"%[udxf%]\" contained\n"
         "syntax region vyreString start=+\"+ skip=+\\\\.+ end=+\"+ oneline "
         "contains=vyreEscape,vyreFormat,@Spell\n"
         "syntax keyword vyreTodo TODO FIXME XXX NOTE contained\n"
         "syntax match vyreComment \"//.*$\" contains=vyreTodo,@Spell\n"
         "syntax region vyreComment start=\"/\\*\" end=\"\\*/\" contains=vyreTodo,@Spell\n\n"
         "syntax sync ccomment vyreComment\n");
    for (int group = 0; group < GROUPS; group++)
        printf("highlight default link %s %s\n", groups[group].vim, groups[group].standard);
    puts("highlight default link vyreOperator Operator\n"
         "highlight default link vyreNumber Number\n"
         "highlight default link vyreFloat Float\n"
         "highlight default link vyreString String\n"
         "highlight default link vyreEscape SpecialChar\n"
         "highlight default link vyreFormat SpecialChar\n"
         "highlight default link vyreComment Comment\n"
         "highlight default link vyreTodo Todo\n\n"
         "let b:current_syntax = \"vyre\"");
}

/* The TextMate grammar.
 * ------------------------------------------------------------------------------------------- */

/* One rule; `pattern` is written as it stands in the file. */
static void rule(const char *scope, const char *pattern, const char *after)
{
    printf("    { \"name\": \"%s\", \"match\": \"%s\" }%s\n", scope, pattern, after);
}

static void word_rule(enum group group, const char *before)
{
    printf("    { \"name\": \"%s\", \"match\": \"%s(", groups[group].scope, before);
    put_words(group, "|");
    puts(")\\\\b\" },");
}

static void textmate(void)
{
    puts("{\n"
         "  \"comment\": \"SPDX-License-Identifier: MIT OR Apache-2.0. Made from "
         "src/lang/tokens.def and functions.def by scripts/gen-editors.\",\n"
         "  \"name\": \"vyre\",\n"
         "  \"scopeName\": \"source.vyre\",\n"
         "  \"fileTypes\": [\"vyre\"],\n"
         "  \"patterns\": [\n"
         "    { \"name\": \"comment.line.double-slash.vyre\", \"begin\": \"//\", \"end\": \"$\" "
         "},\n"
         "    { \"name\": \"comment.block.vyre\", \"begin\": \"/\\\\*\", \"end\": \"\\\\*/\" },\n"
         "    {\n"
         "      \"name\": \"string.quoted.double.vyre\",\n"
         "      \"begin\": \"\\\"\",\n"
         "      \"end\": \"\\\"|$\",\n"
         "      \"patterns\": [\n"
         "        { \"name\": \"constant.character.escape.vyre\", \"match\": "
         "\"\\\\\\\\[nt\\\"\\\\\\\\]\" },\n"
         "        { \"name\": \"constant.other.placeholder.vyre\", \"match\": \"%[udxf%]\" }\n"
         "      ]\n"
         "    },");
    word_rule(ATTRIBUTE, "@\\\\s*");
    rule("constant.numeric.hex.vyre", "\\\\b0[xX][0-9a-fA-F][0-9a-fA-F_]*[ui]?\\\\b", ",");
    rule("constant.numeric.binary.vyre", "\\\\b0[bB][01][01_]*[ui]?\\\\b", ",");
    rule("constant.numeric.float.vyre",
         "(\\\\b[0-9][0-9_]*\\\\.[0-9_]*|(?<![0-9])\\\\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?[fF]?", ",");
    rule("constant.numeric.float.vyre", "\\\\b[0-9][0-9_]*([eE][-+]?[0-9]+[fF]?|[fF])\\\\b", ",");
    rule("constant.numeric.integer.vyre", "\\\\b[0-9][0-9_]*[ui]?\\\\b", ",");
    for (int group = 0; group < ATTRIBUTE; group++)
        word_rule((enum group)group, "\\\\b");
    rule("entity.name.function.vyre", "\\\\b[A-Za-z_][A-Za-z0-9_]*(?=\\\\s*\\\\()", ",");
    fputs("    { \"name\": \"keyword.operator.vyre\", \"match\": \"", stdout);
    put_operators("|", "\\^$.|?*+()[]{}", "\\\\");
    puts("\" }\n"
         "  ]\n"
         "}");
}

int main(int argc, char **argv)
{
    for (int i = 0; i < WORDS; i++) {
        if (group_of(words[i].name) != GROUPS) continue;
        fprintf(stderr,
                "editors: the reserved word `%s` belongs to no group of scripts/editors.c\n",
                words[i].text);
        return 70;
    }
    if (argc == 2 && strcmp(argv[1], "vim") == 0) {
        vim();
    } else if (argc == 2 && strcmp(argv[1], "textmate") == 0) {
        textmate();
    } else {
        fputs("usage: editors vim|textmate\n", stderr);
        return 2;
    }
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 4;
}
