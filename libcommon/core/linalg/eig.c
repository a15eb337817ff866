#include "linalg/eig.h"

#include "base/mem.h"
#include "linalg/small_internal.h"

#include <lapack.h>
#include <math.h>
#include <string.h>

enum { EIG_MAX_N = 20000 };

/* dsyevd's documented workspace with vectors: 1 + 6 n + 2 n^2 doubles and 3 + 5 n integers. */
static int64_t work_doubles(int64_t n) { return 1 + 6 * n + 2 * n * n; }
static int64_t work_ints(int64_t n) { return 3 + 5 * n; }

int64_t geodec__eig_small_work(int64_t n) { return 2 * n * ((n + 7) / 8 * 8) + 8; /* for alignment to 8 doubles */ }

int64_t geodec_eig_sym_scratch(int64_t n)
{
    if (n < 1 || n > EIG_MAX_N) return 0;
    const int64_t lapack = work_doubles(n) + (work_ints(n) * (int64_t)sizeof(lapack_int) + 7) / 8;
    return n <= GEODEC__EIG_SMALL && geodec__eig_small_work(n) > lapack ? geodec__eig_small_work(n) : lapack;
}

static geodec_status check(int64_t n, const double *a, geodec_err *err)
{
    if (n < 1 || n > EIG_MAX_N) GEODEC_FAIL(GEODEC_RANGE, "eigenproblem of dimension %lld", (long long)n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++)
            if (!isfinite(a[i * n + j])) GEODEC_FAIL(GEODEC_NUMERIC, "eigenproblem with a value that is not finite");
    return GEODEC_OK;
}

geodec_status geodec_eig_sym_ws(int64_t n, const double *a, double *w, double *v, double *scratch, geodec_err *err)
{
    GEODEC_PASS(check(n, a, err));
    if (n <= GEODEC__EIG_SMALL && geodec__small_best()->eig(n, a, w, v, scratch)) return GEODEC_OK;
    if (v != a) memcpy(v, a, (size_t)(n * n) * sizeof *v);
    /* row-major lower = column-major upper, and column k of a column-major result is row k of ours */
    const char vectors = 'V', upper = 'U';
    const lapack_int order = (lapack_int)n, n_work = (lapack_int)work_doubles(n), n_iwork = (lapack_int)work_ints(n);
    lapack_int info = 0;
    LAPACK_dsyevd(&vectors, &upper, &order, v, &order, w, scratch, &n_work,
                  (lapack_int *)(void *)(scratch + work_doubles(n)), &n_iwork, &info);
    if (info < 0) GEODEC_FAIL(GEODEC_INTERNAL, "dsyevd refused argument %d", (int)-info);
    if (info > 0) GEODEC_FAIL(GEODEC_NOCONV, "dsyevd did not converge at dimension %lld", (long long)n);
    return GEODEC_OK;
}

geodec_status geodec_eig_sym(int64_t n, const double *a, double *w, double *v, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *scratch = NULL;
    GEODEC_NEW(scratch, geodec_eig_sym_scratch(n));
    GEODEC_TRY(geodec_eig_sym_ws(n, a, w, v, scratch, err));
done:
    geodec_mem_free(scratch);
    return st;
}

geodec_status geodec_eig_values(int64_t n, const double *a, double *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *copy = NULL, *work = NULL;
    lapack_int iwork = 0;
    GEODEC_TRY(check(n, a, err));
    GEODEC_NEW(copy, n * n);
    memcpy(copy, a, (size_t)(n * n) * sizeof *copy);
    double best = 0;
    const char values = 'N', upper = 'U';
    const lapack_int order = (lapack_int)n, query = -1, one = 1;
    lapack_int info = 0;
    LAPACK_dsyevd(&values, &upper, &order, copy, &order, w, &best, &query, &iwork, &query, &info);
    if (info != 0) GEODEC_THROW(GEODEC_INTERNAL, "dsyevd refused its work query: %d", (int)info);
    const lapack_int n_work = (lapack_int)((int64_t)best > 2 * n + 1 ? (int64_t)best : 2 * n + 1);
    GEODEC_NEW(work, n_work);
    LAPACK_dsyevd(&values, &upper, &order, copy, &order, w, work, &n_work, &iwork, &one, &info);
    if (info != 0)
        GEODEC_THROW(info < 0 ? GEODEC_INTERNAL : GEODEC_NOCONV, "dsyevd failed at dimension %lld", (long long)n);
done:
    GEODEC_FREE(copy, work);
    return st;
}

void geodec_eig_compose(int64_t n, const double *fw, const double *v, double *out)
{
    memset(out, 0, (size_t)(n * n) * sizeof *out);
    for (int64_t k = 0; k < n; k++) {
        const double *vk = v + k * n;
        for (int64_t i = 0; i < n; i++) {
            const double c = fw[k] * vk[i];
            for (int64_t j = 0; j <= i; j++) out[i * n + j] += c * vk[j];
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) out[i * n + j] = out[j * n + i];
}
