// What tessera info says of files that are no arrays.
#ifndef TESSERA_CLI_INFO_H
#define TESSERA_CLI_INFO_H

#include "cli.h"

#include <tessera/sys/json.h>

// "html", "fif" ... by the first bytes; NULL: none of these.
const char *info_kind(const char *path);

// What the file holds, a line or more on stdout. What cannot be read is said on stderr: its
// provenance may still be of use.
void info_print_kind(cli *c, const char *kind, const char *path);

// The same as members of an object, where there is more to say than the kind.
void info_write_kind(cli *c, tess_json *json, const char *kind, const char *path);

// Provenance stored with a file of any kind; *text NULL: none, or not JSON. tess_text_free() it.
tess_status info_provenance(cli *c, const char *path, char **text);

// Prints the provenance, or that there is none.
void info_print_provenance(const char *text);

#endif
