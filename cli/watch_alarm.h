// Alarms of a watch: bounds that a fit has to keep. They are said and marked; nothing is run.
#ifndef TESSERA_CLI_WATCH_ALARM_H
#define TESSERA_CLI_WATCH_ALARM_H

#include "watch_table.h"

enum { WATCH_MAX_ALARM = 32 };

typedef struct watch_alarm {
    int64_t what;     // a parameter; below 0: reduced chi2, quality
    int is_error;     // of the parameter's standard deviation instead
    char relation[3]; // "<", "<=", ">", ">=", "="
    double limit;
    char text[96]; // as typed
} watch_alarm;

typedef struct watch_alarms {
    watch_alarm alarms[WATCH_MAX_ALARM];
    int n;
} watch_alarms;

// "D0>2e4,alpha_sd>=0.1,reduced_chi2>3,quality>good"; NULL: none. Exit code.
int watch_alarms_parse(const cli *c, const watch_table *table, const char *text,
                       watch_alarms *alarms);
// Those that the row sets off as "D0 = 23100 > 2e4; ...", for free(); "" if none. NULL: no memory.
char *watch_alarms_of(const watch_alarms *alarms, const watch_table *table, const watch_row *row);

#endif
