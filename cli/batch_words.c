// Words of a job's command: with a task's value in them, and quoted for bash.

#include "batch.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 90 };

void batch_add(batch_words *words, const char *text, int takes_value)
{
    batch_word *more = realloc(words->words, ((size_t)words->n_word + 1) * sizeof *more);
    char *copy = more ? strdup(text) : NULL;

    words->words = more ? more : words->words;
    words->no_memory |= !copy;
    if (copy) {
        words->words[words->n_word++] = (batch_word){copy, takes_value};
    }
}

void batch_free_words(batch_words *words)
{
    for (int i = 0; i < words->n_word; i++) {
        free(words->words[i].text);
    }
    free(words->words);
    *words = (batch_words){0};
}

static char *with_value(const batch_word *word, const char *value)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);

    for (const char *at = word->text; file && *at;) {
        const int is_mark = word->takes_value && strncmp(at, "{}", 2) == 0;
        if (is_mark) {
            fputs(value, file);
        } else {
            fputc(*at, file);
        }
        at += is_mark ? 2 : 1;
    }
    if (!file || fclose(file) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

char **batch_line(const batch_words *words, const char *value)
{
    char **line = calloc((size_t)words->n_word + 1, sizeof *line);

    for (int i = 0; line && i < words->n_word; i++) {
        line[i] = with_value(&words->words[i], value);
        if (!line[i]) {
            batch_free_line(line);
            return NULL;
        }
    }
    return line;
}

void batch_free_line(char **line)
{
    for (char **at = line; at && *at; at++) {
        free(*at);
    }
    free(line);
}

// 'before'"$value"'after'
static void print_valued(FILE *file, const char *text)
{
    for (const char *mark = NULL; (mark = strstr(text, "{}")) != NULL; text = mark + 2) {
        char *piece = strndup(text, (size_t)(mark - text));
        if (piece && piece[0]) {
            text_print_word(file, piece);
        }
        free(piece);
        fputs("\"$value\"", file);
    }
    if (text[0]) {
        text_print_word(file, text);
    }
}

void batch_print_words(FILE *file, const batch_words *words, const char *indent)
{
    size_t column = 0;

    for (int i = 0; i < words->n_word; i++) {
        const batch_word *word = &words->words[i];
        const size_t width = strlen(word->text) + 1;
        const int is_new_line = column > 0 && column + width > WIDTH;
        if (i > 0) {
            fprintf(file, "%s%s", is_new_line ? "\n    " : " ", is_new_line ? indent : "");
        }
        column = is_new_line ? width + 4 : column + width;
        if (word->takes_value) {
            print_valued(file, word->text);
        } else {
            text_print_word(file, word->text);
        }
    }
}

void batch_value(const batch_job *job, int64_t task, char *text, size_t capacity)
{
    if (job->values) {
        snprintf(text, capacity, "%s", job->values[task]);
    } else if (job->n_task > 0) {
        snprintf(text, capacity, "%lld/%lld", (long long)task + 1, (long long)job->n_task);
    } else {
        text[0] = '\0';
    }
}
