// SPDX-License-Identifier: MIT OR GPL-2.0
/* Cases: what each operation is called and does to the core, side by side with the model. */
#include "model_case.h"
#include "core_world.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* gvm_check() looks at everything, so not after every operation; an own prime, to meet them all. */
#define CASE_CHECK_EVERY 7u

/* The longest case takes about a twentieth of this. */
#define CASE_LIMIT_US 250000

/* What an operation's text gives. */
#define HAS_CONTAINER 1u
#define HAS_CHUNK     2u
#define HAS_VALUE     4u

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
	struct gvm_container *container = gvm_container_find(device, (u32)op->value);

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
	while (container->reserved_chunks)
		gvm_charge_cancel(container);
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
	[MODEL_ATTACH] = OP(attach, HAS_VALUE),
	[MODEL_DETACH] = OP(detach, HAS_CONTAINER),
	[MODEL_GET] = OP(get, HAS_CONTAINER),
	[MODEL_PUT] = OP(put, HAS_CONTAINER),
	[MODEL_FIND] = OP(find, HAS_VALUE),
	[MODEL_EMPTY] = OP(empty, HAS_CONTAINER),
	[MODEL_RESERVE] = OP(reserve, HAS_CONTAINER),
	[MODEL_FORCE] = OP(force, HAS_CONTAINER),
	[MODEL_CANCEL] = OP(cancel, HAS_CONTAINER),
	[MODEL_BIND] = OP(bind, HAS_CONTAINER | HAS_CHUNK),
	[MODEL_UNCHARGE] = OP(uncharge, HAS_CHUNK),
	[MODEL_EXCESS] = OP(excess, HAS_CONTAINER),
	[MODEL_TOUCH] = OP(touch, HAS_CHUNK),
	[MODEL_PICK_OWN] = OP(pick_own, HAS_CONTAINER),
	[MODEL_PICK_GLOBAL] = OP(pick_global, 0),
	[MODEL_PICK_PROTECTED] = OP(pick_protected, 0),
	[MODEL_TAKE] = OP(take, HAS_CHUNK),
	[MODEL_IS_PICKED] = OP(is_picked, HAS_CHUNK),
	[MODEL_PUTBACK] = OP(putback, HAS_CHUNK),
	[MODEL_REFILL] = OP(refill, HAS_VALUE),
	[MODEL_HIGH] = OP(high, HAS_CONTAINER | HAS_VALUE),
	[MODEL_LOW] = OP(low, HAS_CONTAINER | HAS_VALUE),
	[MODEL_PIN] = OP(pin, HAS_CHUNK),
	[MODEL_UNPIN] = OP(unpin, HAS_CHUNK),
	[MODEL_SWAP_OUT] = OP(swap_out, HAS_CONTAINER | HAS_VALUE),
	[MODEL_SWAP_IN] = OP(swap_in, HAS_CONTAINER | HAS_VALUE),
	[MODEL_OOM] = OP(oom, HAS_CONTAINER),
};

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
	expect("reserved", slot, core->reserved_chunks, expected->reserved);
	expect("swapped bytes", slot, core->swapped_bytes, expected->swapped_bytes);
	expect("high events", slot, core->events[GVM_EVENT_HIGH], expected->high_events);
	expect("oom events", slot, core->events[GVM_EVENT_OOM], expected->oom_events);
	expect("evicted", slot, core->evicted_chunks, expected->evicted);
	expect("protected", slot, core->is_protected, model_is_protected(expected));
	expect("references", slot, core->refs, expected->refs);
	expect("processes", slot, core->processes, expected->processes);
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
	expect("containers on the device", 0, device->container_count, model.turns.count);
	expect("chunks charged on the device", 0, device->charged_chunks, model_bound());
	expect("questions to the device", 0, world.asks, model.asks);
}

static void do_op(const struct model_op *op)
{
	int core = (int)operations[op->kind].core(op);
	int expected = (int)operations[op->kind].model(op);

	expect(operations[op->kind].name, 0, (u64)core, (u64)expected);
	compare_all();
}

/* Give everything back, and expect that nothing is left. */
static void do_end(void)
{
	u32 slot;

	for (slot = 0; slot < MODEL_CONTAINERS; slot++) {
		struct model_op op = { .kind = MODEL_EMPTY, .container = (u8)slot };

		if (!model.container[slot].live)
			continue;
		do_op(&op);
		while (model.container[slot].live) {
			op.kind = MODEL_PUT;
			if (!model_allows(&op))
				op.kind = MODEL_DETACH;
			do_op(&op);
		}
	}
	expect("check", 0, (u64)gvm_check(device), 0);
	gvm_device_destroy(device);
	expect("allocations left", 0, world.live, 0);
}

static void do_case(const struct model_case *tried)
{
	u32 *i = &report->op;

	world_init(tried->chunks);
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
	/* A core that runs in circles fails like any other. CPU time: load must not fail anybody. */
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

/* Shrinking. */

/* Without the operations from @first to before @end. */
static void cut(struct model_case *from, u32 first, u32 end)
{
	end = min(end, from->count);
	memmove(&from->ops[first], &from->ops[end], (from->count - end) * sizeof(from->ops[0]));
	from->count -= end - first;
}

/* One round: try to do without each run of @length operations. Returns whether any could go. */
static bool shrink_by(struct model_case *failing, u32 length, case_test passes)
{
	static struct model_case tried;
	struct case_failure failure;
	bool shrunk = false;
	u32 first = 0;

	while (first < failing->count) {
		tried = *failing;
		cut(&tried, first, first + length);
		if (passes(&tried, &failure)) {
			first += length;
			continue;
		}
		*failing = tried;
		shrunk = true;
	}
	return shrunk;
}

/* Number the chunks in the order in which they come, so that the device can be small. */
static void renumber(struct model_case *failing, case_test passes)
{
	static struct model_case tried;
	struct case_failure failure;
	u32 number[MODEL_CHUNKS], next = 0, i;

	tried = *failing;
	memset(number, 0xff, sizeof(number));
	for (i = 0; i < tried.count; i++) {
		struct model_op *op = &tried.ops[i];

		if (!(operations[op->kind].has & HAS_CHUNK))
			continue;
		if (number[op->chunk] == MODEL_NONE)
			number[op->chunk] = next++;
		op->chunk = (u8)number[op->chunk];
	}
	if (!passes(&tried, &failure))
		*failing = tried;
}

static void shrink_device(struct model_case *failing, case_test passes)
{
	struct case_failure failure;

	while (failing->chunks > 1) {
		failing->chunks--;
		if (!passes(failing, &failure))
			continue;
		failing->chunks++;
		return;
	}
}

void case_shrink(struct model_case *failing, case_test passes)
{
	struct case_failure failure;
	u32 length;

	if (passes(failing, &failure))
		return;
	cut(failing, min(failure.op + 1, failing->count), failing->count);
	for (length = failing->count / 2; length > 1; length /= 2)
		shrink_by(failing, length, passes);
	while (shrink_by(failing, 1, passes))
		;
	renumber(failing, passes);
	shrink_device(failing, passes);
}

/* Text. */

void case_write_op(FILE *file, const struct model_op *op)
{
	u32 has = operations[op->kind].has;

	fputs(operations[op->kind].name, file);
	if (has & HAS_CONTAINER)
		fprintf(file, " container=%u", op->container);
	if (has & HAS_CHUNK)
		fprintf(file, " chunk=%u", op->chunk);
	if (has & HAS_VALUE)
		fprintf(file, " value=%llu", op->value);
	fputc('\n', file);
}

void case_write(FILE *file, const struct model_case *written)
{
	u32 i;

	fprintf(file, "chunks %u\n", written->chunks);
	for (i = 0; i < written->count; i++)
		case_write_op(file, &written->ops[i]);
}

/* Take " key=number" off *text. */
static bool take_number(const char **text, const char *key, u64 below, u64 *ret_number)
{
	size_t length = strlen(key);
	char *end;

	if (strncmp(*text, key, length) || (*text)[length] < '0' || (*text)[length] > '9')
		return false;
	*ret_number = strtoull(*text + length, &end, 10);
	*text = end;
	return below == 0 || *ret_number < below;
}

static bool read_arguments(const char *text, u32 has, struct model_op *op)
{
	u64 container = 0, chunk = 0;

	if (has & HAS_CONTAINER &&
	    !take_number(&text, " container=", MODEL_CONTAINERS, &container))
		return false;
	if (has & HAS_CHUNK && !take_number(&text, " chunk=", MODEL_CHUNKS, &chunk))
		return false;
	if (has & HAS_VALUE && !take_number(&text, " value=", 0, &op->value))
		return false;
	op->container = (u8)container;
	op->chunk = (u8)chunk;
	return strcmp(text, "\n") == 0;
}

static bool read_op(const char *line, struct model_op *op)
{
	size_t length = strcspn(line, " \n");
	u8 kind;

	*op = (struct model_op){ 0 };
	for (kind = 0; kind < MODEL_OPS; kind++) {
		if (strlen(operations[kind].name) != length ||
		    strncmp(line, operations[kind].name, length))
			continue;
		op->kind = kind;
		return read_arguments(line + length, operations[kind].has, op);
	}
	return false;
}

static bool read_line(const char *line, struct model_case *ret_case)
{
	u64 chunks;

	if (line[0] == '#' || line[0] == '\n')
		return true;
	if (ret_case->chunks)
		return ret_case->count < CASE_OPS_MAX &&
		       read_op(line, &ret_case->ops[ret_case->count++]);
	if (!take_number(&line, "chunks ", MODEL_CHUNKS + 1, &chunks) || strcmp(line, "\n"))
		return false;
	ret_case->chunks = (u32)chunks;
	return chunks > 0;
}

u32 case_read(FILE *file, struct model_case *ret_case)
{
	char line[128];
	u32 number = 1;

	ret_case->chunks = 0;
	ret_case->count = 0;
	for (; fgets(line, sizeof(line), file); number++) {
		if (!read_line(line, ret_case))
			return number;
	}
	return ret_case->chunks ? 0 : number;
}

/* Chance. */

u64 case_random(u64 *state)
{
	u64 z = *state += 0x9E3779B97F4A7C15ull;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ z >> 27) * 0x94D049BB133111EBull;
	return z ^ z >> 31;
}

static u32 below(u64 *state, u32 bound)
{
	return (u32)(case_random(state) % bound);
}

/* Around a whole number of chunks, where the edges are; sometimes a limit that is none. */
static u64 draw_bytes(u64 *state, u32 chunks)
{
	u64 bytes = below(state, chunks + 2) * GVM_CHUNK_BYTES;

	switch (below(state, 8)) {
	case 0:
		return U64_MAX;
	case 1:
		return 0;
	case 2:
		return bytes + GVM_CHUNK_BYTES - 1;
	case 3:
		return bytes + 1;
	default:
		return bytes;
	}
}

static u64 draw_value(u64 *state, u32 kind, u32 chunks, u32 tgids)
{
	switch (kind) {
	case MODEL_ATTACH:
	case MODEL_FIND:
		return below(state, tgids) + 1;
	case MODEL_REFILL:
		return below(state, 4) ? below(state, 20) : below(state, 300);
	case MODEL_SWAP_OUT:
	case MODEL_SWAP_IN:
		return below(state, 64) * GVM_PAGE_BYTES;
	default:
		return draw_bytes(state, chunks);
	}
}

/* How often each operation comes: a common measure, doubled, dropped or kept by each case. */
static u32 draw_weights(u64 *state, u32 *weights)
{
	static const u8 common[MODEL_OPS] = {
		[MODEL_ATTACH] = 4,
		[MODEL_DETACH] = 1,
		[MODEL_GET] = 1,
		[MODEL_PUT] = 1,
		[MODEL_FIND] = 1,
		[MODEL_EMPTY] = 1,
		[MODEL_RESERVE] = 30,
		[MODEL_CANCEL] = 6,
		[MODEL_BIND] = 30,
		[MODEL_UNCHARGE] = 8,
		[MODEL_TOUCH] = 30,
		[MODEL_PICK_OWN] = 8,
		[MODEL_PUTBACK] = 8,
		[MODEL_REFILL] = 3,
		[MODEL_PICK_GLOBAL] = 12,
		[MODEL_HIGH] = 2,
		[MODEL_LOW] = 4,
		[MODEL_PIN] = 4,
		[MODEL_UNPIN] = 6,
		[MODEL_SWAP_OUT] = 1,
		[MODEL_SWAP_IN] = 1,
		[MODEL_OOM] = 1,
		[MODEL_FORCE] = 3,
		[MODEL_EXCESS] = 1,
		[MODEL_PICK_PROTECTED] = 4,
		[MODEL_TAKE] = 3,
		[MODEL_IS_PICKED] = 1,
	};
	u32 total = 0, i;

	for (i = 0; i < MODEL_OPS; i++) {
		bool needed = i == MODEL_ATTACH || i == MODEL_RESERVE || i == MODEL_BIND;

		weights[i] = common[i] * (needed ? 2 : below(state, 5));
		total += weights[i];
	}
	return total;
}

static u8 draw_kind(u64 *state, const u32 *weights, u32 total)
{
	u32 at = below(state, total);
	u8 kind;

	for (kind = 0; at >= weights[kind]; kind++)
		at -= weights[kind];
	return kind;
}

/* An operation of a kind that is allowed now, if a few tries find one. */
static bool draw_op(u64 *state, u8 kind, u32 chunks, u32 tgids, struct model_op *op)
{
	/* One more than tgids, for a container that outlives its processes. */
	u32 slots = min(tgids + 1, MODEL_CONTAINERS), tries;

	for (tries = 0; tries < 16; tries++) {
		u32 has = operations[kind].has;

		*op = (struct model_op){ .kind = kind };
		if (has & HAS_CONTAINER)
			op->container = (u8)below(state, slots);
		if (has & HAS_CHUNK)
			op->chunk = (u8)below(state, chunks);
		if (has & HAS_VALUE)
			op->value = draw_value(state, kind, chunks, tgids);
		if (model_allows(op))
			return true;
	}
	return false;
}

static void append_op(struct model_case *to, const struct model_op *op)
{
	operations[op->kind].model(op);
	to->ops[to->count++] = *op;
}

/* By chance alone, nobody would ever put the last reference. */
static void append_exit(struct model_case *to, u8 slot)
{
	struct model_op op = { .container = slot };

	while (model.container[slot].live && to->count < CASE_OPS_MAX) {
		op.kind = MODEL_PUT;
		if (!model_allows(&op))
			op.kind = MODEL_DETACH;
		append_op(to, &op);
	}
}

/* The model plays along while the case is drawn, and knows what is allowed. */
void case_draw(struct model_case *ret_case, u64 *state)
{
	u32 weights[MODEL_OPS], total = draw_weights(state, weights);
	u32 chunks = 1 + below(state, MODEL_CHUNKS), tgids = 1 + below(state, MODEL_CONTAINERS);
	u32 wanted = 64 + below(state, CASE_OPS_MAX - 64);

	model_init(chunks);
	ret_case->chunks = chunks;
	ret_case->count = 0;
	while (ret_case->count < wanted) {
		struct model_op op;

		if (!draw_op(state, draw_kind(state, weights, total), chunks, tgids, &op))
			continue;
		append_op(ret_case, &op);
		if (op.kind == MODEL_EMPTY && below(state, 2))
			append_exit(ret_case, op.container);
	}
}
