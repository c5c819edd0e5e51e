// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Measures the core's clock: touch, charge, pick and uncharge, as the simulator and the module
 * run them, with both orders kept and the lock taken.
 *
 *   zipf      an oracle's requests, beside CLOCK on a plain array: bench_zipf.c
 *   growth    from 40 to 640 GB, and from 2 to 64 containers: bench_containers.c
 *   pick      the atomic pick among protected chunks: bench_containers.c
 *   memory    what the core keeps per chunk
 *
 * Times are the best of several rounds, with warm caches, because the machine may be busy with
 * other things. The exit status is for the checks that do not depend on time: misses are equal
 * to the array's, books balance, nothing is allocated after set-up, a global pick finds a
 * victim with 19 of 20 containers protected, and no chunk has more metadata than METADATA_MAX.
 * --quick: one short round, for these checks only.
 */
#include <stdio.h>
#include <string.h>

#include "bench_containers.h"
#include "bench_zipf.h"
#include "clock_world.h"

#define METADATA_MAX 128u /* bytes per chunk */

/*
 * Metadata that grows with the device: the device's allocations, and one block for each chunk.
 */
static void bench_memory(void)
{
	u64 before = world.allocated_bytes, bytes;
	u32 chunks = 640 * WORLD_CHUNKS_PER_GB, per_chunk;

	world_init(chunks);
	bytes = world.allocated_bytes - before;
	world_destroy();
	per_chunk = (u32)((bytes + chunks - 1) / chunks) + (u32)sizeof(struct gvm_block);
	printf("\nMetadata of a chunk: %u bytes (chunk %zu, reference bits 1, frame %zu, block "
	       "%zu)\n",
	       per_chunk, sizeof(struct gvm_chunk), sizeof(struct gvm_frame),
	       sizeof(struct gvm_block));
	world_expect(per_chunk <= METADATA_MAX, "too much metadata per chunk");
}

int main(int argc, char **argv)
{
	bool quick = argc == 2 && !strcmp(argv[1], "--quick");

	if (argc > 1 && !quick) {
		fputs("usage: bench_clock [--quick]\n", stderr);
		return 2;
	}
	if (quick)
		world_rounds = 1;
	bench_zipf(quick ? 100000 : 1000000);
	bench_growth();
	bench_pick();
	bench_memory();
	return world_failed();
}
