// SPDX-License-Identifier: MIT OR GPL-2.0
/* The model's records of containers: a record lives as long as a range or a call uses it. */
#include "nvuvm/container.h"

#include "nvuvm/walk.h"

static struct nvuvm_container *container_find_locked(struct nvuvm *nvuvm,
						     const struct gvm_container *container)
{
	struct nvuvm_container *owner;

	list_for_each_entry(owner, &nvuvm->containers, node)
		if (owner->container == container)
			return owner;
	return NULL;
}

struct nvuvm_container *nvuvm_container_get(struct nvuvm *nvuvm,
					    const struct gvm_container *container)
{
	struct nvuvm_container *owner;

	gvm_spin_lock(&nvuvm->lock);
	owner = container_find_locked(nvuvm, container);
	if (owner)
		owner->users++;
	gvm_spin_unlock(&nvuvm->lock);
	return owner;
}

struct nvuvm_container *nvuvm_container_make(struct nvuvm *nvuvm,
					     struct gvm_container *container)
{
	struct nvuvm_container *owner = nvuvm_container_get(nvuvm, container);

	if (owner)
		return owner;
	owner = gvm_alloc(sizeof(*owner));
	if (!owner)
		return NULL;
	owner->container = container;
	gvm_container_get(container);
	owner->users = 1;
	owner->used = owner->unused = (struct nvuvm_list){ GVM_NO_CHUNK, GVM_NO_CHUNK, 0 };
	nvuvm_walk_init(owner);
	gvm_mutex_init(&owner->va_space, "nvuvm va space");
	INIT_LIST_HEAD(&owner->ranges);
	gvm_spin_lock(&nvuvm->lock);
	list_add_tail(&owner->node, &nvuvm->containers);
	gvm_spin_unlock(&nvuvm->lock);
	return owner;
}

void nvuvm_container_put(struct nvuvm *nvuvm, struct nvuvm_container *owner)
{
	bool last;

	gvm_spin_lock(&nvuvm->lock);
	GVM_ASSERT(owner->users > 0);
	last = --owner->users == 0;
	if (last)
		list_del_init(&owner->node);
	gvm_spin_unlock(&nvuvm->lock);
	if (!last)
		return;
	GVM_ASSERT(!owner->used.count && !owner->unused.count && !owner->host_bytes);
	gvm_container_put(owner->container);
	gvm_free(owner);
}

void nvuvm_container_add_host_pages(struct nvuvm *nvuvm, struct nvuvm_container *owner,
				    s64 pages)
{
	gvm_spin_lock(&nvuvm->lock);
	owner->host_bytes += (u64)pages << GVM_PAGE_SHIFT;
	gvm_spin_unlock(&nvuvm->lock);
}

u64 nvuvm_host_bytes(struct nvuvm *nvuvm, const struct gvm_container *container)
{
	struct nvuvm_container *owner;
	u64 bytes;

	gvm_spin_lock(&nvuvm->lock);
	owner = container_find_locked(nvuvm, container);
	bytes = owner ? owner->host_bytes : 0;
	gvm_spin_unlock(&nvuvm->lock);
	return bytes;
}
