/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The words of tags.def by their tags.
 */
#include "ir/program.h"

#define FIND(table, tag) ((tag) < sizeof(table) / sizeof((table)[0]) ? (table)[tag] : NULL)

static const char *const node_ids[] = {
#define IR_NODE(tag, name, id) [tag] = id,
#include "ir/tags.def"
};
static const char *const expr_words[] = {
#define IR_EXPR(tag, name, word) [tag] = word,
#include "ir/tags.def"
};
static const char *const bin_words[] = {
#define IR_BIN_OP(tag, name, word) [tag] = word,
#include "ir/tags.def"
};
static const char *const un_words[] = {
#define IR_UN_OP(tag, name, word) [tag] = word,
#include "ir/tags.def"
};
static const char *const atomic_words[] = {
#define IR_ATOMIC_OP(tag, name, word) [tag] = word,
#include "ir/tags.def"
};
static const char *const type_words[] = {
#define IR_TYPE(tag, name, word, size, stride, bits) [tag] = word,
#include "ir/tags.def"
};
static const char *const kind_words[] = {
#define IR_KIND(tag, name, word) [tag] = word,
#include "ir/tags.def"
};
static const char *const access_words[] = {
#define IR_ACCESS(tag, name, word) [tag] = word,
#include "ir/tags.def"
};
static const char *const ordering_words[] = {
#define IR_ORDERING(tag, name, word) [tag] = word,
#include "ir/tags.def"
};
static const char *const collective_words[] = {
#define IR_COLLECTIVE(tag, name, word) [tag] = word,
#include "ir/tags.def"
};

const char *vyre_ir_node_id(uint32_t kind)
{
    return FIND(node_ids, kind);
}

const char *vyre_ir_node_word(uint32_t kind)
{
    const char *id = FIND(node_ids, kind);
    return id ? id + sizeof "vyre.node." - 1 : NULL;
}

const char *vyre_ir_expr_word(uint32_t kind)
{
    return FIND(expr_words, kind);
}

const char *vyre_ir_bin_word(uint32_t op)
{
    return FIND(bin_words, op);
}

const char *vyre_ir_un_word(uint32_t op)
{
    return FIND(un_words, op);
}

const char *vyre_ir_atomic_word(uint32_t op)
{
    return FIND(atomic_words, op);
}

const char *vyre_ir_type_word(uint32_t tag)
{
    return FIND(type_words, tag);
}

const char *vyre_ir_kind_word(uint32_t kind)
{
    return FIND(kind_words, kind);
}

const char *vyre_ir_access_word(uint32_t access)
{
    return FIND(access_words, access);
}

const char *vyre_ir_ordering_word(uint32_t ordering)
{
    return FIND(ordering_words, ordering);
}

const char *vyre_ir_collective_word(uint32_t op)
{
    return FIND(collective_words, op);
}
