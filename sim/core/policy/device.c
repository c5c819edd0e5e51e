// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A device: its chunk array and its empty books.
 *
 * Layer: policy. Never calls back, takes no lock: no other thread sees the device yet, or any
 * more.
 */
#include "gvm/device.h"
#include "gvm/lirs.h"
#include "gvm/predictor.h"

static void device_init_chunk(struct gvm_chunk *chunk)
{
	u32 order;

	for (order = 0; order < GVM_ORDERS; order++) {
		chunk->next[order] = GVM_NO_CHUNK;
		chunk->prev[order] = GVM_NO_CHUNK;
	}
	chunk->state = GVM_CHUNK_FREE;
}

static void device_free_arrays(struct gvm_device *device)
{
	gvm_predictor_destroy(device);
	gvm_lirs_destroy(device);
	gvm_free(device->pieces);
	gvm_free(device->payers);
	gvm_free(device->chunks);
	device->pieces = NULL;
	device->payers = NULL;
	device->chunks = NULL;
}

/* All arrays by chunk. On -ENOMEM the caller frees those that are there. */
static int device_alloc_arrays(struct gvm_device *device, bool sub_chunks)
{
	device->chunks = gvm_alloc(device->chunk_count *
				   (sizeof(*device->chunks) + sizeof(*device->referenced)));
	if (!device->chunks)
		return -ENOMEM;
	device->referenced = (u8 *)(device->chunks + device->chunk_count);
	for (u32 i = 0; i < device->chunk_count; i++)
		device_init_chunk(&device->chunks[i]);
	if (sub_chunks) {
		size_t pages = (size_t)device->chunk_count * GVM_PAGES_PER_BLOCK;

		device->payers = gvm_alloc(pages * sizeof(struct gvm_container *));
		device->pieces = gvm_alloc(pages * sizeof(*device->pieces));
		if (!device->payers || !device->pieces)
			return -ENOMEM;
	}
	return gvm_lirs_init(device) || gvm_predictor_init(device) ? -ENOMEM : 0;
}

/* CONTEXT: process. */
int gvm_device_init(struct gvm_device *device, const struct gvm_device_config *config)
{
	int status;

	if (config->chunk_count == 0)
		return -EINVAL;
	memset(device, 0, sizeof(*device));
	device->name = config->name;
	device->ops = config->ops;
	device->gpu = config->gpu;
	device->memory_ops = config->memory_ops;
	device->memory = config->memory;
	device->default_timeslice_us = config->default_timeslice_us;
	device->features = config->features;
	device->byte_limits = config->byte_limits;
	device->chunk_count = config->chunk_count;
	device->global.hand = GVM_NO_CHUNK;
	INIT_LIST_HEAD(&device->containers);
	INIT_LIST_HEAD(&device->owners);
	INIT_LIST_HEAD(&device->shielded_owners);
	INIT_LIST_HEAD(&device->listening);
	INIT_LIST_HEAD(&device->compute);
	gvm_mutex_init(&device->tsg_mutex, "gvm tsg");
	gvm_spin_init(&device->lock, "gvm device");
	gvm_waitqueue_init(&device->activity);
	gvm_waitqueue_init(&device->idle);

	status = device_alloc_arrays(device, config->sub_chunks);
	if (status)
		device_free_arrays(device);
	return status;
}

/* CONTEXT: process. */
void gvm_device_destroy(struct gvm_device *device)
{
	/*
	 * Other threads may still point to containers of a dead device, so none of its memory
	 * is freed.
	 */
	if (gvm_device_is_dead(device))
		return;
	GVM_ASSERT(list_empty(&device->containers));
	GVM_ASSERT(device->container_count == 0 && device->bound_chunks == 0);
	GVM_ASSERT(device->exposed_chunks == 0 && device->stuck_chunks == 0);
	GVM_ASSERT(device->evicting_chunks == 0 && device->stash_count == 0);
	GVM_ASSERT(device->unevictable_bytes == 0 && list_empty(&device->listening));
	GVM_ASSERT(!device->evictor && !device->scheduler);
	device_free_arrays(device);
}
