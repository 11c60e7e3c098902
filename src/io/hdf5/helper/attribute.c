// Reading one attribute: a number, a few of them, or a text.

#include "helper.h"

#include <stdio.h>
#include <string.h>

enum {
    FIXED_CHARS = 256,
    MAX_NUMBERS = 16,
    NUMBER_CHARS = 32,
    MAX_CHARS = 1 << 16,
    MAX_PROVENANCE_BYTES = 16 << 20
};

// The text of an attribute, to be freed with H5free_memory; NULL if it is none or too long.
static char *text_of(hid_t attribute, hid_t type, size_t max_bytes)
{
    char *text = NULL;
    const size_t n_byte = H5Tget_size(type);
    if (H5Tis_variable_str(type) > 0) {
        (void)H5Aread(attribute, type, &text);
    } else if (n_byte < max_bytes) {
        text = H5allocate_memory(n_byte + 1, 1);
        if (text != NULL && H5Aread(attribute, type, text) < 0) {
            H5free_memory(text);
            text = NULL;
        }
    }
    return text;
}

static void send_attribute(int32_t kind, double number, const char *text)
{
    tess_h5_message *m = tess_h5_answer(MAX_CHARS + 32);
    tess_h5_put(m, &kind, sizeof kind);
    tess_h5_put(m, &number, sizeof number);
    tess_h5_put_text(m, text);
    tess_h5_send_answer(TESS_H5_ITEM);
}

// A few numbers as a text, with spaces between them.
static void send_numbers(hid_t attribute, int n)
{
    double numbers[MAX_NUMBERS] = {0};
    char text[MAX_NUMBERS * NUMBER_CHARS] = "";
    if (H5Aread(attribute, H5T_NATIVE_DOUBLE, numbers) < 0) {
        return;
    }
    for (int i = 0; i < n; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%.17g", i > 0 ? " " : "", numbers[i]);
    }
    send_attribute(2, 0, text);
}

// Nothing is sent of what is neither, of several texts, and of many numbers.
static void send_value(hid_t attribute)
{
    const hid_t type = H5Aget_type(attribute);
    const hid_t space = H5Aget_space(attribute);
    const H5T_class_t class = H5Tget_class(type);
    const hssize_t n_point = H5Sget_simple_extent_npoints(space);
    if (n_point > 1 && n_point <= MAX_NUMBERS && (class == H5T_FLOAT || class == H5T_INTEGER)) {
        send_numbers(attribute, (int)n_point);
    } else if (n_point == 1) {
        double number = 0;
        if (class == H5T_STRING) {
            char *text = text_of(attribute, type, FIXED_CHARS);
            if (text != NULL) {
                text[strnlen(text, MAX_CHARS - 1)] = '\0';
                send_attribute(2, 0, text);
            }
            H5free_memory(text);
        } else if ((class == H5T_FLOAT || class == H5T_INTEGER) &&
                   H5Aread(attribute, H5T_NATIVE_DOUBLE, &number) >= 0) {
            send_attribute(1, number, NULL);
        }
    }
    tess_h5_close_id(space);
    tess_h5_close_id(type);
}

tess_status tess_h5_answer_attribute(tess_h5_message *question)
{
    const char *object = tess_h5_get_text(question);
    const char *name = tess_h5_get_text(question);
    if (object != NULL && name != NULL &&
        H5Aexists_by_name(tess_h5_now.file, object, name, H5P_DEFAULT) > 0) {
        const hid_t attribute =
            H5Aopen_by_name(tess_h5_now.file, object, name, H5P_DEFAULT, H5P_DEFAULT);
        if (attribute >= 0) {
            send_value(attribute);
        }
        tess_h5_close_id(attribute);
    }
    H5Eclear2(H5E_DEFAULT);
    return TESS_OK;
}

tess_status tess_h5_answer_provenance(tess_h5_message *question)
{
    (void)question;
    if (H5Aexists(tess_h5_now.file, TESS_H5_PROVENANCE_NAME) <= 0) {
        return TESS_OK;
    }
    const hid_t attribute = H5Aopen(tess_h5_now.file, TESS_H5_PROVENANCE_NAME, H5P_DEFAULT);
    const hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    char *text = NULL;
    tess_status status = TESS_OK;
    if (type >= 0 && H5Tget_class(type) != H5T_STRING) {
        status = tess_h5_refuse(TESS_E_FORMAT, "%s: attribute '%s' is no text", tess_h5_now.path,
                                TESS_H5_PROVENANCE_NAME);
    } else {
        text = type >= 0 ? text_of(attribute, type, MAX_PROVENANCE_BYTES) : NULL;
        status = text != NULL && strlen(text) < MAX_PROVENANCE_BYTES
                     ? TESS_OK
                     : tess_h5_fail(TESS_E_FORMAT, "cannot read the provenance");
    }
    if (status == TESS_OK) {
        tess_h5_put_text(tess_h5_answer(strlen(text) + 8), text);
        tess_h5_send_answer(TESS_H5_ITEM);
    }
    H5free_memory(text);
    tess_h5_close_id(type);
    tess_h5_close_id(attribute);
    return status;
}
