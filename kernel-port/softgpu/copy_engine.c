// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The copy engine (classes C6B5 and C8B5): copies, memsets and semaphores, on physical
 * addresses of vidmem and host memory and on virtual ones. A push of user mode may
 * fault on a virtual address: engine_faults.c. The copy goes on there, then. UVM's own
 * pushes have to find it mapped.
 *
 * A transfer is one line of bytes, or a fill with constants. No version of the driver asks for
 * more. Any other feature of the class stops the channel (softgpu_copy_missing()): without it
 * the bytes would differ from hardware's.
 */
#include "softgpu.h"

#define CE(channel, method)	       ((channel)->copy[(NVC6B5_##method) / 4])
#define CE_ADDRESS(channel, high, low) ((u64)CE(channel, high) << 32 | CE(channel, low))

/* Where a physical address leads. The fields of the source's mode are those of the target's. */
static enum softgpu_aperture softgpu_copy_aperture(u32 mode)
{
	switch (DRF_VAL(C6B5, _SET_SRC_PHYS_MODE, _TARGET, mode)) {
	case NVC6B5_SET_SRC_PHYS_MODE_TARGET_LOCAL_FB:
		return SOFTGPU_VIDMEM;
	case NVC6B5_SET_SRC_PHYS_MODE_TARGET_PEERMEM:
		return SOFTGPU_PEER;
	default:
		return SOFTGPU_SYSMEM;
	}
}

/* The bytes at one end of a transfer, as many as lie together. */
static void *softgpu_copy_end(struct softgpu_channel *channel, bool physical, u32 mode,
			      u64 address, enum softgpu_op op, u64 *bytes)
{
	struct softgpu_mapping mapping = { .aperture = softgpu_copy_aperture(mode),
					   .address = address };
	void *end;

	if (!physical)
		return softgpu_channel_translate(channel, address, op, false, bytes);
	mapping.peer = DRF_VAL(C6B5, _SET_SRC_PHYS_MODE, _PEER_ID, mode);
	end = softgpu_mapped(channel->gpu, &mapping, bytes);
	if (!end)
		softgpu_channel_fail(channel);
	return end;
}

/* What to say of one end in softgpu_event.how: @vidmem, @peer or nothing. */
static u32 softgpu_copy_how(bool physical, u32 mode, u32 vidmem, u32 peer)
{
	if (!physical || softgpu_copy_aperture(mode) == SOFTGPU_SYSMEM)
		return 0;
	return softgpu_copy_aperture(mode) == SOFTGPU_VIDMEM ? vidmem : peer;
}

/* Returns false if the copy is not done: it faulted, or the channel has failed. */
static bool softgpu_copy(struct softgpu_channel *channel, u32 launch)
{
	struct softgpu *gpu = channel->gpu;
	bool from_physical = DRF_VAL(C6B5, _LAUNCH_DMA, _SRC_TYPE, launch);
	bool to_physical = DRF_VAL(C6B5, _LAUNCH_DMA, _DST_TYPE, launch);
	u32 from_mode = CE(channel, SET_SRC_PHYS_MODE);
	u32 to_mode = CE(channel, SET_DST_PHYS_MODE);
	u64 from = CE_ADDRESS(channel, OFFSET_IN_UPPER, OFFSET_IN_LOWER);
	u64 to = CE_ADDRESS(channel, OFFSET_OUT_UPPER, OFFSET_OUT_LOWER);
	struct softgpu_event event = {
		.kind = SOFTGPU_EVENT_COPY,
		.how = softgpu_copy_how(to_physical, to_mode, SOFTGPU_TO_VIDMEM,
					SOFTGPU_TO_PEER) |
		       softgpu_copy_how(from_physical, from_mode, SOFTGPU_FROM_VIDMEM,
					SOFTGPU_FROM_PEER) |
		       (from_physical ? 0 : SOFTGPU_VIRTUAL_SOURCE),
		.a = from,
		.b = to,
		.bytes = CE(channel, LINE_LENGTH_IN),
	};

	while (channel->transferred < event.bytes) {
		u64 done = channel->transferred;
		u64 bytes = event.bytes - done;
		void *source = softgpu_copy_end(channel, from_physical, from_mode, from + done,
						SOFTGPU_READ, &bytes);
		void *target;

		if (!source)
			return false;
		target = softgpu_copy_end(channel, to_physical, to_mode, to + done,
					  SOFTGPU_WRITE, &bytes);
		if (!target)
			return false;
		if (!done && bytes >= PAGE_SIZE)
			event.word = ((const u64 *)source)[1];
		memmove(target, source, bytes);
		channel->transferred += bytes;
	}
	channel->transferred = 0;
	if (event.how & SOFTGPU_FROM_VIDMEM && softgpu_fails(gpu, SOFTGPU_FAIL_ECC))
		WRITE_ONCE(gpu->ecc_interrupt, 1);
	gpu->stats.copies++;
	if (event.how & (SOFTGPU_TO_PEER | SOFTGPU_FROM_PEER)) {
		gpu->stats.peer_copies++;
		gpu->stats.peer_copy_bytes += event.bytes;
	} else {
		gpu->stats.copy_bytes[event.how & 3] += event.bytes;
	}
	if (event.bytes >= PAGE_SIZE)
		softgpu_event(gpu, &event);
	return true;
}

/*
 * Fill @bytes at @target with the pattern, from its byte @first on. A page may begin and end in
 * the middle of one.
 */
static void softgpu_fill(u8 *target, u64 bytes, const u8 *pattern, u32 width, u32 first)
{
	bool whole = !first && bytes % width == 0 && IS_ALIGNED((unsigned long)target, width);

	if (width == 1) {
		memset(target, pattern[0], bytes);
	} else if (width == 4 && whole) {
		memset32((u32 *)target, *(const u32 *)pattern, bytes / 4);
	} else if (width == 8 && whole) {
		memset64((u64 *)target, *(const u64 *)pattern, bytes / 8);
	} else {
		for (u64 i = 0; i < bytes; i++)
			target[i] = pattern[(first + i) % width];
	}
}

/*
 * Fill with a pattern of up to 16 bytes. The scrubber counts in bytes, not in patterns.
 * Returns as softgpu_copy() does.
 */
static bool softgpu_memset(struct softgpu_channel *channel, u32 launch, bool scrubs)
{
	struct softgpu *gpu = channel->gpu;
	bool physical = DRF_VAL(C6B5, _LAUNCH_DMA, _DST_TYPE, launch);
	u32 remap = CE(channel, SET_REMAP_COMPONENTS);
	u32 component = DRF_VAL(C6B5, _SET_REMAP_COMPONENTS, _COMPONENT_SIZE, remap) + 1;
	u32 components = DRF_VAL(C6B5, _SET_REMAP_COMPONENTS, _NUM_DST_COMPONENTS, remap) + 1;
	u64 to = CE_ADDRESS(channel, OFFSET_OUT_UPPER, OFFSET_OUT_LOWER);
	u32 width = component * components;
	u8 pattern[16] __aligned(8) = {};
	struct softgpu_event event = {
		.kind = SOFTGPU_EVENT_MEMSET,
		.b = to,
		.bytes = (u64)CE(channel, LINE_LENGTH_IN) * width,
	};

	if (scrubs)
		event.bytes = CE(channel, LINE_LENGTH_IN);
	for (u32 i = 0; i < components; i++) {
		u32 source = remap >> 4 * i & 7; /* SET_REMAP_COMPONENTS_DST_X and on */
		u32 value = source == NVC6B5_SET_REMAP_COMPONENTS_DST_X_CONST_A ?
				    CE(channel, SET_REMAP_CONST_A) :
				    CE(channel, SET_REMAP_CONST_B);

		memcpy(pattern + i * component, &value, component);
	}
	while (channel->transferred < event.bytes) {
		u64 bytes = event.bytes - channel->transferred;
		u8 *target = softgpu_copy_end(channel, physical, CE(channel, SET_DST_PHYS_MODE),
					      to + channel->transferred, SOFTGPU_WRITE, &bytes);

		if (!target)
			return false;
		softgpu_fill(target, bytes, pattern, width, channel->transferred % width);
		channel->transferred += bytes;
	}
	channel->transferred = 0;
	gpu->stats.memsets++;
	gpu->stats.memset_bytes += event.bytes;
	if (event.bytes >= PAGE_SIZE)
		softgpu_event(gpu, &event);
	return true;
}

/*
 * The semaphore at the end of a transfer: a release, or an increment up to the payload.
 * Returns as softgpu_copy() does.
 */
static bool softgpu_copy_semaphore(struct softgpu_channel *channel, u32 launch)
{
	u32 type = DRF_VAL(C6B5, _LAUNCH_DMA, _SEMAPHORE_TYPE, launch);
	u64 va = CE_ADDRESS(channel, SET_SEMAPHORE_A, SET_SEMAPHORE_B);
	u32 payload = CE(channel, SET_SEMAPHORE_PAYLOAD);
	u32 *semaphore;

	if (type == NVC6B5_LAUNCH_DMA_SEMAPHORE_TYPE_NONE)
		return true;
	if (!DRF_VAL(C6B5, _LAUNCH_DMA, _SEMAPHORE_REDUCTION_ENABLE, launch)) {
		return softgpu_host_release(
			channel, va, payload,
			type == NVC6B5_LAUNCH_DMA_SEMAPHORE_TYPE_RELEASE_FOUR_WORD_SEMAPHORE,
			false);
	}
	semaphore = softgpu_semaphore_at(channel, va, SOFTGPU_WRITE, false, sizeof(u32));
	if (!semaphore)
		return false;
	WRITE_ONCE(*semaphore, *semaphore >= payload ? 0 : *semaphore + 1);
	return true;
}

/* Does SET_REMAP_COMPONENTS name constants alone? */
static bool softgpu_fills_with_constants(const struct softgpu_channel *channel)
{
	u32 remap = CE(channel, SET_REMAP_COMPONENTS);
	u32 components = DRF_VAL(C6B5, _SET_REMAP_COMPONENTS, _NUM_DST_COMPONENTS, remap) + 1;

	for (u32 i = 0; i < components; i++) {
		u32 source = remap >> 4 * i & 7; /* SET_REMAP_COMPONENTS_DST_X and on */

		if (source != NVC6B5_SET_REMAP_COMPONENTS_DST_X_CONST_A &&
		    source != NVC6B5_SET_REMAP_COMPONENTS_DST_X_CONST_B)
			return false;
	}
	return true;
}

/* What a launch asks for that is not done here, or NULL. @fills: the source is not read. */
static const char *softgpu_copy_missing(const struct softgpu_channel *channel, u32 launch,
					bool fills, bool scrubs)
{
	if (DRF_VAL(C6B5, _LAUNCH_DMA, _SEMAPHORE_TYPE, launch)) {
		if (DRF_VAL(C6B5, _LAUNCH_DMA, _SEMAPHORE_REDUCTION_ENABLE, launch) &&
		    DRF_VAL(C6B5, _LAUNCH_DMA, _SEMAPHORE_REDUCTION, launch) !=
			    NVC6B5_LAUNCH_DMA_SEMAPHORE_REDUCTION_INC)
			return "a reduction of a semaphore";
		/* Ampere's class does not have this bit, and no one sets it. */
		if (DRF_VAL(C8B5, _LAUNCH_DMA, _SEMAPHORE_PAYLOAD_SIZE, launch))
			return "a semaphore of 64 bits";
	}
	if (DRF_VAL(C6B5, _LAUNCH_DMA, _DATA_TRANSFER_TYPE, launch) ==
	    NVC6B5_LAUNCH_DMA_DATA_TRANSFER_TYPE_NONE)
		return NULL;
	if (DRF_VAL(C6B5, _LAUNCH_DMA, _MULTI_LINE_ENABLE, launch))
		return "several lines";
	if (!DRF_VAL(C6B5, _LAUNCH_DMA, _DST_MEMORY_LAYOUT, launch) ||
	    (!fills && !DRF_VAL(C6B5, _LAUNCH_DMA, _SRC_MEMORY_LAYOUT, launch)))
		return "a block-linear layout";
	if (fills && !scrubs && !softgpu_fills_with_constants(channel))
		return "a remap of the source";
	return NULL;
}

/*
 * Launched again after a fault of its semaphore, a transfer is done again:
 * its bytes are the same.
 */
bool softgpu_copy_method(struct softgpu_channel *channel, u32 method, u32 data)
{
	bool scrubs = channel->gpu->chip->scrubs &&
		      DRF_VAL(C8B5, _LAUNCH_DMA, _MEMORY_SCRUB_ENABLE, data);
	bool fills = scrubs || DRF_VAL(C6B5, _LAUNCH_DMA, _REMAP_ENABLE, data);
	const char *missing;

	channel->copy[method / 4] = data;
	if (method != NVC6B5_LAUNCH_DMA)
		return true;
	missing = softgpu_copy_missing(channel, data, fills, scrubs);
	if (missing) {
		pr_warn("softgpu: the copy engine does not know %s: launch %x\n", missing,
			data);
		softgpu_channel_fail(channel);
		return false;
	}
	if (DRF_VAL(C6B5, _LAUNCH_DMA, _DATA_TRANSFER_TYPE, data) !=
		    NVC6B5_LAUNCH_DMA_DATA_TRANSFER_TYPE_NONE &&
	    !(fills ? softgpu_memset(channel, data, scrubs) : softgpu_copy(channel, data)))
		return false;
	return softgpu_copy_semaphore(channel, data);
}
