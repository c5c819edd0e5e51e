/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Temporary files beside the files that they become. Their names end with ".tmp-PID-" and eight
 * random digits. The PID is for people: two threads have the same one, and so do processes in
 * different containers.
 *
 * A process with temporary files holds a shared lock on their folder. The kernel releases the
 * lock however the process ends. So files without a lock are those of killed processes.
 */
#ifndef SIM_ENGINE_TEMPORARY_H
#define SIM_ENGINE_TEMPORARY_H

#include <stddef.h>

#define TEMPORARY_MARK_MAX 40

/* What the names of a writer's temporary files end with. */
void temporary_mark(char ret_mark[TEMPORARY_MARK_MAX]);

/* Create a temporary file. No link is followed. Returns a descriptor, or -1 and errno. */
int temporary_create(const char *path);

/*
 * Hold a shared lock on @folder. Waits while another process removes what killed ones have
 * left, but no longer than a second: a user may hold a lock, as with flock(1). Returns a
 * descriptor to close, or -1: the folder cannot be opened. Without locks on the file system, or
 * beside a user's lock, none is held, and then none removes anything.
 */
int temporary_lock(const char *folder);

/*
 * Remove the temporary files of @name, or of all names (NULL), that killed processes left in
 * @folder. Removes nothing where a process has a lock on it, the caller included, or where
 * there are no locks.
 */
void temporary_remove_stale(const char *folder, const char *name);

#endif
