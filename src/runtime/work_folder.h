// The files of a checkpoint folder: its lock, its checkpoints, what belongs to them.
//
// The folder may hold anything when a run comes to it, links to a user's other files among it: what
// is opened for writing there is a plain file of one name, and what is removed is ours by its name.
#ifndef TESS_RUNTIME_WORK_FOLDER_H
#define TESS_RUNTIME_WORK_FOLDER_H

#include "runtime/context.h"

enum { TESS_WORK_LISTED = 64 };

typedef struct tess_work_listing {
    int64_t numbers[TESS_WORK_LISTED]; // of the checkpoints of a name, newest first
    int n;
    char stranger[256]; // a checkpoint of another name; "": there is none
} tess_work_listing;

// Makes the folder if need be and takes it for this process: TESS_E_LOCKED naming the holder if
// another has it. The lock is held until *fd is closed.
TESS_MUST_CHECK tess_status tess_work_folder_lock(const char *folder, int *fd);

TESS_MUST_CHECK tess_status tess_work_folder_list(const char *folder, const char *name,
                                                  tess_work_listing *listing);

// None of these names (NULL at the end; may be NULL) is a link, or anything but a file or folder.
TESS_MUST_CHECK tess_status tess_work_folder_check_files(const char *folder,
                                                         const char *const *files);

// Removes what a killed run left behind while it wrote a checkpoint.
void tess_work_folder_sweep(const char *folder);

// Removes these files (NULL at the end; may be NULL), then all checkpoints.
TESS_MUST_CHECK tess_status tess_work_folder_clear(const char *folder, const char *const *files);

// The same with the files that the checkpoints themselves name.
TESS_MUST_CHECK tess_status tess_work_folder_clear_all(tess_context *ctx, const char *folder);

// Removes the lock, and the folder unless the user keeps other things there.
void tess_work_folder_remove(const char *folder);

#endif
