// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Containers: found by process group, kept by reference.
 *
 * Layer: policy. Waits for memory only, never calls back, takes only the device's leaf lock.
 *
 *
 * Found by process group, kept by reference
 *
 * A container has two lifetimes. It can be joined by its tgid from the first attach to the last
 * detach. It exists until the last reference is put, which may be later: a fault in service or
 * a reader of its files outlives the process. In between it is still on the device's list, so
 * that its charges stay on an account. A new process group with the same tgid gets a container
 * of its own and inherits nothing.
 *
 * A kernel does not find processes by numbers, since numbers are used again. It makes each
 * container with gvm_container_create() and joins it by pointer. The tgid is only a name for
 * people.
 *
 * The search goes through the list. There is an entry for each tenant, and only an attach
 * searches. The threads that service faults and the open control files hold references.
 *
 *
 * How it differs from the papers (GVM 4.2) and the published driver
 *
 *   1. The key is the tgid, not the thread that opened the device. All address spaces
 *      and threads of a process share one container. The published driver compares the opener's
 *      thread id with the leader's, and then finds no victims of its own.
 *   2. References are counted under one lock. The published driver has a hash of groups without
 *      a count: two concurrent opens make two groups, and an open can find a group that is
 *      being freed.
 */
#include "gvm/family.h"
#include "gvm/sched.h"
#include "gvm/tsg.h"

static struct gvm_container *container_find_locked(struct gvm_device *device, u32 tgid)
{
	struct gvm_container *container;

	list_for_each_entry(container, &device->containers, node) {
		if (container->attached && container->tgid == tgid)
			return container;
	}
	return NULL;
}

struct gvm_container *gvm_container_alloc(struct gvm_device *device, u32 tgid)
{
	struct gvm_container *container = gvm_alloc(sizeof(*container));

	if (!container)
		return NULL;
	container->device = device;
	container->tgid = tgid;
	container->gmem_high_bytes = GVM_NO_LIMIT;
	container->hmem_limit_bytes = GVM_NO_LIMIT;
	container->own.hand = GVM_NO_CHUNK;
	container->shielded.hand = GVM_NO_CHUNK;
	INIT_LIST_HEAD(&container->node);
	INIT_LIST_HEAD(&container->owner_node);
	INIT_LIST_HEAD(&container->tsgs);
	INIT_LIST_HEAD(&container->listeners);
	INIT_LIST_HEAD(&container->listening);
	INIT_LIST_HEAD(&container->roomy);
	INIT_LIST_HEAD(&container->children);
	INIT_LIST_HEAD(&container->sibling);
	INIT_LIST_HEAD(&container->compute_node);
	container->timeslice_us = device->default_timeslice_us;
	container->priority = (u8)gvm_timeslice_us_to_priority(device->default_timeslice_us);
	container->weight = GVM_WEIGHT_DEFAULT;
	return container;
}

static void container_join_locked(struct gvm_container *container)
{
	container->processes++;
	container->refs++;
}

static void container_publish_locked(struct gvm_container *container)
{
	struct gvm_device *device = container->device;

	container->attached = true;
	list_add_tail(&container->node, &device->containers);
	device->container_count++;
	container_join_locked(container);
}

/*
 * Join the container of @tgid. If there is none, *@spare becomes it, unless that is NULL.
 * Returns 0, -ENOENT (there is none, and no spare) or -EIO.
 */
static int container_join_or_publish(struct gvm_device *device, u32 tgid,
				     struct gvm_container **spare,
				     struct gvm_container **ret_container)
{
	struct gvm_container *container;

	if (!gvm_books_lock(device))
		return -EIO;
	container = container_find_locked(device, tgid);
	if (container) {
		container_join_locked(container);
	} else if (*spare) {
		container = *spare;
		*spare = NULL;
		container_publish_locked(container);
	}
	gvm_spin_unlock(&device->lock);
	*ret_container = container;
	return container ? 0 : -ENOENT;
}

/* CONTEXT: process. */
int gvm_container_attach(struct gvm_device *device, u32 tgid,
			 struct gvm_container **ret_container)
{
	struct gvm_container *spare = NULL;
	int status;

	*ret_container = NULL;
	status = container_join_or_publish(device, tgid, &spare, ret_container);
	if (status != -ENOENT)
		return status;
	spare = gvm_container_alloc(device, tgid);
	if (!spare)
		return -ENOMEM;
	/* Another thread may have published one meanwhile. */
	status = container_join_or_publish(device, tgid, &spare, ret_container);
	gvm_free(spare);
	return status;
}

/* CONTEXT: process. */
int gvm_container_create(struct gvm_device *device, u32 tgid,
			 struct gvm_container **ret_container)
{
	struct gvm_container *container = gvm_container_alloc(device, tgid);

	*ret_container = container;
	if (!container)
		return -ENOMEM;
	if (!gvm_books_lock(device)) {
		gvm_free(container);
		*ret_container = NULL;
		return -EIO;
	}
	(void)gvm_is_broken(device, !tgid || !container_find_locked(device, tgid));
	container_publish_locked(container);
	gvm_spin_unlock(&device->lock);
	return 0;
}

/* CONTEXT: atomic. */
void gvm_container_join(struct gvm_container *container)
{
	if (!gvm_books_lock(container->device))
		return;
	if (!gvm_is_broken(container->device, container->attached))
		container_join_locked(container);
	gvm_spin_unlock(&container->device->lock);
}

/* CONTEXT: atomic. */
void gvm_container_rename(struct gvm_container *container, u32 tgid)
{
	struct gvm_device *device = container->device;

	if (!gvm_books_lock(device))
		return;
	if (!gvm_is_broken(device, container->attached &&
					   (!tgid || !container_find_locked(device, tgid))))
		container->tgid = tgid;
	gvm_spin_unlock(&device->lock);
}

/* CONTEXT: atomic, device's lock held. */
void gvm_watchers_wake_begin_locked(struct gvm_container *container, struct gvm_wakers *wakers)
{
	struct gvm_watcher *watcher;

	gvm_spin_assert_held(&container->device->lock);
	wakers->count = 0;
	list_for_each_entry(watcher, &container->listeners, node) {
		GVM_ASSERT(wakers->count < GVM_WATCHERS_MAX);
		watcher->wakers++;
		wakers->watchers[wakers->count++] = watcher;
	}
}

/* CONTEXT: process. */
void gvm_watchers_wake_end(struct gvm_device *device, const struct gvm_wakers *wakers)
{
	for (u32 i = 0; i < wakers->count; i++) {
		struct gvm_watcher *watcher = wakers->watchers[i];

		gvm_wake_up_all(&watcher->wait);
		/* After the unlock the watcher may be gone. */
		gvm_spin_lock(&device->lock);
		GVM_ASSERT(watcher->wakers > 0);
		if (--watcher->wakers == 0)
			gvm_wake_up_one(&watcher->left);
		gvm_spin_unlock(&device->lock);
	}
}

/* CONTEXT: process. */
void gvm_container_detach(struct gvm_container *container)
{
	struct gvm_device *device = container->device;
	struct gvm_wakers wakers = { .count = 0 };

	if (!gvm_books_lock(device))
		return;
	if (!gvm_is_broken(device, container->processes > 0) && --container->processes == 0) {
		container->attached = false;
		gvm_watchers_wake_begin_locked(container, &wakers);
	}
	gvm_spin_unlock(&device->lock);
	gvm_watchers_wake_end(device, &wakers);
	gvm_container_put(container);
}

/* CONTEXT: atomic. */
void gvm_container_get(struct gvm_container *container)
{
	if (!gvm_books_lock(container->device))
		return;
	if (!gvm_is_broken(container->device, container->refs > 0))
		container->refs++;
	gvm_spin_unlock(&container->device->lock);
}

/*
 * No thread can reach the container any more. Is nothing charged to it? If not, the device is
 * dead.
 */
static bool container_is_empty_locked(const struct gvm_container *container)
{
	struct gvm_device *device = container->device;

	return !gvm_is_broken(device, !container->attached && container->processes == 0) &&
	       !gvm_is_broken(device, container->charged_bytes == 0 &&
					      container->reserved_bytes == 0) &&
	       !gvm_is_broken(device, container->unevictable_bytes == 0 &&
					      container->evicting_bytes == 0) &&
	       !gvm_is_broken(device, container->bound_chunks == 0 &&
					      list_empty(&container->owner_node)) &&
	       !gvm_is_broken(device,
			      container->swapped_bytes == 0 && container->clean_bytes == 0) &&
	       !gvm_is_broken(device, list_empty(&container->tsgs) && !container->evictor) &&
	       !gvm_is_broken(device, container->evictor_users == 0) &&
	       !gvm_is_broken(device, container->shared_tsgs == 0) &&
	       !gvm_is_broken(device,
			      container->child_count == 0 && container->children_bytes == 0) &&
	       !gvm_is_broken(device, list_empty(&container->listeners));
}

/* CONTEXT: process. */
void gvm_container_put(struct gvm_container *container)
{
	struct gvm_device *device = container->device;

	/* Twice at most: the last reference to a child drops its reference to its parent. */
	while (container) {
		struct gvm_container *parent = NULL;
		bool last = false;

		if (!gvm_books_lock(device))
			return;
		if (!gvm_is_broken(device, container->refs > 0) && --container->refs == 0)
			last = container_is_empty_locked(container);
		if (last) {
			list_del_init(&container->node);
			device->container_count--;
			parent = container->parent;
			gvm_family_leave_locked(container);
		}
		gvm_spin_unlock(&device->lock);
		if (last)
			gvm_free(container);
		container = parent;
	}
}

/* CONTEXT: atomic. */
void gvm_container_count_kernels(struct gvm_container *container, u64 submitted, u64 ended)
{
	gvm_spin_lock(&container->device->lock);
	container->kernels_submitted += submitted;
	container->kernels_ended += ended;
	gvm_spin_unlock(&container->device->lock);
}

/* CONTEXT: process. */
void gvm_launches_open(struct gvm_launches *launches, struct gvm_container *container)
{
	gvm_container_get(container);
	launches->container = container;
	launches->submitted = 0;
	launches->ended = 0;
}

/* CONTEXT: atomic. */
void gvm_launches_count(struct gvm_launches *launches, u64 submitted, u64 ended)
{
	struct gvm_container *container = launches->container;

	gvm_spin_lock(&container->device->lock);
	launches->submitted += submitted;
	launches->ended += ended;
	container->kernels_submitted += submitted;
	container->kernels_ended += ended;
	gvm_spin_unlock(&container->device->lock);
}

/*
 * Either count of a reporter may be too low, so the higher one counts for both. CONTEXT:
 * process.
 */
void gvm_launches_close(struct gvm_launches *launches)
{
	struct gvm_container *container = launches->container;
	u64 most;

	if (!container)
		return;
	gvm_spin_lock(&container->device->lock);
	most = max(launches->submitted, launches->ended);
	container->kernels_submitted += most - launches->submitted;
	container->kernels_ended += most - launches->ended;
	gvm_spin_unlock(&container->device->lock);
	launches->container = NULL;
	gvm_container_put(container);
}

/* CONTEXT: atomic. */
void gvm_container_count_event(struct gvm_container *container, enum gvm_event event)
{
	gvm_spin_lock(&container->device->lock);
	container->events[event]++;
	gvm_spin_unlock(&container->device->lock);
}
