// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Frozen TSGs stay off the GPU. RM lets a channel run again that its process schedules, and a
 * process schedules each channel once it has registered it: so a channel that is made in a
 * frozen container would run. RM also lets a process enable its own channels. So while a TSG is
 * frozen its channels are looked at 20 times a second, and those that may run are disabled
 * again. A look is a read of a register, from Ampere on. Before, there is none, and RM is asked
 * each time.
 *
 * A process that undoes its freeze again and again runs for up to 50 ms each time: RM has no call
 * that forbids it.
 */
#include "gvm_nvidia.h"

#include <linux/jiffies.h>
#include <linux/workqueue.h>

#define FROZEN_MS 50

static void frozen_look(struct work_struct *work)
{
	struct gvm_nvidia_gpu *gpu =
		container_of(to_delayed_work(work), struct gvm_nvidia_gpu, frozen);

	if (gvm_nvidia_tsgs_hold(gpu))
		gvm_nvidia_frozen_begin(gpu);
}

void gvm_nvidia_frozen_init(struct gvm_nvidia_gpu *gpu)
{
	INIT_DELAYED_WORK(&gpu->frozen, frozen_look);
}

void gvm_nvidia_frozen_begin(struct gvm_nvidia_gpu *gpu)
{
	schedule_delayed_work(&gpu->frozen, msecs_to_jiffies(FROZEN_MS));
}

void gvm_nvidia_frozen_stop(struct gvm_nvidia_gpu *gpu)
{
	cancel_delayed_work_sync(&gpu->frozen);
}
