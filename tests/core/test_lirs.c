// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * LIRS over hint faults (policy/lirs.c): where a block goes when it comes in, and how many
 * misses page streams of models cost, against CLOCK with and without hint faults and against
 * Belady's order, which knows the future and is the best there is.
 */
#include "core_world.h"
#include "gvm/hint.h"
#include "gvm/lirs.h"
#include "runner.h"

enum { BLOCKS_MAX = 4096, STREAM_MAX = 200000, NEVER = STREAM_MAX };

static u32 stream[STREAM_MAX];
static u32 stream_length;

/* A container that uses one block after the other, with an evictor that never sleeps. */
static struct player {
	struct gvm_container *container;
	u32 chunk_of[BLOCKS_MAX];
	bool unmapped[BLOCKS_MAX];
	u32 block_in[WORLD_CHUNKS_MAX];
	u32 used; /* chunks that were ever charged: the first ones */
	u32 misses;
	u32 hint_faults;
} player;

static void begin(u32 chunks, u32 features)
{
	world_init_features(chunks, features);
	memset(&player, 0, sizeof(player));
	memset(player.chunk_of, 0xff, sizeof(player.chunk_of));
	player.container = world_attach(1);
}

static void end(void)
{
	world_detach(player.container);
	world_destroy();
}

/* Unmap chunks as an evictor does before it picks a victim. */
static void ask(void)
{
	for (u32 i = 0; i < GVM_HINTS_PER_VICTIM; i++) {
		u32 chunk = GVM_NO_CHUNK;

		if (world.device.lirs)
			chunk = gvm_lirs_next(&world.device, player.container);
		else if (gvm_has_feature(&world.device, GVM_HINT_FAULTS))
			chunk = gvm_hint_next(&world.device, player.container);
		if (chunk == GVM_NO_CHUNK)
			break;
		player.unmapped[player.block_in[chunk]] = true;
	}
}

/* Evict one chunk. Returns the block that left. */
static u32 evict(u32 *ret_chunk)
{
	u32 chunk, block;

	ask();
	chunk = world_pick_own(player.container, 2 * WORLD_CHUNKS_MAX);
	ck_assert_uint_ne(chunk, GVM_NO_CHUNK);
	gvm_uncharge(&world.device, chunk);
	block = player.block_in[chunk];
	player.chunk_of[block] = GVM_NO_CHUNK;
	player.unmapped[block] = false;
	*ret_chunk = chunk;
	return block;
}

/* One access. Returns the block that left for it, or BLOCKS_MAX. */
static u32 use(u32 block)
{
	u32 chunk = player.chunk_of[block], left = BLOCKS_MAX;

	if (chunk != GVM_NO_CHUNK) {
		if (player.unmapped[block]) {
			player.hint_faults++;
			gvm_clock_touch(&world.device, chunk);
		}
		player.unmapped[block] = false;
		return left;
	}
	player.misses++;
	if (player.used < world.device.chunk_count)
		chunk = player.used++;
	else
		left = evict(&chunk);
	gvm_lirs_name(player.container, chunk, (u64)block << GVM_CHUNK_SHIFT);
	world_charge_chunk(player.container, chunk);
	gvm_clock_touch(&world.device, chunk);
	player.chunk_of[block] = chunk;
	player.block_in[chunk] = block;
	return left;
}

/*
 * 64 chunks, all used: the zone is half of them, and each pick adds up to four chunks to it.
 * The first pick demotes blocks 0 to 3 and takes block 0. Block 64 is new, so it comes in cold,
 * at the end of the zone, after 1, 2 and 3. The second pick demotes 4 to 7. So the next
 * victims are 1, 2, 3, then 64, though 64 is the youngest of all.
 */
START_TEST(a_new_block_leaves_before_the_hot_ones)
{
	static const u32 victims[] = { 0, 1, 2, 3, 64 };

	begin(64, GVM_LIRS);
	for (u32 block = 0; block < 64; block++)
		use(block);
	for (u32 i = 0; i < ARRAY_SIZE(victims); i++) {
		ck_assert_uint_eq(use(64 + i), victims[i]);
		world_check();
	}
	end();
}
END_TEST

/*
 * Blocks 0 to 255 fill memory, are hot, and are never used again: a model that has been left. A
 * new loop of three quarters of memory has taken their places after 30 rounds, and misses no
 * more. If hot blocks were never demoted, it would miss for ever.
 */
START_TEST(a_new_loop_takes_the_places_of_an_old_one)
{
	u32 misses;

	begin(256, GVM_LIRS);
	for (u32 block = 0; block < 256; block++)
		use(block);
	for (u32 round = 0; round < 30; round++) {
		for (u32 block = 0; block < 192; block++)
			use(256 + block);
	}
	misses = player.misses;
	for (u32 block = 0; block < 192; block++)
		use(256 + block);
	ck_assert_uint_eq(player.misses, misses);
	world_check();
	end();
}
END_TEST

/* The second allocation is the order's books: without them nothing stays allocated. */
START_TEST(a_device_without_memory_for_dates_is_refused)
{
	static struct gvm_device device;
	struct gvm_device_config config = { .name = "test",
					    .chunk_count = 16,
					    .memory_ops = world.device.memory_ops,
					    .features = GVM_LIRS };
	u32 live;

	begin(16, 0);
	live = world.live;
	world.fail_allocation = world.allocations + 1;
	ck_assert_int_eq(gvm_device_init(&device, &config), -ENOMEM);
	ck_assert_uint_eq(world.live, live);
	end();
}
END_TEST

/* Misses of the stream on a device with these features. */
static u32 misses_of(u32 chunks, u32 features)
{
	u32 misses;

	begin(chunks, features);
	for (u32 i = 0; i < stream_length; i++)
		use(stream[i]);
	misses = player.misses;
	world_check();
	end();
	return misses;
}

/* Misses of Belady's order: the block whose next use is farthest away leaves. */
static u32 misses_of_belady(u32 chunks)
{
	static u32 next_use[STREAM_MAX], next_of[BLOCKS_MAX];
	static u32 resident[WORLD_CHUNKS_MAX];
	static bool is_resident[BLOCKS_MAX];
	u32 misses = 0, count = 0;

	for (u32 block = 0; block < BLOCKS_MAX; block++)
		next_of[block] = NEVER;
	for (u32 i = stream_length; i-- > 0;) {
		next_use[i] = next_of[stream[i]];
		next_of[stream[i]] = i;
	}
	for (u32 i = 0; i < stream_length; i++) {
		u32 block = stream[i], place = 0;

		next_of[block] = next_use[i];
		if (is_resident[block])
			continue;
		misses++;
		if (count < chunks) {
			place = count++;
		} else {
			for (u32 other = 1; other < count; other++) {
				if (next_of[resident[other]] > next_of[resident[place]])
					place = other;
			}
			is_resident[resident[place]] = false;
		}
		resident[place] = block;
		is_resident[block] = true;
	}
	for (u32 i = 0; i < count; i++)
		is_resident[resident[i]] = false;
	return misses;
}

struct stream_misses {
	u32 clock, hints, lirs, belady;
};

static struct stream_misses measure(const char *name, u32 chunks)
{
	struct stream_misses misses = {
		.clock = misses_of(chunks, 0),
		.hints = misses_of(chunks, GVM_HINT_FAULTS),
		.lirs = misses_of(chunks, GVM_LIRS),
		.belady = misses_of_belady(chunks),
	};

	printf("%s: %u accesses, misses: CLOCK %u, with hint faults %u, LIRS %u, Belady %u\n",
	       name, stream_length, misses.clock, misses.hints, misses.lirs, misses.belady);
	return misses;
}

static void append(u32 block)
{
	ck_assert_uint_lt(stream_length, STREAM_MAX);
	ck_assert_uint_lt(block, BLOCKS_MAX);
	stream[stream_length++] = block;
}

static void append_run(u32 first, u32 count)
{
	for (u32 i = 0; i < count; i++)
		append(first + i);
}

/* Twenty turns of a loop of 110 % of memory. */
START_TEST(a_loop_of_110_percent)
{
	struct stream_misses misses;

	stream_length = 0;
	for (u32 turn = 0; turn < 20; turn++)
		append_run(0, 1100);
	misses = measure("loop", 1000);
	ck_assert_uint_eq(misses.clock, stream_length);
	ck_assert_uint_eq(misses.hints, stream_length);
	ck_assert_uint_lt(5 * misses.lirs, stream_length);
	ck_assert_uint_lt(misses.lirs, 2 * misses.belady);
}
END_TEST

/*
 * An LLM server whose weights and keys and values are a little more than memory: 800 blocks of
 * weights are read in each step, and those of 24 sequences, which grow by a block every 16
 * steps up to ten blocks. A sequence that ends begins anew in the same blocks.
 */
START_TEST(weights_and_kv_above_memory)
{
	struct stream_misses misses;

	stream_length = 0;
	for (u32 step = 0; step < 200; step++) {
		append_run(0, 800);
		for (u32 sequence = 0; sequence < 24; sequence++)
			append_run(800 + 10 * sequence, 1 + (step / 16 + sequence) % 10);
	}
	misses = measure("LLM", 900);
	ck_assert_uint_lt(8 * misses.lirs, misses.clock);
	ck_assert_uint_lt(8 * misses.lirs, misses.hints);
	ck_assert_uint_lt(misses.belady, misses.lirs);
}
END_TEST

/*
 * Six images of sd3.5-medium in 6 GB, a block of the stream for 8 MB: encoders twice, twenty
 * denoising steps with their activations, the decoder. Phases change so often that LIRS misses
 * a tenth more than CLOCK here. The test holds that bound.
 */
START_TEST(diffusion_in_6_gb)
{
	enum { T5 = 1136, CLIP = 195, DENOISER = 589, DECODER = 20, ACTIVATIONS = 328 };
	struct stream_misses misses;

	stream_length = 0;
	for (u32 image = 0; image < 6; image++) {
		for (u32 prompt = 0; prompt < 2; prompt++)
			append_run(0, T5 + CLIP);
		for (u32 step = 0; step < 20; step++) {
			append_run(T5 + CLIP, DENOISER);
			append_run(T5 + CLIP + DENOISER + DECODER, 54);
		}
		append_run(T5 + CLIP + DENOISER, DECODER + ACTIVATIONS);
	}
	misses = measure("diffusion", 715);
	ck_assert_uint_lt(8 * misses.lirs, 9 * misses.clock);
	ck_assert_uint_lt(misses.belady, misses.lirs);
}
END_TEST

TEST_MAIN("LIRS over hint faults", a_new_block_leaves_before_the_hot_ones,
	  a_new_loop_takes_the_places_of_an_old_one,
	  a_device_without_memory_for_dates_is_refused, a_loop_of_110_percent,
	  weights_and_kv_above_memory, diffusion_in_6_gb)
