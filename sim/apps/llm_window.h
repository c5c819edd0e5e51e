/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Layers that look back at a window of tokens only
 * ================================================
 *
 * Some layers of a model may see no more than the last W tokens (a sliding window): all of
 * Mistral-7B-v0.1, every other one of Gemma 2 and gpt-oss, five of six of Gemma 3. Two things
 * follow:
 *
 *   time     Such a layer reads at most W keys for a sequence that decodes, and W - 1 and those
 *            of the chunk for one that computes its prompt. A query token of a prompt has at most
 *            W pairs.
 *   memory   Keys that no query will see again are given back. vLLM puts the layers into groups
 *            of equal size, as large as the rarer kind of layer is frequent. A block holds the
 *            keys of block_tokens tokens of one group. So a sequence has a block of each group
 *            for each block_tokens tokens, and gives those of groups with a window back when the
 *            window has passed them:
 *
 *                gemma-3-1b: 26 layers, 22 with a window, 4 without
 *                groups of 4 layers: 1 without a window, 6 with one (the last has 2 and padding)
 *
 * Where the kinds are nearly equally frequent, up to 1.5 times, a group is as large as the more
 * frequent kind.
 *
 * Sources: vLLM, vllm/v1/core/kv_cache_utils.py (_get_kv_cache_groups_uniform_page_size()) and
 * single_type_kv_cache_manager.py (SlidingWindowManager.remove_skipped_blocks()).
 *
 * How it differs: prefixes are not shared (app.prefix_caching), which vLLM does where the last
 * window of a prefix is still there.
 */
#ifndef SIM_APPS_LLM_WINDOW_H
#define SIM_APPS_LLM_WINDOW_H

#include "engine/types.h"

struct cfg_llm;

/* How vLLM groups the layers of a model for its KV cache. */
struct llm_window_groups {
	u32 layers;   /* of a group */
	u32 full;     /* groups without a window */
	u32 windowed; /* groups with one */
};

/* Without a window: one group of all layers, or of one if their number is not known. */
struct llm_window_groups llm_window_group(const struct cfg_llm *cfg);

/* Bytes of a KV block: of block_tokens tokens in the layers of one group. */
u64 llm_window_block_bytes(const struct cfg_llm *cfg);

/* The keys that a layer with @window reads for @tokens tokens after @computed ones. */
u64 llm_window_read(u64 window, u64 computed, u64 tokens);

/* Pairs of a query and a key: query number i of @tokens sees @computed + i keys, or @window. */
u64 llm_window_pairs(u64 window, u64 computed, u64 tokens);

/* Blocks of @block_tokens that no query after @computed tokens sees. */
u32 llm_window_passed(u64 window, u64 computed, u32 block_tokens);

#endif
