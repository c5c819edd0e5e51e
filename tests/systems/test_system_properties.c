// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What each system promises, in drawn scenarios. The table of systems has a row for each of
 * them, and more rows for those with several ways of sharing: a system without a row fails.
 *
 *     times       Kernels of all containers take the GPU's busy time. That, context switches and
 *                 stalls are no more than the time there is, for the GPU and each container.
 *     idle GPU    A work-conserving system lets no GPU idle while a container has work. Under the
 *                 others a container beside idle ones has its share, and no more.
 *     caps        A share of the time, a limit of the memory, or a part of it is not exceeded.
 *     starvation  A container that always has work ends rounds, and has its least share.
 *     same again  A second run has the same results. So has one in which the containers are
 *                 listed in another order, if they start at different dates.
 *
 * Containers of the first kind of scenarios compute only; those of the second kind page.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/load.h"
#include "engine/error.h"
#include "machine/machine.h"
#include "runner.h"

#define US	       1000ull
#define MS	       1000000ull
#define MIB	       (1ull << 20)
#define DURATION_NS    (4000 * MS)
#define CONTAINERS_MAX 4u
#define START_NS       (7 * MS) /* from the start of one container to that of the next */
#define ROUNDS	       3u
#define GPU_BYTES      (96 * MIB)
#define LIMIT_BYTES    (24 * MIB)
#define STARTS_NS      MS /* of starts, and of first context switches */

/* What becomes of the time of a container that has no work. */
enum idle_time {
	IDLE_IS_USED,  /* work-conserving: others have it */
	IDLE_IS_KEPT,  /* each has its share, and no more */
	IDLE_IS_APART, /* each has a GPU or an instance of its own */
};

/* What bounds the memory of the first container. */
enum memory_cap {
	MEMORY_SHARED,	/* the GPU */
	MEMORY_LIMITED, /* gmem.limit.high */
	MEMORY_PARTED,	/* its part, without paging: it may not fit */
};

/* The longest burst that is drawn: 8 kernels of 2 ms. */
#define BURST_NS (16 * MS)

static const struct row {
	const char *system;
	const char *settings; /* further members of "system" */
	enum idle_time idle;
	/* Rounds that a busy one of four ends in 4 s, at least. */
	u32 least_rounds;
	/* The GPU waits so long for the launch of a round: a look-up and two parameters. */
	u64 launch_ns;
	enum memory_cap memory;
	/*
	 * Kernels of several containers fault at a time. A batch is served in the order
	 * of their address spaces, which are numbered as containers are listed. Else
	 * that order counts nothing.
	 */
	bool faults_mix;
} rows[] = {
	{ "exclusive", "", IDLE_IS_APART, 240, 0, MEMORY_SHARED, false },
	{ "stock", "", IDLE_IS_USED, 40, 0, MEMORY_SHARED, false },
	{ "gvm", "", IDLE_IS_USED, 40, 0, MEMORY_SHARED, false },
	{ "ghost", "", IDLE_IS_USED, 40, 0, MEMORY_LIMITED, false },
	{ "ghost", ", \"scheduler\": \"priority\"", IDLE_IS_USED, 40, 0, MEMORY_LIMITED,
	  false },
	{ "ghost", ", \"scheduler\": \"weighted\"", IDLE_IS_USED, 40, 0, MEMORY_LIMITED,
	  false },
	{ "ghost-uvm", "", IDLE_IS_USED, 40, 0, MEMORY_LIMITED, false },
	{ "gpreempt", "", IDLE_IS_USED, 40, 0, MEMORY_SHARED, false },
	/* Of a window of 50 ms one kernel is always launched; a round has up to 8. */
	{ "tgs", "", IDLE_IS_USED, 9, 0, MEMORY_SHARED, false },
	{ "xsched", "", IDLE_IS_USED, 40, 0, MEMORY_SHARED, false },
	{ "mps", "", IDLE_IS_USED, 40, 0, MEMORY_SHARED, true },
	{ "guardian", ", \"partitions\": \"virtual\"", IDLE_IS_USED, 40, 957 / 3, MEMORY_SHARED,
	  true },
	{ "guardian", ", \"partitions\": \"virtual\", \"memory\": \"ghost\"", IDLE_IS_USED, 40,
	  957 / 3, MEMORY_LIMITED, true },
	{ "guardian", "", IDLE_IS_USED, 40, 957 / 3, MEMORY_PARTED, true },
	{ "guardian", ", \"mode\": \"none\"", IDLE_IS_USED, 40, 0, MEMORY_SHARED, false },
	{ "mig", "", IDLE_IS_APART, 240, 0, MEMORY_SHARED, false },
	{ "vgpu", "", IDLE_IS_USED, 40, 0, MEMORY_PARTED, false },
	{ "vgpu", ", \"policy\": \"equal-share\"", IDLE_IS_KEPT, 40, 0, MEMORY_PARTED, false },
	{ "vgpu", ", \"policy\": \"fixed-share\"", IDLE_IS_KEPT, 40, 0, MEMORY_PARTED, false },
	/* What long workloads owe is forgotten each second, so each has a turn in a second. */
	{ "gvtg", ", \"start_priority\": \"0s\"", IDLE_IS_KEPT, 3, 0, MEMORY_PARTED, false },
};

/* A scenario, and what became of its containers. */
struct player {
	u32 kernels;
	u64 kernel_ns;
	u64 bytes; /* of its region; 0: it computes only */
	bool idle; /* after its first kernel */
};

struct scenario {
	const struct row *row;
	u32 count;
	struct player players[CONTAINERS_MAX];
	u32 order[CONTAINERS_MAX]; /* in which they are listed */
};

struct result {
	int status; /* of the run */
	u64 end_ns;
	u32 gpu_count;
	struct fifo_usage gpus[CONTAINERS_MAX];
	u64 most_resident; /* of all, at any sample */
	struct {
		int status;
		u32 gpu;
		u64 rounds;
		u64 peak;
		u64 part; /* memory of the GPU that it sees */
		struct sim_usage usage;
	} players[CONTAINERS_MAX];
};

static u64 state;

static u64 draw(u64 bound)
{
	return (u64)((unsigned __int128)gvm_port_draw(&state) * bound >> 64);
}

/* Write the scenario as a file. Players have the names a to d, and start 7 ms apart. */
static void write_file(const struct scenario *scenario, const char *path)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	fprintf(file,
		"{\"name\": \"drawn\", \"duration\": \"%llums\", \"host\": {\"speed\": 1}, "
		"\"gpu\": {\"profile\": \"a100-40g\"",
		DURATION_NS / MS);
	if (scenario->players[0].bytes)
		fprintf(file, ", \"memory\": %llu, \"context\": 0", GPU_BYTES);
	fprintf(file, "}, \"system\": {\"name\": \"%s\"%s}, \"containers\": {",
		scenario->row->system, scenario->row->settings);
	for (u32 i = 0; i < scenario->count; i++) {
		u32 index = scenario->order[i];
		const struct player *player = &scenario->players[index];

		fprintf(file,
			"%s\"%c\": {\"start\": \"%ums\", %s\"app\": {\"type\": \"pages\", "
			"\"bytes\": %llu, \"kernels\": %u, \"kernel_time\": \"%lluns\", "
			"\"kernel_blocks\": %u, \"pause\": \"%s\"}}",
			i ? ", " : "", 'a' + (char)index, (u32)(START_NS / MS) * index,
			player->bytes && !index && scenario->row->memory == MEMORY_LIMITED ?
				"\"gmem.limit.high\": \"24M\", " :
				"",
			player->bytes ? player->bytes : 2 * MIB, player->kernels,
			player->kernel_ns, player->bytes ? 3u : 0u, player->idle ? "1h" : "0s");
	}
	fprintf(file, "}}\n");
	fclose(file);
}

static void simulate(const char *path, struct result *result)
{
	static volatile int not_interrupted;
	struct sim_error err = { 0 };
	struct config config;
	struct machine machine;

	result->status = config_load(&machine_registry, path, NULL, 0, &config, &err);
	if (!result->status)
		result->status = machine_run(&machine, &config, NULL, NULL, NULL,
					     &not_interrupted, &err);
	if (result->status) {
		fprintf(stderr, "%s\n", err.text);
		return;
	}
	result->end_ns = machine.end_ns;
	result->gpu_count = machine.gpu_count;
	for (u32 i = 0; i < machine.gpu_count; i++)
		result->gpus[i] = machine.gpu_usage[i];
	for (u32 i = 0; i < machine.container_count; i++) {
		const struct sim_container *container = &machine.containers[i];
		u32 player = (u32)(container->cfg->name[0] - 'a');

		result->players[player].status = container->status;
		result->players[player].gpu = (u32)(container->gpu - machine.gpus);
		result->players[player].rounds = container->log.record_count;
		result->players[player].peak = container->gmem_peak;
		result->players[player].part = container->config->gpu.memory;
		result->players[player].usage = container->usage;
	}
	for (size_t i = 0; i < machine.row_count;) {
		u64 resident = 0, date = machine.timeline[i].time_ns;

		for (; i < machine.row_count && machine.timeline[i].time_ns == date; i++)
			resident += machine.timeline[i].resident_bytes;
		result->most_resident = max(result->most_resident, resident);
	}
}

/* Run a scenario in a process of its own: a process runs one simulation. */
static struct result run(const struct scenario *scenario)
{
	char path[] = "/tmp/system_properties.XXXXXX";
	struct result result;
	int ends[2], file = mkstemp(path), status;
	pid_t child;

	ck_assert_int_ge(file, 0);
	close(file);
	write_file(scenario, path);
	ck_assert_int_eq(pipe(ends), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		memset(&result, 0, sizeof(result));
		simulate(path, &result);
		_exit(write(ends[1], &result, sizeof(result)) != sizeof(result));
	}
	close(ends[1]);
	ck_assert_int_eq(read(ends[0], &result, sizeof(result)), sizeof(result));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	close(ends[0]);
	unlink(path);
	ck_assert_int_eq(result.status, 0);
	return result;
}

static struct scenario draw_scenario(const struct row *row, bool pages)
{
	struct scenario scenario = { .row = row, .count = 2 + (u32)draw(CONTAINERS_MAX - 1) };

	for (u32 i = 0; i < scenario.count; i++) {
		scenario.order[i] = i;
		scenario.players[i] = (struct player){
			.kernels = 1 + (u32)draw(8),
			.kernel_ns = (50 + draw(1950)) * US,
			.bytes = pages ? (20 + draw(21)) * 2 * MIB : 0,
		};
	}
	return scenario;
}

/* Times add up. */
static void expect_times(const struct scenario *scenario, const struct result *result)
{
	u64 busy[CONTAINERS_MAX] = { 0 };
	bool lives = false;

	for (u32 i = 0; i < scenario->count; i++)
		lives = lives || !result->players[i].status;
	/* A run ends with its last container. */
	if (lives)
		ck_assert_uint_eq(result->end_ns, DURATION_NS);
	for (u32 i = 0; i < scenario->count; i++) {
		const struct sim_usage *usage = &result->players[i].usage;

		busy[result->players[i].gpu] += usage->busy_ns;
		ck_assert_uint_le(usage->busy_ns + usage->slow_ns + usage->stall_ns +
					  usage->blocked_ns + usage->switching_ns +
					  usage->waited_ns,
				  result->end_ns);
		ck_assert_uint_le(usage->stall_h2d_ns + usage->stall_d2h_ns, usage->stall_ns);
	}
	for (u32 i = 0; i < result->gpu_count; i++) {
		const struct fifo_usage *usage = &result->gpus[i];

		ck_assert_uint_eq(usage->busy_ns, busy[i]);
		/* Beside kernels in space a stall is rounded up to a ns at each event. */
		ck_assert_uint_le(usage->busy_ns + usage->switching_ns + usage->stalled_ns,
				  result->end_ns + 10 * US);
	}
}

static u64 gpu_idle_ns(const struct result *result, u32 player)
{
	const struct fifo_usage *usage = &result->gpus[result->players[player].gpu];

	return result->end_ns - usage->busy_ns - usage->switching_ns - usage->stalled_ns;
}

/* A second run, and one with the containers in another order. */
static void expect_same_again(struct scenario *scenario, const struct result *result)
{
	struct result again = run(scenario);

	ck_assert_mem_eq(&again, result, sizeof(again));
	for (u32 i = scenario->count; i-- > 1;) {
		u32 other = (u32)draw(i + 1), order = scenario->order[i];

		scenario->order[i] = scenario->order[other];
		scenario->order[other] = order;
	}
	again = run(scenario);
	for (u32 i = 0; i < scenario->count; i++) {
		ck_assert_msg(!memcmp(&again.players[i].usage, &result->players[i].usage,
				      sizeof(again.players[i].usage)),
			      "%s%s: %c depends on the order: busy %llu and %llu ns",
			      scenario->row->system, scenario->row->settings, 'a' + (char)i,
			      result->players[i].usage.busy_ns, again.players[i].usage.busy_ns);
		ck_assert_uint_eq(again.players[i].rounds, result->players[i].rounds);
		ck_assert_uint_eq(again.players[i].peak, result->players[i].peak);
	}
}

START_TEST(each_system_has_a_row)
{
	for (const struct cfg_keys *const *keys = sim_systems; *keys; keys++) {
		bool found = false;

		for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
			found = found || !strcmp(rows[i].system, (*keys)->name);
		ck_assert_msg(found, "%s has no row in rows[]", (*keys)->name);
	}
}
END_TEST

/* A work-conserving system: no GPU idles beside a container with work. */
static void expect_no_idle_time(const struct row *row, const struct result *result, u32 player)
{
	if (row->idle != IDLE_IS_KEPT)
		ck_assert_uint_le(gpu_idle_ns(result, player),
				  STARTS_NS + player * START_NS +
					  result->players[player].rounds * row->launch_ns);
}

/* All have work all the time. */
static void busy_ones(const struct row *row)
{
	struct scenario scenario = draw_scenario(row, false);
	struct result result = run(&scenario);

	expect_times(&scenario, &result);
	expect_no_idle_time(row, &result, 0);
	for (u32 i = 0; i < scenario.count; i++) {
		ck_assert_int_eq(result.players[i].status, 0);
		ck_assert_msg(result.players[i].rounds >= row->least_rounds,
			      "%s%s: %c starves: %llu rounds", row->system, row->settings,
			      'a' + (char)i, result.players[i].rounds);
		if (row->idle == IDLE_IS_APART)
			expect_no_idle_time(row, &result, i);
	}
	expect_same_again(&scenario, &result);
}

/*
 * The n-th part of the time. Under fixed share n is 2 or 4: a GPU takes so many vGPUs of that
 * type. gvtg: the budget of the first second was given when there was one vGPU.
 */
static u64 part_ns(const struct row *row, u32 count)
{
	u64 settled = DURATION_NS;

	if (!strcmp(row->system, "gvtg"))
		settled -= 1000 * MS;
	if (strstr(row->settings, "fixed"))
		count = count > 2 ? 4 : 2;
	return settled / count;
}

/*
 * What may come on top of that. A turn of the last round may be open. gvtg: the
 * first second, and in each second a workload may take more than it is given, up to
 * its length and one balance.
 */
static u64 over_ns(const struct row *row)
{
	return strcmp(row->system, "gvtg") ? 3 * MS : 1000 * MS + 4 * BURST_NS + 103 * MS;
}

/* The first has work all the time, the others have one kernel. */
static void beside_idle_ones(const struct row *row)
{
	struct scenario scenario = draw_scenario(row, false);
	struct result result;
	u64 part;

	for (u32 i = 1; i < scenario.count; i++)
		scenario.players[i] = (struct player){ 1, US, 0, true };
	result = run(&scenario);
	part = part_ns(row, scenario.count);
	expect_times(&scenario, &result);
	expect_no_idle_time(row, &result, 0);
	if (row->idle != IDLE_IS_KEPT)
		return;
	/* A fifth of a short turn is the switch. */
	ck_assert_uint_le(result.players[0].usage.busy_ns, part + over_ns(row));
	ck_assert_uint_ge(result.players[0].usage.busy_ns, part / 2);
}

/*
 * The memory that a container without paging has: what it sees of the GPU, or in guardian the
 * largest power of two that all can have.
 */
static u64 part_bytes(const struct scenario *scenario, const struct result *result, u32 player)
{
	u64 bytes = 2 * MIB;

	if (strcmp(scenario->row->system, "guardian"))
		return result->players[player].part;
	while (2 * bytes * scenario->count <= GPU_BYTES)
		bytes *= 2;
	return bytes;
}

/* All page, and some allocations do not fit into a part. */
static void pagers(const struct row *row)
{
	struct scenario scenario = draw_scenario(row, true);
	struct result result = run(&scenario);
	u32 gpus = strcmp(row->system, "exclusive") ? 1 : scenario.count;

	expect_times(&scenario, &result);
	ck_assert_uint_le(result.most_resident, gpus * GPU_BYTES);
	for (u32 i = 0; i < scenario.count; i++) {
		u64 part = row->memory == MEMORY_PARTED ? part_bytes(&scenario, &result, i) :
							  result.players[i].part;
		bool fits = row->memory != MEMORY_PARTED || scenario.players[i].bytes <= part;

		ck_assert_msg(!result.players[i].status == fits,
			      "%s%s: %c has %llu bytes in %llu: status %d", row->system,
			      row->settings, 'a' + (char)i, scenario.players[i].bytes, part,
			      result.players[i].status);
		ck_assert(!fits || result.players[i].rounds);
		ck_assert_uint_le(result.players[i].peak, part);
		if (!i && row->memory == MEMORY_LIMITED)
			ck_assert_uint_le(result.players[i].peak, LIMIT_BYTES);
	}
	if (!row->faults_mix)
		expect_same_again(&scenario, &result);
}

static void each_row(void (*holds)(const struct row *row))
{
	state = runner_seed();
	for (u32 round = 0; round < ROUNDS; round++)
		for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
			holds(&rows[i]);
}

START_TEST(containers_with_work_share_the_time)
{
	each_row(busy_ones);
}
END_TEST

START_TEST(idle_time_is_used_or_kept)
{
	each_row(beside_idle_ones);
}
END_TEST

START_TEST(memory_stays_within_its_bounds)
{
	each_row(pagers);
}
END_TEST

TEST_MAIN("system_properties", each_system_has_a_row, containers_with_work_share_the_time,
	  idle_time_is_used_or_kept, memory_stays_within_its_bounds)
