// SPDX-License-Identifier: MIT OR GPL-2.0
#include "source.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* All bytes of a stream, in memory that the caller frees. */
static int read_all(FILE *stream, const char *path, char **ret_bytes, size_t *ret_size,
		    struct sim_error *err)
{
	char *bytes = NULL;
	size_t room = 0, size = 0;

	for (;;) {
		if (size == room) {
			char *more = realloc(bytes, room = room ? 2 * room : 65536);

			if (!more) {
				free(bytes);
				return sim_runtime_error(err, "%s: out of memory", path);
			}
			bytes = more;
		}
		size += fread(bytes + size, 1, room - size, stream);
		if (size < room || size > PTX_TEXT_MAX)
			break;
	}
	*ret_bytes = bytes;
	*ret_size = size;
	if (!ferror(stream))
		return 0;
	free(bytes);
	return sim_user_error(err, "%s: %s", path, strerror(errno));
}

int source_read(const char *path, struct source *ret_source, struct sim_error *err)
{
	bool standard = !strcmp(path, "-");
	FILE *stream = standard ? stdin : fopen(path, "rb");
	size_t size = 0;
	int status;

	if (!stream)
		return sim_user_error(err, "%s: %s", path, strerror(errno));
	status = read_all(stream, path, &ret_source->bytes, &size, err);
	if (!standard)
		fclose(stream);
	if (status)
		return status;
	status = ptx_lex(path, ret_source->bytes, size, &ret_source->text, err);
	if (status)
		free(ret_source->bytes);
	return status;
}

void source_destroy(struct source *source)
{
	ptx_text_destroy(&source->text);
	free(source->bytes);
}

int source_write(const char *path, const char *bytes, size_t size, struct sim_error *err)
{
	bool standard = !path || !strcmp(path, "-");
	char temporary[PATH_MAX];
	bool good;
	FILE *stream;

	if (standard) {
		good = fwrite(bytes, 1, size, stdout) == size && !fflush(stdout);
		return good ? 0 :
			      sim_runtime_error(err, "standard output: %s", strerror(errno));
	}
	if (snprintf(temporary, sizeof(temporary), "%s.part", path) >= (int)sizeof(temporary))
		return sim_user_error(err, "%s: the name is too long", path);
	stream = fopen(temporary, "wb");
	if (!stream)
		return sim_user_error(err, "%s: %s", path, strerror(errno));
	good = fwrite(bytes, 1, size, stream) == size;
	good = !fclose(stream) && good;
	if (good && !rename(temporary, path))
		return 0;
	sim_runtime_error(err, "%s: %s", path, strerror(errno));
	unlink(temporary);
	return -SIM_EXIT_RUNTIME;
}
