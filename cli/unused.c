#include "unused.h"

#include <stdio.h>
#include <string.h>

int unused_has_table(const cli *c, const tess_param_table *table)
{
    for (int i = 0; i < CLI_MAX_TABLE && c->system[i].table; i++) {
        if (c->system[i].table == table) {
            return 1;
        }
    }
    return 0;
}

int unused_is_given(const cli *c, const char *param)
{
    for (int i = 0; i < CLI_MAX_TABLE && c->system[i].table; i++) {
        for (int64_t k = 0; k < c->system[i].table->n_param; k++) {
            if (strcmp(c->system[i].table->params[k].name, param) == 0) {
                return c->system[i].flag_text[k] != NULL;
            }
        }
    }
    return 0;
}

void unused_option(const char *param, char option[64])
{
    snprintf(option, 64, "%s", param);
    for (char *at = option; (at = strchr(at, '_'));) {
        *at = '-';
    }
}

void unused_warn(const cli *c, const unused_rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!rules[i].is_used && unused_is_given(c, rules[i].param)) {
            char option[64];
            unused_option(rules[i].param, option);
            console_note("warning: --%s changes nothing %s", option, rules[i].why);
        }
    }
}
