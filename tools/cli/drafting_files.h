/* Drafting artifacts without --artifacts: where geodec-prepare puts them, and how the decoding tools find them. */
#ifndef GEODEC_TOOLS_CLI_DRAFTING_FILES_H
#define GEODEC_TOOLS_CLI_DRAFTING_FILES_H

#include "cli/cli.h"
#include "prepare/record.h"

/* The user's cache folder of geodec: $XDG_CACHE_HOME/geodec, else $HOME/.cache/geodec; *out NULL where neither is an
 * absolute path. The caller frees. */
geodec_status drafting_files_cache(char **out, geodec_err *err) GEODEC_MUST_USE;
/* Makes a folder with those above it. */
geodec_status drafting_files_make_folder(const char *path, geodec_err *err) GEODEC_MUST_USE;

typedef struct drafting_files {
    char *folder;         /* NULL = none */
    bool found;           /* by itself; else it is that of --artifacts */
    geodec_record record; /* of the folder that was found */
} drafting_files;
/* artifacts: --artifacts; "none" = none; NULL: those geodec-prepare made for this model are looked for where
 * `look` is set. */
geodec_status drafting_files_open(const cli *c, const geodec_model *m, const char *artifacts, bool look,
                                  drafting_files *out, geodec_err *err) GEODEC_MUST_USE;
void drafting_files_close(drafting_files *t);

/* The summary's line on artifacts that were found: their folder, the drafter, and another arithmetic if they were made
 * in one. */
void drafting_files_say(const cli *c, const drafting_files *t, const char *draft, const char *arithmetic);

/* Drafters of `names` with these artifacts. Artifacts that were found, cannot be used and are needed by no name are
 * left out with a warning. */
geodec_status drafting_files_drafting(const cli *c, const geodec_model *m, drafting_files *t, const char *const *names,
                                      int n, geodec_drafting **out, geodec_err *err) GEODEC_MUST_USE;

#endif
