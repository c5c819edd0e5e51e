// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Pressure descriptors: the core's listeners as files.
 *
 * Lifetime. A descriptor may outlive the container's last process; the core's listener is made
 * for that. It may also outlive the GPU: a device that goes disconnects all of its files first.
 * So code that touches a listener holds its file's lock and has seen it connected, and readers
 * wait in the file. release() comes after the last operation, and it alone frees.
 *
 * LOCKING. gvm_pressure_mutex, then the registry's; or then a file's lock, then the core's leaf
 * lock.
 */
#include "gvm_pressure_file.h"

#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include "gvm/pressure.h"
#include "gvm_ioctl.h"
#include "gvm_registry.h"

/* An open file: its private_data. */
struct gvm_pressure_file {
	struct list_head node; /* in gvm_pressure_files, while connected */
	spinlock_t lock;       /* guards connected; held over each call to the listener */
	bool connected;
	/* open while connected; its wait queue: as long as the file */
	struct gvm_listener listener;
};

/* Guards the list, and that a file is disconnected once. */
static DEFINE_MUTEX(gvm_pressure_mutex);
static LIST_HEAD(gvm_pressure_files);

/* As gvm_listener_read(), which does not wait here. */
static int gvm_pressure_take(struct gvm_pressure_file *pressure,
			     struct gvm_pressure_event *event)
{
	int ret = 0;

	spin_lock(&pressure->lock);
	if (pressure->connected)
		ret = gvm_listener_read(&pressure->listener, event, sizeof(*event), false);
	spin_unlock(&pressure->lock);
	return ret;
}

/*
 * An event that could not be copied to its reader. Another reader may have found nothing
 * meanwhile, and sleeps; the wait queue lives as long as the file.
 */
static void gvm_pressure_give_back(struct gvm_pressure_file *pressure,
				   const struct gvm_pressure_event *event)
{
	spin_lock(&pressure->lock);
	if (pressure->connected)
		gvm_listener_give_back(&pressure->listener, event);
	spin_unlock(&pressure->lock);
	gvm_wake_up_all(&pressure->listener.watcher.wait);
}

/* What poll() says. The end can be read, too: as 0. */
static __poll_t gvm_pressure_mask(struct gvm_pressure_file *pressure)
{
	__poll_t mask = EPOLLHUP;

	spin_lock(&pressure->lock);
	if (pressure->connected && !gvm_listener_is_at_end(&pressure->listener))
		mask = 0;
	if (mask || gvm_listener_poll(&pressure->listener))
		mask |= EPOLLIN | EPOLLRDNORM;
	spin_unlock(&pressure->lock);
	return mask;
}

static ssize_t gvm_pressure_read(struct file *file, char __user *buf, size_t size,
				 loff_t *offset)
{
	struct gvm_pressure_file *pressure = file->private_data;
	struct gvm_pressure_event event;
	int ret;

	BUILD_BUG_ON(sizeof(event) != sizeof(struct gvm_pressure_record));
	if (size < sizeof(event))
		return -EINVAL;
	while ((ret = gvm_pressure_take(pressure, &event)) == -EAGAIN) {
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(pressure->listener.watcher.wait.head,
					     gvm_pressure_mask(pressure)))
			return -ERESTARTSYS;
	}
	if (ret > 0 && copy_to_user(buf, &event, ret)) {
		gvm_pressure_give_back(pressure, &event);
		return -EFAULT;
	}
	return ret;
}

static __poll_t gvm_pressure_poll(struct file *file, poll_table *table)
{
	struct gvm_pressure_file *pressure = file->private_data;

	poll_wait(file, &pressure->listener.watcher.wait.head, table);
	return gvm_pressure_mask(pressure);
}

/* No thread touches the listener afterwards. Waiting readers look again. */
static void gvm_pressure_disconnect_locked(struct gvm_pressure_file *pressure)
{
	lockdep_assert_held(&gvm_pressure_mutex);
	if (!pressure->connected)
		return;
	spin_lock(&pressure->lock);
	pressure->connected = false;
	spin_unlock(&pressure->lock);
	list_del(&pressure->node);
	gvm_listener_close(&pressure->listener);
}

static int gvm_pressure_release(struct inode *inode, struct file *file)
{
	struct gvm_pressure_file *pressure = file->private_data;

	mutex_lock(&gvm_pressure_mutex);
	gvm_pressure_disconnect_locked(pressure);
	mutex_unlock(&gvm_pressure_mutex);
	kfree(pressure);
	return 0;
}

void gvm_pressure_file_disconnect(struct gvm_device *device)
{
	struct gvm_pressure_file *pressure;
	struct gvm_pressure_file *next;

	mutex_lock(&gvm_pressure_mutex);
	list_for_each_entry_safe(pressure, next, &gvm_pressure_files, node)
		if (pressure->listener.container->device == device)
			gvm_pressure_disconnect_locked(pressure);
	mutex_unlock(&gvm_pressure_mutex);
}

/* Reading moves no offset: there is no place in it to go back to. */
static const struct file_operations gvm_pressure_fops = {
	.owner = THIS_MODULE,
	.release = gvm_pressure_release,
	.read = gvm_pressure_read,
	.poll = gvm_pressure_poll,
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
	.llseek = no_llseek, /* since Linux 6.0 nothing means the same */
#endif
};

/*
 * Listen to the container of the calling process. Finding it and being on the list is one step
 * for a device that goes: it waits for the mutex, and then disconnects this one as well.
 */
static int gvm_pressure_connect(struct gvm_pressure_file *pressure, u32 gpu)
{
	struct gvm_container *container;
	int ret;

	mutex_lock(&gvm_pressure_mutex);
	ret = gvm_process_find(0, gpu, &container);
	if (ret)
		goto unlock;
	ret = gvm_listener_open(&pressure->listener, container);
	gvm_container_put(container);
	if (ret)
		goto unlock;
	pressure->connected = true;
	list_add_tail(&pressure->node, &gvm_pressure_files);
unlock:
	mutex_unlock(&gvm_pressure_mutex);
	return ret;
}

/* A file that listens and is not published yet. Returns it or an error pointer. */
static struct file *gvm_pressure_file_make(const struct gvm_pressure_request *request)
{
	struct gvm_pressure_file *pressure = kzalloc(sizeof(*pressure), GFP_KERNEL);
	struct file *file;
	int ret;

	if (!pressure)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&pressure->lock);
	file = anon_inode_getfile("[gvm-pressure]", &gvm_pressure_fops, pressure,
				  O_RDONLY | (request->flags & O_NONBLOCK));
	if (IS_ERR(file)) {
		kfree(pressure);
		return file;
	}
	ret = gvm_pressure_connect(pressure, request->gpu);
	if (ret) {
		fput(file); /* frees it, later */
		return ERR_PTR(ret);
	}
	return file;
}

long gvm_pressure_file_open(const struct gvm_pressure_request *request)
{
	struct file *file;
	int fd;

	if (request->flags & ~(u32)(O_CLOEXEC | O_NONBLOCK))
		return -EINVAL;
	fd = get_unused_fd_flags(request->flags & O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = gvm_pressure_file_make(request);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	fd_install(fd, file);
	return fd;
}
