// Commands that several processes run together: rank 0 speaks and writes, the others compute.
#ifndef TESSERA_CLI_RANKS_H
#define TESSERA_CLI_RANKS_H

#include "cli.h"

// As the launcher says, before anything is printed.
void ranks_init(void);
// As the context says; it knows best.
void ranks_meet(const tess_context *ctx);
// True for rank 0, and for a process that is alone.
int ranks_is_first(void);
// Whether this process is one of several, as far as is known.
int ranks_are_several(void);
// 0, or what is wrong with starting this command several times for one job.
int ranks_check(const cli *c);
// The end of a command, where the ranks part: code as it is for this one. Returns the exit code, by
// which rank 0 tells how the whole job went.
int ranks_leave(cli *c, int code);
// The last word of a process that may have failed alone, before it met the others.
int ranks_finish(int code);

#endif
