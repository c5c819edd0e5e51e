/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The folder that run_cache.c keeps runs in: KEY is an entry, KEY.tmp-PID a run on its way. Who
 * makes runs holds a shared lock on the folder, which goes with the process however it ends. Who
 * is alone when it enters tidies up: what is on its way is of processes that were killed, and of
 * the entries the ones used longest ago go. Other files in the folder are nobody's business.
 */
#ifndef SIM_FIGURES_CACHE_FOLDER_H
#define SIM_FIGURES_CACHE_FOLDER_H

#include <stddef.h>

#define CACHE_FOLDER_ENTRIES 200 /* half a megabyte each; all figures together have 43 */

/*
 * Enter an existing folder, and if nobody else is in it, tidy up so that after @coming more there
 * are CACHE_FOLDER_ENTRIES entries at most. Blocking, while another one tidies. Returns a
 * descriptor for cache_folder_leave(), or -1 where there are no locks: then it is left as it is.
 */
int cache_folder_enter(const char *path, size_t coming);
void cache_folder_leave(int folder);

/* An entry has been used. */
void cache_folder_touch(const char *entry);

/* Remove a file or a folder with all that is in it, if it is there. Follows no symbolic links. */
void cache_folder_remove(const char *path);

#endif
