// MAT files of version 7.3 said as those of version 5. Structs are groups, struct arrays groups of
// lists of references, cells lists of references. Only fields of the names asked for are followed.
// Texts and single numbers are copied; longer arrays stay in the file and are told by their path.

#include "helper.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_IMAGE_BYTES = 128 << 20,
    PIECE_BYTES = 1 << 20,
    MAX_DEPTH = 8, // nesting of what is asked for, with room; references may go in circles
    MAX_FIELDS = 64,
    NAME_BYTES = 32, // of a field, in the image
    MAX_CHARS = 512,
    PATH_BYTES = 512,
    MI_INT8 = 1,
    MI_UINT16 = 4,
    MI_INT32 = 5,
    MI_UINT32 = 6,
    MI_DOUBLE = 9,
    MI_MATRIX = 14,
    MI_UTF8 = 16,
    CLASS_CELL = 1,
    CLASS_STRUCT = 2,
    CLASS_CHAR = 4,
    CLASS_DOUBLE = 6,
    CLASS_ELSEWHERE = 31, // as in systems/autoreject/files/eeglab_mat.h
};

typedef struct image {
    uint8_t *bytes;
    size_t used;
    size_t capacity;
    bool is_full; // and what came after is not in it
    int n_name;
    char names[MAX_FIELDS][NAME_BYTES];
} image;

static void put(image *m, const void *src, size_t n)
{
    if (m->is_full || n > MAX_IMAGE_BYTES - m->used) {
        m->is_full = true;
        return;
    }
    if (m->used + n > m->capacity) {
        const size_t wanted = 2 * (m->used + n) + PIECE_BYTES;
        uint8_t *grown = realloc(m->bytes, wanted);
        m->is_full = grown == NULL;
        if (m->is_full) {
            return;
        }
        m->bytes = grown;
        m->capacity = wanted;
    }
    memcpy(m->bytes + m->used, src, n);
    m->used += n;
}

static void put_element(image *m, uint32_t type, const void *data, size_t n)
{
    static const uint8_t zeros[8];
    const uint32_t tag[2] = {type, (uint32_t)n};
    put(m, tag, sizeof tag);
    put(m, data, n);
    put(m, zeros, (8 - n % 8) % 8);
}

// The header of an array; returns where it begins, for close_array().
static size_t open_array(image *m, uint32_t class, int rank, const int32_t *shape, const char *name)
{
    const size_t at = m->used;
    const uint32_t tag[2] = {MI_MATRIX, 0};
    const uint32_t flags[2] = {class, 0};
    put(m, tag, sizeof tag);
    put_element(m, MI_UINT32, flags, sizeof flags);
    put_element(m, MI_INT32, shape, (size_t)rank * sizeof *shape);
    put_element(m, MI_INT8, name, strlen(name));
    return at;
}

static void close_array(image *m, size_t at)
{
    if (!m->is_full) {
        const uint32_t n = (uint32_t)(m->used - at - 8);
        memcpy(m->bytes + at + 4, &n, sizeof n);
    }
}

static void put_empty(image *m, const char *name)
{
    static const int32_t shape[2] = {0, 0};
    close_array(m, open_array(m, CLASS_DOUBLE, 2, shape, name));
}

// Whether an object's MATLAB_class is this word; NULL: whether it has one.
static bool has_class(hid_t object, const char *word)
{
    char text[NAME_BYTES] = "";
    if (H5Aexists(object, "MATLAB_class") <= 0 || word == NULL) {
        return word == NULL && H5Aexists(object, "MATLAB_class") > 0;
    }
    const hid_t attribute = H5Aopen(object, "MATLAB_class", H5P_DEFAULT);
    const hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    if (type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
        H5Tget_size(type) < sizeof text) {
        (void)H5Aread(attribute, type, text);
    }
    tess_h5_close_id(type);
    tess_h5_close_id(attribute);
    return strcmp(text, word) == 0;
}

// Axes as MATLAB counts them, the first one fastest. False for what has none, or too many.
static bool shape_of(hid_t dataset, int *rank, int32_t shape[TESS_MAX_RANK], int64_t *n_item)
{
    const hid_t space = H5Dget_space(dataset);
    hsize_t dims[H5S_MAX_RANK] = {0};
    *rank = H5Sget_simple_extent_dims(space, dims, NULL);
    bool is_right = *rank >= 1 && *rank <= TESS_MAX_RANK;
    *n_item = 1;
    for (int axis = 0; is_right && axis < *rank; axis++) {
        is_right = dims[axis] <= INT32_MAX &&
                   !__builtin_mul_overflow(*n_item, (int64_t)dims[axis], n_item);
        shape[*rank - 1 - axis] = is_right ? (int32_t)dims[axis] : 0;
    }
    if (is_right && *rank == 1) {
        shape[(*rank)++] = 1;
    }
    tess_h5_close_id(space);
    return is_right;
}

static bool is_reference(hid_t dataset)
{
    const hid_t type = H5Dget_type(dataset);
    const bool is = H5Tequal(type, H5T_STD_REF_OBJ) > 0;
    tess_h5_close_id(type);
    return is;
}

// The references of a data set, from malloc(); NULL if they cannot be read.
static hobj_ref_t *references_of(hid_t dataset, int64_t *n)
{
    int rank;
    int32_t shape[TESS_MAX_RANK + 1];
    if (!shape_of(dataset, &rank, shape, n) || *n < 1 ||
        *n > MAX_IMAGE_BYTES / (int64_t)sizeof(hobj_ref_t)) {
        return NULL;
    }
    hobj_ref_t *list = malloc((size_t)*n * sizeof *list);
    if (list != NULL &&
        H5Dread(dataset, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, list) < 0) {
        free(list);
        return NULL;
    }
    return list;
}

static void put_object(image *m, hid_t object, const char *name, int depth);

static void put_reference(image *m, const hobj_ref_t *reference, int depth)
{
    const hid_t object = H5Rdereference2(tess_h5_now.file, H5P_DEFAULT, H5R_OBJECT, reference);
    if (object < 0) {
        put_empty(m, "");
        return;
    }
    put_object(m, object, "", depth + 1);
    tess_h5_close_id(object);
}

static void put_cell(image *m, hid_t dataset, const char *name, int depth)
{
    int64_t n = 0;
    hobj_ref_t *list = references_of(dataset, &n);
    if (list == NULL) {
        put_empty(m, name);
        return;
    }
    const int32_t shape[2] = {1, (int32_t)n};
    const size_t at = open_array(m, CLASS_CELL, 2, shape, name);
    for (int64_t i = 0; i < n && !m->is_full; i++) {
        put_reference(m, &list[i], depth);
    }
    close_array(m, at);
    free(list);
}

static void put_text(image *m, hid_t dataset, const char *name, int64_t n_item)
{
    uint16_t *chars = n_item > 0 && n_item <= MAX_IMAGE_BYTES / (int64_t)sizeof *chars
                          ? calloc((size_t)n_item, sizeof *chars)
                          : NULL;
    if (chars == NULL ||
        H5Dread(dataset, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, chars) < 0) {
        put_empty(m, name);
    } else {
        const int32_t n = n_item < MAX_CHARS ? (int32_t)n_item : MAX_CHARS;
        const int32_t shape[2] = {1, n};
        const size_t at = open_array(m, CLASS_CHAR, 2, shape, name);
        put_element(m, MI_UINT16, chars, (size_t)n * sizeof *chars);
        close_array(m, at);
    }
    free(chars);
}

static void put_number(image *m, hid_t dataset, const char *name)
{
    static const int32_t shape[2] = {1, 1};
    double value = 0;
    if (H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) < 0) {
        put_empty(m, name);
        return;
    }
    const size_t at = open_array(m, CLASS_DOUBLE, 2, shape, name);
    put_element(m, MI_DOUBLE, &value, sizeof value);
    close_array(m, at);
}

static void put_path(image *m, hid_t dataset, const char *name, int rank, const int32_t *shape)
{
    char path[PATH_BYTES];
    const ssize_t n = H5Iget_name(dataset, path, sizeof path);
    if (n < 1 || n >= (ssize_t)sizeof path) {
        put_empty(m, name);
        return;
    }
    const size_t at = open_array(m, CLASS_ELSEWHERE, rank, shape, name);
    put_element(m, MI_UTF8, path, (size_t)n);
    close_array(m, at);
}

static void put_dataset(image *m, hid_t dataset, const char *name, int depth)
{
    int rank;
    int32_t shape[TESS_MAX_RANK + 1];
    int64_t n_item;
    const hid_t type = H5Dget_type(dataset);
    const H5T_class_t kind = H5Tget_class(type);
    tess_h5_close_id(type);
    // What is empty keeps its shape in the data.
    if (!shape_of(dataset, &rank, shape, &n_item) || n_item < 1 ||
        H5Aexists(dataset, "MATLAB_empty") > 0) {
        put_empty(m, name);
    } else if (is_reference(dataset)) {
        put_cell(m, dataset, name, depth);
    } else if (kind != H5T_INTEGER && kind != H5T_FLOAT) {
        put_empty(m, name);
    } else if (has_class(dataset, "char")) {
        put_text(m, dataset, name, n_item);
    } else if (n_item == 1) {
        put_number(m, dataset, name);
    } else {
        put_path(m, dataset, name, rank, shape);
    }
}

// A field of a struct: an object, or, of a struct array, a reference per item.
typedef struct field {
    const char *name;
    hid_t object;
    hobj_ref_t *list;
    int64_t n;
} field;

// Links that lead elsewhere are not followed.
static bool open_field(hid_t group, const char *name, field *out)
{
    H5L_info_t link;
    *out = (field){.name = name, .object = -1};
    if (H5Lexists(group, name, H5P_DEFAULT) <= 0 ||
        H5Lget_info(group, name, &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD) {
        return false;
    }
    out->object = H5Oopen(group, name, H5P_DEFAULT);
    return out->object >= 0;
}

static bool is_list(const field *f)
{
    return H5Iget_type(f->object) == H5I_DATASET && !has_class(f->object, NULL) &&
           is_reference(f->object);
}

static void put_names(image *m, const field *fields, int n)
{
    const int32_t width = NAME_BYTES;
    char names[MAX_FIELDS][NAME_BYTES] = {{0}};
    for (int i = 0; i < n; i++) {
        memcpy(names[i], fields[i].name, strlen(fields[i].name));
    }
    // The reader wants the width in a short element, as MATLAB writes it.
    const uint32_t tag = MI_INT32 | 4u << 16;
    put(m, &tag, sizeof tag);
    put(m, &width, sizeof width);
    put_element(m, MI_INT8, names, (size_t)n * NAME_BYTES);
}

static void put_items(image *m, const field *fields, int n, int64_t n_item, bool is_array,
                      int depth)
{
    for (int64_t i = 0; i < n_item && !m->is_full; i++) {
        for (int f = 0; f < n; f++) {
            if (!is_array) {
                put_object(m, fields[f].object, "", depth + 1);
            } else if (fields[f].list != NULL && i < fields[f].n) {
                put_reference(m, &fields[f].list[i], depth);
            } else {
                put_empty(m, "");
            }
        }
    }
}

static void put_struct(image *m, hid_t group, const char *name, int depth)
{
    field fields[MAX_FIELDS];
    int n = 0;
    int64_t n_item = 1;
    bool is_array = false;
    for (int i = 0; i < m->n_name; i++) {
        n += open_field(group, m->names[i], &fields[n]);
    }
    for (int f = 0; f < n; f++) {
        if (is_list(&fields[f])) {
            fields[f].list = references_of(fields[f].object, &fields[f].n);
            n_item = is_array && n_item > fields[f].n ? n_item : fields[f].n;
            is_array = true;
        }
    }
    if (n == 0 || n_item > INT32_MAX) {
        put_empty(m, name);
    } else {
        const int32_t shape[2] = {1, (int32_t)n_item};
        const size_t at = open_array(m, CLASS_STRUCT, 2, shape, name);
        put_names(m, fields, n);
        put_items(m, fields, n, n_item, is_array, depth);
        close_array(m, at);
    }
    for (int f = 0; f < n; f++) {
        free(fields[f].list);
        tess_h5_close_id(fields[f].object);
    }
}

static void put_object(image *m, hid_t object, const char *name, int depth)
{
    const H5I_type_t kind = H5Iget_type(object);
    if (depth > MAX_DEPTH) {
        put_empty(m, name);
    } else if (kind == H5I_GROUP) {
        put_struct(m, object, name, depth);
    } else if (kind == H5I_DATASET) {
        put_dataset(m, object, name, depth);
    } else {
        put_empty(m, name);
    }
    H5Eclear2(H5E_DEFAULT);
}

static void take_names(image *m, const char *names)
{
    while (names != NULL && *names != '\0' && m->n_name < MAX_FIELDS) {
        const size_t n = strcspn(names, "|");
        if (n > 0 && n < NAME_BYTES) {
            memcpy(m->names[m->n_name++], names, n);
        }
        names += n + (names[n] == '|');
    }
}

tess_status tess_h5_answer_matlab(tess_h5_message *question)
{
    static image m; // too large for the stack
    m = (image){0};
    take_names(&m, tess_h5_get_text(question));
    for (int i = 0; i < m.n_name; i++) {
        field variable;
        if (open_field(tess_h5_now.file, m.names[i], &variable)) {
            put_object(&m, variable.object, variable.name, 0);
            tess_h5_close_id(variable.object);
        }
    }
    H5Eclear2(H5E_DEFAULT);
    for (size_t done = 0; !m.is_full && done < m.used; done += PIECE_BYTES) {
        const size_t n = m.used - done < PIECE_BYTES ? m.used - done : PIECE_BYTES;
        tess_h5_put(tess_h5_answer(n), m.bytes + done, n);
        tess_h5_send_answer(TESS_H5_ITEM);
    }
    free(m.bytes);
    m.bytes = NULL;
    return m.is_full ? tess_h5_refuse(TESS_E_FORMAT,
                                      "%s: what describes the recording takes more than %d MiB; is "
                                      "the file damaged? Save it again with fewer events",
                                      tess_h5_now.path, MAX_IMAGE_BYTES >> 20)
                     : TESS_OK;
}
