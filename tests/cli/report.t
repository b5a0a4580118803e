The text report tells the whole story.

$ fencepost --check ws.ptx
1 ws.ptx:108:2: error: `st.shared.v4.u32' writes shared memory that `wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16' in line 178 reads through the async proxy, with no proxy fence on the way [missing-raw]
1    108 | 	st.shared.v4.u32 	[%r49], {%r45, %r38, %r39, %r40};
1        | 	^~~~~~~~~~~~~~~~
1 ws.ptx:121:1: note: handed over to other threads here (release)
1    121 | mbarrier.arrive.shared::cta.b64 state, [%r58];
1        | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
1 ws.ptx:165:1: note: and taken over here (acquire)
1    165 | mbarrier.try_wait.parity.shared::cta.b64 P1, [%r18], %r19;
1        | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
1 ws.ptx:178:1: note: the async access is here
1    178 | wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f36, %f35, %f34, %f33}, %rd4, %rd5, p, 1, 1, 0, 0;
1        | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
1        = kernel: ws_convert_gemm; confidence: likely
1        = do: put `fence.proxy.async.shared::cta;' before line 121, in every thread that writes
1 
1 ws.ptx:114:2: error: `st.shared.v4.u32' writes shared memory that `wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16' in line 178 reads through the async proxy, with no proxy fence on the way [missing-raw]
1    114 | 	st.shared.v4.u32 	[%r5], {%r50, %r51, %r52, %r53};
1        | 	^~~~~~~~~~~~~~~~
1 ws.ptx:121:1: note: handed over to other threads here (release)
1    121 | mbarrier.arrive.shared::cta.b64 state, [%r58];
1        | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
1 ws.ptx:165:1: note: and taken over here (acquire)
1    165 | mbarrier.try_wait.parity.shared::cta.b64 P1, [%r18], %r19;
1        | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
1 ws.ptx:178:1: note: the async access is here
1    178 | wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f36, %f35, %f34, %f33}, %rd4, %rd5, p, 1, 1, 0, 0;
1        | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
1        = kernel: ws_convert_gemm; confidence: likely
1        = do: put `fence.proxy.async.shared::cta;' before line 121, in every thread that writes
1 
1 ws.ptx:19: findings: ws_convert_gemm (102 instructions, 8 generic, 1 async, 0 fences)
1 fencepost: 2 errors in 1 kernel of 1 file (verdicts: 1 findings)
= 1
$ fencepost --check --color=always missing.ptx | grep -c "$(printf '\033')"
1 7
$ fencepost missing.ptx -o out.ptx
2 missing.ptx:20:2: error: `st.shared.u32' writes shared memory that `cp.async.bulk.global.shared::cta.bulk_group' in line 24 reads through the async proxy, with no proxy fence on the way [missing-raw]
2     20 | 	st.shared.u32 [%r2], %r1;
2        | 	^~~~~~~~~~~~~
2 missing.ptx:24:2: note: the async access is here
2     24 | 	cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 512;
2        | 	^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
2        = kernel: store(float*); confidence: proven
2        = do: put `fence.proxy.async.shared::cta;' before line 21, in every thread that writes
2 
2 missing.ptx:21:2: inserted `fence.proxy.async.shared::cta;' before this line: before the release that hands the data over
2 missing.ptx:5: findings: store(float*) (13 instructions, 1 generic, 1 async, 0 fences)
2 fencepost: 1 error in 1 kernel of 1 file (verdicts: 1 findings); 1 fence inserted
$ fencepost --check -v hinted.ptx
1 hinted.ptx:21:2: error: `st.shared.u32' writes shared memory that `cp.async.bulk.global.shared::cta.bulk_group' in line 25 reads through the async proxy, with no proxy fence on the way [missing-raw]
1     21 | 	st.shared.u32 [%r2], %r1;
1        | 	^~~~~~~~~~~~~
1 hinted.ptx:25:2: note: the async access is here
1     25 | 	cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 512;
1        | 	^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
1        = kernel: store(float*); confidence: proven; suppressed
1        = hint: the reader does not mind
1 
1 hinted.ptx:5: clean: store(float*) (13 instructions, 1 generic, 1 async, 0 fences)
1 fencepost: no findings in 1 kernel of 1 file (verdicts: 1 clean); 1 suppressed by a hint
Source lines of -lineinfo, with the chain of inlined functions.
$ fencepost --check inlined.ptx
1 inlined.ptx:23:2: error: `st.shared.u32' writes shared memory that `cp.async.bulk.global.shared::cta.bulk_group' in line 29 reads through the async proxy, with no proxy fence on the way [missing-raw]
1     23 | 	st.shared.u32 [%r2], %r1;
1        | 	^~~~~~~~~~~~~
1        = source: store.cuh:11:3, in `store(int)'
1        = inlined at gemm.cu:20:7, in `fill(int)'
1        = inlined at gemm.cu:30:5
1 inlined.ptx:29:2: note: the async access is here
1     29 | 	cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 512;
1        | 	^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
1        = source: gemm.cu:33:5
1        = kernel: kernel(float*); confidence: proven
1        = do: put `fence.proxy.async.shared::cta;' before line 24, in every thread that writes; in the source: after store.cuh:11
1 
1 inlined.ptx:5: findings: kernel(float*) (13 instructions, 1 generic, 1 async, 0 fences)
1 fencepost: 1 error in 1 kernel of 1 file (verdicts: 1 findings)
= 1
$ fencepost --check --format=json inlined.ptx | grep -o '"source":{[^}]*}[^}]*}' | head -1
1 "source":{"file":"store.cuh","line":11,"column":3,"function":"_Z5storei","inlined_at":[{"file":"gemm.cu","line":20,"column":7},{"file":"gemm.cu","line":30,"column":5}
Hints.
$ fencepost --check hints.ptx
1 hints.ptx:25:2: warning: hint not obeyed: a reason is missing behind it [hint-invalid]
1     25 | 	// fencepost: ignore
1        | 	^~~~~~~~~~~~~~~~~~~~
1        = kernel: hints; confidence: proven
1        = do: write `// fencepost: ignore REASON' or `// fencepost: off REASON' ... `on'
1 
1 hints.ptx:29:2: warning: hint not obeyed: no `on' follows in this function [hint-invalid]
1     29 | 	// fencepost: off not closed
1        | 	^~~~~~~~~~~~~~~~~~~~~~~~~~~~
1        = kernel: hints; confidence: proven
1        = do: write `// fencepost: ignore REASON' or `// fencepost: off REASON' ... `on'
1 
1 hints.ptx:31:2: warning: hint not obeyed: not understood: say ignore, off, on, generic, async or neutral [hint-invalid]
1     31 | 	// fencepost: whatever
1        | 	^~~~~~~~~~~~~~~~~~~~~~
1        = kernel: hints; confidence: proven
1        = do: write `// fencepost: ignore REASON' or `// fencepost: off REASON' ... `on'
1 
1 hints.ptx:32:2: warning: hint suppresses nothing: no finding names the fence directly behind it or, where there is none, an access or call behind it in its block [hint-unused]
1     32 | 	// fencepost: ignore there is nothing here
1        | 	^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
1        = kernel: hints; confidence: proven
1        = do: put it directly before what a finding names, or take it away
1 
1 hints.ptx:5: findings: hints (13 instructions, 1 generic, 1 async, 0 fences)
1 fencepost: 4 warnings in 1 kernel of 1 file (verdicts: 1 findings); 1 suppressed by a hint
Stages, and why.
$ fencepost --why=20:24 missing.ptx
1 line 20: st.shared.u32: generic write of shared at tile+[0,508]/4, 4 bytes
1 line 24: cp.async.bulk.global.shared::cta.bulk_group: async read of shared at tile, 512 bytes, exact
1   an edge: the way is line 20, line 24; on one thread's path
1 line 20: st.shared.u32: generic write of shared at tile+[0,508]/4, 4 bytes
1 line 24: cp.async.bulk.global.shared::cta.bulk_group: async write of global at *_Z5storePf_param_0, 512 bytes, exact
1   no edge: the bytes are distinct: different state spaces
$ fencepost --why=20:25 fenced.ptx
1 line 20: st.shared.u32: generic write of shared at tile+[0,508]/4, 4 bytes
1 line 25: cp.async.bulk.global.shared::cta.bulk_group: async read of shared at tile, 512 bytes, exact
1   no edge: the fence in line 21 covers it
1 line 20: st.shared.u32: generic write of shared at tile+[0,508]/4, 4 bytes
1 line 25: cp.async.bulk.global.shared::cta.bulk_group: async write of global at *_Z5storePf_param_0, 512 bytes, exact
1   no edge: the bytes are distinct: different state spaces
$ fencepost --why=20:21 fenced.ptx
2 fenced.ptx: error: no kernel has a generic access of shared or global memory in line 20 and an async one in line 21; the generic one's line comes first
= 2
$ fencepost --why=25:20 fenced.ptx
2 fenced.ptx: error: no kernel has a generic access of shared or global memory in line 25 and an async one in line 20; the generic one's line comes first
= 2
$ fencepost --why=23:43 unrolled.ptx | sed -n 3p
1   an edge: the way is line 23, line 24, line 41, line 43; handed over by line 24 to line 41
$ fencepost --why=25:43 unrolled.ptx | sed -n 3p
1   an edge: the way is line 25, line 26, line 41, line 43; handed over by line 26 to line 41
$ sed '24s/.empty./[%r0]/' unrolled.ptx >unknown.ptx; fencepost --why=23:43 unknown.ptx | sed -n 3p
1   an edge: the way is line 23, line 26, line 41, line 43; handed over by line 26 to line 41
$ fencepost --dump=cfg missing.ptx
1 _Z5storePf:
1 B0: lines 15-23, 9 instructions, to B2, B1
1 B1: lines 24-26, 3 instructions, to B2, dominated by B0
1 B2: lines 28-28, 1 instructions, dominated by B0, exits
$ fencepost --dump=addresses missing.ptx
1 _Z5storePf:
1 0: line 20: st.shared.u32: generic write of shared at tile+[0,508]/4, 4 bytes
1 1: line 24: cp.async.bulk.global.shared::cta.bulk_group: async read of shared at tile, 512 bytes, exact
1 2: line 24: cp.async.bulk.global.shared::cta.bulk_group: async write of global at *_Z5storePf_param_0, 512 bytes, exact
$ fencepost --dump=plan missing.ptx
1 _Z5storePf:
1 insert fence.proxy.async.shared::cta; before line 21, weight 1, settles 20-24: before the release that hands the data over
1 weight of all fences: 0 before, 1 after
$ fencepost --dump=dot missing.ptx | grep -c cf222e
1 1
$ fencepost --dump=tokens missing.ptx | head -3
1 1:1 keyword .version
1 1:10 float 8.3
1 2:1 keyword .target
$ fencepost --dump=ir broken.ptx
2 broken.ptx:19:14: error: expected ',' or ';', saw '%r3'
2     19 | 	add.s32 %r2 %r3, %r2;
2        | 	            ^~~
2 broken.ptx:29:1: error: expected ':', ';' or an operand, saw '}'
2     29 | }
2        | ^
= 2
The self-check.
$ fencepost --check --mutate fenced.ptx
1 fenced.ptx:21:2: `fence.proxy.async.shared::cta;' is needed: the audit sees its loss
1 fenced.ptx:5: clean: store(float*) (14 instructions, 1 generic, 1 async, 1 fences)
1 fencepost: no findings in 1 kernel of 1 file (verdicts: 1 clean)
HTML needs nothing from outside.
$ fencepost --check --format=html missing.ptx | grep -cE '(src|href)="?https?:|url\(http|@import'
1 0
= 1
$ fencepost --check --format=html missing.ptx | grep -c '</html>'
1 1

Findings of the same lines of the source are shown once; without .loc each is, with -vv too, and to machines.

$ fencepost --check ring.ptx | grep -e '^ring.ptx.*error' -e 'source lines' | sed 's/error.*\[/error [/'
1 ring.ptx:30:2: error [missing-raw]
1        = 2 more of the same source lines: 39-43 48-52; -vv shows each
1 ring.ptx:57:2: error [missing-raw]
$ fencepost --check ring.ptx | tail -1
1 fencepost: 4 errors in 1 kernel of 1 file (verdicts: 1 findings)
$ fencepost --check -vv ring.ptx | grep -c '^ring.ptx.*error'
1 4
$ sed '/[.]loc/d' ring.ptx >bare.ptx; fencepost --check bare.ptx | grep -c '^bare.ptx.*error'
1 4
$ fencepost --check --format=json ring.ptx | grep -o '"fingerprint"' | wc -l
1 4
$ sed -e '38s/10 3/10 3, function_name $S, inlined_at 1 30 3/' -e '47s/10 3/10 3, function_name $S, inlined_at 1 31 3/' ring.ptx >inline.ptx
$ fencepost --check inline.ptx | grep -c '^inline.ptx.*error'
1 4
A pair that may meet in one space is ruled out in another one, and the assumption is named all the same.
$ fencepost --check -q --calls=worst --fail-on=none --format=json generic.ptx | grep -o '"assumptions":[^}]*'
1 "assumptions":["param-global"]
So is that a load is complete by what uses its value; where a fence stands behind it anyway, nothing rests on that.
$ fencepost --check consumed.ptx | grep 'rests on'
1        = rests on: consumed-loads
$ fencepost --check consumed.ptx --assume=none | tail -1
1 fencepost: 1 error in 1 kernel of 1 file (verdicts: 1 findings)
$ sed 's/.*mbarrier.arrive.shared.*/fence.proxy.async; &/' consumed.ptx | fencepost --check - | grep -c 'rests on'
1 0
= 1
