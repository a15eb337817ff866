#include "cli/kinds.h"

#include "kinds/kinds.h"

#include <string.h>

#ifdef GEODEC_NO_LAB /* make LAB=0 */
const geodec_kind *const cli_lab_kinds[] = {NULL};
#endif

enum { MOST = 128 };
static const geodec_kind *all[MOST];
static int n_all;

static void gather(void)
{
    for (int i = 0; geodec_kinds_at(i) && n_all < MOST; i++) all[n_all++] = geodec_kinds_at(i);
    for (int i = 0; cli_lab_kinds[i] && n_all < MOST; i++) all[n_all++] = cli_lab_kinds[i];
}

const geodec_kind *const *cli_kinds(void)
{
    if (!n_all) gather();
    return all;
}

int cli_n_kinds(void)
{
    (void)cli_kinds();
    return n_all;
}

const geodec_kind *cli_kind_find(const char *name)
{
    for (int i = 0; i < cli_n_kinds(); i++)
        if (strcmp(cli_kinds()[i]->name, name) == 0) return cli_kinds()[i];
    return NULL;
}

geodec_status cli_open_any(const char *path, geodec_artifact **out, geodec_err *err)
{
    return geodec_artifact_open_any(cli_kinds(), cli_n_kinds(), path, out, err);
}

geodec_status cli_peek_any(const char *path, geodec_artifact **out, geodec_err *err)
{
    return geodec_artifact_peek_any(cli_kinds(), cli_n_kinds(), path, out, err);
}
