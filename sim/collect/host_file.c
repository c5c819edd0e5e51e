// SPDX-License-Identifier: MIT OR GPL-2.0
#include "collect/host_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAT_FILE   "gcgroup.stat"
#define PENDING_KEY "nr_pending_kernels"

static bool is_stat(const struct gvm_control_file *file)
{
	return !strcmp(file->name, STAT_FILE);
}

const char *host_file_allowed(const struct gvm_control_file *file)
{
	static const char *const allowed[] = {
		[GVM_CONTROL_BYTES] = "bytes, or max",
		[GVM_CONTROL_TIMESLICE] = "microseconds such as 2048us",
		[GVM_CONTROL_NUMBER] = "a number",
		[GVM_CONTROL_TEXT] = "lines of a key and a number",
	};

	if (is_stat(file))
		return "lines of a key and a number, with " PENDING_KEY;
	return allowed[file->kind];
}

/* O_NONBLOCK: a FIFO of that name does not block us. Only a regular file is a control file. */
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
 * Read a file to its end. -EINVAL: it does not fit, or it holds a zero byte. EIO of debugfs and
 * ENODEV of the public GVM driver mean that the process, and so the file, is gone.
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

/* Lines of "key number" or "key: number". A stat file must have a line of pending kernels. */
static bool parse_keyed(const char *text, const struct gvm_control_file *file, u64 *ret_number)
{
	char copy[GVM_CONTROL_TEXT_MAX];
	char *rest = copy;
	bool found = !is_stat(file);
	char *line;
	u64 number;

	strcpy(copy, text);
	*ret_number = 0;
	while ((line = strsep(&rest, "\n"))) {
		char *value = strchr(line, ' ');

		if (!value || value == line || gvm_parse_u64(value + 1, &number))
			return false;
		*value = '\0';
		if (value[-1] == ':')
			value[-1] = '\0';
		if (!*line || strspn(line, "abcdefghijklmnopqrstuvwxyz_.") != strlen(line))
			return false;
		if (strcmp(line, PENDING_KEY) != 0)
			continue;
		*ret_number = number;
		found = true;
	}
	return found;
}

static bool parse(const char *text, const struct gvm_control_file *file, u64 *ret_number)
{
	size_t digits = strspn(text, "0123456789");
	char number[GVM_CONTROL_TEXT_MAX] = "";

	switch (file->kind) {
	case GVM_CONTROL_BYTES:
		if (strcmp(text, "max") != 0)
			return !gvm_parse_u64(text, ret_number);
		*ret_number = U64_MAX;
		return true;
	case GVM_CONTROL_TIMESLICE:
		memcpy(number, text, digits);
		return !strcmp(text + digits, "us") && !gvm_parse_u64(number, ret_number);
	case GVM_CONTROL_NUMBER:
		return !gvm_parse_u64(text, ret_number);
	case GVM_CONTROL_TEXT:
		return parse_keyed(text, file, ret_number);
	}
	return false;
}

/* Turn any content into one line for a field of a CSV file or a message. */
static void make_line(char *text)
{
	for (; *text; text++)
		if (isspace((unsigned char)*text))
			*text = ' ';
		else if (!isprint((unsigned char)*text) || *text == ',' || *text == '"')
			*text = '?';
}

bool host_file_number(const char *text, const char *key, u64 *ret_number)
{
	size_t length = strlen(key);

	for (const char *found = text; (found = strstr(found, key)); found += length) {
		const char *number = found + length + (found[length] == ':');

		if ((found != text && found[-1] != ' ') || *number != ' ')
			continue;
		*ret_number = strtoull(number, NULL, 10);
		return true;
	}
	return false;
}

int host_file_read(int dir, const struct gvm_control_file *file, struct host_value *ret_value)
{
	int fd = open_file(dir, file->name);
	char *text = ret_value->text;
	size_t length;
	int status;

	if (fd == -ENOENT && file->alias)
		fd = open_file(dir, file->alias);
	*text = '\0';
	if (fd < 0)
		return fd;
	status = read_all(fd, text, sizeof(ret_value->text));
	close(fd);
	length = strlen(text);
	if (length && text[length - 1] == '\n')
		text[length - 1] = '\0';
	if (!status && !parse(text, file, &ret_value->number))
		status = -EINVAL;
	make_line(text);
	return status;
}
