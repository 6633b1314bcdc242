/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Sorting of names in place, without memory of its own, and in n log n steps whatever the names
 * are: quicksort on the keys, heapsort where that goes wrong, insertion where few are left. Most
 * comparisons end with the keys, which lie side by side; the names themselves are looked at only
 * where eight bytes were the same.
 */
#include <string.h>

#include "ingest/walk_core.h"

#define FEW 24u

struct order {
    const char *text;
    uint32_t skip; /* bytes of a name that the key stands for, and the prefix */
};

static int less(const struct order *order, const struct walk_item *a, const struct walk_item *b)
{
    if (a->key != b->key) return a->key < b->key;
    if ((a->key & 0xFF) == 0) return 0; /* the names end inside the key */
    return strcmp(order->text + a->at + order->skip, order->text + b->at + order->skip) < 0;
}

static void exchange(struct walk_item *a, struct walk_item *b)
{
    struct walk_item saved = *a;
    *a = *b;
    *b = saved;
}

static void insertion(const struct order *order, struct walk_item *items, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        struct walk_item item = items[i];
        uint32_t at = i;
        for (; at > 0 && less(order, &item, &items[at - 1]); at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

static void sift(const struct order *order, struct walk_item *items, uint32_t at, uint32_t count)
{
    struct walk_item item = items[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count && less(order, &items[child], &items[child + 1])) child++;
        if (!less(order, &item, &items[child])) break;
        items[at] = items[child];
        at = child;
    }
    items[at] = item;
}

static void heap(const struct order *order, struct walk_item *items, uint32_t count)
{
    for (uint32_t i = count / 2; i > 0; i--)
        sift(order, items, i - 1, count);
    for (uint32_t i = count; i > 1; i--) {
        exchange(&items[0], &items[i - 1]);
        sift(order, items, 0, i - 1);
    }
}

/* Puts the middle one of three at the front. */
static void choose_pivot(const struct order *order, struct walk_item *items, uint32_t count)
{
    struct walk_item *a = &items[0], *b = &items[count / 2], *c = &items[count - 1];
    if (less(order, b, a)) exchange(a, b);
    if (less(order, c, b)) exchange(b, c);
    if (less(order, b, a)) exchange(a, b);
    exchange(a, b);
}

/* Everything before the result is not greater than the pivot, everything after it not less. */
static uint32_t partition(const struct order *order, struct walk_item *items, uint32_t count)
{
    struct walk_item pivot = items[0];
    uint32_t low = 0, high = count;
    for (;;) {
        do
            high--;
        while (less(order, &pivot, &items[high]));
        do
            low++;
        while (low < high && less(order, &items[low], &pivot));
        if (low >= high) break;
        exchange(&items[low], &items[high]);
    }
    exchange(&items[0], &items[high]);
    return high;
}

static void sort(const struct order *order, struct walk_item *items, uint32_t count, uint32_t turns)
{
    while (count > FEW) {
        if (turns-- == 0) {
            heap(order, items, count);
            return;
        }
        choose_pivot(order, items, count);
        uint32_t middle = partition(order, items, count);
        uint32_t rest = count - middle - 1;
        /* The smaller part is done by a call of its own, so that the stack stays low. */
        if (middle < rest) {
            sort(order, items, middle, turns);
            items += middle + 1;
            count = rest;
        } else {
            sort(order, items + middle + 1, rest, turns);
            count = middle;
        }
    }
    insertion(order, items, count);
}

static uint64_t key_of(const char *name)
{
    uint64_t key = 0;
    for (int i = 0; i < 8; i++) {
        key = key << 8 | (uint8_t)*name;
        if (*name != '\0') name++;
    }
    return key;
}

void walk_sort(struct walk_item *items, uint32_t count, const char *text, uint32_t prefix)
{
    struct order order = {text, prefix + 8};
    uint32_t turns = 4;
    for (uint32_t n = count; n > 1; n /= 2)
        turns += 2;
    for (uint32_t i = 0; i < count; i++)
        items[i].key = key_of(text + items[i].at + prefix);
    sort(&order, items, count, turns);
}

void walk_sort_by_place(struct walk_item *items, uint32_t count)
{
    struct order order = {NULL, 0};
    for (uint32_t i = 0; i < count; i++)
        items[i].key = (uint64_t)items[i].at << 8; /* the last byte 0: no name is looked at */
    sort(&order, items, count, 64);
}
