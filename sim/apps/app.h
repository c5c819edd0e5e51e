/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Applications: actors that submit work to their GPU context, touch declared memory, and log
 * what their users saw. Nothing here computes a latency: latencies happen.
 */
#ifndef SIM_APPS_APP_H
#define SIM_APPS_APP_H

#include "apps/report.h"
#include "config/config.h"
#include "config/schema.h"
#include "cuda/cuda.h"

struct sim_error;

/* What an application is given. Borrowed for its life. */
struct app_env {
	const struct config *config;
	const struct cfg_container *container;
	struct cuda_context *cuda; /* of its process, which has started */
	void *prepared;		   /* what its type's prepare() made, or NULL */
	struct app_log *log;
	/*
	 * From here on the container serves its users after a restart, in ns; 0: no event has
	 * restarted it.
	 */
	u64 reopen_ns;
	struct list_head *all; /* app_env.node of the machine's containers; NULL: none */
	struct list_head node;
	void *shared;	   /* what its type shares with containers that belong to it, or NULL */
	u64 end_ns;	   /* the run ended then; 0: it goes on */
	bool stopping;	   /* an event stops it: the interrupt does not end the run */
	bool listens;	   /* it is to listen for pressure events of its container */
	bool can_prefetch; /* the driver prefetches memory to the host on request */
};

/*
 * Open a listener for pressure events of the container, if the application is to listen.
 * Returns 0 or -ENOMEM. gvm_listener_close() is due, and right for one that was not opened.
 */
int app_listen(const struct app_env *env, struct gvm_listener *listener);

/*
 * Blocking: a closed loop waits before it begins, up to the scenario's jitter.start, by the
 * seed. Returns 0 or -EINTR.
 */
int app_start_late(const struct app_env *env);

/* From when on the container has users: its start, or the end of its boot after a restart. */
static inline u64 app_open_ns(const struct app_env *env)
{
	return env->reopen_ns ? env->reopen_ns : env->container->start;
}

/*
 * Is the run over, and some time has passed since? An application ends late where it waits for
 * something that nothing interrupts. What happens then counts nowhere: docs/architecture.md,
 * "The end of a run", has the rules for applications.
 */
static inline bool app_is_late(const struct app_env *env)
{
	return env->end_ns && eng_now() > env->end_ns;
}

/* The present date, but not after the end of the run: a date for a log, by the same rules. */
static inline u64 app_now_ns(const struct app_env *env)
{
	return app_is_late(env) ? env->end_ns : eng_now();
}

/*
 * Blocking: allocate memory as app.memory says: cuda_malloc_managed() or cuda_malloc(), and
 * returns as these do. With @on_host it holds weights, and gets their advice.
 */
int app_malloc(const struct app_env *env, u64 bytes, bool on_host,
	       struct cuda_memory *ret_memory);

/* Blocking: weights get the advice that app.read_mostly asks for. */
void app_advise_weights(const struct app_env *env, const struct cuda_memory *memory);

/*
 * Why the context of an application died, or is about to end. Called while its process has not
 * exited.
 */
enum app_reason app_death(const struct app_env *env);

/*
 * Log that one begins that was asked for at @arrival_ns: app_log_begin(). Returns -EINTR for an
 * application that is to end, though its last wait was not interrupted.
 */
int app_begin(const struct app_env *env, u64 arrival_ns, struct app_record **ret_record);

/*
 * Log that a round of a closed loop, an image, or what the application calls it, has ended now
 * with @status: 0, -EIO, or -EINTR. One that the end of the run interrupts stays as it is, and
 * so does one that ends late.
 */
void app_log_end(const struct app_env *env, struct app_record *record, int status);

/* Blocking: host work of @ns on the reference host. Returns 0 or -EINTR. */
int app_host_work(const struct app_env *env, u64 ns);

/*
 * In prepare: the application's @key has cycles of SMs. Returns 0 if its GPU says how many SMs
 * it has and their clock, else -SIM_EXIT_USER.
 */
int app_check_cycles(const struct app_env *env, const char *key, struct sim_error *err);

/*
 * In prepare: the application's @key prefetches its memory to the host. Returns 0 if that
 * memory is managed and the driver prefetches, else -SIM_EXIT_USER. @without is the value of
 * the key that prefetches nothing.
 */
int app_check_prefetch(const struct app_env *env, const char *key, const char *without,
		       struct sim_error *err);

/*
 * An application type. All that the rest of the program knows of it is here: a new one is a
 * file, and a line in list.h.
 */
struct sim_app {
	struct cfg_keys keys;		 /* its name and its keys of a scenario */
	const struct app_report *report; /* what results say of it; NULL: nothing */
	/*
	 * Before the simulation: check what needs the whole machine, read files. The process
	 * has not started yet. Returns 0 or a negative enum sim_exit. NULL: nothing to prepare.
	 */
	int (*prepare)(struct app_env *env, struct sim_error *err);
	/* Free what prepare made, also after it failed. NULL: nothing. */
	void (*discard)(struct app_env *env);
	/*
	 * How long before the container's start its process starts, ns. NULL: it starts then.
	 */
	u64 (*ahead_ns)(const struct cfg_container *container);
	/*
	 * After prepare: the work that comes within the run takes at least so much GPU time,
	 * ns. Sets *ret_within_ns to the time in which it comes. NULL, or 0: such a bound is
	 * not known, as for a closed loop.
	 */
	u64 (*least_gpu_ns)(const struct app_env *env, u64 *ret_within_ns);
	/*
	 * After prepare: a note on a setting that is allowed and seldom meant. Notes are
	 * numbered by @index, from 0. @text, of @size bytes, gets the note, such as
	 * "app.max_model_len: 512 tokens are less than ...". Returns false if there is no note
	 * of that number. NULL: the application has no notes.
	 */
	bool (*remark)(const struct app_env *env, u32 index, char *text, size_t size);
	/*
	 * After the run: a note on what a user may not expect of its results, as in remark(), or
	 * false. NULL: the application has none.
	 */
	bool (*remark_after)(const struct app_env *env, char *text, size_t size);
	/*
	 * Blocking: run the application in the calling actor until it is done, its context dies
	 * or it is interrupted. Returns 0, -EIO when the context died, -ENOMEM, or -ELOOP when
	 * an iteration of a closed loop took no time: the run would never end. On return
	 * its own actors have ended. The caller destroys the context, and ends the process if
	 * it has not ended itself.
	 */
	int (*run)(const struct app_env *env);
	/*
	 * The run ends now, and events have stopped or restarted the container: log the
	 * requests that came since its last process ended. Returns 0 or -ENOMEM. NULL: a
	 * container that does not run gets no requests.
	 */
	int (*log_absence)(const struct app_env *env);
};

#define SIM_APP(name_) extern const struct sim_app name_##_app;
#include "apps/list.h"
#undef SIM_APP

/* The keys of all of them, NULL at the end: what a scenario can name as app.type. */
extern const struct cfg_keys *const sim_app_types[];

/* The application type with these keys. */
static inline const struct sim_app *sim_app_of(const struct cfg_keys *keys)
{
	return container_of(keys, struct sim_app, keys);
}

#endif
