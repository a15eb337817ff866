/* A sweep whose tasks run in slices, on several machines or in several runs. A stage runs its tasks through
 * geodec_sweep_run and computes its summary afterwards. A slice stores only the tasks' results, in the artifact
 * `sweep`. Parts are joined by artifact/merge.h. The stage then runs again with the joined file, from which it takes
 * the results instead of computing them; its output is bit for bit that of a single run. The random numbers of a task
 * must depend on its number alone.
 *
 *     GEODEC_TRY(geodec_sweep_run(o->sweep, pool, hooks, "facts", facts, 1, fact_task, &r, results, 3, err));
 *     if (geodec_sweep_partial(o->sweep)) goto done;       results are incomplete: no summary */
#ifndef GEODEC_ARTIFACT_SWEEP_H
#define GEODEC_ARTIFACT_SWEEP_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "base/shard.h"
#include "base/tasks.h"
#include "cluster/comm.h"

#include <stdbool.h>

typedef struct geodec_sweep geodec_sweep;

/* Where tasks store results: [outer][n][bytes], bytes of item i of n in each of the outer rows. */
typedef struct geodec_sweep_result {
    void *data;
    int64_t outer, bytes;
} geodec_sweep_result;

/* A sweep that computes one slice. GEODEC_RANGE for count 0. */
geodec_status geodec_sweep_slice(geodec_shard slice, geodec_sweep **out, geodec_err *err) GEODEC_MUST_USE;
/* A sweep that the ranks of a job divide: item i of a group is computed by rank i mod size and sent to rank 0, which
 * alone goes on (for the others the sweep is partial). comm outlives the sweep; all ranks call the same functions. */
geodec_status geodec_sweep_ranks(geodec_comm *comm, geodec_sweep **out, geodec_err *err) GEODEC_MUST_USE;
/* The communicator of such a sweep; otherwise NULL. */
geodec_comm *geodec_sweep_comm(const geodec_sweep *s); /* NULL ok */

/* A sweep that takes the results from a joined file. own: provenance of the output; tool, version, BLAS kernels,
 * command line, seed, fingerprints and inputs must be those of the parts. GEODEC_CHECK if they differ, or if the file
 * is itself a part; the errors of geodec_artifact_open. */
geodec_status geodec_sweep_open(const char *path, const geodec_provenance *own, geodec_sweep **out,
                                geodec_err *err) GEODEC_MUST_USE;
void geodec_sweep_close(geodec_sweep *s); /* NULL ok */
/* Whether only a slice is computed, or the results are those of another rank. */
bool geodec_sweep_partial(const geodec_sweep *s); /* NULL ok: false */

/* n items of `per` tasks each: tasks i per .. i per + per - 1 belong to item i and store their results at item i. s
 * NULL: runs all tasks. Groups of tasks are identified by their order and `what`. GEODEC_CHECK when the joined file has
 * different tasks; the errors of the tasks. */
geodec_status geodec_sweep_run(geodec_sweep *s, geodec_pool *pool, const geodec_hooks *hooks, const char *what,
                               int64_t n, int64_t per, geodec__task_fn fn, void *ctx, const geodec_sweep_result *result,
                               int n_results, geodec_err *err) GEODEC_MUST_USE;

/* For results that do not fit in memory together: every item stores its results in the same memory ([1][bytes], outer
 * 1), and `after` consumes them there, in the order of the items. A slice does not call `after`; it holds the results
 * of its own items in memory. */
geodec_status geodec_sweep_fold(geodec_sweep *s, const char *what, int64_t n, geodec__task_fn item,
                                geodec__task_fn after, void *ctx, const geodec_sweep_result *result, int n_results,
                                geodec_err *err) GEODEC_MUST_USE;

/* The artifact of a slice; the caller creates and commits. */
extern const geodec_kind geodec_sweep_kind;
geodec_status geodec_sweep_write(const geodec_sweep *s, geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;

#endif
