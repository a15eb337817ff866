/* The driver in a shared object. It stays loaded: MPI cannot be unloaded and started again. */
#include "cluster/comm.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

geodec_status geodec_comm_load(const char *path, const geodec_hooks *hooks, geodec_comm **out, geodec_err *err)
{
    geodec_driver_entry entry = NULL;
    if (access(path, R_OK) != 0)
        GEODEC_FAIL(GEODEC_NOTFOUND, "%s is missing: this build has no MPI (packages libopenmpi-dev, openmpi-bin)",
                    path);
    /* the components of Open MPI look for its symbols among those of the process */
    void *object = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!object) GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s", dlerror());
    void *symbol = dlsym(object, "geodec_mpi_driver");
    if (!symbol) GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s is not a driver of Geodec", path);
    memcpy(&entry, &symbol, sizeof entry);
    return geodec_comm_open(entry(), hooks, out, err);
}
