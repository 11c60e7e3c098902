#include "runtime/identity.h"

#include "base/status.h"
#include "runtime/comm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// Between sentence and value: in neither of them.
static const char SEPARATOR = 0x1f;
// Longer values are told by their first difference.
enum { SHOWN_WHOLE = 300, SHOWN = 96 };

static const char folder_remedy[] =
    "remove the folder, or run with the data and settings it was made with";
static const char rank_remedy[] = "start all with the same files, arguments and environment";

void tess_identity_init(tess_identity *id, tess_context *ctx, const char *name, const char *backend)
{
    tess_text_init(&id->text, &ctx->heap);
    tess_identity_add(id, "checkpoint of '*', this run is '*'", name);
    tess_identity_add(id, "written by Tessera *, this is *", TESS_VERSION);
    tess_identity_add(id, "made on device '*', this run uses '*'", backend);
    tess_identity_add_int(id, "made by a build with other checksums (with and without xxHash)",
                          tess_hash_default());
}

void tess_identity_free(tess_identity *id)
{
    tess_text_destroy(&id->text);
}

void tess_identity_add(tess_identity *id, const char *sentence, const char *value)
{
    tess_text_printf(&id->text, "%s%c", sentence, SEPARATOR);
    for (const char *c = value; *c; c++) {
        tess_text_append(&id->text, *c == '\n' ? " " : c, 1); // a line is a part
    }
    tess_text_add(&id->text, "\n");
}

void tess_identity_add_hash(tess_identity *id, const char *sentence, tess_hash hash)
{
    char text[33];
    tess_hash_text(hash, text);
    tess_identity_add(id, sentence, text);
}

void tess_identity_add_int(tess_identity *id, const char *sentence, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    tess_identity_add(id, sentence, text);
}

void tess_identity_add_settings(tess_identity *id, const char *head,
                                const tess_param_table *const *tables, const void *const *configs,
                                int64_t n_table, const char *without_effect)
{
    tess_text settings;
    tess_text_init(&settings, id->text.heap);
    tess_text_add(&settings, head ? head : "");
    for (int64_t t = 0; t < n_table; t++) {
        for (int64_t i = 0; i < tables[t]->n_param; i++) {
            char value[64];
            char name[80];
            snprintf(name, sizeof name, "|%s|", tables[t]->params[i].name);
            if (without_effect && strstr(without_effect, name)) {
                continue;
            }
            tess_param_get_text(&tables[t]->params[i], configs[t], value, sizeof value);
            tess_text_printf(&settings, "%s%s=%s", settings.used > 0 ? ";" : "",
                             tables[t]->params[i].name, value);
        }
    }
    tess_identity_add(id, "settings were '*', are '*'", settings.chars ? settings.chars : "");
    id->text.no_memory = id->text.no_memory || settings.no_memory;
    tess_text_destroy(&settings);
}

// A part of a list: both texts end where the next thing begins.
typedef struct part {
    const char *sentence;
    int n_sentence;
    const char *value;
    int n_value;
} part;

// False at the end of the list, and for what is none.
static bool next_part(const char **at, part *out)
{
    const char *end = strchr(*at, '\n');
    const char *middle = strchr(*at, SEPARATOR);
    if (!end || !middle || middle > end) {
        return false;
    }
    *out = (part){*at, (int)(middle - *at), middle + 1, (int)(end - middle - 1)};
    *at = end + 1;
    return true;
}

static bool is_same(const char *a, int n_a, const char *b, int n_b)
{
    return n_a == n_b && memcmp(a, b, (size_t)n_a) == 0;
}

// The entry of a list "a=1;b=2" in which position at lies.
static void entry_at(const char *list, int n, int at, char entry[SHOWN])
{
    int begin = at < n ? at : n;
    while (begin > 0 && list[begin - 1] != ';') {
        begin--;
    }
    int end = begin;
    while (end < n && list[end] != ';') {
        end++;
    }
    snprintf(entry, SHOWN, "%.*s", end - begin, list + begin);
}

static tess_status fail_long(const part *found, const part *own, const char *whose,
                             const char *remedy)
{
    int at = 0;
    while (at < found->n_value && at < own->n_value && found->value[at] == own->value[at]) {
        at++;
    }
    char there[SHOWN];
    char here[SHOWN];
    entry_at(found->value, found->n_value, at, there);
    entry_at(own->value, own->n_value, at, here);
    TESS_FAIL(TESS_E_MISMATCH, "%s: belongs to other settings: %s there, %s here; %s", whose, there,
              here, remedy);
}

static tess_status fail_part(const part *found, const part *own, const char *whose,
                             const char *remedy)
{
    const char *values[2] = {found->value, own->value};
    const int n_value[2] = {found->n_value, own->n_value};
    char text[2 * SHOWN_WHOLE + 128];
    size_t used = 0;
    int n_star = 0;
    for (int i = 0; i < own->n_sentence && used < sizeof text; i++) {
        if (own->sentence[i] == '*' && n_star < 2) {
            if (n_value[n_star] > SHOWN_WHOLE) {
                return fail_long(found, own, whose, remedy);
            }
            used += (size_t)snprintf(text + used, sizeof text - used, "%.*s", n_value[n_star],
                                     values[n_star]);
            n_star++;
        } else {
            text[used++] = own->sentence[i];
        }
    }
    text[used < sizeof text ? used : sizeof text - 1] = '\0';
    TESS_FAIL(TESS_E_MISMATCH, "%s: %s; %s", whose, text, remedy);
}

static tess_status compare(const char *there, const char *here, const char *whose,
                           const char *remedy)
{
    part a;
    part b;
    while (next_part(&here, &b)) {
        // Sentences differ between computations and versions, which stand first.
        if (!next_part(&there, &a) ||
            !is_same(a.sentence, a.n_sentence, b.sentence, b.n_sentence)) {
            TESS_FAIL(TESS_E_MISMATCH, "%s: belongs to another kind of run; %s", whose, remedy);
        }
        if (!is_same(a.value, a.n_value, b.value, b.n_value)) {
            return fail_part(&a, &b, whose, remedy);
        }
    }
    return TESS_OK;
}

tess_status tess_identity_compare(const char *found, const tess_identity *own, const char *path)
{
    const char *here = NULL;
    TESS_TRY(tess_text_finish(&own->text, &here));
    return compare(found, here, path, folder_remedy);
}

tess_status tess_identity_agree(tess_context *ctx, const tess_identity *id, tess_status status)
{
    const char *own = "";
    tess_comm_parts parts;
    if (tess_comm_size(ctx) == 1) {
        return status;
    }
    status = status == TESS_OK ? tess_text_finish(&id->text, &own) : status;
    TESS_TRY(tess_comm_gather(ctx, (tess_comm_point){"what is computed", 0}, status, own,
                              strlen(own) + 1, &parts));
    const char *all = (const char *)parts.data;
    for (int32_t rank = 1; rank < tess_comm_size(ctx) && status == TESS_OK; rank++) {
        char whose[64];
        snprintf(whose, sizeof whose, "rank %d is not at the work of rank 0", (int)rank);
        status = compare(all + parts.offset[rank], all, whose, rank_remedy);
    }
    tess_comm_parts_free(&parts);
    return status;
}

void tess_identity_digest(const tess_identity *id, char text[33])
{
    const char *chars = id->text.chars ? id->text.chars : "";
    tess_hash_text(tess_hash_bytes(tess_hash_default(), chars, strlen(chars)), text);
}
