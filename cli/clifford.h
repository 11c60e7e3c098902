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

// Another program's times of the same operation. NAN where it has none.
typedef struct clifford_peer_row {
    double batch, features;
    double forward_s, forward_backward_s;
} clifford_peer_row;

typedef struct clifford_peer {
    clifford_peer_row *rows; // freed by who has it
    int64_t n_row;
} clifford_peer;

// Refuses a file of another operation. Exit code.
int clifford_peer_read(cli *c, const char *path, const char *operation, const char *signs,
                       const char *dtype, clifford_peer *peer);
// NULL: it has no row of this size.
const clifford_peer_row *clifford_peer_find(const clifford_peer *peer, int64_t batch,
                                            int64_t features);

#endif
