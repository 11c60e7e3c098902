#include "systems/autoreject/bids/names.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_alphanumeric(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)text[i]) && text[i] != '+') {
            return false;
        }
    }
    return n > 0;
}

bool tess_ar_bids_parse(const char *path, tess_ar_bids_name *out)
{
    const char *at = base_of(path);
    *out = (tess_ar_bids_name){.extension = ""};
    for (;;) {
        const size_t n = strcspn(at, "_.");
        const char *dash = memchr(at, '-', n);
        if (at[n] != '_') { // what ends the name is the suffix
            out->suffix = at;
            out->n_suffix = n;
            out->extension = at + n;
            return !dash && is_alphanumeric(at, n);
        }
        const size_t n_key = dash ? (size_t)(dash - at) : 0;
        if (!is_alphanumeric(at, n_key) || n_key + 1 >= n ||
            out->n_entity == TESS_AR_BIDS_ENTITIES) {
            return false;
        }
        out->entities[out->n_entity++] = (tess_ar_bids_entity){
            .key = at, .n_key = n_key, .value = dash + 1, .n_value = n - n_key - 1};
        at += n + 1;
    }
}

const tess_ar_bids_entity *tess_ar_bids_find(const tess_ar_bids_name *name, const char *key)
{
    const size_t n = strlen(key);
    for (int i = 0; i < name->n_entity; i++) {
        if (name->entities[i].n_key == n && strncmp(name->entities[i].key, key, n) == 0) {
            return &name->entities[i];
        }
    }
    return NULL;
}

static bool is_same(const char *a, size_t n_a, const char *b, size_t n_b)
{
    return n_a == n_b && strncmp(a, b, n_a) == 0;
}

static bool has(const tess_ar_bids_name *name, const tess_ar_bids_entity *entity)
{
    for (int i = 0; i < name->n_entity; i++) {
        const tess_ar_bids_entity *own = &name->entities[i];
        if (is_same(own->key, own->n_key, entity->key, entity->n_key)) {
            return is_same(own->value, own->n_value, entity->value, entity->n_value);
        }
    }
    return false;
}

// What is looked for, and how good a name is for it.
typedef struct search {
    const tess_ar_bids_name *of;
    const char *suffix;
    const char *extension;
    bool with_space;
} search;

// -1: it does not speak of the recording; else the larger the nearer.
static int rank(const search *s, const char *base)
{
    tess_ar_bids_name name;
    int n_shared = 0;
    int space = 2; // none is best
    if (!tess_ar_bids_parse(base, &name) || strcmp(name.extension, s->extension) != 0 ||
        !is_same(name.suffix, name.n_suffix, s->suffix, strlen(s->suffix))) {
        return -1;
    }
    for (int i = 0; i < name.n_entity; i++) {
        const tess_ar_bids_entity *entity = &name.entities[i];
        if (has(s->of, entity)) {
            n_shared++;
        } else if (s->with_space && is_same(entity->key, entity->n_key, "space", 5)) {
            space = is_same(entity->value, entity->n_value, "CapTrak", 7) ? 1 : 0;
        } else {
            return -1;
        }
    }
    return 4 * n_shared + space;
}

// The best of one folder into best, "" if there is none.
static void look_into(const search *s, const char *folder, char best[256])
{
    int best_rank = -1;
    DIR *dir = opendir(folder[0] ? folder : ".");
    best[0] = '\0';
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        const int own = strlen(entry->d_name) < 256 ? rank(s, entry->d_name) : -1;
        if (own > best_rank || (own == best_rank && own >= 0 && strcmp(entry->d_name, best) < 0)) {
            best_rank = own;
            snprintf(best, 256, "%s", entry->d_name);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

// Whether a folder is one of the levels below a tree's root.
static bool is_level(const char *folder)
{
    static const char *const types[] = {"eeg", "meg", "ieeg", "nirs"};
    const char *name = base_of(folder);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(name, types[i]) == 0) {
            return true;
        }
    }
    return strncmp(name, "sub-", 4) == 0 || strncmp(name, "ses-", 4) == 0;
}

bool tess_ar_bids_sidecar(const char *path, const char *suffix, const char *extension,
                          bool with_space, char out[TESS_AR_BIDS_PATH])
{
    tess_ar_bids_name name;
    const search s = {&name, suffix, extension, with_space};
    const size_t n = (size_t)(base_of(path) - path);
    char folder[TESS_AR_BIDS_PATH];
    if (!tess_ar_bids_parse(path, &name) || !tess_ar_bids_find(&name, "sub") ||
        n + 256 >= sizeof folder) {
        return false;
    }
    snprintf(folder, sizeof folder, "%.*s", (int)n, path); // with its slash
    for (;;) {
        char best[256];
        look_into(&s, folder, best);
        if (best[0]) {
            snprintf(out, TESS_AR_BIDS_PATH, "%.3800s%s", folder, best);
            return true;
        }
        size_t end = strlen(folder);
        if (end == 0) {
            return false;
        }
        folder[end - 1] = '\0';
        if (!is_level(folder)) {
            return false;
        }
        folder[(size_t)(base_of(folder) - folder)] = '\0';
    }
}
