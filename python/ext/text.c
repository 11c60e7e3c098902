// Texts and values of the library as Python objects.

#include "core.h"

#include <string.h>

PyObject *core_text(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

int core_put(PyObject *dict, const char *key, PyObject *value)
{
    const int failed = !value || PyDict_SetItemString(dict, key, value) < 0;
    Py_XDECREF(value);
    return failed ? -1 : 0;
}
