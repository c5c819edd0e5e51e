// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Methods of host (classes C56F and C86F): semaphores, and memory operations, which
 * invalidate TLBs and replay or cancel faults. Memory barriers and flushes of caches do
 * nothing: there are no caches.
 */
#include "softgpu.h"

#define HOST(channel, method) ((channel)->host[(NVC56F_##method) / 4])
#define SOFTGPU_ERROR	      0xffff /* in a notifier */

void softgpu_channel_fail(struct softgpu_channel *channel)
{
	channel->failed = true;
	channel->gpu->stats.channel_errors++;
	pr_warn("softgpu: channel %u stops with an error\n", channel->id);
	WRITE_ONCE(channel->notifier->status, SOFTGPU_ERROR);
}

u32 *softgpu_semaphore_at(struct softgpu_channel *channel, u64 va, enum softgpu_op op,
			  bool host, u64 bytes)
{
	if (!IS_ALIGNED(va, bytes)) {
		pr_warn("softgpu: a semaphore of %llu bytes at %llx\n", bytes, va);
		softgpu_channel_fail(channel);
		return NULL;
	}
	return softgpu_channel_translate(channel, va, op, host, &bytes);
}

bool softgpu_host_release(struct softgpu_channel *channel, u64 va, u32 payload, bool timestamp,
			  bool host)
{
	u32 *semaphore =
		softgpu_semaphore_at(channel, va, SOFTGPU_WRITE, host, timestamp ? 16 : 4);

	if (!semaphore)
		return false;
	if (timestamp) {
		u64 now = ktime_get_ns();

		memcpy(semaphore + 2, &now, sizeof(now));
		semaphore[1] = 0;
	}
	/* What came before the semaphore is seen before it is. */
	smp_store_release(semaphore, payload);
	channel->gpu->stats.releases++;
	return true;
}

static bool softgpu_semaphore_reached(u32 operation, u32 value, u32 payload)
{
	switch (operation) {
	case NVC56F_SEM_EXECUTE_OPERATION_ACQUIRE:
		return value == payload;
	case NVC56F_SEM_EXECUTE_OPERATION_ACQ_STRICT_GEQ:
		return value >= payload;
	default: /* ACQ_CIRC_GEQ: payloads wrap around */
		return (s32)(value - payload) >= 0;
	}
}

static bool softgpu_semaphore(struct softgpu_channel *channel, u32 execute)
{
	u32 operation = DRF_VAL(C56F, _SEM_EXECUTE, _OPERATION, execute);
	u64 va = ((u64)HOST(channel, SEM_ADDR_HI) << 32 | HOST(channel, SEM_ADDR_LO)) & ~3ull;
	u32 payload = HOST(channel, SEM_PAYLOAD_LO);
	u32 *semaphore;

	/* UVM's semaphores have 32 bits. */
	if (DRF_VAL(C56F, _SEM_EXECUTE, _PAYLOAD_SIZE, execute)) {
		pr_warn("softgpu: a semaphore of 64 bits\n");
		softgpu_channel_fail(channel);
		return false;
	}
	switch (operation) {
	case NVC56F_SEM_EXECUTE_OPERATION_RELEASE:
		return softgpu_host_release(
			channel, va, payload,
			DRF_VAL(C56F, _SEM_EXECUTE, _RELEASE_TIMESTAMP, execute), true);
	case NVC56F_SEM_EXECUTE_OPERATION_ACQUIRE:
	case NVC56F_SEM_EXECUTE_OPERATION_ACQ_STRICT_GEQ:
	case NVC56F_SEM_EXECUTE_OPERATION_ACQ_CIRC_GEQ:
		semaphore = softgpu_semaphore_at(channel, va, SOFTGPU_READ, true, sizeof(u32));
		if (!semaphore)
			return false;
		if (!softgpu_semaphore_reached(operation, smp_load_acquire(semaphore), payload))
			return false;
		channel->gpu->stats.acquires++;
		return true;
	default:
		channel->gpu->stats.unknown_methods++;
		return true;
	}
}

/* A TLB invalidate, with or without a replay or a cancel of faults. */
static void softgpu_invalidate(struct softgpu_channel *channel, u32 d)
{
	struct softgpu *gpu = channel->gpu;
	u32 a = HOST(channel, MEM_OP_A);
	u32 c = HOST(channel, MEM_OP_C);
	u32 replay = DRF_VAL(C56F, _MEM_OP_C, _TLB_INVALIDATE_REPLAY, c);
	u64 va = (u64)HOST(channel, MEM_OP_B) << 32 | (a & ~0xfffu);
	u64 directory = (u64)DRF_VAL(C56F, _MEM_OP_D, _TLB_INVALIDATE_PDB_ADDR_HI, d) << 32 |
			(c & ~0xfffu);
	bool targeted = DRF_VAL(C56F, _MEM_OP_D, _OPERATION, d) ==
			NVC56F_MEM_OP_D_OPERATION_MMU_TLB_INVALIDATE_TARGETED;
	u32 order =
		targeted ? DRF_VAL(C56F, _MEM_OP_A, _TLB_INVALIDATE_INVALIDATION_SIZE, a) : 64;

	if (replay == NVC56F_MEM_OP_C_TLB_INVALIDATE_REPLAY_NONE) {
		struct softgpu_event event = {
			.kind = SOFTGPU_EVENT_INVALIDATE,
			.how = DRF_VAL(C56F, _MEM_OP_C, _TLB_INVALIDATE_PAGE_TABLE_LEVEL, c),
			.a = va,
			.bytes = order + PAGE_SHIFT < 64 ? BIT_ULL(order + PAGE_SHIFT) : 0,
		};

		if (DRF_VAL(C56F, _MEM_OP_C, _TLB_INVALIDATE_PDB, c) ==
		    NVC56F_MEM_OP_C_TLB_INVALIDATE_PDB_ALL)
			directory = U64_MAX;
		softgpu_tlb_invalidate(gpu, directory, va, order);
		softgpu_event(gpu, &event);
	} else if (replay == NVC56F_MEM_OP_C_TLB_INVALIDATE_REPLAY_START ||
		   replay == NVC56F_MEM_OP_C_TLB_INVALIDATE_REPLAY_START_ACK_ALL) {
		/* UVM names an address that has no use: a replay invalidates nothing. */
		softgpu_replay(gpu, NULL);
	} else {
		struct softgpu_cancel cancel = {
			.directory = directory,
			.va = va,
			.access = DRF_VAL(C56F, _MEM_OP_C, _TLB_INVALIDATE_ACCESS_TYPE, c),
			.all = replay != NVC56F_MEM_OP_C_TLB_INVALIDATE_REPLAY_CANCEL_VA_GLOBAL,
		};

		softgpu_replay(gpu, &cancel);
	}
}

static void softgpu_clear_counters(struct softgpu_channel *channel, u32 d)
{
	bool targeted = DRF_VAL(C56F, _MEM_OP_D, _ACCESS_COUNTER_CLR_TYPE, d) ==
			NVC56F_MEM_OP_D_ACCESS_COUNTER_CLR_TYPE_TARGETED;

	softgpu_counters_clear(channel->gpu,
			       targeted ? DRF_VAL(C56F, _MEM_OP_C,
						  _ACCESS_COUNTER_CLR_TARGETED_NOTIFY_TAG,
						  HOST(channel, MEM_OP_C)) :
					  SOFTGPU_ALL_COUNTERS);
}

bool softgpu_host_method(struct softgpu_channel *channel, u32 method, u32 data)
{
	channel->host[method / 4] = data;
	switch (method) {
	case NVC56F_SEM_EXECUTE:
		return softgpu_semaphore(channel, data);
	case NVC56F_MEM_OP_D:
		switch (DRF_VAL(C56F, _MEM_OP_D, _OPERATION, data)) {
		case NVC56F_MEM_OP_D_OPERATION_MMU_TLB_INVALIDATE:
		case NVC56F_MEM_OP_D_OPERATION_MMU_TLB_INVALIDATE_TARGETED:
			softgpu_invalidate(channel, data);
			break;
		case NVC56F_MEM_OP_D_OPERATION_ACCESS_COUNTER_CLR:
			softgpu_clear_counters(channel, data);
		}
		return true;
	case NVC56F_SET_OBJECT:
	case NVC56F_NOP:
	case NVC56F_MEM_OP_A:
	case NVC56F_MEM_OP_B:
	case NVC56F_MEM_OP_C:
	case NVC56F_SEM_ADDR_LO:
	case NVC56F_SEM_ADDR_HI:
	case NVC56F_SEM_PAYLOAD_LO:
	case NVC56F_SEM_PAYLOAD_HI:
	case NVC56F_WFI:
	case NVC56F_NON_STALL_INTERRUPT:
		return true;
	default:
		channel->gpu->stats.unknown_methods++;
		pr_warn_ratelimited("softgpu: unknown method %x of host\n", method);
		return true;
	}
}
