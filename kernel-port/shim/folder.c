// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The folder of this process among the control files, <directory>/<pid>, and the folders that
 * dead processes have left. Containers may share <directory>, and each has process numbers of
 * its own: a folder says whose numbers it goes by.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim.h"

#define FOLDER_TRIES 100
#define NAMESPACE    ".namespace" /* in the folder of a process: its PID namespace */

static char process_path[SHIM_PATH_MAX + 32];

static bool is_pid(const char *name)
{
	return strspn(name, "0123456789") == strlen(name) && *name;
}

bool folder_read(const char *path, char text[FOLDER_TEXT_MAX], struct timespec *ret_date)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, FOLDER_TEXT_MAX - 1);
	struct stat info;

	if (ret_date && fd >= 0 && !fstat(fd, &info))
		*ret_date = info.st_mtim;
	if (fd >= 0)
		close(fd);
	if (length < 0)
		return false;
	text[length] = '\0';
	return true;
}

/* 0: not known. */
static u64 own_namespace(void)
{
	struct stat info;

	return stat("/proc/self/ns/pid", &info) ? 0 : info.st_ino;
}

/*
 * Is this folder of a process of another PID namespace, as where a container has the folder as
 * a volume? Its number says nothing here: the process may live. An empty file is of a process
 * that was killed, or has called exec(), while it wrote its own.
 */
static bool is_foreign(const char *path)
{
	char file[SHIM_PATH_MAX + 384];
	char text[FOLDER_TEXT_MAX];
	u64 own = own_namespace();

	snprintf(file, sizeof(file), "%s/" NAMESPACE, path);
	return own && folder_read(file, text, NULL) && *text && strtoull(text, NULL, 10) != own;
}

/* Without it the folder is taken for one of this namespace. */
static void note_namespace(void)
{
	char path[SHIM_PATH_MAX + 64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/" NAMESPACE, process_path);
	file = fopen(path, "wxe");
	if (!file)
		return;
	fprintf(file, "%llu\n", own_namespace());
	fclose(file);
}

/* Remove <directory>/<pid>: GPUs with files, no deeper. */
static void remove_process(const char *path)
{
	char inner[SHIM_PATH_MAX + 384];
	struct dirent *gpu, *file;
	DIR *process = opendir(path);

	while (process && (gpu = readdir(process))) {
		DIR *files;

		if (!is_pid(gpu->d_name))
			continue;
		snprintf(inner, sizeof(inner), "%s/%s", path, gpu->d_name);
		files = opendir(inner);
		while (files && (file = readdir(files)))
			if (*file->d_name != '.' ||
			    !strncmp(file->d_name, FOLDER_WAS, strlen(FOLDER_WAS)) ||
			    !strcmp(file->d_name, FOLDER_NEW)) /* of a shim before this one */
				unlinkat(dirfd(files), file->d_name, 0);
		if (files)
			closedir(files);
		rmdir(inner);
	}
	if (process) {
		unlinkat(dirfd(process), NAMESPACE, 0);
		unlinkat(dirfd(process), FOLDER_NEW, 0);
		closedir(process);
	}
	rmdir(path);
}

/* Processes that were killed have left their directories. */
static void remove_dead(void)
{
	char path[SHIM_PATH_MAX + 288];
	DIR *root = opendir(shim_settings.directory);
	struct dirent *process;

	while (root && (process = readdir(root))) {
		if (!is_pid(process->d_name) ||
		    !kill((pid_t)strtol(process->d_name, NULL, 10), 0) || errno != ESRCH)
			continue;
		snprintf(path, sizeof(path), "%s/%s", shim_settings.directory, process->d_name);
		if (!is_foreign(path))
			remove_process(path);
	}
	if (root)
		closedir(root);
}

static void set_process_path(void)
{
	snprintf(process_path, sizeof(process_path), "%s/%d", shim_settings.directory,
		 (int)getpid());
}

void folder_init(void)
{
	if (access(shim_settings.directory, W_OK) || shim_make_directory())
		return;
	set_process_path();
	if (!is_foreign(process_path))
		remove_process(process_path);
	remove_dead();
	rmdir(shim_settings.directory); /* if nothing is in it */
}

/* What is there under our number was left by a process that was killed. */
const char *folder_make(void)
{
	const char *wrong;
	int error;

	set_process_path();
	for (int i = 0; i < FOLDER_TRIES; i++) {
		wrong = shim_make_directory();
		if (wrong)
			return wrong;
		if (!mkdir(process_path, 0755)) {
			note_namespace();
			return NULL;
		}
		error = errno;
		wrong = strerror(error);
		if (error == EEXIST && is_foreign(process_path))
			return "a process of another PID namespace has this number";
		if (error == EEXIST)
			remove_process(process_path);
		else if (error != ENOENT)
			return wrong;
	}
	return wrong;
}

const char *folder_path(void)
{
	return process_path;
}

void folder_remove(void)
{
	remove_process(process_path);
	rmdir(shim_settings.directory); /* if it was the last one */
}

void folder_abandon(void)
{
	char path[SHIM_PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/" NAMESPACE, process_path);
	unlink(path);
	snprintf(path, sizeof(path), "%s/" FOLDER_NEW, process_path);
	unlink(path);
	rmdir(process_path);
	rmdir(shim_settings.directory); /* if it was the last one */
}
