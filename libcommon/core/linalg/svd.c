#include "linalg/svd.h"

#include "base/mem.h"
#include "base/vec_internal.h"

#include <lapack.h>
#include <string.h>

enum { SVD_MAX = 100000 };

static geodec_status decompose(char job, int64_t m, int64_t n, const double *a, double *u, double *s, double *vt,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *copy = NULL, *work = NULL;
    lapack_int *iwork = NULL;
    if (m < 1 || n < 1 || m > SVD_MAX || n > SVD_MAX || m * n > INT32_MAX) {
        GEODEC_THROW(GEODEC_RANGE, "singular values of a matrix of %lld x %lld", (long long)m, (long long)n);
    }
    const int64_t r = m < n ? m : n;
    if (!geodec__finite(m * n, a)) GEODEC_THROW(GEODEC_NUMERIC, "singular values of a matrix that is not finite");
    GEODEC_NEW(copy, m * n);
    GEODEC_NEW(iwork, 8 * r);
    memcpy(copy, a, (size_t)(m * n) * sizeof *copy);
    /* Row-major A is column-major A^T = V diag(s) U^T: LAPACK's left vectors are our vt, its right ones our u. */
    double best = 0;
    const lapack_int rows = (lapack_int)n, columns = (lapack_int)m, least = (lapack_int)r, query = -1;
    lapack_int info = 0;
    LAPACK_dgesdd(&job, &rows, &columns, copy, &rows, s, vt, &rows, u, &least, &best, &query, iwork, &info);
    if (info != 0) GEODEC_THROW(GEODEC_INTERNAL, "dgesdd refused its work query: %d", (int)info);
    const lapack_int n_work = (lapack_int)best;
    GEODEC_NEW(work, n_work);
    LAPACK_dgesdd(&job, &rows, &columns, copy, &rows, s, vt, &rows, u, &least, work, &n_work, iwork, &info);
    if (info < 0) GEODEC_THROW(GEODEC_INTERNAL, "dgesdd refused argument %d", (int)-info);
    if (info > 0) GEODEC_THROW(GEODEC_NOCONV, "dgesdd did not converge on %lld x %lld", (long long)m, (long long)n);
done:
    GEODEC_FREE(copy, work, iwork);
    return st;
}

geodec_status geodec_svd_thin(int64_t m, int64_t n, const double *a, double *u, double *s, double *vt, geodec_err *err)
{
    return decompose('S', m, n, a, u, s, vt, err);
}

geodec_status geodec_svd_values(int64_t m, int64_t n, const double *a, double *s, geodec_err *err)
{
    double none[1]; /* not referenced with job 'N' */
    return decompose('N', m, n, a, none, s, none, err);
}
