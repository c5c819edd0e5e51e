// SPDX-License-Identifier: MIT OR GPL-2.0
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/whole_file.h"
#include "terminal/command.h"

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
	struct whole_file file;
	int status;

	if (!path || !strcmp(path, "-")) {
		fwrite(bytes, 1, size, stdout);
		return command_flush(err);
	}
	status = whole_file_open(&file, path, err);
	if (status)
		return status;
	fwrite(bytes, 1, size, file.stream);
	return whole_file_commit(&file, err);
}
