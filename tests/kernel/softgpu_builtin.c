// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * NVIDIA's own tests, which are built into nvidia-uvm.ko and run by ioctls (its parameter
 * uvm_enable_builtin_tests=1). docs/softgpu.md lists those that the software GPU does not
 * support.
 */
#define _GNU_SOURCE
#include "softgpu_guest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCK_BYTES (2 * SOFTGPU_MB)

/* So many different tests run in this part. tests/kernel/builtin_tests.sh counts those of all. */
#define BUILTIN_LEAST 60u
#define BUILTIN_MOST  128u

static unsigned long builtin_commands[BUILTIN_MOST]; /* each once */
static unsigned int builtin_distinct, builtin_run;

/* Count a call, and its test if that is new. */
static void builtin_note(unsigned long command)
{
	unsigned int i = 0;

	builtin_run++;
	while (i < builtin_distinct && builtin_commands[i] != command)
		i++;
	if (i == builtin_distinct && i < BUILTIN_MOST)
		builtin_commands[builtin_distinct++] = command;
}

static void builtin(struct softgpu_tenant *tenant, const char *name, unsigned long command,
		    void *params, const NV_STATUS *status)
{
	long seconds = guest_seconds();
	int got = softgpu_status(tenant->fd, command, params, status);

	builtin_note(command);
	guest_check(got == 0, "%s: %x, %ld s", name, got, guest_seconds() - seconds);
}

/* Run a test with these parameters, and keep them as "p" for what follows in the block. */
#define BUILTIN(NAME, ...)                            \
	UVM_TEST_##NAME##_PARAMS p = { __VA_ARGS__ }; \
	builtin(tenant, #NAME, UVM_TEST_##NAME, &p, (const NV_STATUS *)&p.rmStatus)

#define BUILTIN_ALONE(NAME, ...)            \
	do {                                \
		BUILTIN(NAME, __VA_ARGS__); \
	} while (0)

/* What needs no GPU: trees, locks, allocators, queues. */
static void builtin_pure(struct softgpu_tenant *tenant)
{
	BUILTIN_ALONE(RNG_SANITY, 0);
	BUILTIN_ALONE(LOCK_SANITY, 0);
	BUILTIN_ALONE(KVMALLOC, 0);
	BUILTIN_ALONE(RANGE_TREE_DIRECTED, 0);
	BUILTIN_ALONE(RANGE_TREE_RANDOM, .seed = 1, .main_iterations = 200,
		      .high_probability = 80, .add_remove_shrink_group_probability = 50,
		      .shrink_probability = 20, .collision_checks = 10, .iterator_checks = 10,
		      .max_end = 0xfffff, .max_ranges = 100, .max_batch_count = 10,
		      .max_attempts = 20);
	BUILTIN_ALONE(RB_TREE_DIRECTED, 0);
	BUILTIN_ALONE(RB_TREE_RANDOM, .iterations = 500, .range_max = 1000, .node_limit = 100,
		      .seed = 1);
	BUILTIN_ALONE(RANGE_ALLOCATOR_SANITY, .iters = 100, .seed = 1);
	BUILTIN_ALONE(PERF_EVENTS_SANITY, 0);
	BUILTIN_ALONE(PERF_UTILS_SANITY, 0);
	BUILTIN_ALONE(NV_KTHREAD_Q, 0);
	BUILTIN_ALONE(THREAD_CONTEXT_SANITY, .iterations = 100);
	BUILTIN_ALONE(THREAD_CONTEXT_PERF, .iterations = 10);
	BUILTIN_ALONE(VA_SPACE_ADD_DUMMY_THREAD_CONTEXTS, .num_dummy_thread_contexts = 2);
	BUILTIN_ALONE(VA_SPACE_REMOVE_DUMMY_THREAD_CONTEXTS, 0);
	BUILTIN_ALONE(GET_USER_SPACE_END_ADDRESS, 0);
	BUILTIN_ALONE(GET_CPU_CHUNK_ALLOC_SIZES, 0);
	BUILTIN_ALONE(CGROUP_ACCOUNTING_SUPPORTED, 0);
	BUILTIN_ALONE(VA_SPACE_MM_OR_CURRENT_RETAIN, 0);
	BUILTIN_ALONE(FLUSH_DEFERRED_WORK,
		      .work_type = UvmTestDeferredWorkTypeAcessedByMappings);
	BUILTIN_ALONE(DESTROY_GPU_VA_SPACE_DELAY, 0);
}

/* Channels, push buffers, methods, page tables. */
static void builtin_gpu(struct softgpu_tenant *tenant)
{
	BUILTIN_ALONE(RM_MEM_SANITY, 0);
	BUILTIN_ALONE(GPU_SEMAPHORE_SANITY, 0);
	BUILTIN_ALONE(TRACKER_SANITY, 0);
	BUILTIN_ALONE(MEM_SANITY, 0);
	BUILTIN_ALONE(CE_SANITY, 0);
	BUILTIN_ALONE(HOST_SANITY, 0);
	BUILTIN_ALONE(PAGE_TREE, 0);
	BUILTIN_ALONE(VA_BLOCK, 0);
	BUILTIN_ALONE(FAULT_BUFFER_FLUSH, .iterations = 100);
	BUILTIN_ALONE(DRAIN_REPLAYABLE_FAULTS, .gpu_uuid = softgpu_uuid,
		      .timeout_ns = 1000000000);
	BUILTIN_ALONE(CHANNEL_STRESS, .mode = UVM_TEST_CHANNEL_STRESS_MODE_NOOP_PUSH,
		      .iterations = 200, .seed = 1);
	BUILTIN_ALONE(CHANNEL_STRESS, .mode = UVM_TEST_CHANNEL_STRESS_MODE_UPDATE_CHANNELS,
		      .iterations = 20, .seed = 1);
	BUILTIN_ALONE(CHANNEL_STRESS, .mode = UVM_TEST_CHANNEL_STRESS_MODE_STREAM,
		      .iterations = 4, .num_streams = 4, .seed = 1);
	BUILTIN_ALONE(GET_GPU_TIME, .gpu_uuid = softgpu_uuid);
	BUILTIN_ALONE(MAKE_CHANNEL_STOPS_IMMEDIATE, 0);
	BUILTIN_ALONE(CHECK_CHANNEL_VA_SPACE, .gpu_uuid = softgpu_uuid, .rm_ctrl_fd = -1,
		      .client = tenant->client, .channel = 1, .va_space_fd = tenant->fd);
	BUILTIN(GET_GPU_REF_COUNT, .gpu_uuid = softgpu_uuid);
	guest_check(p.ref_count == 1, "%llu address space has the GPU",
		    (unsigned long long)p.ref_count);
}

/* The allocators of device memory. */
static void builtin_pmm(struct softgpu_tenant *tenant)
{
	BUILTIN_ALONE(PMM_QUERY, .gpu_uuid = softgpu_uuid);
	BUILTIN_ALONE(PMM_QUERY_PMA_STATS, .gpu_uuid = softgpu_uuid);
	BUILTIN_ALONE(PMA_GET_BATCH_SIZE, .gpu_uuid = softgpu_uuid);
	BUILTIN_ALONE(PMA_ALLOC_FREE, .gpu_uuid = softgpu_uuid, .page_size = 65536,
		      .num_pages = 4, .phys_end = ~0ull);
	BUILTIN_ALONE(PMM_ALLOC_FREE_ROOT, .gpu_uuid = softgpu_uuid);
	BUILTIN_ALONE(PMM_CHECK_LEAK, .gpu_uuid = softgpu_uuid, .chunk_size = 2 * SOFTGPU_MB,
		      .alloc_limit = -1);
	BUILTIN_ALONE(PMM_CHECK_LEAK, .gpu_uuid = softgpu_uuid, .chunk_size = 65536,
		      .alloc_limit = 100);
	BUILTIN_ALONE(PMM_ASYNC_ALLOC, .gpu_uuid = softgpu_uuid, .num_chunks = 8,
		      .num_work_iterations = 4);
	BUILTIN_ALONE(PMM_INJECT_PMA_EVICT_ERROR, .gpu_uuid = softgpu_uuid);
	BUILTIN_ALONE(PMM_RELEASE_FREE_ROOT_CHUNKS, .gpu_uuid = softgpu_uuid);
}

/* Settings, which are read, or set to what they are. */
static void builtin_settings(struct softgpu_tenant *tenant)
{
	BUILTIN_ALONE(SET_PAGE_PREFETCH_POLICY, .policy = UVM_TEST_PAGE_PREFETCH_POLICY_ENABLE);
	BUILTIN_ALONE(GET_PAGE_THRASHING_POLICY, 0);
	BUILTIN_ALONE(SET_PAGE_THRASHING_POLICY,
		      .policy = UVM_TEST_PAGE_THRASHING_POLICY_DISABLE);
	BUILTIN_ALONE(SET_PAGE_THRASHING_POLICY,
		      .policy = UVM_TEST_PAGE_THRASHING_POLICY_ENABLE, .pin_ns = 300000000);
	BUILTIN_ALONE(GET_PREFETCH_FAULTS_REENABLE_LAPSE, 0);
	BUILTIN_ALONE(SET_PREFETCH_FAULTS_REENABLE_LAPSE, .reenable_lapse = 1000);
	BUILTIN_ALONE(ACCESS_COUNTERS_ENABLED_BY_DEFAULT, .gpu_uuid = softgpu_uuid);
	BUILTIN_ALONE(GET_PAGEABLE_MEM_ACCESS_TYPE, 0);
#ifdef UVM_TEST_NUMA_GET_CLOSEST_CPU_NODE_TO_GPU /* until 575 */
	BUILTIN_ALONE(NUMA_GET_CLOSEST_CPU_NODE_TO_GPU, .gpu_uuid = softgpu_uuid);
#endif
	BUILTIN_ALONE(VA_SPACE_INJECT_ERROR, 0);
	BUILTIN_ALONE(SKIP_MIGRATE_VMA, .skip = false);
	BUILTIN_ALONE(SET_PREFETCH_FILTERING, .gpu_uuid = softgpu_uuid,
		      .filtering_mode = UVM_TEST_PREFETCH_FILTERING_MODE_FILTER_ALL);
	BUILTIN_ALONE(SET_PREFETCH_FILTERING, .gpu_uuid = softgpu_uuid,
		      .filtering_mode = UVM_TEST_PREFETCH_FILTERING_MODE_FILTER_NONE);
}

/* The event queues and counters of profilers. No profiler runs here. */
static void builtin_tools(struct softgpu_tenant *tenant)
{
	BUILTIN_ALONE(INJECT_TOOLS_EVENT, .entry.eventData.eventType = UvmEventTypeCpuFault,
		      .count = 10);
	BUILTIN_ALONE(INCREMENT_TOOLS_COUNTER, .amount = 1, .processor = softgpu_uuid,
		      .count = 10);
	BUILTIN_ALONE(TOOLS_FLUSH_REPLAY_EVENTS, .gpuUuid = softgpu_uuid);
}

/* Groups of ranges that migrate together. */
static void builtin_range_groups(struct softgpu_tenant *tenant)
{
	UVM_CREATE_RANGE_GROUP_PARAMS groups[4] = { 0 };
	uint64_t *q = softgpu_managed(tenant, SOFTGPU_MB);

	for (int i = 0; i < 4; i++)
		guest_check(softgpu_uvm(tenant->fd, UVM_CREATE_RANGE_GROUP, &groups[i]) == 0,
			    "a range group");
	BUILTIN_ALONE(RANGE_GROUP_TREE,
		      .rangeGroupIds = { groups[0].rangeGroupId, groups[1].rangeGroupId,
					 groups[2].rangeGroupId, groups[3].rangeGroupId });
	BUILTIN_ALONE(RANGE_GROUP_RANGE_COUNT, .rangeGroupId = groups[0].rangeGroupId);
	BUILTIN(RANGE_GROUP_RANGE_INFO, .lookup_address = (uintptr_t)q);
	guest_check(!p.range_group_present, "memory that is in no group");
	munmap(q, SOFTGPU_MB);
}

/* What needs managed memory. */
static void builtin_memory(struct softgpu_tenant *tenant)
{
	size_t bytes = 16 * SOFTGPU_MB;
	uint64_t *q = softgpu_managed(tenant, bytes);
	uint64_t *r = softgpu_managed(tenant, 8 * SOFTGPU_MB);

	softgpu_touch(tenant, q, bytes / SOFTGPU_PAGE, SOFTGPU_PAGE, SOFTGPU_WRITE, 1, 8);
	softgpu_touch(tenant, r, 2048, SOFTGPU_PAGE, SOFTGPU_WRITE, 1, 8);
#ifdef UVM_TEST_PMM_REVERSE_MAP /* until 590 */
	BUILTIN_ALONE(PMM_REVERSE_MAP, .gpu_uuid = softgpu_uuid, .range_address1 = (uintptr_t)q,
		      .range_address2 = (uintptr_t)r, .range_size2 = 8 * SOFTGPU_MB);
#endif
	BUILTIN_ALONE(PERF_MODULE_SANITY, .range_address = (uintptr_t)q, .range_size = bytes);
	BUILTIN_ALONE(VA_BLOCK_INFO, .lookup_address = (uintptr_t)r);
	BUILTIN_ALONE(VA_BLOCK_INJECT_ERROR, .lookup_address = (uintptr_t)r,
		      .user_pages_allocation_retry_force_count = 2,
		      .page_table_allocation_retry_force_count = 1);
	BUILTIN_ALONE(VA_RANGE_INJECT_ADD_GPU_VA_SPACE_ERROR, .lookup_address = (uintptr_t)r);
	softgpu_touch(tenant, q, 512, SOFTGPU_PAGE, SOFTGPU_WRITE, 1, 8);
	BUILTIN_ALONE(INVALIDATE_TLB, .gpu_uuid = softgpu_uuid, .va = (uintptr_t)q,
		      .target_va_mode = UvmTargetVaModeTargeted,
		      .page_table_level = UvmInvalidatePageTableLevelAll,
		      .membar = UvmInvalidateTlbMemBarSys);
	BUILTIN_ALONE(CHANGE_PTE_MAPPING, .uuid = softgpu_uuid, .va = (uintptr_t)q,
		      .mapping = UVM_TEST_PTE_MAPPING_INVALID);
	guest_check(softgpu_touch(tenant, q, 1, 8, SOFTGPU_WRITE, 5, 1).faults == 1,
		    "a mapping that was taken away faults");
	BUILTIN_ALONE(EVICT_CHUNK, .gpu_uuid = softgpu_uuid,
		      .eviction_mode = UvmTestEvictModeVirtual, .address = (uintptr_t)q);
	guest_check(softgpu_resident(tenant, q) == SOFTGPU_ON_HOST && q[0] == 5 && q[512] == 2,
		    "an evicted chunk is on the host with its bytes");
	BUILTIN_ALONE(VA_RANGE_SPLIT, .split_address = (uintptr_t)q + bytes / 2 - 1);
	{
		BUILTIN(VA_RANGE_INFO, .lookup_address = (uintptr_t)q);
		guest_check(p.va_range_end == (uintptr_t)q + bytes / 2 - 1,
			    "a range ends at its split");
	}
	BUILTIN_ALONE(VA_RANGE_INJECT_SPLIT_ERROR, .lookup_address = (uintptr_t)q);
	{
		UVM_TEST_VA_RANGE_SPLIT_PARAMS p = { .split_address =
							     (uintptr_t)q + bytes / 4 - 1 };

		guest_check(softgpu_uvm(tenant->fd, UVM_TEST_VA_RANGE_SPLIT, &p) ==
				    NV_ERR_NO_MEMORY,
			    "and cannot be split where memory is short");
	}
	{
		static uint64_t word = 77;
		uint64_t space;
		{
			BUILTIN(GET_KERNEL_VIRTUAL_ADDRESS, 0);
			space = p.addr;
		}
		BUILTIN(VA_SPACE_MM_RETAIN, .va_space_ptr = space, .addr = (uintptr_t)&word);
		guest_check(p.val_before == word, "the driver reads the process's memory");
	}
	munmap(q, bytes);
	munmap(r, 8 * SOFTGPU_MB);
}

/*
 * The reverse map of host memory. The test wants a block of 2 MB, and 2 MB in four ranges. In
 * 575, which can inject errors of NVLink, no GPU has what it needs: hal_override_properties
 * takes access_counters_can_use_physical_addresses from all. 580 and later have no such test.
 */
static void builtin_sysmem(struct softgpu_tenant *tenant)
{
#if defined(UVM_TEST_PMM_SYSMEM) && !defined(UVM_TEST_INJECT_NVLINK_ERROR)
	uint64_t *whole = softgpu_managed(tenant, BLOCK_BYTES);
	uint64_t *cut = softgpu_managed(tenant, BLOCK_BYTES);

	for (size_t i = 1; i < 4; i++)
		BUILTIN_ALONE(VA_RANGE_SPLIT,
			      .split_address = (uintptr_t)cut + i * BLOCK_BYTES / 4 - 1);
	/* A block is there once its memory was touched. */
	memset(whole, 1, BLOCK_BYTES);
	memset(cut, 1, BLOCK_BYTES);
	BUILTIN_ALONE(PMM_SYSMEM, .range_address1 = (uintptr_t)whole,
		      .range_address2 = (uintptr_t)cut);
	munmap(whole, BLOCK_BYTES);
	munmap(cut, BLOCK_BYTES);
#else
	(void)tenant;
#endif
}

/* Those that take long: GVM_TEST_LONG=1. */
static void builtin_long(struct softgpu_tenant *tenant)
{
	BUILTIN_ALONE(CPU_CHUNK_API, 0);
	BUILTIN_ALONE(PUSH_SANITY, 0);
	BUILTIN_ALONE(PMM_SANITY, .mode = UvmTestPmmSanityModeBasic);
}

void test_builtin(struct softgpu_tenant *tenant)
{
	builtin_distinct = builtin_run = 0;
	builtin_pure(tenant);
	builtin_gpu(tenant);
	builtin_pmm(tenant);
	builtin_settings(tenant);
	builtin_tools(tenant);
	builtin_range_groups(tenant);
	builtin_memory(tenant);
	builtin_sysmem(tenant);
	if (guest_number("GVM_TEST_LONG", 0))
		builtin_long(tenant);
	guest_check(builtin_distinct >= BUILTIN_LEAST,
		    "%u different tests that are built into nvidia-uvm.ko ran, in %u calls",
		    builtin_distinct, builtin_run);
}

/*
 * It stops a channel on purpose, and makes all of them anew. GVM_TEST_AFTER=1: while a
 * block of managed memory has used the channels that are destroyed. Then the CPU may wait
 * for ever: docs/softgpu.md.
 */
void test_channel(struct softgpu_tenant *tenant)
{
	uint64_t *p = NULL;

	if (guest_number("GVM_TEST_AFTER", 0)) {
		p = softgpu_managed(tenant, BLOCK_BYTES);
		for (unsigned int i = 0; i < 100; i++) {
			softgpu_migrate(tenant, p, BLOCK_BYTES, false);
			softgpu_touch(tenant, p, 512, SOFTGPU_PAGE, SOFTGPU_WRITE, 1, 8);
		}
	}
	BUILTIN_ALONE(CHANNEL_SANITY, 0);
	if (p)
		guest_check(p[512] == 2, "the CPU reads what the GPU wrote");
}
