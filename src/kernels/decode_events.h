// What the kernels of decode's events ask of their callers' memory.
#ifndef TESS_KERNELS_DECODE_EVENTS_H
#define TESS_KERNELS_DECODE_EVENTS_H

// Zeros on either side of a row of events_line: as many items as the longest block of any ISA (four
// vectors of 2048 bits).
#define TESS_EVENTS_PAD 128

#endif
