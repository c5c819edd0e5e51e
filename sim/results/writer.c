// SPDX-License-Identifier: MIT OR GPL-2.0
/* Atomic files; see writer.h. */
#include "results/writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/error.h"
#include "engine/temporary.h"
#include "results/packed.h"

/* A file of this size proves, before a simulation starts, that its results can be written. */
#define PROBE_BYTES 4096
#define PROBE_NAME  "gvmsim-probe"

/* A message has room for a path of this length and for what is wrong with it. */
#define PATH_SHOWN_MAX 800

/*
 * The file that a writer locks while it puts files in place. It is a temporary file by its name,
 * so one that a killed writer has left goes with the others.
 */
#define EXCLUDE_NAME  "gvmsim-commit.tmp-0-00000000"
#define EXCLUDE_TRIES 10000
#define EXCLUDE_US    1000

static int writer_error(struct sim_error *err, const char *path, const char *what, int error)
{
	bool fits = strlen(path) <= PATH_SHOWN_MAX;

	return sim_runtime_error(err, "%.*s%s: cannot %s: %s", fits ? PATH_SHOWN_MAX : 60, path,
				 fits ? "" : "...", what, strerror(error));
}

static void writer_path(const struct writer *writer, const char *name, char *ret_path,
			size_t size)
{
	snprintf(ret_path, size, "%s/%s", writer->folder, name);
}

void writer_temporary_path(const struct writer *writer, const char *name, char *ret_path,
			   size_t size)
{
	snprintf(ret_path, size, "%s/%s%s", writer->folder, name, writer->mark);
}

static void unlock_folder(struct writer *writer)
{
	char path[PATH_MAX];

	if (writer->excludes >= 0) {
		writer_path(writer, EXCLUDE_NAME, path, sizeof(path));
		unlink(path);
		close(writer->excludes);
	}
	if (writer->lock >= 0)
		close(writer->lock);
	writer->excludes = writer->lock = -1;
}

/*
 * Make the folder with its parents, and remember which of them are new. Returns 0 or an errno.
 */
static int make_folders(struct writer *writer)
{
	size_t length = strlen(writer->folder);
	char path[WRITER_FOLDER_MAX];
	struct stat info;

	for (size_t i = 1; i <= length; i++) {
		if ((writer->folder[i] != '/' && i != length) || writer->folder[i - 1] == '/')
			continue;
		memcpy(path, writer->folder, i);
		path[i] = '\0';
		if (!mkdir(path, 0777)) {
			if (writer->made_count < WRITER_MADE_MAX)
				writer->made[writer->made_count++] = i;
			continue;
		}
		if (errno != EEXIST || stat(path, &info))
			return errno;
		if (!S_ISDIR(info.st_mode))
			return ENOTDIR;
	}
	return 0;
}

/*
 * Remove the folders that this writer created, innermost first. A folder that is not empty
 * stays.
 */
static void remove_made_folders(struct writer *writer)
{
	char path[WRITER_FOLDER_MAX];

	while (writer->made_count) {
		size_t length = writer->made[--writer->made_count];

		memcpy(path, writer->folder, length);
		path[length] = '\0';
		rmdir(path);
	}
}

/*
 * Write a page into a file whose name is removed first, so that a kill leaves no file. A kill
 * between open() and unlink() leaves an empty one, for writer_remove_stale(). Returns 0 or an
 * errno.
 */
static int probe_folder(const struct writer *writer)
{
	static const char page[PROBE_BYTES];
	char path[PATH_MAX];
	ssize_t written;
	int error = 0;
	int fd;

	writer_temporary_path(writer, PROBE_NAME, path, sizeof(path));
	fd = temporary_create(path);
	if (fd < 0)
		return errno;
	unlink(path);
	written = write(fd, page, sizeof(page));
	if (written != (ssize_t)sizeof(page))
		error = written < 0 ? errno : ENOSPC;
	close(fd);
	return error;
}

int writer_open(struct writer *writer, const char *folder, struct sim_error *err)
{
	int error = ENAMETOOLONG;
	int length;

	*writer = (struct writer){ .lock = -1, .excludes = -1 };
	temporary_mark(writer->mark);
	length = snprintf(writer->folder, sizeof(writer->folder), "%s", folder);
	if (length > 0 && (size_t)length < sizeof(writer->folder))
		error = make_folders(writer);
	if (!error)
		error = probe_folder(writer);
	if (!error)
		return 0;
	remove_made_folders(writer);
	return writer_error(err, folder, "write results there", error);
}

int writer_check(const struct writer *writer, const char *name, struct sim_error *err)
{
	char path[PATH_MAX];
	struct stat info;

	writer_path(writer, name, path, sizeof(path));
	if (!lstat(path, &info) && S_ISDIR(info.st_mode))
		return writer_error(err, path, "be replaced", EISDIR);
	return 0;
}

static bool is_csv(const char *name)
{
	const char *ending = strrchr(name, '.');

	return ending && !strcmp(ending, ".csv");
}

int writer_begin(struct writer *writer, const char *name, struct sim_error *err)
{
	bool packs = writer->packs && is_csv(name);
	char packed[WRITER_NAME_MAX];
	char path[PATH_MAX], temporary[PATH_MAX];
	int fd;

	assert(!writer->stream && writer->count < WRITER_FILES_MAX &&
	       strlen(name) + strlen(PACKED_ENDING) < WRITER_NAME_MAX);
	if (packs) {
		sprintf(packed, "%s" PACKED_ENDING, name);
		name = packed;
	}
	if (writer->lock < 0)
		writer->lock = temporary_lock(writer->folder);
	writer_path(writer, name, path, sizeof(path));
	writer_temporary_path(writer, name, temporary, sizeof(temporary));
	fd = temporary_create(temporary);
	if (fd < 0)
		return writer_error(err, path, "be made", errno);
	strcpy(writer->names[writer->count++], name);
	writer->error = 0;
	writer->stream = fdopen(fd, "w");
	if (!writer->stream) {
		close(fd);
		return writer_error(err, path, "be opened", ENOMEM);
	}
	if (!packs)
		return 0;
	writer->below = writer->stream;
	writer->stream = packed_write(writer->below);
	if (writer->stream)
		return 0;
	writer->stream = writer->below;
	writer->below = NULL;
	return writer_error(err, path, "be compressed", errno);
}

void writer_printf(struct writer *writer, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (vfprintf(writer->stream, fmt, args) < 0 && !writer->error)
		writer->error = errno;
	va_end(args);
}

void writer_put(struct writer *writer, const char *bytes, size_t count)
{
	if (fwrite(bytes, 1, count, writer->stream) != count && !writer->error)
		writer->error = errno;
}

/* A stream remembers that a write failed, and not why: write on. Returns an errno. */
static int why_failed(FILE *stream)
{
	static const char page[PROBE_BYTES];
	ssize_t written = write(fileno(stream), page, sizeof(page));

	return written < 0 ? errno : written < (ssize_t)sizeof(page) ? ENOSPC : EIO;
}

int writer_end(struct writer *writer, struct sim_error *err)
{
	const char *name = writer->names[writer->count - 1];
	char path[PATH_MAX];

	if (!writer->below && !writer->error && ferror(writer->stream))
		writer->error = why_failed(writer->stream);
	if (writer->below) {
		if (fclose(writer->stream) && !writer->error)
			writer->error = errno;
		writer->stream = writer->below;
		writer->below = NULL;
	}
	if (fflush(writer->stream) && !writer->error)
		writer->error = errno;
	if (!writer->error && fsync(fileno(writer->stream)))
		writer->error = errno;
	if (fclose(writer->stream) && !writer->error)
		writer->error = errno;
	writer->stream = NULL;
	if (!writer->error)
		return 0;
	writer_path(writer, name, path, sizeof(path));
	return writer_error(err, path, "be written", writer->error);
}

/*
 * Lock the file @path. Returns its descriptor; -1 and EAGAIN: another process has it, or had it and
 * removes it; -1 and another errno: it cannot be locked.
 */
static int lock_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
	struct stat own, there;
	int error = 0;

	if (fd < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB))
		error = errno;
	else if (fstat(fd, &own) || stat(path, &there) || own.st_ino != there.st_ino)
		error = EAGAIN;
	if (!error)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

void writer_exclude(struct writer *writer)
{
	char path[PATH_MAX];

	writer_path(writer, EXCLUDE_NAME, path, sizeof(path));
	for (int i = 0; writer->count && writer->excludes < 0 && i < EXCLUDE_TRIES; i++) {
		writer->excludes = lock_file(path);
		if (writer->excludes < 0 && errno != EAGAIN)
			return;
		if (writer->excludes < 0)
			usleep(EXCLUDE_US);
	}
}

/*
 * A file is there plain or packed: remove the form of @name that an earlier run may have left.
 */
static void remove_other_form(const struct writer *writer, const char *name)
{
	size_t length, ending = strlen(PACKED_ENDING);
	char path[PATH_MAX];

	writer_path(writer, name, path, sizeof(path));
	length = strlen(path);
	if (is_csv(path)) {
		strcat(path, PACKED_ENDING);
		unlink(path);
	} else if (length > ending && !strcmp(path + length - ending, PACKED_ENDING)) {
		path[length - ending] = '\0';
		if (is_csv(path))
			unlink(path);
	}
}

int writer_commit(struct writer *writer, struct sim_error *err)
{
	char temporary[PATH_MAX];
	char path[PATH_MAX];
	int error, fd;

	writer_exclude(writer);
	for (size_t i = 0; i < writer->count; i++) {
		writer_temporary_path(writer, writer->names[i], temporary, sizeof(temporary));
		writer_path(writer, writer->names[i], path, sizeof(path));
		if (rename(temporary, path)) {
			error = errno;
			writer_abort(writer);
			return writer_error(err, path, "be put in place", error);
		}
		remove_other_form(writer, writer->names[i]);
	}
	/*
	 * Sync the folder, so that the renames survive a crash. Some file systems cannot: no
	 * error.
	 */
	fd = open(writer->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	unlock_folder(writer);
	writer->count = 0;
	writer->made_count = 0;
	return 0;
}

bool writer_has(const struct writer *writer, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < writer->count; i++)
		if (!strncmp(writer->names[i], name, length) &&
		    (!writer->names[i][length] ||
		     (is_csv(name) && !strcmp(writer->names[i] + length, PACKED_ENDING))))
			return true;
	return false;
}

void writer_remove(const struct writer *writer, const char *name)
{
	char path[PATH_MAX];

	writer_path(writer, name, path, sizeof(path));
	unlink(path);
	if (is_csv(name)) {
		strcat(path, PACKED_ENDING);
		unlink(path);
	}
}

void writer_remove_stale(const struct writer *writer)
{
	temporary_remove_stale(writer->folder, NULL);
}

void writer_abort(struct writer *writer)
{
	char path[PATH_MAX];

	if (writer->stream)
		fclose(writer->stream);
	if (writer->below)
		fclose(writer->below);
	writer->stream = writer->below = NULL;
	for (size_t i = 0; i < writer->count; i++) {
		writer_temporary_path(writer, writer->names[i], path, sizeof(path));
		unlink(path);
	}
	unlock_folder(writer);
	writer->count = 0;
	remove_made_folders(writer);
}
