/* Frame of a stage: checks the output, opens inputs, records the provenance, writes the result and closes files.
 *
 *     cli_stage stage = {0};
 *     GEODEC_TRY(stage_begin(&stage, c, output, err));
 *     GEODEC_TRY(stage_open(&stage, &geodec_cloud_kind, c->args[0], &in, err));
 *     ...the work...
 *     STAGE_WRITE(&stage, &geodec_metric_kind, geodec_metric_write(&m, stage.out, err));
 * done:
 *     stage_end(&stage);
 *
 * With --plan (c->needs) inputs are opened without digests, and files are not read for the provenance. */
#ifndef GEODEC_TOOLS_CLI_STAGE_H
#define GEODEC_TOOLS_CLI_STAGE_H

#include "artifact/artifact.h"
#include "artifact/sweep.h"
#include "cli/cli.h"
#include "session/model.h"

typedef struct cli_stage {
    const cli *c;
    const char *output;
    geodec_provenance p;  /* inputs in the order in which they were added */
    geodec_artifact *out; /* from stage_create to stage_commit */
    geodec_artifact *in[GEODEC_INPUTS_MAX];
    int n_in;
    int64_t bytes; /* with --plan: of the artifacts that were opened */
    geodec_sweep *sweep;
} cli_stage;

/* Whether the run is a plan. A report without an output has no stage: *stage is all zero. */
static inline bool stage_is_plan(const cli_stage *stage) { return stage->c && stage->c->needs; }
/* A stage that calls cli_may_write itself. */
cli_stage stage_of(const cli *c, const char *output);
/* Begins a stage and checks that the output may be written (cli_may_write). stage must be all zero. */
geodec_status stage_begin(cli_stage *stage, const cli *c, const char *output, geodec_err *err) GEODEC_MUST_USE;
/* Opens an artifact and adds it to the provenance; stage_end closes it. */
geodec_status stage_open(cli_stage *stage, const geodec_kind *kind, const char *path, geodec_artifact **in,
                         geodec_err *err) GEODEC_MUST_USE;
/* stage_open in two steps, for an input whose content is checked first: stage_hold opens it, stage_add adds it to the
 * provenance. */
geodec_status stage_hold(cli_stage *stage, const geodec_kind *kind, const char *path, geodec_artifact **in,
                         geodec_err *err) GEODEC_MUST_USE;
geodec_status stage_add(cli_stage *stage, const geodec_artifact *in, geodec_err *err) GEODEC_MUST_USE;
/* Adds a file that is not an artifact to the provenance. */
geodec_status stage_file(cli_stage *stage, const char *path, geodec_err *err) GEODEC_MUST_USE;
/* Adds the file of an open model, and its fingerprints, to the provenance. */
geodec_status stage_model(cli_stage *stage, const char *path, const geodec_model *m, geodec_err *err) GEODEC_MUST_USE;

/* Creates the output under a temporary name; stage_commit renames it. */
geodec_status stage_create(cli_stage *stage, const geodec_kind *kind, geodec_err *err) GEODEC_MUST_USE;
geodec_status stage_commit(cli_stage *stage, geodec_err *err) GEODEC_MUST_USE;
/* Creates the output, writes it with the call, which uses stage.out, and commits. Jumps to done on an error, as
 * GEODEC_TRY does. */
#define STAGE_WRITE(stage_, kind_, call_)                                                                              \
    do {                                                                                                               \
        GEODEC_TRY(stage_create((stage_), (kind_), err));                                                              \
        GEODEC_TRY(call_);                                                                                             \
        GEODEC_TRY(stage_commit((stage_), err));                                                                       \
    } while (0)

/* Closes the inputs, and the output if it was not committed; stage may be all zero. */
void stage_end(cli_stage *stage);

#endif
