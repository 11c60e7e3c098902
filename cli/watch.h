// A watched folder: which of its files are complete, each named once for every content it has.
//
// The folder is asked for its time at every poll, and its names are read only when that changed;
// inotify, where there is one, says the names at once. A file is looked at after short waits while
// it changes and after growing ones while it rests, so that neither a million names nor a file
// that is never finished cost more than a few looks a second.
#ifndef TESSERA_CLI_WATCH_H
#define TESSERA_CLI_WATCH_H

#include <stddef.h>
#include <stdint.h>

// A file's content, as far as a look at the folder tells. A new name changes nothing.
typedef struct watch_identity {
    uint64_t inode;
    int64_t size;
    int64_t mtime_ns;
} watch_identity;

typedef struct watch_file {
    const char *name;    // lives with the list
    watch_identity seen; // at the last look; size -1: not looked at yet
    double due;          // key of the look that is queued; 0: none
    double changed;      // when the last look found something new
    uint8_t is_done;     // what was seen has its row
    uint8_t is_failed;   // and the row says that it could not be fitted
    uint8_t is_told;     // that it is not complete was said
    uint8_t is_ready;    // in the queue of complete files
} watch_file;

enum { WATCH_NONE = -1 };

// Numbers of files by a hash of theirs.
typedef struct watch_index {
    uint32_t *slots; // number + 1; 0: free
    size_t n_slot;
    size_t n_used;
} watch_index;

typedef struct watch_files {
    watch_file *files;
    int64_t n;
    int64_t capacity;
    watch_index names;
    watch_index contents; // of those with a row
    char *block;          // names are cut off from
    size_t left;
    void *blocks; // list of all
} watch_files;

// The number of a name; WATCH_NONE: it is not known.
int64_t watch_files_find(const watch_files *list, const char *name);
// Adds a name that is not known yet; WATCH_NONE: no memory.
int64_t watch_files_add(watch_files *list, const char *name);
// Another file that has a row for this very content; WATCH_NONE: none.
int64_t watch_files_same(const watch_files *list, int64_t file);
// What was seen of the file has its row. 0: no memory.
int watch_files_done(watch_files *list, int64_t file);
void watch_files_close(watch_files *list);

// Files by a key, the least first. A file may be in it twice: who takes it out looks whether it
// still counts.
typedef struct watch_queue {
    struct watch_queued {
        double key;
        int64_t file;
    } *items;
    int64_t n;
    int64_t capacity;
} watch_queue;

// 0: no memory.
int watch_queue_push(watch_queue *queue, double key, int64_t file);
int64_t watch_queue_pop(watch_queue *queue, double *key);

typedef struct watch_folder {
    const char *path;
    const char *pattern; // a glob; NULL: names that end as files of correlations do
    double poll_s;
    double settle_s;   // a file that rested so long may be complete
    double patience_s; // and one that could not be fitted for so long gets a row
    int is_once;       // what is there, and then no more
    watch_files files;
    watch_queue due;   // by time
    watch_queue ready; // by the time of the file
    int fd;            // of the folder; -1: it is not there
    uint64_t device;
    uint64_t inode;
    int64_t mtime_ns; // when its names were read
    int hints;        // of inotify; -1: none
    int hint_of;      // what it watches
    int hints_work;   // they have told a name since the names were read
    double polled;    // when the folder was asked last
    double scanned;   // when reading its names ended
    double scan_s;    // and how long it took
    double again;     // when they are read once more, whatever its time says; 0: no need
    int is_stale;     // names may be missing
    int n_scan;
    int no_memory;
    int is_missing_told;
} watch_folder;

// Seconds of a clock that only goes forward.
double watch_now(void);

// Files that are added to w->files before are known. Exit code.
int watch_open(watch_folder *w);
// The next complete file, oldest first; WATCH_NONE: none now.
int64_t watch_next(watch_folder *w);
// Whether the file still is what was seen when watch_next() named it; one that is gone by now is.
int watch_is_same(const watch_folder *w, int64_t file);
// It could not be fitted: it is named again after a while.
void watch_retry(watch_folder *w, int64_t file);
// How long it has rested, seconds.
double watch_rest(const watch_folder *w, int64_t file);
// Sleeps until something may have happened, or a signal.
void watch_sleep(const watch_folder *w);
// With is_once: nothing is left to wait for.
int watch_is_over(const watch_folder *w);
void watch_close(watch_folder *w);

#endif
