/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A container by its number, for tests that did not keep the pointer of its attach. */
#ifndef TESTS_CORE_FIND_CONTAINER_H
#define TESTS_CORE_FIND_CONTAINER_H

#include "gvm/container.h"

/* Find the attached container of @tgid. Returns a reference, or NULL. CONTEXT: atomic. */
static inline struct gvm_container *find_container(struct gvm_device *device, u32 tgid)
{
	struct gvm_container *container, *found = NULL;

	if (!gvm_books_lock(device))
		return NULL;
	list_for_each_entry(container, &device->containers, node)
		if (container->attached && container->tgid == tgid)
			found = container;
	if (found)
		found->refs++;
	gvm_spin_unlock(&device->lock);
	return found;
}

#endif
