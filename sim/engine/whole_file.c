// SPDX-License-Identifier: MIT OR GPL-2.0
#include "engine/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int whole_file_open(struct whole_file *file, const char *path, struct sim_error *err)
{
	struct stat st;
	int fd, failed;

	if (!*path)
		return sim_user_error(err, "the name of the file to write is empty, allowed: "
					   "the path of a file");
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return sim_user_error(err, "%s: cannot write: is not a regular file", path);
	if (snprintf(file->beside, sizeof(file->beside), "%s.tmp-%ld", path, (long)getpid()) >=
	    (int)sizeof(file->beside))
		return sim_user_error(err, "%s: cannot write: %s", path,
				      strerror(ENAMETOOLONG));
	strcpy(file->path, path);
	/* A killed process of this number may have left one. O_EXCL: no link is followed. */
	unlink(file->beside);
	fd = open(file->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	file->stream = fd < 0 ? NULL : fdopen(fd, "w");
	if (file->stream)
		return 0;
	failed = errno;
	if (fd >= 0) {
		close(fd);
		unlink(file->beside);
	}
	return sim_runtime_error(err, "%s: cannot write: %s", path, strerror(failed));
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
	if (!failed)
		return 0;
	unlink(file->beside);
	return sim_runtime_error(err, "%s: cannot write: %s", file->path, strerror(failed));
}

void whole_file_abort(struct whole_file *file)
{
	fclose(file->stream);
	unlink(file->beside);
}
