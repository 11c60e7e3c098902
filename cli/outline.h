// JSON text as an indented outline for people.
#ifndef TESSERA_CLI_OUTLINE_H
#define TESSERA_CLI_OUTLINE_H

#include <stdio.h>

// Prints the JSON text of the library: one line per value, lists of values on one line.
void outline_print(FILE *file, const char *json);

// 1 if the text is exactly one JSON value.
int json_is_valid(const char *text);

#endif
