// Reading one attribute: a number, or a text.

#include "h5_support.h"

#include <stdio.h>
#include <string.h>

static void read_text(hid_t attribute, hid_t type, int32_t *kind, char *text, size_t capacity)
{
    if (H5Tis_variable_str(type) > 0) {
        char *found = NULL;
        if (H5Aread(attribute, type, &found) >= 0 && found != NULL) {
            snprintf(text, capacity, "%s", found);
            *kind = 2;
        }
        H5free_memory(found);
        return;
    }
    char fixed[256] = "";
    if (H5Tget_size(type) < sizeof fixed && H5Aread(attribute, type, fixed) >= 0) {
        snprintf(text, capacity, "%s", fixed);
        *kind = 2;
    }
}

tess_status tess_h5_attribute(const tess_host *host, const char *path, const char *object,
                              const char *name, int32_t *kind, double *number, char *text,
                              size_t text_capacity)
{
    hid_t file = -1;
    hid_t attribute = -1;
    *kind = 0;
    tess_h5_lock();
    const tess_status status = tess_h5_open_file(host, path, &file);
    if (status == TESS_OK && H5Aexists_by_name(file, object, name, H5P_DEFAULT) > 0) {
        attribute = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
    }
    if (attribute >= 0) {
        const hid_t type = H5Aget_type(attribute);
        const hid_t space = H5Aget_space(attribute);
        const H5T_class_t class = H5Tget_class(type);
        if (H5Sget_simple_extent_npoints(space) == 1) {
            if (class == H5T_STRING) {
                read_text(attribute, type, kind, text, text_capacity);
            } else if ((class == H5T_FLOAT || class == H5T_INTEGER) &&
                       H5Aread(attribute, H5T_NATIVE_DOUBLE, number) >= 0) {
                *kind = 1;
            }
        }
        tess_h5_close_id(space);
        tess_h5_close_id(type);
    }
    tess_h5_close_id(attribute);
    tess_h5_close_id(file);
    H5Eclear2(H5E_DEFAULT);
    tess_h5_unlock();
    return status;
}
