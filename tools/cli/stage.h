/* Begin and end of every stage: it names its output, opens its inputs, records the origin of the result, writes it and
 * closes everything.
 *
 *     cli_stage stage = {0};
 *     GEODEC_TRY(stage_begin(&stage, c, output, err));
 *     GEODEC_TRY(stage_open(&stage, &geodec_cloud_kind, c->args[0], &in, err));
 *     ...the work...
 *     STAGE_WRITE(&stage, &geodec_metric_kind, geodec_metric_write(&m, stage.out, err));
 * done:
 *     stage_end(&stage);
 */
#ifndef GEODEC_TOOLS_CLI_STAGE_H
#define GEODEC_TOOLS_CLI_STAGE_H

#include "artifact/artifact.h"
#include "artifact/sweep.h"
#include "cli/cli.h"
#include "model/model.h"

typedef struct cli_stage {
    const cli *c;
    const char *output;
    geodec_provenance p;  /* inputs in the order in which they were added */
    geodec_artifact *out; /* from stage_create to stage_commit */
    geodec_artifact *in[GEODEC_INPUTS_MAX];
    int n_in;
    geodec_sweep *sweep;
} cli_stage;

/* For a stage that asks cli_may_write itself. */
cli_stage stage_of(const cli *c, const char *output);
/* The output may be written (cli_may_write). stage is all zero before. */
geodec_status stage_begin(cli_stage *stage, const cli *c, const char *output, geodec_err *err) GEODEC_MUST_USE;
/* Opens an artifact and adds it to the provenance; stage_end closes it. */
geodec_status stage_open(cli_stage *stage, const geodec_kind *kind, const char *path, geodec_artifact **in,
                         geodec_err *err) GEODEC_MUST_USE;
/* The same in two steps, for an input whose content is checked before it is added: stage_add alone adds it. */
geodec_status stage_hold(cli_stage *stage, const geodec_kind *kind, const char *path, geodec_artifact **in,
                         geodec_err *err) GEODEC_MUST_USE;
geodec_status stage_add(cli_stage *stage, const geodec_artifact *in, geodec_err *err) GEODEC_MUST_USE;
/* A file that is no artifact. */
geodec_status stage_file(cli_stage *stage, const char *path, geodec_err *err) GEODEC_MUST_USE;
/* The file of an open model: the result is about this model. */
geodec_status stage_model(cli_stage *stage, const char *path, const geodec_model *m, geodec_err *err) GEODEC_MUST_USE;

/* Creates the output under its temporary name; with stage_commit it becomes the output. */
geodec_status stage_create(cli_stage *stage, const geodec_kind *kind, geodec_err *err) GEODEC_MUST_USE;
geodec_status stage_commit(cli_stage *stage, geodec_err *err) GEODEC_MUST_USE;
/* Creates the output, writes it by the call, which takes stage.out, and commits; goes to done as GEODEC_TRY does. */
#define STAGE_WRITE(stage_, kind_, call_)                                                                              \
    do {                                                                                                               \
        GEODEC_TRY(stage_create((stage_), (kind_), err));                                                              \
        GEODEC_TRY(call_);                                                                                             \
        GEODEC_TRY(stage_commit((stage_), err));                                                                       \
    } while (0)

/* Closes the inputs and an output that was not committed; all zero is allowed. */
void stage_end(cli_stage *stage);

#endif
