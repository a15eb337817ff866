/* A geodesic of the unit sphere, the logarithm map back, and the propagator along the path. */
#include <geodec/geodesic.h>

#include <math.h>
#include <stdio.h>

int main(void)
{
    enum { STEPS = 16 };
    geodec_err err = {0};
    geodec_space_conformal sphere;
    geodec_geodesic_options o = geodec_geodesic_defaults();
    geodec_path_report report;
    const double x0[2] = {0, 0};
    double v0[2] = {1, 0}, xs[STEPS + 1][2], vs[STEPS + 1][2];
    o.steps = STEPS;
    o.dl = 1.0 / STEPS;
    if (geodec_space_conformal_init(&sphere, 2, 1, &err) != GEODEC_OK) return 1;
    if (geodec_geodesic_unit(&sphere.base, x0, v0, &err) != GEODEC_OK) return 1;
    if (geodec_geodesic_path(&sphere.base, &o, x0, v0, xs[0], vs[0], NULL, &report, &err) != GEODEC_OK) return 1;
    /* In the stereographic chart an arc of length 1 from the origin ends at tan(1/2). */
    printf("end %.9f, tan(1/2) = %.9f, drift of the speed %.1e\n", xs[STEPS][0], tan(0.5), report.drift);

    const geodec_logmap_options shoot = geodec_logmap_defaults();
    double w[2];
    bool found;
    if (geodec_logmap(&sphere.base, &shoot, x0, xs[STEPS], w, &found, &err) != GEODEC_OK || !found) return 1;
    printf("log map: (%.4f, %.4f), initial velocity (%.4f, %.4f)\n", w[0], w[1], v0[0], v0[1]);

    const geodec_propagate_options magnus = geodec_propagate_defaults();
    geodec_propagate_report p;
    double phi[STEPS + 1][2][2], differences[2][2];
    if (geodec_propagate_path(&sphere.base, &magnus, STEPS, o.dl, report.good, xs[0], vs[0], phi[0][0], NULL, &p,
                              &err) != GEODEC_OK)
        return 1;
    /* The control: the same by moving the start a little. */
    if (geodec_propagate_by_differences(&sphere.base, &o, x0, v0, 0, differences[0], &err) != GEODEC_OK) return 1;
    printf("dx_0(T)/dx_0(0) = %.6f, by differences %.6f\n", phi[STEPS][0][0], differences[0][0]);
    return 0;
}
