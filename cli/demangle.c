/* SPDX-License-Identifier: Apache-2.0 */
/* Names of C++ kernels as a person writes them, by the C++ runtime's own demangler. */
#include "cli/report.h"

#include <stdlib.h>
#include <string.h>

/* C linkage in libstdc++ (the Itanium C++ ABI, 3.4); there is no C header for it. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *size, int *status);

char *demangle(const char *name)
{
	int status = 0;
	char *out = strncmp(name, "_Z", 2) == 0 ? __cxa_demangle(name, NULL, NULL, &status) : NULL;

	return out && status == 0 ? out : strdup(name);
}
