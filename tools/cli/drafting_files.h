/* Drafting artifacts: the folder that geodec-prepare writes, and the search for it without --artifacts. */
#ifndef GEODEC_TOOLS_CLI_DRAFTING_FILES_H
#define GEODEC_TOOLS_CLI_DRAFTING_FILES_H

#include "cli/cli.h"
#include "prepare/record.h"

/* The user's cache folder: $XDG_CACHE_HOME/geodec, else $HOME/.cache/geodec. *out is NULL if neither variable is an
 * absolute path. The caller frees. */
geodec_status drafting_files_cache(char **out, geodec_err *err) GEODEC_MUST_USE;
/* Makes a folder and its missing parents. */
geodec_status drafting_files_make_folder(const char *path, geodec_err *err) GEODEC_MUST_USE;

typedef struct drafting_files {
    char *folder;         /* NULL = none */
    bool found;           /* by the search; else the folder is from --artifacts */
    geodec_record record; /* of the folder, if found */
} drafting_files;
/* artifacts: --artifacts; "none" = no artifacts; NULL with `look`: searches for the artifacts that geodec-prepare made
 * for this model. */
geodec_status drafting_files_open(const cli *c, const geodec_model *m, const char *artifacts, bool look,
                                  drafting_files *out, geodec_err *err) GEODEC_MUST_USE;
void drafting_files_close(drafting_files *t);

/* Prints a summary line on artifacts that were found: their folder, the drafter, and their arithmetic if it differs. */
void drafting_files_say(const cli *c, const drafting_files *t, const char *draft, const char *arithmetic);

/* Opens the drafters `names` with these artifacts. If artifacts that were found cannot be used and no drafter needs
 * them, prints a warning and continues without them. */
geodec_status drafting_files_drafting(const cli *c, const geodec_model *m, drafting_files *t, const char *const *names,
                                      int n, geodec_drafting **out, geodec_err *err) GEODEC_MUST_USE;

#endif
