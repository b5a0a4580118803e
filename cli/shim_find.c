/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment goes in, the path of the real ptxas comes out. fencepost-ptxas may itself be
 * called ptxas (a link in a folder ahead on PATH, a copy in a toolkit), and what FENCEPOST_PTXAS
 * names may be a script that calls ptxas by PATH again. So each program of a chain of calls is
 * noted, by device and inode, in the variable FENCEPOST_CHAIN, and none of them is called a second
 * time.
 *
 * Invariant: a chain of calls gets longer by at least one file at each step, so it ends.
 */
#include "cli/shim_find.h"

#include "cli/shim_args.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHAIN "FENCEPOST_CHAIN"

struct identity {
	char text[48]; /* ":device.inode:" */
};

static bool identify(const char *path, struct identity *identity)
{
	struct stat stat_of;
	if (stat(path, &stat_of) || !S_ISREG(stat_of.st_mode))
		return false;
	snprintf(identity->text, sizeof identity->text,
		":%llx.%llx:", (unsigned long long)stat_of.st_dev,
		(unsigned long long)stat_of.st_ino);
	return true;
}

bool shim_find_guarded(void)
{
	const char *chain = getenv(CHAIN);
	return chain && *chain;
}

static bool in_chain(const struct identity *identity)
{
	const char *chain = getenv(CHAIN);
	return chain && strstr(chain, identity->text);
}

/* Without /proc, as in a bare chroot, the kernel still says by which path it started us. */
static bool identify_self(struct identity *identity)
{
	const char *started = (const char *)(uintptr_t)getauxval(AT_EXECFN);
	return identify("/proc/self/exe", identity) || (started && identify(started, identity));
}

static bool is_self(const struct identity *identity)
{
	struct identity self;
	return identify_self(&self) && !strcmp(self.text, identity->text);
}

static bool may_call(const char *path)
{
	struct identity identity;
	return !access(path, X_OK) && identify(path, &identity) && !in_chain(&identity) &&
	       !is_self(&identity);
}

static char *joined(const char *folder, size_t size, const char *name)
{
	char *path = shim_grown(NULL, size + strlen(name) + 3);
	if (size)
		sprintf(path, "%.*s/%s", (int)size, folder, name);
	else /* an empty entry of PATH is the current folder */
		sprintf(path, "./%s", name);
	return path;
}

static char *on_path(const char *name)
{
	const char *path = getenv("PATH");
	while (path) {
		size_t size = strcspn(path, ":");
		char *candidate = joined(path, size, name);
		if (may_call(candidate))
			return candidate;
		free(candidate);
		path = path[size] ? path + size + 1 : NULL;
	}
	return NULL;
}

static char *by_name(const char *name)
{
	if (!strchr(name, '/'))
		return on_path(name);
	return may_call(name) ? strdup(name) : NULL;
}

char *shim_find_ptxas(const char *named, const char **problem)
{
	const char *asked = getenv("FENCEPOST_PTXAS");
	if (asked && *asked) {
		char *path = by_name(asked);
		if (path)
			return path;
		if (access(asked,
			    X_OK)) { /* else it is ourselves, or in the chain: the next on PATH */
			*problem = "FENCEPOST_PTXAS names no program";
			return NULL;
		}
	}
	char *path = named && strchr(named, '/') ? by_name(named) : NULL;
	if (!path)
		path = on_path("ptxas");
	*problem = "no ptxas on PATH but this one; set FENCEPOST_PTXAS to the real one";
	return path;
}

void shim_find_guard(const char *real)
{
	struct identity self = {0}, target = {0};
	const char *chain = getenv(CHAIN);
	if (!identify_self(&self) || !identify(real, &target))
		return;
	size_t size = (chain ? strlen(chain) : 0) + sizeof self.text + sizeof target.text;
	char *text = shim_grown(NULL, size);
	snprintf(text, size, "%s%s%s", chain ? chain : "", self.text, target.text);
	setenv(CHAIN, text, 1);
	free(text);
}
