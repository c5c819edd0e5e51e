// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * /dev/gvm (gvm_ioctl.h). Pressure descriptors: which processes get one, what it reads, and
 * that it may stay open when its container, its GPU or the module should go. Launch counts:
 * gcgroup.stat shows them, and none stays pending once their open file is closed. gvm.ko and
 * gvm_selftest.ko are loaded, and no process is attached. A lower limit of the calling process,
 * init, makes the events.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gvm_ioctl.h"

#define MIB	1048576ull
#define WAITERS 64000

static int dev; /* /dev/gvm */

/* The kernel begins to read, and only then finds that it cannot write here. */
static void *no_access;

/* Returns a descriptor, or -errno. */
static int listen_to(unsigned int gpu, unsigned int flags)
{
	struct gvm_pressure_request request = { .gpu = gpu, .flags = flags };
	int fd = ioctl(dev, GVM_IOCTL_PRESSURE_OPEN, &request);

	return fd < 0 ? -errno : fd;
}

static void expect_event(int fd, unsigned long long bytes, unsigned long long sequence)
{
	struct gvm_pressure_record got = { 0 };
	ssize_t length = read(fd, &got, sizeof(got));

	guest_check(length == sizeof(got) && got.target_bytes == bytes &&
			    got.sequence == sequence,
		    "event %llu of %llu bytes, expected %llu of %llu", got.sequence,
		    got.target_bytes, sequence, bytes);
}

static void expect_nothing(int fd)
{
	struct gvm_pressure_record got;

	guest_check(read(fd, &got, sizeof(got)) < 0 && errno == EAGAIN, "no event: EAGAIN");
}

static short poll_now(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	return poll(&pollfd, 1, 0) < 0 ? -1 : pollfd.revents;
}

static void expect_end(int fd)
{
	struct gvm_pressure_record got;

	guest_check(poll_now(fd) == (POLLIN | POLLHUP), "the end: POLLIN and POLLHUP");
	guest_check(read(fd, &got, sizeof(got)) == 0 && read(fd, &got, sizeof(got)) == 0,
		    "the end: reads 0, again and again");
}

/* Make an event: the limit is one chunk of 2 MB lower than usage. Then restore both. */
static void make_event(void)
{
	guest_write("gvm_selftest/charge", "1 2");
	guest_write("gvm/1/0/gmem.limit.high", "2M");
	guest_write("gvm/1/0/gmem.limit.high", "max");
	guest_write("gvm_selftest/uncharge", "1 1");
}

/* F1, F17, D12 */
static void test_requests(void)
{
	struct stat status = { 0 };

	guest_check(stat("/dev/gvm", &status) == 0 && S_ISCHR(status.st_mode) &&
			    (status.st_mode & 07777) == 0666,
		    "/dev/gvm may be opened by all users");
	guest_check(ioctl(dev, GVM_IOCTL_PRESSURE_OPEN + 1, 0) < 0 && errno == ENOTTY,
		    "another ioctl: ENOTTY");
	guest_check(ioctl(dev, GVM_IOCTL_PRESSURE_OPEN, 0) < 0 && errno == EFAULT,
		    "no request: EFAULT");
	guest_check(listen_to(7, 0) == -ENODEV, "no such GPU: ENODEV");
	guest_check(listen_to(0, 0) == -ESRCH, "not attached: ESRCH");
	guest_check(listen_to(0, O_APPEND) == -EINVAL, "another flag: EINVAL");
}

static void test_events(void)
{
	int fd = listen_to(0, O_CLOEXEC | O_NONBLOCK);
	char small[15], trace[GUEST_TEXT_MAX];

	guest_check(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC &&
			    (fcntl(fd, F_GETFL) & (O_NONBLOCK | O_ACCMODE)) == O_NONBLOCK,
		    "a descriptor to read, with its flags");
	guest_check(poll_now(fd) == 0, "nothing to poll");
	expect_nothing(fd);
	guest_expect_write("gvm_selftest/charge", "1 4", 0);
	guest_expect_write("gvm/1/0/gmem.limit.high", "2M", 0);
	guest_expect_write("gvm_selftest/uncharge", "1 1", 0);
	guest_expect_write("gvm/1/0/gmem.limit.high", "max", 0);
	guest_check(poll_now(fd) == POLLIN, "an event: POLLIN");
	guest_check(read(fd, small, sizeof(small)) < 0 && errno == EINVAL,
		    "less room than an event needs: EINVAL");
	guest_check(read(fd, GUEST_NO_MEMORY, 16) < 0 && errno == EFAULT,
		    "no room at all: EFAULT");
	guest_check(read(fd, no_access, 16) < 0 && errno == EFAULT,
		    "room that may not be written: EFAULT");
	guest_check(poll_now(fd) == POLLIN, "the event is still there");
	expect_event(fd, 6 * MIB, 1);
	guest_expect_write("tracing/events/gvm/gvm_pressure/enable", "1", 0);
	make_event();
	make_event();
	guest_expect_write("tracing/events/gvm/gvm_pressure/enable", "0", 0);
	guest_check(guest_read("tracing/trace", trace, sizeof(trace)) == 0 &&
			    strstr(trace, "tgid=1 bytes=2097152 listeners=1"),
		    "the tracepoint gvm:gvm_pressure says who is told how much");
	expect_event(fd, 2 * MIB, 3); /* one is overwritten */
	expect_nothing(fd);
	guest_check(write(fd, small, 1) < 0 && errno == EBADF, "nothing to write");
	guest_check(lseek(fd, 0, SEEK_SET) < 0 && errno == ESPIPE, "nowhere to seek");
	close(fd);
}

/*
 * As many listeners as a container may have. They do not read, and the writer does not wait for
 * them.
 */
static void test_unread(void)
{
	int fds[4];

	for (int i = 0; i < 4; i++)
		fds[i] = listen_to(0, 0);
	guest_check(fds[3] >= 0, "four listeners");
	guest_check(listen_to(0, 0) == -ENOSPC, "a fifth: ENOSPC");
	for (int i = 0; i < 10; i++)
		make_event();
	close(fds[0]);
	fds[0] = listen_to(0, 0);
	guest_check(fds[0] >= 0, "one goes, another comes");
	make_event();
	expect_event(fds[0], 2 * MIB, 1);
	expect_event(fds[3], 2 * MIB, 11);
	for (int i = 0; i < 4; i++)
		close(fds[i]);
}

/*
 * 64,000 waiters on one listener, each a place in its queue. One event wakes all of them. The
 * port warns if the wake-ups are made under a spinlock, and the warning fails the boot.
 */
static void test_many_waiters(void)
{
	struct rlimit files = { .rlim_cur = WAITERS + 1000, .rlim_max = WAITERS + 1000 };
	struct epoll_event *events = calloc(WAITERS, sizeof(*events));
	int fd = listen_to(0, O_NONBLOCK), queue = epoll_create1(0);
	int added = 0, woken;

	guest_check(setrlimit(RLIMIT_NOFILE, &files) == 0, "descriptors for all waiters");
	for (int i = 0; i < WAITERS; i++) {
		struct epoll_event event = { .events = EPOLLIN };

		added += epoll_ctl(queue, EPOLL_CTL_ADD, dup(fd), &event) == 0;
	}
	guest_check(added == WAITERS && epoll_wait(queue, events, WAITERS, 0) == 0,
		    "%d waiters, none woken", added);
	make_event();
	woken = epoll_wait(queue, events, WAITERS, 0);
	guest_check(woken == WAITERS, "one event wakes %d", woken);
	expect_event(fd, 2 * MIB, 1);
	close(queue);
	free(events);
	close_range((unsigned int)queue + 1, ~0u, 0);
	close(fd);
}

/* A thread that waits in read(), and its result. */
struct reader {
	pthread_t thread;
	_Atomic pid_t tid;
	int fd;
	struct gvm_pressure_record got;
	ssize_t length;
	int error;
	_Atomic bool over;
};

static void *run_reader(void *data)
{
	struct reader *reader = data;

	atomic_store(&reader->tid, gettid());
	reader->length = read(reader->fd, &reader->got, sizeof(reader->got));
	reader->error = errno;
	return NULL;
}

/* Does the thread sleep in read()? */
static bool is_reading(const struct reader *reader)
{
	char path[64];
	long number = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", atomic_load(&reader->tid));
	file = fopen(path, "re");
	if (!file)
		return false;
	/* The number of its system call; "running" if it runs. */
	if (fscanf(file, "%ld", &number) != 1)
		number = -1;
	fclose(file);
	return number == SYS_read;
}

/* By the return the thread sleeps in read(), if the machine lets it run within a minute. */
static void start_reader(struct reader *reader, int fd)
{
	*reader = (struct reader){ .fd = fd, .length = -2 };
	pthread_create(&reader->thread, NULL, run_reader, reader);
	for (int i = 0; i < 60000 && !is_reading(reader); i++)
		usleep(1000);
}

/* A thread that reads to where it may not write, until it is over. */
static void *run_faulting_reader(void *data)
{
	struct reader *reader = data;

	while (!atomic_load(&reader->over))
		reader->length = read(reader->fd, no_access, sizeof(reader->got));
	return NULL;
}

/*
 * Of two readers one has no room for events. Whoever takes an event first,
 * the other one gets it.
 */
static void test_faulting_reader(void)
{
	int fd = listen_to(0, 0);
	struct reader faulting = { .fd = fd };
	struct reader reader;
	int got = 0;

	pthread_create(&faulting.thread, NULL, run_faulting_reader, &faulting);
	for (int i = 1; i <= 5; i++) {
		start_reader(&reader, fd);
		make_event();
		pthread_join(reader.thread, NULL);
		got += reader.length == 16 && reader.got.sequence == (unsigned int)i;
	}
	guest_check(got == 5, "5 events, of which a faulting reader keeps none: %d", got);
	atomic_store(&faulting.over, true);
	make_event();
	pthread_join(faulting.thread, NULL);
	guest_check(faulting.length == -1, "the faulting reader reads nothing");
	expect_event(fd, 2 * MIB, 6);
	close(fd);
}

/* The descriptor is closed under its reader, and the read goes on. */
static void test_close_under_reader(void)
{
	struct reader reader;
	int fd = listen_to(0, 0);

	start_reader(&reader, fd);
	close(fd);
	make_event();
	pthread_join(reader.thread, NULL);
	guest_check(reader.length == 16 && reader.got.sequence == 1,
		    "a reader outlives the descriptor");
}

static void no_action(int number)
{
	(void)number;
}

/* A signal ends a read, and a kill ends its process. */
static void test_interrupted(void)
{
	struct sigaction action = { .sa_handler = no_action };
	struct itimerval timer = { .it_value.tv_usec = 20000, .it_interval.tv_usec = 20000 };
	struct gvm_pressure_record got;
	int fd = listen_to(0, 0);
	int status = 0;
	pid_t child;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	guest_check(read(fd, &got, sizeof(got)) < 0 && errno == EINTR, "a signal: EINTR");
	timer = (struct itimerval){ 0 };
	setitimer(ITIMER_REAL, &timer, NULL);
	child = fork();
	if (child == 0) {
		while (read(fd, &got, sizeof(got)) < 0)
			;
		_exit(0);
	}
	usleep(20000);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	guest_check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "a killed reader ends");
	close(fd);
}

static int open_space(void)
{
	int fd = open(GUEST_DEBUGFS "/gvm_selftest/space", O_WRONLY | O_CLOEXEC);

	guest_check(fd >= 0 && write(fd, "1", 1) == 1, "init attaches");
	return fd;
}

/* The container's last process leaves: readers wake up, and the descriptor stays. */
static void test_container_goes(int space)
{
	struct reader reader;
	int fd = listen_to(0, 0);
	int late = listen_to(0, O_NONBLOCK);

	start_reader(&reader, fd);
	guest_write("gvm_selftest/charge", "1 2");
	guest_write("gvm/1/0/gmem.limit.high", "2M");
	guest_write("gvm_selftest/uncharge", "1 1");
	pthread_join(reader.thread, NULL);
	start_reader(&reader, fd);
	close(space);
	pthread_join(reader.thread, NULL);
	guest_check(reader.length == 0, "a waiting reader reads the end: %zd", reader.length);
	guest_check(poll_now(late) == (POLLIN | POLLHUP), "an event before the end");
	expect_event(late, 2 * MIB, 1);
	expect_end(late);
	guest_expect_read("gvm/devices", "0 selftest chunks 16 containers 1\n");
	space = open_space();
	expect_end(fd); /* a new container of the same tgid */
	close(space);
	close(fd);
	close(late);
	guest_expect_read("gvm/devices", "0 selftest chunks 16 containers 0\n");
}

/*
 * D11: the GPU goes under a reader and under epoll. The open descriptor holds nothing of the
 * GPU.
 */
static void test_gpu_goes(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct reader reader;
	int fd;

	guest_expect_write("gvm_selftest/second", "1", 0);
	guest_expect_write("gvm/attach", "1 1", 0);
	fd = listen_to(1, 0);
	guest_check(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll takes it");
	start_reader(&reader, fd);
	guest_expect_write("gvm_selftest/second", "0", 0);
	pthread_join(reader.thread, NULL);
	guest_check(reader.length == 0, "a waiting reader reads the end");
	guest_check(epoll_wait(epoll, &event, 1, 0) == 1 &&
			    event.events == (EPOLLIN | EPOLLHUP),
		    "epoll tells the end");
	expect_end(fd);
	guest_expect_unload("gvm_selftest", 0);
	close(dev);
	guest_expect_unload("gvm", EAGAIN); /* the descriptor keeps it */
	expect_end(fd);
	close(fd);
	close(epoll);
	dev = open("/dev/gvm", O_RDONLY | O_CLOEXEC);
	guest_expect_unload("gvm", EAGAIN); /* the open device keeps it */
	guest_expect_load("gvm_selftest", 0);
}

/* Report launches through an open file of /dev/gvm. Returns 0 or -errno. */
static int report_launches(int fd, unsigned int gpu, unsigned long long submitted,
			   unsigned long long ended)
{
	struct gvm_launch_report report = { .gpu = gpu,
					    .submitted = submitted,
					    .ended = ended };

	return ioctl(fd, GVM_IOCTL_LAUNCHES, &report) ? -errno : 0;
}

static void expect_launches(unsigned int submitted, unsigned int ended, unsigned int pending)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "nr_submitted_kernels: %u\nnr_ended_kernels: %u\nnr_pending_kernels: %u\n",
		 submitted, ended, pending);
	guest_expect_read("gvm/1/0/gcgroup.stat", text);
}

/*
 * A member of init's container. It reports launches that do not end, and lives until it is
 * killed.
 */
static void run_launcher(int report)
{
	int space = open(GUEST_DEBUGFS "/gvm_selftest/space", O_WRONLY | O_CLOEXEC);
	int fd = open("/dev/gvm", O_RDONLY | O_CLOEXEC);
	bool ok = space >= 0 && fd >= 0 && write(space, "1", 1) == 1 &&
		  report_launches(fd, 0, 50, 8) == 0;

	if (write(report, ok ? "y" : "n", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* SIGKILL with launches pending: they count as ended when waitpid() returns. */
static void test_launcher_is_killed(void)
{
	int reports[2];
	char report = 'n';
	pid_t child;

	guest_check(pipe2(reports, O_CLOEXEC) == 0, "a pipe");
	child = fork();
	if (child == 0)
		run_launcher(reports[1]);
	guest_check(read(reports[0], &report, 1) == 1 && report == 'y',
		    "a child reports launches");
	expect_launches(157, 115, 42);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	expect_launches(157, 157, 0);
	close(reports[0]);
	close(reports[1]);
}

/*
 * Regression: a process left a container that others stayed in, and came back in another one.
 * Its open file went on to report for the old one.
 */
static void test_launcher_changes_container(int space)
{
	int reports[2];
	char report = 'n';
	pid_t child;

	guest_check(report_launches(dev, 0, 4, 1) == 0, "launches in a container");
	guest_check(pipe2(reports, O_CLOEXEC) == 0, "a pipe");
	child = fork();
	if (child == 0) {
		close(space);
		run_launcher(reports[1]);
	}
	guest_check(read(reports[0], &report, 1) == 1 && report == 'y',
		    "a child is in it, too");
	close(space);
	space = open_space();
	expect_launches(0, 0, 0);
	guest_check(report_launches(dev, 0, 5, 2) == 0, "the process is in another one");
	expect_launches(5, 2, 3);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(space);
	close(reports[0]);
	close(reports[1]);
}

/* Two open files of one process. Each has its own counts. */
static void test_launches(void)
{
	struct gvm_launch_report later = { .reserved = 1 };
	int fd = open("/dev/gvm", O_RDONLY | O_CLOEXEC);
	int space;

	guest_check(report_launches(fd, 0, 1, 0) == -ESRCH, "not attached: ESRCH");
	guest_check(report_launches(fd, 7, 1, 0) == -ENODEV, "no such GPU: ENODEV");
	guest_check(ioctl(fd, GVM_IOCTL_LAUNCHES, GUEST_NO_MEMORY) < 0 && errno == EFAULT,
		    "no report: EFAULT");
	guest_check(ioctl(fd, GVM_IOCTL_LAUNCHES, &later) < 0 && errno == EINVAL,
		    "a word that has no meaning yet: EINVAL");
	space = open_space();
	expect_launches(0, 0, 0);
	guest_check(report_launches(fd, 0, 60, 20) == 0, "launches are reported");
	guest_check(report_launches(fd, 0, 40, 30) == 0, "and again");
	expect_launches(100, 50, 50);
	guest_check(report_launches(fd, 1, 1, 0) == -EBUSY, "another GPU: EBUSY");
	guest_check(report_launches(dev, 0, 7, 0) == 0, "by a second open file");
	expect_launches(107, 50, 57);
	close(fd);
	expect_launches(107, 100, 7);
	guest_check(report_launches(dev, 0, 0, 7) == 0, "the second goes on");
	expect_launches(107, 107, 0);
	test_launcher_is_killed();
	close(space);
	guest_expect_read("gvm/devices", "0 selftest chunks 16 containers 1\n");
	/* Regression: the file went on to report for a container that no process was in. */
	guest_check(report_launches(dev, 0, 1, 0) == -ESRCH, "its process has left: ESRCH");
	guest_expect_read("gvm/devices", "0 selftest chunks 16 containers 0\n");
	space = open_space();
	guest_check(report_launches(dev, 0, 5, 2) == 0, "it is back, in another container");
	expect_launches(5, 2, 3);
	close(space);
	guest_expect_read("gvm/devices", "0 selftest chunks 16 containers 1\n");
	space = open_space();
	test_launcher_changes_container(space);
	guest_expect_read("gvm/devices", "0 selftest chunks 16 containers 1\n");
	close(dev); /* its reports hold the container */
	guest_expect_read("gvm/devices", "0 selftest chunks 16 containers 0\n");
	dev = open("/dev/gvm", O_RDONLY | O_CLOEXEC);
	guest_check(dev >= 0, "open /dev/gvm again");
}

/*
 * The GPU goes under an open file with launches pending. The file stays, and can report for
 * another GPU.
 */
static void test_gpu_goes_under_launches(void)
{
	guest_expect_write("gvm_selftest/second", "1", 0);
	guest_expect_write("gvm/attach", "1 1", 0);
	guest_check(report_launches(dev, 1, 9, 0) == 0, "launches on a second GPU");
	guest_expect_write("gvm_selftest/second", "0", 0);
	guest_check(report_launches(dev, 1, 9, 0) == -ENODEV, "the GPU has gone: ENODEV");
	guest_expect_write("gvm/attach", "1 0", 0);
	guest_check(report_launches(dev, 0, 3, 0) == 0, "the file reports for another GPU");
	expect_launches(3, 0, 3);
	close(dev);
	expect_launches(3, 3, 0);
	guest_expect_write("gvm/detach", "1 0", 0);
	dev = open("/dev/gvm", O_RDONLY | O_CLOEXEC);
	guest_check(dev >= 0, "open /dev/gvm again");
}

void guest_test_pressure(void)
{
	int space;

	no_access = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	dev = open("/dev/gvm", O_RDONLY | O_CLOEXEC);
	guest_check(dev >= 0 && no_access != MAP_FAILED, "open /dev/gvm");
	test_requests();
	space = open_space();
	test_events();
	test_unread();
	test_many_waiters();
	test_faulting_reader();
	test_close_under_reader();
	test_interrupted();
	test_container_goes(space);
	test_launches();
	test_gpu_goes_under_launches();
	test_gpu_goes();
	close(dev);
	guest_expect_read("gvm_selftest/check", "ok\n");
}
