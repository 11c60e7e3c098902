// One process at a time in a checkpoint folder.
#ifndef TESS_RUNTIME_FOLDER_LOCK_H
#define TESS_RUNTIME_FOLDER_LOCK_H

#include "tessera/base.h"

// Creates the folder if it is missing and holds FOLDER/lock, which names pid and host. The kernel
// drops the lock with the process, however that ends: a stale one cannot stay. TESS_E_LOCKED if
// another process holds it. *fd is -1 after failure; close it to let go.
TESS_MUST_CHECK tess_status tess_folder_lock(const char *folder, int *fd);

#endif
