// Gathers the paths of a command line by the roles of its table, and compares each with each.

#include "paths.h"

#include "text.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMED = 40 }; // paths of one command line

// A file that is read along with one that is named.
typedef struct companion {
    const paths_item *of;
    dev_t device;
    ino_t inode;
} companion;

typedef struct look {
    const cli *c;
    paths_item items[MAX_NAMED];
    int n;
    char user_file[PATH_MAX];
    companion *companions; // owned
    size_t n_companion;
    size_t capacity;
    int no_memory;
} look;

static void add(look *l, path_role role, const char *path, const char *endings, const char *label)
{
    if (!path || l->n == MAX_NAMED) {
        return;
    }
    paths_item *item = &l->items[l->n++];
    *item = (paths_item){.path = path, .role = role, .endings = endings};
    snprintf(item->label, sizeof item->label, "%s", label);
    place_locate(path, &item->at);
}

static void gather_options(look *l)
{
    const opt_list *list = &l->c->options;

    for (int64_t i = 0; i < list->n_item; i++) {
        const opt_item *item = &list->items[i];
        const char *const *target = item->target;
        char label[PATHS_LABEL] = "-o";
        int is_alias = 0;
        for (int64_t k = 0; k < i; k++) {
            is_alias |= list->items[k].target == item->target;
        }
        const int is_stream = item->role == PATH_APPEND && *target && strcmp(*target, "-") == 0;
        if (item->role != PATH_UNSAID && !is_alias && !is_stream) {
            if (item->target != (const void *)&l->c->values.output) {
                snprintf(label, sizeof label, "--%.40s", item->name);
            }
            add(l, item->role, *target, item->endings, label);
        }
    }
}

static void gather_operand(look *l, int i)
{
    const cli *c = l->c;
    const int like = cli_operand_place(c->command, i);

    if (like >= 0 && c->command->operand_roles[like] == PATH_READ) {
        char label[CLI_WORD_BYTES];
        cli_operand_word(c->command, like, label);
        add(l, PATH_READ, c->operands[i], NULL, label);
    }
}

static void gather(look *l)
{
    const cli *c = l->c;

    for (int i = 0; i < c->n_operand && i < 2; i++) {
        gather_operand(l, i);
    }
    gather_options(l);
    for (int i = 2; i < c->n_operand; i++) { // last: there may be more than have room
        gather_operand(l, i);
    }
    if (c->command->groups & CLI_ENGINE) {
        settings_user_file(l->user_file, sizeof l->user_file);
        add(l, PATH_READ, c->values.config ? NULL : getenv("TESSERA_CONFIG"), NULL,
            "TESSERA_CONFIG");
        add(l, PATH_READ, l->user_file[0] ? l->user_file : NULL, NULL, "the user's configuration");
    }
}

typedef struct companion_of {
    look *l;
    const paths_item *item;
} companion_of;

static void add_companion(void *user, const char *path)
{
    const companion_of *to = user;
    look *l = to->l;
    struct stat there;

    if (l->n_companion == l->capacity) {
        const size_t capacity = l->capacity ? 2 * l->capacity : 64;
        companion *grown = realloc(l->companions, capacity * sizeof *grown);
        if (!grown) {
            l->no_memory = 1;
            return;
        }
        l->companions = grown;
        l->capacity = capacity;
    }
    if (stat(path, &there) == 0) {
        l->companions[l->n_companion++] = (companion){to->item, there.st_dev, there.st_ino};
    }
}

static int is_read_with(const look *l, const paths_item *item, const place *p)
{
    for (size_t i = 0; i < l->n_companion; i++) {
        const companion *found = &l->companions[i];
        if (found->of == item && p->rest[0] == '\0' && found->device == p->device &&
            found->inode == p->inode) {
            return 1;
        }
    }
    return 0;
}

static int is_own_folder(const paths_item *item)
{
    return item->role == PATH_OWN || (item->role == PATH_RESULT && !text_has_suffix(item->path));
}

// The names that a command gives files in a folder it writes into; NULL: not known.
static const char *names_in(const look *l, const paths_item *item)
{
    if (item->role != PATH_INTO) {
        return NULL;
    }
    return strcmp(item->label, "--cache") == 0
               ? "cached_c2_*|phi_angles_list.txt|wavevector_q_list.txt"
           : strcmp(item->label, "-o") == 0 ? l->c->command->output_names
                                            : NULL;
}

// Whether a file that lies in the folder has a name of those with a star.
static int is_named_by(const char *names, const paths_item *folder, const paths_item *other)
{
    const char *slash = strrchr(other->path, '/');
    char pattern[64];

    while (names && *names && place_is_inside(&other->at, &folder->at)) {
        const size_t n = strcspn(names, "|");
        snprintf(pattern, sizeof pattern, "%.*s", (int)n, names);
        if (strchr(pattern, '*') && fnmatch(pattern, slash ? slash + 1 : other->path, 0) == 0) {
            return 1;
        }
        names += n + (names[n] == '|');
    }
    return 0;
}

// What is written besides the path itself, number k; 0 if there is no more.
static int more_written(const look *l, const paths_item *item, int k, char path[PATH_MAX])
{
    const char *names = names_in(l, item);
    if (item->role == PATH_RESULT || text_ends_with(item->path, ".npy")) {
        snprintf(path, PATH_MAX, "%.4000s.json", item->path); // its provenance
        return k == 0;
    }
    for (int i = 0; names && *names; i++) {
        const size_t n = strcspn(names, "|");
        // The page of a folder is left out where another is asked for.
        const int is_left_out = l->c->values.report && strncmp(names, "report.html", n) == 0;
        if (i == k) {
            snprintf(path, PATH_MAX, "%.3900s%s%.*s", item->path, is_left_out ? "" : "/",
                     is_left_out ? 0 : (int)n, names);
            return 1;
        }
        names += n + (names[n] == '|');
    }
    return 0;
}

static int refuse(const look *l, const paths_item *item, const char *path, const paths_item *other,
                  const char *how)
{
    if (other->role == PATH_READ) {
        return cli_usage_error(l->c,
                               "%s %s is read %s %s %s, it cannot be written, too; give the "
                               "result another name",
                               item->label, path, how, other->label, other->path);
    }
    return cli_usage_error(l->c,
                           "%s %s and %s %s are two results of one name; give them "
                           "different names",
                           item->label, path, other->label, other->path);
}

// What writing one path would do to another.
static int check_pair(const look *l, const paths_item *item, const paths_item *other)
{
    char path[PATH_MAX];
    place p;

    if (is_own_folder(item) && place_is_inside(&other->at, &item->at)) {
        return cli_usage_error(l->c,
                               "%s %s lies in %s %s, a folder that belongs to the run alone; give "
                               "one of them another place",
                               other->label, other->path, item->label, item->path);
    }
    if (place_is_same(&item->at, &other->at) &&
        !(item->role == PATH_INTO && other->role == PATH_INTO)) {
        return refuse(l, item, item->path, other, "as");
    }
    if (is_read_with(l, other, &item->at)) {
        return refuse(l, item, item->path, other, "with");
    }
    if (other->role != PATH_READ && is_named_by(names_in(l, item), item, other)) {
        return refuse(l, other, other->path, item, "");
    }
    for (int k = 0; more_written(l, item, k, path); k++) {
        place_locate(path, &p);
        if (place_is_same(&p, &other->at)) {
            return refuse(l, item, path, other, "as");
        }
        if (is_read_with(l, other, &p)) {
            return refuse(l, item, path, other, "with");
        }
    }
    return 0;
}

static int check_pairs(look *l)
{
    for (int i = 0; i < l->n; i++) {
        if (l->items[i].role == PATH_READ) {
            paths_for_companions(l->items[i].path, add_companion, &(companion_of){l, &l->items[i]});
        }
    }
    for (int i = 0; i < l->n; i++) {
        for (int k = 0; k < l->n && l->items[i].role != PATH_READ; k++) {
            if (k != i) {
                CLI_TRY(check_pair(l, &l->items[i], &l->items[k]));
            }
        }
    }
    return l->no_memory ? console_fail(71, "no memory to compare the files") : 0;
}

static int look_at_all(look *l)
{
    gather(l);
    for (int i = 0; i < l->n; i++) {
        if (l->items[i].role != PATH_READ && !l->items[i].path[0]) {
            return console_fail(73, "%s: a result without a name; give that of a file or folder",
                                l->items[i].label);
        }
    }
    CLI_TRY(check_pairs(l));
    for (int i = 0; i < l->n; i++) {
        CLI_TRY(paths_check_item(l->c, &l->items[i]));
    }
    return 0;
}

int paths_check(const cli *c)
{
    look *l = calloc(1, sizeof *l);
    if (!l) {
        return console_fail(71, "no memory to compare the files");
    }
    l->c = c;
    const int code = look_at_all(l);
    free(l->companions);
    free(l);
    return code;
}
