// Formats values for people. Always in the C locale: the command never calls setlocale().

#include "text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void text_bytes(char *text, size_t capacity, uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes / 1024;
    size_t unit = 0;

    if (bytes < 1024) {
        snprintf(text, capacity, "%d bytes", (int)bytes);
        return;
    }
    while (value >= 1000 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    snprintf(text, capacity, "%.*f %s", value < 9.995 ? 2 : (value < 99.95 ? 1 : 0), value,
             units[unit]);
}

void text_duration(char *text, size_t capacity, double seconds)
{
    if (!(seconds >= 0 && seconds < 1e9)) {
        snprintf(text, capacity, "?");
        return;
    }
    const long whole = (long)(seconds + 0.5);
    if (whole >= 3600) {
        snprintf(text, capacity, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    } else {
        snprintf(text, capacity, "%ld:%02ld", whole / 60, whole % 60);
    }
}

void text_shape(char *text, size_t capacity, int32_t rank, const int64_t *shape)
{
    size_t used = 0;
    snprintf(text, capacity, "scalar");
    for (int32_t i = 0; i < rank && used < capacity; i++) {
        used += (size_t)snprintf(text + used, capacity - used, "[%lld]", (long long)shape[i]);
    }
}

void text_print_char(FILE *file, char c)
{
    const unsigned char code = (unsigned char)c;
    fputc(code < 0x20 || code == 0x7f ? '?' : code, file);
}

// Bytes of the UTF-8 sequence at text, 0 if it is none.
static int sequence_bytes(const unsigned char *text)
{
    const int n = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;

    if (text[0] < 0xc2 || text[0] > 0xf4) {
        return 0;
    }
    for (int i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return n;
}

void text_print_json(FILE *file, const char *text)
{
    fputc('"', file);
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        const int n = *at < 0x80 ? 1 : sequence_bytes(at);
        if (*at < 0x20 || *at == 0x7f) {
            fprintf(file, "\\u%04x", *at);
        } else if (*at == '"' || *at == '\\') {
            fprintf(file, "\\%c", *at);
        } else if (n == 0) {
            fputs("\\ufffd", file); // names of files may be any bytes
        } else {
            fwrite(at, 1, (size_t)n, file);
        }
        at += n ? n : 1;
    }
    fputc('"', file);
}

static int needs_quotes(const char *word)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "@%+=:,./_-";
    return word[0] == '\0' || word[strspn(word, safe)] != '\0';
}

// In single quotes a shell takes everything literally but the quote itself.
static char *append_word(char *at, const char *word)
{
    if (!needs_quotes(word)) {
        const size_t length = strlen(word);
        memcpy(at, word, length);
        return at + length;
    }
    *at++ = '\'';
    for (; *word; word++) {
        if (*word == '\'') {
            memcpy(at, "'\\''", 4);
            at += 4;
        } else {
            *at++ = *word;
        }
    }
    *at++ = '\'';
    return at;
}

FILE *text_open_file(const char *path)
{
    struct stat there;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *file = NULL;

    if (fd >= 0 && fstat(fd, &there) == 0 && S_ISREG(there.st_mode)) {
        file = fdopen(fd, "rb");
    }
    if (fd >= 0 && !file) {
        close(fd);
    }
    return file;
}

char *text_command_line(int argc, char *const *argv)
{
    size_t capacity = 1;
    for (int i = 0; i < argc; i++) {
        capacity += 4 * strlen(argv[i]) + 3;
    }
    char *line = malloc(capacity);
    if (!line) {
        return NULL;
    }
    char *at = line;
    for (int i = 0; i < argc; i++) {
        if (i > 0) {
            *at++ = ' ';
        }
        at = append_word(at, argv[i]);
    }
    *at = '\0';
    return line;
}

void text_print_word(FILE *file, const char *word)
{
    char *text = malloc(4 * strlen(word) + 3);

    if (text) {
        *append_word(text, word) = '\0';
        fputs(text, file);
    }
    free(text);
}

void text_yaml_number(char *text, size_t capacity)
{
    char *exponent = strpbrk(text, "eE");
    const size_t length = strlen(text);

    if (!exponent || exponent == text || length + 3 > capacity ||
        text + strspn(text, "+-0123456789") != exponent) {
        return;
    }
    memmove(exponent + 2, exponent, strlen(exponent) + 1);
    memcpy(exponent, ".0", 2);
}

int text_ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path);
    const size_t n_ending = strlen(ending);
    return n > n_ending && strcmp(path + n - n_ending, ending) == 0;
}

int text_has_suffix(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strchr(slash ? slash + 1 : path, '.') != NULL;
}
