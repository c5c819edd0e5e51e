// SPDX-License-Identifier: MIT OR GPL-2.0
/* What the shim tells: lines in the file GVM_SHIM_LOG, or on stderr. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim.h"

static char log_path[SHIM_PATH_MAX]; /* empty: no log */
static bool log_stderr;

u64 shim_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000ull + (u64)now.tv_nsec;
}

/* It does not wait for the reader of a FIFO. */
static int open_log(void)
{
	return open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		    0644);
}

void shim_log_open(void)
{
	const char *path = getenv("GVM_SHIM_LOG");
	char folder[SHIM_PATH_MAX] = "";
	int length, fd;

	if (!path || !*path)
		return;
	log_stderr = !strcmp(path, "stderr");
	if (log_stderr)
		return;
	/* The program may change its folder. */
	if (*path != '/' && !getcwd(folder, sizeof(folder)))
		*folder = '\0';
	length = snprintf(log_path, sizeof(log_path), "%s%s%s", folder, *folder ? "/" : "",
			  path);
	errno = ENAMETOOLONG;
	fd = length < (int)sizeof(log_path) ? open_log() : -1;
	if (fd >= 0) {
		close(fd);
		return;
	}
	*log_path = '\0';
	shim_warn("GVM_SHIM_LOG=%." SHIM_SHOWN "s: %s; there is no log", path, strerror(errno));
}

bool shim_log_wanted(void)
{
	return log_stderr || *log_path;
}

/* A value of the environment has any bytes; a line is one line, and cannot steer a terminal. */
static void make_printable(char *text, int length)
{
	for (int i = 0; i < length; i++)
		if (iscntrl((unsigned char)text[i]))
			text[i] = '?';
}

/* False: it is lost. */
static bool put(int fd, const char *line, size_t length)
{
	ssize_t written;

	do
		written = write(fd, line, length);
	while (written < 0 && errno == EINTR);
	return written >= 0;
}

/*
 * A line is one write, so lines of several processes do not mix. The file is opened for each
 * line: lines are rare, and no descriptor of ours gets in the way of programs that close all of
 * them. @must: a line that does not come into the log goes to stderr.
 */
static void write_line(const char *fmt, va_list args, bool to_stderr, bool must)
{
	char line[1024];
	int saved = errno;
	int length = snprintf(line, sizeof(line), "gvm-shim[%d]: ", (int)getpid());
	int fd = STDERR_FILENO;
	bool written;

	length += vsnprintf(line + length, sizeof(line) - (size_t)length - 1, fmt, args);
	if (length > (int)sizeof(line) - 2)
		length = (int)sizeof(line) - 2;
	make_printable(line, length);
	line[length++] = '\n';
	if (!to_stderr)
		fd = open_log();
	written = put(fd, line, (size_t)length);
	if (!to_stderr && fd >= 0)
		close(fd);
	/* Such as where its file system is full. */
	if (!written && must && !to_stderr)
		put(STDERR_FILENO, line, (size_t)length);
	errno = saved;
}

void shim_log(const char *fmt, ...)
{
	va_list args;

	if (!shim_log_wanted())
		return;
	va_start(args, fmt);
	write_line(fmt, args, log_stderr, false);
	va_end(args);
}

void shim_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	write_line(fmt, args, log_stderr || !*log_path, true);
	va_end(args);
}

void shim_die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	write_line(fmt, args, true, true);
	va_end(args);
	if (*log_path) {
		va_start(args, fmt);
		write_line(fmt, args, false, false);
		va_end(args);
	}
	abort();
}
