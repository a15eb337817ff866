/* One writer of a folder at a time, for outputs of many files that belong together (each file has a lock of its own
 * while it is written: io/atomic.h). The lock is advisory (flock) and ends with the process. */
#ifndef GEODEC_IO_FOLDER_LOCK_H
#define GEODEC_IO_FOLDER_LOCK_H

#include "base/err.h"

/* *lock: for geodec_folder_unlock; -1 where the file system has no locks of folders, which is no error.
 * GEODEC_EXISTS: another process is writing it. GEODEC_NOTFOUND, GEODEC_IO. */
geodec_status geodec_folder_lock(const char *folder, int *lock, geodec_err *err) GEODEC_MUST_USE;
void geodec_folder_unlock(int lock); /* -1 ok */

#endif
