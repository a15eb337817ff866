/* Files that end the program: one that is truncated while it is mapped, and one on which the HDF5 library crashes. */
#ifndef GEODEC_TOOLS_CLI_GUARD_H
#define GEODEC_TOOLS_CLI_GUARD_H

/* From now on such a file ends the program with one line that names it, its partial outputs removed: code 1 for a
 * truncated one (base/mapped.h), 3 for one that HDF5 crashes on (io/h5.h). While HDF5 reads the structure of a file the
 * process may take 1 GiB more memory, no more. Every other fault ends the program as before. */
void guard_install(const char *tool);

#endif
