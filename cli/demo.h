// What 'tessera demo' shows of a system, as a table; the command runs it.
#ifndef TESSERA_CLI_DEMO_H
#define TESSERA_CLI_DEMO_H

#include "cli.h"

enum { DEMO_LINES = 2, DEMO_WORDS = 20, DEMO_FACTS = 3, DEMO_SYSTEMS = 4 };

typedef struct demo_system {
    const char *name;
    const char *what; // one line without full stop
    // Commands without the program's name. A word that begins with DEMO_HERE is a path in the
    // demo's folder.
    const char *lines[DEMO_LINES][DEMO_WORDS];
    // What to show of what they print: the first line that holds this.
    const char *facts[DEMO_FACTS];
    // The same with the user's own data, to be typed as it stands but for the file's name: a
    // command without the program's name, and a line of Python.
    const char *own_label;
    const char *own;
    const char *python;
} demo_system;

#define DEMO_HERE "@/"
#define DEMO_REPORT "report.html"

extern const demo_system demo_systems[DEMO_SYSTEMS];

// Runs line number index of a demo in its folder, and adds the line and what it prints to
// folder/output.txt. *text is what it printed, to be freed. Exit code.
int demo_run_line(const cli *c, const demo_system *demo, int index, const char *folder,
                  char **text);

// Line number index of a demo as it is run, to be freed; NULL without memory.
char *demo_line_text(const cli *c, const demo_system *demo, int index, const char *folder);

#endif
