/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Thousands of random operations on files, checked against a model: reads, writes, fences and
 * prefetches of all lengths, by two tenants, on both kinds of buffers, many at a time, some of them
 * wrong and some cancelled. Operations that are under way at the same time touch different bytes,
 * so the model says exactly what each must find.
 */
#include "pump_test.h"

enum {
    REGIONS = 48,        /* each has its bytes of a file and of a buffer */
    REGION = 40000,      /* bytes of one */
    BIG = 3,             /* regions from here on are so much larger: */
    BIG_REGION = 400000, /* more than three chunks */
    OPERATIONS = 6000
};

/* A region: part of a file, part of a buffer, and what is in both. */
struct region {
    unsigned char *file; /* the model */
    unsigned char *memory;
    size_t bytes;
    uint64_t offset; /* in the file */
    uint64_t at;     /* in the buffer */
    uint32_t busy;
    uint64_t ticket;
    vyre_load load;
    int wrong; /* the errno that it must end with */
};

struct model {
    vyre *rt;
    vyre_queue *queue;
    int fd;
    vyre_source *source;
    vyre_buffer *buffer;
    uint32_t tenant;
    size_t bytes;
    uint64_t state;
    uint32_t errors;
    uint32_t cancelled;
    struct region region[REGIONS];
};

static void fill(struct model *model, unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)random_next(&model->state);
}

static void model_open(struct model *model, vyre *rt, uint32_t tenant, enum vyre_buffer_kind kind)
{
    vyre_buffer_options options = VYRE_BUFFER_OPTIONS_INIT;
    vyre_error err;
    size_t bytes = 0;
    model->rt = rt;
    model->tenant = tenant;
    model->queue = open_queue(rt, 64, tenant);
    model->fd = memfd_create("model", MFD_CLOEXEC);
    for (uint32_t i = 0; i < REGIONS; i++) {
        struct region *region = &model->region[i];
        region->bytes = i < REGIONS - BIG ? REGION : BIG_REGION;
        region->offset = region->at = bytes;
        bytes += region->bytes + 13; /* odd places */
        region->file = malloc(region->bytes);
        region->memory = malloc(region->bytes);
        fill(model, region->file, region->bytes);
        fill(model, region->memory, region->bytes);
    }
    model->bytes = bytes;
    options.kind = kind;
    options.tenant = tenant;
    must(vyre_buffer_create_with(rt, bytes, &options, &model->buffer, &err), &err);
    for (uint32_t i = 0; i < REGIONS; i++) {
        struct region *region = &model->region[i];
        if (pwrite(model->fd, region->file, region->bytes, (off_t)region->offset) !=
            (ssize_t)region->bytes)
            bail("the file was not written");
        must(vyre_buffer_write(model->buffer, region->at, region->memory, region->bytes, &err),
             &err);
    }
    model->source = open_source(rt, model->fd, VYRE_RIGHT_READ | VYRE_RIGHT_WRITE, tenant);
}

static void model_close(struct model *model)
{
    for (uint32_t i = 0; i < REGIONS; i++) {
        free(model->region[i].file);
        free(model->region[i].memory);
    }
    close(model->fd);
}

/* Begins something random in a region that is free. */
static void begin(struct model *model, struct region *region)
{
    uint64_t *state = &model->state;
    uint32_t what = random_below(state, 20);
    vyre_load load = load_of(model->source, model->buffer, 0, 0);
    vyre_error err;
    uint32_t room = (uint32_t)region->bytes;
    uint32_t length =
        random_below(state, 4) ? 1 + random_below(state, 5000) : 1 + random_below(state, room);
    load.length = length;
    load.offset = region->offset + random_below(state, room - length + 1);
    load.at = region->at + random_below(state, room - length + 1);
    load.op = what < 10 ? VYRE_IO_READ : VYRE_IO_WRITE;
    region->wrong = 0;
    if (what == 17) load.op = VYRE_IO_FENCE;
    if (what == 18) {
        load.op = VYRE_IO_READ;
        load.prefetch = 1;
    }
    if (what == 19) {
        load.source ^= 0x10000;
        region->wrong = EBADF;
    }
    region->load = load;
    must(vyre_prep_load(next_slot(model->queue), &load, &err), &err);
    region->ticket = submit(model->queue);
    region->busy = 1;
}

/* What the slot has done is done to the model too; `bytes` of it. */
static void apply(struct region *region, uint64_t bytes)
{
    unsigned char *file = region->file + (region->load.offset - region->offset);
    unsigned char *memory = region->memory + (region->load.at - region->at);
    if (region->load.prefetch || region->load.op == VYRE_IO_FENCE) return;
    if (region->load.op == VYRE_IO_READ)
        memcpy(memory, file, bytes);
    else
        memcpy(file, memory, bytes);
}

static void end(struct model *model, const vyre_completion *completion)
{
    struct region *region = model->region;
    while (region < model->region + REGIONS &&
           !(region->busy && region->ticket == completion->ticket))
        region++;
    if (region == model->region + REGIONS) bail("a completion of nothing");
    region->busy = 0;
    uint64_t bytes = moved(completion);
    int moves = !region->load.prefetch && region->load.op != VYRE_IO_FENCE && !region->wrong;
    if (completion->outcome == VYRE_CANCELLED) {
        model->cancelled++;
        /* What was moved is known by its number; a cancelled READ may have left more behind. */
        apply(region, region->wrong ? 0 : bytes);
        if (moves && region->load.op == VYRE_IO_READ) {
            vyre_error err;
            must(vyre_buffer_read(model->buffer, region->at, region->memory, region->bytes, &err),
                 &err);
        } else if (moves &&
                   pread(model->fd, region->file, region->bytes, (off_t)region->offset) < 0) {
            bail("the file was not read");
        }
    } else if (region->wrong) {
        model->errors += !faulted_with(completion, VYRE_FAULT_IO, region->wrong);
    } else {
        model->errors += completion->outcome != VYRE_DONE;
        model->errors += bytes != (moves ? region->load.length : 0);
        apply(region, bytes);
    }
}

static void reap(struct model *model, size_t least)
{
    vyre_completion completions[64];
    size_t count = 0;
    vyre_error err;
    must(vyre_queue_reap_wait(model->queue, completions, least, 64, PATIENCE_NS, &count, &err),
         &err);
    for (size_t i = 0; i < count; i++)
        end(model, &completions[i]);
}

static uint32_t count_busy(const struct model *model)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < REGIONS; i++)
        count += model->region[i].busy;
    return count;
}

/* Everything has ended: files and buffers are as the model says. */
static void compare(struct model *model)
{
    unsigned char *bytes = malloc(model->bytes);
    uint32_t wrong = 0;
    vyre_error err;
    must(vyre_buffer_read(model->buffer, 0, bytes, model->bytes, &err), &err);
    for (uint32_t i = 0; i < REGIONS; i++)
        wrong += memcmp(bytes + model->region[i].at, model->region[i].memory,
                        model->region[i].bytes) != 0;
    if (pread(model->fd, bytes, model->bytes, 0) < (ssize_t)(model->bytes - 13))
        bail("the file was not read");
    for (uint32_t i = 0; i < REGIONS; i++)
        wrong += memcmp(bytes + model->region[i].offset, model->region[i].file,
                        model->region[i].bytes) != 0;
    is_u64(wrong + model->errors, 0,
           "tenant %u: file and buffer are as the model says, %u cancelled", model->tenant,
           model->cancelled);
    free(bytes);
}

static void play(vyre *rt, enum vyre_buffer_kind kind, uint64_t seed, uint32_t operations)
{
    static struct model models[2];
    vyre_error err;
    memset(models, 0, sizeof models);
    for (uint32_t t = 0; t < 2; t++) {
        models[t].state = seed + t;
        model_open(&models[t], rt, t, kind);
    }
    for (uint32_t i = 0; i < operations; i++) {
        struct model *model = &models[random_below(&models[0].state, 2)];
        struct region *region = &model->region[random_below(&model->state, REGIONS)];
        if (region->busy) {
            if (random_below(&model->state, 8) == 0)
                vyre_cancel(model->queue, region->ticket, &err);
            reap(model, random_below(&model->state, 2));
            continue;
        }
        begin(model, region);
        if (random_below(&model->state, 16) == 0) reap(model, 0);
    }
    for (uint32_t t = 0; t < 2; t++) {
        while (count_busy(&models[t]) != 0)
            reap(&models[t], 1);
        compare(&models[t]);
        vyre_source_close(models[t].source);
        vyre_buffer_free(models[t].buffer);
        vyre_queue_close(models[t].queue);
        model_close(&models[t]);
    }
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    uint32_t operations = UNDER_ASAN || UNDER_TSAN ? OPERATIONS / 4 : OPERATIONS;
    static const uint32_t entries[] = {256, 8, 1};
    for (uint32_t i = 0; i < 3; i++) {
        vyre_options options = pump_options(1 + i);
        options.io_entries = entries[i];
        vyre *rt = open_with(&options);
        play(rt, VYRE_PINNED, seed + 10 * i, operations);
        play(rt, VYRE_DEVICE, seed + 10 * i + 5, operations);
        vyre_pump_report report = report_of(rt);
        is_u64(report.underway + report.lost_events, 0,
               "%u entries: nothing is left, %llu requests", entries[i],
               (unsigned long long)report.requests);
        vyre_close(rt);
    }
    return done();
}
