// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gvm_fakegpu.ko: makes GPUs of RAM, registers them with gvm.ko and gives each a device node.
 *
 * The nodes come last. A file that a user has opened does not keep a module whose init fails.
 * So init fails only before the first node exists. A GPU whose node cannot be made later is
 * removed, with a warning.
 */
#include "fakegpu.h"

#include <linux/fs.h>
#include <linux/gcd.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "gvm_registry.h"

#define FAKEGPU_GPUS_MAX   4u
#define FAKEGPU_CHUNKS_MAX 4096u

static unsigned int gpus = 1;
module_param(gpus, uint, 0444);
MODULE_PARM_DESC(gpus, "how many GPUs to make (1 to 4)");

static unsigned int chunks = 64;
module_param(chunks, uint, 0444);
MODULE_PARM_DESC(chunks, "memory of each GPU, in chunks of 2 MB (1 to 4096)");

static unsigned int sms = 4;
module_param(sms, uint, 0444);
MODULE_PARM_DESC(sms, "how many TSGs a GPU runs side by side (1 to 16)");

static unsigned int features;
module_param(features, uint, 0444);
MODULE_PARM_DESC(features, "ideas beyond the papers, a set of enum gvm_feature");

static bool sub_chunks;
module_param(sub_chunks, bool, 0444);
MODULE_PARM_DESC(sub_chunks, "mappings of less than 2 MB share chunks");

static unsigned int fail_node;
module_param(fail_node, uint, 0444);
MODULE_PARM_DESC(fail_node,
		 "for tests: the device node of the n-th GPU cannot be made (0: none)");

static struct fakegpu *fakegpus[FAKEGPU_GPUS_MAX];

static void fakegpu_cancel_fault(void *gpu, const struct gvm_fault *fault)
{
	fakegpu_tsg_kill(gpu, fault->tsg, fault->status);
}

static void fakegpu_give_up(void *gpu)
{
	fakegpu_lose(gpu);
}

static const struct gvm_gpu_ops fakegpu_gpu_ops = {
	.give_up = fakegpu_give_up,
	.fetch_faults = fakegpu_fetch_faults,
	.space_priority = fakegpu_space_priority,
	.cancel_fault = fakegpu_cancel_fault,
	.flush_and_replay = fakegpu_flush_and_replay,
	.wait_for_faults = fakegpu_wait_for_faults,
	.tsg_set_timeslice = fakegpu_tsg_set_timeslice,
	.tsg_preempt = fakegpu_tsg_preempt,
	.tsgs_disable = fakegpu_tsgs_disable,
	.tsgs_enable = fakegpu_tsgs_enable,
	.tsg_sample = fakegpu_tsg_sample,
	.tsg_accesses = fakegpu_tsg_accesses,
};

/* The block layer's table with another service, evict and free_chunks. */
static struct gvm_memory_ops fakegpu_memory_ops;

static int fakegpu_evict(void *memory, u32 chunk, struct gvm_eviction *eviction)
{
	struct fakegpu *gpu = container_of(memory, struct fakegpu, memory);
	int status = gvm_block_memory_ops.evict(memory, chunk, eviction);

	if (!status && eviction->left_bytes)
		atomic_inc(&gpu->partial_evictions);
	return status;
}

static const struct gvm_mmu_ops fakegpu_mmu_ops = {
	.chunk_alloc = fakegpu_chunk_alloc,
	.chunk_free = fakegpu_chunk_free,
	.copy_in = fakegpu_copy_in,
	.copy_out = fakegpu_copy_out,
	.host_free = fakegpu_host_free,
	.clear = fakegpu_clear,
	.fence_wait = fakegpu_fence_wait,
	.fence_passed = fakegpu_fence_passed,
	.map = fakegpu_map,
	.unmap = fakegpu_unmap,
	.map_remote = fakegpu_map_remote,
};

/* The device node. */

static int fakegpu_open(struct inode *inode, struct file *file)
{
	struct fakegpu *gpu = container_of(file->private_data, struct fakegpu, misc);
	struct fakegpu_context *context = fakegpu_context_open(gpu);

	if (!context)
		return -ENOMEM;
	file->private_data = context;
	return 0;
}

static int fakegpu_release(struct inode *inode, struct file *file)
{
	fakegpu_context_close(file->private_data);
	return 0;
}

/* The TSG number @index of a context, or NULL: there is none, or the context is not created. */
static struct fakegpu_tsg *context_tsg(struct fakegpu_context *context, u32 index)
{
	if (!smp_load_acquire(&context->created) || index >= context->tsg_count)
		return NULL;
	return &context->tsgs[index];
}

/*
 * A factor without a common divisor with the number of pages, so that each page comes up once.
 */
static u64 shuffle_multiplier(u64 seed, u64 pages)
{
	u64 multiplier = gvm_fakegpu_word(seed, 0) % pages;

	while (gcd(multiplier, pages) != 1)
		multiplier++;
	return multiplier;
}

/* Run the kernel of @job->launch, which has been checked. */
static int fakegpu_run(struct fakegpu_context *context, struct fakegpu_job *job)
{
	struct gvm_fakegpu_launch *launch = job->launch;
	struct fakegpu_tsg *tsg = context_tsg(context, launch->tsg);
	u64 first = launch->va >> GVM_PAGE_SHIFT;
	u64 last;

	if (!tsg)
		return -ENXIO;
	job->part_bytes = div_u64(launch->bytes, max(launch->together, 1u));
	last = (launch->va + job->part_bytes - 1) >> GVM_PAGE_SHIFT;
	job->pages = (last - first) / launch->stride_pages + 1;
	job->multiplier = shuffle_multiplier(launch->seed, job->pages);
	return fakegpu_job_run(tsg, job);
}

/* Parts that are touched together are of whole pages. */
static bool launch_parts_are_valid(const struct gvm_fakegpu_launch *launch)
{
	return launch->together <= 1 ||
	       (launch->together <= GVM_FAKEGPU_TOGETHER_MAX &&
		launch->va % GVM_PAGE_BYTES == 0 &&
		launch->bytes % (launch->together * GVM_PAGE_BYTES) == 0);
}

static bool launch_is_valid(const struct gvm_fakegpu_launch *launch)
{
	return launch->bytes && launch->bytes <= GVM_FAKEGPU_MAP_MAX &&
	       launch->va <= U64_MAX - launch->bytes && launch->va % 8 == 0 &&
	       launch->bytes % 8 == 0 && launch->op < GVM_FAKEGPU_OPS &&
	       launch->order < GVM_FAKEGPU_ORDERS && !launch->reserved &&
	       launch_parts_are_valid(launch);
}

static int fakegpu_launch(struct fakegpu_context *context, struct gvm_fakegpu_launch *launch)
{
	struct fakegpu_job job = { .launch = launch };

	if (!launch_is_valid(launch))
		return -EINVAL;
	launch->stride_pages = launch->stride_pages ?: 1;
	launch->ret_mismatches = 0;
	launch->ret_first_va = 0;
	launch->ret_fault_ns = 0;
	return fakegpu_run(context, &job);
}

static void fakegpu_info(struct fakegpu *gpu, struct gvm_fakegpu_info *info)
{
	memset(info, 0, sizeof(*info));
	info->gpu = gvm_device_index(gpu->device);
	info->chunks = gpu->chunk_count;
	info->sms = gpu->sm_count;
	spin_lock(&gpu->lock);
	info->free_chunks = gpu->free_count;
	info->switches = gpu->switches;
	spin_unlock(&gpu->lock);
	spin_lock(&gpu->engine_lock);
	info->bytes_in = gpu->engines[GVM_ENGINE_IN].bytes;
	info->bytes_out = gpu->engines[GVM_ENGINE_OUT].bytes;
	info->bytes_cleared = gpu->engines[GVM_ENGINE_CLEAR].bytes;
	spin_unlock(&gpu->engine_lock);
	info->host_chunks = (u32)atomic_read(&gpu->host_chunks);
	info->partial_evictions = (u32)atomic_read(&gpu->partial_evictions);
	spin_lock(&gpu->faults.lock);
	info->faults = gpu->faults.faults;
	info->lost_faults = gpu->faults.lost;
	info->replays = gpu->faults.replays;
	spin_unlock(&gpu->faults.lock);
}

/* The argument of any ioctl. */
union fakegpu_argument {
	struct gvm_fakegpu_create create;
	struct gvm_fakegpu_map map;
	struct gvm_fakegpu_span span;
	struct gvm_fakegpu_launch launch;
	struct gvm_fakegpu_info info;
	struct gvm_fakegpu_take take;
	u64 timeout_us;
	u32 tgid;
};

static long fakegpu_dispatch(struct fakegpu_context *context, unsigned int command,
			     union fakegpu_argument *argument)
{
	switch (command) {
	case GVM_FAKEGPU_CREATE:
		return fakegpu_context_create(context, &argument->create);
	case GVM_FAKEGPU_MAP:
		return fakegpu_context_map(context, &argument->map);
	case GVM_FAKEGPU_UNMAP:
		return fakegpu_context_unmap(context, argument->span.va);
	case GVM_FAKEGPU_DISCARD:
		return fakegpu_context_discard(context, &argument->span);
	case GVM_FAKEGPU_LAUNCH:
		return fakegpu_launch(context, &argument->launch);
	case GVM_FAKEGPU_INFO:
		fakegpu_info(context->gpu, &argument->info);
		return 0;
	case GVM_FAKEGPU_CHECK:
		return gvm_check(context->gpu->device);
	case GVM_FAKEGPU_QUIESCE:
		return fakegpu_quiesce(context->gpu, argument->timeout_us);
	case GVM_FAKEGPU_RESUME:
		return fakegpu_resume(context->gpu);
	case GVM_FAKEGPU_LOSE:
		return fakegpu_lose(context->gpu);
	case GVM_FAKEGPU_TAKE:
		return fakegpu_take(context->gpu, &argument->take);
	case GVM_FAKEGPU_SHARE:
		return fakegpu_share(context, argument->tgid);
	}
	return -ENOTTY;
}

static long fakegpu_ioctl(struct file *file, unsigned int command, unsigned long user)
{
	union fakegpu_argument argument = { 0 };
	size_t size = _IOC_SIZE(command);
	long status;

	if (size > sizeof(argument))
		return -ENOTTY;
	if (_IOC_DIR(command) & _IOC_WRITE &&
	    copy_from_user(&argument, (void __user *)user, size))
		return -EFAULT;
	status = fakegpu_dispatch(file->private_data, command, &argument);
	if (!status && _IOC_DIR(command) & _IOC_READ &&
	    copy_to_user((void __user *)user, &argument, size))
		return -EFAULT;
	return status;
}

/*
 * Copy bytes between a buffer of the kernel and the GPU's memory at @va, by the context's first
 * TSG.
 */
static int fakegpu_move(struct fakegpu_context *context, u64 va, u8 *load, const u8 *store,
			size_t bytes)
{
	struct gvm_fakegpu_launch launch = { .va = va, .bytes = bytes, .stride_pages = 1 };
	struct fakegpu_job job = { .launch = &launch, .load = load, .store = store };

	return fakegpu_run(context, &job);
}

static bool move_is_valid(loff_t va, size_t bytes)
{
	return va >= 0 && va <= S64_MAX - (s64)min_t(size_t, bytes, MAX_RW_COUNT);
}

/* Reads up to one page of the GPU, through a buffer. The caller calls again for more. */
static ssize_t fakegpu_read(struct file *file, char __user *user, size_t bytes, loff_t *va)
{
	size_t count = min_t(size_t, bytes, GVM_PAGE_BYTES);
	int status;
	u8 *buffer;

	if (!bytes)
		return 0;
	if (!move_is_valid(*va, bytes))
		return -EINVAL;
	buffer = kvmalloc(count, GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	status = fakegpu_move(file->private_data, *va, buffer, NULL, count);
	if (!status && copy_to_user(user, buffer, count))
		status = -EFAULT;
	kvfree(buffer);
	if (status)
		return status;
	*va += count;
	return count;
}

static ssize_t fakegpu_write(struct file *file, const char __user *user, size_t bytes,
			     loff_t *va)
{
	size_t count = min_t(size_t, bytes, GVM_PAGE_BYTES);
	int status = 0;
	u8 *buffer;

	if (!bytes)
		return 0;
	if (!move_is_valid(*va, bytes))
		return -EINVAL;
	buffer = kvmalloc(count, GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	if (copy_from_user(buffer, user, count))
		status = -EFAULT;
	else
		status = fakegpu_move(file->private_data, *va, NULL, buffer, count);
	kvfree(buffer);
	if (status)
		return status;
	*va += count;
	return count;
}

static const struct file_operations fakegpu_fops = {
	.owner = THIS_MODULE,
	.open = fakegpu_open,
	.release = fakegpu_release,
	.unlocked_ioctl = fakegpu_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.read = fakegpu_read,
	.write = fakegpu_write,
	.llseek = default_llseek,
};

/* GPUs come and go. */

/* Undo fakegpu_start(), which may have ended early with an error. No file is open. */
static void fakegpu_stop(struct fakegpu *gpu)
{
	fakegpu_scheduling_stop(gpu);
	gvm_evictor_stop(&gpu->evictor);
	fakegpu_sms_stop(gpu);
	if (gpu->handler.worker.task)
		gvm_fault_handler_stop(&gpu->handler);
	fakegpu_engines_drain(gpu);
	fakegpu_engines_stop(gpu);
	gvm_memory_destroy(&gpu->memory);
}

static int fakegpu_start(struct fakegpu *gpu)
{
	int status = gvm_memory_init(&gpu->memory, gpu->device, &fakegpu_mmu_ops, gpu);

	if (!status)
		status = fakegpu_engines_start(gpu);
	if (!status)
		status = gvm_fault_handler_start(&gpu->handler, gpu->device);
	if (!status)
		status = fakegpu_sms_start(gpu, sms);
	if (!status)
		status = gvm_evictor_start(&gpu->evictor, gpu->device);
	if (!status)
		status = fakegpu_scheduling_start(gpu);
	if (status)
		fakegpu_stop(gpu);
	return status;
}

static struct fakegpu *fakegpu_alloc(u32 number)
{
	struct fakegpu *gpu = kvzalloc(sizeof(*gpu), GFP_KERNEL);

	if (!gpu)
		return NULL;
	scnprintf(gpu->name, sizeof(gpu->name), "gvm_fakegpu%u", number);
	gpu->misc.minor = MISC_DYNAMIC_MINOR;
	gpu->misc.name = gpu->name;
	gpu->misc.fops = &fakegpu_fops;
	gpu->misc.mode = 0666;
	gpu->chunk_count = chunks;
	xa_init_flags(&gpu->contexts, XA_FLAGS_ALLOC1);
	xa_init_flags(&gpu->tsgs, XA_FLAGS_ALLOC1);
	spin_lock_init(&gpu->lock);
	spin_lock_init(&gpu->engine_lock);
	INIT_LIST_HEAD(&gpu->runlist);
	init_waitqueue_head(&gpu->work);
	init_waitqueue_head(&gpu->idle);
	init_waitqueue_head(&gpu->copied);
	fakegpu_faults_init(&gpu->faults);
	return gpu;
}

static int fakegpu_add(u32 number)
{
	struct fakegpu *gpu = fakegpu_alloc(number);
	struct gvm_device_config config = {
		.chunk_count = chunks,
		.ops = &fakegpu_gpu_ops,
		.gpu = gpu,
		.memory_ops = &fakegpu_memory_ops,
		.memory = gpu ? &gpu->memory : NULL,
		.default_timeslice_us = 1024, /* RM programs this value */
		.features = features,
		.sub_chunks = sub_chunks,
	};
	int status;

	if (!gpu)
		return -ENOMEM;
	config.name = gpu->name;
	status = fakegpu_memory_init(gpu);
	if (status)
		goto err_free;
	status = gvm_device_register(&config, number, &gpu->device);
	if (status)
		goto err_memory;
	status = fakegpu_start(gpu);
	if (status)
		goto err_unregister;
	fakegpus[number] = gpu;
	return 0;

err_unregister:
	gvm_device_unregister(gpu->device);
err_memory:
	fakegpu_memory_destroy(gpu);
err_free:
	kvfree(gpu);
	return status;
}

/* Undo fakegpu_add(). The GPU has no device node. */
static void fakegpu_remove(struct fakegpu *gpu)
{
	fakegpu_stop(gpu);
	WARN_ON_ONCE(gvm_check(gpu->device) || gpu->free_count != gpu->chunk_count);
	WARN_ON_ONCE(!xa_empty(&gpu->contexts) || !xa_empty(&gpu->tsgs));
	gvm_device_unregister(gpu->device);
	fakegpu_memory_destroy(gpu);
	xa_destroy(&gpu->contexts);
	xa_destroy(&gpu->tsgs);
	kvfree(gpu);
}

static void fakegpu_remove_all(void)
{
	for (u32 i = 0; i < FAKEGPU_GPUS_MAX; i++) {
		if (fakegpus[i])
			fakegpu_remove(fakegpus[i]);
		fakegpus[i] = NULL;
	}
}

/* Make the device node of each GPU. Returns 0, or -errno: no node exists or existed. */
static int fakegpu_publish(void)
{
	u32 published = 0;

	for (u32 i = 0; i < gpus; i++) {
		struct fakegpu *gpu = fakegpus[i];
		int status = i + 1 == fail_node ? -ENOMEM : misc_register(&gpu->misc);

		if (status && !published)
			return status;
		if (status) {
			gvm_warn("%s: no device node (%d), so no GPU", gpu->name, status);
			fakegpus[i] = NULL;
			fakegpu_remove(gpu);
		}
		published += !status;
	}
	return 0;
}

static void fakegpu_exit(void)
{
	for (u32 i = 0; i < FAKEGPU_GPUS_MAX; i++)
		if (fakegpus[i])
			misc_deregister(&fakegpus[i]->misc);
	fakegpu_remove_all();
}

static int __init fakegpu_init(void)
{
	int status = 0;
	u32 i;

	if (!gpus || gpus > FAKEGPU_GPUS_MAX || !chunks || chunks > FAKEGPU_CHUNKS_MAX ||
	    !sms || sms > FAKEGPU_SMS_MAX)
		return -EINVAL;
	fakegpu_memory_ops = gvm_block_memory_ops;
	fakegpu_memory_ops.service = fakegpu_service;
	fakegpu_memory_ops.evict = fakegpu_evict;
	fakegpu_memory_ops.free_chunks = fakegpu_free_chunks;
	for (i = 0; i < gpus && !status; i++)
		status = fakegpu_add(i);
	if (!status)
		status = fakegpu_publish();
	if (status)
		fakegpu_remove_all();
	return status;
}

module_init(fakegpu_init);
module_exit(fakegpu_exit);

MODULE_DESCRIPTION("A GPU made of RAM, for tests of gvm.ko");
MODULE_AUTHOR("The gvmsim authors");
MODULE_LICENSE("Dual MIT/GPL");
