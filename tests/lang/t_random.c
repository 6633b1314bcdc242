/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Random sources: what they give on the machine is what a walk over their trees gives, for every
 * lane. Those that the compiler finds too large are passed over, and must be few.
 */
#include "random_source.h"

/* Writing the text. */

TAP_FORMAT(1, 2) static void put_text(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(made.text + made.length, MOST_TEXT - made.length, format, args);
    va_end(args);
    made.length += (size_t)length;
    if (made.length >= MOST_TEXT) bail("a random source of more than %d bytes", MOST_TEXT);
}

static const char *const binary[] = {"+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%"};
static const char *const compare[] = {"<", ">", "<=", ">=", "==", "!="};

static void put_expr(const struct node *e)
{
    switch (e->kind) {
    case E_LITERAL:
        if (e->type == TYPE_BOOL)
            put_text("%s", e->value ? "true" : "false");
        else
            put_text("%u%c", e->value, e->type == TYPE_I32 ? 'i' : 'u');
        return;
    case E_VARIABLE:
        put_text("v%u", e->value);
        return;
    case E_LANE:
        put_text("i");
        return;
    case E_LOAD:
        put_text("%c[%d * i + (", e->type == TYPE_U32 ? 'x' : 'z', EACH);
        break;
    case E_UNARY:
        put_text("%s(", e->type == TYPE_BOOL ? "!" : e->op % 2 ? "-" : "~");
        break;
    case E_CAST:
        put_text("%s(", type_names[e->type]);
        break;
    case E_CALL:
        put_text("f%u(x, z, q", e->value);
        for (const struct node *a = e->a; a; a = a->next) {
            put_text(", ");
            put_expr(a);
        }
        put_text(")");
        return;
    default:
        put_text("(");
        break;
    }
    put_expr(e->a);
    if (e->b) {
        put_text(" %s ", e->kind == E_CHOOSE    ? "?"
                         : e->kind == E_COMPARE ? compare[e->op]
                         : e->kind == E_LOGICAL ? (e->op ? "||" : "&&")
                                                : binary[e->op]);
        /* A divisor that is a constant 0 would be refused; len(q) is not known to be 8. */
        bool divides = e->kind == E_BINARY && e->op >= 8;
        if (divides) put_text("(len(q) / %d * ", LANES);
        put_expr(e->b);
        if (divides) put_text(")");
    }
    if (e->c) {
        put_text(" : ");
        put_expr(e->c);
    }
    put_text(")");
    if (e->kind == E_LOAD) put_text(" %% %d]", EACH);
}

static void put_list(const struct node *first);

static void put_loop(const struct node *s)
{
    if (s->kind == S_FOR) {
        put_text("for (u32 v%u = ", s->value);
        put_expr(s->a);
        put_text(" & 7; v%u < (", s->value);
        put_expr(s->b);
        put_text(" & 7); v%u += %u) {", s->value, s->op);
    } else if (s->kind == S_WHILE) {
        put_text("while (");
        put_expr(s->a);
        put_text(") {");
    } else {
        put_text("do {");
    }
    put_text("\nif (q[i] == 0) break;\nq[i] -= 1;\n");
    put_list(s->body);
    put_text("}");
    if (s->kind == S_DO) {
        put_text(" while (");
        put_expr(s->a);
        put_text(");");
    }
    put_text("\n");
}

static void put_statement(const struct node *s)
{
    switch (s->kind) {
    case S_DECLARE:
        put_text("%s v%u = ", type_names[s->type], s->value);
        break;
    case S_ASSIGN:
        put_text("v%u = ", s->value);
        break;
    case S_STORE:
    case S_ADD:
        put_text("%c[%d * i + ", s->type == TYPE_U32 ? 'x' : 'z', EACH);
        put_expr(s->b);
        put_text(" %% %d] %s ", EACH, s->kind == S_ADD ? "+=" : "=");
        break;
    case S_IF:
        put_text("if (");
        put_expr(s->a);
        put_text(") {\n");
        put_list(s->body);
        if (s->otherwise) put_text("} else {\n");
        put_list(s->otherwise);
        put_text("}\n");
        return;
    case S_FOR:
    case S_WHILE:
    case S_DO:
        put_loop(s);
        return;
    default:
        put_text(s->kind == S_BREAK ? "break" : s->kind == S_CONTINUE ? "continue" : "return ");
        break;
    }
    if (s->a) put_expr(s->a);
    put_text(";\n");
}

static void put_list(const struct node *first)
{
    for (; first; first = first->next)
        put_statement(first);
}

static void put_source(void)
{
    static const char buffers[] = "inout u32 x[], inout i32 z[], inout u32 q[]";
    made.length = 0;
    for (uint32_t i = 0; i < made.function_count; i++) {
        const struct function *function = &made.functions[i];
        put_text("%s f%u(%s", type_names[function->type], i, buffers);
        for (uint32_t k = function->first; k < function->first + function->parameters; k++)
            put_text(", %s v%u", type_names[made.types[k]], k);
        put_text(")\n{\n");
        put_list(function->body);
        put_text("}\n");
    }
    put_text("@workgroup(%d)\nkernel random(%s)\n{\n", LANES, buffers);
    put_list(made.functions[made.function_count].body);
    put_text("}\n");
}

/* Walking the tree. */

struct data {
    uint32_t x[LANES * EACH], z[LANES * EACH], q[LANES];
};

struct walk {
    struct data *data;
    uint32_t lane, result;
    uint64_t steps;
    uint32_t variables[MOST_VARIABLES]; /* functions do not call themselves: one place each */
};

enum flow { GO_ON, BROKEN, CONTINUED, RETURNED };

static enum flow walk_list(struct walk *w, const struct node *first);

static uint32_t *element(struct walk *w, uint32_t type, uint32_t index)
{
    return (type == TYPE_U32 ? w->data->x : w->data->z) + w->lane * EACH + index % EACH;
}

static uint32_t of_two(uint32_t type, uint32_t op, uint32_t a, uint32_t b)
{
    switch (op) {
    case 0:
        return a + b;
    case 1:
        return a - b;
    case 2:
        return a * b;
    case 3:
        return a & b;
    case 4:
        return a | b;
    case 5:
        return a ^ b;
    case 6:
        return a << (b & 31);
    case 7:
        return type == TYPE_I32 && a >> 31 ? ~(~a >> (b & 31)) : a >> (b & 31);
    case 8:
        return b ? a / b : UINT32_MAX;
    default:
        return b ? a % b : 0;
    }
}

static uint32_t compared(uint32_t type, uint32_t op, uint32_t a, uint32_t b)
{
    uint32_t flip = type == TYPE_I32 ? 0x80000000u : 0;
    uint32_t less = (a ^ flip) < (b ^ flip), same = a == b;
    const uint32_t results[] = {less, !less && !same, less || same, !less, same, !same};
    return results[op];
}

static uint32_t walk_expr(struct walk *w, const struct node *e)
{
    uint32_t a, arguments[4], count = 0;
    const struct function *function;
    switch (e->kind) {
    case E_LITERAL:
        return e->value;
    case E_VARIABLE:
        return w->variables[e->value];
    case E_LANE:
        return w->lane;
    case E_LOAD:
        return *element(w, e->type, walk_expr(w, e->a));
    case E_UNARY:
        a = walk_expr(w, e->a);
        return e->type == TYPE_BOOL ? !a : e->op % 2 ? 0 - a : ~a;
    case E_BINARY:
        a = walk_expr(w, e->a);
        return of_two(e->type, e->op, a, walk_expr(w, e->b));
    case E_COMPARE:
        a = walk_expr(w, e->a);
        return compared(e->a->type, e->op, a, walk_expr(w, e->b));
    case E_LOGICAL:
        a = walk_expr(w, e->a);
        return a == e->op ? a : walk_expr(w, e->b);
    case E_CHOOSE:
        return walk_expr(w, walk_expr(w, e->a) ? e->b : e->c);
    case E_CAST:
        a = walk_expr(w, e->a);
        return e->type == TYPE_BOOL ? a != 0 : a;
    default:
        function = &made.functions[e->value];
        for (const struct node *one = e->a; one; one = one->next)
            arguments[count++] = walk_expr(w, one);
        memcpy(w->variables + function->first, arguments, count * sizeof arguments[0]);
        walk_list(w, function->body);
        return w->result;
    }
}

static enum flow walk_loop(struct walk *w, const struct node *s)
{
    uint32_t *counter = &w->variables[s->value], *fuel = &w->data->q[w->lane];
    if (s->kind == S_FOR) *counter = walk_expr(w, s->a) & 7;
    for (bool first = true;; first = false) {
        if (s->kind == S_FOR && !(*counter < (walk_expr(w, s->b) & 7))) return GO_ON;
        if ((s->kind == S_WHILE || (s->kind == S_DO && !first)) && !walk_expr(w, s->a))
            return GO_ON;
        if (*fuel == 0) return GO_ON;
        --*fuel;
        enum flow flow = walk_list(w, s->body);
        if (flow == RETURNED) return flow;
        if (flow == BROKEN) return GO_ON;
        if (s->kind == S_FOR) *counter += s->op;
    }
}

static enum flow walk_statement(struct walk *w, const struct node *s)
{
    uint32_t *place, old;
    w->steps++;
    switch (s->kind) {
    case S_DECLARE:
    case S_ASSIGN:
        old = walk_expr(w, s->a);
        w->variables[s->value] = old;
        return GO_ON;
    case S_STORE:
        place = element(w, s->type, walk_expr(w, s->b));
        *place = walk_expr(w, s->a);
        return GO_ON;
    case S_ADD:
        place = element(w, s->type, walk_expr(w, s->b));
        old = *place;
        *place = old + walk_expr(w, s->a);
        return GO_ON;
    case S_IF:
        return walk_list(w, walk_expr(w, s->a) ? s->body : s->otherwise);
    case S_BREAK:
        return BROKEN;
    case S_CONTINUE:
        return CONTINUED;
    case S_RETURN:
        if (s->a) w->result = walk_expr(w, s->a);
        return RETURNED;
    default:
        return walk_loop(w, s);
    }
}

static enum flow walk_list(struct walk *w, const struct node *first)
{
    for (; first; first = first->next) {
        enum flow flow = walk_statement(w, first);
        if (flow != GO_ON) return flow;
    }
    return GO_ON;
}

/* One program; false where it is too large. */
static bool judge(vyre *rt, uint64_t seed)
{
    static struct data start, expected, got;
    vyre_program *program = NULL;
    uint64_t random = seed;
    vyre_error err;
    make_source(seed);
    put_source();
    vyre_status status =
        vyre_program_compile(rt, made.text, made.length, NULL, NULL, &program, &err);
    if (status == VYRE_E_SOURCE && strstr(err.message, "becomes more than")) return false;
    if (!works(status, &err, "source %" PRIu64, seed)) {
        printf("%s", made.text);
        return true;
    }
    for (uint32_t i = 0; i < LANES * EACH; i++) {
        start.x[i] = (uint32_t)random_next(&random) >> (i % 4 * 9);
        start.z[i] = (uint32_t)random_next(&random);
        start.q[i / EACH] = FUEL;
    }
    expected = start;
    for (uint32_t lane = 0; lane < LANES; lane++) {
        struct walk walk = {.data = &expected, .lane = lane};
        walk_list(&walk, made.functions[made.function_count].body);
    }
    struct kernel kernel = kernel_of(rt, program, "random");
    vyre_buffer *x = buffer_of(rt, start.x, sizeof start.x),
                *z = buffer_of(rt, start.z, sizeof start.z),
                *q = buffer_of(rt, start.q, sizeof start.q);
    RUN(&kernel, 1, 1, BUFFER("x", x), BUFFER("z", z), BUFFER("q", q));
    fetch(x, got.x, sizeof got.x);
    fetch(z, got.z, sizeof got.z);
    fetch(q, got.q, sizeof got.q);
    if (!same(&got, &expected, sizeof got / 4, 4, "source %" PRIu64 " gives what it says", seed))
        printf("%s", made.text);
    vyre_buffer_free(x);
    vyre_buffer_free(z);
    vyre_buffer_free(q);
    close_kernel(&kernel);
    return true;
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    uint32_t count = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 300, large = 0;
    vyre *rt = open_cpu(1);
    for (uint32_t i = 0; i < count; i++)
        large += !judge(rt, seed + i);
    ok(large <= count / 4, "%u of %u sources are too large for the compiler", large, count);
    vyre_close(rt);
    return done();
}
