// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A victim with secrets, a protected working set and faults, beside ten neighbours. Peaceful
 * and hostile rounds take turns in one boot; the kinds of hostile neighbours are drawn. Each
 * neighbour is in a cgroup of its own with the same limit. It runs as a user who owns two of
 * its files in sysfs, gmem.limit.high and compute.freeze. The victim's promises must hold: no
 * chunk of it below gmem.limit.low is lost, and no word of it is wrong or seen by a neighbour.
 * The victim's faults take at most twice as long beside hostile neighbours as beside peaceful
 * ones, at the 99th percentile. The GPU measures a fault, from the first stall of a warp to the
 * access that succeeds, so waits for an SM do not count. With 16 SMs most tenants run side by
 * side, and a batch has faults of many of them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakegpu_guest.h"
#include "gvm_ioctl.h"

#define NEIGHBOURS   10u
#define ROUNDS	     3u	  /* of each sort in a series, in turn */
#define SERIES	     2u	  /* the second one only if the first one is too slow */
#define FAULTS	     40u  /* of the victim, per round */
#define SLOWER	     200u /* percent: p99 of faults beside hostile neighbours to peaceful ones */
#define LIMIT_CHUNKS 4u	  /* of a neighbour; one is for page tables */
#define LOW_CHUNKS   10u
#define SECRETS	     6u /* chunks with the victim's secrets */
#define CGROUPS	     "/sys/fs/cgroup"
#define FIRST_USER   2000u
#define ALL_DONE     UINT32_MAX

enum { PEACEFUL, HOSTILE, SORTS };

/* Memory that the victim and the first process share. */
struct stage {
	volatile uint32_t order; /* rounds that the victim shall have done, or ALL_DONE */
	volatile uint32_t done;
	volatile uint32_t wrong;
	volatile uint32_t seen; /* pieces of fresh memory that were not zero */
	volatile uint32_t joined;
	volatile pid_t victim;
	volatile uint64_t attacks[NEIGHBOURS];
	uint64_t ns[SORTS][ROUNDS * FAULTS]; /* of the last series */
};

static struct stage *stage;

/* Write a file of the container of cgroup n<index>. Returns 0 or the errno. */
static int own_write(uint32_t index, const char *file, uint64_t value)
{
	char path[96], text[32];

	snprintf(path, sizeof(path), "/sys/kernel/gvm/cgroup/n%u/0/%s", index, file);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return file_write(path, text);
}

static void enter(const char *cgroup)
{
	char path[64];

	snprintf(path, sizeof(path), CGROUPS "/%s/cgroup.procs", cgroup);
	require(file_write(path, "0") == 0, "enter %s: %s", cgroup, guest_error_name(errno));
}

/* The victim. */

static void victim(uint32_t index)
{
	int context;
	uint64_t secrets, va;

	(void)index;
	enter("victim");
	context = tenant_open(0);
	secrets = tenant_map(context, SECRETS * CHUNK);
	va = tenant_map(context, CHUNK);
	require(fakegpu_fill(context, secrets, SECRETS * CHUNK, 77) == 0, "fill");
	stage->victim = getpid();
	for (uint32_t round = 0;; round++) {
		uint64_t *ns = &stage->ns[round % SORTS][(round / SORTS) % ROUNDS * FAULTS];

		while (stage->order <= round)
			sleep_ms(1);
		if (stage->order == ALL_DONE)
			break;
		for (uint32_t i = 0; i < FAULTS; i++) {
			struct gvm_fakegpu_launch launch = {
				.va = va,
				.bytes = PAGE,
				.seed = i,
				.op = GVM_FAKEGPU_FILL,
			};
			int error;

			require(fakegpu_discard(context, va, CHUNK) == 0, "discard");
			error = fakegpu_launch(context, &launch);
			require(error == 0, "fault: %s", guest_error_name(error));
			ns[i] = launch.ret_fault_ns;
		}
		stage->wrong +=
			fakegpu_verify(context, secrets, SECRETS * CHUNK, 77, NULL) != 0;
		stage->done = round + 1;
	}
	close(context);
}

/* Neighbours. Each goes on until it is killed, and an error of the GPU does not end it. */

/* Use all chunks of a mapping: every eighth page is filled, then verified. */
static int page_once(int context, uint64_t va, uint64_t seed)
{
	struct gvm_fakegpu_launch launch = {
		.va = va,
		.bytes = (LIMIT_CHUNKS + 2) * CHUNK,
		.seed = seed,
		.op = GVM_FAKEGPU_FILL,
		.stride_pages = 8,
	};
	int error = fakegpu_launch(context, &launch);

	launch.op = GVM_FAKEGPU_VERIFY;
	return error ? error : fakegpu_launch(context, &launch);
}

static void paging(uint32_t index, struct dice *dice)
{
	int context;
	uint64_t va;

	if (fakegpu_open(0, 0, 1, &context))
		return;
	if (fakegpu_map(context, (LIMIT_CHUNKS + 2) * CHUNK, &va) == 0)
		for (uint32_t i = 0; i < 4; i++) {
			if (page_once(context, va, roll(dice, UINT64_MAX) | 1))
				break;
			stage->attacks[index]++;
		}
	close(context);
}

static void spam_contexts(uint32_t index, struct dice *dice)
{
	int contexts[32];
	uint32_t count = 0;

	(void)index;
	while (count < 32 &&
	       fakegpu_open(0, 0, 1 + (uint32_t)roll(dice, 4), &contexts[count]) == 0)
		count++;
	for (uint32_t i = 0; i < count; i++)
		close(contexts[i]);
}

/* Its fresh memory must be zero. */
static void map_and_unmap(uint32_t index, struct dice *dice)
{
	int context;

	(void)index;
	if (fakegpu_open(0, 0, 1, &context))
		return;
	for (uint32_t i = 0; i < 40; i++) {
		uint64_t bytes = (1 + roll(dice, 64)) * PAGE;
		uint64_t va;

		if (fakegpu_map(context, bytes, &va))
			break;
		stage->seen += fakegpu_verify_zero(context, va, bytes, NULL) == EBADMSG;
		if (roll(dice, 4))
			fakegpu_unmap(context, va);
	}
	close(context);
}

/* Every warp touches another chunk, and there are far more chunks than its limit. */
static void always_fault(uint32_t index, struct dice *dice)
{
	struct gvm_fakegpu_launch launch = {
		.bytes = 64 * CHUNK,
		.stride_pages = 32,
		.order = GVM_FAKEGPU_SHUFFLED,
	};
	int context;
	uint64_t va;

	(void)index;
	if (fakegpu_open(0, 0, 2, &context))
		return;
	if (fakegpu_map(context, launch.bytes, &va) == 0) {
		launch.va = va;
		for (uint32_t i = 0; i < 8; i++) {
			launch.seed = roll(dice, UINT64_MAX) | 1;
			if (fakegpu_launch(context, &launch))
				break;
		}
	}
	close(context);
}

static void freeze_itself(uint32_t index, struct dice *dice)
{
	pid_t child = fork();

	if (child == 0) {
		for (;;)
			paging(index, dice);
	}
	for (uint32_t i = 0; i < 30; i++) {
		own_write(index, "compute.freeze", roll(dice, 2));
		sleep_ms((unsigned int)roll(dice, 4));
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	own_write(index, "compute.freeze", 0);
}

static void write_limits(uint32_t index, struct dice *dice)
{
	pid_t child = fork();

	if (child == 0) {
		for (;;)
			paging(index, dice);
	}
	for (uint32_t i = 0; i < 60; i++)
		own_write(index, "gmem.limit.high", roll(dice, LIMIT_CHUNKS * 32 + 1) * PAGE);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	own_write(index, "gmem.limit.high", LIMIT_CHUNKS * CHUNK);
}

static void on_alarm(int signal)
{
	(void)signal;
}

static void storm_signals(uint32_t index, struct dice *dice)
{
	struct itimerval each_ms = { { 0, 1000 }, { 0, 1000 } };

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &each_ms, NULL);
	paging(index, dice);
}

static void fork_children(uint32_t index, struct dice *dice)
{
	for (uint32_t i = 0; i < 4; i++)
		if (fork() == 0) {
			dice->state += 8 * (i + 1);
			paging(index, dice);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
}

static void exit_in_the_middle(uint32_t index, struct dice *dice)
{
	pid_t child = fork();

	if (child == 0) {
		always_fault(index, dice);
		_exit(0);
	}
	usleep((unsigned int)roll(dice, 20000));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* It tries to join the victim's container by its tgid, and to share a TSG with it. */
static void join_victim(uint32_t index, struct dice *dice)
{
	uint32_t tgid = (uint32_t)stage->victim;
	int context;

	(void)dice;
	if (fakegpu_open(0, tgid, 1, &context) == 0) {
		stage->joined++;
		close(context);
	}
	if (fakegpu_open(0, 0, 1, &context) == 0) {
		stage->joined += ioctl(context, GVM_FAKEGPU_SHARE, &tgid) == 0;
		close(context);
	}
	paging(index, dice);
}

static void listen_always(uint32_t index, struct dice *dice)
{
	struct gvm_pressure_request request = { .gpu = 0, .flags = O_NONBLOCK };
	int dev = open("/dev/gvm", O_RDWR | O_CLOEXEC);
	struct pollfd fds[8];
	nfds_t count = 0;
	int context;

	(void)index;
	if (fakegpu_open(0, 0, 1, &context) == 0) {
		while (count < 8 &&
		       (fds[count].fd = ioctl(dev, GVM_IOCTL_PRESSURE_OPEN, &request)) >= 0)
			fds[count++].events = POLLIN;
		poll(fds, count, (int)roll(dice, 3));
		for (nfds_t i = 0; i < count; i++)
			close(fds[i].fd);
		close(context);
	}
	close(dev);
}

static const struct {
	const char *name;
	void (*attack)(uint32_t index, struct dice *dice);
} kinds[] = {
	{ "context spammer", spam_contexts },
	{ "mapper", map_and_unmap },
	{ "always faulting", always_fault },
	{ "freezer of itself", freeze_itself },
	{ "limit writer", write_limits },
	{ "signal storm", storm_signals },
	{ "fork bomb", fork_children },
	{ "exits in the middle", exit_in_the_middle },
	{ "joiner", join_victim },
	{ "listener", listen_always },
};

static uint32_t kind_of[NEIGHBOURS]; /* kinds in a hostile round */
static uint32_t sort, round_number;

static void neighbour(uint32_t index)
{
	struct dice dice = fakegpu_dice(5000 + 100 * round_number + index);
	char cgroup[16];

	snprintf(cgroup, sizeof(cgroup), "n%u", index);
	enter(cgroup);
	require(setgroups(0, NULL) == 0 && setgid(FIRST_USER + index) == 0 &&
			setuid(FIRST_USER + index) == 0,
		"setuid");
	for (;;) {
		if (sort == HOSTILE)
			kinds[kind_of[index]].attack(index, &dice);
		else
			paging(index, &dice);
		stage->attacks[index]++;
	}
}

static void make_cgroups(void)
{
	char text[96];

	mkdir(CGROUPS, 0755);
	guest_check(mount("cgroup", CGROUPS, "cgroup2", 0, NULL) == 0, "cgroup2");
	mkdir(CGROUPS "/victim", 0755);
	guest_expect_write("gvm/cgroups", "+/victim", 0);
	for (uint32_t i = 0; i < NEIGHBOURS; i++) {
		snprintf(text, sizeof(text), CGROUPS "/n%u", i);
		mkdir(text, 0755);
		snprintf(text, sizeof(text), "+/n%u", i);
		guest_write("gvm/cgroups", text);
		snprintf(text, sizeof(text), "/sys/kernel/gvm/cgroup/n%u/0/gmem.limit.high", i);
		require(chown(text, FIRST_USER + i, FIRST_USER + i) == 0, "chown");
		snprintf(text, sizeof(text), "/sys/kernel/gvm/cgroup/n%u/0/compute.freeze", i);
		require(chown(text, FIRST_USER + i, FIRST_USER + i) == 0, "chown");
	}
}

static void remove_cgroups(void)
{
	char text[32];

	for (uint32_t i = 0; i < NEIGHBOURS; i++) {
		snprintf(text, sizeof(text), "-/n%u", i);
		guest_write("gvm/cgroups", text);
		snprintf(text, sizeof(text), CGROUPS "/n%u", i);
		rmdir(text);
	}
	guest_expect_write("gvm/cgroups", "-/victim", 0);
	rmdir(CGROUPS "/victim");
	guest_check(umount(CGROUPS) == 0, "no cgroup is left");
}

/*
 * Ten neighbours start, the victim faults, then the neighbours are killed with all their
 * children.
 */
static void play_round(void)
{
	pid_t pids[NEIGHBOURS];
	char path[64];

	for (uint32_t i = 0; i < NEIGHBOURS; i++) {
		own_write(i, "gmem.limit.high", LIMIT_CHUNKS * CHUNK);
		own_write(i, "compute.freeze", 0);
		snprintf(path, sizeof(path), "/sys/kernel/gvm/cgroup/n%u/0/compute.timeslice",
			 i);
		require(file_write(path, "256us") == 0, "timeslice");
		pids[i] = tenant_start(neighbour, i);
	}
	sleep_ms(300);
	stage->order++;
	for (uint32_t i = 0; i < 12000 && stage->done < stage->order; i++)
		sleep_ms(5);
	for (uint32_t i = 0; i < NEIGHBOURS; i++) {
		snprintf(path, sizeof(path), CGROUPS "/n%u/cgroup.kill", i);
		file_write(path, "1");
		waitpid(pids[i], NULL, 0);
	}
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t percentile(uint32_t which, uint32_t percent)
{
	return stage->ns[which][(ROUNDS * FAULTS - 1) * percent / 100];
}

/*
 * Rounds of both sorts, in turn. Returns the percentage of the victim's p99 beside hostile
 * neighbours to that beside peaceful ones.
 */
static uint64_t play_series(struct dice *dice)
{
	uint64_t percent;

	for (uint32_t i = 0; i < SORTS * ROUNDS; i++, round_number++) {
		sort = round_number % SORTS;
		for (uint32_t n = 0; n < NEIGHBOURS && sort == HOSTILE; n++) {
			kind_of[n] = (uint32_t)roll(dice, sizeof(kinds) / sizeof(kinds[0]));
			guest_log("# round %u, neighbour %u: %s", round_number, n,
				  kinds[kind_of[n]].name);
		}
		play_round();
	}
	for (uint32_t i = 0; i < SORTS; i++) {
		qsort(stage->ns[i], ROUNDS * FAULTS, sizeof(stage->ns[i][0]), compare_ns);
		guest_log("# fault of the victim beside %s ones: median %llu us, p99 %llu us",
			  i == HOSTILE ? "hostile" : "peaceful",
			  (unsigned long long)percentile(i, 50) / 1000,
			  (unsigned long long)percentile(i, 99) / 1000);
	}
	percent = 100 * percentile(HOSTILE, 99) / percentile(PEACEFUL, 99);
	guest_log("# p99 beside hostile ones is %llu %% of that beside peaceful ones",
		  (unsigned long long)percent);
	return percent;
}

void test_neighbours(void)
{
	struct dice dice = fakegpu_dice(4999);
	uint64_t percent;
	pid_t pid;

	stage = shared_alloc(sizeof(*stage));
	gpu_load("chunks=44 sms=16 sub_chunks=1");
	chmod("/dev/gvm_fakegpu0", 0666);
	make_cgroups();
	guest_expect_write("gvm/cgroup/victim/0/gmem.limit.low", "20M", 0);
	pid = tenant_start(victim, 0);
	while (!stage->victim)
		sleep_ms(1);
	/* A busy host may stop the machine in the middle of a fault: then measure once more. */
	percent = play_series(&dice);
	for (uint32_t i = 1; i < SERIES && percent > SLOWER; i++)
		percent = play_series(&dice);
	guest_check(percent <= SLOWER, "p99 beside hostile ones: %llu %%, at most %u %%",
		    (unsigned long long)percent, SLOWER);
	guest_check(stage->done == round_number, "the victim met %u of %u rounds", stage->done,
		    round_number);
	guest_expect_read("gvm/cgroup/victim/0/gmem.swap.current", "0\n");
	guest_expect_read("gvm/cgroup/victim/0/gmem.events", "high 0\nhmem 0\noom 0\n");
	guest_check(stage->wrong == 0 && stage->seen == 0 && stage->joined == 0,
		    "wrong words: %u; seen by others: %u; joined: %u", stage->wrong,
		    stage->seen, stage->joined);
	stage->order = ALL_DONE;
	guest_check(tenant_finish(pid), "the victim did well");
	while (waitpid(-1, NULL, 0) > 0)
		;
	remove_cgroups();
	guest_check(gpu_check(), "the books are in order");
	gpu_unload();
}
