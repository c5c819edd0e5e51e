// SPDX-License-Identifier: MIT OR GPL-2.0
#include "control.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_MAX 256

static const char *root; /* NULL: no files */
static char lock_path[CONTROL_PATH_MAX];
static int lock_fd = -1;

/*
 * The files of a GPU are one gvmfenced's: it removes those of clients that it does not know. The
 * lock is its child's, too, and ends with both, however they end. 0 or an errno.
 */
static int take_lock(int ordinal)
{
	struct stat info;
	int error;

	if (snprintf(lock_path, sizeof(lock_path), "%s/.gpu%d", root, ordinal) >=
	    (int)sizeof(lock_path))
		return ENAMETOOLONG;
	for (;;) {
		lock_fd = open(lock_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (lock_fd < 0)
			return errno;
		if (flock(lock_fd, LOCK_EX | LOCK_NB) || fstat(lock_fd, &info))
			break;
		if (info.st_nlink)
			return 0;
		/* Its owner has ended and removed it between our open and our lock. */
		close(lock_fd);
	}
	error = errno;
	close(lock_fd);
	lock_fd = -1;
	return error;
}

int control_start(const char *folder, int ordinal)
{
	if (mkdir(folder, 0755) && errno != EEXIST)
		return errno;
	root = folder;
	return take_lock(ordinal);
}

void control_stop(void)
{
	if (lock_fd < 0)
		return;
	unlink(lock_path);
	close(lock_fd);
	lock_fd = -1;
}

static const char *const names[] = { "fence.sample", "fence.stat", "gmem.current", ".new" };

/* A process's folder: its files of GPU @ordinal, and itself if nothing else is in it. */
static void remove_folder(long pid, int ordinal)
{
	char path[CONTROL_PATH_MAX];

	for (size_t i = 0; i <= sizeof(names) / sizeof(*names); i++) {
		bool folder = i == sizeof(names) / sizeof(*names);

		if (snprintf(path, sizeof(path), "%s/%ld/%d%s%s", root, pid, ordinal,
			     folder ? "" : "/", folder ? "" : names[i]) >= (int)sizeof(path))
			return;
		if (folder)
			rmdir(path);
		else
			unlink(path);
	}
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

void control_clean(int ordinal)
{
	DIR *folder = root ? opendir(root) : NULL;
	struct dirent *entry;
	char *end;

	while (folder && (entry = readdir(folder))) {
		long pid = strtol(entry->d_name, &end, 10);

		if (pid > 0 && !*end)
			remove_folder(pid, ordinal);
	}
	if (folder)
		closedir(folder);
}

/* A path of the client; an empty name: its folder. False: it is too long. */
static bool path_of(const struct tenant *tenant, const char *name, char path[CONTROL_PATH_MAX])
{
	int length = snprintf(path, CONTROL_PATH_MAX, "%s/%d/%d%s%s", root, tenant->pid,
			      tenant->gpu->ordinal, *name ? "/" : "", name);

	return length > 0 && length < (int)CONTROL_PATH_MAX;
}

/* A file with this text, replaced at once: a reader never sees half of it. */
static bool write_file(const struct tenant *tenant, const char *name, const char *text)
{
	char path[CONTROL_PATH_MAX], made[CONTROL_PATH_MAX];
	size_t length = strlen(text);
	bool good;
	int fd;

	if (!path_of(tenant, name, path) || !path_of(tenant, ".new", made))
		return false;
	fd = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return false;
	good = write(fd, text, length) == (ssize_t)length;
	close(fd);
	return good && !rename(made, path);
}

/* The setting. A text that is no number, or too large, changes nothing. */
static void read_setting(struct tenant *tenant)
{
	char path[CONTROL_PATH_MAX], text[TEXT_MAX], *end;
	ssize_t length;
	u64 every;
	int fd;

	if (!path_of(tenant, "fence.sample", path))
		return;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (length <= 0 || text[0] < '0' || text[0] > '9')
		return;
	text[length] = '\0';
	every = strtoull(text, &end, 10);
	if ((!*end || *end == '\n') && every <= SAMPLE_EVERY_MAX)
		tenant->sample.every = (u32)every;
}

/* Write a text that is another one than last time. */
static void write_changed(const struct tenant *tenant, const char *name, const char *text,
			  char *last)
{
	if (strcmp(text, last) != 0 && write_file(tenant, name, text))
		strcpy(last, text);
}

static void write_stat(struct tenant *tenant)
{
	const struct sample_counts *counts = &tenant->sample.counts;
	char text[TEXT_MAX];

	snprintf(text, sizeof(text),
		 "every: %u\nlaunches: %llu\nsampled: %llu\nfound_launches: "
		 "%llu\nfound_accesses: %llu\n"
		 "last_address: 0x%llx\nrefused_modules: %llu\n",
		 tenant->sample.every, tenant->launches, counts->sampled,
		 counts->found_launches, counts->found_accesses, counts->last_address,
		 counts->refused_modules);
	write_changed(tenant, "fence.stat", text, tenant->stat);
	snprintf(text, sizeof(tenant->current), "%llu\n", (u64)tenant->used);
	write_changed(tenant, "gmem.current", text, tenant->current);
}

/*
 * Why a client has no folder of its own; NULL: it can have one. Folders have the number of the
 * client's process, so each needs one that is no other client's.
 */
static const char *without_folder(const struct tenant *tenant)
{
	char path[CONTROL_PATH_MAX];

	if (tenant->pid <= 0)
		return "its process is in a PID namespace that gvmfenced does not see";
	/* control_clean() has removed those of earlier clients. */
	if (path_of(tenant, "fence.sample", path) && !access(path, F_OK))
		return "its process is another client, too";
	return NULL;
}

static void open_folder(struct tenant *tenant)
{
	char path[CONTROL_PATH_MAX], *slash, text[32];
	const char *wrong = without_folder(tenant);

	if (wrong) {
		fprintf(stderr, "gvmfenced: client %llu: no files in %s: %s\n", tenant->id,
			root, wrong);
		return;
	}
	if (!path_of(tenant, "", path))
		return;
	slash = strrchr(path, '/');
	*slash = '\0';
	(void)!mkdir(path, 0755);
	*slash = '/';
	snprintf(text, sizeof(text), "%u\n", tenant->sample.every);
	if ((mkdir(path, 0755) && errno != EEXIST) ||
	    !write_file(tenant, "fence.sample", text)) {
		fprintf(stderr, "gvmfenced: client %llu: no files in %s: %s\n", tenant->id,
			path, strerror(errno));
		return;
	}
	pthread_mutex_lock(&tenant->lock);
	tenant->has_files = true;
	write_stat(tenant);
	pthread_mutex_unlock(&tenant->lock);
}

void control_open(struct tenant *tenant)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

	if (!root || !tenant->sample.on)
		return;
	pthread_mutex_lock(&one_at_a_time);
	open_folder(tenant);
	pthread_mutex_unlock(&one_at_a_time);
}

void control_close(struct tenant *tenant)
{
	pthread_mutex_lock(&tenant->lock);
	if (tenant->has_files)
		remove_folder(tenant->pid, tenant->gpu->ordinal);
	tenant->has_files = false;
	pthread_mutex_unlock(&tenant->lock);
}

void control_look(struct tenant *tenant)
{
	if (!tenant->has_files)
		return;
	read_setting(tenant);
	write_stat(tenant);
}
