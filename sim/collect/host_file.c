// SPDX-License-Identifier: MIT OR GPL-2.0
#include "collect/host_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PENDING_KEY "nr_pending_kernels"

const struct host_file host_files[HOST_FILES] = {
	[HOST_LIMIT_HIGH] = { "gmem.limit.high", "memory.limit", HOST_BYTES, true },
	[HOST_LIMIT_LOW] = { "gmem.limit.low", NULL, HOST_BYTES, true },
	[HOST_HMEM_LIMIT] = { "hmem.limit", NULL, HOST_BYTES, true },
	[HOST_TIMESLICE] = { "compute.timeslice", NULL, HOST_MICROSECONDS, true },
	[HOST_PRIORITY] = { "compute.priority", NULL, HOST_NUMBER, true },
	[HOST_WEIGHT] = { "compute.weight", NULL, HOST_NUMBER, true },
	[HOST_FREEZE] = { "compute.freeze", NULL, HOST_NUMBER, true },
	[HOST_CURRENT] = { "gmem.current", "memory.current", HOST_BYTES, false },
	[HOST_PEAK] = { "gmem.peak", NULL, HOST_BYTES, false },
	[HOST_SWAP] = { "gmem.swap.current", "memory.swap.current", HOST_BYTES, false },
	[HOST_CLEAN] = { "gmem.clean.current", NULL, HOST_BYTES, false },
	[HOST_EVENTS] = { "gmem.events", NULL, HOST_KEYED, false },
	[HOST_STAT] = { "gcgroup.stat", NULL, HOST_KEYED, false },
};

const char *host_file_allowed(enum host_file_id id)
{
	static const char *const allowed[] = {
		[HOST_BYTES] = "bytes, or max",
		[HOST_NUMBER] = "a number",
		[HOST_MICROSECONDS] = "microseconds such as 2048us",
		[HOST_KEYED] = "lines of a key and a number",
	};

	if (id == HOST_STAT)
		return "lines of a key and a number, with " PENDING_KEY;
	return allowed[host_files[id].kind];
}

/* Without waiting for whoever writes a FIFO: only a file is a control file. Returns -errno. */
static int open_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat info;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &info) && S_ISREG(info.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

/*
 * Read to the end, in as many pieces as the file gives. One byte more than fits is too much. What
 * debugfs and the public GVM driver say when the process has gone means that the file has, too.
 */
static int read_all(int fd, char *text, size_t size)
{
	size_t length = 0;
	ssize_t got = 1;

	while (length < size && got > 0) {
		got = read(fd, text + length, size - length);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got < 0)
			return errno == EIO || errno == ENODEV ? -ENOENT : -errno;
		else
			length += (size_t)got;
	}
	if (length == size)
		length--;
	text[length] = '\0';
	return got > 0 || strlen(text) != length ? -EINVAL : 0;
}

static bool parse_bytes(const char *text, u64 *ret_number)
{
	if (strcmp(text, "max") != 0)
		return !gvm_parse_u64(text, ret_number);
	*ret_number = U64_MAX;
	return true;
}

static bool parse_microseconds(const char *text, u64 *ret_number)
{
	size_t digits = strspn(text, "0123456789");
	char number[GVM_CONTROL_TEXT_MAX] = "";

	memcpy(number, text, digits);
	return !strcmp(text + digits, "us") && !gvm_parse_u64(number, ret_number);
}

/* One line of a keyed file, which is cut behind its key. */
static bool parse_pair(char *line, u64 *ret_number)
{
	char *value = strchr(line, ' ');

	if (!value || value == line || gvm_parse_u64(value + 1, ret_number))
		return false;
	*value = '\0';
	if (value[-1] == ':')
		value[-1] = '\0';
	return *line && strspn(line, "abcdefghijklmnopqrstuvwxyz_.") == strlen(line);
}

/* All lines; a stat file has to tell the pending kernels. */
static bool parse_keyed(const char *text, enum host_file_id id, u64 *ret_number)
{
	char copy[GVM_CONTROL_TEXT_MAX];
	char *rest = copy;
	bool found = id != HOST_STAT;
	char *line;
	u64 number;

	strcpy(copy, text);
	*ret_number = 0;
	while ((line = strsep(&rest, "\n"))) {
		if (!parse_pair(line, &number))
			return false;
		if (strcmp(line, PENDING_KEY) != 0)
			continue;
		*ret_number = number;
		found = true;
	}
	return found;
}

static bool parse(const char *text, enum host_file_id id, u64 *ret_number)
{
	switch (host_files[id].kind) {
	case HOST_BYTES:
		return parse_bytes(text, ret_number);
	case HOST_NUMBER:
		return !gvm_parse_u64(text, ret_number);
	case HOST_MICROSECONDS:
		return parse_microseconds(text, ret_number);
	case HOST_KEYED:
		return parse_keyed(text, id, ret_number);
	}
	return false;
}

/* Whatever was in the file, it becomes a field of a CSV file and a part of a message. */
static void make_line(char *text)
{
	for (; *text; text++)
		if (isspace((unsigned char)*text))
			*text = ' ';
		else if (!isprint((unsigned char)*text) || *text == ',' || *text == '"')
			*text = '?';
}

int host_file_read(int dir, enum host_file_id id, struct host_value *ret_value)
{
	int fd = open_file(dir, host_files[id].name);
	char *text = ret_value->text;
	size_t length;
	int rc;

	if (fd == -ENOENT && host_files[id].alias)
		fd = open_file(dir, host_files[id].alias);
	*text = '\0';
	if (fd < 0)
		return fd;
	rc = read_all(fd, text, sizeof(ret_value->text));
	close(fd);
	length = strlen(text);
	if (length && text[length - 1] == '\n')
		text[length - 1] = '\0';
	if (!rc && !parse(text, id, &ret_value->number))
		rc = -EINVAL;
	make_line(text);
	return rc;
}
