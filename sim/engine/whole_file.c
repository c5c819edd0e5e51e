// SPDX-License-Identifier: MIT OR GPL-2.0
#include "engine/whole_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/temporary.h"

static void whole_file_unlock(const struct whole_file *file)
{
	if (file->lock >= 0)
		close(file->lock);
}

/*
 * Make the temporary file and lock its folder. A file that is replaced keeps its mode (@mode; 0:
 * there is none). Returns 0 or an errno.
 */
static int whole_file_begin(struct whole_file *file, mode_t mode)
{
	char folder[PATH_MAX];
	const char *name = strrchr(file->path, '/');
	int fd, failed;

	name = name ? name + 1 : file->path;
	snprintf(folder, sizeof(folder), "%.*s", (int)(name - file->path), file->path);
	if (name == file->path)
		strcpy(folder, ".");
	temporary_remove_stale(folder, name);
	file->lock = temporary_lock(folder);
	fd = temporary_create(file->beside);
	if (fd >= 0 && mode)
		fchmod(fd, mode);
	file->stream = fd < 0 ? NULL : fdopen(fd, "w");
	if (file->stream)
		return 0;
	failed = errno;
	if (fd >= 0) {
		close(fd);
		unlink(file->beside);
	}
	whole_file_unlock(file);
	return failed;
}

int whole_file_open(struct whole_file *file, const char *path, struct sim_error *err)
{
	char mark[TEMPORARY_MARK_MAX];
	mode_t mode = 0;
	struct stat st;
	int failed;

	if (!*path)
		return sim_user_error(err, "the name of the file to write is empty, allowed: "
					   "the path of a file");
	if (!stat(path, &st)) {
		if (!S_ISREG(st.st_mode))
			return sim_user_error(err, "%s: cannot write: is not a regular file",
					      path);
		mode = st.st_mode & 0777;
	}
	temporary_mark(mark);
	if (snprintf(file->beside, sizeof(file->beside), "%s%s", path, mark) >=
	    (int)sizeof(file->beside))
		return sim_user_error(err, "%s: cannot write: %s", path,
				      strerror(ENAMETOOLONG));
	strcpy(file->path, path);
	failed = whole_file_begin(file, mode);
	return failed ? sim_runtime_error(err, "%s: cannot write: %s", path, strerror(failed)) :
			0;
}

bool whole_file_is(const char *path, const char *other)
{
	struct stat a, b;

	return !stat(path, &a) && !stat(other, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Returns 0 or an errno. The content reaches the disk before the name does. */
static int whole_file_sync(FILE *stream)
{
	errno = 0;
	if (fflush(stream) || ferror(stream))
		return errno ? errno : EIO;
	return fsync(fileno(stream)) ? errno : 0;
}

int whole_file_commit(struct whole_file *file, struct sim_error *err)
{
	int failed = whole_file_sync(file->stream);

	if (fclose(file->stream) && !failed)
		failed = errno;
	if (!failed && rename(file->beside, file->path))
		failed = errno;
	if (failed)
		unlink(file->beside);
	whole_file_unlock(file);
	if (!failed)
		return 0;
	return sim_runtime_error(err, "%s: cannot write: %s", file->path, strerror(failed));
}

void whole_file_abort(struct whole_file *file)
{
	fclose(file->stream);
	unlink(file->beside);
	whole_file_unlock(file);
}
