/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A function written in CUDA C as an operation: the GPU multiplies the numbers of a buffer, 64
 * slots with a part each. The function is in scale.cu; docs/native-cuda.md explains each step.
 *
 *     nvcc -rdc=true -ptx -arch=compute_75 -std=c++17 -o scale.ptx scale.cu
 *     cc -o native_cuda native_cuda.c $(pkg-config --cflags --libs vyre)
 *     ./native_cuda scale.ptx
 *
 * scale.ptx is there already, for machines without nvcc. Exit code 77: there is no GPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vyre/vyre.h>

enum { SCALE = 0x5CA1E, PARTS = 64, NUMBERS = 1 << 20, SKIPPED = 77 };

/* The whole file; NULL where it cannot be read. */
static void *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    char *text = NULL;
    long length = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (length > 0 && fseek(file, 0, SEEK_SET) == 0) text = malloc((size_t)length);
    if (text && fread(text, 1, (size_t)length, file) != (size_t)length) {
        free(text);
        text = NULL;
    }
    fclose(file);
    if (text) *bytes = (size_t)length;
    return text;
}

static vyre_status register_scale(vyre *rt, const char *path, vyre_error *err)
{
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    vyre_operation *operation; /* vyre_close takes it away */
    void *image = read_file(path, &how.image_bytes);
    if (!image) {
        fprintf(stderr, "error: cannot read %s\n  fix: pass the path of scale.ptx\n", path);
        exit(1);
    }
    how.opcode = SCALE;
    how.read_handles = how.write_handles = 1u << 0;
    how.image = image;
    how.function = "scale";
    vyre_status status = vyre_operation_register(rt, &how, &operation, err);
    free(image);
    return status;
}

static vyre_status submit_parts(vyre_queue *queue, uint32_t numbers, float factor, vyre_error *err)
{
    uint32_t args[4] = {numbers, 0, 0, NUMBERS / PARTS};
    memcpy(&args[1], &factor, sizeof factor);
    for (uint32_t i = 0; i < PARTS; i++) {
        args[2] = i * (NUMBERS / PARTS);
        vyre_status status = vyre_prep_op(vyre_queue_slot(queue), SCALE, args, 4, err);
        if (status != VYRE_OK) return status;
    }
    return vyre_queue_submit(queue, NULL, err);
}

int main(int argc, char **argv)
{
    static float number[NUMBERS];
    vyre *rt = NULL;
    vyre_buffer *buffer;
    vyre_error err;
    vyre_options options = VYRE_OPTIONS_INIT;
    options.backend = VYRE_BACKEND_CUDA;
    vyre_status status = vyre_open(&rt, &options, &err);
    if (status == VYRE_E_UNSUPPORTED || status == VYRE_E_NO_DEVICE) {
        printf("# SKIP this needs an NVIDIA GPU: %s\n", err.message);
        return SKIPPED;
    }
    if (status != VYRE_OK) goto fail;
    if (register_scale(rt, argc > 1 ? argv[1] : "scale.ptx", &err) != VYRE_OK) goto fail;
    if (vyre_buffer_create(rt, sizeof number, VYRE_DEVICE, &buffer, &err) != VYRE_OK) goto fail;
    for (uint32_t i = 0; i < NUMBERS; i++)
        number[i] = (float)i;
    if (vyre_buffer_write(buffer, 0, number, sizeof number, &err) != VYRE_OK) goto fail;

    vyre_queue *queue = vyre_queue_default(rt);
    vyre_completion ends[PARTS];
    size_t count;
    uint32_t scaled = 0, wrong = 0;
    if (submit_parts(queue, vyre_buffer_handle(buffer), 0.5f, &err) != VYRE_OK) goto fail;
    if (vyre_queue_reap_wait(queue, ends, PARTS, PARTS, VYRE_FOREVER, &count, &err)) goto fail;
    for (size_t i = 0; i < count; i++) {
        if (ends[i].outcome != VYRE_DONE)
            printf("slot %llu: %s (code %u)\n", (unsigned long long)ends[i].ticket,
                   vyre_fault_text(ends[i].fault), ends[i].pc);
        scaled += ends[i].result[0];
    }

    if (vyre_buffer_read(buffer, 0, number, sizeof number, &err) != VYRE_OK) goto fail;
    for (uint32_t i = 0; i < NUMBERS; i++)
        wrong += number[i] != (float)i * 0.5f;
    printf("%u numbers scaled by the GPU, %u of them wrong\n", scaled, wrong);
    vyre_close(rt);
    return scaled == NUMBERS && wrong == 0 ? 0 : 1;

fail:
    fprintf(stderr, "error: %s\n  fix: %s\n", err.message, err.fix);
    vyre_close(rt);
    return 1;
}
