/* SPDX-License-Identifier: Apache-2.0 */
/* Comes in: files done. Goes out: a bar on standard error, at most ten times a second, or nothing.
 */
#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

static double since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) / 1e9;
}

void progress_start(
	struct progress *progress, const struct settings *settings, uint32_t files, size_t bytes)
{
	*progress = (struct progress){.of_files = files, .of_bytes = bytes};
	progress->shown =
		!settings->quiet && isatty(STDERR_FILENO) && (settings->progress || files > 8);
	clock_gettime(CLOCK_MONOTONIC, &progress->start);
}

void progress_step(struct progress *progress, size_t bytes)
{
	progress->files++;
	progress->bytes += bytes;
	if (!progress->shown || (progress->last.tv_sec && since(&progress->last) < 0.1))
		return;
	double part = progress->of_bytes ? (double)progress->bytes / (double)progress->of_bytes : 1;
	double left = part > 0 ? since(&progress->start) * (1 - part) / part : 0;
	int cells = (int)(part * 20);

	fprintf(stderr, "\r\033[K[%.*s%.*s] %u/%u files, %.1f/%.1f MB", cells,
		"####################", 20 - cells, "....................", progress->files,
		progress->of_files, (double)progress->bytes / 1e6,
		(double)progress->of_bytes / 1e6);
	if (since(&progress->start) > 0.5)
		fprintf(stderr, ", %.0f s left", left);
	fflush(stderr);
	progress->drawn = true;
	clock_gettime(CLOCK_MONOTONIC, &progress->last);
}

void progress_clear(struct progress *progress)
{
	if (progress->drawn)
		fputs("\r\033[K", stderr);
	progress->drawn = false;
}
