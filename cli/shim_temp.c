/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts go in, paths of files that hold them come out: $TMPDIR/fencepost-XXXXXX/N/NAME, each in a
 * folder of its own so that NAME can be the input's own name, which ptxas -g puts into its output.
 * exit(), and each signal that would end the program, removes them first; the signal is passed on
 * to ptxas too.
 *
 * Invariant: a path is in the table before the file or folder exists, and the handler only reads
 * the table and calls what POSIX allows in a handler.
 */
#include "cli/shim_temp.h"

#include "cli/shim_args.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct temp {
	char *folder, *file;
};

/* Of the process, as its signal handlers are; nothing below cli/ has such state. */
static struct temp *temps;
static volatile sig_atomic_t ntemps;
static char *volatile folder;
static char *volatile folder_text; /* what `folder` points to: it lives as long as the process */
static volatile sig_atomic_t child;

static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2,
	SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};

void shim_temp_end(void)
{
	while (ntemps > 0) {
		unlink(temps[ntemps - 1].file);
		rmdir(temps[ntemps - 1].folder);
		ntemps = ntemps - 1;
	}
	if (folder)
		rmdir(folder);
	folder = NULL;
}

static void on_signal(int signal_number)
{
	if (child > 0)
		kill((pid_t)child, signal_number);
	shim_temp_end();
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

/* A signal that the caller had us ignore (nohup) stays ignored. */
static void watch(void)
{
	struct sigaction action = {.sa_handler = on_signal}, before;
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
		sigaction(ending[i], NULL, &before);
		if (before.sa_handler == SIG_DFL)
			sigaction(ending[i], &action, NULL);
	}
}

/* No signal between mkdtemp() and the note of what it made. */
static const char *folder_make(void)
{
	const char *parent = getenv("TMPDIR");
	char *path;
	if (asprintf(&path, "%s/fencepost-XXXXXX", parent && *parent ? parent : "/tmp") < 0)
		return "out of memory";
	sigset_t all, before;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	folder_text = path;
	folder = mkdtemp(path);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return folder ? NULL : "no temporary folder can be made; is TMPDIR right?";
}

const char *shim_temp_begin(uint32_t n)
{
	temps = shim_grown(NULL, (n + 1) * sizeof *temps);
	atexit(shim_temp_end);
	watch();
	return folder_make();
}

static bool write_all(int file, const char *text, size_t size)
{
	while (size) {
		ssize_t wrote = write(file, text, size);
		if (wrote < 0 && errno != EINTR)
			return false;
		if (wrote > 0) {
			text += wrote;
			size -= (size_t)wrote;
		}
	}
	return true;
}

const char *shim_temp_file(const char *name, const char *text, size_t size)
{
	struct temp *temp = &temps[ntemps];
	if (asprintf(&temp->folder, "%s/%d", folder, (int)ntemps) < 0 ||
		asprintf(&temp->file, "%s/%s", temp->folder, name) < 0)
		return NULL;
	ntemps = ntemps + 1;
	if (mkdir(temp->folder, 0700))
		return NULL;
	int file = open(temp->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0)
		return NULL;
	bool good = write_all(file, text, size);
	return !close(file) && good ? temp->file : NULL;
}

void shim_temp_child(pid_t process)
{
	child = process;
}
