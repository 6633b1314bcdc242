/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Windows: views of a run that show a part of the buffer that is bound there, so that one binding
 * set serves runs over many parts. They travel in the slot: the word that counts the scalars names
 * in its bytes 1 and 2 the views, plus 1, that windows 0 and 1 narrow; offset and length in bytes
 * are the arguments 10 and 11 of window 0, 8 and 9 of window 1. Checked when the slot is taken
 * (hold.h), believed afterwards.
 */
#ifndef VYRE_DEVICE_WINDOW_H
#define VYRE_DEVICE_WINDOW_H

#include "device/layout.h"

/* The view that window k narrows, plus 1; 0: there is no such window. */
DEV_FN uint32_t dev_window_view(uint32_t count_word, uint32_t k)
{
    return count_word >> (8 * (k + 1)) & 0xFFu;
}

DEV_FN const uint32_t *dev_window_words(const uint32_t *arg, uint32_t k)
{
    return arg + VYRE_SLOT_ARGS - 2 * (k + 1);
}

/* The most scalars that can go with the windows: those that fit beside them in the slot. */
DEV_FN uint32_t dev_window_room(uint32_t count_word)
{
    if (dev_window_view(count_word, 1) != 0) return DEV_SLOT_SCALARS - 4;
    return dev_window_view(count_word, 0) != 0 ? DEV_SLOT_SCALARS - 2 : DEV_SCALARS;
}

/* What a view shows of its buffer: all, unless the run has a window for it. */
DEV_FN void dev_window_apply(const struct dev_run_args *args, uint32_t view, unsigned char **base,
                             uint64_t *bytes)
{
    for (uint32_t k = 0; k < DEV_WINDOWS; k++) {
        if (dev_window_view(args->windows, k) != view + 1) continue;
        *base += args->window[2 * k];
        *bytes = args->window[2 * k + 1];
        return;
    }
}

/* What the arguments of a slot say; params holds the scalars beside it, or is NULL. */
DEV_FN void dev_run_args_fill(struct dev_run_args *args, const uint32_t *arg,
                              const struct dev_params *params)
{
    const uint32_t *scalars = arg + VYRE_SLOT_ARGS - DEV_SLOT_SCALARS;
    for (uint32_t i = 0; i < DEV_SCALARS; i++) {
        if (i < DEV_SLOT_SCALARS)
            args->scalar[i] = scalars[i];
        else
            args->scalar[i] =
                params != NULL ? dev_load_relaxed(&params->scalar[i - DEV_SLOT_SCALARS]) : 0;
    }
    args->windows = scalars[-1]; /* the word that counts them */
    for (uint32_t k = 0; k < DEV_WINDOWS; k++) {
        args->window[2 * k] = dev_window_words(arg, k)[0];
        args->window[2 * k + 1] = dev_window_words(arg, k)[1];
    }
}

#endif
