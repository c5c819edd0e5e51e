// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Layer: service. Blocks; works over struct gvm_gpu_ops and the memory manager's service().
 *
 * Fault service: the outer loop
 * =============================
 *
 * A kernel on the GPU touches a page that is not resident. The GMMU writes a record into the
 * replayable fault buffer and raises an interrupt; the SM parks the warp. This loop takes the
 * records in batches, brings the pages in and tells the GPU to replay the parked accesses:
 *
 *     wait -> fetch up to 256 -> sort, drop duplicates -> service each address space
 *       ^                                                      |
 *       +---- up to 20 batches a wake-up <- flush and replay <-+
 *
 * One thread per GPU does this for all processes, as in NVIDIA's driver. Drivers differ in the
 * step "service", which belongs to the memory manager (struct gvm_memory_ops).
 *
 * A fault that cannot be serviced is cancelled: its TSG dies, gmem.events of its container
 * counts it, and all other TSGs go on. It must never block its batch. A fault without room just
 * now (-EAGAIN: its own batch took all that its container may have) is left alone: the replay
 * makes it fault again. The block layer finds those that never end (block/remote.c). The loop
 * gives way once a wake-up, since it may wait for an evictor that needs the same CPU. The
 * thread gets a CPU before the processes of tenants: one that keeps all CPUs busy delays no
 * fault of another.
 *
 * Several devices can share a fault buffer: the GPU instances of MIG. A record names its
 * device, and its faults are serviced and replayed by the operations of that device. Only the
 * handler's own device fetches records, and its quiesce or loss stops the handler.
 *
 *
 * Priority batches
 * ----------------
 *
 * An idea beyond the papers, off by default (GVM_PRIORITY_BATCHES). A batch may hold the faults
 * of several address spaces, and all of them wait for its last copy. With this feature the
 * faults with the most important compute.priority are served first, and replayed before the
 * others are served:
 *
 *     off   | vllm | diffusion | wait for all copies | replay |
 *     on    | vllm | wait | replay | diffusion | wait | replay |
 *
 * No container starves: a batch is finite, and all of it is served before the next fetch. The
 * order among equals does not change. The feature costs a replay for each priority in the batch
 * (at most GVM_PRIORITY_MAX + 1). Each replay makes the other accesses fault again; their new
 * records are flushed at a later replay. And copies of different containers do not overlap any
 * more.
 *
 * The feature gains nothing on a GPU that runs one context at a time, such as the simulated one
 * and real ones without MPS. A context with unserviced faults cannot be switched out (GVM 7.5),
 * so no other context can fault, and a batch has one address space. There no byte of a result
 * changes. The feature is for GPUs with several contexts side by side.
 *
 * How it differs from the stock driver (open-gpu-kernel-modules 575,
 * uvm_gpu_replayable_faults.c):
 *  1. Records are sorted once, by address space and address. The stock driver sorts by instance
 *     pointer first because it has to translate it. Here the device reports the space itself.
 *  2. Duplicates are dropped after sorting, against all of the batch. The stock driver compares
 *     a record only with the last one and the last one of the same uTLB. The most intrusive
 *     access wins in both.
 */
#include "gvm/fault.h"
#include "gvm/activity.h"
#include "gvm/predictor.h"

/* The device on which a fault happened. */
static struct gvm_device *fault_device(const struct gvm_fault_handler *handler,
				       const struct gvm_fault *fault)
{
	return fault->device ? fault->device : handler->device;
}

/* The order of service: priority, device, address space, address. */
static bool fault_before(const struct gvm_fault *a, const struct gvm_fault *b)
{
	if (a->priority != b->priority)
		return a->priority < b->priority;
	if (a->device != b->device)
		return (size_t)a->device < (size_t)b->device;
	if (a->space != b->space)
		return (size_t)a->space < (size_t)b->space;
	return a->va < b->va;
}

/*
 * Shell sort with Ciura's gaps. The batch is short, arrives nearly sorted (a streaming kernel
 * faults in address order), and this needs neither recursion nor memory.
 */
static void fault_sort(struct gvm_fault *faults, u32 count)
{
	static const u32 gaps[] = { 132, 57, 23, 10, 4, 1 };

	for (u32 g = 0; g < ARRAY_SIZE(gaps); g++) {
		u32 gap = gaps[g];

		for (u32 i = gap; i < count; i++) {
			struct gvm_fault fault = faults[i];
			u32 j;

			for (j = i; j >= gap && fault_before(&fault, &faults[j - gap]);
			     j -= gap)
				faults[j] = faults[j - gap];
			faults[j] = fault;
		}
	}
}

/* Do two records name one page? An address space may be on several devices. */
static bool fault_is_same_page(const struct gvm_fault *a, const struct gvm_fault *b)
{
	return a->device == b->device && a->space == b->space && a->va == b->va;
}

/*
 * Keep one record per page, with the most intrusive access. Returns the number of records kept.
 */
static u32 fault_coalesce(struct gvm_fault *faults, u32 count)
{
	u32 kept = 0;

	for (u32 i = 0; i < count; i++) {
		struct gvm_fault *last = &faults[kept ? kept - 1 : 0];

		if (!kept || !fault_is_same_page(last, &faults[i]))
			faults[kept++] = faults[i];
		else if (faults[i].access > last->access)
			last->access = faults[i].access;
	}
	return kept;
}

/* The length of the run of records at the head of @faults that share an address space. */
static u32 fault_space_run(const struct gvm_fault *faults, u32 count)
{
	u32 run = 1;

	while (run < count && faults[run].space == faults[0].space)
		run++;
	return run;
}

/* The length of the run at the head of @faults with one priority and one device. */
static u32 fault_replay_run(const struct gvm_fault *faults, u32 count)
{
	u32 run = 1;

	while (run < count && faults[run].priority == faults[0].priority &&
	       faults[run].device == faults[0].device)
		run++;
	return run;
}

static void fault_set_priorities(struct gvm_fault_handler *handler, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		struct gvm_fault *fault = &handler->batch[i];
		const struct gvm_device *device = fault_device(handler, fault);

		fault->priority = 0;
		if (gvm_has_feature(device, GVM_PRIORITY_BATCHES))
			fault->priority =
				device->ops->space_priority(device->gpu, fault->space);
	}
}

static void fault_cancel_failed(struct gvm_fault_handler *handler,
				const struct gvm_fault *faults, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		const struct gvm_fault *fault = &faults[i];
		struct gvm_device *device = fault_device(handler, fault);

		if (!fault->status || gvm_device_is_lost(device))
			continue;
		if (fault->status == -EAGAIN || fault->status == -EINTR) {
			handler->stats.deferred++;
			continue;
		}
		handler->stats.cancelled++;
		device->ops->cancel_fault(device->gpu, fault);
	}
}

/* Service faults of one address space, unless it is being destroyed. */
static void fault_service_space(struct gvm_device *device, struct gvm_fault *faults, u32 count,
				struct gvm_fence *fence)
{
	void *space = faults[0].space;
	int status = 0;

	if (device->ops->space_enter)
		status = device->ops->space_enter(device->gpu, space, count);
	if (status) {
		for (u32 i = 0; i < count; i++)
			faults[i].status = status;
		return;
	}
	device->memory_ops->service(device->memory, space, faults, count, fence);
	if (device->ops->space_leave)
		device->ops->space_leave(device->gpu, space);
}

/*
 * Service and replay faults of one device, sorted by address space. Returns 0, -EINTR or
 * -ENODEV: the GPU is lost.
 */
static int fault_service_run(struct gvm_fault_handler *handler, struct gvm_fault *faults,
			     u32 count)
{
	struct gvm_device *device = fault_device(handler, &faults[0]);
	struct gvm_fence fence = { 0 };
	u32 run;

	for (u32 done = 0; done < count; done += run) {
		run = fault_space_run(faults + done, count - done);
		fault_service_space(device, faults + done, run, &fence);
	}
	fault_cancel_failed(handler, faults, count);
	gvm_cost(GVM_COST_REPLAY, 1);
	if (device->memory_ops->batch_end)
		device->memory_ops->batch_end(device->memory);
	return device->ops->flush_and_replay(device->gpu, &fence);
}

/* Sort, service and replay one fetched batch. Returns 0, -EINTR or -ENODEV. */
static int fault_service_batch(struct gvm_fault_handler *handler, u32 fetched)
{
	u32 count, run;
	int status = 0;

	gvm_trace_batch(handler->device, true, fetched);
	gvm_cost(GVM_COST_BATCH, 1);
	gvm_cost(GVM_COST_ENTRY, fetched);
	fault_set_priorities(handler, fetched);
	fault_sort(handler->batch, fetched);
	count = fault_coalesce(handler->batch, fetched);
	handler->stats.batches++;
	handler->stats.faults += fetched;
	handler->stats.duplicates += fetched - count;

	for (u32 done = 0; done < count && !status; done += run) {
		run = fault_replay_run(handler->batch + done, count - done);
		status = fault_service_run(handler, handler->batch + done, run);
	}
	gvm_trace_batch(handler->device, false, count);
	return status;
}

int gvm_fault_service(struct gvm_fault_handler *handler)
{
	struct gvm_device *device = handler->device;
	u32 batches, fetched;
	int status = gvm_activity_begin_wait(device, GVM_ACTIVITY_FAULTS);

	if (status)
		return status;
	for (batches = 0; batches < GVM_FAULT_BATCHES_MAX; batches++) {
		if (gvm_activity_should_end(device, GVM_ACTIVITY_FAULTS))
			break;
		fetched = device->ops->fetch_faults(device->gpu, handler->batch,
						    GVM_FAULT_BATCH_MAX);
		if (!fetched)
			break;
		status = fault_service_batch(handler, fetched);
		if (status == -ENODEV)
			gvm_device_set_lost(device);
		if (status)
			break;
	}
	gvm_prefetcher_kick(device);
	gvm_activity_end(device, GVM_ACTIVITY_FAULTS);
	return status ? status : (int)batches;
}

static void fault_worker(void *data)
{
	struct gvm_fault_handler *handler = data;
	struct gvm_device *device = handler->device;

	gvm_worker_hurry();
	while (!gvm_give_way()) {
		int status = device->ops->wait_for_faults(device->gpu);

		if (status == -ENODEV)
			gvm_device_set_lost(device);
		if (status || gvm_fault_service(handler) < 0)
			break;
	}
	if (gvm_device_is_dead(device)) {
		gvm_device_set_lost(device);
		if (device->ops->give_up)
			device->ops->give_up(device->gpu);
	}
}

int gvm_fault_handler_start(struct gvm_fault_handler *handler, struct gvm_device *device)
{
	memset(handler, 0, sizeof(*handler));
	handler->device = device;
	return gvm_worker_start(&handler->worker, "gvm faults", fault_worker, handler);
}

void gvm_fault_handler_stop(struct gvm_fault_handler *handler)
{
	gvm_worker_stop(&handler->worker);
}
