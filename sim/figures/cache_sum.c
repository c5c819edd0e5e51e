// SPDX-License-Identifier: MIT OR GPL-2.0
/* See cache_sum.h. */
#include "figures/cache_sum.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/hash.h"
#include "config/paths.h"
#include "engine/error.h"

#define SUM_FILE "sum"

/* Hash a file of an entry. False: it cannot be read. */
static bool sum_file(const char *entry, const char *name, char ret_hash[CFG_HASH_MAX])
{
	XXH3_state_t *state = XXH3_createState();
	struct sim_error ignored = { 0 };
	char path[PATH_MAX];
	bool summed = false;

	if (!state)
		return false;
	XXH3_128bits_reset(state);
	if (cfg_path_join(entry, name, path, sizeof(path)))
		summed = !cfg_hash_file(state, path, &ignored);
	cfg_hash_finish(state, ret_hash, CFG_HASH_MAX);
	XXH3_freeState(state);
	return summed;
}

static int is_summed(const struct dirent *item)
{
	return item->d_name[0] != '.' && strcmp(item->d_name, SUM_FILE) != 0;
}

int cache_sum_write(const char *entry, struct sim_error *err)
{
	struct dirent **list = NULL;
	char path[PATH_MAX], hash[CFG_HASH_MAX];
	int count, error = 0;
	FILE *out;

	if (!cfg_path_join(entry, SUM_FILE, path, sizeof(path)))
		return sim_runtime_error(err, "%s: the path is too long", entry);
	count = scandir(entry, &list, is_summed, alphasort);
	out = count < 0 ? NULL : fopen(path, "w");
	if (!out)
		error = errno;
	for (int i = 0; i < count; i++) {
		if (!error && !sum_file(entry, list[i]->d_name, hash))
			error = EIO;
		if (!error && fprintf(out, "%s %s\n", hash, list[i]->d_name) < 0)
			error = errno;
		free(list[i]);
	}
	free(list);
	if (out && fflush(out) && !error)
		error = errno;
	if (out && fsync(fileno(out)) && !error)
		error = errno;
	if (out && fclose(out) && !error)
		error = errno;
	return error ? sim_runtime_error(err, "%s: cannot be written: %s", path,
					 strerror(error)) :
		       0;
}

bool cache_sum_holds(const char *entry)
{
	char line[CFG_HASH_MAX + NAME_MAX + 2], path[PATH_MAX], hash[CFG_HASH_MAX];
	struct stat info;
	bool holds = true;
	FILE *in;

	if (!cfg_path_join(entry, SUM_FILE, path, sizeof(path)))
		return false;
	in = fopen(path, "r");
	if (!in)
		return false;
	while (holds && fgets(line, sizeof(line), in)) {
		char *name = strchr(line, ' ');

		line[strcspn(line, "\n")] = '\0';
		if (!name || strchr(name, '/')) {
			holds = false;
			break;
		}
		*name++ = '\0';
		if (cfg_path_join(entry, name, path, sizeof(path)) && !stat(path, &info))
			holds = S_ISREG(info.st_mode) && sum_file(entry, name, hash) &&
				!strcmp(hash, line);
	}
	fclose(in);
	return holds;
}
