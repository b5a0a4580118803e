/* SPDX-License-Identifier: Apache-2.0 */
/* What the HTML report needs of the stages, kept when their memory is given back. */
#pragma once

#include "analysis/analyse.h"

enum line_role {
	LINE_GENERIC = 1,
	LINE_ASYNC = 2,
	LINE_FENCE = 4,
	LINE_SYNC = 8
};

struct page_kernel {
	char *name;
	uint32_t first, last;  /* lines of the kernel */
	uint8_t *roles;        /* by line - first: enum line_role bits; callees outside have none */
	char *picture;         /* SVG, or NULL: no graphviz, too large, or nothing to see */
	uint32_t blocks;
};

struct page {
	struct page_kernel *v;
	uint32_t n, cap, npictures;
	const char *anchor; /* prefix of the anchors of this file's lines */
};

/* An observer's function; the context is a struct page. */
void page_see(const struct analysis_view *, const struct kernel_result *, void *page);
void page_free(struct page *);
