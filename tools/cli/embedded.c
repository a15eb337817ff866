#include "cli/embedded.h"

#include "base/mem.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef GEODEC_DATADIR
#error "GEODEC_DATADIR is set by the build from datadir"
#endif

static const char default_model[] = "geodec-stories-f16";

void embedded_program_folder(char *out, size_t room)
{
    const ssize_t n = readlink("/proc/self/exe", out, room - 1);
    out[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(out, '/');
    out[slash ? slash - out : 0] = '\0';
}

/* *out = NULL: the folder has no such model. */
static geodec_status look(const char *folder, const char *below, const char *name, char **out, geodec_err *err)
{
    char *path = NULL;
    *out = NULL;
    GEODEC_PASS(geodec_mem_print(&path, err, "%s%s/model/%s.gguf", folder, below, name));
    if (access(path, R_OK) == 0)
        *out = path;
    else
        geodec_mem_free(path);
    return GEODEC_OK;
}

static const char *const below_program[] = {"/../share/geodec", "/../../../data"};

geodec_status embedded_folder(char **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char program[PATH_MAX], resolved[PATH_MAX], *path = NULL;
    *out = NULL;
    embedded_program_folder(program, sizeof program);
    for (int i = 0; i < 3 && !path; i++) {
        if (i < 2 && !program[0]) continue;
        GEODEC_TRY(look(i < 2 ? program : GEODEC_DATADIR, i < 2 ? below_program[i] : "", default_model, &path, err));
    }
    if (!path)
        GEODEC_THROW(GEODEC_NOTFOUND, "no embedded model %s.gguf in %s%s/model, %s%s/model, %s/model", default_model,
                     program, below_program[0], program, below_program[1], GEODEC_DATADIR);
    if (!realpath(path, resolved)) GEODEC_THROW(GEODEC_IO, "%s: its path cannot be resolved", path);
    for (int i = 0; i < 2; i++) *strrchr(resolved, '/') = '\0';
    GEODEC_STRDUP(*out, resolved);
done:
    geodec_mem_free(path);
    return st;
}

geodec_status embedded_model(const char *name, char **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *folder = NULL;
    *out = NULL;
    GEODEC_TRY(embedded_folder(&folder, err));
    if (name && strchr(name, '/')) GEODEC_THROW(GEODEC_INVAL, "'%s' is a path; give the name of a model", name);
    GEODEC_TRY(look(folder, "", name ? name : default_model, out, err));
    if (!*out) GEODEC_THROW(GEODEC_NOTFOUND, "no embedded model '%s' in %s/model", name, folder);
done:
    geodec_mem_free(folder);
    return st;
}

geodec_status embedded_settle(const cli *c, const char **path, char **out, geodec_err *err)
{
    if (*path) return GEODEC_OK;
    GEODEC_PASS_MSG(embedded_model(NULL, out, err), "without --model");
    *path = *out;
    cli_say(c, "the embedded model %s", cli_base_name(*path));
    cli_settled(c);
    return GEODEC_OK;
}
