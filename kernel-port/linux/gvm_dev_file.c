// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * /dev/gvm: what a process asks for itself. It reports launches through its open file, opens
 * pressure descriptors (gvm_pressure_file.h), and makes children (gvm_children.h).
 *
 * Lifetime. A file that reports holds its container. The next report of a process that is not in
 * that container any more lets it go. A device that goes ends all reports for its containers
 * first.
 *
 * LOCKING. gvm_dev_mutex, then the registry's; or then the core's leaf lock.
 */
#include "gvm_dev_file.h"

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "gvm/sched.h"
#include "gvm_children.h"
#include "gvm_ioctl.h"
#include "gvm_pressure_file.h"
#include "gvm_registry.h"

/* An open /dev/gvm. From its first report on it counts launches of one container. */
struct gvm_dev_file {
	struct list_head node;	      /* in gvm_dev_files, while it reports */
	struct gvm_launches launches; /* of no container: it does not report */
	u32 gpu;		      /* that it reports for */
};

/* Guards the list, and beginning and end of its files' reports. */
static DEFINE_MUTEX(gvm_dev_mutex);
static LIST_HEAD(gvm_dev_files);

static void gvm_dev_stop_report_locked(struct gvm_dev_file *dev)
{
	lockdep_assert_held(&gvm_dev_mutex);
	list_del_init(&dev->node);
	gvm_launches_close(&dev->launches);
}

/*
 * The device goes: from here on no file holds one of its containers, and their descriptors read
 * their end. The registry's mutex is not held.
 */
static void gvm_dev_disconnect(struct gvm_device *device)
{
	struct gvm_dev_file *dev;
	struct gvm_dev_file *next;

	mutex_lock(&gvm_dev_mutex);
	list_for_each_entry_safe(dev, next, &gvm_dev_files, node)
		if (dev->launches.container->device == device)
			gvm_dev_stop_report_locked(dev);
	mutex_unlock(&gvm_dev_mutex);
	gvm_pressure_file_disconnect(device);
}

/* Is the calling process in the container that the file reports for? */
static bool gvm_dev_reports_for_caller(const struct gvm_dev_file *dev)
{
	struct gvm_container *own;
	bool is_own;

	if (gvm_process_find(0, dev->gpu, &own))
		return false;
	is_own = own == dev->launches.container;
	gvm_container_put(own);
	return is_own;
}

static int gvm_dev_begin_report_locked(struct gvm_dev_file *dev, u32 gpu)
{
	struct gvm_container *container;
	int status;

	/*
	 * A process that has left the GPU and comes back may be in another container. The old
	 * one stays if other processes are in it.
	 */
	if (dev->launches.container && !gvm_dev_reports_for_caller(dev))
		gvm_dev_stop_report_locked(dev);
	if (dev->launches.container)
		return dev->gpu == gpu ? 0 : -EBUSY;
	status = gvm_process_find(0, gpu, &container);
	if (status)
		return status;
	gvm_launches_open(&dev->launches, container);
	gvm_container_put(container);
	dev->gpu = gpu;
	list_add_tail(&dev->node, &gvm_dev_files);
	return 0;
}

static long gvm_dev_report(struct gvm_dev_file *dev, const struct gvm_launch_report *report)
{
	int status;

	if (report->reserved)
		return -EINVAL;
	if (mutex_lock_killable(&gvm_dev_mutex))
		return -EINTR;
	status = gvm_dev_begin_report_locked(dev, report->gpu);
	if (!status) {
		gvm_launches_count(&dev->launches, report->submitted, report->ended);
		gvm_scheduler_kick_launch(dev->launches.container);
	}
	mutex_unlock(&gvm_dev_mutex);
	return status;
}

static long gvm_dev_child(unsigned int command, const struct gvm_child_request *request)
{
	switch (command) {
	case GVM_IOCTL_CHILD_OPEN:
		return gvm_own_child_open(request->gpu, request->number, request->va,
					  request->bytes);
	case GVM_IOCTL_CHILD_RESIZE:
		return gvm_own_child_resize(request->gpu, request->number, request->bytes);
	default:
		return gvm_own_child_close(request->gpu, request->number);
	}
}

static long gvm_dev_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct gvm_pressure_request request;
	struct gvm_launch_report report;
	struct gvm_child_request child;

	switch (command) {
	case GVM_IOCTL_PRESSURE_OPEN:
		if (copy_from_user(&request, (void __user *)argument, sizeof(request)))
			return -EFAULT;
		return gvm_pressure_file_open(&request);
	case GVM_IOCTL_LAUNCHES:
		if (copy_from_user(&report, (void __user *)argument, sizeof(report)))
			return -EFAULT;
		return gvm_dev_report(file->private_data, &report);
	case GVM_IOCTL_CHILD_OPEN:
	case GVM_IOCTL_CHILD_RESIZE:
	case GVM_IOCTL_CHILD_CLOSE:
		if (copy_from_user(&child, (void __user *)argument, sizeof(child)))
			return -EFAULT;
		return gvm_dev_child(command, &child);
	}
	return -ENOTTY;
}

static int gvm_dev_open(struct inode *inode, struct file *file)
{
	struct gvm_dev_file *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return -ENOMEM;
	INIT_LIST_HEAD(&dev->node);
	file->private_data = dev;
	return 0;
}

/* Also when the reporter was killed: none of its launches stays pending. */
static int gvm_dev_release(struct inode *inode, struct file *file)
{
	struct gvm_dev_file *dev = file->private_data;

	mutex_lock(&gvm_dev_mutex);
	gvm_dev_stop_report_locked(dev);
	mutex_unlock(&gvm_dev_mutex);
	kfree(dev);
	return 0;
}

static const struct file_operations gvm_dev_fops = {
	.owner = THIS_MODULE,
	.open = gvm_dev_open,
	.release = gvm_dev_release,
	.unlocked_ioctl = gvm_dev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

/*
 * Open to all users. It answers attached processes only, with GVM_LISTENERS_MAX listeners each.
 */
static struct miscdevice gvm_dev = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "gvm",
	.mode = 0666,
	.fops = &gvm_dev_fops,
};

int gvm_dev_file_init(void)
{
	gvm_registry_on_unregister(gvm_dev_disconnect);
	return misc_register(&gvm_dev);
}

void gvm_dev_file_exit(void)
{
	misc_deregister(&gvm_dev);
}
