// Monotonic time for spans and progress, wall time for provenance.
#ifndef TESS_BASE_CLOCK_H
#define TESS_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t tess_now_ns(void);

// "2026-01-31T12:00:00Z", "" for a date no calendar has; honours SOURCE_DATE_EPOCH so that results
// can be reproduced to the byte.
void tess_utc_text(char *text, size_t capacity);

#endif
