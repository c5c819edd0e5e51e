// SPDX-License-Identifier: MIT OR GPL-2.0
/* Sliding windows of attention: groups of layers, and what of a sequence they see. */
#include "apps/llm_window.h"

#include "apps/llm_config.h"
#include "gvm/port.h"

static u64 divide_up(u64 amount, u64 parts)
{
	return amount / parts + (amount % parts != 0);
}

struct llm_window_groups llm_window_group(const struct cfg_llm *cfg)
{
	u64 windowed = cfg->window ? cfg->window_layers : 0;
	u64 full = max(cfg->layers, 1ull) - windowed;
	u64 rare = min(full, windowed), frequent = max(full, windowed);
	u64 layers = !rare || 2 * frequent < 3 * rare ? frequent : rare;

	return (struct llm_window_groups){
		.layers = (u32)layers,
		.full = (u32)divide_up(full, layers),
		.windowed = (u32)divide_up(windowed, layers),
	};
}

u64 llm_window_block_bytes(const struct cfg_llm *cfg)
{
	u64 bytes = cfg->block_tokens * cfg->kv_bytes_per_token;

	if (!cfg->window || !cfg->window_layers)
		return bytes;
	return divide_up(bytes, max(cfg->layers, 1ull)) * llm_window_group(cfg).layers;
}

u64 llm_window_read(u64 window, u64 computed, u64 tokens)
{
	return min(computed, window - 1) + tokens;
}

u64 llm_window_pairs(u64 window, u64 computed, u64 tokens)
{
	u64 room = window - min(computed, window);
	u64 growing = min(room, tokens);

	return growing * computed + growing * (growing + 1) / 2 + (tokens - growing) * window;
}

u32 llm_window_passed(u64 window, u64 computed, u32 block_tokens)
{
	return computed < window ? 0 : (u32)((computed - window + 1) / block_tokens);
}
