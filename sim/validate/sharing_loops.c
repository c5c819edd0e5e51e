// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The loops of two processes that share a GPU by the driver's default time slices: "slice" of
 * plots/reference/hardware/uvmbench.cu, and gapbench.cu.
 *
 * In the latter HP launches short kernels, waits for them, and begins anew, for 3 s; LP keeps long
 * kernels queued. LP begins 0.3 s before HP and goes on 0.3 s after it: a sixth of its time it is
 * alone, which its speed contains there and so does here.
 */
#include <stdlib.h>

#include "fifo/fifo.h"
#include "validate/loops.h"

#define MS	       1000000ull
#define SECOND	       1000000000ull
#define SM_COUNT       132ull /* of the GPU whose grids these are */
#define THREADS_PER_SM 2048ull
#define HP_THREADS     (SM_COUNT * 256)
#define LP_THREADS     (SM_COUNT * 1024)
#define LP_QUEUED      4u
#define LP_KERNEL_NS   (5 * MS)
#define LP_START_NS    (300 * MS)
#define LP_RUN_NS      (3600 * MS)
#define HP_START_NS    (600 * MS)
#define HP_RUN_NS      (3000 * MS)
#define STEPS_MAX      200000u

/* A GPU of which only the host engine is needed: nothing faults. */
struct pair {
	struct fifo fifo;
	struct fifo_tsg hp;
	struct fifo_tsg lp;
	const struct hw_gap *gap;
	u64 zero_ns;
	u64 launch_ns; /* host time to launch one kernel */
	u64 *steps_ns; /* STEPS_MAX of them */
	u32 step_count;
	double lp_speed;
};

static u32 occupancy_ppm(u64 threads)
{
	return (u32)(min(threads, SM_COUNT * THREADS_PER_SM) * 1000000 /
		     (SM_COUNT * THREADS_PER_SM));
}

static void pair_init(struct pair *pair, const struct config *config)
{
	struct fifo_config fifo = {
		.timeslice_ns = config->gpu.sched.timeslice,
		.timeslice_scale_ppm = config->gpu.sched.timeslice_scale,
		.context_switch_ns = config->gpu.sched.context_switch,
		.context_state_ns = config->gpu.sched.context_state,
	};

	*pair = (struct pair){ .zero_ns = eng_now(), .launch_ns = config->host.kernel_launch };
	fifo_init(&pair->fifo, &fifo, NULL);
	fifo_tsg_init(&pair->fifo, &pair->hp, NULL);
	fifo_tsg_init(&pair->fifo, &pair->lp, NULL);
}

static void pair_destroy(struct pair *pair)
{
	fifo_tsg_destroy(&pair->hp);
	fifo_tsg_destroy(&pair->lp);
	fifo_destroy(&pair->fifo);
}

struct hw_slices hw_run_slices(const struct config *config, u64 threads)
{
	struct fifo_burst endless[2];
	struct hw_slices slices;
	struct pair pair;
	double turns;
	u64 busy;
	u32 i;

	pair_init(&pair, config);
	for (i = 0; i < 2; i++) {
		endless[i] = (struct fifo_burst){ .kernels = 1,
						  .kernel_ns = 100 * SECOND,
						  .occupancy_ppm = occupancy_ppm(threads) };
		fifo_submit(i ? &pair.lp : &pair.hp, &endless[i]);
	}
	/* A second of whole turns, within one in two hundred. */
	eng_sleep_until(pair.zero_ns + SECOND);
	fifo_update(&pair.fifo);
	busy = pair.hp.busy_ns;
	turns = (double)pair.fifo.switches;
	eng_sleep_until(pair.zero_ns + 3 * SECOND);
	fifo_update(&pair.fifo);
	turns = ((double)pair.fifo.switches - turns) / 2;
	slices.on_ns = (double)(pair.hp.busy_ns - busy) / turns;
	slices.off_ns = 2 * (double)SECOND / turns - slices.on_ns;
	slices.gap_ns = (slices.off_ns - slices.on_ns) / 2;
	pair_destroy(&pair);
	return slices;
}

static void hp_main(void *data)
{
	struct pair *pair = data;
	const struct hw_gap *gap = pair->gap;
	u64 start = pair->zero_ns + HP_START_NS;

	eng_sleep_until(start);
	while (eng_now() - start < HP_RUN_NS && pair->step_count < STEPS_MAX) {
		u64 step = eng_now();
		struct fifo_burst burst = {
			.kernels = gap->kernels,
			.kernel_ns = gap->kernel_ns,
			.launch_ns = gap->kernels > 1 ? gap->launch_ns : pair->launch_ns,
			.occupancy_ppm = occupancy_ppm(HP_THREADS),
		};

		fifo_submit(&pair->hp, &burst);
		fifo_wait(&burst);
		pair->steps_ns[pair->step_count++] = eng_now() - step;
	}
}

static void lp_main(void *data)
{
	struct pair *pair = data;
	struct fifo_burst queue[LP_QUEUED];
	u64 start = pair->zero_ns + LP_START_NS;
	u64 count;

	eng_sleep_until(start);
	for (count = 0; eng_now() - start < LP_RUN_NS; count++) {
		struct fifo_burst *burst = &queue[count % LP_QUEUED];

		if (count >= LP_QUEUED)
			fifo_wait(burst);
		*burst = (struct fifo_burst){ .kernels = 1,
					      .kernel_ns = LP_KERNEL_NS,
					      .launch_ns = pair->launch_ns,
					      .occupancy_ppm = occupancy_ppm(LP_THREADS) };
		fifo_submit(&pair->lp, burst);
	}
	fifo_wait(&queue[(count - 1) % LP_QUEUED]);
	pair->lp_speed = (double)(count * LP_KERNEL_NS) / (double)(eng_now() - start);
}

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a;
	u64 y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* HP's median step in ns, beside LP or not; 0: it made none. */
static double run_pair(const struct config *config, const struct hw_gap *gap, bool beside,
		       double *ret_speed)
{
	struct eng_actor *hp, *lp = NULL;
	double step = 0;
	struct pair pair;

	pair_init(&pair, config);
	pair.gap = gap;
	pair.steps_ns = calloc(STEPS_MAX, sizeof(*pair.steps_ns));
	hp = eng_spawn("hp", hp_main, &pair);
	if (beside)
		lp = eng_spawn("lp", lp_main, &pair);
	if (!pair.steps_ns || !hp || (beside && !lp))
		hw_out_of_memory();
	eng_join(hp);
	if (lp)
		eng_join(lp);
	qsort(pair.steps_ns, pair.step_count, sizeof(*pair.steps_ns), compare_u64);
	if (pair.step_count)
		step = (double)pair.steps_ns[pair.step_count / 2];
	*ret_speed = pair.lp_speed;
	free(pair.steps_ns);
	pair_destroy(&pair);
	return step;
}

struct hw_gap_times hw_run_gap(const struct config *config, const struct hw_gap *gap)
{
	struct hw_gap_times times;

	times.alone_ns = run_pair(config, gap, false, &times.speed);
	times.step_ns = run_pair(config, gap, true, &times.speed);
	return times;
}
