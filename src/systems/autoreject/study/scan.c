// Recordings of a BIDS tree: sub-*/[ses-*/]{eeg,meg}/*_{eeg,meg}.{fif,edf,bdf,vhdr,set}.
#include "base/status.h"
#include "systems/autoreject/bids/names.h"
#include "systems/autoreject/study/study.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const char *const DATATYPES[] = {"eeg", "meg"};
// In the order of preference where a recording is there in several.
static const char *const READABLE[] = {".fif", ".vhdr", ".edf", ".bdf", ".set"};
static const char *const OTHERS[] = {".ds",  ".sqd", ".con", ".kdf",  ".mff",
                                     ".cnt", ".nwb", ".xdf", ".mefd", ".fif.gz"};

static int index_of(const char *const *list, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++) {
        if (strcasecmp(list[i], word) == 0) {
            return (int)i;
        }
    }
    return -1;
}

// Runs are numbers, which may have zeros in front; other labels are words.
static bool is_same_label(const char *key, const char *a, size_t n_a, const char *b, size_t n_b)
{
    const bool is_number = strcmp(key, "run") == 0;
    for (; is_number && n_a > 1 && *a == '0'; n_a--) {
        a++;
    }
    for (; is_number && n_b > 1 && *b == '0'; n_b--) {
        b++;
    }
    return n_a == n_b && strncmp(a, b, n_a) == 0;
}

// The length of the label that begins at *at and ends before *end; *at moves over blanks, which
// labels never have and lists like "01, 02" do.
static size_t label_at(const char **at, const char **end)
{
    *at += strspn(*at, " ");
    *end = *at + strcspn(*at, ",");
    size_t n = (size_t)(*end - *at);
    while (n > 0 && (*at)[n - 1] == ' ') {
        n--;
    }
    return n;
}

// Whether a list "01,sub-02" holds a value; an empty list holds all.
static bool is_listed(const char *list, const char *key, const char *value, size_t n_value)
{
    const size_t n_key = strlen(key);
    const char *end = NULL;
    for (const char *at = list; at && *at; at = end + (*end == ',')) {
        const size_t n = label_at(&at, &end);
        const bool has_key = n > n_key && strncmp(at, key, n_key) == 0 && at[n_key] == '-';
        const size_t skip = has_key ? n_key + 1 : 0;
        if (is_same_label(key, at + skip, n - skip, value, n_value)) {
            return true;
        }
    }
    return !list || !*list;
}

static bool is_wanted(const tess_autoreject_study *s, const tess_ar_bids_name *name)
{
    const struct {
        const char *list;
        const char *key;
    } filters[] = {{s->config.subjects, "sub"},
                   {s->config.sessions, "ses"},
                   {s->config.tasks, "task"},
                   {s->config.acquisitions, "acq"},
                   {s->config.runs, "run"}};
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        const tess_ar_bids_entity *entity = tess_ar_bids_find(name, filters[i].key);
        if (!is_listed(filters[i].list, filters[i].key, entity ? entity->value : "",
                       entity ? entity->n_value : 0)) {
            return false;
        }
    }
    // Measurements of no one are of use only to those who ask for them.
    const tess_ar_bids_entity *subject = tess_ar_bids_find(name, "sub");
    return s->config.subjects || !subject || subject->n_value != 9 ||
           strncmp(subject->value, "emptyroom", 9) != 0;
}

// A later part of a recording that was split, which its first part leads to.
static bool is_later_part(const tess_ar_bids_name *name)
{
    const tess_ar_bids_entity *split = tess_ar_bids_find(name, "split");
    return split && strtol(split->value, NULL, 10) > 1;
}

// Files that belong to the device.
static bool is_of_device(const tess_ar_bids_name *name)
{
    const tess_ar_bids_entity *acq = tess_ar_bids_find(name, "acq");
    return acq && ((acq->n_value == 11 && strncmp(acq->value, "calibration", 11) == 0) ||
                   (acq->n_value == 9 && strncmp(acq->value, "crosstalk", 9) == 0));
}

static const char *value_text(tess_autoreject_study *s, const tess_ar_bids_name *name,
                              const char *key)
{
    const tess_ar_bids_entity *entity = tess_ar_bids_find(name, key);
    char text[256];
    snprintf(text, sizeof text, "%.*s", entity ? (int)entity->n_value : 0,
             entity ? entity->value : "");
    return tess_ar_study_text(s, text);
}

// The entities that tell it from others; a part of a split and an earlier description do not.
static const char *name_text(tess_autoreject_study *s, const tess_ar_bids_name *name)
{
    char text[512] = "";
    size_t used = 0;
    for (int i = 0; i < name->n_entity; i++) {
        const tess_ar_bids_entity *e = &name->entities[i];
        const bool is_left_out = (e->n_key == 5 && strncmp(e->key, "split", 5) == 0) ||
                                 (e->n_key == 4 && strncmp(e->key, "desc", 4) == 0);
        if (!is_left_out && used + e->n_key + e->n_value + 3 < sizeof text) {
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s%.*s-%.*s", used ? "_" : "",
                                 (int)e->n_key, e->key, (int)e->n_value, e->value);
        }
    }
    return tess_ar_study_text(s, text);
}

static tess_status grow(tess_autoreject_study *s)
{
    if (s->n < s->capacity) {
        return TESS_OK;
    }
    const int64_t more = s->capacity ? 2 * s->capacity : 64;
    tess_autoreject_study_recording *bigger =
        tess_blocks_alloc(&s->memory, more, sizeof *bigger, "list of recordings");
    if (!bigger) {
        return TESS_E_MEMORY;
    }
    if (s->n > 0) {
        memcpy(bigger, s->recordings, (size_t)s->n * sizeof *bigger);
    }
    s->recordings = bigger;
    s->capacity = more;
    return TESS_OK;
}

// folder: "sub-01/eeg", below the root.
static tess_status add(tess_autoreject_study *s, const char *folder, const char *base,
                       const tess_ar_bids_name *name, const char *datatype)
{
    char path[TESS_AR_STUDY_PATH];
    TESS_TRY(grow(s));
    if (snprintf(path, sizeof path, "%s/%s/%s", s->root, folder, base) >= (int)sizeof path) {
        TESS_FAIL(TESS_E_ARGUMENT, "%.200s...: the path is too long", path);
    }
    tess_autoreject_study_recording *r = &s->recordings[s->n++];
    *r = (tess_autoreject_study_recording){.struct_size = sizeof *r,
                                           .name = name_text(s, name),
                                           .path = tess_ar_study_text(s, path),
                                           .subject = value_text(s, name, "sub"),
                                           .session = value_text(s, name, "ses"),
                                           .task = value_text(s, name, "task"),
                                           .acquisition = value_text(s, name, "acq"),
                                           .run = value_text(s, name, "run"),
                                           .datatype = datatype,
                                           .folder = tess_ar_study_text(s, folder),
                                           .message = "",
                                           .n_epoch = -1,
                                           .n_kept = -1,
                                           .bad_epochs = (double)NAN,
                                           .bad_channels = (double)NAN,
                                           .repaired = (double)NAN};
    return r->name && r->path && r->subject && r->session && r->task && r->acquisition && r->run &&
                   r->folder
               ? TESS_OK
               : TESS_E_MEMORY;
}

static tess_status take_file(tess_autoreject_study *s, const char *folder, const char *base,
                             const char *datatype)
{
    tess_ar_bids_name name;
    if (!tess_ar_bids_parse(base, &name) || name.n_suffix != strlen(datatype) ||
        strncmp(name.suffix, datatype, name.n_suffix) != 0 || !tess_ar_bids_find(&name, "sub") ||
        !is_wanted(s, &name) || is_later_part(&name) || is_of_device(&name)) {
        return TESS_OK;
    }
    if (index_of(OTHERS, sizeof OTHERS / sizeof *OTHERS, name.extension) >= 0) {
        tess_ar_study_note(s, "%s/%s: passed over: %s is not read; convert it with mne_bids",
                           folder, base, name.extension);
    }
    return index_of(READABLE, sizeof READABLE / sizeof *READABLE, name.extension) >= 0
               ? add(s, folder, base, &name, datatype)
               : TESS_OK;
}

typedef tess_status (*visit_fn)(tess_autoreject_study *s, const char *folder, const char *base,
                                const void *user);

// Everything of a folder below the root ("": itself).
static tess_status visit(tess_autoreject_study *s, const char *folder, visit_fn fn,
                         const void *user)
{
    char path[TESS_AR_STUDY_PATH];
    if (snprintf(path, sizeof path, "%s/%s", s->root, folder) >= (int)sizeof path) {
        TESS_FAIL(TESS_E_ARGUMENT, "%.200s...: the path is too long", s->root);
    }
    DIR *dir = opendir(path);
    tess_status status = TESS_OK;
    for (struct dirent *entry; dir && status == TESS_OK && (entry = readdir(dir));) {
        if (entry->d_name[0] != '.') {
            status = fn(s, folder, entry->d_name, user);
        }
    }
    if (dir) {
        closedir(dir);
    }
    return status;
}

static tess_status visit_file(tess_autoreject_study *s, const char *folder, const char *base,
                              const void *user)
{
    return take_file(s, folder, base, user);
}

static tess_status visit_level(tess_autoreject_study *s, const char *folder, const char *base,
                               const void *user)
{
    char below[TESS_AR_STUDY_PATH];
    const bool is_root = folder[0] == '\0';
    if (snprintf(below, sizeof below, "%s%s%s", folder, is_root ? "" : "/", base) >=
        (int)sizeof below) {
        return TESS_OK; // no name of a tree is that long
    }
    if (is_root) {
        const bool is_subject = strncmp(base, "sub-", 4) == 0;
        return is_subject ? visit(s, below, visit_level, "sub") : TESS_OK;
    }
    const int type = index_of(DATATYPES, sizeof DATATYPES / sizeof *DATATYPES, base);
    if (type >= 0) {
        return is_listed(s->config.datatypes, "datatype", base, strlen(base))
                   ? visit(s, below, visit_file, DATATYPES[type])
                   : TESS_OK;
    }
    return user && strncmp(base, "ses-", 4) == 0 ? visit(s, below, visit_level, NULL) : TESS_OK;
}

static int preference(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? index_of(READABLE, sizeof READABLE / sizeof *READABLE, dot) : -1;
}

static int by_name(const void *a, const void *b)
{
    const tess_autoreject_study_recording *x = a;
    const tess_autoreject_study_recording *y = b;
    const int folder = strcmp(x->folder, y->folder);
    const int name = folder ? folder : strcmp(x->name, y->name);
    return name ? name : preference(x->path) - preference(y->path);
}

// A recording that is there twice is taken once.
static void drop_twins(tess_autoreject_study *s)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const tess_autoreject_study_recording *r = &s->recordings[i];
        const tess_autoreject_study_recording *last = n > 0 ? &s->recordings[n - 1] : NULL;
        if (last && strcmp(last->name, r->name) == 0 && strcmp(last->folder, r->folder) == 0) {
            tess_ar_study_note(s, "%s: passed over: %s is the same recording", r->path, last->path);
        } else {
            s->recordings[n++] = *r;
        }
    }
    s->n = n;
}

// Whether its folder is that of its subject.
static bool is_at_home(const tess_autoreject_study_recording *r)
{
    const size_t n = strcspn(r->folder, "/");
    return n == 4 + strlen(r->subject) && strncmp(r->folder + 4, r->subject, n - 4) == 0;
}

// One file that two folders lead to, of which one is a link to the other, or both are links.
static bool is_same_file(const tess_autoreject_study_recording *a,
                         const tess_autoreject_study_recording *b)
{
    const tess_autoreject_study_recording *const both[2] = {a, b};
    struct stat folders[2];
    if (strcmp(strrchr(a->path, '/'), strrchr(b->path, '/')) != 0) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        char path[TESS_AR_STUDY_PATH];
        snprintf(path, sizeof path, "%.*s", (int)(strrchr(both[i]->path, '/') - both[i]->path),
                 both[i]->path);
        if (stat(path, &folders[i]) != 0) {
            return false;
        }
    }
    return folders[0].st_ino == folders[1].st_ino && folders[0].st_dev == folders[1].st_dev;
}

// The one to take in place of a recording: in the folder of its subject, else the first. NULL:
// none.
static const tess_autoreject_study_recording *find_linked(const tess_autoreject_study *s, int64_t i)
{
    const tess_autoreject_study_recording *r = &s->recordings[i];
    for (int64_t k = 0; k < s->n; k++) {
        const tess_autoreject_study_recording *other = &s->recordings[k];
        const int better = is_at_home(other) - is_at_home(r);
        if (k != i && (better > 0 || (better == 0 && k < i)) && strcmp(other->name, r->name) == 0 &&
            is_same_file(other, r)) {
            return other;
        }
    }
    return NULL;
}

static tess_status drop_linked(tess_autoreject_study *s)
{
    int64_t n = 0;
    bool *is_left_out = tess_blocks_alloc(&s->memory, s->n, sizeof *is_left_out, "recordings");
    if (!is_left_out) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < s->n; i++) {
        const tess_autoreject_study_recording *other = find_linked(s, i);
        is_left_out[i] = other != NULL;
        if (other) {
            tess_ar_study_note(s, "%s: passed over: %s is the same file, by a link",
                               s->recordings[i].path, other->path);
        }
    }
    for (int64_t i = 0; i < s->n; i++) {
        if (!is_left_out[i]) {
            s->recordings[n++] = s->recordings[i];
        }
    }
    s->n = n;
    return TESS_OK;
}

// Lists that name nothing, and kinds of recordings that there are not.
static tess_status check_words(const tess_autoreject_study *s)
{
    const struct {
        const char *list;
        const char *option;
    } lists[] = {{s->config.subjects, "subjects"}, {s->config.sessions, "sessions"},
                 {s->config.tasks, "task"},        {s->config.acquisitions, "acquisition"},
                 {s->config.runs, "run"},          {s->config.datatypes, "datatype"}};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        if (lists[k].list && lists[k].list[strspn(lists[k].list, " ,")] == '\0') {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "--%s: '%.60s' holds no label; give some, or leave the option out for all",
                      lists[k].option, lists[k].list);
        }
    }
    const char *end = NULL;
    for (const char *at = s->config.datatypes; at && *at; at = end + (*end == ',')) {
        const size_t n = label_at(&at, &end);
        char one[64];
        snprintf(one, sizeof one, "%.*s", (int)n, at);
        bool is_known = n == 0;
        for (size_t i = 0; i < sizeof DATATYPES / sizeof *DATATYPES; i++) {
            is_known = is_known || is_listed(one, "datatype", DATATYPES[i], strlen(DATATYPES[i]));
        }
        if (!is_known) {
            TESS_FAIL(TESS_E_ARGUMENT, "--datatype: '%s'; recordings are of eeg or meg", one);
        }
    }
    return TESS_OK;
}

// Labels that were asked for and are nowhere.
static tess_status check_lists(const tess_autoreject_study *s)
{
    const struct {
        const char *list;
        const char *key;
        size_t offset;
    } lists[] = {
        {s->config.subjects, "sub", offsetof(tess_autoreject_study_recording, subject)},
        {s->config.sessions, "ses", offsetof(tess_autoreject_study_recording, session)},
        {s->config.tasks, "task", offsetof(tess_autoreject_study_recording, task)},
        {s->config.acquisitions, "acq", offsetof(tess_autoreject_study_recording, acquisition)},
        {s->config.runs, "run", offsetof(tess_autoreject_study_recording, run)}};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        const char *list = lists[k].list;
        const char *end = NULL;
        for (const char *at = list; at && *at; at = end + (*end == ',')) {
            char one[128];
            const size_t n = label_at(&at, &end);
            bool is_found = n == 0;
            snprintf(one, sizeof one, "%.*s", (int)n, at);
            for (int64_t i = 0; i < s->n && !is_found; i++) {
                const char *value =
                    *(const char *const *)((const char *)&s->recordings[i] + lists[k].offset);
                is_found = is_listed(one, lists[k].key, value, strlen(value));
            }
            if (!is_found) {
                TESS_FAIL(TESS_E_NOT_FOUND,
                          "%s: no recording of %s-%s with the other labels asked for", s->root,
                          lists[k].key, one);
            }
        }
    }
    return TESS_OK;
}

tess_status tess_ar_study_scan(tess_autoreject_study *s)
{
    struct stat there;
    if (stat(s->root, &there) != 0 || !S_ISDIR(there.st_mode)) {
        TESS_FAIL(TESS_E_NOT_FOUND,
                  "%s: is no folder; give the root of a BIDS tree, where the "
                  "folders sub-... are",
                  s->root);
    }
    TESS_TRY(check_words(s));
    TESS_TRY(visit(s, "", visit_level, NULL));
    if (s->n > 0) {
        qsort(s->recordings, (size_t)s->n, sizeof *s->recordings, by_name);
        drop_twins(s);
        TESS_TRY(drop_linked(s));
    }
    TESS_TRY(check_lists(s));
    if (s->n == 0) {
        TESS_FAIL(TESS_E_NOT_FOUND,
                  "%s: no recordings; expected names such as sub-01/eeg/sub-01_task-rest_eeg.edf "
                  "(eeg or meg; .fif, .vhdr, .edf, .bdf, .set) with the labels asked for",
                  s->root);
    }
    s->items = tess_blocks_alloc(&s->memory, s->n, sizeof *s->items, "list of recordings");
    if (!s->items) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < s->n; i++) {
        s->items[i].info = &s->recordings[i];
    }
    return TESS_OK;
}
