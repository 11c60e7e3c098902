// HDF5 files through the whole path, helper included. The input is not a file but a list of changes
// to a sound one: fields of its structures (superblock, object headers, B-trees, heaps, indices)
// get new values, and checksums are made right again, so that they stop nothing.
//
//     byte 0: which file; byte 1: bit 0 leaves checksums wrong, bit 1 cuts the file, the others say
//     which data sets are read;
//     then six bytes per change: structure, offset in it (2), how, value (2)

#include "fuzz_file.h"
#include "io/formats.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_SEEDS = 16,
    MAX_FILE_BYTES = 1 << 16,
    MAX_STRUCTURES = 128,
    MAX_CHECKED_BYTES = 2100,
    UNKNOWN_BYTES = 96, // of a structure without a checksum
    CHANGE_BYTES = 6,
    MAX_CHANGES = 24,
    MAX_NAMES = 24,
    MAX_READ = 5, // of them
    NAME_CHARS = 128,
    MAX_TILE_BYTES = 1 << 20
};

// Part of a file; has_checksum: four bytes of it follow.
typedef struct structure {
    size_t begin;
    size_t bytes;
    bool has_checksum;
} structure;

typedef struct seed {
    char name[64];
    uint8_t *bytes;
    size_t n_byte;
    structure structures[MAX_STRUCTURES]; // [0] is the whole file
    int n_structure;
} seed;

static seed seeds[MAX_SEEDS];
static int n_seed;

static uint32_t rotated(uint32_t x, int k)
{
    return x << k | x >> (32 - k);
}

// Jenkins' lookup3 over bytes, the checksum of all newer structures.
static uint32_t checksum(const uint8_t *k, size_t n)
{
    uint32_t a = 0xdeadbeef + (uint32_t)n;
    uint32_t b = a;
    uint32_t c = a;
    uint8_t block[12];
    while (n > 0) {
        const size_t piece = n < 12 ? n : 12;
        memset(block, 0, sizeof block);
        memcpy(block, k, piece);
        uint32_t words[3];
        memcpy(words, block, sizeof words);
        a += words[0];
        b += words[1];
        c += words[2];
        if (n <= 12) {
            break;
        }
        a -= c, a ^= rotated(c, 4), c += b;
        b -= a, b ^= rotated(a, 6), a += c;
        c -= b, c ^= rotated(b, 8), b += a;
        a -= c, a ^= rotated(c, 16), c += b;
        b -= a, b ^= rotated(a, 19), a += c;
        c -= b, c ^= rotated(b, 4), b += a;
        k += piece;
        n -= piece;
    }
    c ^= b, c -= rotated(b, 14);
    a ^= c, a -= rotated(c, 11);
    b ^= a, b -= rotated(a, 25);
    c ^= b, c -= rotated(b, 16);
    a ^= c, a -= rotated(c, 4);
    b ^= a, b -= rotated(a, 14);
    c ^= b, c -= rotated(b, 24);
    return c;
}

// How long a structure is follows from where its checksum is right.
static void add_structure(seed *s, size_t begin)
{
    structure *found = &s->structures[s->n_structure++];
    const size_t left = s->n_byte - begin;
    *found = (structure){begin, left < UNKNOWN_BYTES ? left : UNKNOWN_BYTES, false};
    for (size_t n = 8; n + 4 <= left && n <= MAX_CHECKED_BYTES; n++) {
        uint32_t there;
        memcpy(&there, s->bytes + begin + n, sizeof there);
        if (there == checksum(s->bytes + begin, n)) {
            *found = (structure){begin, n, true};
            return;
        }
    }
}

static void find_structures(seed *s)
{
    static const char *const signatures[] = {
        "\x89HDF", "OHDR", "OCHK", "TREE", "SNOD", "HEAP", "GCOL", "BTHD", "BTLF", "BTIN", "FRHP",
        "FHDB",    "FHIB", "FSHD", "FSSE", "SMTB", "SMLI", "FAHD", "FADB", "EAHD", "EAIB", "EADB"};
    s->structures[s->n_structure++] = (structure){0, s->n_byte, false};
    for (size_t at = 0; at + 4 <= s->n_byte; at++) {
        for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
            if (s->n_structure < MAX_STRUCTURES && memcmp(s->bytes + at, signatures[i], 4) == 0) {
                add_structure(s, at);
            }
        }
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const seed *)a)->name, ((const seed *)b)->name);
}

static void load_seeds(void)
{
    DIR *folder = opendir(TESS_HDF5_SEEDS);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        const size_t n = strlen(entry->d_name);
        if (n < 4 || n >= sizeof seeds->name || strcmp(entry->d_name + n - 3, ".h5") != 0 ||
            n_seed == MAX_SEEDS) {
            continue;
        }
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", TESS_HDF5_SEEDS, entry->d_name);
        seed *s = &seeds[n_seed++];
        FILE *file = fopen(path, "rb");
        s->bytes = malloc(MAX_FILE_BYTES);
        s->n_byte = file != NULL && s->bytes != NULL ? fread(s->bytes, 1, MAX_FILE_BYTES, file) : 0;
        if (s->n_byte == 0) {
            perror(path);
            abort();
        }
        fclose(file);
        memcpy(s->name, entry->d_name, n + 1);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    qsort(seeds, (size_t)n_seed, sizeof *seeds, by_name); // inputs mean the same everywhere
    for (int i = 0; i < n_seed; i++) {
        find_structures(&seeds[i]);
    }
}

static void prepare(void)
{
    if (n_seed > 0) {
        return;
    }
    setenv("TESSERA_HDF5_PLUGIN", TESS_HDF5_HELPER, 0);
    setenv("TESSERA_HDF5_TIMEOUT", "1", 0);
    setenv("MALLOC_PERTURB_", "65", 0); // in the helper: what it frees or never wrote is no pointer
    load_seeds();
    if (n_seed == 0 || tess_format_hdf5.check(fuzz_host(), "seed") != TESS_OK) {
        fprintf(stderr, "no seeds in %s, or: %s\n", TESS_HDF5_SEEDS, tess_last_error());
        abort();
    }
}

static void change(const seed *s, uint8_t *file, const uint8_t *c)
{
    const structure *where = &s->structures[c[0] % s->n_structure];
    const structure *other = &s->structures[c[4] % s->n_structure];
    const size_t offset = where->begin + (c[1] | (size_t)c[2] << 8) % where->bytes;
    const uint64_t values[] = {c[4],
                               c[4] | (uint64_t)c[5] << 8,
                               UINT64_MAX,
                               other->begin,
                               s->n_byte + c[4] - 128,
                               UINT64_C(1) << c[4] % 64,
                               0};
    uint64_t value = 0;
    const size_t n = s->n_byte - offset < 8 ? s->n_byte - offset : 8;
    const size_t width = (size_t)1 << (c[3] >> 3 & 3);
    memcpy(&value, file + offset, n);
    if ((c[3] & 7) == 7) {
        value += (uint64_t)(int64_t)(int8_t)c[4];
    } else {
        value = values[c[3] & 7];
    }
    memcpy(file + offset, &value, width < n ? width : n);
}

static void mend(const seed *s, uint8_t *file)
{
    for (int i = 1; i < s->n_structure; i++) {
        const structure *found = &s->structures[i];
        if (found->has_checksum) {
            const uint32_t right = checksum(file + found->begin, found->bytes);
            memcpy(file + found->begin + found->bytes, &right, sizeof right);
        }
    }
}

typedef struct names {
    int n;
    char names[MAX_NAMES][NAME_CHARS];
} names;

static int note_name(void *user, const tess_dataset_info *info)
{
    names *all = user;
    if (info->rank < 0 || info->rank > TESS_MAX_RANK || info->type_text == NULL) {
        abort();
    }
    if (all->n < MAX_NAMES && strlen(info->name) < NAME_CHARS) {
        memcpy(all->names[all->n++], info->name, strlen(info->name) + 1);
    }
    return 0;
}

static int take_text(void *user, int64_t index, const char *text)
{
    *(size_t *)user += strlen(text);
    return index > 1000;
}

// Whatever a file holds, it is these that are said of it.
static void expect_sane(tess_status status)
{
    if (status == TESS_E_INTERNAL || status == TESS_E_IO || status == TESS_E_CREATE ||
        (status != TESS_OK && tess_last_error()[0] == '\0')) {
        fprintf(stderr, "%s: %s\n", tess_status_name(status), tess_last_error());
        abort();
    }
}

static void read_dataset(const char *path, const char *name)
{
    const tess_format *h5 = &tess_format_hdf5;
    tess_format_reader reader;
    const tess_status status = h5->open(fuzz_host(), path, name, 0, &reader);
    expect_sane(status);
    if (status != TESS_OK) {
        return;
    }
    const int64_t n_row = reader.rank > 0 ? reader.shape[0] : 1;
    uint64_t row_bytes = (uint64_t)reader.item_bytes;
    for (int32_t axis = 1; axis < reader.rank; axis++) {
        row_bytes *= (uint64_t)reader.shape[axis];
    }
    const int64_t fit = row_bytes > 0 ? MAX_TILE_BYTES / (int64_t)row_bytes : 0;
    const int64_t count = fit < n_row ? fit : n_row;
    if (count > 0) {
        void *tile = malloc((size_t)count * (size_t)row_bytes);
        // From the start, where chunks begin; then the end, anywhere in one.
        expect_sane(h5->read(fuzz_host(), &reader, 0, count, tile));
        expect_sane(h5->read(fuzz_host(), &reader, n_row - 1, 1, tile));
        free(tile);
    }
    h5->close(fuzz_host(), &reader);
}

static void exercise(const char *path, int first)
{
    const tess_format *h5 = &tess_format_hdf5;
    static names all;
    char text[64];
    char *provenance = NULL;
    size_t n_byte = 0;
    double number = 0;
    int32_t kind = 0;
    all.n = 0;
    expect_sane(h5->list(fuzz_host(), path, note_name, &all));
    for (int i = 0; i < all.n && i < MAX_READ; i++) {
        const char *name = all.names[(first + i) % all.n];
        size_t n_char = 0;
        read_dataset(path, name);
        expect_sane(h5->texts(fuzz_host(), path, name, take_text, &n_char));
    }
    read_dataset(path, NULL);
    read_dataset(path, "group/deep/seven_axes");
    expect_sane(
        h5->attribute(fuzz_host(), path, "/", "attribute3", &kind, &number, text, sizeof text));
    expect_sane(h5->provenance(fuzz_host(), path, &provenance, &n_byte));
    if (provenance != NULL) {
        fuzz_host()->release(NULL, provenance, n_byte);
    }
    uint8_t *image = NULL;
    expect_sane(h5->matlab(fuzz_host(), path, "EEG|data|event|type|latency", &image, &n_byte));
    if (image != NULL) {
        fuzz_host()->release(NULL, image, n_byte);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[MAX_FILE_BYTES];
    prepare();
    if (size < 2 + CHANGE_BYTES) {
        return 0;
    }
    const seed *s = &seeds[data[0] % n_seed];
    memcpy(file, s->bytes, s->n_byte);
    const size_t n_change = (size - 2) / CHANGE_BYTES;
    for (size_t i = 0; i < n_change && i < MAX_CHANGES; i++) {
        change(s, file, data + 2 + i * CHANGE_BYTES);
    }
    if ((data[1] & 1) == 0) {
        mend(s, file);
    }
    const size_t cut = (data[1] & 2) != 0 ? s->n_byte * data[2] / 256 : 0;
    exercise(fuzz_file_of(file, s->n_byte - cut), data[1] >> 2);
    fuzz_check_leaks();
    return 0;
}
