#include "cli/mode.h"

#include <string.h>

geodec_status cli_check_mode(const cli *c, const cli_modes *m, const char *mode, const char *draws, bool divided,
                             bool *ref, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *ref = strcmp(mode, "ref") == 0;
    if (*ref && divided) GEODEC_THROW(GEODEC_INVAL, "--mode ref is not divided");
    if (*ref != (draws != NULL))
        GEODEC_THROW(GEODEC_INVAL, "--mode ref and --%s go together", m->option ? m->option : "draws");
    if (*ref && c->n_args > 0) GEODEC_THROW(GEODEC_INVAL, "--mode ref takes no %s", m->inputs);
    if (!*ref && c->n_args < m->least) GEODEC_THROW(GEODEC_INVAL, "%s", m->missing);
done:
    return st;
}

geodec_status cli_run_mode(const cli *c, const cli_modes *m, const char *mode, const char *draws, bool divided,
                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    bool ref;
    GEODEC_TRY(cli_check_mode(c, m, mode, draws, divided, &ref, err));
    GEODEC_TRY((ref ? m->ref : m->correct)(c, err));
done:
    return st;
}
