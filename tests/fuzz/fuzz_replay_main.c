// Runs a fuzz target over the files of folders, for builds without libFuzzer: what was found once
// stays found.
//
//     replay_npy corpus/npy ...

#include "fuzz_file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(size > 0 ? (size_t)size : 1);
    const size_t n_read = size > 0 ? fread(bytes, 1, (size_t)size, file) : 0;
    fclose(file);
    // The name first: after a crash the last line tells which file it was.
    printf("%s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(bytes, n_read);
    free(bytes);
    return 0;
}

int main(int argc, char **argv)
{
    int n_file = 0;
    int n_failed = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (folder == NULL) {
            perror(argv[i]);
            return 1;
        }
        for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            char path[4096];
            struct stat info;
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            if (stat(path, &info) == 0 && S_ISREG(info.st_mode)) {
                n_failed += replay_file(path);
                n_file++;
            }
        }
        closedir(folder);
    }
    printf("%d files\n", n_file);
    return n_file > 0 && n_failed == 0 ? 0 : 1;
}
