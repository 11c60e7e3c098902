// Checks of the self-test that have a file of their own.
#ifndef TESSERA_CLI_SELFTEST_H
#define TESSERA_CLI_SELFTEST_H

#include "console.h"

#include <tessera/context.h>

// 1 if the worked example of autoreject gives the stored numbers.
int selftest_autoreject(tess_context *ctx);

// 1 if the worked examples of clifford give the stored numbers.
int selftest_clifford(tess_context *ctx);

// 1 if the worked example of decode gives the stored numbers.
int selftest_decode(tess_context *ctx);

// 1 if the worked examples of xpcs give the stored numbers.
int selftest_xpcs(tess_context *ctx);

#endif
