/* --plan: what a run needs, as TSV on stdout: rows memory_bytes, seconds, processor_seconds and threads, then the sizes
 * and the parts of the sums.
 *
 * Memory is the largest resident size. Time is that of a machine like this one that has no other work, with the files
 * in its page cache. The numbers come from three sources: sizes of the allocations (geodec_size_of and the functions of
 * the stages), pilot runs of the stage on the real inputs (base/pilot.h), and speeds that are measured in a moment. */
#ifndef GEODEC_TOOLS_CLI_NEEDS_H
#define GEODEC_TOOLS_CLI_NEEDS_H

#include "artifact/size.h"
#include "cli/stage.h"

/* Processor seconds that all pilot runs of a plan should take together. */
#define NEEDS_BUDGET 0.3

/* For cli_main: begins a plan (c->needs), and prints it; rank 0 of a job alone prints. */
void needs_begin(cli *c, geodec_needs *n);
geodec_status needs_print(const geodec_needs *n, geodec_err *err) GEODEC_MUST_USE;
/* Processor time since `begin`, of one thread: of what a plan does as the run does it, such as reading inputs. */
void needs_since(geodec_needs *n, const char *name, double begin);

/* The program itself, before it opens a file. */
void needs_program(geodec_needs *n);
/* The largest resident size of this process so far, in place of needs_program: for a stage whose inputs, work spaces
 * and libraries were all in use in a pilot run. */
void needs_process(geodec_needs *n);
/* As needs_process, and what is left of a mapped file of `bytes` that the run reads to the end. */
void needs_process_and_file(geodec_needs *n, double bytes);
/* Reading `bytes` of a file and its SHA-256, `times` times. */
void needs_digest(geodec_needs *n, const char *name, double bytes, double times);
/* Reading all artifacts of the stage, as stage_open does: digest of the body, digest of the file. */
void needs_inputs(geodec_needs *n, const cli_stage *stage);
/* Writing an artifact: row output_bytes, the time, and the buffers. */
void needs_output(geodec_needs *n, const geodec_size *size);

#endif
