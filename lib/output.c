/* SPDX-License-Identifier: Apache-2.0 */
/* Comes in: the changes of the text. Goes out: the new text; every byte outside them is the old one. */
#include "lib/internal.h"

struct slice write_output(struct box *box)
{
	return (struct slice){box->job.source.text, box->job.source.size};
}
