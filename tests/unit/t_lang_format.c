/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The one layout of the kernel language: examples, what is refused, memory that runs out, and over
 * random token soups that the layout is a fixed point and changes nothing but white space.
 */
#include "meter.h"

#include "lang/token.h"

struct sink {
    char text[1 << 16];
    size_t used;
    int stop; /* the writer says no */
};

static int keep(void *ctx, const char *text, size_t length)
{
    struct sink *sink = ctx;
    if (sink->stop || length >= sizeof sink->text - sink->used) return 1;
    memcpy(sink->text + sink->used, text, length);
    sink->used += length;
    sink->text[sink->used] = '\0';
    return 0;
}

static vyre_status lay_out(const char *text, size_t length, struct sink *sink, vyre_error *err)
{
    struct vyre_memory memory;
    char *exact = malloc(length ? length : 1); /* so that a sanitizer sees a byte too far */
    must(vyre_memory_init(&memory, NULL, err), err);
    memcpy(exact, text, length);
    sink->used = 0;
    sink->text[0] = '\0';
    vyre_status status = vyre_lang_layout(&memory, exact, length, keep, sink, err);
    free(exact);
    if (vyre_memory_live(&memory) != 0) bail("memory was not given back");
    return status;
}

static void becomes(const char *name, const char *text, const char *expected)
{
    static struct sink sink, again;
    vyre_error err = {0};
    if (!works(lay_out(text, strlen(text), &sink, &err), &err, "%s: is laid out", name)) return;
    is_str(sink.text, expected, "%s", name);
    must(lay_out(sink.text, sink.used, &again, &err), &err);
    is_str(again.text, sink.text, "%s: again, nothing changes", name);
}

static void functions(void)
{
    becomes("nothing", "", "");
    becomes("white space only", " \n\t\r\n\n", "");
    becomes("a kernel",
            "kernel saxpy(f32 a,in f32 x[],inout f32 y[]){if(i<len(y))y[i]=a*x[i]+y[i];}",
            "kernel saxpy(f32 a, in f32 x[], inout f32 y[])\n"
            "{\n"
            "    if (i < len(y)) y[i] = a * x[i] + y[i];\n"
            "}\n");
    becomes("attributes", "@workgroup( 16,16 )\n\n@guard(y) kernel f(out f32 y[ 64 ]) { }",
            "@workgroup(16, 16) @guard(y)\n"
            "kernel f(out f32 y[64])\n"
            "{\n"
            "}\n");
    becomes("items are set apart, constants as they were",
            "const u32 A=1;\nconst u32 B=A*2;\n\n\n\nconst u32 C=3;\nvoid f(){}\nconst u32 D=4;",
            "const u32 A = 1;\n"
            "const u32 B = A * 2;\n"
            "\n"
            "const u32 C = 3;\n"
            "\n"
            "void f()\n"
            "{\n"
            "}\n"
            "\n"
            "const u32 D = 4;\n");
    becomes("a comment goes with the function below it",
            "const u32 A = 1;\n// of f\n// too\nvoid f() {}\n// of A\n\n// of g\nvoid g() {}",
            "const u32 A = 1;\n"
            "\n"
            "// of f\n"
            "// too\n"
            "void f()\n"
            "{\n"
            "}\n"
            "// of A\n"
            "\n"
            "// of g\n"
            "void g()\n"
            "{\n"
            "}\n");
    becomes("carriage returns go", "const u32 A = 1; // a\r\n\r\n/* b\r\n */\r\n",
            "const u32 A = 1;  // a\n\n/* b\n */\n");
}

static void expressions(void)
{
    becomes("operators", "const u32 A=1+2*3-(4<<5>>6)/7%8&9|10^~11;",
            "const u32 A = 1 + 2 * 3 - (4 << 5 >> 6) / 7 % 8 & 9 | 10 ^ ~11;\n");
    becomes("comparison and choice", "const u32 A=a<=b&&c!=d||!e?- 1:+ 2;",
            "const u32 A = a <= b && c != d || !e ? -1 : +2;\n");
    becomes("signs that must not grow together", "const i32 A=- - 1- -2+ + +3 - - - x;",
            "const i32 A = - -1 - -2 + + +3 - - -x;\n");
    becomes("casts of both kinds", "const f32 A=( f32 ) x+f32 (y)*(u32)- 1+(u32)(z)-(a)-(b)*(c);",
            "const f32 A = (f32)x + f32(y) * (u32)-1 + (u32)(z) - (a) - (b) * (c);\n");
    becomes("calls and indices", "const u32 A=f ( x [ 1 ] ,g( ) ) . x+global_id . y;",
            "const u32 A = f(x[1], g()).x + global_id.y;\n");
    becomes("numbers and texts", "const f32 A=1e-3+.5-0x1F-\"a  b\";",
            "const f32 A = 1e-3 + .5 - 0x1F - \"a  b\";\n");
    becomes("numbers that must not grow together", "const u32 A = 1 .x 1e -5 2 .5;",
            "const u32 A = 1 .x 1e - 5 2 .5;\n");
}

static void statements(void)
{
    becomes("one statement a line", "void f(){u32 a=1,b=2;a++;--b;;f(a);return;}",
            "void f()\n"
            "{\n"
            "    u32 a = 1, b = 2;\n"
            "    a++;\n"
            "    --b;\n"
            "    ;\n"
            "    f(a);\n"
            "    return;\n"
            "}\n");
    becomes("if and else", "void f(){if(a){b;}else if(c){d;}\nelse\n{e;}if(g)++h;else\nk;}",
            "void f()\n"
            "{\n"
            "    if (a) {\n"
            "        b;\n"
            "    } else if (c) {\n"
            "        d;\n"
            "    } else {\n"
            "        e;\n"
            "    }\n"
            "    if (g) ++h;\n"
            "    else\n"
            "        k;\n"
            "}\n");
    becomes("loops",
            "void f(){for(u32 k=0;k<8;k++,m--){a;}for(;;)break;while(b)\nc;do{d;}while(e);"
            "do g;while(h);}",
            "void f()\n"
            "{\n"
            "    for (u32 k = 0; k < 8; k++, m--) {\n"
            "        a;\n"
            "    }\n"
            "    for (;;) break;\n"
            "    while (b)\n"
            "        c;\n"
            "    do {\n"
            "        d;\n"
            "    } while (e);\n"
            "    do g;\n"
            "    while (h);\n"
            "}\n");
    becomes("bodies inside bodies", "void f(){for(;;)if(a)if(b)c;else d;else{e;}g;}",
            "void f()\n"
            "{\n"
            "    for (;;)\n"
            "        if (a)\n"
            "            if (b) c;\n"
            "            else d;\n"
            "        else {\n"
            "            e;\n"
            "        }\n"
            "    g;\n"
            "}\n");
    becomes("blank lines",
            "void f()\n\n{\n\n\na;\n\n\n\nb;\n\nif (c)\n\nd;\n\nelse\n\n{ e; }\n\n}\n\n\n",
            "void f()\n"
            "{\n"
            "    a;\n"
            "\n"
            "    b;\n"
            "\n"
            "    if (c)\n"
            "        d;\n"
            "    else {\n"
            "        e;\n"
            "    }\n"
            "}\n");
    becomes("what is no program but has brackets that match", "a { b } c", "a\n{\n    b\n}\n\nc\n");
}

static void comments(void)
{
    becomes("behind code and on lines of their own",
            "void f(){ // of f\n  // own\n\n  a; // of a  \n  b; /* of b */\n  /* own */\n  /* c "
            "*/ d;\n"
            "} // end",
            "void f()\n"
            "{  // of f\n"
            "    // own\n"
            "\n"
            "    a;  // of a\n"
            "    b;  /* of b */\n"
            "    /* own */\n"
            "    /* c */\n"
            "    d;\n"
            "}  // end\n");
    becomes("at braces",
            "void f() // x\n{ if (a) // why\n { b; } // so\n else // or\n { c; }\n// last\n}",
            "void f()  // x\n"
            "{\n"
            "    if (a)  // why\n"
            "    {\n"
            "        b;\n"
            "    }  // so\n"
            "    else  // or\n"
            "    {\n"
            "        c;\n"
            "    }\n"
            "    // last\n"
            "}\n");
    becomes("in a statement", "void f(){g(a, // one\n// own\nb, /* in */ c /* d */, (/* e */) );}",
            "void f()\n"
            "{\n"
            "    g(a,  // one\n"
            "        // own\n"
            "        b, /* in */ c /* d */, (/* e */));\n"
            "}\n");
    becomes("stars in line", "void f(){\n/* a\n* b\n  as it was\n      */\nx;}",
            "void f()\n"
            "{\n"
            "    /* a\n"
            "     * b\n"
            "  as it was\n"
            "     */\n"
            "    x;\n"
            "}\n");
    becomes("before an unbraced body", "void f(){if(a)\n// why\nb; if (c) /* so */ d;}",
            "void f()\n"
            "{\n"
            "    if (a)\n"
            "        // why\n"
            "        b;\n"
            "    if (c)\n"
            "        /* so */\n"
            "        d;\n"
            "}\n");
    becomes("no code at all", "\n\n// a\n\n\n\n// b", "// a\n\n// b\n");
}

static void long_lines(void)
{
    becomes("parameters",
            "kernel long_name_of_a_kernel(in f32 first_of_them[], in f32 second_of_them[], "
            "inout f32 third_of_them[], f32 d) { }",
            "kernel long_name_of_a_kernel(in f32 first_of_them[], in f32 second_of_them[],\n"
            "    inout f32 third_of_them[], f32 d)\n"
            "{\n"
            "}\n");
    becomes("before the loosest operator of the second half",
            "const u32 A = first_long_name_of_all * second_long_name_of_all + third_long_name * "
            "fourth_long_name * fifth_long_name;",
            "const u32 A = first_long_name_of_all * second_long_name_of_all\n"
            "    + third_long_name * fourth_long_name * fifth_long_name;\n");
    becomes("a body that does not fit beside its head",
            "void f(){if (a_condition_that_is_long < another_value_that_is_long) "
            "result_of_it_all = some_function(of_something);}",
            "void f()\n"
            "{\n"
            "    if (a_condition_that_is_long < another_value_that_is_long)\n"
            "        result_of_it_all = some_function(of_something);\n"
            "}\n");
    becomes("100 columns fit",
            "const u32 "
            "A23456789_123456789_123456789_123456789 = 123456789_123456789_123456789_12345678 + "
            "234567;\n",
            "const u32 "
            "A23456789_123456789_123456789_123456789 = 123456789_123456789_123456789_12345678 + "
            "234567;\n");
    becomes("101 do not",
            "const u32 "
            "A23456789_123456789_123456789_123456789 = 123456789_123456789_123456789_12345678 + "
            "2345678;\n",
            "const u32 "
            "A23456789_123456789_123456789_123456789 = 123456789_123456789_123456789_12345678\n"
            "    + 2345678;\n");
    becomes("a character is a column, however many bytes it has",
            "const u32 A23456789_123456789_123456789_123456789 = "
            "f(\"\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
            "345678901234567890123\", 1234567);\n",
            "const u32 A23456789_123456789_123456789_123456789 = "
            "f(\"\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4"
            "345678901234567890123\", 1234567);\n");
}

static void refuse(const char *text, const char *place, const char *name)
{
    static struct sink sink;
    vyre_error err = {0};
    refused(lay_out(text, strlen(text), &sink, &err), VYRE_E_SOURCE, &err, "%s", name);
    ok(strncmp(err.message, place, strlen(place)) == 0, "%s: at %s (%s)", name, place, err.message);
    is_u64(sink.used, 0, "%s: nothing is written", name);
}

static void refusals(void)
{
    static struct sink sink;
    static char deep[4096];
    vyre_error err = {0};
    refuse("const u32 A = 1;\n  $", "2:3: ", "a character that there is not");
    refuse("const u32 A = \"a\n;", "1:15: ", "a text without an end");
    refuse("a;\n/* b", "2:1: ", "a comment without an end");
    refuse("\xFF", "1:1: ", "bytes that are not UTF-8");
    refuse("void f() {\n  a;\n", "1:10: this `{` is never closed", "a block without an end");
    refuse("a;\n}", "2:1: this `}` closes nothing", "an end without a block");
    refuse("f(a]", "1:4: this `]` stands where `)` would close the last `(`", "another bracket");
    memset(deep, '(', 600);
    memset(deep + 600, ')', 600);
    refuse(deep, "1:513: brackets are nested", "600 brackets");
    strcpy(deep, "void f() {");
    for (int i = 0; i < 600; i++)
        strcat(deep, "if(a)");
    strcat(deep, ";}");
    refuse(deep, "1:", "600 statements in one another");
    sink.stop = 1;
    refused(lay_out("a;", 2, &sink, &err), VYRE_E_SYSTEM, &err, "a writer that says no");

    size_t most = VYRE_SOURCE_MOST_BYTES;
    char *text = malloc(most + 1);
    memset(text, ' ', most + 1);
    refused(lay_out(text, most + 1, &sink, &err), VYRE_E_LIMIT, &err, "a byte too many");
    works(lay_out(text, most, &sink, &err), &err, "as long as it may be");
    memset(text, ';', most);
    memset(text, '{', 100);
    memset(text + most - 100, '}', 100);
    refused(lay_out(text, most, &sink, &err), VYRE_E_LIMIT, &err, "a result that is too long");
    free(text);
}

/* What the parser refuses is left alone; what has only errors of meaning is laid out. */
static void grammar(const char *name, const char *text, const char *message)
{
    static struct sink sink;
    struct vyre_memory memory;
    vyre_error err = {0};
    must(vyre_memory_init(&memory, NULL, &err), &err);
    sink.used = 0;
    sink.stop = 0;
    vyre_status status = vyre_lang_format(&memory, text, strlen(text), keep, &sink, &err);
    is_u64(vyre_memory_live(&memory), 0, "%s: memory comes back", name);
    if (!message) {
        works(status, &err, "%s: is laid out", name);
        return;
    }
    refused(status, VYRE_E_SOURCE, &err, "%s: is not laid out", name);
    is_str(err.message, message, "it says why");
    is_u64(sink.used, 0, "nothing is written");
}

static void grammars(void)
{
    grammar("a licence", "Permission is hereby granted, free of charge",
            "1:1: found `Permission`, expected a kernel, a function or a constant");
    grammar("settings", "on:\n  push: [main]\n",
            "1:1: found `on`, expected a kernel, a function or a constant");
    grammar("a mistake in a function", "void f()\n{\n    u32 a = 1 2;\n}\n",
            "3:15: found `2`, expected an operator or `;`");
    grammar("nothing", "", NULL);
    grammar("a comment", "// a comment only\n", NULL);
    grammar("errors of meaning", "void f() { unknown = 1.5 + true; g(); }", NULL);
}

/* Memory that runs out at the n-th allocation. */
static void no_memory(void)
{
    static const char text[] = "kernel f(f32 a) { if (a) { b(); } }";
    static struct sink sink;
    uint32_t wrong = 0;
    uint64_t n = 1;
    for (; n < 100; n++) {
        struct meter meter = {.fail_at = n};
        vyre_allocator hooks = meter_allocator(&meter);
        struct vyre_memory memory;
        vyre_error err = {0};
        must(vyre_memory_init(&memory, &hooks, &err), &err);
        sink.used = 0;
        vyre_status status = vyre_lang_format(&memory, text, sizeof text - 1, keep, &sink, &err);
        wrong += !meter_clean(&meter);
        if (meter.failures == 0) {
            wrong += status != VYRE_OK || sink.used == 0;
            break;
        }
        wrong += status != VYRE_E_NO_MEMORY || err.status != status || sink.used != 0;
    }
    ok(n > 3 && n < 100, "%d places where memory can fail", (int)n - 1);
    is_u64(wrong, 0, "each said so and lost nothing");
}

/* Soups of tokens, well bracketed and with comments and line ends anywhere.
 * ------------------------------------------------------------------------------------------------
 */

struct soup {
    uint64_t state;
    char text[8192];
    size_t used;
    uint32_t depth;
    char closers[16];
};

static uint32_t roll(struct soup *soup, uint32_t sides)
{
    soup->state = soup->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(soup->state >> 33) % sides;
}

static void pour(struct soup *soup, const char *text)
{
    static const char *const gaps[] = {" ",
                                       " ",
                                       " ",
                                       "\n",
                                       "\n\n",
                                       "\t",
                                       " \r\n \n\n",
                                       " // c \n",
                                       " /* d */",
                                       " /* e */\n",
                                       "\n/* f\n * g */",
                                       "\n// h\n\n"};
    size_t length = strlen(text);
    const char *gap = gaps[roll(soup, roll(soup, 3) ? 4 : sizeof gaps / sizeof gaps[0])];
    memcpy(soup->text + soup->used, text, length);
    soup->used += length;
    memcpy(soup->text + soup->used, gap, strlen(gap));
    soup->used += strlen(gap);
}

static void stir(struct soup *soup, uint32_t tokens)
{
    static const char *const bits[] = {"a",       "bb_long_name_of_something",
                                       "1",       "2.5",
                                       "u32",     "f32",
                                       ",",       ";",
                                       ";",       ";",
                                       "if",      "else",
                                       "for",     "do",
                                       "=",       "while",
                                       "+",       "-",
                                       "*",       "++",
                                       "--",      "<<=",
                                       "!",       "~",
                                       "return",  "?",
                                       ":",       ".",
                                       "@",       "\"t\"",
                                       "&&",      "<",
                                       "/",       "kernel",
                                       "in",      "workgroup",
                                       "==",      "if (a)",
                                       "{",       "(",
                                       "[",       "(",
                                       "} else {"};
    for (; tokens && soup->used < sizeof soup->text - 256; tokens--) {
        const char *bit = bits[roll(soup, sizeof bits / sizeof bits[0])];
        char opener = bit[1] ? 0 : bit[0];
        if (soup->depth && roll(soup, 7) == 0) {
            char closer[2] = {soup->closers[--soup->depth], 0};
            pour(soup, closer);
        }
        if (bit[0] == '}' && !(soup->depth && soup->closers[soup->depth - 1] == '}')) continue;
        if (opener == '{' || opener == '(' || opener == '[') {
            if (soup->depth == sizeof soup->closers) continue;
            soup->closers[soup->depth++] = opener == '{' ? '}' : opener == '(' ? ')' : ']';
        }
        pour(soup, bit);
    }
    while (soup->depth) {
        char closer[2] = {soup->closers[--soup->depth], 0};
        pour(soup, closer);
    }
}

static void soups(uint64_t seed)
{
    static struct soup soup;
    static struct sink once, twice;
    uint32_t refusals = 0, changes = 0, untidy = 0, rounds = 1500;
    soup.state = seed;
    for (uint32_t round = 0; round < rounds; round++) {
        vyre_error err = {0};
        soup.used = 0;
        stir(&soup, 5 + roll(&soup, 120));
        if (lay_out(soup.text, soup.used, &once, &err)) {
            if (++refusals == 1) note("%s\n%.*s", err.message, (int)soup.used, soup.text);
            continue;
        }
        must(lay_out(once.text, once.used, &twice, &err), &err);
        bool same = once.used == twice.used && memcmp(once.text, twice.text, once.used) == 0;
        if (!same && ++changes == 1)
            note("source:\n%.*s\nonce:\n%s\ntwice:\n%s", (int)soup.used, soup.text, once.text,
                 twice.text);
        bool tidy = !strstr(once.text, " \n") && !strstr(once.text, "\n\n\n") &&
                    !strchr(once.text, '\t') && once.text[once.used - 1] == '\n';
        if (!tidy && ++untidy == 1)
            note("source:\n%.*s\nuntidy:\n%s", (int)soup.used, soup.text, once.text);
    }
    is_u64(refusals, 0, "%u soups are laid out", rounds);
    is_u64(changes, 0, "and stay as they are when laid out again");
    is_u64(untidy, 0, "without blanks at line ends, tabs or two blank lines");
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    functions();
    expressions();
    statements();
    comments();
    long_lines();
    refusals();
    grammars();
    no_memory();
    soups(seed);
    return done();
}
