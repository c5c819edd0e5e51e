// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The cgroups that the administrator has made containers. Each has a member on each device,
 * which holds its container.
 *
 * The kernel does not tell a module that a cgroup was removed. So a work item looks for removed
 * cgroups once a second, and removes their directories. The container of a removed cgroup
 * stays, with its charges, while a process uses it.
 *
 * All cgroups below a container's cgroup belong to that container. None of them, and no cgroup
 * above it, can become a container as well: usage is not added up along the hierarchy, so the
 * limit of the upper container would not bound the lower one.
 */
#include "gvm_cgroups.h"

#include <linux/cgroup.h>
#include <linux/ctype.h>
#include <linux/seq_file.h>
#include <linux/workqueue.h>

#include "gvm/activity.h"
#include "gvm/control.h"
#include "gvm_identity.h"
#include "gvm_members.h"

#define GVM_CGROUPS_PREFIX "cgroup"

static void gvm_cgroups_sweep(struct work_struct *work);
static DECLARE_DELAYED_WORK(gvm_cgroups_work, gvm_cgroups_sweep);

/* A member of @cgroup (NULL: of any) on the device that does not leave yet; or NULL. */
static struct gvm_member *gvm_cgroup_member_locked(struct gvm_registration *registration,
						   const struct gvm_cgroup *cgroup)
{
	struct gvm_member *member;

	list_for_each_entry(member, &registration->members, node)
		if (member->cgroup && !member->leaving && (!cgroup || member->cgroup == cgroup))
			return member;
	return NULL;
}

/* The same on all devices. */
static struct gvm_member *gvm_cgroup_any_member_locked(const struct gvm_cgroup *cgroup)
{
	struct gvm_registration *registration;
	struct gvm_member *member = NULL;

	list_for_each_entry(registration, &gvm_registrations, node) {
		member = gvm_cgroup_member_locked(registration, cgroup);
		if (member)
			break;
	}
	return member;
}

/* Free a cgroup that is on no list. */
static void gvm_cgroup_free(struct gvm_cgroup *cgroup)
{
	cgroup_put(cgroup->cgroup);
	kfree(cgroup);
}

/* Take it off all devices and free it. A device that goes meanwhile removes its own member. */
static void gvm_cgroup_forget_locked(struct gvm_cgroup *cgroup)
{
	struct gvm_member *member;

	cgroup->leaving = true;
	while ((member = gvm_cgroup_any_member_locked(cgroup)))
		gvm_member_detach_locked(member);
	wait_event_cmd(gvm_member_left, !cgroup->members, gvm_mutex_unlock(&gvm_registry_mutex),
		       gvm_mutex_lock(&gvm_registry_mutex));
	list_del(&cgroup->node);
	gvm_cgroup_free(cgroup);
	wake_up_all(&gvm_member_left);
}

static void gvm_cgroups_sweep_locked(void)
{
	struct gvm_cgroup *cgroup, *removed;

	do {
		removed = NULL;
		list_for_each_entry(cgroup, &gvm_cgroups, node)
			if (!cgroup->leaving && gvm_cgroup_is_removed(cgroup->cgroup))
				removed = cgroup;
		if (removed)
			gvm_cgroup_forget_locked(removed);
	} while (removed);
}

static void gvm_cgroups_sweep(struct work_struct *work)
{
	gvm_mutex_lock(&gvm_registry_mutex);
	gvm_cgroups_sweep_locked();
	if (!list_empty(&gvm_cgroups))
		queue_delayed_work(system_long_wq, &gvm_cgroups_work, HZ);
	gvm_mutex_unlock(&gvm_registry_mutex);
}

static bool gvm_cgroup_path_is_leaving_locked(const char *path)
{
	struct gvm_cgroup *cgroup;

	list_for_each_entry(cgroup, &gvm_cgroups, node)
		if (cgroup->leaving && strcmp(cgroup->path, path) == 0)
			return true;
	return false;
}

/*
 * Can @cgroup become a container? 0; -EEXIST: it is one already; -EBUSY: a cgroup above or
 * below it is one.
 */
static int gvm_cgroup_check_locked(struct cgroup *cgroup)
{
	struct gvm_cgroup *other;

	list_for_each_entry(other, &gvm_cgroups, node) {
		if (other->leaving)
			continue;
		if (other->cgroup == cgroup)
			return -EEXIST;
		if (cgroup_is_descendant(cgroup, other->cgroup) ||
		    cgroup_is_descendant(other->cgroup, cgroup))
			return -EBUSY;
	}
	return 0;
}

/*
 * <path>/<gpu>/: a cgroup called like a GPU would have the same directory. Returns 0 or -errno.
 */
static int gvm_cgroup_set_path(struct gvm_cgroup *cgroup)
{
	size_t length = strlen(GVM_CGROUPS_PREFIX);
	bool is_number = false;
	int rest;

	memcpy(cgroup->path, GVM_CGROUPS_PREFIX, length);
	rest = cgroup_path(cgroup->cgroup, cgroup->path + length,
			   sizeof(cgroup->path) - length);
	if (rest < 0 || (size_t)rest >= sizeof(cgroup->path) - length)
		return -ENAMETOOLONG;
	for (const char *c = cgroup->path; *c; c++) {
		is_number = *c == '/' || (is_number && isdigit(*c));
		if (is_number && *c != '/' && (c[1] == '/' || !c[1]))
			return -EINVAL;
	}
	return 0;
}

/* A word of a cgroup's settings: "FILE=VALUE", or "GPU/FILE=VALUE". */
struct gvm_cgroup_setting {
	const char *gpu; /* a word of the GPU's name; NULL: each GPU */
	char *file;
	char *value;
};

/*
 * Take the next word off *@rest, and cut it. False: there is none. *@rest has room for all
 * settings, and is changed.
 */
static bool gvm_cgroup_next_setting(char **rest, struct gvm_cgroup_setting *ret_setting)
{
	char *slash;

	while ((ret_setting->value = strsep(rest, " "))) {
		if (!*ret_setting->value)
			continue;
		ret_setting->gpu = NULL;
		ret_setting->file = strsep(&ret_setting->value, "=");
		slash = strchr(ret_setting->file, '/');
		if (slash) {
			*slash = '\0';
			ret_setting->gpu = ret_setting->file;
			ret_setting->file = slash + 1;
		}
		return ret_setting->value != NULL;
	}
	return false;
}

/* Does the name of a GPU have this word? "NVIDIA H200: GPU-1a" has GPU-1a, and not GPU-1. */
static bool gvm_is_in_name(const char *word, const char *name)
{
	size_t length = strlen(word);

	for (const char *c = name; (c = strstr(c, word)); c++)
		if ((c == name || !isalnum(c[-1])) && !isalnum(c[length]) && c[length] != '-')
			return true;
	return false;
}

/* Is it a value that a user may write? Returns 0, -EINVAL or -ERANGE. */
static int gvm_cgroup_check_setting(const struct gvm_cgroup_setting *setting)
{
	const struct gvm_control_file *file = gvm_control_find(setting->file);
	const char *value = setting->value;
	u64 number;
	int status;

	if (!file || !(file->mode & 0200) || (setting->gpu && !*setting->gpu))
		return -EINVAL;
	if (file->kind == GVM_CONTROL_BYTES)
		status = gvm_parse_bytes(value, &number);
	else if (file->kind == GVM_CONTROL_TIMESLICE)
		status = gvm_parse_timeslice_us(value, &number);
	else
		status = gvm_parse_u64(value, &number);
	if (status)
		return status;
	return number < file->min || number > file->max ? -ERANGE : 0;
}

/* Keep settings, checked. Returns 0, -EINVAL, -ERANGE or -E2BIG. */
static int gvm_cgroup_keep_settings(struct gvm_cgroup *cgroup, const char *settings)
{
	struct gvm_cgroup_setting setting;
	char *rest = cgroup->words;
	int status = 0;

	if (strscpy(cgroup->words, settings, sizeof(cgroup->words)) < 0)
		return -E2BIG;
	while (!status && gvm_cgroup_next_setting(&rest, &setting))
		status = gvm_cgroup_check_setting(&setting);
	if (!status)
		strscpy(cgroup->settings, settings, sizeof(cgroup->settings));
	return status;
}

/*
 * Write the settings of a cgroup to one of its members, without a wait for
 * reclaim. Returns 0 or -errno.
 */
static int gvm_cgroup_set_up_locked(struct gvm_member *member)
{
	const char *name = member->registration->device.name;
	struct gvm_cgroup *cgroup = member->cgroup;
	struct gvm_cgroup_setting setting;
	char *rest = cgroup->words;
	int status = 0;

	strscpy(cgroup->words, cgroup->settings, sizeof(cgroup->words));
	while (!status && gvm_cgroup_next_setting(&rest, &setting))
		if (!setting.gpu || gvm_is_in_name(setting.gpu, name))
			status = gvm_control_set(member->container, setting.file, setting.value,
						 strlen(setting.value));
	return status;
}

/*
 * Exchange the settings of a cgroup that is a container. Returns 0, -ENOENT (it is
 * none), or another -errno.
 */
static int gvm_cgroup_set_again_locked(const struct gvm_cgroup *wanted)
{
	struct gvm_registration *registration;
	struct gvm_cgroup *cgroup, *found = NULL;
	struct gvm_member *member;
	int status = 0;

	list_for_each_entry(cgroup, &gvm_cgroups, node)
		if (!cgroup->leaving && cgroup->cgroup == wanted->cgroup)
			found = cgroup;
	if (!found)
		return -ENOENT;
	strscpy(found->settings, wanted->settings, sizeof(found->settings));
	list_for_each_entry(registration, &gvm_registrations, node) {
		member = gvm_cgroup_member_locked(registration, found);
		if (member && !status && !gvm_device_is_lost(&registration->device))
			status = gvm_cgroup_set_up_locked(member);
	}
	return status;
}

/* A cgroup with checked settings, on no list yet. Returns 0 or -errno. */
static int gvm_cgroup_make(const char *path, const char *settings,
			   struct gvm_cgroup **ret_cgroup)
{
	struct gvm_cgroup *cgroup = kzalloc(sizeof(*cgroup), GFP_KERNEL);
	int status;

	if (!cgroup)
		return -ENOMEM;
	status = gvm_cgroup_keep_settings(cgroup, settings);
	if (!status)
		status = gvm_cgroup_get(path, &cgroup->cgroup);
	if (status) {
		kfree(cgroup);
		return status;
	}
	status = gvm_cgroup_set_path(cgroup);
	if (status)
		gvm_cgroup_free(cgroup);
	else
		*ret_cgroup = cgroup;
	return status;
}

/* Give it a container on each GPU. Returns 0 or -errno; then it has none, and is freed. */
static int gvm_cgroup_publish_locked(struct gvm_cgroup *cgroup)
{
	struct gvm_registration *registration;
	struct gvm_member *member;
	int status = 0;

	list_add_tail(&cgroup->node, &gvm_cgroups);
	list_for_each_entry(registration, &gvm_registrations, node) {
		/* A GPU that is gone for good keeps no other from a container. */
		if (gvm_device_is_lost(&registration->device))
			continue;
		status = gvm_member_create_locked(registration, NULL, NULL, cgroup, &member);
		if (!status)
			status = gvm_cgroup_set_up_locked(member);
		if (status)
			break; /* the list may have changed */
	}
	/*
	 * A failed create has dropped the mutex. Meanwhile another thread may have begun to
	 * forget the cgroup, and then frees it: it waits for the member that was not made.
	 */
	if (status && !cgroup->leaving)
		gvm_cgroup_forget_locked(cgroup);
	else if (!status)
		queue_delayed_work(system_long_wq, &gvm_cgroups_work, HZ);
	return status;
}

int gvm_cgroups_add(const char *path, const char *settings)
{
	struct gvm_cgroup *cgroup;
	int status = gvm_cgroup_make(path, settings, &cgroup);

	if (status)
		return status;
	gvm_mutex_lock(&gvm_registry_mutex);
	gvm_cgroups_sweep_locked();
	wait_event_cmd(gvm_member_left, !gvm_cgroup_path_is_leaving_locked(cgroup->path),
		       gvm_mutex_unlock(&gvm_registry_mutex),
		       gvm_mutex_lock(&gvm_registry_mutex));
	status = gvm_cgroup_check_locked(cgroup->cgroup);
	if (!status) {
		status = gvm_cgroup_publish_locked(cgroup);
		cgroup = NULL;
	} else if (status == -EEXIST && *settings) {
		status = gvm_cgroup_set_again_locked(cgroup);
	}
	gvm_mutex_unlock(&gvm_registry_mutex);
	if (cgroup)
		gvm_cgroup_free(cgroup);
	return status;
}

int gvm_cgroups_remove(const char *path)
{
	struct gvm_cgroup *cgroup, *found = NULL;
	struct cgroup *wanted;
	int status = gvm_cgroup_get(path, &wanted);

	if (status)
		return status;
	gvm_mutex_lock(&gvm_registry_mutex);
	list_for_each_entry(cgroup, &gvm_cgroups, node)
		if (!cgroup->leaving && cgroup->cgroup == wanted)
			found = cgroup;
	if (found)
		gvm_cgroup_forget_locked(found);
	gvm_mutex_unlock(&gvm_registry_mutex);
	cgroup_put(wanted);
	return found ? 0 : -ENOENT;
}

void gvm_cgroups_show(struct seq_file *seq)
{
	struct gvm_cgroup *cgroup;

	gvm_mutex_lock(&gvm_registry_mutex);
	list_for_each_entry(cgroup, &gvm_cgroups, node)
		if (!cgroup->leaving)
			seq_printf(seq, "%s\n", cgroup->path + strlen(GVM_CGROUPS_PREFIX));
	gvm_mutex_unlock(&gvm_registry_mutex);
}

void gvm_cgroups_exit(void)
{
	cancel_delayed_work_sync(&gvm_cgroups_work);
	gvm_mutex_lock(&gvm_registry_mutex);
	while (!list_empty(&gvm_cgroups))
		gvm_cgroup_forget_locked(
			list_first_entry(&gvm_cgroups, struct gvm_cgroup, node));
	gvm_mutex_unlock(&gvm_registry_mutex);
}

int gvm_cgroups_add_device_locked(struct gvm_registration *registration)
{
	struct gvm_cgroup *cgroup;
	struct gvm_member *member;
	int status = 0;

	list_for_each_entry(cgroup, &gvm_cgroups, node) {
		if (cgroup->leaving)
			continue;
		status = gvm_member_create_locked(registration, NULL, NULL, cgroup, &member);
		if (status)
			break; /* the list may have changed */
		/* The values were checked, and nothing is charged yet. */
		if (gvm_cgroup_set_up_locked(member))
			pr_warn("gvm: %s: not all settings hold\n", cgroup->path);
	}
	return status;
}

void gvm_cgroups_remove_device_locked(struct gvm_registration *registration)
{
	struct gvm_member *member;

	while ((member = gvm_cgroup_member_locked(registration, NULL)))
		gvm_member_detach_locked(member);
}
