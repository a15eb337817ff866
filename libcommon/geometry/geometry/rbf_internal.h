/* Shared by the files of the radial basis field. */
#ifndef GEODEC_GEOMETRY_RBF_INTERNAL_H
#define GEODEC_GEOMETRY_RBF_INTERNAL_H

#include "geometry/rbf.h"

#include <stdbool.h>

typedef struct geodec__rbf_tree geodec__rbf_tree;
struct geodec__rbf_kernels;

/* Below e^-CUTOFF of the largest weight a site is left out. Fields with more than TREE sites have a tree. More sites
 * than FAST_ACTIVE with weight at a point are summed in blocks. */
enum { RBF_CUTOFF = 50, RBF_TREE = 256, RBF_FAST_ACTIVE = 4096 };

struct geodec_rbf {
    geodec_space space;              /* first: the space is the field */
    int64_t n_sites, n, packed, row; /* row: packed, up to n = 16 rounded up to 8 */
    double sigma;
    const double *site; /* [n_sites][n], the tree's or own_site */
    double *own_site;
    int32_t *place; /* [n_sites] row of site p as it was given; NULL = p */
    double *site_t; /* [n][n_sites], for distances along consecutive memory */
    double *log_g;  /* [n_sites][row], zero beyond packed; in mapped bytes of a file when mapped > 0 */
    int64_t mapped;
    double *log_t;          /* without a tree, n <= 16: [packed][n_sites rounded up to 8], zero beyond n_sites */
    geodec__rbf_tree *tree; /* NULL for few sites */
    const struct geodec__rbf_kernels *kernels;
};

/* The sites within a radius. The tree keeps a copy of site [n_sites][n] in its own order, in which neighbours lie
 * together: sites [n_sites][n], order [n_sites] = the number of each as it was given. */
geodec_status geodec__rbf_tree_create(int64_t n_sites, int64_t n, const double *site, geodec__rbf_tree **out,
                                      geodec_err *err);
void geodec__rbf_tree_destroy(geodec__rbf_tree *t); /* NULL ok */
const double *geodec__rbf_tree_sites(const geodec__rbf_tree *t);
const int32_t *geodec__rbf_tree_order(const geodec__rbf_tree *t);
/* Least squared distance; *where: row of the nearest site; of several the one that was given first. */
double geodec__rbf_tree_nearest(const geodec__rbf_tree *t, const double *x, int64_t *where);
/* Rows of the sites with squared distance <= radius2 into index [room], in the tree's order; returns their number, or a
 * larger one than room when they do not fit. */
int64_t geodec__rbf_tree_within(const geodec__rbf_tree *t, const double *x, double radius2, int64_t room,
                                int32_t *index);

/* What geodec_space asks of a field, computed by the kernels. *done_here is false if they do not apply: nothing was
 * written then. Arguments as in space.h. */
geodec_status geodec__rbf_first(const geodec_rbf *f, const double *x, double *g, double *dg, bool *done_here,
                                geodec_err *err);
geodec_status geodec__rbf_path(const geodec_space *s, int64_t points, const double *x, const double *v, double *speed2,
                               double *accel, bool *done_here, geodec_err *err);
geodec_status geodec__rbf_variation(const geodec_space *s, int64_t points, const double *x, const double *v, double *gv,
                                    double *dgvv, bool *done_here, geodec_err *err);
geodec_status geodec__rbf_riemann(const geodec_space *s, const double *x, double *riem, bool *done_here,
                                  geodec_err *err);

/* exp(L) and its derivatives. All matrices [n][n] full and symmetric; rows of v are eigenvectors, l eigenvalues. */
int64_t geodec__expdiff_scratch(int64_t n); /* doubles */
/* dg [n_dir][n][n] = first Frechet derivatives along dl [n_dir][n][n], given as packed rows [n_dir][packed]. When
 * dl_eig is not NULL the directions in the eigenbasis [n_dir][n][n] are left there. */
void geodec__expdiff_first(int64_t n, const double *l, const double *v, int64_t n_dir, const double *dl_packed,
                           double *dl_eig, double *dg, double *scratch);
/* d2g [n(n+1)/2][n][n], pairs a <= b packed: along directions a and b (in the eigenbasis, from the first call) plus the
 * second derivatives d2l_packed [n(n+1)/2][packed]. work: scratch + n^3 doubles for the second divided differences. */
int64_t geodec__expdiff_second_scratch(int64_t n);
void geodec__expdiff_second(int64_t n, const double *l, const double *v, const double *dl_eig, const double *d2l_packed,
                            double *d2g, double *scratch);
/* Divided differences of exp: exp[x,y] and exp[x,y,z], accurate to a few ulp for any spacing. */
double geodec__expdiff_dd2(double x, double y);
double geodec__expdiff_dd3(double x, double y, double z);

#endif
