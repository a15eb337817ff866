#include "lab/verdict/reference_internal.h"

#include "base/mem.h"
#include "io/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OPEN_MAX = 64 };

typedef struct opened {
    char *path;
    geodec_artifact *artifact;
    geodec_table table;
} opened;

struct geodec_references {
    const char *root;
    const geodec_kind *const *kinds;
    int n_kinds, n;
    opened file[OPEN_MAX];
    reference parsed;
    char path[2 * GEODEC_REFERENCE_MAX];
};

geodec_status geodec_references_open(const char *root, const geodec_kind *const *kinds, int n_kinds,
                                     geodec_references **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_references *r = NULL;
    if (strlen(root) >= GEODEC_REFERENCE_MAX) GEODEC_THROW(GEODEC_LIMIT, "the name of the root folder is too long");
    GEODEC_NEW(r, 1);
    *r = (geodec_references){.root = root, .kinds = kinds, .n_kinds = n_kinds};
    *out = r;
done:
    return st;
}

static void close_file(opened *f)
{
    geodec_artifact_close(f->artifact);
    geodec_table_free(&f->table);
    geodec_mem_free(f->path);
    *f = (opened){0};
}

void geodec_references_close(geodec_references *r)
{
    if (!r) return;
    for (int k = 0; k < r->n; k++) close_file(&r->file[k]);
    geodec_mem_free(r);
}

static bool is_table(const char *file)
{
    const size_t n = strlen(file);
    return n > 4 && strcmp(file + n - 4, ".tsv") == 0;
}

static void whole_path(const geodec_references *r, const char *file, char *path, size_t room)
{
    (void)snprintf(path, room, "%s%s%s", file[0] == '/' ? "" : r->root, file[0] == '/' ? "" : "/", file);
}

/* The reason why FILE was not measured: the first line of FILE.not-measured; false when there is none. */
static bool not_measured(const geodec_references *r, const char *file, char reason[GEODEC_REFERENCE_MAX])
{
    char path[2 * GEODEC_REFERENCE_MAX + 16];
    whole_path(r, file, path, sizeof path - 16);
    (void)strcat(path, ".not-measured");
    FILE *f = fopen(path, "r");
    if (!f) return false;
    if (!fgets(reason, GEODEC_REFERENCE_MAX, f)) reason[0] = 0;
    (void)fclose(f);
    reason[strcspn(reason, "\r\n")] = 0;
    if (!reason[0]) (void)snprintf(reason, GEODEC_REFERENCE_MAX, "no reason is given");
    return true;
}

static geodec_status file_of(geodec_references *r, const char *file, opened **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char reason[GEODEC_REFERENCE_MAX];
    opened f = {.path = NULL};
    if (not_measured(r, file, reason)) GEODEC_THROW(GEODEC_NOTFOUND, "%s", reason);
    whole_path(r, file, r->path, sizeof r->path);
    for (int k = 0; k < r->n; k++)
        if (strcmp(r->file[k].path, r->path) == 0) {
            *out = &r->file[k];
            goto done;
        }
    if (access(r->path, F_OK) != 0) GEODEC_THROW(GEODEC_NOTFOUND, "no file %s", file);
    f.path = geodec_mem_strdup(r->path);
    if (!f.path) GEODEC_THROW(GEODEC_NOMEM, "no memory for a file name");
    if (is_table(file)) {
        GEODEC_TRY(geodec_table_read(r->path, &f.table, err));
    } else {
        st = geodec_artifact_open_any(r->kinds, r->n_kinds, r->path, &f.artifact, err);
        if (st == GEODEC_NOTFOUND) st = GEODEC_FORMAT; /* the file exists, but is not an artifact */
        GEODEC_TRY(st);
    }
    if (r->n == OPEN_MAX) {
        close_file(&r->file[0]);
        memmove(&r->file[0], &r->file[1], (size_t)(OPEN_MAX - 1) * sizeof r->file[0]);
        r->n--;
    }
    r->file[r->n] = f;
    f = (opened){0};
    *out = &r->file[r->n++];
done:
    close_file(&f);
    return st;
}

geodec_status geodec_reference_artifact(geodec_references *r, const char *file, const geodec_artifact **out,
                                        geodec_err *err)
{
    opened *f = NULL;
    GEODEC_PASS(file_of(r, file, &f, err));
    if (!f->artifact) GEODEC_FAIL(GEODEC_INVAL, "%s is not an artifact", file);
    *out = f->artifact;
    return GEODEC_OK;
}

geodec_status geodec_reference_read(geodec_references *r, const char *text, char value[GEODEC_REFERENCE_MAX],
                                    geodec_err *err)
{
    opened *f = NULL;
    reference *p = &r->parsed;
    GEODEC_PASS(geodec__reference_parse(text, p, err));
    GEODEC_PASS(file_of(r, p->file, &f, err));
    if (f->artifact)
        GEODEC_PASS_MSG(geodec__reference_member(f->artifact, p, value, err), "%s", p->file);
    else
        GEODEC_PASS(geodec__reference_cell(&f->table, p, value, err));
    return GEODEC_OK;
}

geodec_status geodec_reference_check(const char *text, bool *by_index, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    reference *r = NULL;
    GEODEC_NEW(r, 1);
    GEODEC_TRY(geodec__reference_parse(text, r, err));
    *by_index = is_table(r->file) && r->n_axis > 0;
done:
    geodec_mem_free(r);
    return st;
}
