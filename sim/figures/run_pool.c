// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * See run_pool.h. Each run is a process, not a thread, because a process can run one simulation
 * only. A child writes to a folder of its own beside the entries. If the child succeeds, one
 * rename makes its folder the entry.
 */
#include "figures/run_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "config/message.h"
#include "engine/error.h"
#include "figures/cache_folder.h"
#include "figures/cache_sum.h"
#include "figures/cached_run.h"
#include "gvm/port.h"
#include "results/writer.h"
#include "terminal/progress.h"
#include "terminal/signals.h"

#define PROGRAM	    "/proc/self/exe"
#define REPLACE_MAX 3
#define HOST_ROOM   64
#define PATH_ROOM   (PATH_MAX + HOST_ROOM)
#define SAYS_MAX    1024

/* The runs while they are made. */
struct pool {
	struct cached_run *runs;
	size_t count;
	size_t wanted; /* number of runs to make; the cache has the others */
	size_t made;   /* or tried, and failed */
	size_t failed; /* of those, the ones that failed while others went on */
	size_t running;
	size_t most; /* to run at once: one more than cores, as a run waits for the disk at its end */
	const struct run_store *store;
	char host[HOST_ROOM]; /* two hosts may have a process of the same PID */
	const struct signals *signals;
	struct timespec began;
};

/* The folder in which a child of this process makes a run. */
static void temporary_path(const struct pool *pool, const struct cached_run *run,
			   char ret_path[PATH_ROOM])
{
	snprintf(ret_path, PATH_ROOM, "%s/%s.tmp-%s-%ld", pool->store->folder, run->key,
		 pool->host, (long)getpid());
}

/*
 * Start a child. A file in memory keeps its standard error; its standard output is dropped.
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
	if (error && run->child_says >= 0)
		close(run->child_says);
	return error;
}

/* Start "gvmsim run --quiet --out FOLDER --set ... -- SCENARIO". */
static int start(struct pool *pool, struct cached_run *run, struct sim_error *err)
{
	char folder[PATH_ROOM];
	size_t count = 0, argc = 0;
	const char **argv;
	int error;

	while (cached_run_set(run, count))
		count++;
	argv = calloc(2 * count + 8, sizeof(*argv));
	if (!argv)
		return sim_runtime_error(err, "out of memory");
	temporary_path(pool, run, folder);
	cache_folder_remove(folder); /* left by a dead process with our PID */
	argv[argc++] = "gvmsim";
	argv[argc++] = "run";
	argv[argc++] = "--quiet";
	argv[argc++] = "--out";
	argv[argc++] = folder;
	for (size_t i = 0; i < count; i++) {
		argv[argc++] = "--set";
		argv[argc++] = cached_run_set(run, i);
	}
	argv[argc++] = "--";
	argv[argc++] = run->scenario;
	error = spawn(pool, run, argv);
	free(argv);
	if (error)
		return sim_runtime_error(err, "%s: cannot be started: %s", run->label,
					 strerror(error));
	run->state = RUN_CACHE_RUNNING;
	pool->running++;
	return 0;
}

static int start_more(struct pool *pool, struct sim_error *err)
{
	int status = 0;

	for (size_t i = 0; !status && i < pool->count && pool->running < pool->most; i++)
		if (pool->runs[i].state == RUN_CACHE_WANTED)
			status = start(pool, &pool->runs[i], err);
	return status;
}

/*
 * Make a run's folder the entry by one rename. An older entry is exchanged with it, so other
 * processes find an entry at any time. If the file system cannot exchange two folders, the old
 * one is removed first. Another process may create the same entry meanwhile: retry a few times.
 */
static int put_in_place(const struct cached_run *run, const char *temporary,
			struct sim_error *err)
{
	char aside[PATH_ROOM + 8];
	int error = 0;

	snprintf(aside, sizeof(aside), "%s-old", temporary);
	for (int i = 0; i < REPLACE_MAX; i++) {
		if (!rename(temporary, run->path))
			return 0;
		error = errno;
		if (error != EEXIST && error != ENOTEMPTY && error != ENOTDIR)
			break;
		if (!renameat2(AT_FDCWD, temporary, AT_FDCWD, run->path, RENAME_EXCHANGE)) {
			cache_folder_remove(temporary);
			return 0;
		}
		if (errno == EINVAL || errno == ENOSYS)
			rename(run->path, aside);
		cache_folder_remove(aside);
	}
	return sim_runtime_error(err, "%s: cannot be put in place: %s", run->path,
				 strerror(error));
}

/*
 * " (a.key=1, other.key=2)": what a point of a sweep sets, which its label does not say; of a
 * figure's run the label does, and there is no text. A seed is in the label.
 */
static void describe_point(const struct cached_run *run, char *text, size_t size)
{
	*text = '\0';
	for (size_t i = 0; !run->figure && run->own_sets && run->own_sets[i]; i++)
		if (strncmp(run->own_sets[i], "seed=", strlen("seed=")) != 0)
			cfg_append(text, size, "%s%.80s", *text ? ", " : " (",
				   run->own_sets[i]);
	if (*text)
		cfg_append(text, size, ")");
}

/*
 * The signal that has ended a child; 0: none has. A child may catch a signal. Then its status says
 * so: SIM_EXIT_INTERRUPTED, which is 128 + SIGINT, or 128 + the signal's number.
 */
static int ended_by(int child_status)
{
	if (WIFSIGNALED(child_status))
		return WTERMSIG(child_status);
	return WEXITSTATUS(child_status) > 128 ? WEXITSTATUS(child_status) - 128 : 0;
}

/* The error of a run that a signal has ended. A child that is killed prints nothing. */
static int killed_error(struct cached_run *run, const char *point, int child_status,
			struct sim_error *err)
{
	int number = ended_by(child_status);
	const char *name = sigabbrev_np(number);

	run->killed = true;
	if (!WIFSIGNALED(child_status) && number == SIGINT)
		snprintf(run->why, sizeof(run->why), "its run was interrupted by a signal");
	else if (name)
		snprintf(run->why, sizeof(run->why), "its run was killed by SIG%s%s", name,
			 number == SIGKILL ? ", as the kernel does without memory" : "");
	else
		snprintf(run->why, sizeof(run->why), "its run was killed by signal %d", number);
	return sim_runtime_error(err, "%s%s: %s", run->label, point, run->why);
}

/*
 * Pass on a child's error: the last line that begins with "gvmsim: ". Notes may come before it.
 * A mistake of the user and a signal are kept in the run, too.
 */
static int child_error(struct cached_run *run, int child_status, struct sim_error *err)
{
	static const char prefix[] = "gvmsim: ";
	off_t size = lseek(run->child_says, 0, SEEK_END);
	char text[SAYS_MAX], point[256];
	ssize_t length = pread(run->child_says, text, SAYS_MAX - 1,
			       max(size - (SAYS_MAX - 1), (off_t)0));
	char *line = text, *next = text;
	bool user = WIFEXITED(child_status) && WEXITSTATUS(child_status) == SIM_EXIT_USER;

	describe_point(run, point, sizeof(point));
	if (ended_by(child_status))
		return killed_error(run, point, child_status, err);
	text[max(length, (ssize_t)0)] = '\0';
	while ((next = strstr(next, prefix))) {
		bool begins_line = next == text || next[-1] == '\n';

		next += strlen(prefix);
		if (begins_line)
			line = next;
	}
	line[strcspn(line, "\n")] = '\0';
	sim_runtime_error(err, "%s%s: its run failed: %s", run->label, point,
			  *line ? line : "it ended without a message");
	if (user)
		snprintf(run->why, sizeof(run->why), "%.599s", *line ? line : "no message");
	return user ? -SIM_EXIT_USER : -SIM_EXIT_RUNTIME;
}

/* Take the children that have ended. Keep the results of each, or pass on its error. */
static int reap(struct pool *pool, struct sim_error *err)
{
	int status = 0;

	for (size_t i = 0; !status && i < pool->count; i++) {
		struct cached_run *run = &pool->runs[i];
		char temporary[PATH_ROOM];
		struct sim_error own;
		bool others_go_on = false;
		int child_status;

		if (run->state != RUN_CACHE_RUNNING ||
		    waitpid(run->child, &child_status, WNOHANG) != run->child)
			continue;
		temporary_path(pool, run, temporary);
		if (WIFEXITED(child_status) && !WEXITSTATUS(child_status)) {
			status = cache_sum_write(temporary, err);
			if (!status)
				status = put_in_place(run, temporary, err);
		} else {
			status = child_error(run, child_status, &own);
			others_go_on = pool->store->go_on && *run->why;
			/* Of several the first one counts; a failure that ends all counts more. */
			if (!pool->failed || !others_go_on)
				*err = own;
		}
		close(run->child_says);
		run->state = RUN_CACHE_MADE;
		pool->running--;
		pool->made++;
		if (status)
			cache_folder_remove(temporary);
		if (others_go_on) {
			pool->failed++;
			status = 0;
		}
	}
	return status;
}

/* Kill the children that still run and remove their folders. */
static void kill_all(struct pool *pool)
{
	char temporary[PATH_ROOM];

	for (size_t i = 0; i < pool->count; i++) {
		struct cached_run *run = &pool->runs[i];

		if (run->state != RUN_CACHE_RUNNING)
			continue;
		signals_kill(run->child);
		close(run->child_says);
		temporary_path(pool, run, temporary);
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
	double seconds = seconds_since(&pool->began);
	char text[128], left[48] = "";
	size_t length;

	/* Runs in flight count as half made. */
	if (pool->made) {
		double done = (double)pool->made + (double)pool->running / 2;
		double left_s = seconds * fmax((double)pool->wanted - done, 0) / done;

		if (left_s < 90)
			snprintf(left, sizeof(left), ", about %.0f s left", left_s);
		else
			snprintf(left, sizeof(left), ", about %.0f min left", left_s / 60);
	}
	snprintf(text, sizeof(text), "%zu of %zu runs made, %.0f s%s, running:", pool->made,
		 pool->wanted, seconds, left);
	for (size_t i = 0; i < pool->count; i++) {
		length = strlen(text);
		if (pool->runs[i].state == RUN_CACHE_RUNNING)
			snprintf(text + length, sizeof(text) - length, " %s",
				 pool->runs[i].label);
	}
	progress_line(text);
}

/* Make all runs. Ends early if a run fails or a signal comes; then no child is left. */
static int run_all(struct pool *pool, struct sim_error *err)
{
	int status = start_more(pool, err);

	while (!status && pool->running) {
		if (signals_wait(pool->signals)) {
			sim_runtime_error(err,
					  "interrupted; %zu of %zu runs were made and are "
					  "in %s",
					  pool->made - pool->failed, pool->wanted,
					  pool->store->folder);
			status = -SIM_EXIT_INTERRUPTED;
		} else {
			status = reap(pool, err);
		}
		if (!status)
			status = start_more(pool, err);
		draw_progress(pool);
	}
	kill_all(pool);
	return !status && pool->failed ? -SIM_EXIT_USER : status;
}

static size_t count_cores(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	if (!sched_getaffinity(0, sizeof(set), &set))
		return (size_t)CPU_COUNT(&set);
	return online > 0 ? (size_t)online : 1;
}

int run_pool_make(struct cached_run *runs, size_t count, size_t wanted,
		  const struct run_store *store, const struct signals *signals,
		  double *ret_seconds, struct sim_error *err)
{
	struct pool pool = {
		.runs = runs,
		.count = count,
		.wanted = wanted,
		.most = count_cores() + 1,
		.store = store,
		.signals = signals,
	};
	struct writer writer; /* if nothing is kept, it removes the folder again */
	int status = writer_open(&writer, store->folder, err);
	int folder;

	if (status)
		return status;
	writer_remove_stale(&writer); /* files of writer_open() that a kill has left */
	if (gethostname(pool.host, sizeof(pool.host)))
		snprintf(pool.host, sizeof(pool.host), "host");
	pool.host[sizeof(pool.host) - 1] = '\0';
	folder = store->shared ?
			 -1 :
			 cache_folder_enter(store->folder, wanted, store->keep, store->held);
	clock_gettime(CLOCK_MONOTONIC, &pool.began);
	status = run_all(&pool, err);
	if (!status)
		status = writer_commit(&writer, err);
	if (status)
		writer_abort(&writer);
	*ret_seconds = seconds_since(&pool.began);
	cache_folder_leave(folder);
	return status;
}
