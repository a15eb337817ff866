#include "chain/import.h"
#include "io/foreign.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

geodec_status geodec_import_format(const char *path, const char *dataset, const char **found, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    struct stat s;
    FILE *f = NULL;
    unsigned char head[8] = {0};
    if (stat(path, &s) != 0) GEODEC_THROW(GEODEC_NOTFOUND, "%s: no such file or folder", path);
    if (S_ISDIR(s.st_mode)) {
        *found = "export";
        goto done;
    }
    if (!S_ISREG(s.st_mode)) GEODEC_THROW(GEODEC_FORMAT, "%s is not a regular file", path);
    f = fopen(path, "rb");
    if (!f) GEODEC_THROW(GEODEC_IO, "%s cannot be read", path);
    const size_t n = fread(head, 1, sizeof head, f);
    size_t at = 0;
    while (at < n && strchr(" \t\r\n", head[at]) && head[at]) at++;
    if (n >= 6 && memcmp(head, "\x93NUMPY", 6) == 0)
        *found = "npy";
    else if ((n >= 4 && memcmp(head, "\x89HDF", 4) == 0) || dataset[0]) /* a user block may come first */
        *found = "hdf5";
    else
        *found = at < n && head[at] == '{' ? "export" : "text";
done:
    if (f) (void)fclose(f);
    return st;
}

geodec_status geodec_import_matrix(const char *path, const char *sort, const char *dataset, int64_t *rows,
                                   int64_t *cols, double **x, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1};
    if (strcmp(sort, "npy") == 0) {
        GEODEC_TRY(geodec_foreign_npy(path, rows, cols, x, err));
    } else if (strcmp(sort, "text") == 0) {
        GEODEC_TRY(geodec_foreign_text(path, rows, cols, x, err));
    } else {
        if (!dataset[0]) GEODEC_THROW(GEODEC_INVAL, "an HDF5 file needs --dataset");
        GEODEC_TRY(geodec_foreign_read(path, dataset, 2, shape, NULL, x, err));
        *rows = shape[0];
        *cols = shape[1];
    }
done:
    return st;
}
