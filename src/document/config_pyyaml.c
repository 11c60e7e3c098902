// How PyYAML, which the original programs read their configurations with, takes a scalar.
//
// PyYAML follows YAML 1.1: 1e-3 without a point is text there, no and off are booleans, 010 is
// eight. We go by the tables, so the two can differ; the user should hear of it.

#include "document/config_check.h"

#include <string.h>

static bool is_one_of(const char *text, const char *words)
{
    const size_t length = strlen(text);
    for (const char *at = words; *at != '\0';) {
        const size_t word = strcspn(at, "|");
        if (word == length && memcmp(at, text, length) == 0) {
            return true;
        }
        at += word + (at[word] == '|');
    }
    return false;
}

// PyYAML: digits with underscores, a point, and an exponent only with a sign.
static bool is_float(const char *text)
{
    static const char digits[] = "0123456789_";
    const char *at = text + (*text == '-' || *text == '+');
    if (is_one_of(at, ".inf|.Inf|.INF") || is_one_of(text, ".nan|.NaN|.NAN")) {
        return true;
    }
    const bool starts_with_digit = *at >= '0' && *at <= '9';
    const bool starts_with_point = at == text && at[0] == '.' && at[1] >= '0' && at[1] <= '9';
    if (!starts_with_digit && !starts_with_point) {
        return false;
    }
    at += strspn(at, digits);
    if (*at++ != '.') {
        return false;
    }
    at += strspn(at, digits);
    if (*at == 'e' || *at == 'E') {
        const size_t n_digit = at[1] == '-' || at[1] == '+' ? strspn(at + 2, "0123456789") : 0;
        return n_digit > 0 && at[2 + n_digit] == '\0';
    }
    return *at == '\0';
}

static tess_document_type kind_of_int(const char *text)
{
    const char *at = text + (*text == '-' || *text == '+');
    const size_t n_digit = strspn(at, "0123456789_");
    if (at[0] == '0' && (at[1] == 'x' || at[1] == 'b')) {
        return at[2] != '\0' && strspn(at + 2, "0123456789abcdefABCDEF_") == strlen(at + 2)
                   ? TESS_DOCUMENT_INT
                   : TESS_DOCUMENT_TEXT;
    }
    if (n_digit == 0 || at[n_digit] != '\0' || at[0] == '_') {
        return TESS_DOCUMENT_TEXT;
    }
    if (at[0] == '0' && n_digit > 1) {
        return strspn(at, "01234567_") == n_digit ? TESS_DOCUMENT_OCTAL : TESS_DOCUMENT_TEXT;
    }
    return TESS_DOCUMENT_INT;
}

tess_document_type tess_document_scalar_type(const tess_document_node *scalar)
{
    const char *text = scalar->text;
    if (scalar->is_quoted) {
        return TESS_DOCUMENT_TEXT;
    }
    if (is_one_of(text, "yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|"
                        "off|Off|OFF")) {
        return TESS_DOCUMENT_BOOL;
    }
    if (*text == '\0' || is_one_of(text, "~|null|Null|NULL")) {
        return TESS_DOCUMENT_NULL;
    }
    return is_float(text) ? TESS_DOCUMENT_FLOAT : kind_of_int(text);
}

const char *tess_pyyaml_differs(const tess_node *scalar, const tess_param *param)
{
    const tess_document_type kind = tess_document_scalar_type(scalar);
    switch ((tess_param_type)param->type) {
    case TESS_PARAM_INT:
    case TESS_PARAM_REAL:
        if (kind == TESS_DOCUMENT_TEXT) {
            return scalar->is_quoted ? "is text to PyYAML because of its quotes"
                                     : "is text to PyYAML; write it like 1.0e-3 or 1000";
        }
        return kind == TESS_DOCUMENT_OCTAL ? "is octal to PyYAML; leave out the leading 0" : NULL;
    case TESS_PARAM_FLAG:
        return kind == TESS_DOCUMENT_TEXT ? "is text to PyYAML; write true or false" : NULL;
    case TESS_PARAM_CHOICE:
        return kind == TESS_DOCUMENT_TEXT ? NULL : "is not text to PyYAML; put it in quotes";
    case TESS_PARAM_BYTES:
        return kind == TESS_DOCUMENT_OCTAL ? "is octal to PyYAML; leave out the leading 0" : NULL;
    }
    return NULL;
}
