// YAML and JSON files as Python objects, with PyYAML's reading of scalars.

#include "core.h"

#include "tessera/sys/document.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static PyObject *to_python(const tess_document_node *node);

static PyObject *whole_number(const char *text, int base)
{
    return PyLong_FromString(text, NULL, base);
}

static PyObject *real(const char *text)
{
    const char *bare = text + (*text == '-' || *text == '+');
    if (*bare == '.' && strpbrk(bare, "iInN")) { // .inf and .nan
        char plain[8];
        (void)snprintf(plain, sizeof plain, "%s%.3s", *text == '-' ? "-" : "", bare + 1);
        return PyFloat_FromDouble(PyOS_string_to_double(plain, NULL, NULL));
    }
    PyObject *word = PyUnicode_FromString(text);
    PyObject *number = word ? PyFloat_FromString(word) : NULL;
    Py_XDECREF(word);
    return number;
}

// What does not read as its type after all (60-based numbers, underscores) stays a text.
static PyObject *scalar(const tess_document_node *node)
{
    PyObject *found = NULL;
    switch (tess_document_scalar_type(node)) {
    case TESS_DOCUMENT_NULL:
        return Py_NewRef(Py_None);
    case TESS_DOCUMENT_BOOL:
        return PyBool_FromLong(strchr("yYtT", node->text[0]) || !strcasecmp(node->text, "on"));
    case TESS_DOCUMENT_INT:
        found = whole_number(node->text, strpbrk(node->text, "xXbB") ? 0 : 10);
        break;
    case TESS_DOCUMENT_OCTAL:
        found = whole_number(node->text, 8);
        break;
    case TESS_DOCUMENT_FLOAT:
        found = real(node->text);
        break;
    case TESS_DOCUMENT_TEXT:
    default:
        return core_text(node->text);
    }
    if (!found && PyErr_ExceptionMatches(PyExc_ValueError)) {
        PyErr_Clear();
        found = core_text(node->text);
    }
    return found;
}

static PyObject *mapping(const tess_document_node *node)
{
    PyObject *dict = PyDict_New();
    for (const tess_document_entry *entry = node->first; dict && entry; entry = entry->next) {
        PyObject *key = core_text(entry->key);
        PyObject *value = key ? to_python(entry->value) : NULL;
        if (!value || PyDict_SetItem(dict, key, value) < 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *list(const tess_document_node *node)
{
    PyObject *items = PyList_New(0);
    for (const tess_document_entry *entry = node->first; items && entry; entry = entry->next) {
        PyObject *value = to_python(entry->value);
        if (!value || PyList_Append(items, value) < 0) {
            Py_CLEAR(items);
        }
        Py_XDECREF(value);
    }
    return items;
}

static PyObject *to_python(const tess_document_node *node) // depth is limited by the reader
{
    switch (node->kind) {
    case TESS_DOCUMENT_MAPPING:
        return mapping(node);
    case TESS_DOCUMENT_LIST:
        return list(node);
    default:
        return scalar(node);
    }
}

static PyObject *load(PyObject *module, PyObject *const *args, Py_ssize_t n_arg, PyObject *keywords)
{
    static const char *const names[] = {"context", "path"};
    static const core_signature signature = {"document", names, 2, 2, 2};
    const core_state *state = PyModule_GetState(module);
    PyObject *values[2];
    if (core_parse(&signature, args, n_arg, keywords, values) < 0) {
        return NULL;
    }
    core_context *context = core_to_context(state, values[0]);
    PyObject *path_bytes = NULL;
    const char *path = NULL;
    PyObject *result = NULL;
    core_call call;
    if (context && core_to_path(values[1], &path_bytes, &path) == 0 &&
        core_call_begin(&call, state, context, NULL) == 0) {
        tess_document *document = NULL;
        const tess_status status = tess_document_load(context->handle, path, &document);
        if (core_call_end(&call, status) == 0) {
            const tess_document_node *root = tess_document_root(document);
            result = root ? to_python(root) : Py_NewRef(Py_None);
        }
        tess_document_destroy(document);
    }
    Py_XDECREF(path_bytes);
    return result;
}

PyMethodDef core_document_methods[] = {
    {"document", CORE_METHOD(load), METH_FASTCALL | METH_KEYWORDS,
     "A YAML or JSON file as dicts, lists and scalars; None: an empty file."},
    {NULL, NULL, 0, NULL},
};
