// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The shim's thread. It sleeps until something is launched, allocated, written to a control file,
 * or asked for by a process that opens exported memory. While launches are pending it looks every
 * GVM_SHIM_PERIOD which have ended; it never spins. A look asks the driver about each stream, and
 * may keep a launch waiting there. With many streams a look takes long, and is made less often.
 *
 * While the process is frozen (freeze.c) it looks at its control files alone.
 *
 * If the application closes the descriptor that wakes it, there is nothing to wait for any
 * more: the thread ends, or sleeps until the process ends.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "shim.h"

/*
 * Looks at streams, and writing of control files, each take 0.5 % of a processor at most: after
 * one is a pause of this many times what it took. On an H200 looks that were 2 ms apart took 2 %
 * to 4 %, and writing the files at each end of work 1.3 % (docs/shim.md).
 */
#define PAUSE_SHARE 200

/* The longest pauses. What takes more than a 200th of one takes more than 0.5 %. */
#define LOOK_MAX_NS    (50 * SHIM_MS)
#define PUBLISH_MAX_NS (100 * SHIM_MS)

/* The shortest pause between two writings of the control files. */
#define PUBLISH_NS (10 * SHIM_MS)

static pthread_t thread;
static _Atomic bool started;
static _Atomic bool stopping;
static struct shim_descriptor wake_fd = SHIM_NO_DESCRIPTOR;
static pthread_mutex_t worker_lock = PTHREAD_MUTEX_INITIALIZER;
/* The thread holds it but where it waits for work: it may be in a call of the driver. */
static pthread_mutex_t busy_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool is_worker;
/* Forks that this thread has begun: a signal handler, or a library's handler, may fork amid one. */
static _Thread_local unsigned int forks;
static _Thread_local bool stopped_for_fork; /* the first of them holds busy_lock */

/* The number of the descriptor that wakes the thread; -1: it is lost, which is said once. */
static int find_wake_fd(void)
{
	int fd = shim_lost() ? -1 : descriptor_of(&wake_fd);

	if (fd < 0 && !shim_set_lost(true))
		shim_warn("the program has closed the shim's descriptors: its launches are no "
			  "more counted, and its control files not read");
	return fd;
}

/* What this thread has computed so far. */
static u64 own_time_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (u64)time.tv_sec * 1000000000ull + (u64)time.tv_nsec;
}

/* How long to pause after what took @took_ns of this thread. */
static u64 pause_after(u64 took_ns, u64 least_ns, u64 most_ns)
{
	u64 pause_ns = took_ns * PAUSE_SHARE;

	if (pause_ns > most_ns)
		pause_ns = most_ns;
	return pause_ns > least_ns ? pause_ns : least_ns;
}

/* When the control files may be written again, by the monotonic clock. */
static u64 publish_at_ns;

/* Write the control files if their pause is over. 0, or how long it still lasts. */
static u64 publish_if_due(void)
{
	u64 now = shim_now_ns();
	u64 began_ns = own_time_ns();

	if (now < publish_at_ns)
		return publish_at_ns - now;
	report_publish(false);
	publish_at_ns = shim_now_ns() +
			pause_after(own_time_ns() - began_ns, PUBLISH_NS, PUBLISH_MAX_NS);
	return 0;
}

/* The earlier of two timeouts; 0 is none. */
static u64 earlier(u64 a_ns, u64 b_ns)
{
	return a_ns && (!b_ns || a_ns < b_ns) ? a_ns : b_ns;
}

/*
 * Wait for a kick, for a write to a control file, for a process that asks for exported memory, or
 * for @timeout_ns; 0: without end.
 */
static void wait_for_work(u64 timeout_ns)
{
	struct timespec timeout = { (time_t)(timeout_ns / 1000000000ull),
				    (long)(timeout_ns % 1000000000ull) };
	struct pollfd fds[3] = { { .fd = find_wake_fd(), .events = POLLIN },
				 { .fd = report_watch_fd(), .events = POLLIN },
				 { .fd = freeze_is_on() ? -1 : passing_fd(),
				   .events = POLLIN } };
	u64 count;
	int ready;

	if (shim_lost())
		return;
	pthread_mutex_unlock(&busy_lock);
	ready = ppoll(fds, 3, timeout_ns ? &timeout : NULL, NULL);
	pthread_mutex_lock(&busy_lock);
	if (ready <= 0)
		return;
	/* Closed meanwhile, it has another file's number now. */
	if (find_wake_fd() < 0)
		return;
	if (fds[0].revents && read(fds[0].fd, &count, sizeof(count)) < 0)
		return; /* another look does no harm */
	if (fds[1].revents && report_watch_fd() >= 0)
		report_take_writes();
	if (fds[2].revents)
		passing_serve();
}

/*
 * Look at the GPU: what has ended, and what is to be moved or freed. Returns how long to pause
 * until the next look; 0: nothing is pending.
 */
static u64 look(const struct shim_real *real)
{
	u64 began_ns = own_time_ns();
	u64 pending = streams_poll(real);
	u64 look_ns = own_time_ns() - began_ns;

	if (cold_due())
		cold_apply(real);
	pinned_drop_late(real);
	if (!pending) {
		/*
		 * A launch or an allocation after this wakes us up: we see it, or it sees us
		 * idle.
		 */
		shim_set_idle(true);
		pending = streams_poll(real);
	}
	return pending ? pause_after(look_ns, shim_settings.period_ns, LOOK_MAX_NS) : 0;
}

static void *work(void *unused)
{
	const struct shim_real *real = shim_real();

	is_worker = true;
	pthread_mutex_lock(&busy_lock);
	streams_relax(real); /* for ever */
	while (!stopping && !shim_lost()) {
		u64 pause_ns, unwritten_ns;

		if (turns_due())
			turns_apply();
		/* Frozen, nothing ends, and a call of libcuda's may wait for the thaw: freeze.c. */
		pause_ns = freeze_is_on() ? PUBLISH_NS : look(real);
		unwritten_ns = publish_if_due();
		wait_for_work(pause_ns ? pause_ns : earlier(cold_round_ns(), unwritten_ns));
		shim_set_idle(false);
	}
	/* No thread reads compute.freeze from here on, and the end of libcuda waits for the GPU. */
	if (freeze_is_on())
		(void)freeze_set(false);
	streams_poll(real); /* an event after the last launches, and a look at it */
	streams_poll(real);
	pthread_mutex_unlock(&busy_lock);
	return unused;
}

/* Before libcuda's own end: exit handlers run in reverse order. */
static void at_exit(void)
{
	if (!shim_is_own_process())
		return;
	shim_close_begins();
	worker_stop();
	report_launches(); /* gvm.ko does not take them once libcuda has closed its files */
}

static void start_locked(void)
{
	static bool registered;
	sigset_t all, old;

	descriptor_set(&wake_fd, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (wake_fd.fd < 0)
		return;
	stopping = false;
	shim_set_idle(false);
	/* Signals are the application's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	started = !pthread_create(&thread, NULL, work, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!started) {
		shim_warn("no thread: launches are counted, and never end");
		descriptor_close(&wake_fd);
		return;
	}
	pthread_setname_np(thread, "gvm-shim");
	if (!registered)
		registered = !atexit(at_exit);
}

static void wake_up(void)
{
	u64 one = 1;
	int fd;

	if (!started && shim_real()) {
		pthread_mutex_lock(&worker_lock);
		if (!started)
			start_locked();
		pthread_mutex_unlock(&worker_lock);
	}
	fd = started ? find_wake_fd() : -1;
	if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
		return; /* its counter is full: it will wake up */
}

void worker_init(void)
{
	shim_set_waker(wake_up);
}

/*
 * Half a second from now. The thread is in a call of the driver at most. If that waits for the
 * GPU, nobody waits for the thread: this is enough for every other call.
 */
static struct timespec call_limit(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 500000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	return until;
}

/* Also where no thread has been started yet: another thread may be about to. */
void worker_before_fork(void)
{
	struct timespec until = call_limit();

	if (!forks++ && !is_worker)
		stopped_for_fork = !pthread_mutex_timedlock(&busy_lock, &until);
}

/*
 * The fork counts as begun until the lock is free: a signal handler that forks meanwhile leaves it
 * alone. In the child of a fork within a fork the outer one ends, too, and none is begun.
 */
void worker_after_fork(void)
{
	if (forks == 1 && stopped_for_fork) {
		stopped_for_fork = false;
		pthread_mutex_unlock(&busy_lock);
	}
	if (forks)
		forks--;
}

/* Its descriptor stays open: a thread that still launches may be about to write to it. */
void worker_stop(void)
{
	struct timespec until = call_limit();
	u64 one = 1;

	pthread_mutex_lock(&worker_lock);
	if (started && !shim_lost() && !is_worker) {
		int fd = find_wake_fd();

		stopping = true;
		if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
			shim_log("the shim's thread cannot be woken");
		if (fd >= 0 && !pthread_timedjoin_np(thread, NULL, &until))
			started = false;
	}
	pthread_mutex_unlock(&worker_lock);
}

void worker_reset(void)
{
	pthread_mutex_init(&worker_lock, NULL);
	pthread_mutex_init(&busy_lock, NULL);
	is_worker = false;
	forks = 0;
	stopped_for_fork = false;
	descriptor_close(&wake_fd);
	shim_set_lost(false);
	started = false;
	shim_set_idle(true);
	stopping = false;
	publish_at_ns = 0;
}
