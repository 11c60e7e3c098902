// Functions of the library that are declared but not written yet: the module loads without them.
#ifndef CORE_DECODE_PENDING_H
#define CORE_DECODE_PENDING_H

#pragma weak tess_decode_em
#pragma weak tess_decode_model_get_defaults
#pragma weak tess_decode_online_advance
#pragma weak tess_decode_online_config_init
#pragma weak tess_decode_online_create
#pragma weak tess_decode_online_destroy
#pragma weak tess_decode_online_get
#pragma weak tess_decode_online_get_stats
#pragma weak tess_decode_online_params
#pragma weak tess_decode_online_push_position
#pragma weak tess_decode_online_push_spike
#pragma weak tess_decode_online_reset
#pragma weak tess_decode_stream
#pragma weak tess_decode_stream_config_init
#pragma weak tess_decode_stream_plan

#endif
