// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Runs in parallel with a cache, see run_cache.h.
 *
 * Processes and not threads, since a simulation can be made once a process. A child writes to a
 * folder of its own beside the entries; when it has ended well, one rename makes that the entry.
 */
#include "cli/run_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cache_folder.h"
#include "terminal/progress.h"
#include "terminal/signals.h"
#include "engine/error.h"
#include "results/writer.h"

#define PROGRAM	    "/proc/self/exe"
#define REPLACE_MAX 3
#define PATH_ROOM   (sizeof(RUN_CACHE_FOLDER) + CFG_HASH_MAX + 32)
#define SAYS_MAX    1024

/* Runs on their way. */
struct pool {
	struct cached_run *runs;
	size_t count;
	size_t wanted; /* to be made by us; the others were there */
	size_t made;
	size_t running;
	size_t cores;
	const struct signals *signals;
	struct timespec began;
};

static void entry_path(const struct cached_run *run, char ret_path[PATH_ROOM])
{
	snprintf(ret_path, PATH_ROOM, RUN_CACHE_FOLDER "/%s", run->key);
}

/* Where this process has it made. */
static void temporary_path(const struct cached_run *run, char ret_path[PATH_ROOM])
{
	snprintf(ret_path, PATH_ROOM, RUN_CACHE_FOLDER "/%s.tmp-%ld", run->key, (long)getpid());
}

/* Hash of everything that the result depends on. */
static int make_key(struct cached_run *run, const char *program, struct sim_error *err)
{
	XXH3_state_t *state = XXH3_createState();

	if (!state)
		return sim_runtime_error(err, "out of memory");
	XXH3_128bits_reset(state);
	XXH3_128bits_update(state, run->config.hash, sizeof(run->config.hash));
	XXH3_128bits_update(state, program, CFG_HASH_MAX);
	cfg_hash_finish(state, run->key, sizeof(run->key));
	XXH3_freeState(state);
	return 0;
}

static int hash_program(char ret_hash[CFG_HASH_MAX], struct sim_error *err)
{
	XXH3_state_t *state = XXH3_createState();
	int rc;

	if (!state)
		return sim_runtime_error(err, "out of memory");
	XXH3_128bits_reset(state);
	rc = cfg_hash_file(state, PROGRAM, err);
	cfg_hash_finish(state, ret_hash, CFG_HASH_MAX);
	XXH3_freeState(state);
	return rc;
}

static size_t count_defaults(const struct cached_run *run)
{
	size_t count = 0;

	while (run->defaults && run->defaults[count])
		count++;
	return count;
}

static size_t count_sets(const struct cached_run *run)
{
	size_t own = 0;

	while (own < RUN_CACHE_SETS_MAX && run->own_sets[own])
		own++;
	return count_defaults(run) + run->set_count + own;
}

/* The @i-th of all --set options of a run. */
static const char *run_set(const struct cached_run *run, size_t i)
{
	size_t defaults = count_defaults(run);

	if (i < defaults)
		return run->defaults[i];
	i -= defaults;
	return i < run->set_count ? run->sets[i] : run->own_sets[i - run->set_count];
}

/* Do two PATH=VALUE set the same key? */
static bool sets_same_key(const char *set, const char *other)
{
	size_t length = strcspn(set, "=");

	return length == strcspn(other, "=") && !strncmp(set, other, length);
}

/* What a run is about is not the user's to set: it would be lost without a word. */
static int check_own_sets(const struct cached_run *run, struct sim_error *err)
{
	for (size_t own = 0; own < RUN_CACHE_SETS_MAX && run->own_sets[own]; own++) {
		const char *set = run->own_sets[own];

		for (size_t i = 0; i < run->set_count; i++)
			if (sets_same_key(run->sets[i], set))
				return sim_user_error(
					err,
					"--set:%.*s: is what the runs of this "
					"figure differ in, allowed: any other key",
					(int)strcspn(set, "="), set);
	}
	return 0;
}

/* Load the configuration: mistakes in it are found before anything is run. */
static int load_config(struct cached_run *run, struct sim_error *err)
{
	size_t count = count_sets(run);
	struct cfg_override *overrides;
	int rc = check_own_sets(run, err);

	if (rc)
		return rc;
	overrides = calloc(count + 1, sizeof(*overrides));
	if (!overrides)
		return sim_runtime_error(err, "out of memory");
	for (size_t i = 0; i < count; i++)
		overrides[i].path_and_value = run_set(run, i);
	rc = config_load(&machine_registry, run->scenario, overrides, count, &run->config, err);
	free(overrides);
	return rc;
}

static int prepare(struct cached_run *runs, size_t count, struct sim_error *err)
{
	char program[CFG_HASH_MAX];
	int rc = hash_program(program, err);

	for (size_t i = 0; !rc && i < count; i++) {
		rc = load_config(&runs[i], err);
		if (!rc)
			rc = make_key(&runs[i], program, err);
	}
	return rc;
}

/* Read an entry. One that is damaged, or of something else, is as good as none. */
static int read_entry(struct cached_run *run, struct sim_error *err)
{
	char path[PATH_ROOM];
	int rc;

	entry_path(run, path);
	rc = folder_load(&run->folder, path, err);
	if (rc)
		return rc;
	if (run->folder.summary.complete &&
	    !strcmp(run->folder.summary.config_hash, run->config.hash)) {
		run->state = RUN_CACHE_READ;
		cache_folder_touch(path);
		return 0;
	}
	folder_destroy(&run->folder);
	return sim_runtime_error(err, "%s: is not the run that it should be", path);
}

/* Two runs of a figure may be the same, as the user has set things: it is made once. */
static bool is_duplicate(const struct cached_run *runs, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (!strcmp(runs[i].key, runs[index].key))
			return true;
	return false;
}

/* Look up what is there; returns how many are to be made. */
static size_t look_up(struct cached_run *runs, size_t count, bool fresh)
{
	size_t wanted = 0;

	for (size_t i = 0; i < count; i++) {
		struct sim_error ignored = { 0 };

		if (!fresh && !read_entry(&runs[i], &ignored))
			continue;
		if (is_duplicate(runs, i))
			runs[i].state = RUN_CACHE_MADE;
		else
			wanted++;
	}
	return wanted;
}

static size_t count_cores(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	if (!sched_getaffinity(0, sizeof(set), &set))
		return (size_t)CPU_COUNT(&set);
	return online > 0 ? (size_t)online : 1;
}

/*
 * What a child says on standard error is kept in memory; its standard output goes nowhere.
 * Returns 0 or an errno.
 */
static int spawn(const struct pool *pool, struct cached_run *run, const char *const *argv)
{
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int error = nowhere < 0 ? errno : 0;

	run->child_says = -1;
	if (error)
		return error;
	run->child_says = memfd_create("gvmsim", MFD_CLOEXEC);
	error = run->child_says < 0 ? errno : 0;
	if (!error)
		error = signals_spawn(pool->signals, &run->child, PROGRAM, argv, nowhere,
				      run->child_says);
	close(nowhere);
	return error;
}

/* gvmsim run --quiet --out FOLDER --set ... -- SCENARIO */
static int start(struct pool *pool, struct cached_run *run, struct sim_error *err)
{
	size_t count = count_sets(run);
	const char **argv = calloc(2 * count + 8, sizeof(*argv));
	char folder[PATH_ROOM];
	size_t argc = 0;
	int error;

	if (!argv)
		return sim_runtime_error(err, "out of memory");
	temporary_path(run, folder);
	cache_folder_remove(folder); /* of a dead process of our number */
	argv[argc++] = "gvmsim";
	argv[argc++] = "run";
	argv[argc++] = "--quiet";
	argv[argc++] = "--out";
	argv[argc++] = folder;
	for (size_t i = 0; i < count; i++) {
		argv[argc++] = "--set";
		argv[argc++] = run_set(run, i);
	}
	argv[argc++] = "--";
	argv[argc++] = run->scenario;
	error = spawn(pool, run, argv);
	free(argv);
	if (error) {
		if (run->child_says >= 0)
			close(run->child_says);
		return sim_runtime_error(err, "%s: cannot be started: %s", run->label,
					 strerror(error));
	}
	run->state = RUN_CACHE_RUNNING;
	pool->running++;
	return 0;
}

static int start_more(struct pool *pool, struct sim_error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < pool->count && pool->running < pool->cores; i++)
		if (pool->runs[i].state == RUN_CACHE_WANTED)
			rc = start(pool, &pool->runs[i], err);
	return rc;
}

/*
 * One rename puts it in place. Where an entry stands already, both change places, so that others
 * who read it find one at any time; on a file system that cannot do that, the old one goes first.
 */
static int put_in_place(const struct cached_run *run, struct sim_error *err)
{
	char temporary[PATH_ROOM], path[PATH_ROOM], aside[PATH_ROOM + 8];
	int error = 0;

	temporary_path(run, temporary);
	entry_path(run, path);
	snprintf(aside, sizeof(aside), "%s-old", temporary);
	/* Somebody else may be putting the same one there: not for ever. */
	for (int i = 0; i < REPLACE_MAX; i++) {
		if (!rename(temporary, path))
			return 0;
		error = errno;
		if (error != EEXIST && error != ENOTEMPTY && error != ENOTDIR)
			break;
		if (!renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_EXCHANGE)) {
			cache_folder_remove(temporary);
			return 0;
		}
		if (errno == EINVAL || errno == ENOSYS)
			rename(path, aside);
		cache_folder_remove(aside);
	}
	return sim_runtime_error(err, "%s: cannot be put in place: %s", path, strerror(error));
}

/* The last that a child said, without its "gvmsim: "; notes may stand before it. */
static char *child_last_line(const struct cached_run *run, char text[SAYS_MAX])
{
	static const char prefix[] = "gvmsim: ";
	off_t size = lseek(run->child_says, 0, SEEK_END);
	ssize_t length = pread(run->child_says, text, SAYS_MAX - 1,
			       max(size - (SAYS_MAX - 1), (off_t)0));
	char *line = text, *next = text;

	text[max(length, (ssize_t)0)] = '\0';
	while ((next = strstr(next, prefix))) {
		next += strlen(prefix);
		if (next == text + strlen(prefix) || next[-(ssize_t)sizeof(prefix)] == '\n')
			line = next;
	}
	line[strcspn(line, "\n")] = '\0';
	return line;
}

/* Pass on why a child failed. */
static int child_error(const struct cached_run *run, int status, struct sim_error *err)
{
	char text[SAYS_MAX];
	const char *line;

	if (WIFSIGNALED(status))
		return sim_runtime_error(err, "%s: its run was killed by signal %d", run->label,
					 WTERMSIG(status));
	line = child_last_line(run, text);
	sim_runtime_error(err, "%s: its run failed: %s", run->label,
			  *line ? line : "it did not say why");
	return WEXITSTATUS(status) == SIM_EXIT_USER ? -SIM_EXIT_USER : -SIM_EXIT_RUNTIME;
}

static int finish(struct pool *pool, struct cached_run *run, int status, struct sim_error *err)
{
	char temporary[PATH_ROOM];
	int rc;

	if (WIFEXITED(status) && !WEXITSTATUS(status))
		rc = put_in_place(run, err);
	else
		rc = child_error(run, status, err);
	close(run->child_says);
	run->state = RUN_CACHE_MADE;
	pool->running--;
	pool->made++;
	if (rc) {
		temporary_path(run, temporary);
		cache_folder_remove(temporary);
	}
	return rc;
}

/* Take the children that have ended. */
static int reap(struct pool *pool, struct sim_error *err)
{
	int rc = 0;
	int status;

	for (size_t i = 0; !rc && i < pool->count; i++) {
		struct cached_run *run = &pool->runs[i];

		if (run->state == RUN_CACHE_RUNNING &&
		    waitpid(run->child, &status, WNOHANG) == run->child)
			rc = finish(pool, run, status, err);
	}
	return rc;
}

/* Kill what still runs; what it has written goes. */
static void kill_all(struct pool *pool)
{
	char temporary[PATH_ROOM];

	for (size_t i = 0; i < pool->count; i++) {
		struct cached_run *run = &pool->runs[i];

		if (run->state != RUN_CACHE_RUNNING)
			continue;
		signals_kill(run->child);
		close(run->child_says);
		temporary_path(run, temporary);
		cache_folder_remove(temporary);
		run->state = RUN_CACHE_WANTED;
		pool->running--;
	}
}

static double seconds_since(const struct timespec *began)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - began->tv_sec) +
	       (double)(now.tv_nsec - began->tv_nsec) / 1e9;
}

static void draw_progress(const struct pool *pool)
{
	char text[128];
	size_t length;

	snprintf(text, sizeof(text), "%zu of %zu runs made, %.0f s, running:", pool->made,
		 pool->wanted, seconds_since(&pool->began));
	for (size_t i = 0; i < pool->count; i++) {
		length = strlen(text);
		if (pool->runs[i].state == RUN_CACHE_RUNNING)
			snprintf(text + length, sizeof(text) - length, " %s",
				 pool->runs[i].label);
	}
	progress_line(text);
}

static int interrupted(const struct pool *pool, struct sim_error *err)
{
	sim_runtime_error(err,
			  "interrupted; %zu of %zu runs were made and are in " RUN_CACHE_FOLDER,
			  pool->made, pool->wanted);
	return -SIM_EXIT_INTERRUPTED;
}

/* Until all is made, something failed, or a signal comes that ends us. */
static int run_all(struct pool *pool, struct sim_error *err)
{
	int rc = start_more(pool, err);

	while (!rc && pool->running) {
		if (signals_wait(pool->signals))
			rc = interrupted(pool, err);
		else
			rc = reap(pool, err);
		if (!rc)
			rc = start_more(pool, err);
		draw_progress(pool);
	}
	return rc;
}

static int make_wanted(struct pool *pool, struct sim_error *err)
{
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &pool->began);
	progress_start(true);
	rc = run_all(pool, err);
	kill_all(pool);
	progress_end();
	return rc;
}

/* Make what is missing, in a folder that goes again if nothing came of it. */
static int make_missing(struct cached_run *runs, size_t count, size_t wanted,
			const struct signals *signals, struct sim_error *err)
{
	struct pool pool = {
		.runs = runs,
		.count = count,
		.wanted = wanted,
		.cores = count_cores(),
		.signals = signals,
	};
	struct writer writer;
	int rc = writer_open(&writer, RUN_CACHE_FOLDER, err);
	int folder;

	if (rc)
		return rc;
	folder = cache_folder_enter(RUN_CACHE_FOLDER, wanted);
	rc = make_wanted(&pool, err);
	if (!rc)
		rc = writer_commit(&writer, err);
	if (rc)
		writer_abort(&writer);
	else
		fprintf(stderr, "gvmsim: made %zu of %zu runs in %.1f s%s\n", wanted, count,
			seconds_since(&pool.began),
			wanted < count ? ", the others come from " RUN_CACHE_FOLDER : "");
	cache_folder_leave(folder);
	return rc;
}

int run_cache_get(struct cached_run *runs, size_t count, bool fresh,
		  const struct signals *signals, struct sim_error *err)
{
	size_t wanted;
	int rc = prepare(runs, count, err);

	if (rc)
		return rc;
	wanted = look_up(runs, count, fresh);
	if (wanted)
		rc = make_missing(runs, count, wanted, signals, err);
	else
		fprintf(stderr, "gvmsim: made no run, all %zu come from " RUN_CACHE_FOLDER "\n",
			count);
	for (size_t i = 0; !rc && i < count; i++)
		if (runs[i].state != RUN_CACHE_READ)
			rc = read_entry(&runs[i], err);
	return rc;
}

void run_cache_destroy(struct cached_run *runs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		folder_destroy(&runs[i].folder);
		config_destroy(&runs[i].config);
	}
}
