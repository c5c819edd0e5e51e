// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * See cache_folder.h. A lock tells whether a process still works in the folder. The PID in a
 * name does not: containers may share the folder, and the same PID means a different process in
 * each of them.
 */
#include "figures/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/hash.h"

#define KEY_LENGTH (CFG_HASH_MAX - 1)
#define REMOVE_FDS 8

struct entry {
	struct timespec used;
	const char *name;
};

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	(void)info;
	(void)kind;
	(void)where;
	remove(path);
	return 0;
}

void cache_folder_remove(const char *path)
{
	nftw(path, remove_one, REMOVE_FDS, FTW_DEPTH | FTW_PHYS);
}

void cache_folder_touch(const char *entry)
{
	utimensat(AT_FDCWD, entry, NULL, AT_SYMLINK_NOFOLLOW);
}

static bool begins_with_key(const char *name)
{
	return strspn(name, "0123456789abcdef") == KEY_LENGTH;
}

static int is_entry(const struct dirent *item)
{
	return begins_with_key(item->d_name) && !item->d_name[KEY_LENGTH];
}

static int is_unfinished(const struct dirent *item)
{
	return begins_with_key(item->d_name) &&
	       !strncmp(item->d_name + KEY_LENGTH, ".tmp-", strlen(".tmp-"));
}

static void remove_in(const char *folder, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	cache_folder_remove(path);
}

static void free_list(struct dirent **list, int count)
{
	for (int i = 0; i < count; i++)
		free(list[i]);
	free(list);
}

/* Compare by last use: the entry that was used longest ago comes first. */
static int compare_used(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	if (x->used.tv_nsec != y->used.tv_nsec)
		return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Remove all entries but the @keep that were used last. */
static void remove_oldest(const char *folder, int descriptor, size_t keep)
{
	struct dirent **list = NULL;
	int count = scandir(folder, &list, is_entry, NULL);
	struct entry *entries = count > 0 ? calloc((size_t)count, sizeof(*entries)) : NULL;
	struct stat info;

	for (int i = 0; entries && i < count; i++) {
		entries[i].name = list[i]->d_name;
		if (!fstatat(descriptor, list[i]->d_name, &info, AT_SYMLINK_NOFOLLOW))
			entries[i].used = info.st_mtim;
	}
	if (entries)
		qsort(entries, (size_t)count, sizeof(*entries), compare_used);
	for (size_t i = 0; entries && i + keep < (size_t)count; i++)
		remove_in(folder, entries[i].name);
	free(entries);
	free_list(list, count);
}

int cache_folder_enter(const char *path, size_t coming, size_t most, size_t held)
{
	size_t room = coming < most ? most - coming : 0;
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (folder < 0)
		return -1;
	if (!flock(folder, LOCK_EX | LOCK_NB)) {
		struct dirent **unfinished = NULL;
		int count = scandir(path, &unfinished, is_unfinished, NULL);

		for (int i = 0; i < count; i++)
			remove_in(path, unfinished[i]->d_name);
		free_list(unfinished, count);
		if (most < SIZE_MAX)
			remove_oldest(path, folder, room > held ? room : held);
	}
	if (!flock(folder, LOCK_SH))
		return folder;
	close(folder);
	return -1;
}

void cache_folder_leave(int folder)
{
	if (folder >= 0)
		close(folder);
}
