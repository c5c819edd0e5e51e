/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The folder in which run_cache.c keeps runs: KEY is an entry, KEY.tmp-PID an unfinished run.
 *
 * A process that makes runs holds a shared lock on the folder; the kernel releases the lock
 * however the process ends. A process that finds no other process in the folder tidies up: it
 * removes unfinished runs of killed processes, and the entries that were used longest ago. It
 * leaves all other files alone.
 */
#ifndef SIM_FIGURES_CACHE_FOLDER_H
#define SIM_FIGURES_CACHE_FOLDER_H

#include <stddef.h>

/*
 * Half a megabyte each. All figures together need about 160. 10 seeds of "validate published"
 * need 1100, so then nothing else stays.
 */
#define CACHE_FOLDER_ENTRIES 500

/*
 * Enter an existing folder. If no other process is in it, tidy up, so that there is room for
 * @coming more entries below @most; SIZE_MAX: no entry is removed. The @held entries that were
 * used last stay in any case: the caller still reads them. Waits while another process tidies
 * up. Returns a descriptor for cache_folder_leave(), or -1 if the file system has no locks;
 * then nothing is tidied up.
 */
int cache_folder_enter(const char *path, size_t coming, size_t most, size_t held);
void cache_folder_leave(int folder);

/* Set an entry's time of last use to now. */
void cache_folder_touch(const char *entry);

/*
 * Remove a file or a folder with all that is in it, if it is there. Follows no symbolic links.
 */
void cache_folder_remove(const char *path);

#endif
