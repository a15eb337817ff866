/* Internal: the search for neighbours by coarse distances and its inner loop. */
#ifndef GEODEC_LINALG_KNN_INTERNAL_H
#define GEODEC_LINALG_KNN_INTERNAL_H

#include "linalg/knn.h"

/* A group of 64 points; a leaf: neighbouring points that are scanned together. */
enum { GEODEC__KNN_GROUP = 64, GEODEC__KNN_LEAF = 256, GEODEC__KNN_MAX_K = 64, GEODEC__KNN_MAX_D = 8192 };
/* Queries that are scanned together. */
enum { GEODEC__KNN_BLOCK = 64 };

/* Candidates of a query: `score` falls with the distance, `id` is the point's place in scanning order. */
typedef struct geodec__knn_found {
    int32_t *score, *id; /* 16 more than are ever filled */
    int64_t count;
    int32_t limit; /* lowest score that is kept */
} geodec__knn_found;

/* Scores of `groups` groups of points against n queries; those of at least the limit are appended.
 *   point: groups x words x 64 x 4 bytes: word w of a group holds bytes (or shorts) 4w .. 4w+3 (2w, 2w+1) of its 64
 * points in turn. Bytes of points are stored plus 128. half [64 groups]: score = sum point * query - half. query [n]:
 * pointers to `words` words. first: id of the first point. */
typedef void (*geodec__knn_scan)(const uint8_t *point, int64_t groups, int64_t words, const int32_t *half,
                                 int32_t first, int64_t n, const int32_t *const *query,
                                 geodec__knn_found *const *found);
typedef struct geodec__knn_kernels {
    const char *name;
    geodec__knn_scan bytes, shorts; /* NULL when not available */
    /* Squared distances of 64 queries, query [d][64], to boxes [boxes][d][2] (least, most): out [boxes][64]. */
    void (*bounds)(int64_t boxes, int64_t d, const float *box, const float *query, float *out);
    /* Bit q is set where bound[q] <= limit[q]. */
    uint64_t (*within)(const float *bound, const float *limit);
} geodec__knn_kernels;
extern const geodec__knn_kernels geodec__knn_avx2, geodec__knn_vnni;
/* NULL when the processor supports neither. */
const geodec__knn_kernels *geodec__knn_best(void);

/* The search of geodec_knn_search_part by coarse distances, with the given kernels. *done is false when they exclude
 * too few points to pay; the results are then incomplete. */
geodec_status geodec__knn_coarse(const geodec__knn_kernels *kernels, const geodec_knn_part *part, int64_t n_points,
                                 int64_t d, const double *points, int64_t n_queries, const double *queries, int64_t k,
                                 int32_t *index, double *dist2, geodec_pool *pool, const geodec_hooks *hooks, int *done,
                                 geodec_err *err);

/* The k-th of x [n] in the order `before` (< or >), without x[skip], through a heap [k] that holds the k first of them,
 * the last on top. At least k values, none NaN. */
#define GEODEC__KNN_KTH(name, type, before)                                                                            \
    static type name(int64_t n, const type *x, int64_t skip, int64_t k, type *heap)                                    \
    {                                                                                                                  \
        int64_t size = 0;                                                                                              \
        heap[0] = x[0];                                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const type v = x[i];                                                                                       \
            if (i == skip || (size == k && !(v before heap[0]))) continue;                                             \
            int64_t at;                                                                                                \
            if (size < k) { /* sift up */                                                                              \
                for (at = size++; at > 0 && heap[(at - 1) / 2] before v; at = (at - 1) / 2)                            \
                    heap[at] = heap[(at - 1) / 2];                                                                     \
            } else { /* replace the top, sift down */                                                                  \
                at = 0;                                                                                                \
                for (int64_t c = 1; c < k; c = 2 * at + 1) {                                                           \
                    if (c + 1 < k && heap[c] before heap[c + 1]) c++;                                                  \
                    if (!(v before heap[c])) break;                                                                    \
                    heap[at] = heap[c];                                                                                \
                    at = c;                                                                                            \
                }                                                                                                      \
            }                                                                                                          \
            heap[at] = v;                                                                                              \
        }                                                                                                              \
        return heap[0];                                                                                                \
    }

#endif
