// SPDX-License-Identifier: MIT OR GPL-2.0
/* Cases: the name of each operation, and how the core does it, side by side with the model. */
#include "model_case.h"
#include "case_remote.h"
#include "core_world.h"

#include "find_container.h"
#include "gvm/activity.h"
#include "gvm/quiesce.h"
#include "gvm/swap.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * gvm_check() looks at all of the books, so it runs after every seventh operation only. Seven
 * is a prime, so that all kinds of operation come before a check.
 */
#define CASE_CHECK_EVERY 7u

/* The longest case takes about a twentieth of this. */
#define CASE_LIMIT_US 250000

static struct gvm_device *const device = &world.device;
static struct gvm_container *containers[MODEL_CONTAINERS]; /* the core's, by slot */
static struct case_failure *report;			   /* shared with the parent */

__attribute__((noreturn, format(printf, 1, 2))) static void disagree(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(report->why, sizeof(report->why), fmt, args);
	va_end(args);
	_exit(1);
}

/* The core's side of each operation. */

static u32 slot_of(const struct gvm_container *container)
{
	u32 i;

	for (i = 0; i < MODEL_CONTAINERS; i++) {
		if (container && containers[i] == container)
			return i;
	}
	return MODEL_NONE;
}

/* A container that was not seen before goes to the lowest free slot. */
static u32 core_attach(const struct model_op *op)
{
	struct gvm_container *container;
	u32 slot;

	if (gvm_container_attach(device, (u32)op->value, &container))
		disagree("attach failed");
	slot = slot_of(container);
	if (slot != MODEL_NONE)
		return slot;
	for (slot = 0; containers[slot];)
		slot++;
	containers[slot] = container;
	return slot;
}

/* Returns the references that are left. The last one frees the container, and the slot. */
static u32 core_drop(const struct model_op *op, void (*drop)(struct gvm_container *container))
{
	struct gvm_container *container = containers[op->container];
	u32 left = container->refs - 1;

	if (left == 0)
		containers[op->container] = NULL;
	drop(container);
	return left;
}

static u32 core_detach(const struct model_op *op)
{
	return core_drop(op, gvm_container_detach);
}

static u32 core_put(const struct model_op *op)
{
	return core_drop(op, gvm_container_put);
}

static u32 core_get(const struct model_op *op)
{
	gvm_container_get(containers[op->container]);
	return containers[op->container]->refs;
}

static u32 core_find(const struct model_op *op)
{
	struct gvm_container *container = find_container(device, (u32)op->value);

	if (!container)
		return MODEL_NONE;
	gvm_container_put(container);
	return slot_of(container);
}

static u32 core_empty(const struct model_op *op)
{
	struct gvm_container *container = containers[op->container];
	u32 i;

	for (i = 0; i < device->chunk_count; i++) {
		if (device->chunks[i].owner == container)
			gvm_uncharge(device, i);
	}
	while ((container->reserved_bytes >> GVM_CHUNK_SHIFT))
		gvm_charge_cancel(container);
	while ((container->unevictable_bytes >> GVM_CHUNK_SHIFT))
		gvm_uncharge_unevictable(container, GVM_CHUNK_BYTES);
	return 0;
}

static u32 core_reserve(const struct model_op *op)
{
	return (u32)gvm_charge_reserve(containers[op->container]);
}

static u32 core_force(const struct model_op *op)
{
	gvm_charge_force(containers[op->container]);
	return 0;
}

static u32 core_cancel(const struct model_op *op)
{
	gvm_charge_cancel(containers[op->container]);
	return 0;
}

static u32 core_bind(const struct model_op *op)
{
	gvm_charge_bind(containers[op->container], op->chunk);
	return 0;
}

static u32 core_uncharge(const struct model_op *op)
{
	gvm_uncharge(device, op->chunk);
	return 0;
}

static u32 core_excess(const struct model_op *op)
{
	return gvm_charge_excess(containers[op->container]);
}

static u32 core_touch(const struct model_op *op)
{
	gvm_clock_touch(device, op->chunk);
	return 0;
}

static u32 core_pick_own(const struct model_op *op)
{
	return gvm_clock_pick_own(containers[op->container]);
}

static u32 core_pick_global(const struct model_op *op)
{
	(void)op;
	return gvm_clock_pick_global(device);
}

static u32 core_pick_protected(const struct model_op *op)
{
	(void)op;
	return gvm_clock_pick_protected(device);
}

static u32 core_take(const struct model_op *op)
{
	return gvm_clock_take(device, op->chunk);
}

static u32 core_take_range(const struct model_op *op)
{
	return gvm_clock_take_range(device, op->chunk, (u32)op->value);
}

static u32 core_is_picked(const struct model_op *op)
{
	return gvm_clock_is_picked(device, op->chunk);
}

static u32 core_putback(const struct model_op *op)
{
	gvm_clock_putback(device, op->chunk);
	return 0;
}

static u32 core_refill(const struct model_op *op)
{
	return gvm_clock_refill_stash(device, (u32)op->value);
}

static u32 core_high(const struct model_op *op)
{
	gvm_limit_set_high(containers[op->container], op->value);
	return 0;
}

static u32 core_low(const struct model_op *op)
{
	gvm_limit_set_low(containers[op->container], op->value);
	return 0;
}

static u32 core_hmem(const struct model_op *op)
{
	gvm_limit_set_hmem(containers[op->container], op->value);
	return 0;
}

static u32 core_charge_pin(const struct model_op *op)
{
	gvm_charge_bind_unevictable(containers[op->container], GVM_CHUNK_BYTES);
	return 0;
}

static u32 core_charge_unpin(const struct model_op *op)
{
	gvm_uncharge_unevictable(containers[op->container], GVM_CHUNK_BYTES);
	return 0;
}

static u32 core_pin(const struct model_op *op)
{
	world.pinned[op->chunk] = true;
	return 0;
}

static u32 core_unpin(const struct model_op *op)
{
	world.pinned[op->chunk] = false;
	return 0;
}

static u32 core_swap_out(const struct model_op *op)
{
	gvm_swap_charge(containers[op->container], op->value);
	return 0;
}

static u32 core_swap_in(const struct model_op *op)
{
	gvm_swap_uncharge(containers[op->container], op->value);
	return 0;
}

static u32 core_oom(const struct model_op *op)
{
	gvm_container_count_event(containers[op->container], GVM_EVENT_OOM);
	return 0;
}

/* Nothing is active, so the device is idle at once. */
static u32 core_quiesce(const struct model_op *op)
{
	(void)op;
	return (u32)gvm_device_quiesce(device, 1);
}

static u32 core_resume(const struct model_op *op)
{
	(void)op;
	return (u32)gvm_device_resume(device);
}

static u32 core_lose(const struct model_op *op)
{
	(void)op;
	gvm_device_set_lost(device);
	return 0;
}

static u32 core_activity(const struct model_op *op)
{
	if (!gvm_activity_begin(device, (enum gvm_activity)op->value))
		return false;
	gvm_activity_end(device, (enum gvm_activity)op->value);
	return true;
}

static u32 core_map(const struct model_op *op)
{
	return (u32)case_remote_map(op->container, containers[op->container]);
}

static u32 core_unmap(const struct model_op *op)
{
	u32 left = containers[op->container]->refs - 1;

	if (left == 0)
		containers[op->container] = NULL;
	case_remote_unmap(op->container);
	return left;
}

static u32 core_access(const struct model_op *op)
{
	world.accesses[op->value]++;
	return 0;
}

static u32 core_return(const struct model_op *op)
{
	case_remote_return(op->container, op->chunk, MODEL_RETURN_TSG(op->value),
			   MODEL_RETURN_TIMES(op->value));
	return 0;
}

static u32 core_stuck(const struct model_op *op)
{
	return case_remote_is_stuck(op->container, op->chunk, (u32)op->value);
}

static u32 core_remote(const struct model_op *op)
{
	return (u32)case_remote_map_pages(op->container, op->chunk,
					  MODEL_REMOTE_PAGES(op->value),
					  MODEL_REMOTE_FAILS(op->value));
}

static u32 core_end_remote(const struct model_op *op)
{
	case_remote_end(containers[op->container]);
	return 0;
}

#define OP(name, has)                                 \
	{                                             \
#name, has, model_##name, core_##name \
	}

static const struct {
	const char *name;
	u32 has;
	u32 (*model)(const struct model_op *op);
	u32 (*core)(const struct model_op *op);
} operations[MODEL_OPS] = {
	[MODEL_ATTACH] = OP(attach, CASE_HAS_VALUE),
	[MODEL_DETACH] = OP(detach, CASE_HAS_CONTAINER),
	[MODEL_GET] = OP(get, CASE_HAS_CONTAINER),
	[MODEL_PUT] = OP(put, CASE_HAS_CONTAINER),
	[MODEL_FIND] = OP(find, CASE_HAS_VALUE),
	[MODEL_EMPTY] = OP(empty, CASE_HAS_CONTAINER),
	[MODEL_RESERVE] = OP(reserve, CASE_HAS_CONTAINER),
	[MODEL_FORCE] = OP(force, CASE_HAS_CONTAINER),
	[MODEL_CANCEL] = OP(cancel, CASE_HAS_CONTAINER),
	[MODEL_BIND] = OP(bind, CASE_HAS_CONTAINER | CASE_HAS_CHUNK),
	[MODEL_UNCHARGE] = OP(uncharge, CASE_HAS_CHUNK),
	[MODEL_EXCESS] = OP(excess, CASE_HAS_CONTAINER),
	[MODEL_TOUCH] = OP(touch, CASE_HAS_CHUNK),
	[MODEL_PICK_OWN] = OP(pick_own, CASE_HAS_CONTAINER),
	[MODEL_PICK_GLOBAL] = OP(pick_global, 0),
	[MODEL_PICK_PROTECTED] = OP(pick_protected, 0),
	[MODEL_TAKE] = OP(take, CASE_HAS_CHUNK),
	[MODEL_TAKE_RANGE] = OP(take_range, CASE_HAS_CHUNK | CASE_HAS_VALUE),
	[MODEL_IS_PICKED] = OP(is_picked, CASE_HAS_CHUNK),
	[MODEL_PUTBACK] = OP(putback, CASE_HAS_CHUNK),
	[MODEL_REFILL] = OP(refill, CASE_HAS_VALUE),
	[MODEL_HIGH] = OP(high, CASE_HAS_CONTAINER | CASE_HAS_VALUE),
	[MODEL_LOW] = OP(low, CASE_HAS_CONTAINER | CASE_HAS_VALUE),
	[MODEL_HMEM] = OP(hmem, CASE_HAS_CONTAINER | CASE_HAS_VALUE),
	[MODEL_CHARGE_PIN] = OP(charge_pin, CASE_HAS_CONTAINER),
	[MODEL_CHARGE_UNPIN] = OP(charge_unpin, CASE_HAS_CONTAINER),
	[MODEL_PIN] = OP(pin, CASE_HAS_CHUNK),
	[MODEL_UNPIN] = OP(unpin, CASE_HAS_CHUNK),
	[MODEL_SWAP_OUT] = OP(swap_out, CASE_HAS_CONTAINER | CASE_HAS_VALUE),
	[MODEL_SWAP_IN] = OP(swap_in, CASE_HAS_CONTAINER | CASE_HAS_VALUE),
	[MODEL_OOM] = OP(oom, CASE_HAS_CONTAINER),
	[MODEL_QUIESCE] = OP(quiesce, 0),
	[MODEL_RESUME] = OP(resume, 0),
	[MODEL_LOSE] = OP(lose, 0),
	[MODEL_ACTIVITY] = OP(activity, CASE_HAS_VALUE),
	[MODEL_MAP] = OP(map, CASE_HAS_CONTAINER),
	[MODEL_UNMAP] = OP(unmap, CASE_HAS_CONTAINER),
	[MODEL_ACCESS] = OP(access, CASE_HAS_VALUE),
	[MODEL_RETURN] = OP(return, CASE_HAS_CONTAINER | CASE_HAS_CHUNK | CASE_HAS_VALUE),
	[MODEL_STUCK] = OP(stuck, CASE_HAS_CONTAINER | CASE_HAS_CHUNK | CASE_HAS_VALUE),
	[MODEL_REMOTE] = OP(remote, CASE_HAS_CONTAINER | CASE_HAS_CHUNK | CASE_HAS_VALUE),
	[MODEL_END_REMOTE] = OP(end_remote, CASE_HAS_CONTAINER),
};

u32 case_op_has(u8 kind)
{
	return operations[kind].has;
}

const char *case_op_name(u8 kind)
{
	return operations[kind].name;
}

void case_op_play(const struct model_op *op)
{
	operations[op->kind].model(op);
}

/* Comparison. */

static void expect(const char *what, u32 which, u64 core, u64 expected)
{
	if (core != expected)
		disagree("%s (%u): core %lld, model %lld", what, which, (s64)core,
			 (s64)expected);
}

static void compare_container(u32 slot)
{
	struct gvm_container *core = containers[slot];
	const struct model_container *expected = &model.container[slot];

	expect("container lives", slot, core != NULL, expected->live);
	if (!core)
		return;
	expect("charged bytes", slot, gvm_charged_bytes(core), model_charged_bytes(expected));
	expect("peak bytes", slot, gvm_peak_bytes(core), expected->peak * GVM_CHUNK_BYTES);
	expect("reserved", slot, (core->reserved_bytes >> GVM_CHUNK_SHIFT), expected->reserved);
	expect("swapped bytes", slot, core->swapped_bytes, expected->swapped_bytes);
	expect("high events", slot, core->events[GVM_EVENT_HIGH], expected->high_events);
	expect("oom events", slot, core->events[GVM_EVENT_OOM], expected->oom_events);
	expect("taken events", slot, core->events[GVM_EVENT_TAKEN], expected->taken_events);
	expect("evicted", slot, core->evicted_chunks, expected->evicted);
	expect("pinned", slot, (core->unevictable_bytes >> GVM_CHUNK_SHIFT), expected->pinned);
	expect("protected", slot, core->is_protected, model_is_protected(expected));
	expect("full", slot, core->is_swap_full, model_is_full(expected));
	expect("references", slot, core->refs, expected->refs);
	expect("processes", slot, core->processes, expected->processes);
	expect("hmem events", slot, core->events[GVM_EVENT_HMEM], expected->hmem_events);
	expect("remote events", slot, core->events[GVM_EVENT_REMOTE], expected->remote_events);
	for (u32 i = 0; i < MODEL_BLOCKS && expected->mapped; i++) {
		const struct gvm_block *block = case_remote_block(slot, i);

		expect("pages on the host", slot, block->on_host, expected->block[i].on_host);
		expect("charged pages", slot, block->swapped, expected->block[i].on_host);
		expect("remote pages", slot, block->remote, expected->block[i].remote);
	}
}

static void compare_chunk(u32 chunk)
{
	const struct gvm_chunk *core = &device->chunks[chunk];
	const struct model_chunk *expected = &model.chunk[chunk];

	expect("owner of chunk", chunk, slot_of(core->owner), expected->owner);
	expect("chunk is being evicted", chunk, core->state == GVM_CHUNK_EVICTING,
	       expected->evicting);
}

static void compare_all(void)
{
	u32 i;

	for (i = 0; i < MODEL_CONTAINERS; i++)
		compare_container(i);
	for (i = 0; i < model.chunk_count; i++)
		compare_chunk(i);
	expect("containers on the device", 0, device->container_count, model.containers);
	expect("chunks charged on the device", 0, device->bound_chunks, model_bound());
	expect("questions to the device", 0, world.asks, model.asks);
}

static void do_op(const struct model_op *op)
{
	int core = (int)operations[op->kind].core(op);
	int expected = (int)operations[op->kind].model(op);

	expect(operations[op->kind].name, 0, (u64)core, (u64)expected);
	compare_all();
}

/* Give everything back, and expect empty books. */
static void do_end(void)
{
	u32 slot;

	for (slot = 0; slot < MODEL_CONTAINERS; slot++) {
		struct model_op op = { .kind = MODEL_EMPTY, .container = (u8)slot };

		if (!model.container[slot].live)
			continue;
		do_op(&op);
		op.kind = MODEL_SWAP_IN;
		op.value = model.container[slot].swapped_bytes -
			   model_range_bytes(&model.container[slot]);
		do_op(&op);
		op.kind = MODEL_UNMAP;
		if (model.container[slot].mapped)
			do_op(&op);
		while (model.container[slot].live) {
			op.kind = MODEL_PUT;
			if (!model_allows(&op))
				op.kind = MODEL_DETACH;
			do_op(&op);
		}
	}
	expect("check", 0, (u64)gvm_check(device), 0);
	case_remote_destroy();
	gvm_device_destroy(device);
	expect("allocations left", 0, world.live, 0);
}

static void do_case(const struct model_case *tried)
{
	u32 *i = &report->op;

	world_init(tried->chunks);
	case_remote_init(device);
	model_init(tried->chunks);
	for (*i = 0; *i < tried->count; (*i)++) {
		if (!model_allows(&tried->ops[*i]))
			continue;
		do_op(&tried->ops[*i]);
		if (*i % CASE_CHECK_EVERY == 0)
			expect("check", 0, (u64)gvm_check(device), 0);
	}
	do_end();
}

/* Processes. */

static void make_report(void)
{
	if (report)
		return;
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	ck_assert_ptr_ne(report, MAP_FAILED);
}

static void run_child(const struct model_case *tried, bool quiet)
{
	static const struct itimerval limit = { .it_value = { .tv_usec = CASE_LIMIT_US } };

	if (quiet && !freopen("/dev/null", "w", stderr))
		_exit(2);
	/*
	 * A core that loops for ever fails here. The limit counts CPU time: a busy machine
	 * fails no case.
	 */
	setitimer(ITIMER_VIRTUAL, &limit, NULL);
	do_case(tried);
	_exit(0);
}

static bool run_case(const struct model_case *tried, struct case_failure *failure, bool quiet)
{
	int status;
	pid_t pid;

	make_report();
	memset(report, 0, sizeof(*report));
	fflush(NULL);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		run_child(tried, quiet);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	*failure = *report;
	if (status && !failure->why[0])
		snprintf(failure->why, sizeof(failure->why), "%s",
			 WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "sanitizer");
	return status == 0;
}

bool case_passes(const struct model_case *tried, struct case_failure *failure)
{
	return run_case(tried, failure, false);
}

bool case_passes_quietly(const struct model_case *tried, struct case_failure *failure)
{
	return run_case(tried, failure, true);
}
