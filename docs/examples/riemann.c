/* riemann METRIC.h5: the scalar curvature of the field at points of the cloud, and of a field of noise. */
#include "opened.h"

#include <geodec/riemann.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    geodec_err err = {0};
    opened in = {0};
    geodec_riemann r = {0};
    char line[1024];
    int status = 1;
    if (argc != 2) return 2;
    const geodec_riemann_options o = {.samples = 32, .midpoints = 16, .control = 16, .seed = 1};
    if (opened_metric(argv[1], &in, &err) != GEODEC_OK) goto done;
    if (geodec_riemann_compute(&in.metric, in.space.space, NULL, &o, NULL, NULL, &r, &err) != GEODEC_OK) goto done;
    printf("median |R| at points %.4g, half-way between them %.4g; of noise %.4g and %.4g\n",
           r.median_abs_scalar[GEODEC_PLACE_SAMPLE], r.median_abs_scalar[GEODEC_PLACE_MIDPOINT],
           r.noise.median_abs_scalar[GEODEC_PLACE_SAMPLE], r.noise.median_abs_scalar[GEODEC_PLACE_MIDPOINT]);
    printf("the same code on the unit sphere: error %.1e\n", r.sphere_error);
    status = 0;
done:
    if (status) fprintf(stderr, "riemann: %s\n", geodec_err_line(&err, line, sizeof line));
    geodec_riemann_clear(&r);
    opened_close(&in);
    return status;
}
