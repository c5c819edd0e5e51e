// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A victim beside nine hostile neighbours at once, one of each kind: fakegpu_neighbours.c, for
 * this GPU. A neighbour is a cgroup with a limit, in which processes attack until they are
 * killed. The limits together are more than the GPU has. The victim's chunks are protected: none
 * may be lost, no word of it may change, and nobody may see a word of another's in fresh memory.
 * No neighbour may ever have more than its limit.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakegpu_guest.h"
#include "gvm_ioctl.h"
#include "hooked_guest.h"

#define GPU_CHUNKS     "chunks=24"
#define VICTIM_CHUNKS  8u
#define LIMIT_CHUNKS   4u
#define PAGED_CHUNKS   6u
#define FAULTED_CHUNKS 24u
#define ATTACKS	       3u /* of each neighbour at least */
#define LISTENERS      8u
#define STREAM	       9000u
#define CGROUPS	       "/sys/fs/cgroup"

enum {
	SPAMS_CONTEXTS,
	MAPS,
	FAULTS,
	FREEZES,
	WRITES_LIMITS,
	FORKS,
	EXITS,
	LISTENS,
	MIGRATES,
	KINDS
};

static const char *const names[KINDS] = {
	[SPAMS_CONTEXTS] = "opens contexts",
	[MAPS] = "maps and unmaps",
	[FAULTS] = "faults always",
	[FREEZES] = "freezes itself",
	[WRITES_LIMITS] = "writes its limits",
	[FORKS] = "forks",
	[EXITS] = "ends in the middle",
	[LISTENS] = "listens for pressure",
	[MIGRATES] = "migrates to and fro",
};

/* What all processes have in common. */
struct stage {
	volatile pid_t owner[KINDS]; /* of the neighbour's cgroup; 0: not yet */
	volatile uint64_t attacks[KINDS];
	volatile uint32_t wrong; /* words of a neighbour's own */
	volatile uint32_t seen;	 /* fresh memory that was not zero */
	volatile uint64_t heard; /* pressure events of limits that were lowered to 0 */
	volatile uint64_t missed;
};

static struct stage *stage;
static pid_t owner; /* of this process's neighbour */

/* A file of a neighbour's container, whether a process of it uses the GPU or not. */
static long long own_get(pid_t of, const char *file)
{
	char path[96];

	snprintf(path, sizeof(path), "cgroup/t%d/0/%s", (int)of, file);
	return hooked_get(0, path);
}

static int own_set(const char *file, uint64_t value)
{
	char path[96], text[32];

	snprintf(path, sizeof(path), "cgroup/t%d/0/%s", (int)owner, file);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return hooked_set(0, path, text);
}

/* Attacks. An error of the GPU does not end a neighbour. */

/* Every eighth page of more than the limit is filled, then verified. */
static void page(struct dice *dice)
{
	struct gvm_fakegpu_launch launch = {
		.bytes = PAGED_CHUNKS * CHUNK,
		.stride_pages = 8,
		.seed = roll(dice, UINT64_MAX) | 1,
		.op = GVM_FAKEGPU_FILL,
	};
	uint64_t va;
	int context;

	if (fakegpu_open(0, (uint32_t)owner, 1, &context))
		return;
	if (fakegpu_map(context, launch.bytes, &va) == 0) {
		launch.va = va;
		if (fakegpu_launch(context, &launch) == 0) {
			launch.op = GVM_FAKEGPU_VERIFY;
			if (fakegpu_launch(context, &launch) == EBADMSG)
				__sync_fetch_and_add(&stage->wrong, 1);
		}
	}
	fakegpu_close(context);
}

static void spam_contexts(void)
{
	int contexts[4];
	uint32_t count = 0;
	uint64_t va;

	while (count < 4 && fakegpu_open(0, (uint32_t)owner, 1, &contexts[count]) == 0)
		if (fakegpu_map(contexts[count++], PAGE, &va) == 0)
			fakegpu_fill(contexts[count - 1], va, PAGE, count);
	while (count > 0)
		fakegpu_close(contexts[--count]);
}

/* What it leaves in memory must not be seen by the next one. */
static void map_and_unmap(struct dice *dice)
{
	int context;

	if (fakegpu_open(0, (uint32_t)owner, 1, &context))
		return;
	for (uint32_t i = 0; i < 8; i++) {
		uint64_t bytes = (1 + roll(dice, 40)) * PAGE;
		uint64_t va;

		if (fakegpu_map(context, bytes, &va))
			break;
		if (fakegpu_verify_zero(context, va, bytes, NULL) == EBADMSG)
			__sync_fetch_and_add(&stage->seen, 1);
		fakegpu_fill(context, va, bytes, roll(dice, UINT64_MAX) | 1);
		fakegpu_unmap(context, va);
	}
	fakegpu_close(context);
}

/* One page of each of far more chunks than the limit, in any order. */
static void always_fault(struct dice *dice)
{
	struct gvm_fakegpu_launch launch = {
		.bytes = FAULTED_CHUNKS * CHUNK,
		.stride_pages = 32,
		.order = GVM_FAKEGPU_SHUFFLED,
		.seed = roll(dice, UINT64_MAX) | 1,
	};
	uint64_t va;
	int context;

	if (fakegpu_open(0, (uint32_t)owner, 1, &context))
		return;
	if (fakegpu_map(context, launch.bytes, &va) == 0) {
		launch.va = va;
		fakegpu_launch(context, &launch);
	}
	fakegpu_close(context);
}

static void migrate(void)
{
	uint64_t va;
	int context;

	if (fakegpu_open(0, (uint32_t)owner, 1, &context))
		return;
	if (fakegpu_map(context, PAGED_CHUNKS * CHUNK, &va) == 0)
		for (uint32_t i = 0; i < 4; i++)
			hooked_migrate(context, va, PAGED_CHUNKS * CHUNK, i % 2 == 0);
	fakegpu_close(context);
}

/* A child of it that does @attack for ever. It has memory on the GPU by now. */
static pid_t start(void (*attack)(struct dice *dice), struct dice *dice)
{
	pid_t child = fork();

	if (child == 0)
		for (;;)
			attack(dice);
	for (uint32_t i = 0; i < STEP_TRIES && own_get(owner, "gmem.current") <= 0; i++)
		sleep_ms(5);
	return child;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void freeze_itself(struct dice *dice)
{
	pid_t child = start(page, dice);

	for (uint32_t i = 0; i < 20; i++) {
		own_set("compute.freeze", roll(dice, 2));
		sleep_ms((unsigned int)roll(dice, 10));
	}
	end(child);
	own_set("compute.freeze", 0);
}

/* Never above the limit that it began with. */
static void write_limits(struct dice *dice)
{
	pid_t child = start(page, dice);

	for (uint32_t i = 0; i < 20; i++)
		own_set("gmem.limit.high", roll(dice, LIMIT_CHUNKS * 32 + 1) * PAGE);
	end(child);
	own_set("gmem.limit.high", LIMIT_CHUNKS * CHUNK);
}

static void fork_children(struct dice *dice)
{
	for (uint32_t i = 0; i < 3; i++)
		if (fork() == 0) {
			dice->state += 8 * (i + 1);
			page(dice);
			_exit(0);
		}
	while (wait(NULL) > 0)
		continue;
}

static void end_in_the_middle(struct dice *dice)
{
	pid_t child = start(always_fault, dice);

	sleep_ms((unsigned int)roll(dice, 20));
	end(child);
}

/* As many listeners as it may have. Each is told that all memory goes, or it is a miss. */
static void listen_for_pressure(struct dice *dice)
{
	struct gvm_pressure_request request = { .gpu = 0, .flags = O_NONBLOCK };
	struct gvm_pressure_record event;
	int device = open("/dev/gvm", O_RDWR | O_CLOEXEC);
	int listeners[LISTENERS];
	uint32_t count = 0;
	uint64_t va;
	int context;

	if (fakegpu_open(0, (uint32_t)owner, 1, &context)) {
		close(device);
		return;
	}
	while (count < LISTENERS &&
	       (listeners[count] = ioctl(device, GVM_IOCTL_PRESSURE_OPEN, &request)) >= 0)
		count++;
	if (fakegpu_map(context, CHUNK, &va) == 0 &&
	    fakegpu_fill(context, va, CHUNK, roll(dice, UINT64_MAX) | 1) == 0 &&
	    own_get(owner, "gmem.current") > 0) {
		own_set("gmem.limit.high", 0);
		for (uint32_t i = 0; i < count; i++) {
			bool hears = read(listeners[i], &event, sizeof(event)) == sizeof(event);

			stage->heard += hears;
			stage->missed += !hears;
		}
		own_set("gmem.limit.high", LIMIT_CHUNKS * CHUNK);
	}
	while (count > 0)
		close(listeners[--count]);
	close(device);
	fakegpu_close(context);
}

static void attack(uint32_t kind, struct dice *dice)
{
	switch (kind) {
	case SPAMS_CONTEXTS:
		return spam_contexts();
	case MAPS:
		return map_and_unmap(dice);
	case FAULTS:
		return always_fault(dice);
	case FREEZES:
		return freeze_itself(dice);
	case WRITES_LIMITS:
		return write_limits(dice);
	case FORKS:
		return fork_children(dice);
	case EXITS:
		return end_in_the_middle(dice);
	case LISTENS:
		return listen_for_pressure(dice);
	default:
		return migrate();
	}
}

/* Makes the cgroup and stays in it, since its name is that of this process. */
static void neighbour(uint32_t kind)
{
	struct dice dice = fakegpu_dice(STREAM + kind);

	owner = getpid();
	require(hooked_contain(owner), "a cgroup");
	require(own_set("gmem.limit.high", LIMIT_CHUNKS * CHUNK) == 0, "limit");
	stage->owner[kind] = owner;
	if (fork() == 0)
		for (;;) {
			attack(kind, &dice);
			stage->attacks[kind]++;
		}
	for (;;)
		pause();
}

/* Whether a process of the neighbour's is left, for a minute at most. */
static bool is_populated(pid_t pid)
{
	char path[64], text[128] = "";
	bool populated = true;

	snprintf(path, sizeof(path), CGROUPS "/t%d/cgroup.events", (int)pid);
	for (uint32_t i = 0; i < 12000 && populated; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t got = read(fd, text, sizeof(text) - 1);

		text[got > 0 ? got : 0] = '\0';
		close(fd);
		populated = !strstr(text, "populated 0");
		if (populated)
			sleep_ms(5);
	}
	return populated;
}

/* The neighbour's processes end, all at once, wherever they are. */
static void end_neighbour(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), CGROUPS "/t%d/cgroup.kill", (int)pid);
	guest_check(file_write(path, "1") == 0 && waitpid(pid, NULL, 0) == pid &&
			    !is_populated(pid),
		    "one that %s is killed with its children", name);
}

static bool have_attacked(void)
{
	for (uint32_t kind = 0; kind < KINDS; kind++)
		if (stage->attacks[kind] < ATTACKS)
			return false;
	return true;
}

/* The most memory that each neighbour was seen to have. */
static long long peaks[KINDS];

static void look_at_peaks(void)
{
	for (uint32_t kind = 0; kind < KINDS; kind++) {
		long long peak =
			stage->owner[kind] ? own_get(stage->owner[kind], "gmem.peak") : 0;

		peaks[kind] = peak > peaks[kind] ? peak : peaks[kind];
	}
}

void test_hostile(void)
{
	uint32_t looks = 0, lost = 0, broken = 0;
	pid_t victim, pids[KINDS];

	stage = shared_alloc(sizeof(*stage));
	gpu_load(GPU_CHUNKS);
	victim = victim_start(VICTIM_CHUNKS);
	for (uint32_t kind = 0; kind < KINDS; kind++)
		pids[kind] = tenant_start(neighbour, kind);
	for (; looks < STEP_TRIES / 10 && !have_attacked(); looks++) {
		lost += control_get(victim, "gmem.current") !=
			(long long)(VICTIM_CHUNKS * CHUNK);
		look_at_peaks();
		broken += !gpu_check();
		sleep_ms(20);
	}
	for (uint32_t kind = 0; kind < KINDS; kind++)
		guest_check(stage->attacks[kind] >= ATTACKS && peaks[kind] > 0 &&
				    peaks[kind] <= (long long)(LIMIT_CHUNKS * CHUNK),
			    "%llu attacks of one that %s; it had %lld bytes at most",
			    (unsigned long long)stage->attacks[kind], names[kind], peaks[kind]);
	guest_check(lost == 0 && event_count(victim, "taken ") == 0,
		    "in %u looks the victim had lost a chunk %u times", looks, lost);
	guest_check(stage->heard > 0 && stage->missed == 0,
		    "%llu listeners heard of pressure, %llu did not",
		    (unsigned long long)stage->heard, (unsigned long long)stage->missed);
	guest_check(broken == 0, "the books were broken %u times", broken);
	guest_check(stage->wrong == 0 && stage->seen == 0,
		    "%u neighbours read wrong words, %u saw words of others", stage->wrong,
		    stage->seen);
	for (uint32_t kind = 0; kind < KINDS; kind++)
		end_neighbour(pids[kind], names[kind]);
	victim_end(victim);
	gpu_unload();
}
