/* metric CLOUD.h5 OUT.h5 DIM: the Mahalanobis metric of the k nearest neighbours, with its control. */
#include <geodec/cloud.h>
#include <geodec/geodec.h>
#include <geodec/metric.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    geodec_err err = {0};
    geodec_artifact *in = NULL, *out = NULL;
    geodec_cloud cloud = {0};
    geodec_metric metric = {0};
    geodec_metric_medians noise;
    geodec_provenance p = {.tool = "metric", .command_line = "metric"};
    double *x = NULL;
    char line[1024];
    int status = 1;
    if (argc != 4) return 2;
    const int64_t n = atoi(argv[3]);
    const geodec_metric_options o = geodec_metric_defaults();
    if (geodec_artifact_open(geodec_kinds_find("cloud"), argv[1], &in, &err) != GEODEC_OK) goto done;
    if (geodec_provenance_add_artifact(&p, in, &err) != GEODEC_OK) goto done;
    if (geodec_cloud_read(in, &cloud, &err) != GEODEC_OK) goto done;
    if (geodec_cloud_coordinates(&cloud, n, &x, &err) != GEODEC_OK) goto done;
    if (geodec_metric_fit(cloud.points, n, x, &o, NULL, NULL, &metric, &err) != GEODEC_OK) goto done;
    if (geodec_metric_control(&metric, 1, NULL, NULL, &noise, &err) != GEODEC_OK) goto done;
    /* With the rows of the points, later stages follow the text. */
    const geodec_metric_source source = {.cloud_row = cloud.cloud_row,
                                         .activation_row = cloud.row,
                                         .sequence = cloud.sequence,
                                         .position = cloud.position,
                                         .d = cloud.d,
                                         .basis = cloud.basis,
                                         .mean = cloud.mean,
                                         .layer = cloud.layer,
                                         .control = noise};
    if (geodec_artifact_create(geodec_kinds_find("metric"), argv[2], &p, &out, &err) != GEODEC_OK) goto done;
    if (geodec_metric_write(&metric, &source, out, &err) != GEODEC_OK) goto done;
    const geodec_status st = geodec_artifact_commit(out, &err);
    out = NULL;
    if (st != GEODEC_OK) goto done;
    printf("%lld points, %lld neighbours, sigma %.4g; of Gaussian noise: median condition %.3g\n",
           (long long)metric.points, (long long)metric.k, metric.sigma, noise.condition);
    status = 0;
done:
    if (status) fprintf(stderr, "metric: %s\n", geodec_err_line(&err, line, sizeof line));
    geodec_artifact_close(in);
    geodec_artifact_close(out);
    geodec_cloud_clear(&cloud);
    geodec_metric_clear(&metric);
    geodec_mem_free(x);
    return status;
}
