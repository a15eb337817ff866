#include "cli/mode.h"

#include <string.h>

geodec_status cli_check_mode(const cli *c, const cli_modes *m, const char *mode, const char *draws, bool divided,
                             bool *ref, geodec_err *err)
{
    *ref = strcmp(mode, "ref") == 0;
    if (*ref && divided) GEODEC_FAIL(GEODEC_INVAL, "--mode ref takes neither --shard nor --joined");
    if (*ref != (draws != NULL))
        GEODEC_FAIL(GEODEC_INVAL, "--mode ref and --%s go together", m->option ? m->option : "draws");
    if (*ref && c->n_args > 0) GEODEC_FAIL(GEODEC_INVAL, "--mode ref takes no %s", m->inputs);
    if (!*ref && c->n_args < m->least) GEODEC_FAIL(GEODEC_INVAL, "%s", m->missing);
    return GEODEC_OK;
}

geodec_status cli_run_mode(const cli *c, const cli_modes *m, const char *mode, const char *draws, bool divided,
                           geodec_err *err)
{
    bool ref;
    GEODEC_PASS(cli_check_mode(c, m, mode, draws, divided, &ref, err));
    GEODEC_PASS((ref ? m->ref : m->correct)(c, err));
    return GEODEC_OK;
}
