// Numbers, shapes and command lines as text.
#ifndef TESSERA_CLI_TEXT_H
#define TESSERA_CLI_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// "24.4 MiB", "512 bytes".
void text_bytes(char *text, size_t capacity, uint64_t bytes);

// "0:07", "1:02:03"; "?" when negative.
void text_duration(char *text, size_t capacity, double seconds);

// "[100][64][1000]"; "scalar" for rank 0.
void text_shape(char *text, size_t capacity, int32_t rank, const int64_t *shape);

// The character, or '?' for one that could steer a terminal.
void text_print_char(FILE *file, char c);

// The text as a JSON string, in quotes; bytes that are no UTF-8 are replaced.
void text_print_json(FILE *file, const char *text);

// "1.0e-06" of "1e-06", which YAML 1.1 takes for a word; anything else stays as it is.
void text_yaml_number(char *text, size_t capacity);

// 1 if the text is longer than the ending and ends in it.
int text_ends_with(const char *text, const char *ending);

// 1 if the last name of a path has a dot.
int text_has_suffix(const char *path);

// A regular file open for reading; NULL if it is none, whoever might wait at its other end.
FILE *text_open_file(const char *path);

// The words as one line for a POSIX shell; free() it. NULL without memory.
char *text_command_line(int argc, char *const *argv);

// One word for a POSIX shell, safe for any text.
void text_print_word(FILE *file, const char *word);

#endif
