// SPDX-License-Identifier: MIT OR GPL-2.0
#include "apps/llm_experts.h"

#include <stdlib.h>
#include <string.h>

#include "engine/random.h"

/* More parts than this make no difference: each is smaller than a page. */
#define EXPERTS_MAX (1u << 20)

/* Of the size of an expert: the largest size of all has 44 bits. */
#define FRACTION_BITS 16

int llm_experts_init(struct llm_experts *all, const struct cuda_memory *weights, u64 offset,
		     u64 bytes, u64 layers, u64 experts, u64 seed)
{
	unsigned __int128 all_layers = (unsigned __int128)max(layers, 1ull) * experts;
	u64 count = all_layers < EXPERTS_MAX ? (u64)all_layers : EXPERTS_MAX;

	*all = (struct llm_experts){
		.count = count,
		.offset = offset & (GVM_CHUNK_BYTES - 1),
		.bytes = bytes,
		.expert_bytes = (bytes << FRACTION_BITS) / count,
		.random = seed,
	};
	all->chunks = (u32)((all->offset + bytes + GVM_CHUNK_BYTES - 1) >> GVM_CHUNK_SHIFT);
	all->masks = calloc(all->chunks + 1, sizeof(*all->masks));
	all->groups = calloc(CUDA_GROUP_WORDS(all->chunks) + 1, sizeof(*all->groups));
	all->ranks = calloc(CUDA_GROUP_WORDS(all->chunks) + 1, sizeof(*all->ranks));
	all->access = cuda_access_all(weights, CUDA_READ);
	all->access.first = (u32)(offset >> GVM_CHUNK_SHIFT);
	all->access.chunks = all->chunks;
	all->access.kernels = (u32)layers;
	all->access.masks = all->masks;
	all->access.groups = all->groups;
	all->access.ranks = all->ranks;
	all->access.chunks_per_mask = 1;
	return all->masks && all->groups && all->ranks ? 0 : -ENOMEM;
}

void llm_experts_destroy(struct llm_experts *all)
{
	free(all->masks);
	free(all->groups);
	free(all->ranks);
	*all = (struct llm_experts){ 0 };
}

/* Touch the chunks from @first on, before @end. */
static void experts_touch(struct llm_experts *all, u64 first, u64 end)
{
	for (u64 chunk = first; chunk < end; chunk++)
		all->masks[chunk] = U32_MAX;
	while (first < end) {
		u64 bits = min(64 - first % 64, end - first);

		all->groups[first / 64] |= ~0ull >> (64 - bits) << first % 64;
		first += bits;
	}
}

/* Experts that lie side by side are touched as one run of chunks: a long prompt uses most. */
void llm_experts_draw(struct llm_experts *all, u64 share)
{
	u64 run_first = 0, run_end = 0;
	u32 touched = 0;

	memset(all->masks, 0, all->chunks * sizeof(*all->masks));
	memset(all->groups, 0, CUDA_GROUP_WORDS(all->chunks) * sizeof(*all->groups));
	for (u64 i = 0; i < all->count; i++) {
		u64 begin, end;

		if (random_next(&all->random) >> 32 >= share)
			continue;
		begin = all->offset + (all->expert_bytes * i >> FRACTION_BITS);
		end = all->offset + (all->expert_bytes * (i + 1) >> FRACTION_BITS);
		if (i == all->count - 1)
			end = all->offset + all->bytes;
		begin >>= GVM_CHUNK_SHIFT;
		end = (end + GVM_CHUNK_BYTES - 1) >> GVM_CHUNK_SHIFT;
		if (begin > run_end) {
			experts_touch(all, run_first, run_end);
			run_first = begin;
		}
		run_end = max(run_end, end);
	}
	experts_touch(all, run_first, run_end);
	for (u32 word = 0; word < CUDA_GROUP_WORDS(all->chunks); word++) {
		all->ranks[word] = touched;
		touched += (u32)__builtin_popcountll(all->groups[word]);
	}
	all->ranks[CUDA_GROUP_WORDS(all->chunks)] = touched;
}
