// Files that are read along with the one that is named.

#include "paths.h"
#include "text.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

// Length of a name without one of the endings "a|b"; 0 if it has none of them.
static size_t stem_length(const char *name, const char *endings)
{
    for (const char *at = endings; *at;) {
        char ending[32];
        const size_t n = strcspn(at, "|");
        snprintf(ending, sizeof ending, "%.*s", (int)n, at);
        if (text_ends_with(name, ending)) {
            return strlen(name) - n;
        }
        at += n + (at[n] == '|');
    }
    return 0;
}

// Both have one of the endings, after the same stem.
static int share_stem(const char *a, const char *b, const char *endings)
{
    const size_t n = stem_length(a, endings);
    return n > 0 && stem_length(b, endings) == n && strncmp(a, b, n) == 0;
}

// "x-1.fif" of "x.fif"; "x_split-02_raw.fif" of "x_split-01_raw.fif".
static int is_part(const char *name, const char *other)
{
    const size_t n = stem_length(name, ".fif|.fif.gz");
    if (n == 0 || stem_length(other, ".fif|.fif.gz") == 0) {
        return 0;
    }
    const char *split = strstr(name, "split-");
    if (split) {
        const size_t until = (size_t)(split - name) + 6;
        return strncmp(name, other, until) == 0 &&
               strcmp(name + until + strspn(name + until, "0123456789"),
                      other + until + strspn(other + until, "0123456789")) == 0;
    }
    return strncmp(name, other, n) == 0 && other[n] == '-' &&
           other[n + 1 + strspn(other + n + 1, "0123456789")] == '.';
}

// Tables that BIDS keeps beside the recordings of a subject.
static int is_sidecar(const char *name, const char *other)
{
    static const char tables[] = "channels.tsv|events.tsv|electrodes.tsv|coordsystem.json";
    const size_t subject = strcspn(name, "_");
    return strncmp(name, "sub-", 4) == 0 && strncmp(name, other, subject) == 0 &&
           stem_length(other, tables) > 0;
}

static int is_companion(const char *name, const char *other)
{
    const size_t n = strlen(name);
    return share_stem(name, other, ".vhdr|.vmrk|.eeg|.dat") ||
           share_stem(name, other, ".set|.fdt") || is_part(name, other) ||
           is_sidecar(name, other) || share_stem(name, other, "electrodes.tsv|coordsystem.json") ||
           (strncmp(name, other, n) == 0 && strcmp(other + n, ".json") == 0); // its provenance
}

void paths_for_companions(const char *path, void (*visit)(void *user, const char *path), void *user)
{
    struct stat there;
    const int is_folder = stat(path, &there) == 0 && S_ISDIR(there.st_mode);
    const char *slash = strrchr(path, '/');
    const char *name = is_folder ? "" : (slash ? slash + 1 : path);
    char folder[PATH_MAX] = ".";

    if (is_folder || slash) {
        snprintf(folder, sizeof folder, "%.*s",
                 is_folder ? (int)strlen(path) : (int)(slash - path) + 1, path);
    }
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries)) != NULL;) {
        if (is_folder ? stem_length(entry->d_name, ".npy|.json") > 0
                      : is_companion(name, entry->d_name)) {
            char found[PATH_MAX + 256];
            snprintf(found, sizeof found, "%s/%s", folder, entry->d_name);
            visit(user, found);
        }
    }
    if (entries) {
        closedir(entries);
    }
}
