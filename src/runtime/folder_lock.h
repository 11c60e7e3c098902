// The lock of a checkpoint folder under its old name, until every system goes through work.h.
#ifndef TESS_RUNTIME_FOLDER_LOCK_H
#define TESS_RUNTIME_FOLDER_LOCK_H

#include "runtime/work_folder.h"

#define tess_folder_lock tess_work_folder_lock

#endif
