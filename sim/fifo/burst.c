// SPDX-License-Identifier: MIT OR GPL-2.0
/* Closed forms for bursts; see burst.h for the model and the names L and W. */
#include "fifo/burst.h"

u64 burst_work_ns(const struct fifo_burst *burst)
{
	return burst->kernels * burst->kernel_ns;
}

/* L(i) */
static u64 burst_launch_date(const struct fifo_burst *burst, u64 kernel)
{
	return burst->launch_start_ns + (kernel + 1) * burst->launch_ns;
}

u64 burst_launched(const struct fifo_burst *burst, u64 now)
{
	if (now < burst->launch_start_ns + burst->launch_ns)
		return 0;
	if (!burst->launch_ns)
		return burst->kernels;
	return min((u64)burst->kernels, (now - burst->launch_start_ns) / burst->launch_ns);
}

/* The kernel that executes next, or is in execution. */
static u64 burst_kernel(const struct fifo_burst *burst)
{
	return burst->done_ns / burst->kernel_ns;
}

u64 burst_ready_date(const struct fifo_burst *burst, u64 now)
{
	u64 kernel = burst_kernel(burst);

	if (kernel >= burst->kernels)
		return now;
	return max(now, burst_launch_date(burst, kernel));
}

/*
 * The kernel before which the burst runs dry, or the number of kernels if it does not.
 *
 * A host that launches faster than the GPU executes is caught up with only at a boundary where
 * nothing is launched yet, and never again afterwards. Otherwise it is the smallest j, from the
 * next boundary on, with L(j) > now + W(j) - done, which is
 *     j * (launch - kernel) > now - (launch_start + launch + done).
 */
static u64 burst_dry_kernel(const struct fifo_burst *burst, u64 now)
{
	u64 boundary = (burst->done_ns + burst->kernel_ns - 1) / burst->kernel_ns;
	u64 caught_up = burst->launch_start_ns + burst->launch_ns + burst->done_ns;

	if (burst_launched(burst, now) == burst->kernels)
		return burst->kernels;
	if (burst->launch_ns > burst->kernel_ns) {
		if (now >= caught_up)
			boundary = max(
				boundary,
				(now - caught_up) / (burst->launch_ns - burst->kernel_ns) + 1);
		return min(boundary, (u64)burst->kernels);
	}
	if (boundary * burst->kernel_ns == burst->done_ns &&
	    burst_launch_date(burst, boundary) > now)
		return boundary;
	return burst->kernels;
}

u64 burst_dry_date(const struct fifo_burst *burst, u64 now)
{
	return now + burst_dry_kernel(burst, now) * burst->kernel_ns - burst->done_ns;
}

/* When a kernel starts that was not launched before its predecessor ended. */
static u64 burst_late_start(const struct fifo_burst *burst, u64 dry_kernel, u64 kernel)
{
	if (burst->launch_ns > burst->kernel_ns)
		return burst_launch_date(burst, kernel);
	return burst_launch_date(burst, dry_kernel) + (kernel - dry_kernel) * burst->kernel_ns;
}

u64 burst_date_of_work(const struct fifo_burst *burst, u64 now, u64 work)
{
	u64 dry = burst_dry_kernel(burst, now);
	u64 kernel = (work - 1) / burst->kernel_ns;

	if (kernel < dry)
		return now + work - burst->done_ns;
	return burst_late_start(burst, dry, kernel) + work - kernel * burst->kernel_ns;
}

/* Done at @now, in [L(dry), ...), by a burst that ran dry before the kernel @dry. */
static u64 burst_late_work(const struct fifo_burst *burst, u64 dry, u64 now)
{
	u64 kernel = dry;
	u64 late;

	if (burst->launch_ns > burst->kernel_ns)
		kernel = burst_launched(burst, now) - 1;
	late = now - burst_launch_date(burst, kernel);
	if (burst->launch_ns > burst->kernel_ns)
		late = min(late, burst->kernel_ns);
	return min(burst_work_ns(burst), kernel * burst->kernel_ns + late);
}

u64 burst_work_at(const struct fifo_burst *burst, u64 from, u64 now)
{
	u64 dry = burst_dry_kernel(burst, from);

	if (now - from <= dry * burst->kernel_ns - burst->done_ns)
		return burst->done_ns + (now - from);
	if (dry == burst->kernels || now <= burst_launch_date(burst, dry))
		return dry * burst->kernel_ns;
	return burst_late_work(burst, dry, now);
}
