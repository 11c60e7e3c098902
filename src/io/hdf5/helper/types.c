// Which HDF5 types are which of ours, and how filters are called.

#include "helper.h"

#include <stdio.h>
#include <string.h>

static hid_t native_number(int32_t dtype)
{
    switch (dtype) {
    case TESS_I8:
        return H5T_NATIVE_INT8;
    case TESS_I16:
        return H5T_NATIVE_INT16;
    case TESS_I32:
        return H5T_NATIVE_INT32;
    case TESS_I64:
        return H5T_NATIVE_INT64;
    case TESS_U8:
        return H5T_NATIVE_UINT8;
    case TESS_U16:
        return H5T_NATIVE_UINT16;
    case TESS_U32:
        return H5T_NATIVE_UINT32;
    case TESS_U64:
        return H5T_NATIVE_UINT64;
    case TESS_F32:
        return H5T_NATIVE_FLOAT;
    case TESS_F64:
        return H5T_NATIVE_DOUBLE;
    default:
        return -1;
    }
}

// IEEE half precision, which HDF5 1.10 has no name for.
static hid_t half_type(void)
{
    const hid_t type = H5Tcopy(H5T_NATIVE_FLOAT);
    const bool ok = H5Tset_fields(type, 15, 10, 5, 0, 10) >= 0 && H5Tset_precision(type, 16) >= 0 &&
                    H5Tset_ebias(type, 15) >= 0 && H5Tset_size(type, 2) >= 0;
    if (!ok) {
        tess_h5_close_id(type);
    }
    return ok ? type : -1;
}

// As h5py spells booleans.
static hid_t bool_type(void)
{
    const hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
    const int8_t no = 0;
    const int8_t yes = 1;
    H5Tenum_insert(type, "FALSE", &no);
    H5Tenum_insert(type, "TRUE", &yes);
    return type;
}

// As h5py spells complex numbers.
static hid_t complex_type(hid_t part)
{
    const size_t part_bytes = H5Tget_size(part);
    const hid_t type = H5Tcreate(H5T_COMPOUND, 2 * part_bytes);
    H5Tinsert(type, "r", 0, part);
    H5Tinsert(type, "i", part_bytes, part);
    return type;
}

hid_t tess_h5_type_for(int32_t dtype, int64_t item_bytes)
{
    switch (dtype) {
    case TESS_BOOL:
        return bool_type();
    case TESS_F16:
        return half_type();
    case TESS_C64:
        return complex_type(H5T_NATIVE_FLOAT);
    case TESS_C128:
        return complex_type(H5T_NATIVE_DOUBLE);
    case TESS_BYTES: {
        const hid_t type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, (size_t)item_bytes);
        H5Tset_strpad(type, H5T_STR_NULLPAD);
        return type;
    }
    default: {
        const hid_t number = native_number(dtype);
        return number >= 0 ? H5Tcopy(number) : -1;
    }
    }
}

static int32_t dtype_of_integer(hid_t type)
{
    const bool is_signed = H5Tget_sign(type) != H5T_SGN_NONE;
    switch (H5Tget_size(type)) {
    case 1:
        return is_signed ? TESS_I8 : TESS_U8;
    case 2:
        return is_signed ? TESS_I16 : TESS_U16;
    case 4:
        return is_signed ? TESS_I32 : TESS_U32;
    case 8:
        return is_signed ? TESS_I64 : TESS_U64;
    default:
        return 0;
    }
}

static int32_t dtype_of_float(hid_t type)
{
    switch (H5Tget_size(type)) {
    case 2:
        return TESS_F16;
    case 4:
        return TESS_F32;
    case 8:
        return TESS_F64;
    default:
        return 0;
    }
}

static bool member_is(hid_t type, unsigned index, const char *wanted)
{
    char *name = H5Tget_member_name(type, index);
    const bool same = name != NULL && strcmp(name, wanted) == 0;
    H5free_memory(name);
    return same;
}

static int32_t dtype_of_compound(hid_t type)
{
    if (H5Tget_nmembers(type) != 2 || !member_is(type, 0, "r") || !member_is(type, 1, "i")) {
        return 0;
    }
    const hid_t part = H5Tget_member_type(type, 0);
    const int32_t dtype = H5Tget_class(part) == H5T_FLOAT ? dtype_of_float(part) : 0;
    tess_h5_close_id(part);
    return dtype == TESS_F32 ? TESS_C64 : dtype == TESS_F64 ? TESS_C128 : 0;
}

static int32_t dtype_of_enum(hid_t type)
{
    return H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2 && member_is(type, 0, "FALSE") &&
                   member_is(type, 1, "TRUE")
               ? TESS_BOOL
               : 0;
}

static const char *class_name(H5T_class_t kind)
{
    switch (kind) {
    case H5T_INTEGER:
        return "integer";
    case H5T_FLOAT:
        return "float";
    case H5T_STRING:
        return "text";
    case H5T_COMPOUND:
        return "compound";
    case H5T_ENUM:
        return "enumeration";
    case H5T_REFERENCE:
        return "reference";
    case H5T_VLEN:
        return "variable-length";
    case H5T_ARRAY:
        return "array";
    default:
        return "opaque";
    }
}

static void describe(hid_t type, H5T_class_t kind, int32_t dtype, char *text, size_t capacity)
{
    if (dtype == TESS_BOOL || dtype == TESS_C64 || dtype == TESS_C128) {
        snprintf(text, capacity, "%s",
                 dtype == TESS_BOOL  ? "bool"
                 : dtype == TESS_C64 ? "complex64"
                                     : "complex128");
        return;
    }
    const size_t bytes = H5Tget_size(type);
    const bool is_number = kind == H5T_INTEGER || kind == H5T_FLOAT;
    const char *order =
        is_number && bytes > 1 ? (H5Tget_order(type) == H5T_ORDER_BE ? " BE" : " LE") : "";
    if (is_number) {
        const bool is_unsigned = kind == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE;
        snprintf(text, capacity, "%s%s%zu%s", is_unsigned ? "u" : "",
                 kind == H5T_INTEGER ? "int" : "float", 8 * bytes, order);
    } else if (kind == H5T_STRING && H5Tis_variable_str(type) > 0) {
        snprintf(text, capacity, "variable-length text");
    } else {
        snprintf(text, capacity, "%s of %zu bytes", class_name(kind), bytes);
    }
}

// How the file's bytes become those of memory_type: 1 as they are, else the width of numbers in the
// other byte order, or 0.
static int32_t swap_of(hid_t type, H5T_class_t kind, hid_t memory_type)
{
    if (H5Tequal(type, memory_type) > 0) {
        return 1;
    }
    if (kind != H5T_INTEGER && kind != H5T_FLOAT) {
        return 0;
    }
    const hid_t turned = H5Tcopy(type);
    const bool is_turned =
        H5Tset_order(turned, H5Tget_order(memory_type)) >= 0 && H5Tequal(turned, memory_type) > 0;
    tess_h5_close_id(turned);
    return is_turned ? (int32_t)H5Tget_size(memory_type) : 0;
}

void tess_h5_type_of(hid_t dataset, tess_h5_type *out)
{
    *out = (tess_h5_type){.memory_type = -1};
    const hid_t type = H5Dget_type(dataset);
    const H5T_class_t kind = H5Tget_class(type);
    switch (kind) {
    case H5T_INTEGER:
        out->dtype = dtype_of_integer(type);
        break;
    case H5T_FLOAT:
        out->dtype = dtype_of_float(type);
        break;
    case H5T_COMPOUND:
        out->dtype = dtype_of_compound(type);
        break;
    case H5T_ENUM:
        out->dtype = dtype_of_enum(type);
        break;
    case H5T_STRING:
        out->dtype = H5Tis_variable_str(type) == 0 ? TESS_BYTES : 0;
        break;
    default:
        break;
    }
    describe(type, kind, out->dtype, out->text, sizeof out->text);
    out->item_bytes = (int64_t)H5Tget_size(type);
    if (out->dtype != 0) {
        out->memory_type = out->dtype == TESS_BYTES ? H5Tcopy(type)
                                                    : tess_h5_type_for(out->dtype, out->item_bytes);
    }
    if (out->memory_type < 0) {
        out->dtype = 0;
    } else {
        out->item_bytes = (int64_t)H5Tget_size(out->memory_type);
        out->swap_bytes = swap_of(type, kind, out->memory_type);
    }
    tess_h5_close_id(type);
}

const char *tess_h5_filter_name(H5Z_filter_t id)
{
    static const struct {
        H5Z_filter_t id;
        const char *name;
    } names[] = {
        {H5Z_FILTER_DEFLATE, "gzip"},
        {H5Z_FILTER_SHUFFLE, "shuffle"},
        {H5Z_FILTER_FLETCHER32, "fletcher32"},
        {H5Z_FILTER_SZIP, "szip"},
        {H5Z_FILTER_NBIT, "nbit"},
        {H5Z_FILTER_SCALEOFFSET, "scaleoffset"},
        {TESS_H5_FILTER_LZF, "lzf"},
        {32001, "blosc"},
        {32004, "lz4"},
        {32008, "bitshuffle"},
        {32015, "zstd"},
        {32026, "blosc2"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].id == id) {
            return names[i].name;
        }
    }
    return "unregistered";
}

H5Z_filter_t tess_h5_describe_filters(hid_t creation, char *text, size_t capacity)
{
    H5Z_filter_t missing = 0;
    const int n_filter = H5Pget_nfilters(creation);
    for (int i = 0; i < n_filter; i++) {
        unsigned flags = 0;
        unsigned config = 0;
        unsigned values[1] = {0};
        size_t n_value = 1;
        const H5Z_filter_t id =
            H5Pget_filter2(creation, (unsigned)i, &flags, &n_value, values, 0, NULL, &config);
        const size_t used = strlen(text);
        if (id == H5Z_FILTER_DEFLATE && n_value > 0) {
            snprintf(text + used, capacity - used, ", gzip %u", values[0]);
        } else {
            snprintf(text + used, capacity - used, ", %s", tess_h5_filter_name(id));
        }
        if (missing == 0 && id > 0 && H5Zfilter_avail(id) <= 0) {
            missing = id;
        }
    }
    return missing;
}
