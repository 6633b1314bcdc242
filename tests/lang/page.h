/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The fenced blocks of docs/language.md, and what stands in a `run` block: one line each,
 *
 *     kernel NAME          which kernel of the source; without it the only one
 *     grid X [Y]           workgroups
 *     NAME[COUNT]          a buffer of so many zeroes
 *     NAME = VALUES        a buffer with these elements, or a scalar
 *     => NAME = VALUES     what the buffer holds afterwards, bit by bit
 *     => fault NAME        how the launch ends; without it well
 *     => out of bounds N   accesses that were counted; without it 0
 *     => log TEXT          the next text of the debug log
 *
 * Include it after lang_test.h.
 */
#ifndef VYRE_TESTS_PAGE_H
#define VYRE_TESTS_PAGE_H

#include "lang_test.h"

#include <ctype.h>

#define PAGE_BLOCKS 256u
#define RUN_BYTES   4096u /* of one buffer */

struct block {
    char kind[32]; /* behind the three marks */
    char *text;
    size_t length;
    uint32_t line; /* of its first line */
};

struct page {
    char *text; /* as it is in the file */
    char *cut;  /* a copy, with a zero behind each block */
    uint32_t count;
    struct block block[PAGE_BLOCKS];
};

/* The fenced blocks of a file, in their order. */
static struct page *page_read(const char *path)
{
    static const char mark[] = "```";
    struct page *page = zeroes(1, sizeof *page);
    size_t length;
    page->text = read_text(path, &length);
    page->cut = read_text(path, &length);
    struct block *open = NULL;
    uint32_t number = 1;
    for (char *line = page->cut, *next; *line; line = next, number++) {
        char *end = strchr(line, '\n');
        next = end ? end + 1 : line + strlen(line);
        if (strncmp(line, mark, 3) != 0) continue;
        if (open) {
            open->length = (size_t)(line - open->text);
            *line = '\0';
            open = NULL;
            continue;
        }
        if (page->count == PAGE_BLOCKS) bail("%s has more than %u blocks", path, PAGE_BLOCKS);
        open = &page->block[page->count++];
        snprintf(open->kind, sizeof open->kind, "%.*s", (int)(end - line - 3), line + 3);
        open->text = next;
        open->line = number + 1;
    }
    if (open) bail("%s: the block in line %u does not end", path, open->line);
    return page;
}

static void page_free(struct page *page)
{
    free(page->text);
    free(page->cut);
    free(page);
}

/* One element from a text; returns where it ends, NULL where it is none. */
static const char *read_element(const char *type, const char *text, void *element)
{
    char *end = NULL;
    if (strcmp(type, "f32") == 0) {
        float value = strtof(text, &end);
        memcpy(element, &value, sizeof value);
    } else {
        uint32_t value =
            *text == '-' ? (uint32_t)strtoll(text, &end, 0) : (uint32_t)strtoull(text, &end, 0);
        memcpy(element, &value, type[1] == '8' ? 1 : type[1] == '1' ? 2 : 4);
    }
    return end == text ? NULL : end;
}

/* The elements of a line; returns their bytes, 0 where there is something else. */
static size_t read_elements(const vyre_kernel_buffer_info *info, const char *text, uint8_t *bytes)
{
    size_t length = 0;
    while (*text) {
        if (isspace((unsigned char)*text)) {
            text++;
            continue;
        }
        if (length + info->stride > RUN_BYTES) return 0;
        text = read_element(info->type, text, bytes + length);
        if (!text) return 0;
        length += info->stride;
    }
    return length;
}

static const vyre_kernel_buffer_info *find_buffer(const struct kernel *kernel, const char *name)
{
    for (uint32_t i = 0; i < kernel->count; i++)
        if (strcmp(kernel->buffer[i].name, name) == 0) return &kernel->buffer[i];
    return NULL;
}

#endif
