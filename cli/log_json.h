// --log-json: one JSON object per line for everything that is said.
//
// {"schema": "tessera.log/1", "time": "2026-01-31T12:00:00.123Z", "level": LEVEL, "id": ID,
//  "text": TEXT} with LEVEL begin, note, warning, error, info, debug, progress or end; ID is that
// of a warning, else null. A line of progress has stage, unit, done, total, elapsed_s and
// remaining_s besides, the last line the exit code.
#ifndef TESSERA_CLI_LOG_JSON_H
#define TESSERA_CLI_LOG_JSON_H

#include <tessera/context.h>

// Appends to the file; "-": stderr, where the lines stand in for those for people. 0, or errno.
int log_json_open(const char *path);

// 1 if stderr belongs to the JSON lines.
int log_json_has_stderr(void);

// The first line of a command: what was typed, and as every file we write what made it.
void log_json_begin(const char *command_line);

// No-ops while none is open. May be called from any thread.
void log_json_write(const char *level, const char *id, const char *text);
void log_json_progress(const tess_progress *now);

// Writes the last line, with the exit code. 1: the log is not whole.
int log_json_close(int code);

#endif
