// SPDX-License-Identifier: MIT OR GPL-2.0
/* See trace_store.h. */
#include "trace/trace_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Open a file without a name in @folder. Returns a descriptor, or -1. */
static int store_open(const char *folder)
{
	char path[4096];
	int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (file >= 0 ||
	    snprintf(path, sizeof(path), "%s/gvmsim-XXXXXX", folder) >= (int)sizeof(path))
		return file;
	/* Some file systems, such as NFS, have no files without a name. */
	file = mkostemp(path, O_CLOEXEC);
	if (file >= 0)
		unlink(path);
	return file;
}

/*
 * Map @room bytes of @file. The disk space is taken now: a page that finds no space later would
 * end the program. Returns NULL if there is none.
 */
static void *store_map(int file, size_t room)
{
	void *data;

	if (posix_fallocate(file, 0, (off_t)room))
		return NULL;
	data = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	return data == MAP_FAILED ? NULL : data;
}

/* Let go of the array in memory or in the file. */
static void store_release(struct trace_store *store)
{
	if (store->mapped) {
		munmap(store->data, store->room);
		close(store->file);
	} else {
		free(store->data);
	}
}

/* Grow in the file, which the array may already be in. Returns NULL if that fails. */
static void *grow_in_file(struct trace_store *store, size_t room)
{
	int file = store->mapped ? store->file : store_open(store->folder);
	void *data = file < 0 ? NULL : store_map(file, room);

	if (!data) {
		if (file >= 0 && !store->mapped)
			close(file);
		return NULL;
	}
	if (store->mapped) {
		munmap(store->data, store->room);
	} else {
		if (store->room)
			memcpy(data, store->data, store->room);
		free(store->data);
	}
	store->mapped = true;
	store->file = file;
	return data;
}

bool trace_store_grow(struct trace_store *store, size_t room)
{
	void *data = NULL;

	if (store->folder && room > TRACE_STORE_MEMORY)
		data = grow_in_file(store, room);
	if (!data && !store->mapped) {
		data = realloc(store->data, room);
	} else if (!data) {
		data = malloc(room);
		if (data) {
			memcpy(data, store->data, store->room);
			store_release(store);
			store->mapped = false;
			store->folder = NULL;
		}
	}
	if (!data)
		return false;
	store->data = data;
	store->room = room;
	return true;
}

void trace_store_forget(const struct trace_store *store)
{
	if (store->mapped)
		madvise(store->data, store->room, MADV_DONTNEED);
}

void trace_store_free(struct trace_store *store)
{
	store_release(store);
	*store = (struct trace_store){ .folder = store->folder };
}
