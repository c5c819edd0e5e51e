// SPDX-License-Identifier: MIT OR GPL-2.0
#include "ctl/host_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gvm/control.h"

#define SHIM_ROOT "/run/gvm-shim"

/*
 * gvm.ko has two doors to the same files. A kernel that is locked down
 * closes the one of debugfs.
 */
#define DEBUGFS_ROOT "/sys/kernel/debug/gvm"
#define CGROUP_DEPTH 32

static const char *const usual_roots[] = {
	"/sys/kernel/debug/nvidia-uvm/processes",
	SHIM_ROOT,
};

static int is_number(const struct dirent *entry)
{
	return strspn(entry->d_name, "0123456789") == strlen(entry->d_name);
}

static void make_printable(char *text)
{
	for (; *text; text++)
		if (iscntrl((unsigned char)*text))
			*text = '?';
}

bool ctl_command(u64 pid, char command[CTL_COMMAND_MAX])
{
	char path[64];
	FILE *file;
	bool found;

	snprintf(path, sizeof(path), "/proc/%llu/comm", pid);
	file = fopen(path, "r");
	found = file && fgets(command, CTL_COMMAND_MAX, file);
	if (found) {
		command[strcspn(command, "\n")] = '\0';
		make_printable(command);
	}
	if (file)
		fclose(file);
	return found;
}

/* /proc may hide the processes of other users, which kill() still sees. */
static void read_command(struct ctl_container *container)
{
	container->ended = false;
	if (ctl_command(container->pid, container->command))
		return;
	container->ended = kill((pid_t)container->pid, 0) && errno == ESRCH;
	strcpy(container->command, container->ended ? "(ended)" : "-");
}

/* A new row of the list, with zeros; NULL: out of memory. */
static struct ctl_container *append(struct ctl_list *list)
{
	struct ctl_container *more =
		reallocarray(list->containers, list->count + 1, sizeof(*more));

	if (!more)
		return NULL;
	list->containers = more;
	more += list->count++;
	*more = (struct ctl_container){ 0 };
	return more;
}

static int append_process(struct ctl_list *list, const char *root, const char *pid,
			  const char *gpu)
{
	struct ctl_container *more = append(list);

	if (!more)
		return -ENOMEM;
	more->pid = strtoull(pid, NULL, 10);
	more->gpu = strtoull(gpu, NULL, 10);
	snprintf(more->path, sizeof(more->path), "%s/%s/%s", root, pid, gpu);
	read_command(more);
	return 0;
}

/* Append the GPUs of a process. */
static int list_process(struct ctl_list *list, const char *root, const char *pid)
{
	char path[PATH_MAX];
	struct dirent **gpus;
	int status = 0;
	int count;

	snprintf(path, sizeof(path), "%s/%s", root, pid);
	count = scandir(path, &gpus, is_number, versionsort);
	for (int i = 0; i < count; i++) {
		if (!status)
			status = append_process(list, root, pid, gpus[i]->d_name);
		free(gpus[i]);
	}
	if (count >= 0)
		free(gpus);
	return status;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int append_cgroup(struct ctl_list *list, const char *root, const char *cgroup,
			 const char *gpu)
{
	struct ctl_container *more = append(list);

	if (!more)
		return -ENOMEM;
	more->gpu = strtoull(gpu, NULL, 10);
	strcpy(more->command, "-");
	snprintf(more->cgroup, sizeof(more->cgroup), "%s", cgroup);
	make_printable(more->cgroup);
	snprintf(more->path, sizeof(more->path), "%s/cgroup%s/%s", root, cgroup, gpu);
	return 0;
}

/*
 * Append the containers of a cgroup and of those below it. A directory
 * called like a number is a GPU.
 */
static int list_cgroups(struct ctl_list *list, const char *root, const char *cgroup, int depth)
{
	char path[PATH_MAX];
	struct dirent **entries;
	int status = 0;
	int count;

	if (depth == CGROUP_DEPTH ||
	    (size_t)snprintf(path, sizeof(path), "%s/cgroup%s", root, cgroup) >= sizeof(path))
		return 0;
	count = scandir(path, &entries, is_visible, versionsort);
	for (int i = 0; i < count; i++) {
		if (!status && is_number(entries[i])) {
			status = append_cgroup(list, root, cgroup, entries[i]->d_name);
		} else if (!status) {
			snprintf(path, sizeof(path), "%s/%s", cgroup, entries[i]->d_name);
			status = list_cgroups(list, root, path, depth + 1);
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return status;
}

/* Append all processes below a directory, and all cgroups. */
static int list_root(struct ctl_list *list, const char *root)
{
	struct dirent **processes;
	int count = scandir(root, &processes, is_number, versionsort);
	int status = 0;

	for (int i = 0; i < count; i++) {
		if (!status)
			status = list_process(list, root, processes[i]->d_name);
		free(processes[i]);
	}
	if (count >= 0)
		free(processes);
	return status ? status : list_cgroups(list, root, "", 0);
}

/*
 * The shim's own directory, where it is another one than root's: kernel-port/shim/settings.c.
 */
static int list_shim_of_user(struct ctl_list *list)
{
	const char *given = getenv("GVM_SHIM_DIR");
	char path[64];

	if (given && *given == '/')
		return strcmp(given, SHIM_ROOT) ? list_root(list, given) : 0;
	if (!geteuid())
		return 0;
	snprintf(path, sizeof(path), "/tmp/gvm-shim-%u", geteuid());
	return list_root(list, path);
}

int ctl_list(const char *root, struct ctl_list *ret_list)
{
	int status = 0;

	*ret_list = (struct ctl_list){ 0 };
	if (root) {
		status = list_root(ret_list, root);
	} else {
		status = list_root(ret_list, access(CTL_MODULE_ROOT, F_OK) ? DEBUGFS_ROOT :
									     CTL_MODULE_ROOT);
		for (size_t i = 0; !status && i < sizeof(usual_roots) / sizeof(usual_roots[0]);
		     i++)
			status = list_root(ret_list, usual_roots[i]);
		if (!status)
			status = list_shim_of_user(ret_list);
	}
	if (status)
		ctl_list_destroy(ret_list);
	return status;
}

const char *ctl_wrong_root(const char *root)
{
	struct stat info;

	if (!*root)
		return "is empty";
	if (stat(root, &info))
		return errno == ENOENT ? NULL : strerror(errno);
	if (!S_ISDIR(info.st_mode))
		return "is no folder";
	return access(root, R_OK | X_OK) ? strerror(errno) : NULL;
}

void ctl_list_destroy(struct ctl_list *list)
{
	free(list->containers);
	*list = (struct ctl_list){ 0 };
}

/* Open a file by its name, or by its alias where the driver has only that. */
static int open_file(const struct ctl_container *container, const char *name, int flags)
{
	const struct gvm_control_file *file = gvm_control_find(name);
	char path[PATH_MAX + CTL_TEXT_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", container->path, file ? file->name : name);
	fd = open(path, flags | O_NONBLOCK | O_CLOEXEC, 0644);
	if (fd < 0 && errno == ENOENT && file && file->alias) {
		snprintf(path, sizeof(path), "%s/%s", container->path, file->alias);
		fd = open(path, flags | O_NONBLOCK | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

int ctl_read(const struct ctl_container *container, const char *file, char text[CTL_TEXT_MAX])
{
	int fd = open_file(container, file, O_RDONLY);
	ssize_t length;

	*text = '\0';
	if (fd < 0)
		return fd;
	length = read(fd, text, CTL_TEXT_MAX - 1);
	if (length < 0) {
		length = -errno;
		close(fd);
		return (int)length;
	}
	close(fd);
	text[length] = '\0';
	if (length && text[length - 1] == '\n')
		text[length - 1] = '\0';
	make_printable(text);
	return 0;
}

/*
 * The shim has no file of a setting that was never made: it is created there, and nowhere else.
 */
int ctl_write(const struct ctl_container *container, const char *file, const char *text,
	      ino_t *ret_inode)
{
	char line[CTL_TEXT_MAX + 1];
	int length = snprintf(line, sizeof(line), "%s\n", text);
	int fd = open_file(container, file, O_WRONLY | O_TRUNC);
	struct stat info = { 0 };
	int status = 0;

	if (fd == -ENOENT)
		fd = open_file(container, file, O_WRONLY | O_CREAT);
	if (fd < 0)
		return fd;
	fstat(fd, &info);
	*ret_inode = info.st_ino;
	if (write(fd, line, (size_t)length) != length)
		status = errno ? -errno : -EIO;
	if (close(fd) && !status)
		status = -errno;
	return status;
}

bool ctl_is_shim(const struct ctl_container *container)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/../.namespace", container->path);
	return !access(path, F_OK);
}

ino_t ctl_inode(const struct ctl_container *container, const char *file)
{
	int fd = open_file(container, file, O_RDONLY);
	struct stat info = { 0 };

	if (fd < 0)
		return 0;
	fstat(fd, &info);
	close(fd);
	return info.st_ino;
}
