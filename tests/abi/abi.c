// The layout of every public struct on 64-bit machines, pinned. Compiling is the test.
//
// A line may be added when a field is appended to a struct; a line that changes means that programs
// built against the last release break. Compiled with -Wpadded too: no hidden padding.

#include "tessera/sys/backend.h"
#include "tessera/sys/format.h"
#include "tessera/sys/json.h"
#include "tessera/tessera.h"

#include <stddef.h>

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "size of " #type)
#define FIELD(type, field, bytes)                                                                  \
    _Static_assert(offsetof(type, field) == (bytes), "offset of " #type "." #field)

// tessera/sys/allocator.h
SIZE(tess_allocator, 24);
FIELD(tess_allocator, alloc, 0);
FIELD(tess_allocator, release, 8);
FIELD(tess_allocator, user, 16);

// tessera/array.h
SIZE(tess_array, 128);
FIELD(tess_array, data, 0);
FIELD(tess_array, dtype, 8);
FIELD(tess_array, space, 12);
FIELD(tess_array, device, 16);
FIELD(tess_array, rank, 20);
FIELD(tess_array, item_bytes, 24);
FIELD(tess_array, shape, 32);
FIELD(tess_array, stride, 80);

// tessera/context.h
SIZE(tess_progress, 72);
FIELD(tess_progress, struct_size, 0);
FIELD(tess_progress, strategy, 4);
FIELD(tess_progress, stage, 8);
FIELD(tess_progress, unit, 16);
FIELD(tess_progress, done, 24);
FIELD(tess_progress, total, 32);
FIELD(tess_progress, done_bytes, 40);
FIELD(tess_progress, elapsed_s, 48);
FIELD(tess_progress, remaining_s, 56);
FIELD(tess_progress, memory_bytes, 64);
SIZE(tess_context_config, 88);
FIELD(tess_context_config, struct_size, 0);
FIELD(tess_context_config, n_thread, 4);
FIELD(tess_context_config, memory_limit_bytes, 8);
FIELD(tess_context_config, isa, 16);
FIELD(tess_context_config, device, 24);
FIELD(tess_context_config, allocator, 32);
FIELD(tess_context_config, log, 40);
FIELD(tess_context_config, log_user, 48);
FIELD(tess_context_config, progress, 56);
FIELD(tess_context_config, progress_user, 64);
FIELD(tess_context_config, log_level, 72);
FIELD(tess_context_config, profile, 76);
FIELD(tess_context_config, trace_path, 80);
SIZE(tess_context_info, 56);
FIELD(tess_context_info, struct_size, 0);
FIELD(tess_context_info, n_thread, 4);
FIELD(tess_context_info, memory_limit_bytes, 8);
FIELD(tess_context_info, n_thread_origin, 16);
FIELD(tess_context_info, memory_limit_origin, 24);
FIELD(tess_context_info, isa, 32);
FIELD(tess_context_info, device, 40);
FIELD(tess_context_info, device_reason, 48);

// tessera/device.h
SIZE(tess_device_info, 328);
FIELD(tess_device_info, struct_size, 0);
FIELD(tess_device_info, index, 4);
FIELD(tess_device_info, backend, 8);
FIELD(tess_device_info, id, 24);
FIELD(tess_device_info, name, 48);
FIELD(tess_device_info, detail, 144);
FIELD(tess_device_info, memory_bytes, 304);
FIELD(tess_device_info, memory_free_bytes, 312);
FIELD(tess_device_info, score, 320);
FIELD(tess_device_info, reserved, 324);
SIZE(tess_device_ceilings, 56);
FIELD(tess_device_ceilings, struct_size, 0);
FIELD(tess_device_ceilings, n_thread, 4);
FIELD(tess_device_ceilings, read_bytes_per_s, 8);
FIELD(tess_device_ceilings, copy_bytes_per_s, 16);
FIELD(tess_device_ceilings, upload_bytes_per_s, 24);
FIELD(tess_device_ceilings, download_bytes_per_s, 32);
FIELD(tess_device_ceilings, flop_f32_per_s, 40);
FIELD(tess_device_ceilings, flop_f64_per_s, 48);
SIZE(tess_isa_info, 24);
FIELD(tess_isa_info, name, 0);
FIELD(tess_isa_info, built, 8);
FIELD(tess_isa_info, usable, 12);
FIELD(tess_isa_info, chosen, 16);
FIELD(tess_isa_info, vector_bytes, 20);

// tessera/io.h
SIZE(tess_source_info, 112);
FIELD(tess_source_info, struct_size, 0);
FIELD(tess_source_info, dtype, 4);
FIELD(tess_source_info, rank, 8);
FIELD(tess_source_info, is_mapped, 12);
FIELD(tess_source_info, item_bytes, 16);
FIELD(tess_source_info, shape, 24);
FIELD(tess_source_info, path, 72);
FIELD(tess_source_info, dataset, 80);
FIELD(tess_source_info, format, 88);
FIELD(tess_source_info, file_bytes, 96);
FIELD(tess_source_info, file_mtime_ns, 104);
SIZE(tess_source_config, 16);
FIELD(tess_source_config, struct_size, 0);
FIELD(tess_source_config, allow_truncated, 4);
FIELD(tess_source_config, dataset, 8);
SIZE(tess_dataset_info, 80);
FIELD(tess_dataset_info, struct_size, 0);
FIELD(tess_dataset_info, dtype, 4);
FIELD(tess_dataset_info, rank, 8);
FIELD(tess_dataset_info, reserved, 12);
FIELD(tess_dataset_info, shape, 16);
FIELD(tess_dataset_info, name, 64);
FIELD(tess_dataset_info, type_text, 72);
SIZE(tess_sink_config, 16);
FIELD(tess_sink_config, struct_size, 0);
FIELD(tess_sink_config, overwrite, 4);
FIELD(tess_sink_config, dataset, 8);

// tessera/param.h
SIZE(tess_param, 64);
FIELD(tess_param, name, 0);
FIELD(tess_param, type, 8);
FIELD(tess_param, offset, 12);
FIELD(tess_param, default_value, 16);
FIELD(tess_param, minimum, 24);
FIELD(tess_param, maximum, 32);
FIELD(tess_param, choices, 40);
FIELD(tess_param, unit, 48);
FIELD(tess_param, help, 56);
SIZE(tess_param_table, 24);
FIELD(tess_param_table, name, 0);
FIELD(tess_param_table, params, 8);
FIELD(tess_param_table, n_param, 16);

// tessera/run.h
SIZE(tess_plan_info, 256);
FIELD(tess_plan_info, struct_size, 0);
FIELD(tess_plan_info, strategy, 4);
FIELD(tess_plan_info, n_item, 8);
FIELD(tess_plan_info, items_per_tile, 16);
FIELD(tess_plan_info, n_tile, 24);
FIELD(tess_plan_info, n_slot, 32);
FIELD(tess_plan_info, tile_bytes, 40);
FIELD(tess_plan_info, memory_bytes, 48);
FIELD(tess_plan_info, limit_bytes, 56);
FIELD(tess_plan_info, reason, 64);
SIZE(tess_run_config, 40);
FIELD(tess_run_config, struct_size, 0);
FIELD(tess_run_config, resume, 4);
FIELD(tess_run_config, checkpoint_dir, 8);
FIELD(tess_run_config, checkpoint_every_s, 16);
FIELD(tess_run_config, keep_checkpoints, 24);
FIELD(tess_run_config, command_line, 32);
SIZE(tess_run_report, 1088);
FIELD(tess_run_report, struct_size, 0);
FIELD(tess_run_report, resumed, 4);
FIELD(tess_run_report, first_item, 8);
FIELD(tess_run_report, items_done, 16);
FIELD(tess_run_report, elapsed_s, 24);
FIELD(tess_run_report, read_wait_s, 32);
FIELD(tess_run_report, peak_heap_bytes, 40);
FIELD(tess_run_report, n_checkpoint, 48);
FIELD(tess_run_report, checkpoint_s, 56);
FIELD(tess_run_report, checkpoint_path, 64);

// tessera/autoreject.h
SIZE(tess_autoreject_ptp_config, 16);
FIELD(tess_autoreject_ptp_config, struct_size, 0);
FIELD(tess_autoreject_ptp_config, nonfinite, 4);
FIELD(tess_autoreject_ptp_config, tile_epochs, 8);
SIZE(tess_autoreject_simulate_config, 56);
FIELD(tess_autoreject_simulate_config, struct_size, 0);
FIELD(tess_autoreject_simulate_config, dtype_index, 4);
FIELD(tess_autoreject_simulate_config, n_epoch, 8);
FIELD(tess_autoreject_simulate_config, n_chan, 16);
FIELD(tess_autoreject_simulate_config, n_time, 24);
FIELD(tess_autoreject_simulate_config, seed, 32);
FIELD(tess_autoreject_simulate_config, sampling_hz, 40);
FIELD(tess_autoreject_simulate_config, bad_fraction, 48);

// tessera/sys/module.h
SIZE(tess_host, 48);
FIELD(tess_host, struct_size, 0);
FIELD(tess_host, abi, 4);
FIELD(tess_host, user, 8);
FIELD(tess_host, fail, 16);
FIELD(tess_host, alloc, 24);
FIELD(tess_host, release, 32);
FIELD(tess_host, log, 40);
SIZE(tess_module_info, 40);
FIELD(tess_module_info, abi, 0);
FIELD(tess_module_info, reserved, 4);
FIELD(tess_module_info, kind, 8);
FIELD(tess_module_info, name, 16);
FIELD(tess_module_info, version, 24);
FIELD(tess_module_info, built_with, 32);

// tessera/sys/format.h
SIZE(tess_format_reader, 344);
FIELD(tess_format_reader, impl, 0);
FIELD(tess_format_reader, dtype, 8);
FIELD(tess_format_reader, rank, 12);
FIELD(tess_format_reader, item_bytes, 16);
FIELD(tess_format_reader, shape, 24);
FIELD(tess_format_reader, dataset, 72);
FIELD(tess_format_reader, mapped, 328);
FIELD(tess_format_reader, held_bytes, 336);
SIZE(tess_format_writer_input, 96);
FIELD(tess_format_writer_input, dataset, 0);
FIELD(tess_format_writer_input, provenance, 8);
FIELD(tess_format_writer_input, dtype, 16);
FIELD(tess_format_writer_input, rank, 20);
FIELD(tess_format_writer_input, item_bytes, 24);
FIELD(tess_format_writer_input, shape, 32);
FIELD(tess_format_writer_input, data, 80);
FIELD(tess_format_writer_input, data_bytes, 88);
SIZE(tess_format_layout, 112);
FIELD(tess_format_layout, dataset, 0);
FIELD(tess_format_layout, dims, 8);
FIELD(tess_format_layout, units, 16);
FIELD(tess_format_layout, long_name, 24);
FIELD(tess_format_layout, dtype, 32);
FIELD(tess_format_layout, rank, 36);
FIELD(tess_format_layout, item_bytes, 40);
FIELD(tess_format_layout, shape, 48);
FIELD(tess_format_layout, data, 96);
FIELD(tess_format_layout, offset, 104);
SIZE(tess_format, 104);
FIELD(tess_format, struct_size, 0);
FIELD(tess_format, abi, 4);
FIELD(tess_format, name, 8);
FIELD(tess_format, extensions, 16);
FIELD(tess_format, probe, 24);
FIELD(tess_format, open, 32);
FIELD(tess_format, read, 40);
FIELD(tess_format, close, 48);
FIELD(tess_format, list, 56);
FIELD(tess_format, provenance, 64);
FIELD(tess_format, write, 72);
FIELD(tess_format, write_many, 80);
FIELD(tess_format, attribute, 88);
FIELD(tess_format, lay_out, 96);

// tessera/sys/backend.h
SIZE(tess_backend, 136);
FIELD(tess_backend, struct_size, 0);
FIELD(tess_backend, abi, 4);
FIELD(tess_backend, name, 8);
FIELD(tess_backend, user, 16);
FIELD(tess_backend, device_count, 24);
FIELD(tess_backend, device_info, 32);
FIELD(tess_backend, device_open, 40);
FIELD(tess_backend, device_close, 48);
FIELD(tess_backend, memory_alloc, 56);
FIELD(tess_backend, memory_free, 64);
FIELD(tess_backend, queue_create, 72);
FIELD(tess_backend, queue_destroy, 80);
FIELD(tess_backend, copy, 88);
FIELD(tess_backend, supports, 96);
FIELD(tess_backend, scratch_bytes, 104);
FIELD(tess_backend, enqueue, 112);
FIELD(tess_backend, finish, 120);
FIELD(tess_backend, benchmark, 128);

// Values that files and other languages know by number.
#define VALUE(name, number) _Static_assert((name) == (number), #name)
VALUE(TESS_OK, 0);
VALUE(TESS_CANCELLED, 1);
VALUE(TESS_E_ARGUMENT, -10);
VALUE(TESS_E_SHAPE, -11);
VALUE(TESS_E_DTYPE, -12);
VALUE(TESS_E_SPACE, -13);
VALUE(TESS_E_RANGE, -14);
VALUE(TESS_E_VERSION, -15);
VALUE(TESS_E_CONFIG, -16);
VALUE(TESS_E_MEMORY, -20);
VALUE(TESS_E_LIMIT, -21);
VALUE(TESS_E_THREAD, -22);
VALUE(TESS_E_DEVICE, -23);
VALUE(TESS_E_UNSUPPORTED, -24);
VALUE(TESS_E_NOT_FOUND, -30);
VALUE(TESS_E_FORMAT, -31);
VALUE(TESS_E_TRUNCATED, -32);
VALUE(TESS_E_IO, -33);
VALUE(TESS_E_EXISTS, -34);
VALUE(TESS_E_CREATE, -35);
VALUE(TESS_E_MISMATCH, -36);
VALUE(TESS_E_LOCKED, -37);
VALUE(TESS_E_NUMERIC, -40);
VALUE(TESS_E_INTERNAL, -90);
VALUE(TESS_BOOL, 1);
VALUE(TESS_I8, 2);
VALUE(TESS_I16, 3);
VALUE(TESS_I32, 4);
VALUE(TESS_I64, 5);
VALUE(TESS_U8, 6);
VALUE(TESS_U16, 7);
VALUE(TESS_U32, 8);
VALUE(TESS_U64, 9);
VALUE(TESS_F16, 10);
VALUE(TESS_BF16, 11);
VALUE(TESS_F32, 12);
VALUE(TESS_F64, 13);
VALUE(TESS_C64, 14);
VALUE(TESS_C128, 15);
VALUE(TESS_BYTES, 16);
VALUE(TESS_UCS4, 17);
VALUE(TESS_SPACE_HOST, 0);
VALUE(TESS_SPACE_PINNED, 1);
VALUE(TESS_SPACE_DEVICE, 2);
VALUE(TESS_STRATEGY_STANDARD, 0);
VALUE(TESS_STRATEGY_LARGE, 1);
VALUE(TESS_STRATEGY_CHUNKED, 2);
VALUE(TESS_STRATEGY_STREAMING, 3);
VALUE(TESS_PARAM_INT, 1);
VALUE(TESS_PARAM_REAL, 2);
VALUE(TESS_PARAM_FLAG, 3);
VALUE(TESS_PARAM_CHOICE, 4);
VALUE(TESS_PARAM_BYTES, 5);
VALUE(TESS_AUTOREJECT_NONFINITE_PROPAGATE, 0);
VALUE(TESS_AUTOREJECT_NONFINITE_ERROR, 1);
VALUE(TESS_TAG_GENERAL, 0);
VALUE(TESS_TAG_CONTEXT, 1);
VALUE(TESS_TAG_PLAN, 2);
VALUE(TESS_TAG_TILE, 3);
VALUE(TESS_TAG_SCRATCH, 4);
VALUE(TESS_TAG_IO, 5);
VALUE(TESS_TAG_RESULT, 6);
VALUE(TESS_TAG_COUNT, 7);
VALUE(TESS_LOG_ERROR, 0);
VALUE(TESS_LOG_WARNING, 1);
VALUE(TESS_LOG_INFO, 2);
VALUE(TESS_LOG_DEBUG, 3);
