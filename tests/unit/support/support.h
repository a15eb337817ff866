/* Shared help for unit tests: paths, skipping aloud, numeric comparison, temporary folders, .npy reading. */
#ifndef GEODEC_TESTS_SUPPORT_H
#define GEODEC_TESTS_SUPPORT_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Path of `relative` below the shared folder (GEODEC_SHARED, default ../shared from the repository root); where that is
 * not there, of the file of the repository that stands in for it (tests/golden: golden/ott is published, golden/llama
 * is llama, models is models or data/model). Where there is neither, the running test is skipped: it ends here and is
 * counted as skipped. Call it before anything is allocated. The text lives until the process ends. */
const char *test_shared(const char *relative);
/* As test_shared, but NULL where there is neither. */
const char *test_find(const char *relative);
/* A file that is always there: tests/golden/relative or data/relative. Fails the running test when it is not. */
const char *test_golden(const char *relative);

/* A fresh folder for this test process, removed at exit. */
const char *test_tmpdir(void);
/* tmpdir/name; the text lives until the process ends. */
const char *test_tmp(const char *name);
/* Number of names in the folder of the path, apart from its own and . and .. */
int test_other_files(const char *path);

/* Largest |a-b| over n values; NaN anywhere gives infinity. */
double test_max_abs_diff(const double *a, const double *b, int64_t n);
double test_max_abs(const double *a, int64_t n);
float test_max_abs_diff_f32(const float *a, const float *b, int64_t n);

/* Asserts st == GEODEC_OK, printing the error chain when not. */
void test_ok_at(geodec_status st, const geodec_err *err, const char *file, int line);
#define test_ok(call, errp) test_ok_at((call), (errp), __FILE__, __LINE__)

/* Reads a little-endian C-order .npy of dtype <f4, <f8, <i4, <i8 or |u1 as doubles; *ndim <= 8. Caller frees. NULL =
 * failed.
 */
double *test_npy(const char *path, int64_t shape[8], int *ndim);

/* Reads a numeric dataset of an HDF5 file (a golden one, not an artifact) as doubles; *ndim <= 8, shape and ndim may be
 * NULL. Fails the running test when it is not there. Caller frees with geodec_mem_free. */
double *test_h5(const char *path, const char *dataset, int64_t shape[8], int *ndim);
/* A scalar numeric attribute of a group or dataset ("/" for the root). */
double test_h5_attr(const char *path, const char *object, const char *attr);
/* 1 when the file has the object (a group or dataset), else 0. */
int test_h5_has(const char *path, const char *object);
enum { TEST_H5_NAME = 64 };
/* Names of the members of a group, in order; at most max. Returns how many there are. */
int test_h5_members(const char *path, const char *group, int max, char names[][TEST_H5_NAME]);
/* 1 when the object has the attribute. */
int test_h5_has_attr(const char *path, const char *object, const char *attr);

#endif
