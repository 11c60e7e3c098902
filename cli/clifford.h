// What the commands of clifford share.
#ifndef TESSERA_CLI_CLIFFORD_H
#define TESSERA_CLI_CLIFFORD_H

#include "cli.h"

#include <tessera/clifford.h>

// The algebra of --signature, else of the operand if there is one, else of fallback. Exit code.
int clifford_read_algebra(cli *c, int operand, const char *fallback,
                          tess_clifford_algebra *algebra);

// "e013"; "1" for the scalar. Null symbols make the count start at 0, as PGA is written.
void clifford_blade_name(const tess_clifford_algebra *algebra, int component, char name[16]);

#endif
