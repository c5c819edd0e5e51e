// SPDX-License-Identifier: MIT OR GPL-2.0
/* /dev/softgpu, and /dev/softgpu1 and so on of further GPUs: softgpu_ioctl.h. */
#include "softgpu.h"

#include <linux/lockdep.h>
#include <linux/slab.h>

/* A file's private data is the device that it is of, since it was opened. */
static struct softgpu *softgpu_device_gpu(struct file *file)
{
	return container_of(file->private_data, struct softgpu, device);
}

static long softgpu_ioctl_access(struct softgpu *gpu, void __user *user)
{
	struct softgpu_access access;
	int status;

	if (copy_from_user(&access, user, sizeof(access)))
		return -EFAULT;
	access.sum = access.faults = access.replays = access.errors = access.wrong = 0;
	status = softgpu_access(gpu, &access);
	if (copy_to_user(user, &access, sizeof(access)))
		return -EFAULT;
	return status;
}

static long softgpu_ioctl_push(struct softgpu *gpu, void __user *user)
{
	struct softgpu_push push;
	u32 *words;
	long status;

	if (copy_from_user(&push, user, sizeof(push)))
		return -EFAULT;
	if (push.count > SOFTGPU_PUSH_WORDS)
		return -EINVAL;
	words = memdup_user(u64_to_user_ptr(push.words), push.count * sizeof(*words));
	if (IS_ERR(words))
		return PTR_ERR(words);
	push.faults = 0;
	status = softgpu_push(gpu, &push, words);
	kfree(words);
	return copy_to_user(user, &push, sizeof(push)) ? -EFAULT : status;
}

static long softgpu_ioctl_stats(struct softgpu *gpu, void __user *user)
{
	struct softgpu_stats stats = gpu->stats;

	stats.pma_used_bytes = softgpu_pma_used(gpu);
	return copy_to_user(user, &stats, sizeof(stats)) ? -EFAULT : 0;
}

static long softgpu_ioctl_take(struct softgpu *gpu, void __user *user)
{
	u64 bytes;

	if (copy_from_user(&bytes, user, sizeof(bytes)))
		return -EFAULT;
	return softgpu_pma_take(&gpu->parts[0], bytes);
}

static long softgpu_ioctl_take_range(struct softgpu *gpu, void __user *user)
{
	struct softgpu_range range;

	if (copy_from_user(&range, user, sizeof(range)))
		return -EFAULT;
	return softgpu_pma_take_range(&gpu->parts[0], range.address, range.bytes);
}

static long softgpu_ioctl_fail(struct softgpu *gpu, void __user *user)
{
	struct softgpu_fail fail;

	if (copy_from_user(&fail, user, sizeof(fail)))
		return -EFAULT;
	if (fail.failure >= SOFTGPU_FAILURES)
		return -EINVAL;
	atomic_set(&gpu->fail_count[fail.failure], 0);
	atomic_set(&gpu->fail_skip[fail.failure], fail.skip);
	atomic_set(&gpu->fail_count[fail.failure], fail.count);
	return 0;
}

/*
 * The machine sleeps. UVM keeps locks from the one call to the other, so both have to come in
 * turn. Guarded by softgpu_sleep_lock, which is taken first.
 */
static DEFINE_MUTEX(softgpu_sleep_lock);
static bool softgpu_sleeps;

/* Tell UVM. LOCKING: softgpu_sleep_lock. */
static NV_STATUS softgpu_tell_sleep(struct softgpu *gpu, bool sleep)
{
	NV_STATUS status = NV_ERR_INVALID_STATE;

	for (u32 i = 0; !sleep && softgpu_rm_gpu(i); i++)
		softgpu_faults_wake(softgpu_rm_gpu(i));
	down_read(&gpu->uvm_lock);
	/*
	 * UVM holds locks while the machine sleeps, and takes others against their order as it
	 * wakes up. It switches its own tracking of locks off for that.
	 */
	lockdep_off();
	if (gpu->uvm)
		status = sleep ? gpu->uvm->suspend() : gpu->uvm->resume();
	lockdep_on();
	up_read(&gpu->uvm_lock);
	return status;
}

static long softgpu_ioctl_sleep(struct softgpu *gpu, void __user *user)
{
	u32 sleep;
	long status = 0;

	if (copy_from_user(&sleep, user, sizeof(sleep)))
		return -EFAULT;
	mutex_lock(&softgpu_sleep_lock);
	if (!sleep == !softgpu_sleeps)
		status = -EBUSY;
	else if (softgpu_tell_sleep(gpu, sleep) != NV_OK)
		status = -EIO;
	else
		softgpu_sleeps = sleep;
	mutex_unlock(&softgpu_sleep_lock);
	return status;
}

static long softgpu_ioctl_control(struct softgpu *gpu, void __user *user)
{
	struct gvm_rm_control control;
	void *params;
	u32 bytes;

	if (copy_from_user(&control, user, sizeof(control)))
		return -EFAULT;
	bytes = softgpu_control_bytes(control.command);
	if (!bytes || control.params_bytes != bytes)
		return -EINVAL;
	params = memdup_user(u64_to_user_ptr(control.params), bytes);
	if (IS_ERR(params))
		return PTR_ERR(params);
	control.status =
		softgpu_control(gpu, control.client, control.object, control.command, params);
	if (copy_to_user(u64_to_user_ptr(control.params), params, bytes) ||
	    copy_to_user(user, &control, sizeof(control)))
		bytes = 0;
	kfree(params);
	return bytes ? 0 : -EFAULT;
}

static long softgpu_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct softgpu *gpu = softgpu_device_gpu(file);
	void __user *user = (void __user *)argument;

	switch (command) {
	case SOFTGPU_ACCESS:
		return softgpu_ioctl_access(gpu, user);
	case SOFTGPU_PUSH:
		return softgpu_ioctl_push(gpu, user);
	case SOFTGPU_STATS:
		return softgpu_ioctl_stats(gpu, user);
	case SOFTGPU_RM_TAKE:
		return softgpu_ioctl_take(gpu, user);
	case SOFTGPU_RM_TAKE_RANGE:
		return softgpu_ioctl_take_range(gpu, user);
	case SOFTGPU_RM_GIVE:
		softgpu_pma_give(&gpu->parts[0]);
		return 0;
	case SOFTGPU_CONTROL:
		return softgpu_ioctl_control(gpu, user);
	case SOFTGPU_FAIL:
		return softgpu_ioctl_fail(gpu, user);
	case SOFTGPU_IDLE:
		return softgpu_wait_idle(gpu);
	case SOFTGPU_SLEEP:
		return softgpu_ioctl_sleep(gpu, user);
	default:
		return -ENOTTY;
	}
}

static ssize_t softgpu_read(struct file *file, char __user *to, size_t size, loff_t *offset)
{
	struct softgpu *gpu = softgpu_device_gpu(file);
	struct softgpu_event event;
	size_t done = 0;

	while (done + sizeof(event) <= size && softgpu_event_take(gpu, &event)) {
		if (copy_to_user(to + done, &event, sizeof(event)))
			return -EFAULT;
		done += sizeof(event);
	}
	return (ssize_t)done;
}

static const struct file_operations softgpu_operations = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = softgpu_ioctl,
	.read = softgpu_read,
};

int softgpu_device_init(struct softgpu *gpu)
{
	if (gpu->number)
		snprintf(gpu->device_name, sizeof(gpu->device_name), "softgpu%u", gpu->number);
	else
		strscpy(gpu->device_name, "softgpu", sizeof(gpu->device_name));
	gpu->device = (struct miscdevice){ .minor = MISC_DYNAMIC_MINOR,
					   .name = gpu->device_name,
					   .fops = &softgpu_operations,
					   .mode = 0600 };
	return misc_register(&gpu->device);
}

void softgpu_device_destroy(struct softgpu *gpu)
{
	if (!IS_ERR_OR_NULL(gpu->device.this_device))
		misc_deregister(&gpu->device);
}
