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

void burst_set_done(struct fifo_burst *burst, u64 done_ns, u32 done_ppm)
{
	if (done_ns != burst->done_ns && !burst->held)
		burst->done_kernels = done_ns / burst->kernel_ns;
	burst->done_ns = done_ns;
	burst->done_ppm = done_ppm;
}

bool burst_is_at_end(const struct fifo_burst *burst)
{
	return burst->held && burst->done_ns == (burst->done_kernels + 1) * burst->kernel_ns;
}

void burst_hold(struct fifo_burst *burst, bool held)
{
	burst->done_kernels += !held && burst_is_at_end(burst);
	burst->held = held;
}

/* How many of its kernels may be launched. */
static u64 burst_allowed(const struct fifo_burst *burst)
{
	return burst->kernels - burst->withheld;
}

/* How many of its kernels may end, or wait for their end. */
static u64 burst_executable(const struct fifo_burst *burst)
{
	u64 allowed = burst_allowed(burst);

	return burst->held ? min(allowed, burst->done_kernels + 1) : allowed;
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
	const struct fifo_burst *burst;
};

static struct burst_units burst_units(const struct fifo_burst *burst)
{
	bool full = (!burst->speed_ppm || burst->speed_ppm == FIFO_ALL_PPM) && !burst->done_ppm;
	u64 work = full ? 1 : FIFO_ALL_PPM;
	u64 time = full ? 1 : burst->speed_ppm ? burst->speed_ppm : FIFO_ALL_PPM;

	return (struct burst_units){
		.kernels = burst_executable(burst),
		.per_time_ns = time,
		.per_work_ns = work,
		.burst = burst,
	};
}

/*
 * Parts of a burst in these units. They are not in the struct: a number of 128 bits that comes
 * from memory is slow, and bursts are looked at for each kernel of an MPS server's clients.
 */
static u128 units_kernel(const struct burst_units *units)
{
	return (u128)units->burst->kernel_ns * units->per_work_ns;
}

static u128 units_launch(const struct burst_units *units)
{
	return (u128)units->burst->launch_ns * units->per_time_ns;
}

static u128 units_launch_start(const struct burst_units *units)
{
	return (u128)units->burst->launch_start_ns * units->per_time_ns;
}

static u128 units_done(const struct burst_units *units)
{
	return (u128)units->burst->done_ns * units->per_work_ns + units->burst->done_ppm;
}

/*
 * The first whole ns at which a number of units of time is over, counted from @from.
 * ENG_NEVER: dates of 64 bits do not reach it, as with years of work at 1 ppm of full speed.
 */
static u64 units_to_date(const struct burst_units *units, u64 from, u128 time)
{
	u128 ns = units->per_time_ns == 1 ?
			  time :
			  div_u128(time + units->per_time_ns - 1, units->per_time_ns);

	return ns < ENG_NEVER - from ? from + (u64)ns : ENG_NEVER;
}

/* L(i) */
static u128 units_launch_date(const struct burst_units *units, u64 kernel)
{
	return units_launch_start(units) + (kernel + 1) * units_launch(units);
}

u64 burst_launch_end_ns(const struct fifo_burst *burst)
{
	u64 end_ns = burst->launch_start_ns + burst->kernels * burst->launch_ns;

	return min(end_ns, FIFO_BURST_MAX_NS);
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
	u64 kernel = burst->done_kernels; /* executes next, or is in execution */

	if (burst->waits || burst_is_at_end(burst))
		return ENG_NEVER;
	if (kernel >= burst->kernels)
		return 0;
	if (kernel >= burst_allowed(burst))
		return ENG_NEVER;
	if (kernel + 1 == burst->moved_kernel)
		return burst->moved_ready_ns;
	return burst->launch_start_ns + (kernel + 1) * burst->launch_ns;
}

u64 burst_ready_date(const struct fifo_burst *burst, u64 now)
{
	return max(now, burst_ready_since(burst));
}

/* Are all kernels launched at @now that may be? */
static bool burst_is_launched(const struct fifo_burst *burst, u64 now)
{
	u64 allowed = burst_allowed(burst);

	return !allowed || now >= burst->launch_start_ns + allowed * burst->launch_ns;
}

/*
 * The kernel before which the burst runs dry, or the number of kernels that may be executed.
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
	bool within =
		burst->done_ppm || burst->done_ns > burst->done_kernels * burst->kernel_ns;
	u64 boundary = burst->done_kernels + within;
	u128 caught_up;

	if (burst_is_launched(burst, now_ns))
		return units->kernels;
	if (units_launch_date(units, boundary) >
	    now + boundary * units_kernel(units) - units_done(units))
		return boundary;
	if (units_launch(units) <= units_kernel(units))
		return units->kernels;
	caught_up = units_launch_start(units) + units_launch(units) + units_done(units);
	return (u64)min(div_u128(now - caught_up, units_launch(units) - units_kernel(units)) +
				1,
			(u128)units->kernels);
}

u64 burst_step_date(const struct fifo_burst *burst, u64 now, u64 work_ns)
{
	struct burst_units units = burst_units(burst);
	u64 dry = burst_dry_kernel(burst, &units, now);
	u128 work = min((u128)work_ns * units.per_work_ns, dry * units_kernel(&units));

	return units_to_date(&units, now, work - units_done(&units));
}

u64 burst_dry_date(const struct fifo_burst *burst, u64 now)
{
	return burst_step_date(burst, now, burst_work_ns(burst));
}

u64 burst_date_of_work(const struct fifo_burst *burst, u64 now, u64 work_ns)
{
	struct burst_units units = burst_units(burst);
	u64 dry = burst_dry_kernel(burst, &units, now);
	u64 kernel = work_ns == burst_work_ns(burst) ? burst->kernels - 1 :
						       (work_ns - 1) / burst->kernel_ns;
	u128 work = (u128)work_ns * units.per_work_ns;
	u128 start;

	if (kernel < dry)
		return units_to_date(&units, now, work - units_done(&units));
	if (kernel >= units.kernels)
		return ENG_NEVER;
	/* The kernel starts after the burst has run dry. */
	if (units_launch(&units) > units_kernel(&units))
		start = units_launch_date(&units, kernel);
	else
		start = units_launch_date(&units, dry) + (kernel - dry) * units_kernel(&units);
	return units_to_date(&units, 0, start + work - kernel * units_kernel(&units));
}

/* Done at @now, in [L(dry), ...), by a burst that ran dry before the kernel @dry. */
static u128 burst_late_work(const struct fifo_burst *burst, const struct burst_units *units,
			    u64 dry, u64 now_ns)
{
	u128 now = (u128)now_ns * units->per_time_ns;
	u64 kernel = dry;
	u128 late;

	if (units_launch(units) > units_kernel(units))
		kernel = burst_launched(burst, now_ns) - 1;
	late = now - units_launch_date(units, kernel);
	if (units_launch(units) > units_kernel(units))
		late = min(late, units_kernel(units));
	return min(units->kernels * units_kernel(units), kernel * units_kernel(units) + late);
}

u64 burst_work_at(const struct fifo_burst *burst, u64 from, u64 now, u32 *ret_ppm)
{
	struct burst_units units = burst_units(burst);
	u64 dry = burst_dry_kernel(burst, &units, from);
	u128 elapsed = (u128)(now - from) * units.per_time_ns;
	u128 done;

	if (elapsed <= dry * units_kernel(&units) - units_done(&units))
		done = units_done(&units) + elapsed;
	else if (dry == units.kernels ||
		 (u128)now * units.per_time_ns <= units_launch_date(&units, dry))
		done = dry * units_kernel(&units);
	else
		done = burst_late_work(burst, &units, dry, now);
	*ret_ppm = 0;
	if (units.per_work_ns == 1)
		return (u64)done;
	*ret_ppm = (u32)(done % units.per_work_ns);
	return (u64)(done / units.per_work_ns);
}

u64 burst_time_to(const struct fifo_burst *burst, u64 done_ns, u32 done_ppm)
{
	u128 work = (u128)(done_ns - burst->done_ns) * FIFO_ALL_PPM + done_ppm;

	return (u64)div_u128(work - burst->done_ppm,
			     burst->speed_ppm ? burst->speed_ppm : FIFO_ALL_PPM);
}
