// Formats of tables of positions.
#include "base/status.h"
#include "systems/autoreject/montage/montage.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

static const double PI = 3.14159265358979323846;

enum { MAX_COLUMN = 64 };

static tess_status bad_line(const tess_ar_montage *m, const char *wanted)
{
    TESS_FAIL(TESS_E_FORMAT, "%s: line %" PRId64 ": expected %s", m->path, m->text.line, wanted);
}

static bool three_numbers(char **fields, double out[3])
{
    return tess_ar_number(fields[0], &out[0]) && tess_ar_number(fields[1], &out[1]) &&
           tess_ar_number(fields[2], &out[2]);
}

static bool is_comment(const char *line)
{
    const char c = line[strspn(line, " \t")];
    return c == '\0' || c == '#' || c == '%';
}

// EEGLAB: number, angle from the nose to the right in degrees, radius (0.5: the equator), label.
tess_status tess_ar_read_locs(tess_ar_montage *m)
{
    m->is_directions = true;
    for (char *line; (line = tess_ar_text_line(&m->text)) != NULL;) {
        char *fields[4];
        double angle = 0;
        double radius = 0;
        if (is_comment(line)) {
            continue;
        }
        if (tess_ar_split_blanks(line, fields, 4) < 4 || !tess_ar_number(fields[1], &angle) ||
            !tess_ar_number(fields[2], &radius)) {
            return bad_line(m, "a number, an angle in degrees, a radius and a name");
        }
        const double polar = radius * PI;
        const double position[3] = {sin(polar) * sin(angle * PI / 180),
                                    sin(polar) * cos(angle * PI / 180), cos(polar)};
        TESS_TRY(tess_ar_montage_add(m, fields[3], position));
    }
    return TESS_OK;
}

// name x y z
tess_status tess_ar_read_sfp(tess_ar_montage *m)
{
    for (char *line; (line = tess_ar_text_line(&m->text)) != NULL;) {
        char *fields[5];
        double position[3];
        if (is_comment(line)) {
            continue;
        }
        if (tess_ar_split_blanks(line, fields, 5) < 4 || !three_numbers(fields + 1, position)) {
            return bad_line(m, "a name and three coordinates");
        }
        TESS_TRY(tess_ar_montage_add(m, fields[0], position));
    }
    return TESS_OK;
}

// A line of "Positions": "name : x y z", or "x y z" with the name to come under "Labels".
static tess_status elc_position(tess_ar_montage *m, char *line)
{
    char *fields[4];
    double position[3];
    char *colon = strchr(line, ':');
    const char *name = "";
    if (colon) {
        *colon = '\0';
        name = tess_ar_trim(line);
        line = colon + 1;
    }
    if (tess_ar_split_blanks(line, fields, 4) < 3 || !three_numbers(fields, position)) {
        return bad_line(m, "three coordinates");
    }
    return tess_ar_montage_add(m, name, position);
}

static void elc_labels(tess_ar_montage *m, char *line, int64_t *next)
{
    char *fields[1024];
    const int64_t n = tess_ar_split_blanks(line, fields, 1024);
    for (int64_t i = 0; i < n && *next < m->n; i++, ++*next) {
        if (m->places[*next].name[0] == '\0') {
            m->places[*next].name = fields[i];
            tess_ar_name_key(fields[i], m->places[*next].key);
        }
    }
}

// ASA: a head with the unit, "Positions", "Labels".
tess_status tess_ar_read_elc(tess_ar_montage *m)
{
    enum { HEAD, POSITIONS, LABELS, OTHER } part = HEAD;
    int64_t next = 0;
    for (char *line; (line = tess_ar_text_line(&m->text)) != NULL;) {
        line = tess_ar_trim(line);
        if (is_comment(line)) {
            continue;
        }
        if (strncasecmp(line, "UnitPosition", 12) == 0) {
            m->unit = strstr(line, "mm") ? 1e-3 : strstr(line, "cm") ? 1e-2 : 1;
        } else if (strcasecmp(line, "Positions") == 0) {
            part = POSITIONS;
        } else if (strcasecmp(line, "Labels") == 0) {
            part = LABELS;
        } else if (strncasecmp(line, "HeadShapePoints", 15) == 0 ||
                   strncasecmp(line, "NumberHeadShapePoints", 21) == 0) {
            part = OTHER;
        } else if (part == POSITIONS) {
            TESS_TRY(elc_position(m, line));
        } else if (part == LABELS) {
            elc_labels(m, line, &next);
        }
    }
    return TESS_OK;
}

// Which columns hold what.
typedef struct columns {
    int64_t name, axis[3];
} columns;

static bool find_columns(char **fields, int64_t n, columns *c)
{
    static const char *const names[] = {"name",      "labels",  "label", "channel",
                                        "electrode", "ch_name", "site"};
    static const char *const axes[] = {"x", "y", "z"};
    *c = (columns){-1, {-1, -1, -1}};
    for (int64_t i = n; i-- > 0;) {
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            c->name = strcasecmp(fields[i], names[k]) == 0 ? i : c->name;
        }
        for (int k = 0; k < 3; k++) {
            c->axis[k] = strcasecmp(fields[i], axes[k]) == 0 ? i : c->axis[k];
        }
    }
    return c->name >= 0 && c->axis[0] >= 0 && c->axis[1] >= 0 && c->axis[2] >= 0;
}

static int64_t split_row(char *line, char **fields)
{
    const char separator = strchr(line, '\t')  ? '\t'
                           : strchr(line, ';') ? ';'
                           : strchr(line, ',') ? ','
                                               : ' ';
    return separator == ' ' ? tess_ar_split_blanks(line, fields, MAX_COLUMN)
                            : tess_ar_split(line, separator, fields, MAX_COLUMN);
}

static char *unquoted(char *field)
{
    const size_t n = strlen(field);
    if (n >= 2 && field[0] == '"' && field[n - 1] == '"') {
        field[n - 1] = '\0';
        return field + 1;
    }
    return field;
}

static bool is_absent(const char *field)
{
    return field[0] == '\0' || strcasecmp(field, "n/a") == 0 || strcasecmp(field, "nan") == 0;
}

// BIDS electrodes.tsv, EEGLAB's .ced, and plain tables: a row of headings, or name, x, y, z.
tess_status tess_ar_read_table(tess_ar_montage *m)
{
    columns at = {0, {1, 2, 3}};
    bool is_first = true;
    for (char *line; (line = tess_ar_text_line(&m->text)) != NULL;) {
        char *fields[MAX_COLUMN];
        double position[3];
        if (is_comment(line)) {
            continue;
        }
        const int64_t n = split_row(line, fields);
        columns found;
        const bool is_heading = is_first && find_columns(fields, n, &found);
        is_first = false;
        if (is_heading) {
            at = found;
            continue;
        }
        bool is_there = at.name < n;
        bool is_known = true;
        for (int k = 0; k < 3 && is_there; k++) {
            is_there = at.axis[k] < n;
            is_known = is_known && is_there && !is_absent(unquoted(fields[at.axis[k]]));
            is_there = is_there &&
                       (!is_known || tess_ar_number(unquoted(fields[at.axis[k]]), &position[k]));
        }
        if (!is_there) {
            return bad_line(m, "a name and three coordinates (name,x,y,z)");
        }
        if (is_known) {
            TESS_TRY(tess_ar_montage_add(m, unquoted(fields[at.name]), position));
        }
    }
    return TESS_OK;
}
