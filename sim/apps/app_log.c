// SPDX-License-Identifier: MIT OR GPL-2.0
/* What an application logged; see app_log.h. */
#include "apps/app_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_FIRST_ROOM 256

/*
 * Records in memory from which on some leave. Half of them stay, so that a report on the last
 * second (machine/waits.h) finds its records.
 */
#define LOG_KEPT 8192

/*
 * So many gaps, and as many as there are values, are folded at once: each
 * merge passes over all values.
 */
#define LOG_FOLDED_GAPS ((size_t)1 << 17)

/* Room for one more element in an array, which doubles. Returns 0 or -ENOMEM. */
static int log_grow(void **array, size_t count, size_t *room, size_t size)
{
	size_t wanted = *room ? 2 * *room : LOG_FIRST_ROOM;
	void *grown;

	if (count < *room)
		return 0;
	grown = reallocarray(*array, wanted, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*room = wanted;
	return 0;
}

/* Open a file without a name in the log's folder. Returns a descriptor, or -1. */
static int scratch_open(const char *folder)
{
	char path[4096];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 ||
	    snprintf(path, sizeof(path), "%s/gvmsim-XXXXXX", folder) >= (int)sizeof(path))
		return fd;
	/* Some file systems, such as NFS, have no files without a name. */
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

/* Write @count records after those in the scratch file. Returns 0 or -1. */
static int scratch_write(const struct app_log *log, size_t count)
{
	const char *bytes = (const char *)log->records;
	size_t left = count * sizeof(*log->records);
	off_t at = (off_t)(log->passed * sizeof(*log->records));

	while (left) {
		ssize_t written = pwrite(log->scratch, bytes, left, at);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return -1;
		bytes += written;
		at += written;
		left -= (size_t)written;
	}
	return 0;
}

/* Read @count records of the scratch file, from number @first on. Returns 0 or -1. */
static int scratch_read(const struct app_log *log, size_t first, size_t count,
			struct app_record *records)
{
	char *bytes = (char *)records;
	size_t left = count * sizeof(*records);
	off_t at = (off_t)(first * sizeof(*records));

	while (left) {
		ssize_t got = pread(log->scratch, bytes, left, at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		bytes += got;
		at += got;
		left -= (size_t)got;
	}
	return 0;
}

/*
 * Put the oldest records into the scratch file, up to the first one that is open. Too few are
 * not worth it. If the file fails, the records that are left stay in memory.
 */
static void log_pass(struct app_log *log)
{
	size_t kept = log->record_count - log->passed, ended = 0;

	while (ended < kept / 2 && log->records[ended].outcome != APP_DROPPED)
		ended++;
	if (ended < kept / 4)
		return;
	if (!log->passed)
		log->scratch = scratch_open(log->scratch_folder);
	if (log->scratch < 0 || scratch_write(log, ended)) {
		if (!log->passed && log->scratch >= 0)
			close(log->scratch);
		log->scratch_folder = NULL;
		return;
	}
	log->passed += ended;
	memmove(log->records, &log->records[ended], (kept - ended) * sizeof(*log->records));
}

int app_log_add(struct app_log *log, const struct app_record *record)
{
	size_t kept = log->record_count - log->passed;
	int status;

	if (log->scratch_folder && kept >= LOG_KEPT && kept == log->record_room)
		log_pass(log);
	status = log_grow((void **)&log->records, log->record_count - log->passed,
			  &log->record_room, sizeof(*log->records));
	if (!status)
		*app_log_at(log, log->record_count++) = *record;
	return status;
}

int app_log_begin(struct app_log *log, u64 arrival_ns, struct app_record **ret_record)
{
	struct app_record record = {
		.id = log->record_count,
		.arrival_ns = arrival_ns,
		.outcome = APP_DROPPED,
	};
	int status = app_log_add(log, &record);

	if (!status)
		*ret_record = app_log_at(log, log->record_count - 1);
	return status;
}

const struct app_record *app_log_next(struct app_log_reader *reader)
{
	const struct app_log *log = reader->log;

	if (reader->failed || reader->next == log->record_count)
		return NULL;
	if (reader->next >= log->passed)
		return app_log_at(log, reader->next++);
	if (!reader->left) {
		size_t wanted = log->passed - reader->next;

		reader->have = wanted < APP_LOG_READ ? wanted : APP_LOG_READ;
		if (scratch_read(log, reader->next, reader->have, reader->buffer)) {
			reader->failed = true;
			return NULL;
		}
		reader->left = reader->have;
	}
	reader->next++;
	return &reader->buffer[reader->have - reader->left--];
}

int app_log_add_gap(struct app_log *log, enum app_gaps kind, u64 gap_ns)
{
	struct stats_weights *folded = &log->gaps[kind].folded;
	int status = 0;

	if (log->gaps[kind].count >= LOG_FOLDED_GAPS && log->gaps[kind].count >= folded->n) {
		status = stats_weights_add(folded, log->gaps[kind].ns, log->gaps[kind].count);
		if (!status)
			log->gaps[kind].count = 0;
		if (!status && folded->n > APP_LOG_VALUES_MAX)
			stats_weights_round(folded, APP_LOG_VALUE_BITS);
	}
	if (!status)
		status = log_grow((void **)&log->gaps[kind].ns, log->gaps[kind].count,
				  &log->gaps[kind].room, sizeof(*log->gaps[kind].ns));
	if (!status)
		log->gaps[kind].ns[log->gaps[kind].count++] = gap_ns;
	return status;
}

void app_log_destroy(struct app_log *log)
{
	free(log->records);
	if (log->passed)
		close(log->scratch);
	for (int kind = 0; kind < APP_GAP_KINDS; kind++) {
		free(log->gaps[kind].ns);
		free(log->gaps[kind].folded.list);
	}
	*log = (struct app_log){ 0 };
}
