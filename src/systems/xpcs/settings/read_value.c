// One value: a node of the document by the type and range of its row.
#include "base/guess.h"
#include "base/status.h"
#include "systems/xpcs/settings/settings.h"

#include <float.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_CHARS = 64, OWNER_CHARS = 48, MAX_ITEMS = 1000000, MAX_NOTICES = 100 };

const char *tess_xp_place(const tess_xpcs_settings *settings, bool is_set,
                          tess_document_place place, char text[TESS_XP_PLACE_CHARS])
{
    // The end of a long path tells more than its start.
    const size_t length = strlen(settings->path);
    const char *file = settings->path + (length > 250 ? length - 250 : 0);
    text[0] = '\0';
    if (!is_set && place.line > 0) {
        snprintf(text, TESS_XP_PLACE_CHARS, "%.250s:%lld:%lld: ", file, (long long)place.line,
                 (long long)place.column);
    } else if (!is_set && length > 0) {
        snprintf(text, TESS_XP_PLACE_CHARS, "%.250s: ", file);
    }
    return text;
}

char *tess_xp_tame(char *text)
{
    for (char *at = text; *at != '\0'; at++) {
        *at = (unsigned char)*at < ' ' || *at == 127 ? '?' : *at;
    }
    return text;
}

tess_status tess_xp_complain(const tess_xpcs_settings *settings, const tess_xp_value *value,
                             const char *format, ...)
{
    char here[TESS_XP_PLACE_CHARS];
    char what[TESS_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    char path[TESS_XP_PATH_CHARS];
    snprintf(path, sizeof path, "%s", value->path);
    TESS_FAIL(TESS_E_CONFIG, "%s%s: %s",
              tess_xp_place(settings, value->is_set, value->node->place, here), tess_xp_tame(path),
              tess_xp_tame(what));
}

void tess_xp_note(tess_xpcs_settings *settings, const char *format, ...)
{
    char line[TESS_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    tess_xp_tame(line);
    settings->n_read_notice++;
    if (settings->n_read_notice <= MAX_NOTICES) {
        tess_text_add(&settings->read_notices, line);
        tess_text_add(&settings->read_notices, "\n");
    } else if (settings->n_read_notice == MAX_NOTICES + 1) {
        tess_text_printf(&settings->read_notices, "more notices of this kind are left out\n");
    }
}

bool tess_xp_is_null(const tess_document_node *node)
{
    return node->kind == TESS_DOCUMENT_SCALAR &&
           tess_document_scalar_type(node) == TESS_DOCUMENT_NULL;
}

static const char *kind_name(const tess_document_node *node)
{
    return node->kind == TESS_DOCUMENT_MAPPING ? "keys and values"
           : node->kind == TESS_DOCUMENT_LIST  ? "a list"
           : tess_xp_is_null(node)             ? "nothing"
                                               : "one value";
}

static tess_status wrong_kind(const tess_xpcs_settings *settings, const tess_xp_value *value)
{
    const tess_xp_rule rule = tess_xp_rule_of(value->row);
    char allowed[TESS_XP_ALLOWED_CHARS];
    const bool has_range = rule.type == TESS_XP_REAL || rule.type == TESS_XP_INT;
    return tess_xp_complain(settings, value, "expected a %s%s%s%s, found %s",
                            rule.type == TESS_XP_BOOL ? "value true or false"
                                                      : tess_xp_type_name(rule.type),
                            has_range ? " (" : "", has_range ? tess_xp_allowed(&rule, allowed) : "",
                            has_range ? ")" : "", kind_name(value->node));
}

// YAML 1.1 allows 2_000_000.
static bool plain_number(const tess_document_node *node, char text[NUMBER_CHARS])
{
    const size_t length = strlen(node->text);
    if (length >= NUMBER_CHARS) {
        return false;
    }
    const tess_document_type type = tess_document_scalar_type(node);
    const bool is_number = type != TESS_DOCUMENT_TEXT && type != TESS_DOCUMENT_BOOL;
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        if (node->text[i] != '_' || !is_number) {
            text[n++] = node->text[i];
        }
    }
    text[n] = '\0';
    return true;
}

static bool parse_number(const tess_document_node *node, bool is_whole, double *number,
                         int64_t *whole)
{
    char text[NUMBER_CHARS];
    uint64_t field = 0;
    const tess_param param = {.name = "",
                              .type = is_whole ? TESS_PARAM_INT : TESS_PARAM_REAL,
                              .minimum = is_whole ? -9e15 : -DBL_MAX,
                              .maximum = is_whole ? 9e15 : DBL_MAX,
                              .unit = ""};
    if (node->kind != TESS_DOCUMENT_SCALAR || !plain_number(node, text) ||
        tess_param_set_text(&param, &field, text) != TESS_OK) {
        return false;
    }
    if (is_whole) {
        memcpy(whole, &field, sizeof *whole);
        *number = (double)*whole;
    } else {
        memcpy(number, &field, sizeof *number);
        *whole = 0;
    }
    return true;
}

// Says where the original's reader would have seen something else.
static void note_reading(tess_xpcs_settings *settings, const tess_xp_value *value,
                         const tess_document_node *node)
{
    char here[TESS_XP_PLACE_CHARS];
    const tess_document_type type = tess_document_scalar_type(node);
    if (value->is_set || settings->is_json ||
        (type != TESS_DOCUMENT_TEXT && type != TESS_DOCUMENT_OCTAL)) {
        return;
    }
    tess_xp_note(settings, "%s%s: %.40s is %s to PyYAML; read as %s",
                 tess_xp_place(settings, false, node->place, here), value->path, node->text,
                 type == TESS_DOCUMENT_OCTAL ? "octal" : "text",
                 tess_xp_rule_of(value->row).type == TESS_XP_BOOL ? "true or false"
                 : type == TESS_DOCUMENT_OCTAL                    ? "decimal"
                                                                  : "the number it means");
}

// "beta: " for a bound of beta, whose path has a number in place of the name.
static const char *owner_of(const tess_xpcs_settings *settings, const tess_xp_value *value,
                            char text[OWNER_CHARS])
{
    static const char list[] = "parameter_space.bounds[";
    char path[64];
    const size_t n = strcspn(value->path, "]");
    text[0] = '\0';
    if (strncmp(value->path, list, strlen(list)) != 0 || n + sizeof "].name" > sizeof path) {
        return text;
    }
    snprintf(path, sizeof path, "%.*s].name", (int)n, value->path);
    const tess_xp_value *name = tess_xp_said(settings, path);
    if (name && name->node && name->node->text) {
        snprintf(text, OWNER_CHARS, "%.40s: ", name->node->text);
    }
    return text;
}

// item: "" or "[3]", for messages.
static tess_status read_number(tess_xpcs_settings *settings, const tess_xp_value *value,
                               const tess_document_node *node, const char *item, double *number,
                               int64_t *whole)
{
    const tess_xp_rule rule = tess_xp_rule_of(value->row);
    const bool is_whole = rule.type == TESS_XP_INT || rule.type == TESS_XP_INTS;
    char allowed[TESS_XP_ALLOWED_CHARS];
    tess_xp_allowed(&rule, allowed);
    char owner[OWNER_CHARS];
    if (!parse_number(node, is_whole, number, whole)) {
        return tess_xp_complain(settings, value, "%s%s%s'%.80s' is not a %s number; allowed is %s",
                                owner_of(settings, value, owner), item, item[0] ? " " : "",
                                node->text, is_whole ? "whole" : "finite", allowed);
    }
    const bool is_positive = (value->row->flags & TESS_XP_POSITIVE) != 0;
    if (*number < rule.minimum || *number > rule.maximum || (is_positive && !(*number > 0))) {
        return tess_xp_complain(settings, value, "%s%s%.80s is out of range; allowed is %s", item,
                                item[0] ? " " : "", node->text, allowed);
    }
    note_reading(settings, value, node);
    return TESS_OK;
}

static tess_status read_bool(tess_xpcs_settings *settings, tess_xp_value *value)
{
    int32_t flag = 0;
    const tess_param param = {.name = "", .type = TESS_PARAM_FLAG, .maximum = 1, .unit = ""};
    if (tess_param_set_text(&param, &flag, value->node->text) != TESS_OK) {
        return tess_xp_complain(settings, value, "'%.80s' is neither true nor false",
                                value->node->text);
    }
    value->number = flag;
    note_reading(settings, value, value->node);
    return TESS_OK;
}

static tess_status read_choice(const tess_xpcs_settings *settings, tess_xp_value *value)
{
    const tess_xp_rule rule = tess_xp_rule_of(value->row);
    const char *word = value->node->text;
    const int32_t index = tess_xp_choice_of(rule.choices, word);
    if (index >= 0) {
        value->number = index;
        return TESS_OK;
    }
    char allowed[TESS_XP_ALLOWED_CHARS];
    tess_guess guess;
    tess_guess_init(&guess, word);
    tess_guess_offer_all(&guess, rule.choices);
    const bool is_near = tess_guess_is_near(&guess);
    return tess_xp_complain(settings, value, "'%.80s' does not exist;%s%s%s allowed is %s", word,
                            is_near ? " did you mean '" : "", is_near ? guess.best : "",
                            is_near ? "'?" : "", tess_xp_allowed(&rule, allowed));
}

static tess_status read_list(tess_xpcs_settings *settings, tess_xp_value *value, int32_t type)
{
    const tess_document_node *list = value->node;
    if (list->kind != TESS_DOCUMENT_LIST) {
        return wrong_kind(settings, value);
    }
    if (list->n_child > MAX_ITEMS) {
        return tess_xp_complain(settings, value, "%lld items; at most %d are read",
                                (long long)list->n_child, MAX_ITEMS);
    }
    double *numbers =
        tess_blocks_alloc(&settings->memory, list->n_child, sizeof *numbers, "a list of values");
    if (numbers == NULL) {
        return TESS_E_MEMORY;
    }
    value->numbers = numbers;
    for (const tess_document_entry *e = list->first; e != NULL; e = e->next, value->n_item++) {
        char item[32];
        int64_t whole = 0;
        snprintf(item, sizeof item, "item %lld:", (long long)value->n_item + 1);
        if (e->value->kind != TESS_DOCUMENT_SCALAR || tess_xp_is_null(e->value)) {
            return tess_xp_complain(settings, value, "%s expected one value, found %s", item,
                                    kind_name(e->value));
        }
        if (type != TESS_XP_NAMES) {
            TESS_TRY(read_number(settings, value, e->value, item, &numbers[value->n_item], &whole));
        }
    }
    return TESS_OK;
}

tess_status tess_xp_read_value(tess_xpcs_settings *settings, tess_xp_value *value)
{
    const tess_xp_rule rule = tess_xp_rule_of(value->row);
    const tess_document_node *node = value->node;
    if (rule.type == TESS_XP_ANY) {
        value->is_null = tess_xp_is_null(node);
        return TESS_OK;
    }
    const bool is_auto = (value->row->flags & TESS_XP_AUTO) != 0 &&
                         node->kind == TESS_DOCUMENT_SCALAR && strcasecmp(node->text, "auto") == 0;
    if (is_auto || (tess_xp_is_null(node) && (value->row->flags & TESS_XP_NULL) != 0)) {
        value->is_null = true;
        return TESS_OK;
    }
    if (rule.type == TESS_XP_REALS || rule.type == TESS_XP_INTS || rule.type == TESS_XP_NAMES) {
        return read_list(settings, value, rule.type);
    }
    if (node->kind != TESS_DOCUMENT_SCALAR || tess_xp_is_null(node)) {
        return wrong_kind(settings, value);
    }
    if (rule.type == TESS_XP_BOOL) {
        return read_bool(settings, value);
    }
    if (rule.type == TESS_XP_CHOICE) {
        return read_choice(settings, value);
    }
    return rule.type == TESS_XP_TEXT
               ? TESS_OK
               : read_number(settings, value, node, "", &value->number, &value->whole);
}
