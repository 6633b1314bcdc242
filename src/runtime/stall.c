/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The report of a stall, in lines that a person reads: what is wrong, what each busy worker is at,
 * and what waits. Called by the watchdog only.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "device/builtin_table.h"
#include "runtime/vitals.h"

#define HEAD_BYTES   256u
#define FILE_BYTES   80u /* of a source's name, its end */
#define WORKER_BYTES (224u + FILE_BYTES)
#define QUEUE_BYTES  160u
#define IO_BYTES     192u
#define QUEUE_LINES  32u /* what waits in more queues than these is only counted */

/* A text that grows by lines. */
struct text {
    char *bytes;
    size_t room;
    size_t used;
};

static void add(struct text *text, const char *format, ...) VYRE_PRINTF(2, 3);

static void add(struct text *text, const char *format, ...)
{
    va_list args;
    if (text->used + 1 >= text->room) return;
    va_start(args, format);
    int more = vsnprintf(text->bytes + text->used, text->room - text->used, format, args);
    va_end(args);
    size_t left = text->room - text->used - 1;
    text->used += more < 0 ? 0 : (size_t)more < left ? (size_t)more : left;
}

/* A time as people say it. */
struct span {
    char text[24];
};

static struct span span(uint64_t ns)
{
    struct span span;
    uint64_t tenths = ns / 100000000u;
    if (tenths >= 10)
        snprintf(span.text, sizeof span.text, "%llu.%llu s", (unsigned long long)(tenths / 10),
                 (unsigned long long)(tenths % 10));
    else
        snprintf(span.text, sizeof span.text, "%llu ms", (unsigned long long)(ns / 1000000u));
    return span;
}

/* What an opcode is here and now, and where the source of a compiled program begins: a worker does
 * not say which instruction it is at. (system.lock) */
static void add_kind(struct text *text, const vyre *runtime, uint32_t opcode)
{
    const vyre_program *program = runtime->programs;
    while (program && program->opcode != opcode)
        program = program->next;
    if (dev_builtin_find(opcode) || !program) {
        add(text, dev_builtin_find(opcode) ? " (built-in)" : " (native)");
        return;
    }
    vyre_position at = vyre_kernel_source(program->kernel, program->kernel->code->source[0]);
    size_t length = strlen(at.file), skip = length > FILE_BYTES ? length - FILE_BYTES : 0;
    add(text, " (program");
    if (at.line)
        add(text, ", %s%s%s%u:%u", skip ? "..." : "", at.file + skip, length ? ":" : "",
            (unsigned)at.line, (unsigned)at.column);
    add(text, ")");
}

/* (system.lock) */
static void add_worker(struct text *text, const vyre *runtime, const struct vyre_sight *sight,
                       uint32_t i)
{
    const vyre_vital_worker *busy = &sight->worker[i];
    add(text, "\nworker %u: ticket %llu of queue %u, tenant %u, opcode 0x%x", busy->worker,
        (unsigned long long)busy->ticket, busy->queue, busy->tenant, busy->opcode);
    add_kind(text, runtime, busy->opcode);
    add(text, ", for %s", span(busy->busy_ns).text);
    if (sight->deadline_ns[i] != 0 && sight->now_ns > sight->deadline_ns[i])
        add(text, ", %s past its deadline", span(sight->now_ns - sight->deadline_ns[i]).text);
}

/* Queues with slots that the device has not taken. (system.lock) */
static void add_queues(struct text *text, const vyre *runtime)
{
    uint32_t lines = 0;
    for (const vyre_queue *queue = runtime->queues; queue; queue = queue->next) {
        vyre_vital_queue vital = vyre_vitals_of_queue(queue);
        if (vital.submitted == vital.taken || ++lines > QUEUE_LINES) continue;
        add(text, "\nqueue %u: tenant %u, %llu of %llu slots submitted are not taken%s",
            vital.queue, vital.tenant, (unsigned long long)(vital.submitted - vital.taken),
            (unsigned long long)vital.submitted, vital.blocked ? ", behind a fence" : "");
    }
    if (lines > QUEUE_LINES) add(text, "\n%u more queues wait", lines - QUEUE_LINES);
}

/* Slots that wait for the pump. */
static void add_io(struct text *text, const struct vyre_sight *sight)
{
    const struct vyre_io_oldest *io = &sight->io;
    uint64_t now_ns = sight->now_ns;
    if (io->waiting == 0) return;
    add(text,
        "\n%u waiting for input or output: ticket %llu of queue %u, tenant %u, source 0x%x, for %s",
        io->waiting, (unsigned long long)io->ticket, io->queue, io->tenant, io->source,
        span(now_ns > io->since_ns ? now_ns - io->since_ns : 0).text);
    if (io->deadline_ns != 0 && now_ns > io->deadline_ns)
        add(text, ", %s past its deadline", span(now_ns - io->deadline_ns).text);
}

size_t vyre_stall_text_bytes(const vyre *runtime)
{
    return HEAD_BYTES + IO_BYTES + (size_t)runtime->options.workers * WORKER_BYTES +
           (QUEUE_LINES + 1) * QUEUE_BYTES;
}

void vyre_stall_text(vyre *runtime, enum vyre_complaint complaint, const struct vyre_sight *sight,
                     char *bytes, size_t room)
{
    struct text text = {bytes, room, 0};
    uint32_t workers = runtime->options.workers;
    bytes[0] = '\0';
    if (complaint == VYRE_COMPLAINT_STALLED)
        add(&text, "stalled: no heartbeat for %s (beat %llu); %u of %u workers busy%s",
            span(sight->idle_ns).text, (unsigned long long)sight->beats, sight->busy, workers,
            vyre_runtime_stopped(runtime) ? "; it was told to stop" : "");
    else if (sight->busy == 0)
        add(&text,
            "overdue: a slot waits for input or output that is past its deadline by more "
            "than %s",
            span(runtime->options.stall_ns).text);
    else
        add(&text, "overdue: %u of %u workers at a slot that is past its deadline by more than %s",
            sight->busy, workers, span(runtime->options.stall_ns).text);
    pthread_mutex_lock(&runtime->system.lock);
    for (uint32_t i = 0; i < sight->busy; i++)
        add_worker(&text, runtime, sight, i);
    if (complaint == VYRE_COMPLAINT_STALLED) add_queues(&text, runtime);
    pthread_mutex_unlock(&runtime->system.lock);
    add_io(&text, sight);
}
