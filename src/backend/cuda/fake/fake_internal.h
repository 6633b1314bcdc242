/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of the fake driver share.
 */
#ifndef VYRE_BACKEND_CUDA_FAKE_INTERNAL_H
#define VYRE_BACKEND_CUDA_FAKE_INTERNAL_H

#include "backend/cuda/fake/fake_driver.h"

/* Counts a call; not 0: it fails with that. A call that gives something back does so all the same.
 */
int fake_call(void);

/* Something came to life or ended. */
void fake_count(int by);

/* Notes a call that would not return if a kernel runs. */
void fake_alone(void);

/* Objects without contents. */
int fake_make(void **out);
int fake_unmake(void *object);

int fake_link_create(unsigned count, int *options, void **values, void **state);
int fake_link_add(void *state, int type, void *data, size_t bytes, const char *name, unsigned count,
                  int *options, void **values);
int fake_link_complete(void *state, void **cubin, size_t *bytes);
int fake_module_load(void **module, const void *image);
int fake_module_unload(void *module);
int fake_get_function(void **function, void *module, const char *name);
int fake_func_load(void *function);
int fake_func_set(void *function, int attribute, int value);
int fake_occupancy(int *blocks, void *function, int threads, size_t dynamic);
int fake_launch(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared, void *stream,
                void **parameters, void **extra);
int fake_stream_wait(void *stream, uint64_t address, uint32_t value, unsigned flags);
int fake_stream_destroy(void *stream);
int fake_stream_stuck(void); /* the kernel's stream waits, for a launch or for nothing */
int fake_event_synchronize(void *event);
int fake_stream_synchronize(void *stream);

int fake_register(void *base, size_t bytes, unsigned flags);
int fake_unregister(void *base);
int fake_device_pointer(uint64_t *address, void *base, unsigned flags);
int fake_memory_info(size_t *available, size_t *total);
int fake_granularity(size_t *granularity, const struct vyre_cu_memory_kind *kind, int option);
int fake_reserve(uint64_t *address, size_t bytes, size_t alignment, uint64_t wanted,
                 unsigned long long flags);
int fake_unreserve(uint64_t address, size_t bytes);
int fake_create(uint64_t *handle, size_t bytes, const struct vyre_cu_memory_kind *kind,
                unsigned long long flags);
int fake_release(uint64_t handle);
int fake_export(void *out, uint64_t handle, int type, unsigned long long flags);
int fake_import(uint64_t *handle, void *from, int type);
int fake_properties(struct vyre_cu_memory_kind *kind, uint64_t handle);
int fake_map(uint64_t address, size_t bytes, size_t offset, uint64_t handle,
             unsigned long long flags);
int fake_unmap(uint64_t address, size_t bytes);
int fake_set_access(uint64_t address, size_t bytes, const struct vyre_cu_access *access,
                    size_t count);
int fake_copy_in(uint64_t to, const void *from, size_t bytes, void *stream);
int fake_copy_out(void *to, uint64_t from, size_t bytes, void *stream);
int fake_set(uint64_t address, unsigned char value, size_t bytes, void *stream);

#endif
