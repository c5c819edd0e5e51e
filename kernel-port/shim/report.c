// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What the shim hands on: the control files of gvm.ko, as files in <directory>/<pid>/<gpu>/,
 * which gvmcollect and gvmctl read; and the launches to gvm.ko itself where /dev/gvm is.
 *
 * A file is replaced at once (rename), so a reader never sees half of it. A write to
 * gmem.limit.high, compute.timeslice, compute.priority or compute.freeze changes this process,
 * as with gvm.ko.
 *
 * Such a write may come while we replace the file, from a writer that has opened the old one.
 * So the old one stays as ".was.NAME", and is looked at, too:
 *
 *     writer      open ........................ write "9G", close
 *     we                 link .was, rename                        NAME holds our text: .was has the write
 *
 * If both have a write, the later one holds. While ".was.NAME" is empty, its writer is between
 * open and write, and NAME is not replaced again.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "gvm_ioctl.h"
#include "shim.h"

#define FILE_LIMIT     "gmem.limit.high"
#define FILE_TIMESLICE "compute.timeslice"
#define FILE_PRIORITY  "compute.priority"
#define FILE_FREEZE    "compute.freeze"

#define TEXT_MAX       FOLDER_TEXT_MAX
#define WRITER_WAIT_MS 200

enum report_file {
	CURRENT,
	PEAK,
	SWAP,
	STAT,
	EVENTS,
	LIMIT,
	TIMESLICE,
	PRIORITY,
	FREEZE,
	FILES
};

static const char *const names[FILES] = {
	"gmem.current", "gmem.peak",	"gmem.swap.current", "gcgroup.stat", "gmem.events",
	FILE_LIMIT,	FILE_TIMESLICE, FILE_PRIORITY,	     FILE_FREEZE,
};

struct report_device {
	_Atomic bool known;	    /* number and gvm are set */
	int number;		    /* among the host's GPUs */
	struct shim_descriptor gvm; /* /dev/gvm; none: it is not there */
	size_t total;		    /* its memory; 0: libcuda was not asked yet */
	bool ready;		    /* its folder is made, and watch is set */
	int watch;		    /* of inotify */
	u64 told_launched, told_ended;
	char text[FILES][TEXT_MAX];  /* what the files hold, as far as we have looked */
	char was[FILES][TEXT_MAX];   /* what the ones before them hold */
	bool again[FILES];	     /* to be written, also if the text is the same */
	struct timespec date[FILES]; /* when we wrote it: a write of the same text changes it */
};

static struct report_device devices[SHIM_DEVICES];
static bool opened;
static _Atomic bool publishing;
static bool failed;
static pthread_mutex_t know_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shim_descriptor watch_fd = SHIM_NO_DESCRIPTOR;

/* As where fs.inotify.max_user_instances or max_user_watches is reached. */
static void tell_unwatched(void)
{
	shim_warn("%s: %s: writes to control files are not seen", folder_path(),
		  strerror(errno));
}

static bool open_all(void)
{
	const char *wrong;

	if (opened || failed)
		return opened;
	wrong = folder_make();
	if (wrong) {
		shim_warn("%s: %s: there are no control files", folder_path(), wrong);
		failed = true;
		return false;
	}
	descriptor_set(&watch_fd, inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
	if (watch_fd.fd < 0)
		tell_unwatched();
	opened = true;
	return true;
}

static void path_of(const struct report_device *device, const char *name, char *path,
		    size_t size)
{
	snprintf(path, size, "%s/%d/%s", folder_path(), device->number, name);
}

static void open_device(int index)
{
	struct report_device *device = &devices[index];
	char path[SHIM_PATH_MAX + 64];

	path_of(device, "", path, sizeof(path));
	mkdir(path, 0755);
	device->watch =
		inotify_add_watch(descriptor_of(&watch_fd), path, IN_CLOSE_WRITE | IN_ONLYDIR);
	if (device->watch < 0 && watch_fd.fd >= 0)
		tell_unwatched();
	device->ready = true;
}

static void was_path_of(const struct report_device *device, enum report_file file, char *path,
			size_t size)
{
	snprintf(path, size, "%s/%d/" FOLDER_WAS "%s", folder_path(), device->number,
		 names[file]);
}

/*
 * Must the file before this one stay? A writer that has emptied it is waited for, but not for
 * ever. A write that was not taken has an event, after which this file is written.
 */
static bool old_is_needed(struct report_device *device, enum report_file file)
{
	const struct timespec pause = { 0, 1000000 };
	char was_path[SHIM_PATH_MAX + 64];
	char text[TEXT_MAX];

	if (file < LIMIT)
		return false;
	was_path_of(device, file, was_path, sizeof(was_path));
	for (int i = 0; i < WRITER_WAIT_MS; i++) {
		if (!folder_read(was_path, text, NULL) || !strcmp(text, device->was[file]))
			return false;
		if (*text)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* Of a setting the old file stays, for a writer that has it open. */
static void keep_old(struct report_device *device, enum report_file file, const char *path)
{
	char was_path[SHIM_PATH_MAX + 64];

	if (file < LIMIT)
		return;
	was_path_of(device, file, was_path, sizeof(was_path));
	unlink(was_path);
	if (!link(path, was_path))
		strcpy(device->was[file], device->text[file]);
}

/* Write a file, if its text is to change. */
static void put(struct report_device *device, enum report_file file, const char *text)
{
	char path[SHIM_PATH_MAX + 64];
	char new_path[SHIM_PATH_MAX + 64];
	struct stat info;
	bool written;
	int fd;

	if (!device->again[file] && !strcmp(device->text[file], text))
		return;
	if (old_is_needed(device, file)) {
		device->again[file] = true;
		return;
	}
	snprintf(new_path, sizeof(new_path), "%s/" FOLDER_NEW, folder_path());
	path_of(device, names[file], path, sizeof(path));
	fd = open(new_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	written = write(fd, text, strlen(text)) == (ssize_t)strlen(text) && !fstat(fd, &info);
	close(fd);
	if (!written)
		return;
	keep_old(device, file, path);
	if (rename(new_path, path))
		return;
	device->date[file] = info.st_mtim;
	strcpy(device->text[file], text);
	device->again[file] = false;
}

/* A value was refused, and none is in force: its file goes. */
static void drop(struct report_device *device, enum report_file file)
{
	char path[SHIM_PATH_MAX + 64];

	if (!device->again[file])
		return;
	path_of(device, names[file], path, sizeof(path));
	unlink(path);
	*device->text[file] = '\0';
	device->again[file] = false;
}

/* By the thread that first uses the GPU: a signal handler may be the next to tell of launches. */
void report_know(int index)
{
	struct report_device *device = &devices[index];

	pthread_mutex_lock(&know_lock);
	if (!device->known) {
		device->number = number_of(index);
		descriptor_set(&device->gvm, open("/dev/gvm", O_RDWR | O_CLOEXEC));
		device->known = true;
	}
	pthread_mutex_unlock(&know_lock);
}

/*
 * gvm.ko counts by open file. It answers ESRCH as long as the process has no managed memory
 * there: it is asked again at the next report.
 */
static void tell_module(struct report_device *device, u64 launched, u64 ended)
{
	struct gvm_launch_report report = {
		.gpu = (u32)device->number,
		.submitted = launched - device->told_launched,
		.ended = ended - device->told_ended,
	};

	if ((!report.submitted && !report.ended) || descriptor_of(&device->gvm) < 0)
		return;
	if (syscall(SYS_ioctl, device->gvm.fd, GVM_IOCTL_LAUNCHES, &report))
		return;
	device->told_launched = launched;
	device->told_ended = ended;
}

/* gvm.ko hears of launches also where there are no control files. */
void report_launches(void)
{
	u64 launched, ended;

	for (int i = streams_next_device(-1); i >= 0; i = streams_next_device(i)) {
		streams_counts(i, &launched, &ended);
		tell_module(&devices[i], launched, ended);
	}
}

static void put_bytes(struct report_device *device, enum report_file file, u64 bytes)
{
	char text[TEXT_MAX];

	if (bytes == SHIM_NO_LIMIT)
		strcpy(text, "max\n");
	else
		snprintf(text, sizeof(text), "%llu\n", bytes);
	put(device, file, text);
}

static void put_launches(struct report_device *device, int index)
{
	u64 launched, ended;
	char text[TEXT_MAX];

	streams_counts(index, &launched, &ended);
	snprintf(text, sizeof(text),
		 "nr_submitted_kernels: %llu\nnr_ended_kernels: %llu\nnr_pending_kernels: "
		 "%llu\n",
		 launched, ended, launched - ended);
	put(device, STAT, text);
}

static void put_memory(struct report_device *device, int index)
{
	u64 on_host = cold_host_bytes(index), used = books_used(index);
	char text[TEXT_MAX];

	put_bytes(device, CURRENT, used > on_host ? used - on_host : 0);
	put_bytes(device, PEAK, books_peak(index));
	put_bytes(device, SWAP, on_host);
	/*
	 * The others are of gvm.ko: no eviction is forbidden here, and no context
	 * dies for lack of memory.
	 */
	snprintf(text, sizeof(text), "high %llu\nhmem 0\noom 0\n", books_refused(index));
	put(device, EVENTS, text);
}

/*
 * SHIM_NO_LIMIT: none was given, or the driver does not say what its share is. It is asked once:
 * while the process is frozen libcuda must not be called.
 */
static u64 limit_in_force(struct report_device *device, int index)
{
	if (!books_limit_given(index) ||
	    (!device->total &&
	     shim_real()->cuDeviceTotalMem_v2(&device->total, index) != CU_OK))
		return SHIM_NO_LIMIT;
	return books_limit(index, device->total);
}

/* A setting that was never made has no file. */
static void put_settings(struct report_device *device, int index)
{
	char text[TEXT_MAX];

	put_bytes(device, LIMIT, limit_in_force(device, index));
	put(device, FREEZE, freeze_is_on() ? "1\n" : "0\n");
	if (shim_settings.timeslice_us) {
		snprintf(text, sizeof(text), "%lluus\n", shim_settings.timeslice_us);
		put(device, TIMESLICE, text);
	} else {
		drop(device, TIMESLICE);
	}
	if (shim_settings.priority != SHIM_PRIORITY_NO) {
		snprintf(text, sizeof(text), "%u\n", shim_settings.priority);
		put(device, PRIORITY, text);
	} else {
		drop(device, PRIORITY);
	}
}

static void publish_device(int index)
{
	struct report_device *device = &devices[index];

	if (!device->ready)
		open_device(index);
	put_launches(device, index);
	put_memory(device, index);
	put_settings(device, index);
}

/*
 * The end of the process sets closing and then asks for publishing. This sets publishing and
 * then asks for closing. So one of the two sees the other.
 */
void report_publish(bool last)
{
	int first = streams_next_device(-1);

	publishing = true;
	if (last || !shim_closing())
		report_launches();
	if (first >= 0 && (last ? opened : !shim_closing()) && open_all())
		for (int i = first; i >= 0; i = streams_next_device(i))
			publish_device(i);
	publishing = false;
}

int report_watch_fd(void)
{
	return descriptor_of(&watch_fd);
}

/* Take a setting from one of a device's files; turns are the process's. False: it is none. */
static bool take(int device, enum report_file file, const char *text)
{
	u64 value;

	switch (file) {
	case LIMIT:
		if (!shim_parse_bytes(text, &value))
			return false;
		books_set_limit(device, value);
		return true;
	case TIMESLICE:
		if (!shim_parse_timeslice(text, &value))
			return false;
		shim_settings.timeslice_us = value;
		turns_changed();
		return true;
	case PRIORITY:
		if (!shim_parse_number(text, 16, &value))
			return false;
		shim_settings.priority = (u32)value;
		shim_settings.timeslice_us = 524288ull >> value;
		turns_changed();
		return true;
	case FREEZE:
		if (!shim_parse_number(text, 1, &value))
			return false;
		return freeze_is_on() == value || freeze_set(value);
	default:
		return false;
	}
}

/* Has somebody else written the file? @ret_date is its date. */
static bool name_is_written(struct report_device *device, enum report_file file,
			    char text[TEXT_MAX], struct timespec *ret_date)
{
	char path[SHIM_PATH_MAX + 64];
	const struct timespec *ours = &device->date[file];

	path_of(device, names[file], path, sizeof(path));
	return folder_read(path, text, ret_date) &&
	       (strcmp(text, device->text[file]) != 0 || ret_date->tv_sec != ours->tv_sec ||
		ret_date->tv_nsec != ours->tv_nsec);
}

/* Has somebody written the file before it? An empty one has a writer that is not ready. */
static bool was_is_written(struct report_device *device, enum report_file file,
			   char text[TEXT_MAX], struct timespec *ret_date)
{
	char path[SHIM_PATH_MAX + 64];

	was_path_of(device, file, path, sizeof(path));
	return folder_read(path, text, ret_date) && *text &&
	       strcmp(text, device->was[file]) != 0;
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

/* What others wrote last, if they did: into the file, or into the one before it. */
static bool find_write(struct report_device *device, enum report_file file, char text[TEXT_MAX])
{
	struct timespec date = { 0, 0 }, was_date = { 0, 0 };
	char was[TEXT_MAX];
	bool written = name_is_written(device, file, text, &date);
	bool was_written = was_is_written(device, file, was, &was_date);

	if (written) {
		strcpy(device->text[file], text);
		device->date[file] = date;
	}
	if (was_written)
		strcpy(device->was[file], was);
	if (was_written && (!written || is_later(&was_date, &date)))
		strcpy(text, was);
	return written || was_written;
}

static void take_write(struct report_device *device, const char *name)
{
	char text[TEXT_MAX];

	for (int file = LIMIT; file < FILES; file++) {
		if (strcmp(name, names[file]) != 0 ||
		    !find_write(device, (enum report_file)file, text))
			continue;
		text[strcspn(text, "\n")] = '\0';
		/*
		 * Empty: the writer is not ready, or leaves it at that. The
		 * value in force comes back.
		 */
		if (take((int)(device - devices), (enum report_file)file, text))
			shim_log("%s: %s", name, text);
		else if (*text)
			shim_warn("%s: %s is refused", name, text);
		for (int i = 0; i < SHIM_DEVICES; i++)
			devices[i].again[file] = true; /* in its usual form */
	}
}

void report_take_writes(void)
{
	char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t length;

	while ((length = read(watch_fd.fd, buffer, sizeof(buffer))) > 0) {
		const struct inotify_event *event;

		for (ssize_t i = 0; i < length; i += (ssize_t)(sizeof(*event) + event->len)) {
			event = (const struct inotify_event *)(buffer + i);
			for (int j = 0; event->len && j < SHIM_DEVICES; j++)
				if (devices[j].ready && devices[j].watch == event->wd)
					take_write(&devices[j], event->name);
		}
	}
}

/*
 * System calls only, so locks that the thread below holds do not matter. The worker may be
 * writing a file; it starts no new one. If the thread below is at it, the rest stays untold.
 */
void report_abandon(void)
{
	const struct timespec pause = { 0, 100000 };
	char path[SHIM_PATH_MAX + 64];

	for (int i = 0; publishing && i < 1000; i++)
		nanosleep(&pause, NULL);
	if (!publishing)
		report_launches();
	if (!opened)
		return;
	for (int i = 0; i < SHIM_DEVICES; i++) {
		if (!devices[i].ready)
			continue;
		for (int file = 0; file < FILES; file++) {
			path_of(&devices[i], names[file], path, sizeof(path));
			unlink(path);
			if (file >= LIMIT) {
				was_path_of(&devices[i], (enum report_file)file, path,
					    sizeof(path));
				unlink(path);
			}
		}
		path_of(&devices[i], "", path, sizeof(path));
		rmdir(path);
	}
	folder_abandon();
}

void report_close(void)
{
	for (int i = 0; i < SHIM_DEVICES; i++)
		if (devices[i].known)
			descriptor_close(&devices[i].gvm);
	if (!opened)
		return;
	descriptor_close(&watch_fd);
	folder_remove();
	opened = false;
	failed = true;
}

void report_reset(void)
{
	for (int i = 0; i < SHIM_DEVICES; i++)
		if (devices[i].known)
			descriptor_close(&devices[i].gvm);
	descriptor_close(&watch_fd);
	pthread_mutex_init(&know_lock, NULL);
	memset(devices, 0, sizeof(devices));
	opened = false;
	failed = false;
	publishing = false; /* the parent's thread may have been at it */
}
