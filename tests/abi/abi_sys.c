// The headers of sys, for modules and the command: layouts and values pinned, see pin.h.

#include "pin.h"
#include "tessera/sys/backend.h"
#include "tessera/sys/comm.h"
#include "tessera/sys/document.h"
#include "tessera/sys/format.h"
#include "tessera/sys/json.h"

// tessera/sys/allocator.h
SIZE(tess_allocator, 24);
FIELD(tess_allocator, alloc, 0);
FIELD(tess_allocator, release, 8);
FIELD(tess_allocator, user, 16);

// tessera/sys/document.h
SIZE(tess_document_place, 16);
FIELD(tess_document_place, line, 0);
FIELD(tess_document_place, column, 8);
SIZE(tess_document_entry, 40);
FIELD(tess_document_entry, key, 0);
FIELD(tess_document_entry, key_place, 8);
FIELD(tess_document_entry, value, 24);
FIELD(tess_document_entry, next, 32);
SIZE(tess_document_node, 64);
FIELD(tess_document_node, kind, 0);
FIELD(tess_document_node, is_quoted, 4);
FIELD(tess_document_node, place, 8);
FIELD(tess_document_node, n_child, 24);
FIELD(tess_document_node, n_node, 32);
FIELD(tess_document_node, text, 40);
FIELD(tess_document_node, first, 48);
FIELD(tess_document_node, last, 56);

// tessera/sys/module.h
SIZE(tess_host, 72);
FIELD(tess_host, struct_size, 0);
FIELD(tess_host, abi, 4);
FIELD(tess_host, user, 8);
FIELD(tess_host, fail, 16);
FIELD(tess_host, alloc, 24);
FIELD(tess_host, release, 32);
FIELD(tess_host, log, 40);
FIELD(tess_host, memory_limit_bytes, 48);
FIELD(tess_host, n_thread, 56);
FIELD(tess_host, reserved, 60);
FIELD(tess_host, share, 64);
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
FIELD(tess_format_reader, direct_offset, 328);
FIELD(tess_format_reader, held_bytes, 336);
SIZE(tess_format_writer_input, 120);
FIELD(tess_format_writer_input, dataset, 0);
FIELD(tess_format_writer_input, provenance, 8);
FIELD(tess_format_writer_input, dtype, 16);
FIELD(tess_format_writer_input, rank, 20);
FIELD(tess_format_writer_input, item_bytes, 24);
FIELD(tess_format_writer_input, shape, 32);
FIELD(tess_format_writer_input, data, 80);
FIELD(tess_format_writer_input, data_bytes, 88);
FIELD(tess_format_writer_input, packing, 96);
FIELD(tess_format_writer_input, reserved, 100);
FIELD(tess_format_writer_input, read, 104);
FIELD(tess_format_writer_input, self, 112);
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
SIZE(tess_format, 136);
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
FIELD(tess_format, texts, 104);
FIELD(tess_format, add, 112);
FIELD(tess_format, check, 120);
FIELD(tess_format, matlab, 128);

// tessera/sys/backend.h
SIZE(tess_backend, 152);
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
FIELD(tess_backend, queue_adopt, 136);
FIELD(tess_backend, stage_name, 144);

// tessera/sys/comm.h
SIZE(tess_comm_start, 24);
FIELD(tess_comm_start, struct_size, 0);
FIELD(tess_comm_start, has_fortran, 4);
FIELD(tess_comm_start, fortran, 8);
FIELD(tess_comm_start, communicator, 16);
SIZE(tess_comm_place, 136);
FIELD(tess_comm_place, struct_size, 0);
FIELD(tess_comm_place, rank, 4);
FIELD(tess_comm_place, n_rank, 8);
FIELD(tess_comm_place, n_node_rank, 12);
FIELD(tess_comm_place, library, 16);
FIELD(tess_comm_place, node_rank, 128);
FIELD(tess_comm_place, reserved, 132);
SIZE(tess_comm_module, 72);
FIELD(tess_comm_module, struct_size, 0);
FIELD(tess_comm_module, abi, 4);
FIELD(tess_comm_module, name, 8);
FIELD(tess_comm_module, join, 16);
FIELD(tess_comm_module, leave, 24);
FIELD(tess_comm_module, all_gather, 32);
FIELD(tess_comm_module, all_gather_v, 40);
FIELD(tess_comm_module, broadcast, 48);
FIELD(tess_comm_module, abort, 56);
FIELD(tess_comm_module, gather_v, 64);
