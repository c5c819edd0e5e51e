// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The book of a container of several processes: a file that all of them map, GVM_CONTAINER
 * in the shim's directory. A process has a row in it. flock() guards the rows, and the
 * kernel gives it back when a process is killed. The row of a process that has died is
 * taken back when room is short.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim.h"

#define ROWS	     512
#define FOLDER_TRIES 100

struct shared_row {
	u64 pid;     /* 0: free */
	u64 started; /* in clock ticks since boot: tells a pid that was given again */
	u64 bytes[SHIM_DEVICES];
};

static struct shared_row *rows; /* NULL: not opened, or not to be had */
static struct shared_row *mine;
static struct shim_descriptor rows_fd = SHIM_NO_DESCRIPTOR;
static bool failed;
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static char rows_path[SHIM_PATH_MAX + SHIM_NAME_MAX + 16];

bool shared_wanted(void)
{
	return *shim_settings.container && !failed;
}

/* Field 22 of /proc/PID/stat, after the command's name. 0: it cannot be read. */
static u64 start_of(u64 pid)
{
	char path[64];
	char text[1024];
	ssize_t length;
	char *field;
	int fd;

	snprintf(path, sizeof(path), "/proc/%llu/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	field = strrchr(text, ')');
	for (int i = 0; field && i < 20; i++)
		field = strchr(field + 1, ' ');
	return field ? strtoull(field, NULL, 10) : 0;
}

/*
 * A process counts as alive where its start cannot be read: we may have no
 * descriptor left, or no /proc.
 */
static bool is_dead(const struct shared_row *row)
{
	u64 started;

	if (kill((pid_t)row->pid, 0) && errno == ESRCH)
		return true;
	started = start_of(row->pid);
	return started && row->started && started != row->started;
}

/* Wait for the file, also where a signal interrupts us. */
static bool lock_file(void)
{
	int status;

	do
		status = flock(rows_fd.fd, LOCK_EX);
	while (status && errno == EINTR);
	return !status;
}

/* The file may be removed by its last process between our open and our lock. */
static bool open_file(void)
{
	struct stat info;

	for (;;) {
		descriptor_set(&rows_fd, open(rows_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
		if (rows_fd.fd < 0)
			return false;
		if (!lock_file() || fstat(rows_fd.fd, &info))
			break;
		if (info.st_nlink)
			return !ftruncate(rows_fd.fd, ROWS * sizeof(*rows));
		descriptor_close(&rows_fd);
	}
	descriptor_close(&rows_fd);
	return false;
}

/* Under both locks. */
static struct shared_row *take_row(void)
{
	u64 pid = (u64)getpid();

	/* Ours from before exec(), a free one, or one of a process that has died. */
	for (int pass = 0; pass < 3; pass++) {
		for (int i = 0; i < ROWS; i++) {
			struct shared_row *row = &rows[i];

			if (!pass ? row->pid != pid : row->pid && (pass == 1 || !is_dead(row)))
				continue;
			memset(row, 0, sizeof(*row));
			row->pid = pid;
			row->started = start_of(pid);
			return row;
		}
	}
	return NULL;
}

/* NULL: the file is open, mapped and locked, and a row is ours. Else why not. */
static const char *map_rows(void)
{
	if (!open_file())
		return strerror(errno);
	rows = mmap(NULL, ROWS * sizeof(*rows), PROT_READ | PROT_WRITE, MAP_SHARED, rows_fd.fd,
		    0);
	if (rows == MAP_FAILED)
		return strerror(errno);
	mine = take_row();
	return mine ? NULL : "too many processes";
}

/* The folders may go between two steps, as another process ends. NULL: as map_rows(). */
static const char *open_rows(void)
{
	const char *wrong = NULL;

	for (int i = 0; i < FOLDER_TRIES; i++) {
		snprintf(rows_path, sizeof(rows_path), "%s/containers",
			 shim_settings.directory);
		wrong = shim_make_directory();
		if (wrong)
			return wrong;
		mkdir(rows_path, 0755);
		snprintf(rows_path, sizeof(rows_path), "%s/containers/%s",
			 shim_settings.directory, shim_settings.container);
		wrong = map_rows();
		if (!wrong || rows_fd.fd >= 0 || errno != ENOENT)
			return wrong;
	}
	return wrong;
}

/* The application has closed our descriptor. False: the file has gone, too. */
static bool open_again(void)
{
	struct shim_descriptor again;

	descriptor_set(&again, open(rows_path, O_RDWR | O_CLOEXEC));
	if (again.device == rows_fd.device && again.inode == rows_fd.inode) {
		rows_fd.fd = again.fd;
		return again.fd >= 0;
	}
	descriptor_close(&again);
	return false;
}

/* Under shared_lock. On success the file is locked. */
static bool lock_rows(void)
{
	const char *wrong = NULL;

	if (failed)
		return false;
	if (rows && (descriptor_of(&rows_fd) >= 0 || open_again()))
		return lock_file();
	if (rows) {
		wrong = "it was closed";
		munmap(rows, ROWS * sizeof(*rows));
		mine = NULL;
	} else {
		wrong = open_rows();
	}
	if (!wrong)
		return true;
	shim_warn("%s: %s; the limit holds for this process alone", rows_path, wrong);
	failed = true;
	descriptor_close(&rows_fd);
	rows = NULL;
	return false;
}

static u64 sum_rows(int device)
{
	u64 sum = 0;

	for (int i = 0; i < ROWS; i++)
		if (rows[i].pid)
			sum += rows[i].bytes[device];
	return sum;
}

static void drop_dead_rows(void)
{
	for (int i = 0; i < ROWS; i++)
		if (rows[i].pid && is_dead(&rows[i]))
			memset(&rows[i], 0, sizeof(rows[i]));
}

bool shared_charge(int device, u64 bytes, u64 limit)
{
	bool fits = true;

	pthread_mutex_lock(&shared_lock);
	if (lock_rows()) {
		fits = bytes <= limit && sum_rows(device) <= limit - bytes;
		if (!fits) {
			drop_dead_rows();
			fits = bytes <= limit && sum_rows(device) <= limit - bytes;
		}
		if (fits)
			mine->bytes[device] += bytes;
		flock(rows_fd.fd, LOCK_UN);
	}
	pthread_mutex_unlock(&shared_lock);
	return fits;
}

void shared_uncharge(int device, u64 bytes)
{
	pthread_mutex_lock(&shared_lock);
	if (rows && lock_rows()) {
		mine->bytes[device] -= bytes;
		flock(rows_fd.fd, LOCK_UN);
	}
	pthread_mutex_unlock(&shared_lock);
}

u64 shared_used(int device)
{
	u64 sum = 0;

	pthread_mutex_lock(&shared_lock);
	if (device >= 0 && device < SHIM_DEVICES && lock_rows()) {
		sum = sum_rows(device);
		flock(rows_fd.fd, LOCK_UN);
	}
	pthread_mutex_unlock(&shared_lock);
	return sum;
}

/* The last process removes the folders, too, if nothing else is in them. */
static void remove_file(void)
{
	char folder[sizeof(rows_path)];

	unlink(rows_path);
	snprintf(folder, sizeof(folder), "%s/containers", shim_settings.directory);
	if (!rmdir(folder))
		rmdir(shim_settings.directory);
}

void shared_close(void)
{
	bool others = false;

	pthread_mutex_lock(&shared_lock);
	if (rows && lock_rows()) {
		memset(mine, 0, sizeof(*mine));
		drop_dead_rows();
		for (int i = 0; i < ROWS; i++)
			others |= rows[i].pid != 0;
		if (!others)
			remove_file();
		munmap(rows, ROWS * sizeof(*rows));
		descriptor_close(&rows_fd);
		rows = NULL;
		mine = NULL;
		failed = true; /* what is freed now has left with the row */
	}
	pthread_mutex_unlock(&shared_lock);
}

/* The row is free; a sum that is made meanwhile has it or not. */
void shared_abandon(void)
{
	if (mine)
		mine->pid = 0;
}

void shared_reset(void)
{
	pthread_mutex_init(&shared_lock, NULL);
	if (rows)
		munmap(rows, ROWS * sizeof(*rows));
	descriptor_close(&rows_fd);
	rows = NULL;
	mine = NULL;
	failed = false;
}
