/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What a policy of gvmd is: a struct of functions and a table of settings.
 *
 * A policy lives outside of the driver. It sees containers by their control files and by the
 * reports of their applications, and it asks for writes to control files. The same code decides
 * in the simulator, in simulated time, and on a host with gvm.ko. So it has no clock, no file
 * and no thread of its own: a step gets the date and the values, and leaves its writes in the
 * step. gvmd applies them after the step has returned 0, in their order.
 *
 * A plug-in is a shared object that exports
 *
 *     const struct gvmd_policy gvmd_policy = { .abi = GVMD_ABI, ... };
 *
 * It needs this header and nothing else: there is no library to link with.
 */
#ifndef SIM_GVMD_POLICY_H
#define SIM_GVMD_POLICY_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "engine/types.h"

/* Changes when a plug-in has to be compiled again. */
#define GVMD_ABI	    6u

#define GVMD_NAME_MAX	    64	/* of a container, with its zero byte */
#define GVMD_TEXT_MAX	    64	/* of a write */
#define GVMD_WHY_MAX	    160 /* of a reason */
#define GVMD_CONTAINERS_MAX 64
#define GVMD_WRITES_MAX	    256 /* of one step */

/* Bounds of durations that a setting names. */
#define GVMD_PERIOD_MIN_NS 1000000ull
#define GVMD_PERIOD_MAX_NS 3600000000000ull

/* A limit that is "max". */
#define GVMD_NO_LIMIT (~0ull)

/*
 * What a policy sees of a container. gvmd_metrics[] (metrics.h) has their names and the control
 * files that they come from. Settings first.
 */
enum gvmd_metric {
	GVMD_GMEM_HIGH,	   /* gmem.limit.high, bytes or GVMD_NO_LIMIT */
	GVMD_GMEM_LOW,	   /* gmem.limit.low, likewise */
	GVMD_HMEM_LIMIT,   /* hmem.limit, likewise */
	GVMD_TIMESLICE_US, /* compute.timeslice */
	GVMD_PRIORITY,	   /* compute.priority */
	GVMD_WEIGHT,	   /* compute.weight */
	GVMD_FREEZE,	   /* compute.freeze: 1 when all its TSGs are off the GPU */
	GVMD_GMEM_CURRENT, /* bytes */
	GVMD_GMEM_PEAK,
	GVMD_GMEM_SWAP,	  /* gmem.swap.current */
	GVMD_GMEM_CLEAN,  /* gmem.clean.current */
	GVMD_EVENTS_HIGH, /* lines of gmem.events */
	GVMD_EVENTS_HMEM,
	GVMD_EVENTS_OOM,
	GVMD_SUBMITTED, /* kernels: lines of gcgroup.stat */
	GVMD_ENDED,
	GVMD_PENDING,
	GVMD_BUSY_US,	    /* lines of gpu.stat: time of its kernels */
	GVMD_STALLED_US,    /* and time in which it held the GPU for its faults */
	GVMD_FENCE_SAMPLE,  /* fence.sample: one launch of so many is counted; 0: none */
	GVMD_FENCE_SAMPLED, /* lines of fence.stat: launches that were counted */
	GVMD_FENCE_FOUND,   /* and those of them that had wild accesses */
	/*
	 * The application's report: the longest time to first token that its users saw in the
	 * last second. A request that still waits counts with its age.
	 */
	GVMD_TTFT_US,
	GVMD_WAITING, /* the application's report: requests without a first token */
	GVMD_METRICS,
};

/* A container, as it was at the date of the step. */
struct gvmd_container {
	char name[GVMD_NAME_MAX];
	u32 gpu;		 /* number of the GPU that it is on */
	bool running;		 /* it has control files */
	u64 known;		 /* bit i: value[i] is known */
	u64 value[GVMD_METRICS]; /* by enum gvmd_metric */
};

/* A write that a step asks for. */
struct gvmd_write {
	u32 container; /* index into the step's containers */
	char file[GVMD_NAME_MAX];
	char text[GVMD_TEXT_MAX];
	/*
	 * Do not wait for reclaim. A lowered limit holds at once, and listeners of the
	 * container get a pressure event. Chunks above the limit are evicted when the
	 * container next allocates.
	 */
	bool no_wait;
};

/* One step of a policy. Owned by gvmd. */
struct gvmd_step {
	u64 now_ns; /* since gvmd started */
	u32 container_count;
	struct gvmd_container containers[GVMD_CONTAINERS_MAX];
	/* The policy's answer. Empty before the step. */
	u32 write_count;
	struct gvmd_write writes[GVMD_WRITES_MAX];
	char why[GVMD_WHY_MAX]; /* of an error: the reason */
};

/* The type of a setting: how the policy's JSON file writes it, and how it is stored. */
enum gvmd_setting_type {
	GVMD_SET_NUMBER,    /* u64: 160 */
	GVMD_SET_BYTES,	    /* u64: 6000000000, "6e9", "1.5G"; "max" is GVMD_NO_LIMIT */
	GVMD_SET_DURATION,  /* u64, ns: "100ms" */
	GVMD_SET_SHARE,	    /* u64, parts per million: 0.8 */
	GVMD_SET_SWITCH,    /* bool: true */
	GVMD_SET_CONTAINER, /* char[GVMD_NAME_MAX]: the name of a container */
	GVMD_SET_JSON,	    /* json_t *, borrowed from the file: any JSON */
};

/* A setting: a key of the policy's JSON file, bound to a member of the policy's state. */
struct gvmd_setting {
	const char *name;
	enum gvmd_setting_type type;
	size_t offset; /* of the member */
	u64 min;       /* of numbers, inclusive */
	u64 max;
	const char *fallback; /* as a JSON text would say it: "160", "3s"; NULL: required */
	const char *help;     /* one line: what it is, and where its default comes from */
};

/* A member of @struct_, for a row of settings. */
#define GVMD_SETTING(name_, type_, struct_, member_, min_, max_, fallback_, help_)  \
	{                                                                           \
		.name = (name_), .type = GVMD_SET_##type_,                          \
		.offset = offsetof(struct_, member_), .min = (min_), .max = (max_), \
		.fallback = (fallback_), .help = (help_)                            \
	}

/* A policy. All members are constant; its state is one block of memory. */
struct gvmd_policy {
	u32 abi;	     /* GVMD_ABI */
	const char *name;    /* "dyn" */
	const char *summary; /* one line */
	const struct gvmd_setting *settings;
	size_t setting_count;
	size_t bytes; /* of the state: settings, then what the policy remembers, zero at first */
	u64 period_ns; /* between two steps; the setting "period" overrides it */
	/*
	 * Check how settings relate and prepare the state for steps every @period_ns. Returns
	 * 0, or a negative errno with a reason in @why that begins with the key: "upper: is
	 * below lower". close() is called after a failure, too. NULL: nothing to do.
	 */
	int (*open)(void *state, u64 period_ns, char why[GVMD_WHY_MAX]);
	/*
	 * After open(): check that each container in settings of the type JSON is one of
	 * the @count @names (gvmd_is_named()). gvmd checks settings of the type CONTAINER
	 * itself. Returns as open() does; gvmd adds the list of names to a reason
	 * without a "?". NULL: no setting has names within JSON.
	 */
	int (*check)(const void *state, const char *const *names, size_t count,
		     char why[GVMD_WHY_MAX]);
	/*
	 * Look at the containers and ask for writes. Returns 0. A negative errno stops the
	 * policy: no write of this step is applied, and all files get back what they had
	 * before.
	 */
	int (*step)(void *state, struct gvmd_step *step);
	/*
	 * The file of the policy's write number @index, from 0 on, where its settings say so,
	 * and their key in @place: "rules.0.then.1". Before a run, gvmsim names those that the
	 * system does not honour. Returns NULL after the last. NULL: settings name no files.
	 */
	const char *(*writes)(const void *state, u32 index, char place[GVMD_NAME_MAX]);
	/* Free what open() and step() allocated. NULL: nothing. */
	void (*close)(void *state);
};

/* Is @name one of @names? */
static inline bool gvmd_is_named(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* The container called @name that runs, or NULL. */
static inline struct gvmd_container *gvmd_find(struct gvmd_step *step, const char *name)
{
	for (u32 i = 0; i < step->container_count; i++)
		if (step->containers[i].running && !strcmp(step->containers[i].name, name))
			return &step->containers[i];
	return NULL;
}

/* Is container @index the first one of its GPU? For policies that decide for each GPU. */
static inline bool gvmd_is_first_of_gpu(const struct gvmd_step *step, u32 index)
{
	for (u32 i = 0; i < index; i++)
		if (step->containers[i].gpu == step->containers[index].gpu)
			return false;
	return true;
}

static inline bool gvmd_known(const struct gvmd_container *container, enum gvmd_metric metric)
{
	return container->known >> metric & 1;
}

/* A value, or @otherwise if it is not known. */
static inline u64 gvmd_value(const struct gvmd_container *container, enum gvmd_metric metric,
			     u64 otherwise)
{
	return gvmd_known(container, metric) ? container->value[metric] : otherwise;
}

/* Ask for a write of a text. Returns it, to set no_wait; the last one if there is no room. */
static inline struct gvmd_write *gvmd_write(struct gvmd_step *step,
					    const struct gvmd_container *container,
					    const char *file, const char *text)
{
	struct gvmd_write *write;

	if (step->write_count < GVMD_WRITES_MAX)
		step->write_count++;
	write = &step->writes[step->write_count - 1];
	write->container = (u32)(container - step->containers);
	snprintf(write->file, sizeof(write->file), "%s", file);
	snprintf(write->text, sizeof(write->text), "%s", text);
	write->no_wait = false;
	return write;
}

/* Ask for a write of a number; GVMD_NO_LIMIT is "max". */
static inline struct gvmd_write *gvmd_write_number(struct gvmd_step *step,
						   const struct gvmd_container *container,
						   const char *file, u64 number)
{
	char text[GVMD_TEXT_MAX] = "max";

	if (number != GVMD_NO_LIMIT)
		snprintf(text, sizeof(text), "%llu", number);
	return gvmd_write(step, container, file, text);
}

/* The end of a step that failed: "return gvmd_fail(step, -EINVAL, "...")". */
__attribute__((format(printf, 3, 4))) static inline int gvmd_fail(struct gvmd_step *step,
								  int status, const char *fmt,
								  ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(step->why, sizeof(step->why), fmt, args);
	va_end(args);
	return status;
}

#endif
