// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Control files in sysfs. A kernel that Secure Boot has locked down refuses files of debugfs
 * that can be written, but permits those of sysfs. A file of sysfs keeps the owner that chown
 * gives it, so an administrator can hand a file to a daemon that is not root.
 *
 * Lifetime is as in debugfs: sysfs counts the operations inside each file, and removal waits
 * for them. A write always waits for its reclaim, because sysfs does not pass on O_NONBLOCK.
 */
#include "gvm_files_sysfs.h"

#include <linux/kobject.h>
#include <linux/sysfs.h>
#include <linux/version.h>

#include "gvm/control.h"

/* The directory <gpu>/. Its members are set once. */
struct gvm_sysfs_dir {
	struct kobject kobject;
	struct gvm_container *container;
	kuid_t user;
	kgid_t group;
};

static struct kobject *gvm_sysfs_root;
/* An attribute for each control file of the core, and pointers to them, ended by NULL. */
static struct attribute *gvm_sysfs_files;
static struct attribute **gvm_sysfs_attributes;
static struct attribute_group gvm_sysfs_group;
static const struct attribute_group *gvm_sysfs_groups[] = { &gvm_sysfs_group, NULL };

static ssize_t gvm_sysfs_show(struct kobject *kobject, struct attribute *attribute, char *buf)
{
	struct gvm_sysfs_dir *dir = container_of(kobject, struct gvm_sysfs_dir, kobject);

	return gvm_control_read(dir->container, attribute->name, buf, PAGE_SIZE);
}

static ssize_t gvm_sysfs_store(struct kobject *kobject, struct attribute *attribute,
			       const char *buf, size_t size)
{
	struct gvm_sysfs_dir *dir = container_of(kobject, struct gvm_sysfs_dir, kobject);
	int status = gvm_control_write(dir->container, attribute->name, buf, size);

	/* A signal came before it changed anything: it starts again, as it must after a freeze. */
	if (status == -EINTR)
		return -ERESTARTSYS;
	return status ? status : (ssize_t)size;
}

static void gvm_sysfs_release(struct kobject *kobject)
{
	kfree(container_of(kobject, struct gvm_sysfs_dir, kobject));
}

/* Linux 6.2 has made the kobject const. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
static void gvm_sysfs_owner(struct kobject *kobject, kuid_t *user, kgid_t *group)
#else
static void gvm_sysfs_owner(const struct kobject *kobject, kuid_t *user, kgid_t *group)
#endif
{
	const struct gvm_sysfs_dir *dir = container_of(kobject, struct gvm_sysfs_dir, kobject);

	*user = dir->user;
	*group = dir->group;
}

static const struct sysfs_ops gvm_sysfs_ops = {
	.show = gvm_sysfs_show,
	.store = gvm_sysfs_store,
};

static const struct kobj_type gvm_sysfs_type = {
	.release = gvm_sysfs_release,
	.sysfs_ops = &gvm_sysfs_ops,
	.get_ownership = gvm_sysfs_owner,
	.default_groups = gvm_sysfs_groups,
};

struct gvm_sysfs_dir *gvm_files_sysfs_create(struct kobject *parent, const char *name,
					     struct gvm_container *container, kuid_t user,
					     kgid_t group)
{
	struct gvm_sysfs_dir *dir = kzalloc(sizeof(*dir), GFP_KERNEL);

	if (!dir)
		return NULL;
	dir->container = container;
	dir->user = user;
	dir->group = group;
	if (kobject_init_and_add(&dir->kobject, &gvm_sysfs_type, parent, "%s", name)) {
		kobject_put(&dir->kobject);
		return NULL;
	}
	return dir;
}

void gvm_files_sysfs_remove(struct gvm_sysfs_dir *dir)
{
	kobject_del(&dir->kobject);
}

void gvm_files_sysfs_free(struct gvm_sysfs_dir *dir)
{
	kobject_put(&dir->kobject);
}

struct kobject *gvm_files_sysfs_kobject(struct gvm_sysfs_dir *dir)
{
	return &dir->kobject;
}

struct kobject *gvm_files_sysfs_root(void)
{
	return gvm_sysfs_root;
}

static void gvm_sysfs_add_name(u32 index, const char *name,
			       const struct gvm_control_file *control)
{
	struct attribute *attribute = &gvm_sysfs_files[index];

	sysfs_attr_init(attribute);
	attribute->name = name;
	attribute->mode = (umode_t)control->mode;
	gvm_sysfs_attributes[index] = attribute;
}

int gvm_files_sysfs_init(void)
{
	u32 count = gvm_control_count();
	u32 names = 0;

	gvm_sysfs_files = kcalloc(2 * count, sizeof(*gvm_sysfs_files), GFP_KERNEL);
	gvm_sysfs_attributes = kcalloc(2 * count + 1, sizeof(void *), GFP_KERNEL);
	if (gvm_sysfs_files && gvm_sysfs_attributes)
		gvm_sysfs_root = kobject_create_and_add("gvm", kernel_kobj);
	if (!gvm_sysfs_root) {
		gvm_files_sysfs_exit();
		return -ENOMEM;
	}
	for (u32 i = 0; i < count; i++) {
		const struct gvm_control_file *control = gvm_control_at(i);

		gvm_sysfs_add_name(names++, control->name, control);
		if (control->alias)
			gvm_sysfs_add_name(names++, control->alias, control);
	}
	gvm_sysfs_group.attrs = gvm_sysfs_attributes;
	return 0;
}

void gvm_files_sysfs_exit(void)
{
	kobject_del(gvm_sysfs_root); /* as in gvm_control_files.c */
	kobject_put(gvm_sysfs_root);
	gvm_sysfs_root = NULL;
	kfree(gvm_sysfs_attributes);
	kfree(gvm_sysfs_files);
	gvm_sysfs_attributes = NULL;
	gvm_sysfs_files = NULL;
}
