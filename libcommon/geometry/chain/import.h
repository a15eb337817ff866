/* The public exports of the published harness: each model has a folder with phase1_manifold.json .. phase4_axioms.json,
 * or everything in manifold_export.json. They contain only the first three principal coordinates of the points. */
#ifndef GEODEC_CHAIN_IMPORT_H
#define GEODEC_CHAIN_IMPORT_H

#include "chain/cloud.h"

enum {
    GEODEC_EXPORT_COORDINATES = 3,
    GEODEC_EXPORT_BYTES_MAX = 64 << 20, /* of a JSON file */
    GEODEC_EXPORT_POINTS_MAX = 1 << 20,
    GEODEC_EXPORT_EIGENVALUES_MAX = 1 << 16,
    GEODEC_EXPORT_ATTRS = 24,
};

/* A figure of the export as it is stored in the cloud artifact. */
typedef struct geodec_import_attr {
    const char *name; /* name of the attribute, "published_..": static */
    bool whole;       /* a whole number; otherwise a real number */
    int64_t i;
    double d;
} geodec_import_attr;

typedef struct geodec_import_data {
    int64_t points, values;
    double *x;          /* [points][3] measured coordinates */
    double *eigenvalue; /* [values] descending: variances */
    int64_t width, intrinsic_dim, components;
    double explained, total_variance;
    char model[128]; /* its name; control characters and bytes outside ASCII become '?' */
    int n_attrs;
    geodec_import_attr attr[GEODEC_EXPORT_ATTRS];
    int n_files;
    char file[4][4096]; /* the files it was read from */
} geodec_import_data;

/* path: a folder, or one JSON file with phase 1 in it. Phases 2 to 4 may be missing. A file may hold several JSON
 * documents in sequence. GEODEC_NOTFOUND, GEODEC_FORMAT (a figure is missing or of another type, or the counts
 * disagree), GEODEC_LIMIT, GEODEC_NUMERIC. */
geodec_status geodec_import_read(const char *path, geodec_import_data *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_import_clear(geodec_import_data *e);

/* The measured coordinates and n - 3 generated ones, x [points][n]: column j >= 3 is Gaussian noise of standard
 * deviation sqrt(max(eigenvalue[j], 1e-6)), as in the published harness (with different random samples; the goldens
 * have the original ones). 3 <= n <= values; GEODEC_RANGE. */
geodec_status geodec_import_lift(const geodec_import_data *e, int64_t n, uint64_t seed, double *x,
                                 geodec_err *err) GEODEC_MUST_USE;
/* The published figures as attributes of a cloud artifact being written. */
geodec_status geodec_import_write_attrs(const geodec_import_data *e, geodec_artifact *a,
                                        geodec_err *err) GEODEC_MUST_USE;

/* Format of a file: "export" (a folder or JSON), "safetensors" (a file or a folder with one), "npy", "hdf5" or "text";
 * dataset: "" if none is named. GEODEC_NOTFOUND, GEODEC_FORMAT, GEODEC_IO. */
geodec_status geodec_import_format(const char *path, const char *dataset, const char **found,
                                   geodec_err *err) GEODEC_MUST_USE;

#endif
