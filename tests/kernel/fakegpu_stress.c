// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Everything at once, at random, for GVM_TEST_STRESS_SECONDS. Tenants page, map, discard,
 * listen, fork and share TSGs, some of them in cgroups. Instructions touch up to 32 blocks
 * together, so a warp may need more chunks than its limit. The GPU's size, features, scheduler,
 * and how often RPCs and copies fail change from round to round. An attacker cuts the tenants'
 * limits, freezes and thaws them, writes noise into their control files, suspends and resumes
 * the GPU, takes chunks by force, and kills tenants at any point. An administrator makes
 * containers of cgroups, limits and removes them, and moves tenants there. At the end of a
 * round the GPU may be lost. A tenant may die of a limit or of a failed copy. Every word that a
 * tenant reads must be the word that it stored.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakegpu_guest.h"
#include "gvm_ioctl.h"

#define STRESS_SECONDS	   3u /* unless GVM_TEST_STRESS_SECONDS is set */
#define ROUND_SECONDS	   60 /* per round, with one GPU */
#define FIRST_PAGE_SECONDS 60 /* a round goes on so long until a page has been looked at */
#define TENANTS		   6u
#define RANGES		   3u
#define RANGE_CHUNKS	   8u
#define NOISE_MAX	   300u
#define CGROUPS		   "/sys/fs/cgroup"
#define CGROUP_COUNT	   2u /* named /c0 and on */

/* Counts over all tenants of a round. */
struct stress_counts {
	volatile uint64_t verified; /* pages */
	volatile uint64_t wrong;    /* of the verified pages */
	volatile uint64_t forks;
	volatile uint64_t events;
};

/* One round of the stress: its tenants, its settings, and counts of its events. */
struct stress_round {
	struct dice dice;
	pid_t pids[TENANTS];
	uint64_t kills, died, cuts, freezes, noise, suspends, taken, broken;
	uint64_t administered; /* requests about cgroups that succeeded */
	uint64_t remote;       /* tenants killed in a container that had remote pages */
	int gpu;	       /* open device node */
};

static struct stress_counts *counts;
static uint64_t lives; /* tenants ever started; each draws its own numbers */

static const char *const writable[] = {
	"gmem.limit.high",  "gmem.limit.low", "hmem.limit",	"compute.timeslice",
	"compute.priority", "compute.weight", "compute.freeze",
};

/* A range of a tenant, with one pattern in all of it. */
struct stress_range {
	uint64_t va; /* 0: not mapped */
	uint64_t bytes;
	uint64_t seed;
	char history[33]; /* a letter for each of its last operations, the latest at the end */
};

static void range_remember(struct stress_range *range, char operation)
{
	size_t last = sizeof(range->history) - 2;

	if (!range->history[0])
		memset(range->history, '.', last + 1);
	memmove(range->history, range->history + 1, last);
	range->history[last] = operation;
}

/*
 * Judge a launch. A limit that leaves no room on the GPU or on the host ends the TSG, and the
 * tenant with it. A wrong word is counted as an error.
 */
static void expect_launch(int error)
{
	if (error == EBADMSG)
		__sync_fetch_and_add(&counts->wrong, 1);
	if (error == EDQUOT || error == ENOMEM || error == EIO)
		_exit(0);
	require(error == 0, "launch: %s", guest_error_name(error));
}

static void range_map(int context, struct stress_range *range, struct dice *dice)
{
	int error;

	range->bytes = roll(dice, 2) ? (1 + roll(dice, RANGE_CHUNKS * 32)) * PAGE :
				       (1 + roll(dice, RANGE_CHUNKS)) * CHUNK;
	range->seed = roll(dice, UINT64_MAX) | 1;
	if (roll(dice, 2)) {
		error = fakegpu_map_on_host(context, range->bytes, range->seed, &range->va);
	} else {
		error = fakegpu_map(context, range->bytes, &range->va);
		range->seed = 0;
	}
	if (error == EDQUOT || error == ENOMEM || error == ENOSPC || error == EIO)
		_exit(0);
	require(error == 0, "map: %s", guest_error_name(error));
	range_remember(range, range->seed ? 'H' : 'M');
}

static void show_wrong(int context, const struct stress_range *range,
		       const struct gvm_fakegpu_launch *launch)
{
	uint64_t word = 0;

	fakegpu_load(context, launch->ret_first_va, &word, sizeof(word));
	guest_log(
		"# process %d: %llu words of %#llx bytes are wrong, the first at +%#llx: %#llx "
		"(seed %#llx, %u together), after %s",
		getpid(), launch->ret_mismatches, launch->bytes,
		launch->ret_first_va - launch->va, (unsigned long long)word, launch->seed,
		launch->together, range->history);
}

/* Run a kernel over the range. An instruction touches as many parts as the dice say. */
static void range_launch(int context, struct stress_range *range, uint32_t op, uint64_t seed,
			 struct dice *dice)
{
	uint32_t together = 1u << roll(dice, 6);
	struct gvm_fakegpu_launch launch = {
		.va = range->va,
		.bytes = range->bytes,
		.seed = seed,
		.op = op,
		.order = (uint32_t)roll(dice, GVM_FAKEGPU_ORDERS),
		.together = range->bytes / PAGE % together ? 1 : together,
	};
	int error;

	error = fakegpu_launch(context, &launch);
	if (error == EBADMSG)
		show_wrong(context, range, &launch);
	expect_launch(error);
	range_remember(range, op == GVM_FAKEGPU_FILL ? 'f' : 'v');
}

static void range_verify(int context, struct stress_range *range, struct dice *dice)
{
	range_launch(context, range, range->seed ? GVM_FAKEGPU_VERIFY : GVM_FAKEGPU_VERIFY_ZERO,
		     range->seed, dice);
	__sync_fetch_and_add(&counts->verified, range->bytes / PAGE);
}

static void range_fill(int context, struct stress_range *range, struct dice *dice)
{
	range->seed = roll(dice, UINT64_MAX) | 1;
	range_launch(context, range, GVM_FAKEGPU_FILL, range->seed, dice);
}

static void range_discard(int context, struct stress_range *range)
{
	require(fakegpu_discard(context, range->va, range->bytes) == 0, "discard");
	range->seed = 0;
	range_remember(range, 'd');
}

static void range_unmap(int context, struct stress_range *range)
{
	require(fakegpu_unmap(context, range->va) == 0, "unmap");
	range->va = 0;
}

static void range_step(int context, struct stress_range *range, struct dice *dice)
{
	if (!range->va) {
		range_map(context, range, dice);
		return;
	}
	switch (roll(dice, 12)) {
	case 0:
		range_unmap(context, range);
		break;
	case 1:
		range_discard(context, range);
		break;
	case 2 ... 5:
		range_fill(context, range, dice);
		break;
	default:
		range_verify(context, range, dice);
	}
}

/*
 * A child joins its parent's container with an address space of its own. The parent's is still
 * open at first.
 */
static void child(pid_t parent, int inherited, struct stress_range *range, struct dice *dice)
{
	struct stress_range own = { 0 };
	int context;
	int error;

	if (range->va)
		range_verify(inherited, range, dice);
	close(inherited);
	error = fakegpu_open(0, (uint32_t)parent, 1 + (uint32_t)roll(dice, 3), &context);
	if (error) /* the parent was killed, or its limit is full */
		_exit(0);
	/* It shares its TSG with the parent's container, as an MPS server does. */
	if (roll(dice, 4) == 0)
		(void)ioctl(context, GVM_FAKEGPU_SHARE, &(__u32){ (__u32)parent });
	for (uint32_t i = 0; i < 4; i++)
		range_step(context, &own, dice);
	_exit(0);
}

static void fork_child(int context, struct stress_range *range, struct dice *dice)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid == 0)
		child(parent, context, range, dice);
	waitpid(pid, NULL, 0);
	__sync_fetch_and_add(&counts->forks, 1);
}

/* A descriptor for pressure events. -1: its container has as many listeners as it may. */
static int listen_if_possible(void)
{
	struct gvm_pressure_request request = { .gpu = 0, .flags = O_NONBLOCK };
	int dev = open("/dev/gvm", O_RDWR | O_CLOEXEC);
	int fd = ioctl(dev, GVM_IOCTL_PRESSURE_OPEN, &request);

	require(fd >= 0 || errno == ENOSPC, "listen: %s", guest_error_name(errno));
	close(dev);
	return fd;
}

/* Read all events so far. A listener that does not read does no harm. */
static void read_events(int listener)
{
	struct gvm_pressure_record event;

	while (read(listener, &event, sizeof(event)) == sizeof(event))
		__sync_fetch_and_add(&counts->events, 1);
}

/*
 * Move process @pid (0: the caller) into cgroup @cgroup, if both exist. Returns 0 or the errno.
 */
static int cgroup_enter(uint64_t cgroup, pid_t pid)
{
	char path[64], text[16];

	snprintf(path, sizeof(path), "../../fs/cgroup/c%u/cgroup.procs", (unsigned int)cgroup);
	snprintf(text, sizeof(text), "%d", pid);
	return guest_write(path, text);
}

static void tenant(uint32_t life)
{
	struct dice dice = fakegpu_dice(1000 + life);
	struct stress_range ranges[RANGES] = { 0 };
	int context, listener;

	if (roll(&dice, 2))
		cgroup_enter(roll(&dice, CGROUP_COUNT), 0);
	if (fakegpu_open(0, 0, 1 + (uint32_t)roll(&dice, 4), &context))
		_exit(0); /* no room for its page tables */
	listener = listen_if_possible();
	for (;;) {
		struct stress_range *range = &ranges[roll(&dice, RANGES)];

		range_step(context, range, &dice);
		if (roll(&dice, 16) == 0)
			fork_child(context, range, &dice);
		if (roll(&dice, 8) == 0)
			read_events(listener);
	}
}

/*
 * A tenant and its children are a process group, so that no child stays behind, frozen for
 * ever.
 */
static void start(struct stress_round *round, uint32_t index)
{
	round->pids[index] = tenant_start(tenant, (uint32_t)lives++);
	setpgid(round->pids[index], round->pids[index]);
}

static void count_remote(struct stress_round *round, uint32_t index)
{
	round->remote += event_count(round->pids[index], "remote ") > 0;
}

/* Kill a tenant at any point. The books must be in order afterwards. */
static void kill_tenant(struct stress_round *round, uint32_t index)
{
	int status;

	count_remote(round, index);
	kill(-round->pids[index], SIGKILL);
	waitpid(round->pids[index], &status, 0);
	round->kills++;
	round->died += !WIFSIGNALED(status);
	round->broken += WIFEXITED(status) && WEXITSTATUS(status);
	start(round, index);
}

static void revive(struct stress_round *round)
{
	for (uint32_t i = 0; i < TENANTS; i++) {
		int status;

		if (waitpid(round->pids[i], &status, WNOHANG) != round->pids[i])
			continue;
		kill(-round->pids[i], SIGKILL);
		round->died++;
		round->broken += !WIFEXITED(status) || WEXITSTATUS(status);
		start(round, i);
	}
}

static void cut_limit(struct stress_round *round, pid_t pid)
{
	uint64_t limit = roll(&round->dice, 16) * CHUNK + roll(&round->dice, 2) * PAGE;

	control_set_number(pid, roll(&round->dice, 4) ? "gmem.limit.high" : "gmem.limit.low",
			   limit);
	if (roll(&round->dice, 2))
		control_set(pid, "gmem.limit.high", "max");
	round->cuts++;
}

static void freeze(struct stress_round *round, pid_t pid)
{
	control_set(pid, "compute.freeze", roll(&round->dice, 3) ? "0" : "1");
	control_set_number(pid, "compute.priority", roll(&round->dice, 17));
	round->freezes++;
}

/* Random bytes, or digits, which may be a valid value. */
static void write_noise(struct stress_round *round, pid_t pid)
{
	const char *name = writable[roll(&round->dice, 7)];
	bool digits = roll(&round->dice, 2);
	uint64_t length = roll(&round->dice, NOISE_MAX);
	char path[128], noise[NOISE_MAX];
	int fd;

	for (uint64_t i = 0; i < length; i++)
		noise[i] =
			(char)(digits ? '0' + roll(&round->dice, 10) : roll(&round->dice, 256));
	snprintf(path, sizeof(path), GUEST_DEBUGFS "/gvm/%d/0/%s", pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC | (roll(&round->dice, 2) ? O_NONBLOCK : 0));
	if (fd >= 0 && write(fd, noise, digits ? length % 12 : length) >= 0)
		round->noise++;
	close(fd);
}

/* A suspend at any point. It may time out. After a resume the stopped work goes on. */
static void suspend(struct stress_round *round)
{
	__u64 timeout_us = roll(&round->dice, 100000);
	int error = ioctl(round->gpu, GVM_FAKEGPU_QUIESCE, &timeout_us) ? errno : 0;

	if (!error) {
		sleep_ms((unsigned int)roll(&round->dice, 10));
		error = ioctl(round->gpu, GVM_FAKEGPU_RESUME) ? errno : 0;
		/* RPCs may fail. The device runs all the same. */
		error = error == EIO ? 0 : error;
		round->suspends++;
	}
	round->broken += error != 0 && error != ETIMEDOUT;
}

/* RM takes memory by force. */
static void take(struct stress_round *round)
{
	struct gvm_fakegpu_take take = { .first = (uint32_t)roll(&round->dice, 10),
					 .count = 3 };

	round->broken += ioctl(round->gpu, GVM_FAKEGPU_TAKE, &take) && errno != EINVAL;
	round->taken += take.ret_taken;
}

/* Write "+/c<n>" or "-/c<n>" to the file of cgroups that are containers. 0 or the errno. */
static int cgroup_request(char sign, uint64_t cgroup)
{
	char text[16];

	snprintf(text, sizeof(text), "%c/c%u", sign, (unsigned int)cgroup);
	return guest_write("gvm/cgroups", text);
}

/* The administrator does something with a cgroup. Each request may be refused. */
static void administer(struct stress_round *round, pid_t pid)
{
	uint64_t cgroup = roll(&round->dice, CGROUP_COUNT);
	char path[64], text[24];
	int error = 0;

	switch (roll(&round->dice, 6)) {
	case 0:
		error = cgroup_request('-', cgroup);
		break;
	case 1:
		error = cgroup_enter(cgroup, pid);
		break;
	case 2:
		snprintf(path, sizeof(path), CGROUPS "/c%u", (unsigned int)cgroup);
		error = rmdir(path) ? errno : 0; /* EBUSY: it has processes */
		mkdir(path, 0755);
		break;
	case 3:
		snprintf(path, sizeof(path), "gvm/cgroup/c%u/0/gmem.limit.high",
			 (unsigned int)cgroup);
		snprintf(text, sizeof(text), "%llu",
			 (unsigned long long)(roll(&round->dice, 32) * CHUNK));
		error = guest_write(path, text);
		break;
	default:
		error = cgroup_request('+', cgroup);
	}
	round->administered += !error;
}

static void stress_step(struct stress_round *round)
{
	uint32_t index = (uint32_t)roll(&round->dice, TENANTS);
	pid_t pid = round->pids[index];

	switch (roll(&round->dice, 22)) {
	case 19 ... 21:
		administer(round, pid);
		break;
	case 16 ... 17:
		suspend(round);
		break;
	case 18:
		take(round);
		break;
	case 0:
		kill_tenant(round, index);
		break;
	case 1 ... 5:
		cut_limit(round, pid);
		break;
	case 6 ... 9:
		freeze(round, pid);
		break;
	case 10 ... 12:
		write_noise(round, pid);
		break;
	default:
		round->broken += !gpu_check();
	}
	revive(round);
	sleep_ms((unsigned int)roll(&round->dice, 30));
}

/* Wait also for the children of killed tenants: they now belong to the first process. */
static void wait_for_all(void)
{
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static void stress_for(struct stress_round *round, long seconds)
{
	long end = guest_seconds() + seconds;

	for (uint32_t i = 0; i < TENANTS; i++)
		start(round, i);
	/* On a small GPU of many tenants, and a busy host, the first page can come late. */
	while (guest_seconds() < end ||
	       (!counts->verified && guest_seconds() < end + FIRST_PAGE_SECONDS))
		stress_step(round);
	if (roll(&round->dice, 4) == 0)
		ioctl(round->gpu, GVM_FAKEGPU_LOSE);
	for (uint32_t i = 0; i < TENANTS; i++) {
		count_remote(round, i);
		kill(-round->pids[i], SIGKILL);
	}
	wait_for_all();
	/* A removed cgroup leaves within a second, or with the next request. */
	for (uint64_t i = 0; i < CGROUP_COUNT; i++) {
		cgroup_request('+', i);
		round->broken += cgroup_request('-', i) != 0;
	}
}

static void stress_round(uint32_t number, long seconds)
{
	struct stress_round round = { .dice = fakegpu_dice(900 + number) };
	static const char *const schedulers[] = { "timeslices", "priority", "weighted" };
	char parameters[200];

	snprintf(parameters, sizeof(parameters),
		 "chunks=%u sms=%u features=%u sub_chunks=%u scheduler=%s tracking=%s "
		 "fail_rpcs=%u fail_copies=%u remote=%u",
		 10 + (unsigned int)roll(&round.dice, 30),
		 1 + (unsigned int)roll(&round.dice, 4), (unsigned int)roll(&round.dice, 8),
		 (unsigned int)roll(&round.dice, 2), schedulers[roll(&round.dice, 3)],
		 roll(&round.dice, 2) ? "events" : "busy_bits",
		 roll(&round.dice, 2) ? 0 : 3 + (unsigned int)roll(&round.dice, 20),
		 roll(&round.dice, 3) ? 0 : 100 + (unsigned int)roll(&round.dice, 400),
		 roll(&round.dice, 4) != 0);
	memset((void *)counts, 0, sizeof(*counts));
	gpu_load(parameters);
	round.broken += fakegpu_open_device(0, &round.gpu) != 0;
	stress_for(&round, seconds);
	close(round.gpu);
	guest_log("# kills %llu, died %llu, cuts %llu, freezes %llu, noise %llu, forks %llu, "
		  "events %llu, suspends %llu, taken %llu, of cgroups %llu, remote %llu, "
		  "partial %u",
		  (unsigned long long)round.kills, (unsigned long long)round.died,
		  (unsigned long long)round.cuts, (unsigned long long)round.freezes,
		  (unsigned long long)round.noise, (unsigned long long)counts->forks,
		  (unsigned long long)counts->events, (unsigned long long)round.suspends,
		  (unsigned long long)round.taken, (unsigned long long)round.administered,
		  (unsigned long long)round.remote, gpu_info().partial_evictions);
	guest_check(round.broken == 0, "books and tenants were in order at each look");
	guest_check(counts->verified && counts->wrong == 0,
		    "%llu pages were looked at, %llu of them were wrong",
		    (unsigned long long)counts->verified, (unsigned long long)counts->wrong);
	gpu_unload();
}

void test_stress(void)
{
	long seconds = (long)guest_number("GVM_TEST_STRESS_SECONDS", STRESS_SECONDS);
	long end = guest_seconds() + seconds;
	uint32_t number = 0;

	counts = shared_alloc(sizeof(*counts));
	mkdir(CGROUPS, 0755);
	guest_check(mount("cgroup", CGROUPS, "cgroup2", 0, NULL) == 0 &&
			    mkdir(CGROUPS "/c0", 0755) == 0 && mkdir(CGROUPS "/c1", 0755) == 0,
		    "cgroups");
	/* Loading and unloading take their share. The last round has what is left of two. */
	for (long left = seconds; left > 0; left = end - guest_seconds())
		stress_round(number++, left < 2 * ROUND_SECONDS ? left : ROUND_SECONDS);
	guest_log("# %ld seconds of stress", seconds);
	guest_check(rmdir(CGROUPS "/c0") == 0 && rmdir(CGROUPS "/c1") == 0 &&
			    umount(CGROUPS) == 0,
		    "no cgroup is left");
}
