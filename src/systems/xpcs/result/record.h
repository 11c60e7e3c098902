// A result in words: the JSON of its files.
//
// What differs between two runs of the same fit (times, memory, device, command) is in the member
// "run", besides "timestamp" and "execution_time" where the original has them; everything else
// is the same to the byte.
#ifndef TESS_XPCS_RESULT_RECORD_H
#define TESS_XPCS_RESULT_RECORD_H

#include "runtime/context.h"
#include "tessera/sys/json.h"
#include "tessera/xpcs/result.h"

typedef struct tess_xp_record {
    const tess_xpcs_result_info *info;
    const char *command_line; // NULL: not known
    const char *command;      // the words that decide the result; NULL: not known
    char timestamp[32];
} tess_xp_record;

void tess_xp_record_init(tess_xp_record *record, const tess_context *ctx,
                         const tess_xpcs_result_info *info, const char *command_line);

// The files of a result folder, with the members the original gives them and some of ours.
void tess_xp_record_parameters(tess_json *json, const tess_xp_record *record);
void tess_xp_record_analysis(tess_json *json, const tess_xp_record *record);
void tess_xp_record_convergence(tess_json *json, const tess_xp_record *record);
// Everything.
void tess_xp_record_whole(tess_json *json, const tess_xp_record *record);
// Where a result comes from: the same for every run of the same computation.
void tess_xp_record_provenance(tess_json *json, const tess_xp_record *record);

typedef void (*tess_xp_record_writer)(tess_json *json, const tess_xp_record *record);

// The text of one of them, from the context's heap (tag RESULT), *bytes long with its zero.
TESS_MUST_CHECK tess_status tess_xp_record_text(tess_context *ctx, tess_xp_record_writer writer,
                                                const tess_xp_record *record, char **text,
                                                size_t *bytes);

// tess_xpcs_result_json() of an info.
TESS_MUST_CHECK tess_status tess_xp_result_json_of(tess_context *ctx,
                                                   const tess_xpcs_result_info *info, char **text);

// Whether the file at path is there already, of this very fit. What a run that was killed as it
// wrote it left beside it is then removed.
bool tess_xp_is_written(tess_context *ctx, const tess_xpcs_result_info *info, const char *path);

// How the table "xpcs.fit" spells a choice; "" if there is none.
void tess_xp_choice(const char *param, int32_t value, char text[32]);
// Name of the data's file without its folders: those stay private.
const char *tess_xp_data_name(const tess_xpcs_result_info *info);

// How far chi2 of a minimum is above that of the best one, in units of reduced chi2.
double tess_xp_basin_excess(const tess_xpcs_result_info *info, int64_t basin);

// Members shared by the files.
void tess_xp_put_reals(tess_json *json, const char *key, const double *items, int64_t n);
void tess_xp_put_matrix(tess_json *json, const char *key, const double *items, int64_t n);
// A text of a sentence per line as a list.
void tess_xp_put_lines(tess_json *json, const char *key, const char *lines);
// Name, value, uncertainty, status, unit, 95 % interval, start and bounds of every physical
// parameter.
void tess_xp_put_parameter_details(tess_json *json, const tess_xpcs_result_info *info);
// Minima that were found, the best first.
void tess_xp_put_basins(tess_json *json, const tess_xpcs_result_info *info);
void tess_xp_put_per_angle(tess_json *json, const tess_xpcs_result_info *info);
void tess_xp_put_method(tess_json *json, const tess_xpcs_result_info *info);
// Where the result comes from, as a member of a file that has no other place for it.
void tess_xp_put_provenance(tess_json *json, const tess_xp_record *record);
void tess_xp_put_run(tess_json *json, const tess_xp_record *record);

#endif
