// SPDX-License-Identifier: MIT OR GPL-2.0
/* Closed forms for launch trains; see train.h for the model and the names L and W. */
#include "gsp/train.h"

u64 train_work_ns(const struct gsp_train *train)
{
	return train->kernels * train->kernel_ns;
}

/* L(i) */
static u64 train_launch_date(const struct gsp_train *train, u64 kernel)
{
	return train->launch_start_ns + (kernel + 1) * train->launch_ns;
}

u64 train_launched(const struct gsp_train *train, u64 now)
{
	if (now < train->launch_start_ns + train->launch_ns)
		return 0;
	if (!train->launch_ns)
		return train->kernels;
	return min((u64)train->kernels, (now - train->launch_start_ns) / train->launch_ns);
}

/* The kernel that executes next, or is in execution. */
static u64 train_kernel(const struct gsp_train *train)
{
	return train->done_ns / train->kernel_ns;
}

u64 train_ready_date(const struct gsp_train *train, u64 now)
{
	u64 kernel = train_kernel(train);

	if (kernel >= train->kernels)
		return now;
	return max(now, train_launch_date(train, kernel));
}

/*
 * The kernel before which the train runs dry, or the number of kernels if it does not.
 *
 * A host that launches faster than the GPU executes is caught up with only at a boundary where
 * nothing is launched yet, and never again afterwards. Otherwise it is the smallest j, from the
 * next boundary on, with L(j) > now + W(j) - done, which is
 *     j * (launch - kernel) > now - (launch_start + launch + done).
 */
static u64 train_dry_kernel(const struct gsp_train *train, u64 now)
{
	u64 boundary = (train->done_ns + train->kernel_ns - 1) / train->kernel_ns;
	u64 caught_up = train->launch_start_ns + train->launch_ns + train->done_ns;

	if (train_launched(train, now) == train->kernels)
		return train->kernels;
	if (train->launch_ns > train->kernel_ns) {
		if (now >= caught_up)
			boundary = max(
				boundary,
				(now - caught_up) / (train->launch_ns - train->kernel_ns) + 1);
		return min(boundary, (u64)train->kernels);
	}
	if (boundary * train->kernel_ns == train->done_ns &&
	    train_launch_date(train, boundary) > now)
		return boundary;
	return train->kernels;
}

u64 train_dry_date(const struct gsp_train *train, u64 now)
{
	return now + train_dry_kernel(train, now) * train->kernel_ns - train->done_ns;
}

/* When a kernel starts that was not launched before its predecessor ended. */
static u64 train_late_start(const struct gsp_train *train, u64 dry_kernel, u64 kernel)
{
	if (train->launch_ns > train->kernel_ns)
		return train_launch_date(train, kernel);
	return train_launch_date(train, dry_kernel) + (kernel - dry_kernel) * train->kernel_ns;
}

u64 train_date_of_work(const struct gsp_train *train, u64 now, u64 work)
{
	u64 dry = train_dry_kernel(train, now);
	u64 kernel = (work - 1) / train->kernel_ns;

	if (kernel < dry)
		return now + work - train->done_ns;
	return train_late_start(train, dry, kernel) + work - kernel * train->kernel_ns;
}

/* Done at @now, in [L(dry), ...), by a train that ran dry before the kernel @dry. */
static u64 train_late_work(const struct gsp_train *train, u64 dry, u64 now)
{
	u64 kernel = dry;
	u64 late;

	if (train->launch_ns > train->kernel_ns)
		kernel = train_launched(train, now) - 1;
	late = now - train_launch_date(train, kernel);
	if (train->launch_ns > train->kernel_ns)
		late = min(late, train->kernel_ns);
	return min(train_work_ns(train), kernel * train->kernel_ns + late);
}

u64 train_work_at(const struct gsp_train *train, u64 from, u64 now)
{
	u64 dry = train_dry_kernel(train, from);

	if (now - from <= dry * train->kernel_ns - train->done_ns)
		return train->done_ns + (now - from);
	if (dry == train->kernels || now <= train_launch_date(train, dry))
		return dry * train->kernel_ns;
	return train_late_work(train, dry, now);
}
