/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command line goes in, the status of the child comes out, and its messages go to stderr line by
 * line as they come. ptxas says all it says on stderr; its stdout is left alone, so that it may be
 * a file that is written anywhere.
 *
 * Invariant: between fork and exec no handler of ours can run in the child.
 */
#include "cli/shim_run.h"

#include "cli/shim_args.h"
#include "cli/shim_temp.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void shim_run_instead(const char *program, char *const *argv)
{
	execve(program, argv, environ);
}

/* The child: handlers off, then the mask back, then the program. */
static _Noreturn void become(
	const char *program, char *const *argv, int messages, const sigset_t *mask)
{
	for (int number = 1; number < NSIG; number++) {
		struct sigaction action;
		if (!sigaction(number, NULL, &action) && action.sa_handler != SIG_IGN)
			signal(number, SIG_DFL);
	}
	if (messages >= 0)
		dup2(messages, STDERR_FILENO);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execve(program, argv, environ);
	_exit(errno == ENOENT ? 127 : 126);
}

static pid_t start(const char *program, char *const *argv, int messages)
{
	sigset_t all, before;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid_t process = fork();
	if (process == 0)
		become(program, argv, messages, &before);
	if (process > 0)
		shim_temp_child(process);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return process;
}

static void pass_messages(int from, const struct shim_place *places, uint32_t n)
{
	FILE *in = fdopen(from, "r");
	char *line = NULL;
	size_t room = 0;
	ssize_t size;
	if (!in)
		return;
	while ((size = getline(&line, &room, in)) > 0) {
		shim_map_message(places, n, line, (size_t)size, stderr);
		fflush(stderr);
	}
	free(line);
	fclose(in);
}

static int wait_for(pid_t process)
{
	int status;
	while (waitpid(process, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	shim_temp_child(0);
	return status;
}

int shim_run(const char *program, char *const *argv, const struct shim_place *places, uint32_t n)
{
	int ends[2] = {-1, -1};
	signal(SIGCHLD, SIG_DFL); /* ignored, the status would be lost */
	if (n && pipe2(ends, O_CLOEXEC))
		return -1;
	pid_t process = start(program, argv, ends[1]);
	if (n)
		close(ends[1]);
	if (process > 0 && n)
		pass_messages(ends[0], places, n);
	return process > 0 ? wait_for(process) : -1;
}

_Noreturn void shim_run_end(int wait_status)
{
	if (wait_status < 0)
		exit(2);
	if (!WIFSIGNALED(wait_status))
		exit(WEXITSTATUS(wait_status));
	shim_temp_end();
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* the core that counts is the child's */
	signal(WTERMSIG(wait_status), SIG_DFL);
	raise(WTERMSIG(wait_status));
	exit(128 + WTERMSIG(wait_status));
}
