/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The model's records of containers. */
#ifndef SIM_NVUVM_CONTAINER_H
#define SIM_NVUVM_CONTAINER_H

#include "nvuvm/types.h"

/* get: the record of a container with one more user, or NULL. CONTEXT: atomic. */
struct nvuvm_container *nvuvm_container_get(struct nvuvm *nvuvm,
					    const struct gvm_container *container);

/* The same, and the record is made if there is none. NULL: no memory. CONTEXT: process. */
struct nvuvm_container *nvuvm_container_make(struct nvuvm *nvuvm,
					     struct gvm_container *container);

/* One user less; the last one frees the record. CONTEXT: process. */
void nvuvm_container_put(struct nvuvm *nvuvm, struct nvuvm_container *owner);

/* Host memory behind the container's managed memory has grown by @pages. CONTEXT: atomic. */
void nvuvm_container_add_host_pages(struct nvuvm *nvuvm, struct nvuvm_container *owner,
				    s64 pages);

/*
 * Bytes of host memory behind the managed memory of a container. They are kept when data moves
 * to the device, so they only grow while its ranges exist. CONTEXT: atomic.
 */
u64 nvuvm_host_bytes(struct nvuvm *nvuvm, const struct gvm_container *container);

#endif
