// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Data over a PCIe fabric: devices that hosts borrow
 * ==================================================
 *
 * The application is a driver on a host, app.borrower. It borrows a device (fabric/lending.h)
 * and lets it move data over the fabric that app.fabric declares, round after round:
 *
 *     write, read   the host works for app.start. The driver goes to the device and back
 *                   app.round_trips times. Then the device writes app.bytes to its target, or
 *                   reads them. The target is memory of the borrower, or another device
 *     ping-pong     two devices count: each waits for the other one's number. The numbers lie
 *                   in the other device's memory, or in the borrower's, which each polls
 *     command       one command of an NVMe disk: doorbell, fetch, app.device_time, data,
 *                   completion, interrupt
 *
 * These are the measurements of Device Lending (ICPP 2018 Companion), section 7. The GPU of the
 * machine takes no part, but for the cycles of a fence (app.fence).
 *
 * Containers whose app.fabric and constants are equal share one fabric.
 *
 * A link carries up to 28 million TLPs a second, and they take the simulator about 20 seconds. So
 * a round that begins in a fabric of its own, with nothing under way, takes place once: all such
 * rounds are equal, and the others are as long.
 */
#include "apps/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/app.h"
#include "apps/app_cost.h"
#include "apps/ping_pong.h"
#include "config/check.h"
#include "engine/error.h"
#include "fabric/traffic.h"

#define FLAG_BYTES	 8u /* a register, a message that something has ended */
#define COMMAND_BYTES	 64u
#define COMPLETION_BYTES 16u
#define BUFFER_ALIGNMENT TRANSFER_BUFFER_OFFSET
#define LOANS_MAX	 3u

struct shared_fabric {
	struct fabric fabric;
	u32 users;
};

/* A driver and what it has borrowed. */
struct transfer {
	const struct app_env *env;
	const struct cfg_transfer *cfg;
	struct shared_fabric *shared;
	struct lending_loan loans[LOANS_MAX];
	u32 loan_count;
	u32 device, peer, cpu;	    /* elements */
	u64 registers;		    /* of the device, for the CPU */
	u64 flag;		    /* in the borrower's memory, for the device */
	u64 target;		    /* for the device */
	u64 device_flag, peer_flag; /* of ping-pong: the number for the other one */
	u64 device_poll, peer_poll; /* and for itself, in the borrower's memory */
	struct ping_pong ping_pong;
	bool repeats;  /* its rounds are equal */
	u64 repeat_ns; /* how long they are; 0: none has taken place yet */
};

/* The fabric. */

/* The constants follow the text of the fabric and the names in cfg_transfer. */
static bool is_same_fabric(const struct cfg_transfer *a, const struct cfg_transfer *b)
{
	size_t first = offsetof(struct cfg_transfer, switch_time);

	return !strcmp(a->fabric, b->fabric) && a->iommu == b->iommu &&
	       !memcmp((const char *)a + first, (const char *)b + first, sizeof(*a) - first);
}

static struct shared_fabric *find_shared(const struct app_env *env)
{
	const struct app_env *other;

	list_for_each_entry(other, env->all, node) {
		const struct transfer *transfer = other->prepared;

		if (other != env && transfer &&
		    other->container->app_type == env->container->app_type &&
		    is_same_fabric(other->container->app, env->container->app))
			return transfer->shared;
	}
	return NULL;
}

/* The hosts that lend to the driver of @cfg have their IOMMU on, or off. */
static void set_iommus(struct fabric *fabric, const struct cfg_transfer *cfg)
{
	bool plays = cfg->operation == TRANSFER_PING_PONG;
	const char *const devices[] = { cfg->device, plays ? cfg->peer : cfg->target };
	u32 borrower = fabric_find_host(fabric, cfg->borrower);

	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		u32 device = fabric_find(fabric, devices[i]);

		/* A target that is "memory" is no element. */
		if (device != FABRIC_NONE && fabric->elements[device].host != borrower)
			fabric->hosts[fabric->elements[device].host].iommu = cfg->iommu;
	}
}

/* Likewise for all containers of the fabric, before the first loan: their order does not matter. */
static void set_all_iommus(const struct transfer *transfer)
{
	const struct config *config = transfer->env->config;

	for (size_t i = 0; i < config->container_count; i++) {
		const struct cfg_container *other = &config->containers[i];

		if (other->enabled && other->app_type == transfer->env->container->app_type &&
		    is_same_fabric(other->app, transfer->cfg))
			set_iommus(&transfer->shared->fabric, other->app);
	}
}

static int get_fabric(struct transfer *transfer, struct sim_error *err)
{
	char wrong[TRANSFER_WRONG_MAX];
	const char *key;

	transfer->shared = find_shared(transfer->env);
	if (!transfer->shared) {
		transfer->shared = calloc(1, sizeof(*transfer->shared));
		if (!transfer->shared)
			return sim_runtime_error(err, "out of memory");
		/* It is right: transfer_check() has built it before. */
		(void)transfer_fabric_build(transfer->cfg, &transfer->shared->fabric, &key,
					    wrong);
		set_all_iommus(transfer);
	}
	transfer->shared->users++;
	return 0;
}

/* Loans. */

static int reject_loan(const struct transfer *transfer, const char *key, const char *device,
		       int status, struct sim_error *err)
{
	const char *why =
		status == -EBUSY  ? "another container has it" :
		status == -ENODEV ? "no cable joins its host and the borrower, or its "
				    "target's" :
		status == -EPERM  ? "a virtual machine borrows with app.iommu only, and no "
				    "device of app.borrower" :
				    "the windows of an NTB, or app.dma_window, have no "
				    "room for it";

	return sim_user_error(err, "%s:containers.%s.app.%s: \"%s\" cannot be borrowed: %s",
			      transfer->env->config->file, transfer->env->container->name, key,
			      device, why);
}

static struct lending_loan *borrow(struct transfer *transfer, const char *key, const char *name,
				   struct sim_error *err, int *ret_status)
{
	struct fabric *fabric = &transfer->shared->fabric;
	struct lending_loan *loan = &transfer->loans[transfer->loan_count];
	u32 device = fabric_find(fabric, name);
	u32 borrower = fabric_find_host(fabric, transfer->cfg->borrower);
	int status;

	status = lending_borrow(fabric, device, borrower, transfer->cfg->virtual,
				transfer->cfg->dma_window, loan);
	if (!status) {
		transfer->loan_count++;
		if (transfer->cfg->virtual)
			status = lending_enable_master(loan);
	}
	*ret_status = status ? reject_loan(transfer, key, name, status, err) : 0;
	return loan;
}

/* Map @bytes at @offset of the borrower's memory for a device. Its contents are not modelled. */
static int map_memory(struct lending_loan *loan, u64 offset, u64 bytes, u64 *ret_address)
{
	u64 room = (bytes + BUFFER_ALIGNMENT - 1) / BUFFER_ALIGNMENT * BUFFER_ALIGNMENT;

	return lending_map_buffer(loan, offset, room, ret_address);
}

/* What the device moves data to or from. */
static int map_target(struct transfer *transfer, struct lending_loan *loan,
		      struct sim_error *err)
{
	const struct cfg_transfer *cfg = transfer->cfg;
	int status = map_memory(loan, 0, FLAG_BYTES, &transfer->flag);

	if (!status && !strcmp(cfg->target, "memory"))
		status = map_memory(loan, BUFFER_ALIGNMENT, cfg->bytes, &transfer->target);
	else if (!status)
		status = lending_map_peer(loan,
					  fabric_find(&transfer->shared->fabric, cfg->target),
					  &transfer->target);
	return status ? reject_loan(transfer, "device", cfg->device, status, err) : 0;
}

/* Where two devices have their numbers: in the other one's memory, or in the borrower's. */
static int map_numbers(struct transfer *transfer, struct lending_loan *loan,
		       struct lending_loan *peer, struct sim_error *err)
{
	bool memory = !strcmp(transfer->cfg->target, "memory");
	u64 there = 0, back = BUFFER_ALIGNMENT;
	int status;

	if (memory) {
		status = map_memory(loan, there, PING_PONG_BYTES, &transfer->device_flag);
		if (!status)
			status =
				map_memory(loan, back, PING_PONG_BYTES, &transfer->device_poll);
		if (!status)
			status = map_memory(peer, back, PING_PONG_BYTES, &transfer->peer_flag);
		if (!status)
			status = map_memory(peer, there, PING_PONG_BYTES, &transfer->peer_poll);
	} else {
		status = lending_map_peer(loan, peer->device, &transfer->device_flag);
		if (!status)
			status = lending_map_peer(peer, loan->device, &transfer->peer_flag);
	}
	return status ? reject_loan(transfer, "peer", transfer->cfg->peer, status, err) : 0;
}

static int get_loans(struct transfer *transfer, struct sim_error *err)
{
	const struct cfg_transfer *cfg = transfer->cfg;
	struct lending_loan *loan, *other;
	int status;

	loan = borrow(transfer, "device", cfg->device, err, &status);
	if (status)
		return status;
	transfer->device = loan->device;
	transfer->registers = lending_registers(loan);
	transfer->cpu = transfer->shared->fabric.hosts[loan->borrower].root;
	if (cfg->operation == TRANSFER_PING_PONG) {
		other = borrow(transfer, "peer", cfg->peer, err, &status);
		transfer->peer = other->device;
		return status ? status : map_numbers(transfer, loan, other, err);
	}
	if (strcmp(cfg->target, "memory") != 0)
		(void)borrow(transfer, "target", cfg->target, err, &status);
	return status ? status : map_target(transfer, loan, err);
}

/*
 * Does @from reach all of @bytes? No loan says so: a target may have less memory, and a way may
 * have too many links.
 */
static int check_way(const struct transfer *transfer, const char *key, u32 from, u64 address,
		     u64 bytes, struct sim_error *err)
{
	struct fabric *fabric = &transfer->shared->fabric;
	struct fabric_path path;
	int status = 0;

	for (u64 done = 0; !status && done < bytes; done += path.bytes)
		status = fabric_route(fabric, from, address + done, bytes - done, &path);
	if (!status)
		return 0;
	return sim_user_error(err, "%s:containers.%s.app.%s: \"%s\" %s",
			      transfer->env->config->file, transfer->env->container->name,
			      status == -ELOOP ? key : "bytes", fabric->elements[from].name,
			      status == -ELOOP ?
				      "has a way of too many links, allowed: 32" :
				      "reaches less of app.target, allowed: as much as "
				      "app.target has");
}

static int check_ways(const struct transfer *transfer, struct sim_error *err)
{
	const struct cfg_transfer *cfg = transfer->cfg;
	bool plays = cfg->operation == TRANSFER_PING_PONG;
	const struct {
		const char *key;
		u32 from;
		u64 address, bytes;
	} ways[] = {
		{ "device", transfer->cpu, transfer->registers, FLAG_BYTES },
		{ "device", transfer->device, transfer->flag, plays ? 0 : COMMAND_BYTES },
		{ "device", transfer->device, transfer->target, plays ? 0 : cfg->bytes },
		{ "device", transfer->device, transfer->device_flag,
		  plays ? PING_PONG_BYTES : 0 },
		{ "peer", transfer->peer, transfer->peer_flag, plays ? PING_PONG_BYTES : 0 },
	};
	int status = 0;

	for (size_t i = 0; !status && i < ARRAY_SIZE(ways); i++)
		status = check_way(transfer, ways[i].key, ways[i].from, ways[i].address,
				   ways[i].bytes, err);
	return status;
}

static void transfer_discard(struct app_env *env)
{
	struct transfer *transfer = env->prepared;

	if (!transfer)
		return;
	for (u32 i = 0; i < transfer->loan_count; i++)
		(void)lending_return(&transfer->loans[i]);
	if (transfer->shared && !--transfer->shared->users) {
		fabric_destroy(&transfer->shared->fabric);
		free(transfer->shared);
	}
	free(transfer);
	env->prepared = NULL;
}

static int transfer_prepare(struct app_env *env, struct sim_error *err)
{
	const struct cfg_transfer *cfg = env->container->app;
	struct transfer *transfer = calloc(1, sizeof(*transfer));
	int status;

	if (!transfer)
		return sim_runtime_error(err, "out of memory");
	env->prepared = transfer;
	transfer->env = env;
	transfer->cfg = cfg;
	status = cfg->fence ? app_check_cycles(env, "fence", err) : 0;
	if (!status)
		status = get_fabric(transfer, err);
	if (!status)
		status = get_loans(transfer, err);
	return status ? status : check_ways(transfer, err);
}

/* Rounds. */

/* Blocking: move @bytes. Returns 0, -EINTR or -ENOMEM: check_ways() has been there. */
static int move(struct transfer *transfer, u32 from, u64 address, u64 bytes, bool read)
{
	struct fabric_transfer moved = {
		.from = from, .address = address, .bytes = bytes, .read = read
	};

	return fabric_do(&transfer->shared->fabric, &moved);
}

/* Blocking: the driver writes a register, and the device says in memory that it has read it. */
static int round_trip(struct transfer *transfer)
{
	int status = move(transfer, transfer->cpu, transfer->registers, FLAG_BYTES, false);

	return status ? status :
			move(transfer, transfer->device, transfer->flag, FLAG_BYTES, false);
}

/* What a fence adds to each access of a thread, which waits for the one before. */
static u64 fence_ps(const struct transfer *transfer)
{
	const struct cfg_gpu *gpu = &transfer->env->config->gpu;

	/* cycles * CFG_PPM / Hz, in ps. */
	return transfer->cfg->fence ? gpu->cycles.fence_offset * CFG_PPM / gpu->clock : 0;
}

static int copy_round(struct transfer *transfer)
{
	const struct cfg_transfer *cfg = transfer->cfg;
	struct fabric_transfer moved = {
		.from = transfer->device,
		.address = transfer->target,
		.bytes = cfg->bytes,
		.read = cfg->operation == TRANSFER_READ,
		.request_bytes = (u32)cfg->request,
		.tags = (u32)cfg->in_flight,
		.think_ps = fence_ps(transfer),
	};
	int status = eng_sleep_until(eng_now() + cfg->start);

	for (u64 i = 0; !status && i < cfg->round_trips; i++)
		status = round_trip(transfer);
	return status ? status : fabric_do(&transfer->shared->fabric, &moved);
}

/*
 * Blocking: the disk writes its data, and that the command has ended. It waits for neither
 * before the other one; the round ends when both are there.
 */
static int move_and_complete(struct transfer *transfer)
{
	struct fabric_transfer data = {
		.from = transfer->device,
		.address = transfer->target,
		.bytes = transfer->cfg->bytes,
	};
	struct fabric_waiter waiter;
	int status, data_status;

	fabric_begin_waited(&transfer->shared->fabric, &data, &waiter);
	status = move(transfer, transfer->device, transfer->flag, COMPLETION_BYTES, false);
	data_status = fabric_wait(&data);
	return status ? status : data_status;
}

static int command_round(struct transfer *transfer)
{
	const struct cfg_transfer *cfg = transfer->cfg;
	u32 disk = transfer->device;
	int status = eng_sleep_until(eng_now() + cfg->start);

	if (!status)
		status = move(transfer, transfer->cpu, transfer->registers, FLAG_BYTES, false);
	if (!status)
		status = move(transfer, disk, transfer->flag, COMMAND_BYTES, true);
	if (!status)
		status = eng_sleep_until(eng_now() + cfg->device_time);
	if (!status)
		status = move_and_complete(transfer);
	if (!status && cfg->virtual)
		status = eng_sleep_until(eng_now() + cfg->interrupt);
	return status;
}

static void begin_ping_pong(struct transfer *transfer)
{
	const struct ping_pong_side sides[2] = {
		{ transfer->device, transfer->device_flag, transfer->device_poll },
		{ transfer->peer, transfer->peer_flag, transfer->peer_poll },
	};

	ping_pong_begin(&transfer->ping_pong, &transfer->shared->fabric,
			!strcmp(transfer->cfg->target, "memory"), sides);
}

/*
 * Are all rounds equal? They are not if another container uses the links, and two devices that
 * poll meet at different times. A container that an event may stop needs real TLPs, since a stop
 * waits for those on the links.
 */
static bool rounds_are_equal(const struct transfer *transfer)
{
	const struct config *config = transfer->env->config;

	for (size_t i = 0; i < config->event_count; i++)
		if (!strcmp(config->events[i].container, transfer->env->container->name))
			return false;
	return transfer->shared->users == 1 && transfer->cfg->operation != TRANSFER_PING_PONG;
}

/* Blocking: a write, a read or a command. Of equal rounds the first one is simulated and timed. */
static int device_round(struct transfer *transfer)
{
	bool repeats = transfer->repeats && fabric_is_idle(&transfer->shared->fabric);
	u64 begun_ns = eng_now();
	int status;

	if (repeats && transfer->repeat_ns)
		return eng_sleep_until(begun_ns + transfer->repeat_ns);
	status = transfer->cfg->operation == TRANSFER_COMMAND ? command_round(transfer) :
								copy_round(transfer);
	if (!status && repeats)
		transfer->repeat_ns = eng_now() - begun_ns;
	return status;
}

/* Blocking: one round, with its record. Returns 0, -EINTR or -ENOMEM. */
static int transfer_round(struct transfer *transfer)
{
	struct app_record *record;
	int status = app_begin(transfer->env, eng_now(), &record);

	if (status)
		return status;
	if (transfer->cfg->operation == TRANSFER_PING_PONG)
		status = ping_pong_round(&transfer->ping_pong);
	else
		status = device_round(transfer);
	app_log_end(transfer->env, record, status);
	return status;
}

static int transfer_run(const struct app_env *env)
{
	struct transfer *transfer = env->prepared;
	int status = app_start_late(env);

	if (!status && transfer->cfg->operation == TRANSFER_PING_PONG)
		begin_ping_pong(transfer);
	transfer->repeats = rounds_are_equal(transfer);
	while (!status)
		status = transfer_round(transfer);
	ping_pong_end(&transfer->ping_pong);
	return status == -EINTR ? 0 : status;
}

static int transfer_check(struct cfg_load *load, const struct cfg_container *container)
{
	const struct cfg_transfer *cfg = container->app;
	char wrong[TRANSFER_WRONG_MAX];
	struct fabric *fabric = calloc(1, sizeof(*fabric));
	const char *key = "fabric";
	bool right;

	snprintf(wrong, sizeof(wrong), "there is no memory to read it");
	right = fabric && transfer_fabric_build(cfg, fabric, &key, wrong);
	free(fabric);
	if (!right)
		return cfg_reject_app(load, container, key, "%s", wrong);
	if (cfg->dma_window & (cfg->dma_window - 1))
		return cfg_reject_app(load, container, "dma_window",
				      "is no power of two, allowed: such as \"256M\"");
	if (cfg->fence && cfg->operation != TRANSFER_READ)
		return cfg_reject_app(load, container, "fence",
				      "is of reads, allowed: with app.operation \"read\"");
	if (*cfg->peer && cfg->operation != TRANSFER_PING_PONG)
		return cfg_reject_app(load, container, "peer",
				      "is of a ping-pong, allowed: with app.operation "
				      "\"ping-pong\"");
	if ((cfg->request || cfg->in_flight) && cfg->operation != TRANSFER_READ)
		return cfg_reject_app(load, container, cfg->request ? "request" : "in_flight",
				      "is of reads, allowed: with app.operation \"read\"");
	if (cfg->fence && !cfg->in_flight)
		return cfg_reject_app(load, container, "fence",
				      "is given without app.in_flight, allowed: with it, as "
				      "threads wait for their accesses");
	return 0;
}

#define TRANSFER(leaf_, type_, member_, help_, ...) \
	CFG_APP_KEY(leaf_, type_, struct cfg_transfer, member_, help_, __VA_ARGS__)

/* A constant of the fabric; a profile gives it. */
#define CONSTANT(type_, member_, min_, max_, help_) \
	TRANSFER(#member_, type_, member_, help_, CFG_RANGE(min_, max_))

static const char *const operations[] = {
	[TRANSFER_WRITE] = "write",
	[TRANSFER_READ] = "read",
	[TRANSFER_PING_PONG] = "ping-pong",
	[TRANSFER_COMMAND] = "command",
	NULL,
};

static const struct cfg_key transfer_keys[] = {
	TRANSFER("fabric", JSON, fabric,
		 "hosts, elements (switch, device, ntb) and cables, by name"),
	TRANSFER("borrower", NAME, borrower, "host whose driver uses the device"),
	TRANSFER("device", STRING, device, "device that it uses, its own or borrowed"),
	TRANSFER(
		"target", STRING, target,
		"\"memory\" of the borrower, or a device: where data goes to or comes from, or "
		"numbers lie",
		CFG_DEFAULT("memory")),
	TRANSFER("peer", STRING, peer, "ping-pong: the other device", CFG_DEFAULT("")),
	TRANSFER("operation", ENUM, operation, "what one round is", .words = operations,
		 CFG_DEFAULT("write")),
	TRANSFER("bytes", SIZE, bytes, "data of a round", CFG_RANGE(1, CFG_TIB),
		 CFG_DEFAULT("1M")),
	TRANSFER("virtual", BOOL, virtual, "a virtual machine of the borrower has the device",
		 CFG_DEFAULT("false")),
	TRANSFER("iommu", BOOL, iommu, "hosts that lend have their IOMMU on",
		 CFG_DEFAULT("false")),
	TRANSFER("dma_window", SIZE, dma_window,
		 "memory of the borrower that a device reaches at once, a power of two",
		 CFG_RANGE(BUFFER_ALIGNMENT, CFG_TIB / 4), CFG_DEFAULT("256M")),
	TRANSFER("start", DURATION, start, "host time of a round before it begins",
		 CFG_RANGE(0, CFG_SEC), CFG_DEFAULT("0s")),
	TRANSFER("round_trips", INTEGER, round_trips,
		 "write and read: times that the driver goes to the device and back before",
		 CFG_RANGE(0, 1000), CFG_DEFAULT("0")),
	TRANSFER("device_time", DURATION, device_time, "command: the disk's own work",
		 CFG_RANGE(0, CFG_SEC), CFG_DEFAULT("0s")),
	TRANSFER("interrupt", DURATION, interrupt,
		 "command: more, of an interrupt that the lender passes to a virtual machine",
		 CFG_RANGE(0, CFG_SEC), CFG_DEFAULT("0s")),
	TRANSFER("request", SIZE, request,
		 "read: bytes that it asks for at once; 0: app.read_request",
		 CFG_RANGE(0, 4096), CFG_DEFAULT("0")),
	TRANSFER("in_flight", INTEGER, in_flight,
		 "read: requests in flight, of threads that wait; 0: app.read_tags",
		 CFG_RANGE(0, 65536), CFG_DEFAULT("0")),
	TRANSFER("fence", BOOL, fence,
		 "read: each access takes gpu.cycles.fence_offset more of its thread",
		 CFG_DEFAULT("false")),
	CONSTANT(DURATION, switch_time, 0, CFG_MSEC, "through a switch"),
	CONSTANT(DURATION, root_time, 0, CFG_MSEC, "through a root, from port to port"),
	CONSTANT(DURATION, ntb_time, 0, CFG_MSEC, "through the two NTBs of a cable"),
	CONSTANT(DURATION, memory_time, 0, CFG_MSEC,
		 "of a read of host memory, at the root's port"),
	CONSTANT(DURATION, store_time, 0, CFG_MSEC,
		 "of a write to host memory, from the root's port"),
	CONSTANT(DURATION, device_read_time, 0, CFG_MSEC, "of a read of a device's memory"),
	CONSTANT(INTEGER, payload, 64, 4096, "most data of a write TLP"),
	CONSTANT(INTEGER, read_request, 64, 4096, "most data that a device asks for at once"),
	CONSTANT(INTEGER, read_tags, 1, 1024, "reads that a device has in flight"),
	CONSTANT(INTEGER, completion, 64, 4096, "data of a completion by host memory"),
	CONSTANT(INTEGER, root_read, 0, 4096,
		 "size of the reads into which a root cuts what crosses it; 0: none"),
	CONSTANT(INTEGER, root_tags, 1, 1024,
		 "reads that a root has in flight; counted apart by how many roots have cut "
		 "them "
		 "before"),
	CONSTANT(INTEGER, root_write, 0, 4096, "likewise, the size of writes; 0: none"),
	CONSTANT(PPM, link_overhead, 0, CFG_PPM / 2, "share of a link for its own packets"),
};

static const struct metric round_metrics[] = {
	METRIC_OUTCOME_ROW("rounds", "rounds", COMPLETED),
	METRIC_TIME_ROWS("round_ms", "round", MS, TO_END, ARRIVED),
	METRIC_TIME_ROW("round_ms.max", "round max", MS, TO_END, ARRIVED, 100),
};

static const struct app_report transfer_report = {
	.type = "transfer",
	.record = "round",
	.closed_loop = true,
	.no_gpu = true,
	REPORT_METRICS(round_metrics),
};

const struct sim_app transfer_app = {
	.keys = {
		.name = "transfer",
		.summary = "data over a PCIe fabric, by devices that hosts borrow",
		CFG_KEYS(transfer_keys),
		.bytes = sizeof(struct cfg_transfer),
		.check = transfer_check,
	},
	.report = &transfer_report,
	.prepare = transfer_prepare,
	.discard = transfer_discard,
	.run = transfer_run,
};
