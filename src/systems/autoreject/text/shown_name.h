// Names out of files for people: pages and sentences.
#ifndef TESS_AUTOREJECT_TEXT_SHOWN_NAME_H
#define TESS_AUTOREJECT_TEXT_SHOWN_NAME_H

enum { TESS_AR_NAME = 72 };

// Short enough for a table, without control characters.
void tess_ar_shown_name(const char *name, char shown[TESS_AR_NAME]);

#endif
