// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Reads any bytes as a history of two containers on a small GPU. Each line is a step. Most
 * lines write control files. The others change the memory and TSGs to which limits and settings
 * apply:
 *
 *	0FILE=TEXT  1FILE=TEXT   write TEXT to FILE of that container
 *	c0 c1  u0 u1             charge a chunk; give one back
 *	t0 t1  d0 d1             make a TSG; destroy one
 *	f                        the next RPC fails
 *	r0 r1                    the container's process ends, and another one starts
 *	s  w                     suspend the GPU; wake it up
 *	l                        the GPU is lost for good
 *	kX                       RM takes chunks by force; the character X says which ones
 *	h                        evictions of whole chunks begin, or cease, to leave a half
 *	i0XY i1XY                block X comes in Y times for one access of the container's TSG
 *	a0  a1                   that TSG finishes an access
 *	m0XY m1XY  n0XY n1XY     map pages of block X, which Y says, from host memory; n: in vain
 *
 * The books are in order after each step. A refused write changes nothing. Writing to a file
 * the text that it shows changes nothing either. While the GPU is suspended or lost, every
 * write is refused.
 */
#include "../core/case_remote.h"
#include "../core/reference_model.h"
#include "fuzz.h"
#include "gvm/activity.h"
#include "gvm/clock.h"
#include "gvm/control.h"
#include "gvm/evict.h"
#include "gvm/quiesce.h"
#include "gvm/tsg.h"

#define CHUNKS	   24u
#define CONTAINERS 2u
#define TSGS	   3u
#define STEPS_MAX  200u
#define FILES_MAX  16u
#define TAKEN_MAX  4u

static struct {
	struct gvm_device device;
	struct gvm_container *containers[CONTAINERS];
	struct gvm_tsg tsgs[CONTAINERS][TSGS];
	u32 tsg_count[CONTAINERS];
	bool fail_rpc;
	bool suspended, lost;
	bool halves;		  /* an eviction of a whole chunk leaves half of it */
	u64 accesses[CONTAINERS]; /* finished */
	u32 returns[CONTAINERS][MODEL_BLOCKS]; /* of a block, since the last of these */
} gpu;

/* The texts of all files of both containers. */
struct snapshot {
	char text[CONTAINERS][FILES_MAX][GVM_CONTROL_TEXT_MAX];
};

static int gpu_evict(void *unused, u32 chunk, struct gvm_eviction *eviction)
{
	(void)unused;
	eviction->fence.sequence[GVM_ENGINE_OUT]++;
	eviction->left_bytes = 0;
	if (gpu.halves && gpu.device.chunks[chunk].bytes == GVM_CHUNK_BYTES) {
		gvm_uncharge_part(&gpu.device, chunk, 0, GVM_PAGES_PER_BLOCK / 2);
		gvm_clock_putback(&gpu.device, chunk);
		eviction->left_bytes = GVM_CHUNK_BYTES / 2;
	} else {
		gvm_uncharge(&gpu.device, chunk);
	}
	return 0;
}

/* One in 8 is in service. */
static bool gpu_evictable(void *unused, u32 chunk)
{
	(void)unused;
	return chunk % 8 != 7;
}

static int gpu_rpc(void *unused, u32 tsg)
{
	bool fails = gpu.fail_rpc;

	(void)unused;
	(void)tsg;
	gpu.fail_rpc = false;
	return fails ? -EIO : 0;
}

static int gpu_move(void *unused, const u32 *tsgs, u32 count)
{
	FUZZ_ASSERT(count == 1);
	return gpu_rpc(unused, tsgs[0]);
}

static int gpu_disable(void *unused, const u32 *tsgs, u32 count, bool preempt)
{
	FUZZ_ASSERT(!preempt); /* there is no scheduler */
	return gpu_move(unused, tsgs, count);
}

static int gpu_set_timeslice(void *unused, u32 tsg, u64 timeslice_us)
{
	FUZZ_ASSERT(timeslice_us >= GVM_TIMESLICE_MIN_US &&
		    timeslice_us <= GVM_TIMESLICE_MAX_US);
	return gpu_rpc(unused, tsg);
}

/* It has left the GPU as soon as it is asked to. */
static void gpu_sample(void *unused, u32 tsg, struct gvm_tsg_sample *ret_sample)
{
	(void)unused;
	(void)tsg;
	ret_sample->on_gpu = false;
}

static u64 gpu_accesses(void *unused, u32 tsg)
{
	(void)unused;
	return gpu.accesses[tsg];
}

static void gpu_remote_end(void *unused, const struct gvm_container *container)
{
	(void)unused;
	case_remote_end(container);
}

static const struct gvm_gpu_ops gpu_ops = {
	.tsg_accesses = gpu_accesses,
	.tsg_set_timeslice = gpu_set_timeslice,
	.tsgs_disable = gpu_disable,
	.tsgs_enable = gpu_move,
	.tsg_preempt = gpu_rpc,
	.tsg_sample = gpu_sample,
};

static const struct gvm_memory_ops memory_ops = {
	.remote_end = gpu_remote_end,
	.evict = gpu_evict,
	.evictable = gpu_evictable,
};

static void take_snapshot(struct snapshot *snapshot)
{
	FUZZ_ASSERT(gvm_control_count() <= FILES_MAX);
	for (u32 i = 0; i < CONTAINERS; i++) {
		for (u32 file = 0; file < gvm_control_count(); file++)
			FUZZ_ASSERT(gvm_control_read(
					    gpu.containers[i], gvm_control_at(file)->name,
					    snapshot->text[i][file], GVM_CONTROL_TEXT_MAX) > 0);
	}
}

/* No file shows another text than before. gmem.events of @counts may; NULL: of no container. */
static void check_unchanged(const struct snapshot *before, const struct gvm_container *counts)
{
	struct snapshot after;

	take_snapshot(&after);
	for (u32 i = 0; i < CONTAINERS; i++) {
		for (u32 file = 0; file < gvm_control_count(); file++) {
			if (gpu.containers[i] == counts &&
			    strcmp(gvm_control_at(file)->name, "gmem.events") == 0)
				continue;
			FUZZ_ASSERT(strcmp(before->text[i][file], after.text[i][file]) == 0);
		}
	}
}

/*
 * Write to a file the text that it shows: nothing may change. The priority is left out, since
 * it also sets the timeslice.
 */
static void check_rewrite(struct gvm_container *container, const char *name)
{
	char text[GVM_CONTROL_TEXT_MAX];
	struct snapshot before;
	int length = gvm_control_read(container, name, text, sizeof(text));
	/* Memory above the limit that could not go is tried again, and counted again. */
	bool excess = gvm_charge_excess(container);

	if (strcmp(name, "compute.priority") == 0)
		return;
	take_snapshot(&before);
	FUZZ_ASSERT(gvm_control_write(container, name, text, (size_t)length) == 0);
	check_unchanged(&before, excess ? container : NULL);
}

/* The pages of a container that are in host memory, or of these the mapped ones. */
static u64 host_pages(u32 who, bool remote)
{
	u64 pages = 0;

	for (u32 i = 0; i < MODEL_BLOCKS; i++) {
		const struct gvm_block *block = case_remote_block(who, i);

		FUZZ_ASSERT(!(block->remote & ~block->on_host));
		pages += hweight32(remote ? block->remote : block->on_host);
	}
	return pages;
}

/* Only pages of the range are in host memory. Each is charged once. */
static void check_host_pages(void)
{
	for (u32 who = 0; who < CONTAINERS; who++)
		FUZZ_ASSERT(gpu.containers[who]->swapped_bytes ==
			    host_pages(who, false) * GVM_PAGE_BYTES);
}

/* The error of every write that is well-formed, or 0. */
static int write_refusal(void)
{
	if (gpu.lost)
		return -ENODEV;
	return gpu.suspended ? -EAGAIN : 0;
}

/* 0FILE=TEXT */
static void step_write(u32 who, const char *line, size_t length)
{
	const char *equals = memchr(line, '=', length);
	struct gvm_container *container = gpu.containers[who];
	char name[64];
	struct snapshot before;
	size_t name_length;
	int status;

	if (!equals)
		return;
	name_length = (size_t)(equals - line);
	if (name_length >= sizeof(name))
		return;
	memcpy(name, line, name_length);
	name[name_length] = '\0';
	take_snapshot(&before);
	/* While the GPU is suspended, only a write that must not wait comes back. */
	status = (gpu.suspended ? gvm_control_set : gvm_control_write)(
		container, name, equals + 1, length - name_length - 1);
	FUZZ_ASSERT(status == -EINVAL || status == -ENOENT || status == -EACCES ||
		    status == -E2BIG || status == write_refusal() ||
		    (!write_refusal() && status == -EIO));
	fuzz_accepted |= !status;
	if (status == 0 && !gpu.suspended && strcmp(name, "gmem.limit.high") == 0)
		FUZZ_ASSERT(!host_pages(who, true));
	if (status == 0)
		check_rewrite(container, name);
	else if (status != -EIO)
		check_unchanged(&before, NULL);
}

static void charge(u32 who)
{
	u32 chunk = 0;

	while (chunk < CHUNKS && gpu.device.chunks[chunk].state != GVM_CHUNK_FREE)
		chunk++;
	if (chunk < CHUNKS && gvm_charge_reserve(gpu.containers[who]) == 0)
		gvm_charge_bind(gpu.containers[who], chunk);
}

static bool uncharge(u32 who)
{
	for (u32 chunk = 0; chunk < CHUNKS; chunk++) {
		if (gpu.device.chunks[chunk].owner == gpu.containers[who]) {
			gvm_uncharge(&gpu.device, chunk);
			return true;
		}
	}
	return false;
}

static void make_tsg(u32 who)
{
	u32 index = gpu.tsg_count[who];

	if (index == TSGS)
		return;
	(void)gvm_tsg_attach(gpu.containers[who], &gpu.tsgs[who][index], who * TSGS + index);
	gpu.tsg_count[who]++;
}

static bool destroy_tsg(u32 who)
{
	if (!gpu.tsg_count[who])
		return false;
	gvm_tsg_detach(&gpu.tsgs[who][--gpu.tsg_count[who]]);
	return true;
}

/* A block counts as stuck for the TSG that it came in for in vain, and for no other one. */
static void come_in(u32 who, u32 block, u32 times)
{
	gpu.returns[who][block] += times;
	case_remote_return(who, block, who, times);
	FUZZ_ASSERT(case_remote_is_stuck(who, block, who) ==
		    (gpu.returns[who][block] >= GVM_STUCK_RETURNS));
	FUZZ_ASSERT(!case_remote_is_stuck(who, block, !who));
}

static void finish_access(u32 who)
{
	gpu.accesses[who]++;
	memset(gpu.returns[who], 0, sizeof(gpu.returns[who]));
}

/* A refused mapping leaves the books as they were. */
static void map_remote(u32 who, u32 block, u32 pages, bool fails)
{
	u64 before = host_pages(who, false);
	int status;

	pages &= ~case_remote_block(who, block)->remote;
	if (!pages)
		return;
	status = case_remote_map_pages(who, block, pages, fails);
	FUZZ_ASSERT(status == -EDQUOT || status == (fails ? -ENOMEM : 0));
	FUZZ_ASSERT(status || !(pages & ~case_remote_block(who, block)->remote));
	FUZZ_ASSERT(!status || host_pages(who, false) == before);
}

static void enter(u32 who)
{
	FUZZ_ASSERT(gvm_container_attach(&gpu.device, 1 + who, &gpu.containers[who]) == 0);
	FUZZ_ASSERT(case_remote_map(who, gpu.containers[who]) == 0);
	memset(gpu.returns[who], 0, sizeof(gpu.returns[who]));
}

static void leave(u32 who)
{
	while (uncharge(who) || destroy_tsg(who))
		;
	case_remote_unmap(who);
	gvm_container_detach(gpu.containers[who]);
}

static void suspend(void)
{
	int status = gvm_device_quiesce(&gpu.device, 1);

	FUZZ_ASSERT(status == (gpu.lost ? -ENODEV : gpu.suspended ? -EBUSY : 0));
	gpu.suspended = true;
}

/*
 * The settings of TSGs are applied again, and an RPC may fail. The GPU is awake all the same.
 */
static void wake_up(void)
{
	int status = gvm_device_resume(&gpu.device);

	if (gpu.lost)
		FUZZ_ASSERT(status == -ENODEV);
	else if (!gpu.suspended)
		FUZZ_ASSERT(status == -EINVAL);
	else
		FUZZ_ASSERT(status == 0 || status == -EIO);
	gpu.suspended = false;
}

static void lose(void)
{
	gvm_device_set_lost(&gpu.device);
	gpu.lost = true;
}

/* The copy of every other chunk fails, and the chunk is put back. */
static void take_by_force(u32 first)
{
	u32 count = min(TAKEN_MAX, CHUNKS - first), picked = 0;
	u32 taken = gvm_clock_take_range(&gpu.device, first, count);

	for (u32 chunk = first; chunk < first + count; chunk++) {
		if (!gvm_clock_is_picked(&gpu.device, chunk))
			continue;
		picked++;
		if (chunk % 2)
			gvm_clock_putback(&gpu.device, chunk);
		else
			gvm_uncharge(&gpu.device, chunk);
	}
	FUZZ_ASSERT(picked == taken);
}

static void step(const char *line, size_t length)
{
	u32 who = length > 1 && line[1] == '1';
	u32 block = length > 2 ? (u8)line[2] % MODEL_BLOCKS : 0;
	u8 more = length > 3 ? (u8)line[3] : 0;

	switch (length ? line[0] : '\0') {
	case '0':
	case '1':
		step_write(line[0] == '1', line + 1, length - 1);
		break;
	case 'c':
		charge(who);
		break;
	case 'u':
		uncharge(who);
		break;
	case 't':
		make_tsg(who);
		break;
	case 'd':
		destroy_tsg(who);
		break;
	case 'f':
		gpu.fail_rpc = true;
		break;
	case 'r':
		leave(who);
		enter(who);
		break;
	case 's':
		suspend();
		break;
	case 'w':
		wake_up();
		break;
	case 'l':
		lose();
		break;
	case 'k':
		take_by_force(length > 1 ? (u8)line[1] % CHUNKS : 0);
		break;
	case 'i':
		come_in(who, block, more % (2 * GVM_STUCK_RETURNS));
		break;
	case 'a':
		finish_access(who);
		break;
	case 'm':
	case 'n':
		map_remote(who, block, more * 0x01010101u, line[0] == 'n');
		break;
	case 'h':
		gpu.halves = !gpu.halves;
		break;
	default:
		break;
	}
	check_host_pages();
	FUZZ_ASSERT(gvm_check(&gpu.device) == 0);
}

static void gpu_init(void)
{
	static const struct gvm_device_config config = {
		.name = "fuzz",
		.chunk_count = CHUNKS,
		.ops = &gpu_ops,
		.memory_ops = &memory_ops,
		.default_timeslice_us = 1000,
		.sub_chunks = true,
	};

	memset(&gpu, 0, sizeof(gpu));
	FUZZ_ASSERT(gvm_device_init(&gpu.device, &config) == 0);
	case_remote_init(&gpu.device);
	for (u32 i = 0; i < CONTAINERS; i++)
		enter(i);
}

static void gpu_destroy(void)
{
	for (u32 i = 0; i < CONTAINERS; i++)
		leave(i);
	case_remote_destroy();
	gvm_device_destroy(&gpu.device);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size;

	fuzz_accepted = false;
	gpu_init();
	for (u32 steps = 0; at < end && steps < STEPS_MAX; steps++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;

		step(at, (size_t)(stop - at));
		at = stop + 1;
	}
	gpu_destroy();
	return 0;
}
