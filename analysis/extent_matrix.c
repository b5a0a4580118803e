/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In: an instruction that reads a matrix through a descriptor. Out: where the matrix starts and how
 * many bytes it spans. The shape comes from the instruction (wgmma, tcgen05.cp) or from the
 * instruction descriptor (tcgen05.mma), the strides and the swizzle mode from the matrix
 * descriptor; ISA 9.7.15.5.1, 9.7.16.3, 9.7.16.4 and the canonical layouts there. What is not known
 * is taken at its largest.
 */
#include "analysis/extent_matrix.h"

#define ANY_BYTES UINT64_MAX

/* One operand of one instruction. Its rows run along M or N. */
struct matrix {
	uint32_t rows, k_bytes; /* of K: elements times their size */
	uint32_t element;	/* bytes; 0: any of 1, 2, 4 */
	bool k_major, mn_major; /* both: not known */
};

struct swizzle {
	uint32_t row;	    /* bytes of a row of the pattern */
	uint32_t k_columns; /* of an atom of an MN-major matrix */
};

static struct slice opcode_slice(const struct function *fn, const struct insn *insn)
{
	struct span at = insn_opcode_at(fn, insn);

	return (struct slice){fn->module->source->text + at.begin, at.end - at.begin};
}

/* The M, N, K of a modifier .m64n128k16. */
static bool shape_of(const struct function *fn, const struct insn *insn, uint32_t shape[3])
{
	struct slice text = opcode_slice(fn, insn);

	for (size_t i = 0; i + 3 < text.size; i++) {
		const char *p = text.text + i;
		size_t at = i + 1;

		if (p[0] != '.' || p[1] != 'm' || p[2] < '0' || p[2] > '9')
			continue;
		for (uint32_t k = 0; k < 3; k++) {
			if (at >= text.size || text.text[at] != "mnk"[k])
				return false;
			shape[k] = 0;
			for (at++; at < text.size && text.text[at] >= '0' && text.text[at] <= '9';
				at++)
				shape[k] = shape[k] * 10 + (uint32_t)(text.text[at] - '0');
		}
		return true;
	}
	return false;
}

/* Immediate trans-a / trans-b at the end of a 16-bit wgmma (ISA 9.7.15.5.2), when operand is A or
 * B. */
static bool is_transposed(const struct function *fn, const struct insn *insn, uint8_t operand)
{
	const struct operand *a = insn_operand(fn, insn, 1);
	bool a_in_shared = a && a->kind == OPERAND_REG;
	bool sixteen = insn_has(insn, MOD_f16) || insn_has(insn, MOD_bf16);
	uint32_t sparse = insn_has(insn, MOD_sp) ? 2 : 0, plain = 6 + sparse;
	const struct operand *o = NULL;

	if (!sixteen || insn->count <= plain)
		return false;
	if (operand == 1 && a_in_shared)
		o = insn_operand(fn, insn, plain);
	else if (operand == 2)
		o = insn_operand(fn, insn, plain + (a_in_shared ? 1 : 0));
	return o && !(o->kind == OPERAND_IMM && o->imm == 0);
}

/* Modes of tcgen05; those of wgmma are half of theirs (1: 128 bytes, 2: 64, 3: 32). */
static bool swizzle_of(uint32_t mode, struct swizzle *s)
{
	static const struct swizzle modes[] = {
		{16, 8}, {128, 4}, {128, 8}, {0, 0}, {64, 8}, {0, 0}, {32, 8}, {0, 0}};

	*s = modes[mode & 7];
	return s->row;
}

static uint64_t parts(uint32_t n, uint32_t of)
{
	return (n + of - 1) / of;
}

/* K-major: rows in groups of eight, SBO apart; without swizzle each 16 bytes of K are LBO apart. */
static uint64_t k_major_bytes(
	const struct matrix *m, const struct swizzle *s, const struct descriptor *d)
{
	uint64_t bytes = (parts(m->rows, 8) - 1) * d->sbo + 8u * s->row;

	if (s->row == 16)
		bytes += (parts(m->k_bytes, 16) - 1) * d->lbo;
	else if (m->k_bytes > s->row) /* no layout of the manual is like this */
		bytes += m->k_bytes + d->lbo;
	return bytes;
}

/* MN-major: atoms of one row by `k_columns`. They repeat along M or N every LBO and along K every
 * SBO, without swizzle the other way around. */
static uint64_t mn_major_bytes(const struct matrix *m, uint32_t element, const struct swizzle *s,
	const struct descriptor *d)
{
	uint64_t along_mn = parts(m->rows, s->row / element) - 1;
	uint64_t along_k = parts(m->k_bytes / element, s->k_columns) - 1;
	uint64_t mn = s->row == 16 ? d->sbo : d->lbo, k = s->row == 16 ? d->lbo : d->sbo;

	return along_mn * mn + along_k * k + (uint64_t)s->k_columns * s->row;
}

static uint64_t matrix_bytes(
	const struct matrix *m, const struct swizzle *s, const struct descriptor *d)
{
	uint64_t most = m->k_major ? k_major_bytes(m, s, d) : 0;

	for (uint32_t element = 1; m->mn_major && element <= 4; element *= 2) {
		uint64_t bytes = mn_major_bytes(m, element, s, d);

		if ((!m->element || m->element == element) && bytes > most)
			most = bytes;
	}
	return most;
}

/* All starts leave room in their row for the bytes that one row reads. */
static bool stays_in_row(const struct value *v, uint32_t row, uint32_t bytes)
{
	uint64_t step = v->stride % row ? v->stride & -v->stride : row;
	uint64_t rest = (uint64_t)v->lo % row % step;

	/* the last start in a row is a multiple of the step, and the rest, into it */
	return rest + (step < row ? row - step : (uint64_t)v->lo % row - rest) + bytes <= row;
}

/* Moves a start down to the beginning of its row: swizzling mixes the chunks of a row. `bytes` of
 * the row are read from the start on. */
static void round_to_row(struct matrix_place at, struct extent *e, uint32_t row, uint32_t bytes)
{
	struct value *v = &e->address;
	uint32_t k = (uint32_t)__builtin_ctz(row);

	if (row <= 16 || v->lo < -VALUE_FAR || v->hi > VALUE_FAR) {
		e->bytes += row <= 16 ? 0 : row;
		return;
	}
	bool aligned = v->aux >= k;

	if (aligned && value_alignment_assumed(at.values, v, k))
		e->assumptions |= ASSUME_ALIGNED_TMA;

	/* operands of a swizzle mode start in patterns that are aligned to them (ISA 9.7.15.5.1) */
	if (!aligned && (at.options->assume & ASSUME_ALIGNED_TMA)) {
		aligned = true;
		e->assumptions |= ASSUME_ALIGNED_TMA;
	}
	if (!aligned || !stays_in_row(v, row, bytes))
		e->bytes += row;
	if (aligned) { /* each start goes down to a multiple of the row */
		v->lo &= -(int64_t)row;
		v->hi &= -(int64_t)row;
		if (v->stride % row != 0)
			v->stride = row;
		if (v->lo == v->hi)
			v->stride = 0;
		return;
	}
	v->lo -= row - 16; /* starts anywhere in its row */
	if (v->stride)
		v->stride = 1;
	else
		v->hi -= row - 16, e->bytes += row - 16;
}

static bool wgmma_matrix(
	const struct function *fn, const struct insn *insn, uint8_t operand, struct matrix *m)
{
	uint32_t shape[3];

	if (!shape_of(fn, insn, shape))
		return false;
	bool transposed = is_transposed(fn, insn, operand);

	*m = (struct matrix){.rows = operand == 1 ? shape[0] : shape[1],
		/* K is 32 bytes; B of a sparse product has twice as many */
		.k_bytes = insn_has(insn, MOD_sp) && operand == 2 ? 64 : 32,
		.element = 2,
		.k_major = !transposed,
		.mn_major = transposed};
	return true;
}

static bool copy_matrix(const struct insn *insn, struct matrix *m)
{
	bool wide = insn_has(insn, MOD_128x256b) || insn_has(insn, MOD_4x256b);

	*m = (struct matrix){.k_bytes = wide ? 32 : 16, .k_major = true};
	m->rows = insn_has(insn, MOD_128x256b) || insn_has(insn, MOD_128x128b) ? 128
		  : insn_has(insn, MOD_64x128b)				       ? 64
		  : insn_has(insn, MOD_32x128b)				       ? 32
		  : insn_has(insn, MOD_4x256b)				       ? 4
									       : 0;
	return m->rows;
}

static uint32_t element_of_kind(const struct insn *insn)
{
	if (insn_has(insn, MOD_kind__f16))
		return 2;
	if (insn_has(insn, MOD_kind__tf32))
		return 4;
	return insn_has(insn, MOD_kind__f8f6f4) || insn_has(insn, MOD_kind__i8) ||
			       insn_has(insn, MOD_kind__mxf8f6f4)
		       ? 1
		       : 0;
}

/* Bits 15 to 28 and 31 of the instruction descriptor: majorness, N, M, and K of 4-bit kinds (ISA
 * 9.7.16.4.2). Those between are the number of A's scales, which goes by the round. */
#define DESCRIPTOR_BITS UINT32_C(0x9fff8000)

static bool instruction_descriptor(struct matrix_place at, const struct insn *insn, uint32_t *bits)
{
	const struct operand *o = insn_operand(at.fn, insn, insn_has(insn, MOD_sp) ? 4 : 3);
	uint32_t open;

	if (!o || (o->kind != OPERAND_REG && o->kind != OPERAND_IMM))
		return false;
	if (value_bits(at.values, o, bits, &open) && !(open & DESCRIPTOR_BITS))
		return true;
	struct value v = value_of(at.values, at.insn, o);

	if (v.base != BASE_NUMBER || v.assumptions || v.lo < 0 || v.hi > UINT32_MAX ||
		v.lo >> 15 != v.hi >> 15)
		return false;
	*bits = (uint32_t)v.lo & ~UINT32_C(0x7fff);
	return true;
}

static struct matrix mma_matrix(struct matrix_place at, const struct insn *insn, uint8_t operand)
{
	bool four_bits = insn_has(insn, MOD_kind__mxf4) || insn_has(insn, MOD_kind__mxf4nvf4);
	bool scaled = four_bits || insn_has(insn, MOD_kind__mxf8f6f4);
	uint32_t sparse = insn_has(insn, MOD_sp) && operand == 2 ? 2 : 1, bits;
	bool pair = insn_has(insn, MOD_cta_group__2);
	/* at most 128 rows of A and 256 of B for each CTA, for one of a pair half of B (ISA 9.7.16.2.1) */
	struct matrix m = {.rows = operand == 2 && !pair ? 256 : 128,
		.k_bytes = (four_bits ? 48 : 32) * sparse,
		.element = element_of_kind(insn),
		.k_major = true,
		.mn_major = !four_bits};

	if (!instruction_descriptor(at, insn, &bits))
		return m;
	uint32_t rows = operand == 2 ? (bits >> 17 & 63) * 8
			: scaled     ? (bits >> 27 & 3) * 128
				     : (bits >> 24 & 31) * 16;

	if (rows && rows <= 256)
		m.rows = pair ? (rows + 1) / 2 : rows;
	if (four_bits && !(bits >> 31))
		m.k_bytes = 32 * sparse;
	m.mn_major = !four_bits && (bits >> (operand == 1 ? 15 : 16) & 1);
	m.k_major = !m.mn_major;
	return m;
}

void matrix_extent(struct matrix_place at, const struct touch *t, struct extent *e)
{
	const struct insn *insn = &at.fn->insns[at.insn];
	bool wgmma = t->extent == EXTENT_WGMMA;
	struct descriptor d;
	struct matrix m;
	struct swizzle s;

	e->bytes = ANY_BYTES;
	if (!value_descriptor(at.values, &e->address, &d)) {
		e->address.base = BASE_UNKNOWN;
		return;
	}
	e->address = d.start;
	if (wgmma)
		e->bytes = 65536;
	if (!d.high_known || d.absolute || !swizzle_of(wgmma ? d.swizzle & 6 : d.swizzle, &s))
		return;
	if (wgmma ? !wgmma_matrix(at.fn, insn, t->operand, &m)
		  : insn_has(insn, MOD_cp) && !copy_matrix(insn, &m))
		return;
	if (!wgmma && !insn_has(insn, MOD_cp))
		m = mma_matrix(at, insn, t->operand);
	e->bytes = matrix_bytes(&m, &s, &d);
	if (d.sbo % s.row || (m.mn_major && d.lbo % s.row)) /* later atoms start within a row */
		e->bytes += s.row;
	round_to_row(at, e, s.row, m.mn_major ? s.row : m.k_bytes);
}

bool matrix_rows(struct matrix_place at, const struct touch *t, struct matrix_rows *out)
{
	const struct operand *o = insn_operand(at.fn, &at.fn->insns[at.insn], t->operand);
	struct descriptor d;
	struct matrix m;
	struct swizzle s;

	if (t->extent != EXTENT_WGMMA || !o)
		return false;
	struct value v = value_of(at.values, at.insn, o);

	if (!value_descriptor(at.values, &v, &d) || !d.high_known || d.absolute || d.base_offset ||
		!swizzle_of(d.swizzle & 6, &s) ||
		!wgmma_matrix(at.fn, &at.fn->insns[at.insn], t->operand, &m) || !m.k_major)
		return false;
	uint32_t pattern = 8 * s.row, k = (uint32_t)__builtin_ctz(pattern);

	*out = (struct matrix_rows){d.start, m.rows, s.row, d.sbo, m.k_bytes, 0};
	bool part_of_rows = m.k_bytes < s.row, gaps = m.k_bytes == s.row && d.sbo > pattern;

	if ((!part_of_rows && !gaps) || d.sbo % pattern || d.start.lo < 0 || d.start.lo % 16 ||
		d.start.lo % pattern + m.k_bytes > s.row || d.start.stride % pattern)
		return false;
	/* operands of a swizzle mode start in patterns that are aligned to them (ISA 9.7.15.5.1) */
	if (d.start.aux < k && !(at.options->assume & ASSUME_ALIGNED_TMA))
		return false;
	if (d.start.aux < k || value_alignment_assumed(at.values, &d.start, k))
		out->assumptions = ASSUME_ALIGNED_TMA;
	return true;
}
