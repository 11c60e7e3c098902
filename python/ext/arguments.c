// From Python arguments to C values, and parameter tables to Python.

#include "core.h"

#include <stdio.h>
#include <string.h>

static int index_of(const core_signature *signature, PyObject *keyword)
{
    for (int i = 0; i < signature->n_name; i++) {
        if (PyUnicode_CompareWithASCIIString(keyword, signature->names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

int core_parse(const core_signature *signature, PyObject *const *args, Py_ssize_t n_arg,
               PyObject *keywords, PyObject **values)
{
    if (n_arg > signature->n_positional) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional arguments, got %zd",
                     signature->function, signature->n_positional, n_arg);
        return -1;
    }
    for (int i = 0; i < signature->n_name; i++) {
        values[i] = i < n_arg ? args[i] : NULL;
    }
    const Py_ssize_t n_keyword = keywords ? PyTuple_Size(keywords) : 0;
    for (Py_ssize_t k = 0; k < n_keyword; k++) {
        PyObject *keyword = PyTuple_GetItem(keywords, k);
        const int i = index_of(signature, keyword);
        if (i < 0 || values[i]) {
            PyErr_Format(PyExc_TypeError, "%s() got %s argument '%U'", signature->function,
                         i < 0 ? "an unexpected" : "twice the", keyword);
            return -1;
        }
        values[i] = args[n_arg + k];
    }
    for (int i = 0; i < signature->n_name; i++) {
        if (values[i] == Py_None) {
            values[i] = NULL;
        }
        if (!values[i] && i < signature->n_required) {
            PyErr_Format(PyExc_TypeError, "%s() needs argument '%s'", signature->function,
                         signature->names[i]);
            return -1;
        }
    }
    return 0;
}

int core_to_int(const core_state *state, PyObject *value, const char *name, int64_t minimum,
                int64_t maximum, int64_t *out)
{
    if (!value) {
        return 0;
    }
    PyObject *whole = PyIndex_Check(value) ? PyNumber_Index(value) : NULL;
    if (!whole) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "%s: expected a whole number, got %R", name, value);
        }
        return -1;
    }
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(whole, &overflow);
    Py_DECREF(whole);
    if (overflow || number < minimum || number > maximum) {
        PyObject *text = PyObject_Str(value);
        const char *shown = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
        if (shown) {
            core_fail(state, TESS_E_RANGE, "%s: %s is out of range; allowed is %lld to %lld", name,
                      shown, (long long)minimum, (long long)maximum);
        }
        Py_XDECREF(text);
        return -1;
    }
    *out = number;
    return 0;
}

int core_to_real(PyObject *value, double *out)
{
    if (!value) {
        return 0;
    }
    const double number = PyFloat_AsDouble(value);
    if (number == -1 && PyErr_Occurred()) {
        return -1;
    }
    *out = number;
    return 0;
}

int core_to_flag(PyObject *value, int32_t *out)
{
    if (!value) {
        return 0;
    }
    const int flag = PyObject_IsTrue(value);
    if (flag < 0) {
        return -1;
    }
    *out = flag;
    return 0;
}

int core_to_text(PyObject *value, const char *name, const char **out)
{
    if (!value) {
        return 0;
    }
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected text, got %R", name, value);
        return -1;
    }
    *out = PyUnicode_AsUTF8AndSize(value, NULL);
    return *out ? 0 : -1;
}

int core_to_bytes(const core_state *state, PyObject *value, const char *name, uint64_t *out)
{
    if (!value) {
        return 0;
    }
    if (!PyUnicode_Check(value)) {
        int64_t number = 0;
        if (core_to_int(state, value, name, 1, INT64_MAX, &number) < 0) {
            return -1;
        }
        *out = (uint64_t)number;
        return 0;
    }
    const char *text = PyUnicode_AsUTF8AndSize(value, NULL);
    if (!text) {
        return -1;
    }
    if (tess_parse_bytes(text, out) != TESS_OK) {
        core_fail(state, TESS_E_RANGE, "%s: %s", name, tess_last_error());
        return -1;
    }
    return 0;
}

int core_to_path(PyObject *value, PyObject **keep, const char **out)
{
    if (!value) {
        return 0;
    }
    if (!PyUnicode_FSConverter(value, keep)) {
        return -1;
    }
    *out = PyBytes_AsString(*keep);
    return *out ? 0 : -1;
}

// What Python value an option of each type takes; bool is an int to Python but not to a user.
static int check_option_type(const tess_param *param, PyObject *value)
{
    const char *wanted = NULL;
    switch ((tess_param_type)param->type) {
    case TESS_PARAM_INT:
        wanted = PyIndex_Check(value) && !PyBool_Check(value) ? NULL : "a whole number";
        break;
    case TESS_PARAM_REAL:
        wanted = PyNumber_Check(value) && !PyBool_Check(value) ? NULL : "a number";
        break;
    case TESS_PARAM_FLAG:
        wanted = PyBool_Check(value) ? NULL : "True or False";
        break;
    case TESS_PARAM_CHOICE:
        wanted = PyUnicode_Check(value) ? NULL : "text";
        break;
    case TESS_PARAM_BYTES:
        wanted = PyUnicode_Check(value) || PyIndex_Check(value) ? NULL : "bytes or text like 256M";
        break;
    }
    if (wanted) {
        PyErr_Format(PyExc_TypeError, "%s: expected %s, got %R", param->name, wanted, value);
        return -1;
    }
    return 0;
}

static int set_option(const core_state *state, const tess_param *param, PyObject *value,
                      void *config)
{
    if (check_option_type(param, value) < 0) {
        return -1;
    }
    // NumPy scalars print as "np.float64(1.0)"; plain numbers print what the parser reads.
    PyObject *plain = NULL;
    if (param->type == TESS_PARAM_REAL) {
        plain = PyNumber_Float(value);
    } else if (param->type == TESS_PARAM_INT) {
        plain = PyNumber_Index(value);
    } else {
        plain = Py_NewRef(value);
    }
    PyObject *text = plain ? PyObject_Str(plain) : NULL;
    Py_XDECREF(plain);
    const char *chars = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    int result = chars ? 0 : -1;
    if (chars) {
        const tess_status status = tess_param_set_text(param, config, chars);
        if (status != TESS_OK) {
            core_raise(state, status, tess_last_error());
            result = -1;
        }
    }
    Py_XDECREF(text);
    return result;
}

// Names the first option that the table lacks, and those it has.
static int refuse_unknown(const core_state *state, PyObject *options, const tess_param_table *table)
{
    PyObject *key = NULL;
    PyObject *value = NULL;
    Py_ssize_t at = 0;
    char known[1024] = "";
    size_t n = 0;

    for (int64_t i = 0; i < table->n_param && n < sizeof known; i++) {
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "",
                              table->params[i].name);
    }
    while (PyDict_Next(options, &at, &key, &value)) {
        const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, NULL) : NULL;
        int is_known = 0;
        for (int64_t i = 0; name && i < table->n_param; i++) {
            is_known |= strcmp(table->params[i].name, name) == 0;
        }
        if (!is_known) {
            PyErr_Clear();
            core_fail(state, TESS_E_ARGUMENT, "%s: no option of %s, which has %s",
                      name ? name : "options: a name that is no text", table->name, known);
            break;
        }
    }
    return -1;
}

int core_to_config(const core_state *state, PyObject *options, const tess_param_table *table,
                   void *config)
{
    if (!options) {
        return 0;
    }
    if (!PyDict_Check(options)) {
        PyErr_Format(PyExc_TypeError, "options: expected a dict, got %R", options);
        return -1;
    }
    Py_ssize_t n_used = 0;
    for (int64_t i = 0; i < table->n_param; i++) {
        PyObject *value = PyDict_GetItemString(options, table->params[i].name);
        if (!value) {
            continue;
        }
        n_used++;
        if (value != Py_None && set_option(state, &table->params[i], value, config) < 0) {
            return -1;
        }
    }
    return n_used == PyDict_Size(options) ? 0 : refuse_unknown(state, options, table);
}

static PyObject *default_of(const tess_param *param)
{
    const double value = param->default_value;
    switch ((tess_param_type)param->type) {
    case TESS_PARAM_INT:
    case TESS_PARAM_BYTES:
        return PyLong_FromDouble(value);
    case TESS_PARAM_REAL:
        return PyFloat_FromDouble(value);
    case TESS_PARAM_FLAG:
        return PyBool_FromLong(value != 0);
    case TESS_PARAM_CHOICE:
        break;
    }
    const char *start = param->choices;
    for (int i = 0; i < (int)value; i++) {
        start = strchr(start, '|') + 1;
    }
    return PyUnicode_FromStringAndSize(start, (Py_ssize_t)strcspn(start, "|:"));
}

static PyObject *describe_param(const tess_param *param)
{
    static const char *const types[] = {"", "int", "real", "flag", "choice", "bytes"};
    PyObject *default_value = default_of(param);
    if (!default_value) {
        return NULL;
    }
    return Py_BuildValue("{sssssNsdsdszssss}", "name", param->name, "type", types[param->type],
                         "default", default_value, "minimum", param->minimum, "maximum",
                         param->maximum, "choices", param->choices, "unit", param->unit, "help",
                         param->help);
}

PyObject *core_param_tables(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    int64_t n_table = 0;
    const tess_param_table *const *tables = tess_param_tables(&n_table);
    PyObject *all = PyDict_New();
    for (int64_t i = 0; all && i < n_table; i++) {
        PyObject *rows = PyList_New(0);
        for (int64_t k = 0; rows && k < tables[i]->n_param; k++) {
            PyObject *row = describe_param(&tables[i]->params[k]);
            if (!row || PyList_Append(rows, row) < 0) {
                Py_CLEAR(rows);
            }
            Py_XDECREF(row);
        }
        if (core_put(all, tables[i]->name, rows) < 0) {
            Py_CLEAR(all);
        }
    }
    return all;
}
