// SPDX-License-Identifier: MIT OR GPL-2.0
/* The arrays of samples; see samples.h. */
#include "collect/samples.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void *samples_room(void *array, size_t count, size_t element)
{
	if (count & (count - 1))
		return array;
	return reallocarray(array, count ? 2 * count : 1, element);
}

int sampler_note(struct sampler *sampler, const char *fmt, ...)
{
	char **notes = samples_room(sampler->notes, sampler->note_count, sizeof(*notes));
	va_list args;
	int length;

	if (!notes)
		return -ENOMEM;
	sampler->notes = notes;
	va_start(args, fmt);
	length = vasprintf(&notes[sampler->note_count], fmt, args);
	va_end(args);
	if (length < 0)
		return -ENOMEM;
	if (sampler->note)
		sampler->note(notes[sampler->note_count]);
	sampler->note_count++;
	return 0;
}

struct sampler_container *sampler_new_container(struct sampler *sampler, u64 tgid, u64 gpu)
{
	struct sampler_container *containers = samples_room(
		sampler->containers, sampler->container_count, sizeof(*containers));
	struct sampler_file *files = calloc(gvm_control_count(), sizeof(*files));
	struct sampler_container *container;

	if (containers)
		sampler->containers = containers;
	if (!containers || !files) {
		free(files);
		return NULL;
	}
	container = &containers[sampler->container_count++];
	*container = (struct sampler_container){ .tgid = tgid, .gpu = gpu, .files = files };
	return container;
}
