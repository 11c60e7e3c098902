// Which data set: the only one of a file, one of several, or one that a study lists.
#include "base/status.h"
#include "systems/autoreject/files/eeglab.h"
#include "systems/autoreject/text/text_input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 512, MAX_LISTED = 10, NOT_FOUND = -1 };

static const char *const field_names[] = {
#define FIELD_NAME(enumerator, name) [TESS_EEGLAB_##enumerator] = name,
    TESS_EEGLAB_FIELDS(FIELD_NAME)
#undef FIELD_NAME
};

const char *tess_eeglab_field_name(tess_eeglab_field field)
{
    return field_names[field];
}

// The names of a struct array's items, by a field of them.
typedef struct name_list {
    tess_eeglab *set;
    const tess_mat_struct *items;
    const char *field;
    const char *of; // "data sets"
} name_list;

static tess_status name_of(const name_list *list, int64_t k, char name[NAME_BYTES])
{
    tess_mat_array field;
    TESS_TRY(tess_mat_field(list->items, k, list->field, &field));
    return tess_mat_text(&list->set->mat, &field, name, NAME_BYTES);
}

static tess_status refuse(const name_list *list)
{
    char text[MAX_LISTED * 64];
    size_t used = 0;
    const tess_eeglab *set = list->set;
    const int64_t n = list->items->n_item;
    text[0] = '\0';
    for (int64_t k = 0; k < n && k < MAX_LISTED && used < sizeof text - 1; k++) {
        char name[NAME_BYTES];
        TESS_TRY(name_of(list, k, name));
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRId64 " '%.40s'",
                                 k ? ", " : "", k + 1, name);
    }
    TESS_FAIL(TESS_E_NOT_FOUND,
              "%s: %s%s%s%" PRId64 " %s (%s%s); name one with dataset, by its number or its name",
              set->path, set->wanted[0] ? "no '" : "", set->wanted,
              set->wanted[0] ? "' among " : "", n, list->of, text, n > MAX_LISTED ? ", ..." : "");
}

// A number counts from 1; a name must be of one item only.
static tess_status choose(const name_list *list, int64_t *chosen)
{
    const char *wanted = list->set->wanted;
    const int64_t n = list->items->n_item;
    char *end = NULL;
    const long number = strtol(wanted, &end, 10);
    *chosen = NOT_FOUND;
    if (!wanted[0]) {
        *chosen = n == 1 ? 0 : NOT_FOUND;
    } else if (*end == '\0') {
        *chosen = number >= 1 && number <= n ? number - 1 : NOT_FOUND;
    } else {
        int64_t n_same = 0;
        for (int64_t k = 0; k < n; k++) {
            char name[NAME_BYTES];
            TESS_TRY(name_of(list, k, name));
            if (strcmp(name, wanted) == 0) {
                *chosen = k;
                n_same++;
            }
        }
        *chosen = n_same == 1 ? *chosen : NOT_FOUND;
    }
    return *chosen == NOT_FOUND ? refuse(list) : TESS_OK;
}

static tess_status take_struct(tess_eeglab *set, const tess_mat_array *array)
{
    tess_mat_struct eeg;
    int64_t k = 0;
    TESS_TRY(tess_mat_struct_open(&set->mat, array, &eeg));
    const name_list list = {set, &eeg, field_names[TESS_EEGLAB_SETNAME], "data sets"};
    tess_status status = eeg.n_item > 0 ? choose(&list, &k) : TESS_OK; // nothing: nbchan is missed
    for (int i = 0; i < TESS_EEGLAB_N_FIELD && status == TESS_OK && eeg.n_item > 0; i++) {
        status = tess_mat_field(&eeg, k, field_names[i], &set->fields[i]);
    }
    tess_mat_struct_close(&eeg);
    return status;
}

// Where a study says that a set is, or beside the study, which moves together with its sets.
static tess_status find_listed(tess_eeglab *set, const char *folder, const char *name,
                               const char **out)
{
    tess_heap *heap = &set->epochs->ctx->heap;
    char whole[2 * NAME_BYTES];
    snprintf(whole, sizeof whole, "%s%s%s", folder, folder[0] ? "/" : "", name);
    char *told = whole[0] == '/' ? NULL : tess_ar_beside(heap, set->path, whole);
    char *beside = tess_ar_beside(heap, set->path, name);
    tess_status status = beside && (told || whole[0] == '/') ? TESS_OK : TESS_E_MEMORY;
    const char *first = told ? told : whole;
    if (status == TESS_OK) {
        const char *found = tess_ar_file_exists(first)    ? first
                            : tess_ar_file_exists(beside) ? beside
                                                          : NULL;
        if (!found) {
            status = tess_error_set(TESS_E_NOT_FOUND,
                                    "%s: neither %s, which the study names, nor %s is there",
                                    set->path, first, beside);
        } else {
            *out = tess_ar_epochs_text(set->epochs, found);
            status = *out ? TESS_OK : TESS_E_MEMORY;
        }
    }
    tess_ar_path_free(heap, told);
    tess_ar_path_free(heap, beside);
    return status;
}

static tess_status listed_path(tess_eeglab *set, const tess_mat_struct *sets, const char **out)
{
    static const char *const fields[] = {"filepath", "filename"};
    char texts[2][NAME_BYTES];
    const name_list list = {set, sets, "filename", "data sets"};
    int64_t k = 0;
    TESS_TRY(choose(&list, &k));
    for (int i = 0; i < 2; i++) {
        tess_mat_array field;
        TESS_TRY(tess_mat_field(sets, k, fields[i], &field));
        TESS_TRY(tess_mat_text(&set->mat, &field, texts[i], NAME_BYTES));
    }
    if (!texts[1][0]) {
        TESS_FAIL(TESS_E_FORMAT, "%s: data set %" PRId64 " of the study has no file", set->path,
                  k + 1);
    }
    return find_listed(set, texts[0], texts[1], out);
}

static tess_status open_study(tess_eeglab *set, const tess_mat_array *array, const char **out)
{
    tess_mat_struct study;
    tess_mat_struct sets = {0};
    tess_mat_array info = {0};
    TESS_TRY(tess_mat_struct_open(&set->mat, array, &study));
    tess_status status =
        study.n_item > 0 ? tess_mat_field(&study, 0, "datasetinfo", &info) : TESS_OK;
    if (status == TESS_OK) {
        status = tess_mat_struct_open(&set->mat, &info, &sets);
    }
    if (status == TESS_OK && sets.n_item == 0) {
        status = tess_error_set(TESS_E_FORMAT, "%s: a study without data sets", set->path);
    }
    if (status == TESS_OK) {
        status = listed_path(set, &sets, out);
    }
    tess_mat_struct_close(&sets);
    tess_mat_struct_close(&study);
    return status;
}

// Struct EEG or ALLEEG, or, in files of some versions, the fields as variables. *study: the file
// that a study names.
static tess_status find_in_file(tess_eeglab *set, const char **study)
{
    int64_t offset = 0;
    while (offset >= 0) {
        tess_mat_array variable;
        TESS_TRY(tess_mat_next_variable(&set->mat, &offset, &variable));
        if (strcmp(variable.name, "EEG") == 0 || strcmp(variable.name, "ALLEEG") == 0) {
            return take_struct(set, &variable);
        }
        if (strcmp(variable.name, "STUDY") == 0) {
            return open_study(set, &variable, study);
        }
        for (int i = 0; i < TESS_EEGLAB_N_FIELD; i++) {
            if (strcmp(variable.name, field_names[i]) == 0) {
                set->fields[i] = variable;
            }
        }
    }
    return TESS_OK;
}

static tess_status open_file(tess_context *ctx, tess_eeglab *set)
{
    const tess_infile *file = NULL;
    TESS_TRY(tess_ar_epochs_open_input(set->epochs, set->path, &file));
    return tess_eeglab_is_hdf5(file) ? tess_eeglab_open_hdf5(ctx, file, &set->mat)
                                     : tess_mat_open(ctx, file, &set->mat);
}

tess_status tess_eeglab_find_fields(tess_context *ctx, tess_eeglab *set)
{
    const char *listed = NULL;
    TESS_TRY(open_file(ctx, set));
    TESS_TRY(find_in_file(set, &listed));
    if (!listed) {
        return TESS_OK;
    }
    // The file of a study's set holds that one alone, and no other study.
    tess_ar_epochs_note(set->epochs, "%s is a study; data set %s is read", set->path, listed);
    tess_mat_close(&set->mat);
    set->path = listed;
    set->wanted = "";
    listed = NULL;
    TESS_TRY(open_file(ctx, set));
    TESS_TRY(find_in_file(set, &listed));
    if (listed) {
        TESS_FAIL(TESS_E_FORMAT, "%s: a study that lists a study", set->path);
    }
    return TESS_OK;
}
