// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gvm_nvidia.ko: GPUs and VA spaces of nvidia-uvm come and go.
 */
#include "gvm_nvidia.h"

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "gvm/quiesce.h"

/* RM programs this timeslice. */
#define NVIDIA_TIMESLICE_US 1024

/* Work of the core is over in milliseconds, but for a reclaim over a slow link. */
#define NVIDIA_QUIESCE_NS (10 * NSEC_PER_SEC)

static bool evictors;
module_param(evictors, bool, 0444);
MODULE_PARM_DESC(evictors, "evict ahead of need, in threads of their own");

/* As the published GVM driver's uvm_perf_promote_2m_faults, which is on as well. */
static bool promotion = true;
module_param(promotion, bool, 0644);
MODULE_PARM_DESC(promotion, "a fault brings in its whole block of 2 MB");

/* All GPUs, for "check". */
static LIST_HEAD(nvidia_gpus);
static DEFINE_MUTEX(nvidia_gpus_lock);

/* Looks at the books of all GPUs: "ok", or "broken", and the kernel's log says how. */
static int nvidia_check(char *text, const struct kernel_param *param)
{
	const struct gvm_nvidia_gpu *gpu;
	int status = 0;

	mutex_lock(&nvidia_gpus_lock);
	list_for_each_entry(gpu, &nvidia_gpus, node)
		if (!status)
			status = gvm_check(gpu->device);
	mutex_unlock(&nvidia_gpus_lock);
	return sysfs_emit(text, "%s\n", status ? "broken" : "ok");
}

static const struct kernel_param_ops nvidia_check_ops = { .get = nvidia_check };
module_param_cb(check, &nvidia_check_ops, NULL, 0400);
MODULE_PARM_DESC(check, "read it: whether the books of all GPUs are in order");

static int nvidia_gpu_add(struct gvm_uvm_gpu *uvm)
{
	struct gvm_nvidia_gpu *gpu = kzalloc(sizeof(*gpu), GFP_KERNEL);
	struct gvm_device_config config = {
		.name = uvm->name,
		.chunk_count = uvm->chunk_count,
		.ops = &gvm_nvidia_gpu_ops,
		.gpu = gpu,
		.memory_ops = &gvm_nvidia_memory_ops,
		.memory = gpu,
		.default_timeslice_us = NVIDIA_TIMESLICE_US,
		.sub_chunks = true,
		.byte_limits = true,
	};
	int status;

	if (!gpu)
		return -ENOMEM;
	gpu->uvm = uvm;
	uvm->books = gpu;
	gvm_nvidia_tsgs_init(gpu);
	status = gvm_nvidia_books_init(gpu);
	if (status)
		goto err_free;
	status = gvm_device_register(&config, uvm->number, &gpu->device);
	if (status)
		goto err_books;
	if (evictors)
		status = gvm_evictor_start(&gpu->evictor, gpu->device);
	if (status)
		goto err_unregister;
	mutex_lock(&nvidia_gpus_lock);
	list_add(&gpu->node, &nvidia_gpus);
	mutex_unlock(&nvidia_gpus_lock);
	return 0;

err_unregister:
	gvm_device_unregister(gpu->device);
err_books:
	gvm_nvidia_books_destroy(gpu);
err_free:
	kfree(gpu);
	return status;
}

static void nvidia_gpu_remove(struct gvm_uvm_gpu *uvm)
{
	struct gvm_nvidia_gpu *gpu = gvm_nvidia_gpu(uvm);

	mutex_lock(&nvidia_gpus_lock);
	list_del(&gpu->node);
	mutex_unlock(&nvidia_gpus_lock);
	if (evictors)
		gvm_evictor_stop(&gpu->evictor);
	WARN_ON_ONCE(gvm_check(gpu->device));
	gvm_nvidia_tsgs_destroy(gpu);
	gvm_device_unregister(gpu->device);
	gvm_nvidia_books_destroy(gpu);
	kfree(gpu);
}

/* The driver cannot refuse to sleep. Work that does not end in time finds its GPU asleep. */
static void nvidia_suspend(struct gvm_uvm_gpu *uvm)
{
	int status =
		gvm_device_quiesce_to_sleep(gvm_nvidia_gpu(uvm)->device, NVIDIA_QUIESCE_NS);

	if (status)
		gvm_warn("%s: suspended while the core works (%d)", uvm->name, status);
	gvm_nvidia_tsgs_unwatch(gvm_nvidia_gpu(uvm));
}

static void nvidia_resume(struct gvm_uvm_gpu *uvm)
{
	int status = gvm_device_resume(gvm_nvidia_gpu(uvm)->device);

	if (status)
		gvm_warn("%s: resume (%d)", uvm->name, status);
	gvm_nvidia_tsgs_watch(gvm_nvidia_gpu(uvm));
}

static int nvidia_attach(struct gvm_uvm_gpu *uvm, struct gvm_uvm_space **ret_space)
{
	struct gvm_nvidia_gpu *gpu = gvm_nvidia_gpu(uvm);
	struct gvm_nvidia_space *space = kzalloc(sizeof(*space), GFP_KERNEL);
	int status;

	if (!space)
		return -ENOMEM;
	status = gvm_process_attach(gpu->device, 0, &space->member);
	if (status) {
		kfree(space);
		return status;
	}
	space->uvm.gpu = uvm;
	space->own.container = gvm_member_container(space->member);
	gvm_nvidia_payers_init(space);
	/* Its process can divide it among children from now on. */
	status = gvm_space_begin(space->member, &space->uvm);
	if (status) {
		gvm_process_detach(space->member);
		kfree(space);
		return status;
	}
	/* Without memory for a thread there is no eviction ahead of need: faults do it. */
	if (evictors)
		(void)gvm_container_evictor_get(space->own.container);
	*ret_space = &space->uvm;
	return 0;
}

static void nvidia_detach(struct gvm_uvm_space *uvm)
{
	struct gvm_nvidia_space *space = gvm_nvidia_space(uvm);

	if (evictors)
		gvm_container_evictor_put(space->own.container);
	gvm_nvidia_payers_destroy(space);
	gvm_space_end(space->member, &space->uvm);
	gvm_process_detach(space->member);
	kfree(space);
}

static bool nvidia_promotes(struct gvm_uvm_space *space)
{
	(void)space;
	return READ_ONCE(promotion);
}

/* nvidia-uvm finds it by symbol_get() when it adds a GPU. */
const struct gvm_uvm_calls gvm_uvm_calls = {
	.version = GVM_UVM_VERSION,
	.gpu_add = nvidia_gpu_add,
	.gpu_remove = nvidia_gpu_remove,
	.suspend = nvidia_suspend,
	.resume = nvidia_resume,
	.attach = nvidia_attach,
	.detach = nvidia_detach,
	.channel_attach = gvm_nvidia_channel_attach,
	.channel_detach = gvm_nvidia_channel_detach,
	.range_made = gvm_nvidia_range_made,
	.range_split = gvm_nvidia_range_split,
	.range_gone = gvm_nvidia_range_gone,
	.reserve = gvm_nvidia_reserve,
	.cancel = gvm_nvidia_cancel,
	.bind = gvm_nvidia_bind,
	.make_room = gvm_nvidia_make_room,
	.promotes = nvidia_promotes,
	.swapped = gvm_nvidia_swapped,
	.leaves = gvm_nvidia_leaves,
	.used = gvm_nvidia_used,
	.split = gvm_nvidia_split,
	.victim = gvm_nvidia_victim,
	.is_picked = gvm_nvidia_is_picked,
	.putback = gvm_nvidia_putback,
	.eviction_starts = gvm_nvidia_eviction_starts,
	.eviction_fails = gvm_nvidia_putback,
};
EXPORT_SYMBOL_GPL(gvm_uvm_calls);

MODULE_DESCRIPTION("Shares NVIDIA GPUs between containers: the memory of nvidia-uvm");
MODULE_AUTHOR("The gvmsim authors");
MODULE_LICENSE("Dual MIT/GPL");
