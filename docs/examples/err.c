/* Errors are values: a status, and a chain of messages from the call that failed outwards. */
#include <geodec/artifact.h>
#include <geodec/geodec.h>

#include <stdio.h>

int main(void)
{
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    char line[1024];
    printf("geodec %s\n", geodec_version());
    const geodec_status st = geodec_kinds_open("/nonexistent/cloud.h5", &a, &err);
    if (st == GEODEC_OK) return 1;
    /* The status says what to do, the line says what happened, the trace says where. */
    printf("%s (%s), exit code of a tool: %d\n", geodec_status_name(st), geodec_status_text(st),
           geodec_status_exit(st));
    printf("%s\n", geodec_err_line(&err, line, sizeof line));
    /* A caller adds its own context to the chain. */
    geodec_err_add(&err, st, __func__, __LINE__, "reading the cloud of %s", "a paper");
    printf("%s\n", geodec_err_line(&err, line, sizeof line));
    return 0;
}
