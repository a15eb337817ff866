/* Curvature of spaces whose curvature is known: R = K n (n - 1). */
#include <geodec/curvature.h>

#include <stdio.h>

int main(void)
{
    geodec_err err = {0};
    const double x[4] = {0.1, 0.2, -0.1, 0.05};
    for (int n = 2; n <= 4; n++)
        for (int k = -1; k <= 1; k++) {
            geodec_space_conformal s;
            geodec_curvature_invariants c;
            if (geodec_space_conformal_init(&s, n, k, &err) != GEODEC_OK) return 1;
            if (geodec_curvature_at(&s.base, x, NULL, NULL, &c, &err) != GEODEC_OK) return 1;
            printf("n = %d, K = %2d: scalar %9.6f, exact %3d; Bianchi residual %.1e\n", n, k, c.scalar, k * n * (n - 1),
                   c.check.bianchi);
        }
    return 0;
}
