#include "cli/drafting_files.h"

#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

geodec_status drafting_files_cache(char **out, geodec_err *err)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const bool own = xdg && xdg[0] == '/';
    const char *root = own ? xdg : home && home[0] == '/' ? home : NULL, *rest = own ? "/geodec" : "/.cache/geodec";
    *out = NULL;
    return root ? geodec_mem_print(out, err, "%s%s", root, rest) : GEODEC_OK;
}

geodec_status drafting_files_make_folder(const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *at = NULL;
    GEODEC_STRDUP(at, path);
    for (char *slash = strchr(at + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(at, 0777) != 0 && errno != EEXIST) GEODEC_THROW(GEODEC_IO, "%s: %s", at, strerror(errno));
        *slash = '/';
    }
    if (mkdir(at, 0777) != 0 && errno != EEXIST) GEODEC_THROW(GEODEC_IO, "%s: %s", at, strerror(errno));
done:
    geodec_mem_free(at);
    return st;
}

geodec_status drafting_files_open(const cli *c, const geodec_model *m, const char *artifacts, bool look,
                                  drafting_files *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    drafting_files t = {0};
    char *cache = NULL;
    const bool none = artifacts && strcmp(artifacts, "none") == 0;
    if (artifacts && !none) {
        GEODEC_STRDUP(t.folder, artifacts);
    } else if (!none && look) {
        GEODEC_TRY(drafting_files_cache(&cache, err));
        GEODEC_TRY(geodec_record_find(m, cache, &c->hooks, &t.folder, &t.record, err));
        t.found = t.folder != NULL;
    }
    GEODEC_MOVE(*out, t);
done:
    geodec_mem_free(cache);
    drafting_files_close(&t);
    return st;
}

void drafting_files_close(drafting_files *t)
{
    geodec_mem_free(t->folder);
    geodec_record_clear(&t->record);
    *t = (drafting_files){0};
}

void drafting_files_say(const cli *c, const drafting_files *t, const char *draft, const char *arithmetic)
{
    char gain[64] = "", made[64] = "";
    if (strcmp(draft, t->record.draft) == 0 && t->record.speedup > 0)
        (void)snprintf(gain, sizeof gain, ", %.2f times as fast as plain decoding in its trial", t->record.speedup);
    if (strcmp(arithmetic, t->record.arithmetic) != 0)
        (void)snprintf(made, sizeof made, ", made in %s arithmetic", t->record.arithmetic);
    cli_say(c, "drafter %s%s; drafting artifacts from %s (--artifacts none: do not use them)%s", draft, gain, t->folder,
            made);
}

geodec_status drafting_files_drafting(const cli *c, const geodec_model *m, drafting_files *t, const char *const *names,
                                      int n, geodec_drafting **out, geodec_err *err)
{
    geodec_status st = geodec_drafting_open(m, t->folder, names, n, out, err);
    char text[GEODEC_ERR_TEXT];
    if (st == GEODEC_OK || !t->found) return st;
    for (int i = 0; i < n; i++)
        if (geodec_drafting_needs_artifacts(names[i])) return st;
    cli_say(c, "warning: the drafting artifacts that were found are not used: %s",
            err ? geodec_err_line(err, text, sizeof text) : "");
    geodec_err_clear(err);
    drafting_files_close(t);
    return geodec_drafting_open(m, NULL, names, n, out, err);
}
