// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Sampling, writing and restoring
 * ===============================
 *
 * A tick of the daemon:
 *
 *     read all files -> the policy's step -> writes, in order -> remember what was there before
 *                            |
 *                            '-- it fails --> no write; put back what was there before
 *
 * A policy asks for writes and never writes itself. So a step that fails half way has changed
 * nothing, and the daemon knows each file that the policy has ever written. Policies freeze
 * containers and cut their memory. If one ends, by a crash or by a signal to the daemon, a
 * tenant must not stay frozen: each file gets back the text that it had before the policy's
 * first write. An operator may have written meanwhile. The daemon reads a file after each of
 * its own writes, and puts the old text back only if the file still reads the same.
 *
 * compute.priority also sets the timeslice. So its first write remembers compute.timeslice
 * before it, and the restore, which goes backwards, writes the timeslice last. It does so also
 * when the policy's last write left the timeslice as it was before the first one.
 */
#include "gvmd/daemon.h"

#include <stdlib.h>

#include "gvmd/metrics.h"

/* The longest text of a control file or a report. */
#define DAEMON_READ_MAX 512

void gvmd_init(struct gvmd *gvmd, const struct gvmd_world *world, void *data,
	       struct gvmd_step *step)
{
	*gvmd = (struct gvmd){ .world = world, .data = data, .step = step };
}

void gvmd_destroy(struct gvmd *gvmd)
{
	free(gvmd->kept);
	gvmd->kept = NULL;
}

/* Read a file, without the line end after its value. Returns 0 or -errno. */
static int daemon_read(struct gvmd *gvmd, u32 index, const char *file, char *text, size_t size)
{
	char content[DAEMON_READ_MAX];
	int status = gvmd->world->read(gvmd->data, index, file, content, sizeof(content), true);

	if (status < 0)
		return status;
	content[strcspn(content, "\n")] = '\0';
	if (strlen(content) >= size)
		return -E2BIG;
	strcpy(text, content);
	return 0;
}

/* Forget the files of a container that is gone: the next one of its name has new files. */
static void daemon_forget(struct gvmd *gvmd, u32 index)
{
	size_t count = 0;

	for (size_t i = 0; i < gvmd->kept_count; i++)
		if (gvmd->kept[i].container != index)
			gvmd->kept[count++] = gvmd->kept[i];
	gvmd->kept_count = count;
}

/* Each file is read once: rows of one file stand together. */
static void daemon_sample(struct gvmd *gvmd, u32 index)
{
	struct gvmd_container *container = &gvmd->step->containers[index];
	const char *last = "";

	container->known = 0;
	for (int i = 0; i < GVMD_METRICS; i++) {
		const char *file = gvmd_metrics[i].file;
		char text[DAEMON_READ_MAX];

		if (strcmp(file, last) != 0 &&
		    gvmd->world->read(gvmd->data, index, file, text, sizeof(text), false) >= 0)
			gvmd_metrics_take(container, file, text);
		last = file;
	}
	container->running = gvmd_known(container, GVMD_GMEM_CURRENT);
	if (!container->running)
		daemon_forget(gvmd, index);
}

/* The saved texts of a file, or NULL. */
static struct gvmd_kept *daemon_find_kept(struct gvmd *gvmd, u32 index, const char *file)
{
	for (size_t i = 0; i < gvmd->kept_count; i++)
		if (gvmd->kept[i].container == index && !strcmp(gvmd->kept[i].file, file))
			return &gvmd->kept[i];
	return NULL;
}

/* The saved texts of a file, with its present text at first. NULL: it cannot be kept. */
static struct gvmd_kept *daemon_keep(struct gvmd *gvmd, u32 index, const char *file)
{
	struct gvmd_kept *kept = daemon_find_kept(gvmd, index, file);

	if (kept)
		return kept;
	if (gvmd->kept_count == gvmd->kept_room) {
		size_t room = gvmd->kept_room ? 2 * gvmd->kept_room : 16;

		kept = realloc(gvmd->kept, room * sizeof(*kept));
		if (!kept)
			return NULL;
		gvmd->kept = kept;
		gvmd->kept_room = room;
	}
	kept = &gvmd->kept[gvmd->kept_count];
	*kept = (struct gvmd_kept){ .container = index };
	snprintf(kept->file, sizeof(kept->file), "%s", file);
	if (daemon_read(gvmd, index, file, kept->before, sizeof(kept->before)))
		return NULL;
	memcpy(kept->after, kept->before, sizeof(kept->after));
	gvmd->kept_count++;
	return kept;
}

/* Read a kept file again after a write. */
static void daemon_note_after(struct gvmd *gvmd, u32 index, const char *file)
{
	struct gvmd_kept *kept = daemon_keep(gvmd, index, file);

	if (kept)
		daemon_read(gvmd, index, file, kept->after, sizeof(kept->after));
}

/* Apply one write. A write to a container that has just gone fails, which is no mistake. */
static void daemon_apply(struct gvmd *gvmd, const struct gvmd_write *write)
{
	bool priority = !strcmp(write->file, "compute.priority");
	int status = -ENOENT;

	if (priority)
		daemon_keep(gvmd, write->container, "compute.timeslice");
	if (gvmd->step->containers[write->container].running &&
	    daemon_keep(gvmd, write->container, write->file))
		status = gvmd->world->write(gvmd->data, write->container, write->file,
					    write->text, write->no_wait);
	if (status)
		gvmd->refused++;
	else
		gvmd->writes++;
	daemon_note_after(gvmd, write->container, write->file);
	if (priority)
		daemon_note_after(gvmd, write->container, "compute.timeslice");
	gvmd->world->wrote(gvmd->data, write, status, false);
}

/*
 * All files are looked at before one is written, because a priority changes a timeslice. The
 * last file comes first: a priority stands after its timeslice.
 */
void gvmd_restore(struct gvmd *gvmd)
{
	for (size_t i = gvmd->kept_count; i-- > 0;) {
		struct gvmd_kept *kept = &gvmd->kept[i];
		const struct gvmd_kept *priority =
			daemon_find_kept(gvmd, kept->container, "compute.priority");
		bool reset = !strcmp(kept->file, "compute.timeslice") && priority &&
			     priority->put_back;
		char now[GVMD_TEXT_MAX];

		kept->put_back =
			(reset || strcmp(kept->before, kept->after) != 0) &&
			!daemon_read(gvmd, kept->container, kept->file, now, sizeof(now)) &&
			!strcmp(now, kept->after);
	}
	while (gvmd->kept_count) {
		const struct gvmd_kept *kept = &gvmd->kept[--gvmd->kept_count];
		struct gvmd_write write = { .container = kept->container, .no_wait = true };
		int status;

		if (!kept->put_back)
			continue;
		memcpy(write.file, kept->file, sizeof(write.file));
		memcpy(write.text, kept->before, sizeof(write.text));
		status = gvmd->world->write(gvmd->data, write.container, write.file, write.text,
					    write.no_wait);
		gvmd->world->wrote(gvmd->data, &write, status, true);
	}
}

int gvmd_tick(struct gvmd *gvmd, u64 now_ns)
{
	struct gvmd_step *step = gvmd->step;
	int status;

	if (gvmd->stopped)
		return -ECANCELED;
	for (u32 i = 0; i < step->container_count; i++)
		daemon_sample(gvmd, i);
	step->now_ns = now_ns;
	step->write_count = 0;
	*step->why = '\0';
	gvmd->steps++;
	status = gvmd->world->decide(gvmd->data, step);
	for (u32 i = 0; !status && i < step->write_count; i++)
		if (step->writes[i].container >= step->container_count)
			status = gvmd_fail(step, -EINVAL, "a write to no container");
	for (u32 i = 0; !status && i < step->write_count; i++)
		daemon_apply(gvmd, &step->writes[i]);
	if (!status)
		return 0;
	if (!*step->why)
		gvmd_fail(step, status, "error %d: %s", -status, strerror(-status));
	gvmd->stopped = true;
	gvmd_restore(gvmd);
	return status;
}
