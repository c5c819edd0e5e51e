// SPDX-License-Identifier: MIT OR GPL-2.0
#include "ctl/past_shim.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Each program that computes on a GPU has UVM's device open. nvidia-smi and the
 * persistence daemon have not.
 */
#define UVM_DEVICE "/nvidia-uvm"
#define SHIM_FILE  "/libgvm_shim.so"
/*
 * The first cgroup namespace, in the kernel's include/linux/proc_ns.h. In another
 * one "/" is the container.
 */
#define FIRST_CGROUP_NAMESPACE 0xeffffffbu
#define ANCESTORS_MAX	       128

/* A process that has a GPU open. */
struct user {
	u64 pid;
	bool shim;
	char *cgroup; /* all of /proc/PID/cgroup; NULL: not to be read, or of no container */
};

struct users {
	struct user *at;
	size_t count;
};

/* Does @matches say so of any line, or of any text up to @end, of /proc/PID/FILE? */
static bool any_line(u64 pid, const char *name, int end, bool (*matches)(const char *line))
{
	char path[64];
	char *line = NULL;
	size_t room = 0;
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%llu/%s", pid, name);
	file = fopen(path, "re");
	while (file && !found && getdelim(&line, &room, end, file) >= 0)
		found = matches(line);
	free(line);
	if (file)
		fclose(file);
	return found;
}

static bool is_shim(const char *line)
{
	return strstr(line, SHIM_FILE) != NULL;
}

/* With gvm.ko limits come from the module, and the settings may be meant for that. */
static bool asks_for_shim(const char *variable)
{
	static const char *const settings[] = { "GVM_LIMIT=",	  "GVM_RESIDENT=",
						"GVM_TIMESLICE=", "GVM_PRIORITY=",
						"GVM_CONTAINER=", "GVM_FENCE=" };

	if (!strncmp(variable, "LD_PRELOAD=", 11))
		return is_shim(variable);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (!strncmp(variable, settings[i], strlen(settings[i])))
			return access(CTL_MODULE_ROOT, F_OK) != 0;
	return false;
}

static bool has_gpu_open(u64 pid)
{
	static const size_t length = sizeof(UVM_DEVICE) - 1;
	char target[256];
	struct dirent *entry;
	bool found = false;
	DIR *folder;

	snprintf(target, sizeof(target), "/proc/%llu/fd", pid);
	folder = opendir(target);
	while (folder && !found && (entry = readdir(folder))) {
		ssize_t got = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target));

		found = got >= (ssize_t)length && got < (ssize_t)sizeof(target) &&
			!memcmp(target + got - length, UVM_DEVICE, length);
	}
	if (folder)
		closedir(folder);
	return found;
}

/* A path other than "/", or any path where "/" is a container's own. */
static bool is_container(const char *line)
{
	const char *path = strrchr(line, ':');
	struct stat info;

	if (!path)
		return false;
	return strcmp(path, ":/\n") != 0 ||
	       (!stat("/proc/self/ns/cgroup", &info) && info.st_ino != FIRST_CGROUP_NAMESPACE);
}

static char *read_cgroup(u64 pid)
{
	char path[64];
	char *text = NULL;
	size_t room = 0;
	FILE *file;

	if (!any_line(pid, "cgroup", '\n', is_container))
		return NULL;
	snprintf(path, sizeof(path), "/proc/%llu/cgroup", pid);
	file = fopen(path, "re");
	if (file && getdelim(&text, &room, '\0', file) < 0) {
		free(text);
		text = NULL;
	}
	if (file)
		fclose(file);
	return text;
}

/* Field 4 of /proc/PID/stat, after the command's name. 0: none, or it has ended. */
static u64 parent_of(u64 pid)
{
	char text[1024];
	size_t length;
	char *field;
	FILE *file;

	snprintf(text, sizeof(text), "/proc/%llu/stat", pid);
	file = fopen(text, "re");
	if (!file)
		return 0;
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	field = strrchr(text, ')');
	return field && strlen(field) > 4 ? strtoull(field + 4, NULL, 10) : 0;
}

static int is_process(const struct dirent *entry)
{
	return strspn(entry->d_name, "0123456789") == strlen(entry->d_name);
}

static void users_destroy(struct users *users)
{
	for (size_t i = 0; i < users->count; i++)
		free(users->at[i].cgroup);
	free(users->at);
}

/* Returns 0 or -ENOMEM; *users is to be destroyed. */
static int find_users(struct users *users)
{
	struct dirent **entries;
	int status = 0;
	int count = scandir("/proc", &entries, is_process, versionsort);

	for (int i = 0; i < count; i++) {
		u64 pid = strtoull(entries[i]->d_name, NULL, 10);
		struct user *more;

		free(entries[i]);
		if (status || !has_gpu_open(pid))
			continue;
		more = reallocarray(users->at, users->count + 1, sizeof(*more));
		if (!more) {
			status = -ENOMEM;
			continue;
		}
		users->at = more;
		more[users->count++] = (struct user){
			.pid = pid,
			.shim = any_line(pid, "maps", '\n', is_shim),
			.cgroup = read_cgroup(pid),
		};
	}
	if (count >= 0)
		free(entries);
	return count < 0 && errno == ENOMEM ? -ENOMEM : status;
}

/* Is @user of a container with the shim? Then the reason, and the other process, are set. */
static bool find_reason(const struct users *users, const struct user *user,
			struct ctl_past *ret_past)
{
	u64 ancestor = user->pid;

	ret_past->reason = CTL_PAST_OWN;
	ret_past->other = 0;
	if (any_line(user->pid, "environ", '\0', asks_for_shim))
		return true;
	for (int i = 0; i < ANCESTORS_MAX && (ancestor = parent_of(ancestor)); i++) {
		ret_past->other = ancestor;
		ret_past->reason = CTL_PAST_ANCESTOR;
		if (any_line(ancestor, "maps", '\n', is_shim))
			return true;
		ret_past->reason = CTL_PAST_ASKED;
		if (any_line(ancestor, "environ", '\0', asks_for_shim))
			return true;
	}
	ret_past->reason = CTL_PAST_CGROUP;
	for (size_t i = 0; user->cgroup && i < users->count; i++) {
		ret_past->other = users->at[i].pid;
		if (users->at[i].shim && users->at[i].cgroup &&
		    !strcmp(users->at[i].cgroup, user->cgroup))
			return true;
	}
	return false;
}

/* Has it ended meanwhile? Its files were empty then. */
static bool is_there(u64 pid, char command[CTL_COMMAND_MAX])
{
	return ctl_command(pid, command) && has_gpu_open(pid);
}

int ctl_past_list(struct ctl_past_list *ret_list)
{
	struct users users = { 0 };
	int status = find_users(&users);

	*ret_list = (struct ctl_past_list){ 0 };
	if (!status && users.count)
		ret_list->processes = calloc(users.count, sizeof(*ret_list->processes));
	if (!status && users.count && !ret_list->processes)
		status = -ENOMEM;
	for (size_t i = 0; !status && i < users.count; i++) {
		struct ctl_past *past = &ret_list->processes[ret_list->count];

		past->pid = users.at[i].pid;
		if (users.at[i].shim || !find_reason(&users, &users.at[i], past) ||
		    !is_there(past->pid, past->command))
			continue;
		if (past->other && !ctl_command(past->other, past->other_command))
			strcpy(past->other_command, "-");
		ret_list->count++;
	}
	users_destroy(&users);
	return status;
}

void ctl_past_list_destroy(struct ctl_past_list *list)
{
	free(list->processes);
	*list = (struct ctl_past_list){ 0 };
}
