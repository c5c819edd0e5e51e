// SPDX-License-Identifier: MIT OR GPL-2.0
/* Closed forms for bursts; see burst.h for the model and the names L and W. */
#include "fifo/burst.h"

typedef unsigned __int128 u128;

/* The quotient; most are of 64 bits, whose division is several times faster. */
static u128 div_u128(u128 dividend, u128 divisor)
{
	if (!(dividend >> 64) && !(divisor >> 64))
		return (u64)dividend / (u64)divisor;
	return dividend / divisor;
}

u64 burst_work_ns(const struct fifo_burst *burst)
{
	return burst->kernels * burst->kernel_ns;
}

/* How many of its kernels may be launched. */
static u64 burst_allowed(const struct fifo_burst *burst)
{
	return burst->kernels - burst->withheld;
}

/*
 * A burst in units in which it executes 1 unit of work per unit of time. At full speed a unit
 * is a ns. At less, a ns of work is a million units and a ns of time as many as the speed is in
 * ppm: so all stays in integers.
 */
struct burst_units {
	u64 kernels;
	u64 per_time_ns;
	u64 per_work_ns;
	u128 kernel;
	u128 launch;
	u128 launch_start;
	u128 done;
};

static struct burst_units burst_units(const struct fifo_burst *burst)
{
	bool full = (!burst->speed_ppm || burst->speed_ppm == FIFO_ALL_PPM) && !burst->done_ppm;
	u64 work = full ? 1 : FIFO_ALL_PPM;
	u64 time = full ? 1 : burst->speed_ppm ? burst->speed_ppm : FIFO_ALL_PPM;

	return (struct burst_units){
		.kernels = burst_allowed(burst),
		.per_time_ns = time,
		.per_work_ns = work,
		.kernel = (u128)burst->kernel_ns * work,
		.launch = (u128)burst->launch_ns * time,
		.launch_start = (u128)burst->launch_start_ns * time,
		.done = (u128)burst->done_ns * work + burst->done_ppm,
	};
}

/* The first whole ns at which a number of units of time is over. */
static u64 units_to_ns(const struct burst_units *units, u128 time)
{
	return (u64)(units->per_time_ns == 1 ?
			     time :
			     (time + units->per_time_ns - 1) / units->per_time_ns);
}

/* L(i) */
static u128 units_launch_date(const struct burst_units *units, u64 kernel)
{
	return units->launch_start + (kernel + 1) * units->launch;
}

u64 burst_launched(const struct fifo_burst *burst, u64 now)
{
	if (now < burst->launch_start_ns + burst->launch_ns)
		return 0;
	if (!burst->launch_ns)
		return burst_allowed(burst);
	return min(burst_allowed(burst), (now - burst->launch_start_ns) / burst->launch_ns);
}

u64 burst_ready_since(const struct fifo_burst *burst)
{
	u64 kernel = burst->done_ns / burst->kernel_ns; /* executes next, or is in execution */

	if (burst->waits)
		return ENG_NEVER;
	if (kernel >= burst->kernels)
		return 0;
	if (kernel >= burst_allowed(burst))
		return ENG_NEVER;
	return burst->launch_start_ns + (kernel + 1) * burst->launch_ns;
}

u64 burst_ready_date(const struct fifo_burst *burst, u64 now)
{
	return max(now, burst_ready_since(burst));
}

/*
 * The kernel before which the burst runs dry, or the number of kernels that may be launched.
 *
 * It is the smallest j, from the next boundary on, with L(j) > now + W(j) - done, which is
 *     j * (launch - kernel) > now - (launch_start + launch + done).
 * A host that launches faster than the GPU executes is caught up with at the next boundary or
 * never.
 */
static u64 burst_dry_kernel(const struct fifo_burst *burst, const struct burst_units *units,
			    u64 now_ns)
{
	u128 now = (u128)now_ns * units->per_time_ns;
	u128 caught_up = units->launch_start + units->launch + units->done;
	u64 boundary = (burst->done_ns + (burst->done_ppm != 0) + burst->kernel_ns - 1) /
		       burst->kernel_ns;

	if (burst_launched(burst, now_ns) == units->kernels)
		return units->kernels;
	if (units->launch > units->kernel) {
		if (now >= caught_up) {
			u128 later =
				div_u128(now - caught_up, units->launch - units->kernel) + 1;

			boundary = (u64)max((u128)boundary, later);
		}
		return min(boundary, units->kernels);
	}
	if (units_launch_date(units, boundary) > now + boundary * units->kernel - units->done)
		return boundary;
	return units->kernels;
}

u64 burst_dry_date(const struct fifo_burst *burst, u64 now)
{
	struct burst_units units = burst_units(burst);
	u64 dry = burst_dry_kernel(burst, &units, now);

	return now + units_to_ns(&units, dry * units.kernel - units.done);
}

u64 burst_date_of_work(const struct fifo_burst *burst, u64 now, u64 work_ns)
{
	struct burst_units units = burst_units(burst);
	u64 dry = burst_dry_kernel(burst, &units, now);
	u64 kernel = (work_ns - 1) / burst->kernel_ns;
	u128 work = (u128)work_ns * units.per_work_ns;
	u128 start;

	if (kernel < dry)
		return now + units_to_ns(&units, work - units.done);
	if (kernel >= units.kernels)
		return ENG_NEVER;
	/* The kernel starts after the burst has run dry. */
	if (units.launch > units.kernel)
		start = units_launch_date(&units, kernel);
	else
		start = units_launch_date(&units, dry) + (kernel - dry) * units.kernel;
	return units_to_ns(&units, start + work - kernel * units.kernel);
}

/* Done at @now, in [L(dry), ...), by a burst that ran dry before the kernel @dry. */
static u128 burst_late_work(const struct fifo_burst *burst, const struct burst_units *units,
			    u64 dry, u64 now_ns)
{
	u128 now = (u128)now_ns * units->per_time_ns;
	u64 kernel = dry;
	u128 late;

	if (units->launch > units->kernel)
		kernel = burst_launched(burst, now_ns) - 1;
	late = now - units_launch_date(units, kernel);
	if (units->launch > units->kernel)
		late = min(late, units->kernel);
	return min(units->kernels * units->kernel, kernel * units->kernel + late);
}

u64 burst_work_at(const struct fifo_burst *burst, u64 from, u64 now, u32 *ret_ppm)
{
	struct burst_units units = burst_units(burst);
	u64 dry = burst_dry_kernel(burst, &units, from);
	u128 elapsed = (u128)(now - from) * units.per_time_ns;
	u128 done;

	if (elapsed <= dry * units.kernel - units.done)
		done = units.done + elapsed;
	else if (dry == units.kernels ||
		 (u128)now * units.per_time_ns <= units_launch_date(&units, dry))
		done = dry * units.kernel;
	else
		done = burst_late_work(burst, &units, dry, now);
	*ret_ppm = 0;
	if (units.per_work_ns == 1)
		return (u64)done;
	*ret_ppm = (u32)(done % units.per_work_ns);
	return (u64)(done / units.per_work_ns);
}
