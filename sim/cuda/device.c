// SPDX-License-Identifier: MIT OR GPL-2.0
/* Launch counts, reported every now and then; see device.h. */
#include "cuda/device.h"

#include "cuda/library.h"

void cuda_device_init(struct cuda_device *device, struct sim_gpu *gpu)
{
	*device = (struct cuda_device){ .gpu = gpu };
	INIT_LIST_HEAD(&device->contexts);
}

/*
 * Report what a process has launched and ended since its last report. True: it was idle then.
 */
static bool context_report(struct cuda_context *context)
{
	const struct fifo_tsg *tsg = &context->process->tsg;
	u64 ended = fifo_ended_kernels(tsg);
	u64 launched = ended + fifo_pending_kernels(tsg);
	bool was_idle = context->launches_reported == context->ends_reported;

	gvm_container_count_kernels(context->process->container,
				    launched - context->launches_reported,
				    ended - context->ends_reported);
	context->launches_reported = launched;
	context->ends_reported = ended;
	return was_idle && launched > ended;
}

/* The scheduler looks at once when a container that was idle has work. */
static void device_report(struct eng_timer *timer)
{
	struct cuda_device *device = container_of(timer, struct cuda_device, report_timer);
	struct cuda_context *context;
	bool kick = false;

	fifo_update(&device->gpu->fifo);
	list_for_each_entry(context, &device->contexts, node)
		kick |= context_report(context);
	if (kick && device->gpu->scheduling.tracking == GVM_TRACK_EVENTS)
		gvm_scheduler_kick(&device->gpu->device);
	eng_timer_set(timer, eng_now() + device->report_interval_ns);
}

void cuda_device_report(struct cuda_context *context)
{
	if (!context->process || context->device->report_interval_ns)
		return;
	fifo_update(&context->device->gpu->fifo);
	(void)context_report(context);
}

void cuda_device_start(struct cuda_device *device)
{
	const struct gvm_scheduler_config *scheduling = &device->gpu->scheduling;
	bool scheduler_reads = scheduling->policy != GVM_SCHED_TIMESLICES &&
			       scheduling->tracking == GVM_TRACK_EVENTS;

	if (!scheduler_reads && !device->policy_reads)
		return;
	device->report_interval_ns =
		scheduling->interval_ns ? scheduling->interval_ns : CUDA_REPORT_NS;
	device->report_timer.fire = device_report;
	eng_timer_set(&device->report_timer, eng_now() + device->report_interval_ns);
}

void cuda_device_stop(struct cuda_device *device)
{
	eng_timer_cancel(&device->report_timer);
	if (device->library)
		device->library->stop(device);
}

void cuda_device_forget(struct cuda_context *context)
{
	list_del_init(&context->node);
	gvm_container_count_kernels(context->process->container, 0,
				    context->launches_reported - context->ends_reported);
	context->ends_reported = context->launches_reported;
}
