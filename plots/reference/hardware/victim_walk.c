// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What one step of the published GVM's search for a victim costs on a host's CPU. Its driver
 * walks the used list of all chunks until one belongs to the container
 * (list_first_chunk_of_pid(); from 919ce57a on there is a list for each process). The loop here
 * is that one, over memory laid out as in nvidia-uvm: sizes and offsets are pahole's for 535.
 *
 *     root chunks     an array of 88 bytes each: list at 16, va_block at 32
 *     VA blocks       976 bytes each, in slabs of 32 KB: va_range at 40, hmm.va_space at 888. A
 *                     slab gives its objects in random order, as with
 *                     CONFIG_SLAB_FREELIST_RANDOM, which Ubuntu and Debian set
 *     VA space        one, of the container that is walked over; its pid is read at each step
 *
 * Between two walks a driver evicts a block and brings another in: masks, push buffers, page
 * tables. Other processes of the host run, too, and devices write into its caches. Here that is
 * a buffer of other memory that is written. Without one the list stays in the nearest cache that
 * holds it. Half a GiB is more than the caches of any host, so the list comes from memory.
 *
 * The list is in the order of the chunks' addresses, as after one process has touched its
 * memory from end to end, or in random order.
 *
 * cc -O2 -o victim_walk victim_walk.c && ./victim_walk
 *
 * Prints ns a step, the median of up to 201 walks, by chunks walked and by KiB written between
 * walks.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MOST_WALKS  201
#define OTHER_BYTES ((size_t)512 << 20)
#define WRITTEN	    ((size_t)4 << 30) /* of other memory for one number, at most */
#define MOST_CHUNKS 20480
#define SLAB_BYTES  32768
#define HUGE_BYTES  (2 << 20)

struct list {
	struct list *next, *prev;
};

struct va_space {
	char before[512];
	int pid;
};

struct va_range {
	char before[64];
	struct va_space *va_space;
};

struct va_block {
	char before[40];
	struct va_range *va_range;
	char between[840];
	struct va_space *hmm_va_space;
	char after[80];
};

struct root_chunk {
	uint64_t address, flags;
	struct list list;
	struct va_block *va_block;
	char after[48];
};

_Static_assert(sizeof(struct va_block) == 976, "size of uvm_va_block_t");
_Static_assert(offsetof(struct va_block, hmm_va_space) == 888, "offset of hmm.va_space");
_Static_assert(sizeof(struct root_chunk) == 88, "size of uvm_gpu_root_chunk_t");

/* Memory in huge pages, as the kernel's own mapping of memory is. */
static void *memory(size_t bytes)
{
	void *data = NULL;

	bytes = (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
	if (posix_memalign(&data, HUGE_BYTES, bytes))
		exit(1);
	madvise(data, bytes, MADV_HUGEPAGE);
	memset(data, 0, bytes);
	return data;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void shuffle(uint32_t *order, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t other = (uint32_t)rand() % i;
		uint32_t swapped = order[i - 1];

		order[i - 1] = order[other];
		order[other] = swapped;
	}
}

static struct root_chunk *first_of_pid(struct list *head, int pid)
{
	for (struct list *at = head->next; at != head; at = at->next) {
		struct root_chunk *chunk =
			(struct root_chunk *)((char *)at - offsetof(struct root_chunk, list));
		struct va_space *space;

		if (!chunk->va_block)
			continue;
		space = chunk->va_block->hmm_va_space;
		if (!space && chunk->va_block->va_range)
			space = chunk->va_block->va_range->va_space;
		if (space && space->pid == pid)
			return chunk;
	}
	return NULL;
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* ns a step over @count chunks, in the order of @order. */
static double walk(struct root_chunk *roots, struct va_block **blocks, const uint32_t *order,
		   uint32_t count, char *other, size_t other_bytes)
{
	static struct va_space space = { .pid = 1 };
	static struct va_range range = { .va_space = &space };
	struct list head = { &head, &head };
	size_t walks = other_bytes && WRITTEN / other_bytes < MOST_WALKS ?
			       WRITTEN / other_bytes :
			       MOST_WALKS;
	uint64_t ns[MOST_WALKS];

	for (uint32_t i = 0; i < count; i++) {
		struct root_chunk *chunk = &roots[order[i]];

		chunk->va_block = blocks[order[i]];
		chunk->va_block->va_range = &range;
		chunk->list = (struct list){ &head, head.prev };
		head.prev->next = &chunk->list;
		head.prev = &chunk->list;
	}
	for (size_t i = 0; i < walks; i++) {
		uint64_t start;

		for (size_t byte = 0; byte < other_bytes; byte += 64)
			other[byte]++;
		start = now_ns();
		if (first_of_pid(&head, 2))
			exit(1);
		ns[i] = now_ns() - start;
	}
	qsort(ns, walks, sizeof(*ns), by_value);
	return (double)ns[walks / 2] / count;
}

int main(void)
{
	static const uint32_t counts[] = { 1000, 4000, 8000, 16000, 20480 };
	static const size_t kib[] = { 0, 1024, 4096, 16384, 65536, OTHER_BYTES >> 10 };
	const uint32_t per_slab = SLAB_BYTES / sizeof(struct va_block);
	const uint32_t slabs = MOST_CHUNKS / per_slab + 1;
	struct root_chunk *roots = memory(MOST_CHUNKS * sizeof(*roots));
	char *slab_memory = memory((size_t)slabs * SLAB_BYTES);
	char *other = memory(OTHER_BYTES);
	static struct va_block *blocks[MOST_CHUNKS];
	static uint32_t slab_order[MOST_CHUNKS], order[MOST_CHUNKS];

	srand(1);
	for (uint32_t i = 0; i < MOST_CHUNKS; i++)
		slab_order[i] = order[i] = i;
	shuffle(slab_order, slabs);
	for (uint32_t slab = 0; slab < slabs; slab++) {
		char *at = slab_memory + (size_t)slab_order[slab] * SLAB_BYTES;
		uint32_t object_order[SLAB_BYTES / sizeof(struct va_block)];

		for (uint32_t i = 0; i < per_slab; i++)
			object_order[i] = i;
		shuffle(object_order, per_slab);
		for (uint32_t i = 0; i < per_slab && slab * per_slab + i < MOST_CHUNKS; i++)
			blocks[slab * per_slab + i] = (struct va_block *)at + object_order[i];
	}
	for (int shuffled = 0; shuffled < 2; shuffled++) {
		printf("%s\n%8s", shuffled ? "in random order" : "in the order of addresses",
		       "chunks");
		for (size_t k = 0; k < sizeof(kib) / sizeof(*kib); k++)
			printf(" %6zu KiB", kib[k]);
		printf("\n");
		for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
			if (shuffled)
				shuffle(order, counts[c]);
			printf("%8u", counts[c]);
			for (size_t k = 0; k < sizeof(kib) / sizeof(*kib); k++)
				printf(" %10.1f", walk(roots, blocks, order, counts[c], other,
						       kib[k] << 10));
			printf("\n");
		}
	}
	return 0;
}
