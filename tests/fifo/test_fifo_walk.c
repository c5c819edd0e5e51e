// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * How a burst walks through memory, nanosecond by nanosecond: the host engine's cursor and
 * closed forms, against a plain statement of the same rules whose only state is the work done
 * and the accesses granted.
 */
#include "draw.h"
#include "fifo_world.h"
#include "runner.h"

#define BLOCKS	  12u
#define TOUCHES	  4u
#define EVICTIONS 8u
#define ROUNDS	  4000u

static struct fifo_tsg tsg;
static u64 random_state;

static u32 draw(u32 below)
{
	return draw_below(&random_state, below);
}

/*
 * One case: a burst, the memory at its start, the driver's answer time, and when which blocks
 * are evicted.
 */
static struct walk {
	struct fifo_burst burst;
	struct gmmu_touch touches[TOUCHES];
	u32 masks[TOUCHES][BLOCKS];
	u64 groups[TOUCHES];
	u32 resident[BLOCKS];
	u64 service_ns;
	u64 evict_ns[EVICTIONS]; /* after the submission, rising */
	u32 evict_block[EVICTIONS];
} walk;

static void draw_touch(struct gmmu_touch *touch, u32 *masks, u64 *groups)
{
	u32 first = draw(BLOCKS);

	for (u32 i = 0; i < BLOCKS; i++)
		masks[i] = draw(3) ? draw(U32_MAX) & draw(U32_MAX) : 0;
	gmmu_index_masks(masks, BLOCKS, groups);
	*touch = (struct gmmu_touch){
		.va = first * GVM_CHUNK_BYTES,
		.block_count = 1 + draw(BLOCKS - first),
		.masks = draw(2) ? masks : NULL,
		.groups = groups,
		.blocks_per_mask = 1 + draw(3),
	};
}

static void draw_walk(void)
{
	walk = (struct walk){
		.burst = {
			.kernels = 1 + draw(20),
			.kernel_ns = 1 + draw(40),
			.launch_ns = draw(2) * draw(50),
			.touches = walk.touches,
			.touch_count = 1 + draw(TOUCHES),
		},
		.service_ns = 1 + draw(200),
	};
	for (u32 i = 0; i < TOUCHES; i++)
		draw_touch(&walk.touches[i], walk.masks[i], &walk.groups[i]);
	for (u32 i = 0; i < BLOCKS; i++)
		walk.resident[i] = draw(3) ? GVM_BLOCK_FULL : draw(U32_MAX);
	for (u32 i = 0; i < EVICTIONS; i++) {
		walk.evict_ns[i] = (i ? walk.evict_ns[i - 1] : 0) + 1 + draw(150);
		walk.evict_block[i] = draw(BLOCKS);
	}
}

/* The naive walker. */

static struct access {
	u32 block;
	u32 pages;
} accesses[TOUCHES * BLOCKS];
static u64 access_count;

static void list_accesses(void)
{
	u32 i, j;

	access_count = 0;
	for (i = 0; i < walk.burst.touch_count; i++) {
		const struct gmmu_touch *touch = &walk.touches[i];
		u32 first = (u32)(touch->va >> GVM_CHUNK_SHIFT);

		for (j = 0; j < touch->block_count; j++) {
			u32 pages = touch->masks ? touch->masks[j / touch->blocks_per_mask] :
						   GVM_BLOCK_FULL;

			if (pages)
				accesses[access_count++] = (struct access){ first + j, pages };
		}
	}
}

/* The first access in [@from, @to) with a missing page; @to if there is none. */
static u64 first_missing(const u32 *resident, u64 from, u64 to)
{
	while (from < to && !(accesses[from].pages & ~resident[accesses[from].block]))
		from++;
	return from;
}

/* List the pages that the accesses find missing. */
static void list_missing(const u32 *resident, u64 from, u64 to, u32 *missing)
{
	memset(missing, 0, BLOCKS * sizeof(*missing));
	for (; from < to; from++)
		missing[accesses[from].block] |=
			accesses[from].pages & ~resident[accesses[from].block];
}

/* The end of the kernel that access number @at belongs to. */
static u64 kernel_end(u64 at)
{
	u64 kernels = walk.burst.kernels;
	u64 kernel = at * kernels / access_count;
	u64 end = ((kernel + 1) * access_count + kernels - 1) / kernels;

	return end > at + 1 ? end : at + 1;
}

/*
 * The burst's end, counted from its submission. 0: the result depends on the order of events at
 * one date.
 */
static u64 naive_end(void)
{
	const struct fifo_burst *burst = &walk.burst;
	u64 work = burst->kernels * burst->kernel_ns;
	u64 done = 0, granted = 0, now = 0, stalled_at = 0, replay = 0, miss, at;
	u32 resident[BLOCKS], faulted[BLOCKS], evicted = 0;

	memcpy(resident, walk.resident, sizeof(resident));
	for (;; now++) {
		if (evicted < EVICTIONS && walk.evict_ns[evicted] == now) {
			if (replay == now)
				return 0;
			resident[walk.evict_block[evicted++]] = 0;
			if (done == work)
				return 0;
			at = max(granted, access_count * done / work);
			/* Does the burst stand at a place where it would fault? */
			if (!replay && first_missing(resident, at, access_count) * work /
						       max(access_count, (u64)1) <=
					       done)
				return 0;
		}
		if (replay == now && replay) {
			for (u32 i = 0; i < BLOCKS; i++)
				resident[i] |= faulted[i];
			replay = 0;
			granted = first_missing(resident, stalled_at, kernel_end(stalled_at));
		}
		if (done == work)
			return now;
		if (replay || now < (done / burst->kernel_ns + 1) * burst->launch_ns)
			continue;
		at = max(granted, access_count * done / work);
		at = first_missing(resident, at, access_count);
		miss = at == access_count ? work : max(work * at / access_count, done);
		if (miss > done) {
			done++;
			continue;
		}
		list_missing(resident, at, kernel_end(at), faulted);
		stalled_at = at;
		replay = now + walk.service_ns;
	}
}

/* The real one. */

static void set_resident(u32 block, u32 pages)
{
	u64 va = block * GVM_CHUNK_BYTES;

	page_table_unmap(&table, va, GVM_BLOCK_FULL);
	page_table_map(&table, va, block, 0, pages, true);
}

/* Map the pages that faulted. */
static void serve(void)
{
	struct gvm_fault fault;

	while (gmmu_fetch(&gmmu, &fault, 1)) {
		u32 block = (u32)(fault.va >> GVM_CHUNK_SHIFT);
		u32 page = (u32)(fault.va >> GVM_PAGE_SHIFT) % GVM_PAGES_PER_BLOCK;

		page_table_map(&table, block * GVM_CHUNK_BYTES, block, 0, 1u << page, true);
	}
	fifo_replay(&fifo);
}

static u64 real_end(void)
{
	u64 start = eng_now();
	u64 served_at = ENG_NEVER;
	u32 evicted = 0;
	u32 i;

	for (i = 0; i < BLOCKS; i++)
		set_resident(i, walk.resident[i]);
	fifo_submit(&tsg, &walk.burst);
	while (!walk.burst.finished) {
		u64 evict_at = evicted < EVICTIONS ? start + walk.evict_ns[evicted] : ENG_NEVER;

		if (tsg.stalled && served_at == ENG_NEVER)
			served_at = tsg.stalled_ns_since + walk.service_ns;
		if (eng_now() == served_at) {
			served_at = ENG_NEVER;
			serve();
		} else if (eng_now() == evict_at) {
			set_resident(walk.evict_block[evicted], 0);
			fifo_unmapped(&tsg, walk.evict_block[evicted++] * GVM_CHUNK_BYTES);
		} else {
			eng_sleep_until(eng_now() + 1);
		}
	}
	return walk.burst.finished_ns - start;
}

static void walks(void)
{
	u32 compared = 0;
	u64 expected, end;

	fifo_tsg_init(&fifo, &tsg, &table);
	for (u32 i = 0; i < ROUNDS; i++) {
		draw_walk();
		list_accesses();
		expected = naive_end();
		if (!expected)
			continue;
		compared++;
		end = real_end();
		ck_assert_msg(end == expected, "round %u: %llu, expected %llu", i, end,
			      expected);
		ck_assert_uint_eq(walk.burst.done_ns,
				  walk.burst.kernels * walk.burst.kernel_ns);
	}
	ck_assert_uint_gt(compared, ROUNDS / 4);
}

START_TEST(a_burst_walks_as_the_rules_say)
{
	static const struct fifo_config config = {
		.timeslice_ns = 100,
		.timeslice_scale_ppm = 1000000,
		.outstanding_faults = BLOCKS * GVM_PAGES_PER_BLOCK * TOUCHES,
		.faults_per_block = GVM_PAGES_PER_BLOCK,
	};

	random_state = runner_seed();
	world_run(&config, config.outstanding_faults, 0, BLOCKS, walks);
}
END_TEST

TEST_MAIN("fifo walk", a_burst_walks_as_the_rules_say)
