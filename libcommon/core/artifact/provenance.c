/* Provenance of an artifact: its inputs by name and content. */
#include "artifact/artifact.h"
#include "io/file.h"

#include <stdio.h>
#include <string.h>

static geodec_status add(geodec_provenance *p, const char *path, const char *sha256, geodec_err *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (p->n_inputs < 0 || p->n_inputs >= GEODEC_INPUTS_MAX)
        GEODEC_FAIL(GEODEC_LIMIT, "%s: more than %d inputs", path, GEODEC_INPUTS_MAX);
    (void)snprintf(p->input[p->n_inputs].name, sizeof p->input[0].name, "%s", name);
    (void)snprintf(p->input[p->n_inputs].sha256, sizeof p->input[0].sha256, "%s", sha256);
    p->n_inputs++;
    return GEODEC_OK;
}

geodec_status geodec_provenance_add_file(geodec_provenance *p, const char *path, geodec_err *err)
{
    char sha256[GEODEC_SHA256_HEX];
    GEODEC_PASS(geodec_file_sha256(path, sha256, err));
    GEODEC_PASS(add(p, path, sha256, err));
    return GEODEC_OK;
}

geodec_status geodec_provenance_add_files(geodec_provenance *p, const char *name, int n, const char *const *paths,
                                          geodec_err *err)
{
    char sha256[GEODEC_SHA256_HEX];
    geodec_sha256 all;
    geodec_sha256_init(&all);
    for (int i = 0; i < n; i++) {
        const char *slash = strrchr(paths[i], '/'), *last = slash ? slash + 1 : paths[i];
        GEODEC_PASS(geodec_file_sha256(paths[i], sha256, err));
        geodec_sha256_update(&all, sha256, strlen(sha256));
        geodec_sha256_update(&all, "  ", 2);
        geodec_sha256_update(&all, last, strlen(last));
        geodec_sha256_update(&all, "\n", 1);
    }
    geodec_sha256_hex(&all, sha256);
    GEODEC_PASS(add(p, name, sha256, err));
    return GEODEC_OK;
}

/* An empty fingerprint is unknown and matches any other. */
static geodec_status inherit(const char *own, char inherited[GEODEC_SHA256_HEX], const char *from, const char *what,
                             const char *path, geodec_err *err)
{
    const char *have = own && own[0] ? own : inherited;
    if (!from || !from[0]) return GEODEC_OK;
    if (have[0] && strcmp(have, from) != 0)
        GEODEC_FAIL(GEODEC_CHECKSUM, "%s: made with another %s (%.12s...) than the other inputs (%.12s...)", path, what,
                    from, have);
    if (!have[0]) (void)snprintf(inherited, GEODEC_SHA256_HEX, "%s", from);
    return GEODEC_OK;
}

geodec_status geodec_provenance_agree(geodec_provenance *p, const geodec_artifact *a, geodec_err *err)
{
    const geodec_provenance *from = geodec_artifact_provenance(a);
    const char *path = geodec_artifact_path(a);
    GEODEC_PASS(inherit(p->model_fingerprint, p->inherited_model, from->model_fingerprint, "model", path, err));
    GEODEC_PASS(
        inherit(p->tokenizer_fingerprint, p->inherited_tokenizer, from->tokenizer_fingerprint, "tokenizer", path, err));
    return GEODEC_OK;
}

geodec_status geodec_provenance_add_artifact(geodec_provenance *p, const geodec_artifact *a, geodec_err *err)
{
    const char *path = geodec_artifact_path(a);
    GEODEC_PASS(geodec_provenance_agree(p, a, err));
    const char *sha256 = geodec_artifact_sha256(a);
    if (!sha256[0]) GEODEC_FAIL(GEODEC_IO, "%s: cannot read the file again for its digest", path);
    GEODEC_PASS(add(p, path, sha256, err));
    return GEODEC_OK;
}
