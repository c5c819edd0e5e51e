// SPDX-License-Identifier: MIT OR GPL-2.0
#include "engine/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define TEMPORARY     ".tmp-"
#define RANDOM_DIGITS 8
#define HEXADECIMAL   "0123456789abcdef"
#define LOCK_TRIES    1000
#define LOCK_PAUSE_US 1000

void temporary_mark(char ret_mark[TEMPORARY_MARK_MAX])
{
	unsigned int random;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random)) {
		struct timespec now;

		clock_gettime(CLOCK_REALTIME, &now);
		random = (unsigned int)now.tv_nsec;
	}
	snprintf(ret_mark, TEMPORARY_MARK_MAX, TEMPORARY "%ld-%0*x", (long)getpid(),
		 RANDOM_DIGITS, random);
}

int temporary_create(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

int temporary_lock(const char *folder)
{
	int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; lock >= 0 && i < LOCK_TRIES; i++) {
		if (!flock(lock, LOCK_SH | LOCK_NB) || errno != EWOULDBLOCK)
			break;
		usleep(LOCK_PAUSE_US);
	}
	return lock;
}

/* Is @entry a temporary file of @name, or of any name (NULL)? */
static bool is_temporary(const char *entry, const char *name)
{
	const char *mark = strstr(entry, TEMPORARY);
	size_t digits;

	if (name)
		mark = !strncmp(entry, name, strlen(name)) ? entry + strlen(name) : NULL;
	if (!mark || strncmp(mark, TEMPORARY, strlen(TEMPORARY)) != 0)
		return false;
	mark += strlen(TEMPORARY);
	digits = strspn(mark, "0123456789");
	return digits && mark[digits] == '-' &&
	       strspn(mark + digits + 1, HEXADECIMAL) == RANDOM_DIGITS &&
	       !mark[digits + 1 + RANDOM_DIGITS];
}

void temporary_remove_stale(const char *folder, const char *name)
{
	DIR *stream = opendir(folder);
	const struct dirent *entry;

	if (stream && !flock(dirfd(stream), LOCK_EX | LOCK_NB))
		while ((entry = readdir(stream)))
			if (is_temporary(entry->d_name, name))
				unlinkat(dirfd(stream), entry->d_name, 0);
	if (stream)
		closedir(stream);
}
