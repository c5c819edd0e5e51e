// SPDX-License-Identifier: MIT OR GPL-2.0
#include "figures/gnuplot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "terminal/signals.h"
#include "config/paths.h"
#include "engine/error.h"
#include "results/writer.h"

const char *const gnuplot_terminals[GNUPLOT_TERMINALS] = { "png", "svg" };

/* Take over "name=value". @text NULL: there was no memory for it. */
static void gnuplot_add_variable(struct gnuplot *gnuplot, char *text)
{
	char **list = realloc(gnuplot->list, (gnuplot->count + 1) * sizeof(*list));

	if (list)
		gnuplot->list = list;
	if (!text || !list) {
		gnuplot->failed = true;
		free(text);
		return;
	}
	list[gnuplot->count++] = text;
}

/*
 * Write every byte but letters as an octal escape. Paths and names can hold quotes and
 * backticks, which gnuplot must not execute. Digits are escaped, too: gnuplot would read a
 * digit after an escape as a part of the escape.
 */
void gnuplot_add_string(struct gnuplot *gnuplot, const char *name, const char *value)
{
	char *text = malloc(strlen(name) + 4 * strlen(value) + 4);
	char *end = text;

	if (text) {
		end += sprintf(end, "%s=\"", name);
		for (; *value; value++) {
			unsigned int byte = (unsigned char)*value;

			if ((byte | 0x20) - 'a' < 26)
				*end++ = *value;
			else
				end += sprintf(end, "\\%03o", byte);
		}
		strcpy(end, "\"");
	}
	gnuplot_add_variable(gnuplot, text);
}

void gnuplot_add_count(struct gnuplot *gnuplot, const char *name, size_t value)
{
	char *text;

	gnuplot_add_variable(gnuplot, asprintf(&text, "%s=%zu", name, value) < 0 ? NULL : text);
}

void gnuplot_add_real(struct gnuplot *gnuplot, const char *name, double value)
{
	char *text;

	gnuplot_add_variable(gnuplot,
			     asprintf(&text, "%s=%.9g", name, value) < 0 ? NULL : text);
}

void gnuplot_add_file(struct gnuplot *gnuplot, const char *name, const struct writer *writer,
		      const char *file)
{
	char *path = gnuplot->files[gnuplot->file_count];

	GVM_ASSERT(gnuplot->file_count < GNUPLOT_FILES_MAX);
	snprintf(path, PATH_MAX, "%s/%s", writer->folder, file);
	gnuplot_add_string(gnuplot, name, path);
	gnuplot->file_count++;
}

void gnuplot_destroy(struct gnuplot *gnuplot)
{
	for (size_t i = 0; i < gnuplot->count; i++)
		free(gnuplot->list[i]);
	free(gnuplot->list);
}

/* A picture while gnuplot draws it into a temporary file of the writer. */
struct picture {
	char path[PATH_MAX];
	pid_t child; /* 0: it has not been started, or has ended */
};

/* A figure that is being drawn, once for each terminal. All pointers are borrowed. */
struct drawn_figure {
	struct gnuplot *gnuplot;
	const char *name;
	const char *script; /* its path */
	const struct signals *signals;
	struct writer *writer;
};

/*
 * Start gnuplot. "-d": it does not read the user's start-up file, which
 * could change the pictures.
 */
static int start_gnuplot(const struct drawn_figure *figure, pid_t *ret_child,
			 struct sim_error *err)
{
	const struct gnuplot *gnuplot = figure->gnuplot;
	const char **argv = calloc(2 * gnuplot->count + 4, sizeof(*argv));
	size_t argc = 0;
	int error;

	if (!argv)
		return sim_runtime_error(err, "out of memory");
	/* In a locale without UTF-8, gnuplot complains about its own degree sign. */
	setenv("LC_ALL", "C.UTF-8", 1);
	argv[argc++] = "gnuplot";
	argv[argc++] = "-d";
	for (size_t i = 0; i < gnuplot->count; i++) {
		argv[argc++] = "-e";
		argv[argc++] = gnuplot->list[i];
	}
	argv[argc++] = figure->script;
	argv[argc] = NULL;
	error = signals_spawn(figure->signals, ret_child, argv[0], argv, -1, -1);
	free(argv);
	if (!error)
		return 0;
	*ret_child = 0;
	return sim_runtime_error(err,
				 "gnuplot: cannot be started: %s; gnuplot draws the picture, "
				 "Debian has it in the package gnuplot-nox",
				 strerror(error));
}

/*
 * Begin to draw a picture into the writer's temporary file FIGURE.TERMINAL. The variables
 * "output" and "terminal" are set for this picture only.
 */
static int start_picture(const struct drawn_figure *figure, const char *terminal,
			 struct picture *picture, struct sim_error *err)
{
	struct gnuplot *gnuplot = figure->gnuplot;
	size_t common = gnuplot->count;
	char name[WRITER_NAME_MAX];
	int status;

	snprintf(name, sizeof(name), "%s.%s", figure->name, terminal);
	status = writer_begin(figure->writer, name, err);
	if (!status)
		status = writer_end(figure->writer, err);
	if (status)
		return status;
	writer_temporary_path(figure->writer, name, picture->path, sizeof(picture->path));
	gnuplot_add_string(gnuplot, "output", picture->path);
	gnuplot_add_string(gnuplot, "terminal", terminal);
	if (gnuplot->failed)
		status = sim_runtime_error(err, "out of memory");
	else
		status = start_gnuplot(figure, &picture->child, err);
	while (gnuplot->count > common)
		free(gnuplot->list[--gnuplot->count]);
	return status;
}

/* Does a picture end as PNG and SVG files do? */
static bool is_whole(const char *path)
{
	static const char *const ends[GNUPLOT_TERMINALS] = { "IEND", "</svg>" };
	FILE *stream = fopen(path, "rb");
	bool whole = false;
	char tail[64];
	size_t size;

	if (!stream)
		return false;
	if (!fseek(stream, -(long)sizeof(tail), SEEK_END)) {
		size = fread(tail, 1, sizeof(tail), stream);
		for (size_t i = 0; i < GNUPLOT_TERMINALS; i++)
			whole = whole || memmem(tail, size, ends[i], strlen(ends[i]));
	}
	fclose(stream);
	return whole;
}

/*
 * Say why a picture was not drawn. On a full disk gnuplot crashes, or succeeds with a part of a
 * picture; whether there is room for some pages more tells. The picture is not used any more.
 */
static int not_drawn(const char *path, struct sim_error *err)
{
	static const char pages[4 * 4096];
	const char *slash = strrchr(path, '/');
	const char *suffix = strstr(slash ? slash : path, ".tmp-");
	/* A user knows the picture, not the temporary file that becomes it. */
	int length = (int)(suffix ? suffix - path : (ptrdiff_t)strlen(path));
	FILE *stream = fopen(path, "ab");
	int error = stream ? 0 : errno;

	if (stream && fwrite(pages, 1, sizeof(pages), stream) < sizeof(pages))
		error = errno;
	if (stream && fclose(stream) && !error)
		error = errno;
	return error ? sim_runtime_error(err, "%.*s: cannot be written: %s", length, path,
					 strerror(error)) :
		       0;
}

/* Wait for a picture, or for a signal that ends its gnuplot. */
static int finish_picture(const struct drawn_figure *figure, struct picture *picture,
			  struct sim_error *err)
{
	pid_t child = picture->child, ended;
	int child_status;
	bool drawn;

	while (!(ended = waitpid(child, &child_status, WNOHANG))) {
		if (!signals_wait(figure->signals))
			continue;
		sim_runtime_error(err, "interrupted while gnuplot drew");
		return -SIM_EXIT_INTERRUPTED;
	}
	picture->child = 0;
	if (ended != child)
		return sim_runtime_error(err, "gnuplot: %s", strerror(errno));
	drawn = WIFEXITED(child_status) && !WEXITSTATUS(child_status);
	if (drawn && is_whole(picture->path))
		return 0;
	if (not_drawn(picture->path, err))
		return -SIM_EXIT_RUNTIME;
	if (!drawn)
		return sim_runtime_error(err, "gnuplot: failed on %s with status %d",
					 figure->script,
					 WIFEXITED(child_status) ?
						 WEXITSTATUS(child_status) :
						 128 + WTERMSIG(child_status));
	return sim_runtime_error(err, "gnuplot: has drawn nothing into %s", picture->path);
}

int gnuplot_draw(struct gnuplot *gnuplot, const char *script, const char *figure,
		 const struct signals *signals, struct writer *writer, struct sim_error *err)
{
	struct picture pictures[GNUPLOT_TERMINALS] = { 0 };
	char path[PATH_MAX], *slash;
	const struct drawn_figure drawn = {
		.gnuplot = gnuplot,
		.name = figure,
		.script = path,
		.signals = signals,
		.writer = writer,
	};
	int status = config_find_data("plots", script, path, sizeof(path), err);

	if (status)
		return status;
	slash = strrchr(path, '/');
	*slash = '\0';
	gnuplot_add_string(gnuplot, "scripts", path);
	*slash = '/';
	for (size_t i = 0; !status && i < GNUPLOT_TERMINALS; i++)
		status = start_picture(&drawn, gnuplot_terminals[i], &pictures[i], err);
	for (size_t i = 0; !status && i < GNUPLOT_TERMINALS; i++)
		status = finish_picture(&drawn, &pictures[i], err);
	for (size_t i = 0; i < GNUPLOT_TERMINALS; i++)
		if (pictures[i].child)
			signals_kill(pictures[i].child);
	return status;
}
