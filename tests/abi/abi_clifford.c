// clifford: layouts and values pinned, see pin.h.

#include "pin.h"
#include "tessera/clifford.h"
#include "tessera/sys/clifford_bench.h"
#include "tessera/sys/clifford_check.h"

// tessera/clifford/algebra.h
SIZE(tess_clifford_metric, 16);
FIELD(tess_clifford_metric, n_symbol, 0);
FIELD(tess_clifford_metric, square, 4);
SIZE(tess_clifford_term, 8);
FIELD(tess_clifford_term, k, 0);
FIELD(tess_clifford_term, i, 1);
FIELD(tess_clifford_term, j, 2);
FIELD(tess_clifford_term, path, 3);
FIELD(tess_clifford_term, sign, 4);
SIZE(tess_clifford_algebra, 8688);
FIELD(tess_clifford_algebra, struct_size, 0);
FIELD(tess_clifford_algebra, crc32, 4);
FIELD(tess_clifford_algebra, metric, 8);
FIELD(tess_clifford_algebra, n_component, 24);
FIELD(tess_clifford_algebra, n_grade, 28);
FIELD(tess_clifford_algebra, n_path, 32);
FIELD(tess_clifford_algebra, n_pair, 36);
FIELD(tess_clifford_algebra, n_term, 40);
FIELD(tess_clifford_algebra, is_euclidean, 44);
FIELD(tess_clifford_algebra, mask, 48);
FIELD(tess_clifford_algebra, grade, 80);
FIELD(tess_clifford_algebra, reverse, 112);
FIELD(tess_clifford_algebra, involution, 144);
FIELD(tess_clifford_algebra, conjugate, 176);
FIELD(tess_clifford_algebra, eta, 208);
FIELD(tess_clifford_algebra, complement, 240);
FIELD(tess_clifford_algebra, complement_sign, 272);
FIELD(tess_clifford_algebra, path_left, 304);
FIELD(tess_clifford_algebra, path_out, 368);
FIELD(tess_clifford_algebra, path_right, 432);
FIELD(tess_clifford_algebra, terms, 496);

// tessera/clifford/op.h
SIZE(tess_clifford_config, 32);
FIELD(tess_clifford_config, struct_size, 0);
FIELD(tess_clifford_config, activation, 4);
FIELD(tess_clifford_config, normalize, 8);
FIELD(tess_clifford_config, norm_metric, 12);
FIELD(tess_clifford_config, eps, 16);
FIELD(tess_clifford_config, bias_mode, 24);
FIELD(tess_clifford_config, precision, 28);
SIZE(tess_clifford_op, 8736);
FIELD(tess_clifford_op, struct_size, 0);
FIELD(tess_clifford_op, kind, 4);
FIELD(tess_clifford_op, path_mask, 8);
FIELD(tess_clifford_op, config, 16);
FIELD(tess_clifford_op, algebra, 48);
SIZE(tess_clifford_arrays, 56);
FIELD(tess_clifford_arrays, struct_size, 0);
FIELD(tess_clifford_arrays, reserved, 4);
FIELD(tess_clifford_arrays, x, 8);
FIELD(tess_clifford_arrays, y, 16);
FIELD(tess_clifford_arrays, weight, 24);
FIELD(tess_clifford_arrays, linear_weight, 32);
FIELD(tess_clifford_arrays, bias, 40);
FIELD(tess_clifford_arrays, z, 48);
SIZE(tess_clifford_call, 32);
FIELD(tess_clifford_call, struct_size, 0);
FIELD(tess_clifford_call, has_stream, 4);
FIELD(tess_clifford_call, stream, 8);
FIELD(tess_clifford_call, workspace, 16);
FIELD(tess_clifford_call, workspace_bytes, 24);

// tessera/clifford/graph.h
SIZE(tess_clifford_graph, 40);
FIELD(tess_clifford_graph, struct_size, 0);
FIELD(tess_clifford_graph, is_checked, 4);
FIELD(tess_clifford_graph, n_sender, 8);
FIELD(tess_clifford_graph, offsets, 16);
FIELD(tess_clifford_graph, senders, 24);
FIELD(tess_clifford_graph, edges, 32);

// tessera/clifford/maps.h
SIZE(tess_clifford_row, 24);
FIELD(tess_clifford_row, n_channel, 0);
FIELD(tess_clifford_row, n_scalar, 8);
FIELD(tess_clifford_row, n_group, 16);
SIZE(tess_clifford_maps, 64);
FIELD(tess_clifford_maps, struct_size, 0);
FIELD(tess_clifford_maps, pairs, 4);
FIELD(tess_clifford_maps, x, 8);
FIELD(tess_clifford_maps, z, 32);
FIELD(tess_clifford_maps, has_bias, 56);
FIELD(tess_clifford_maps, adds, 60);

// tessera/sys/clifford_bench.h
SIZE(tess_clifford_timing, 104);
FIELD(tess_clifford_timing, struct_size, 0);
FIELD(tess_clifford_timing, n_sample, 4);
FIELD(tess_clifford_timing, n_row, 8);
FIELD(tess_clifford_timing, n_feature, 16);
FIELD(tess_clifford_timing, forward_s, 24);
FIELD(tess_clifford_timing, forward_backward_s, 32);
FIELD(tess_clifford_timing, separate_forward_s, 40);
FIELD(tess_clifford_timing, separate_forward_backward_s, 48);
FIELD(tess_clifford_timing, memory_bytes, 56);
FIELD(tess_clifford_timing, separate_memory_bytes, 64);
FIELD(tess_clifford_timing, forward_bytes, 72);
FIELD(tess_clifford_timing, forward_backward_bytes, 80);
FIELD(tess_clifford_timing, forward_flops, 88);
FIELD(tess_clifford_timing, forward_backward_flops, 96);

// tessera/sys/clifford_check.h
SIZE(tess_clifford_finding, 96);
FIELD(tess_clifford_finding, name, 0);
FIELD(tess_clifford_finding, dtype, 64);
FIELD(tess_clifford_finding, error, 72);
FIELD(tess_clifford_finding, allowed, 80);
FIELD(tess_clifford_finding, is_control, 88);
FIELD(tess_clifford_finding, passed, 92);
SIZE(tess_clifford_check_config, 32);
FIELD(tess_clifford_check_config, struct_size, 0);
FIELD(tess_clifford_check_config, reserved, 4);
FIELD(tess_clifford_check_config, n_row, 8);
FIELD(tess_clifford_check_config, n_feature, 16);
FIELD(tess_clifford_check_config, seed, 24);
