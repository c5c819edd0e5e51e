// SPDX-License-Identifier: MIT OR GPL-2.0
#include "terminal/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "gvm/port.h"

#define PROGRESS_PERIOD_NS 100000000ull /* of wall time */
#define PROGRESS_LINE_MAX  80
#define NS_PER_S	   1e9

/* A process runs one simulation, so it has one line of progress. */
static struct {
	bool drawing;
	u64 start_ns; /* wall clock */
	u64 next_ns;  /* do not draw before */
	int width;    /* of the text on the screen */
} progress;

static u64 wall_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000ull + (u64)now.tv_nsec;
}

void progress_start(bool wanted)
{
	progress.drawing = wanted && isatty(STDERR_FILENO);
	progress.start_ns = wall_clock_ns();
	progress.next_ns = progress.start_ns + PROGRESS_PERIOD_NS;
	progress.width = 0;
}

/* The columns that a line may use: one less than the terminal has, so that nothing wraps. */
static int line_room(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 2 ||
	    size.ws_col > PROGRESS_LINE_MAX)
		return PROGRESS_LINE_MAX - 1;
	return size.ws_col - 1;
}

/*
 * Write @text over the present line, with one write(). stdio would need 8 KiB of stack, and the
 * simulation's threads have small ones.
 */
static void draw(const char *text, int length)
{
	char line[2 * PROGRESS_LINE_MAX + 4];
	int width = max(length, progress.width);
	int size;

	size = snprintf(line, sizeof(line), "\r%-*.*s\r", width, length, text);
	if (write(STDERR_FILENO, line, (size_t)size) != size)
		progress.drawing = false; /* the terminal has gone */
	progress.width = length;
}

static void format_eta(double seconds, char *text, size_t size)
{
	unsigned long whole = (unsigned long)(seconds + 0.5);

	if (seconds < 60)
		snprintf(text, size, "%.1f s", seconds);
	else if (seconds < 3600)
		snprintf(text, size, "%lu min %02lu s", whole / 60, whole % 60);
	else
		snprintf(text, size, "%lu h %02lu min", whole / 3600, whole / 60 % 60);
}

void progress_update(double done_s, double whole_s)
{
	u64 now_ns = progress.drawing ? wall_clock_ns() : 0;
	double wall_s = (double)(now_ns - progress.start_ns) / NS_PER_S;
	char line[PROGRESS_LINE_MAX], eta[32];
	int length;

	if (!progress.drawing || now_ns < progress.next_ns || done_s <= 0)
		return;
	progress.next_ns = now_ns + PROGRESS_PERIOD_NS;
	format_eta(done_s < whole_s ? wall_s * (whole_s - done_s) / done_s : 0, eta,
		   sizeof(eta));
	length = snprintf(line, sizeof(line),
			  "%7.1f of %.1f s simulated, %3.0f %%, %.0f times real time, %s left",
			  done_s, whole_s, 100 * done_s / whole_s, done_s / wall_s, eta);
	draw(line, min(length, line_room()));
}

void progress_line(const char *text)
{
	if (progress.drawing)
		draw(text, min((int)strlen(text), line_room()));
}

void progress_end(void)
{
	if (progress.drawing && progress.width)
		draw("", 0);
	progress.drawing = false;
}
