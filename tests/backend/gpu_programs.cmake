# Programs that check the kernels of clifford by themselves, with the objects of the CUDA module:
# target gpu_programs, not in all. ./dev gpu runs them.

# gpu_program(NAME PATTERN SOURCE...): of the module what matches PATTERN, and its level of kernels.
function(gpu_program name pattern)
    set(objects $<TARGET_OBJECTS:tess_backend_cuda>)
    add_executable(${name} EXCLUDE_FROM_ALL ${ARGN}
        "$<FILTER:${objects},INCLUDE,/clifford/(${pattern})|/level\\.cu>")
    target_include_directories(${name} PRIVATE ${tree}/include ${tree}/src
        ${CMAKE_CURRENT_SOURCE_DIR} ${tess_clifford_generated})
    target_compile_features(${name} PRIVATE cuda_std_17)
    target_compile_options(${name} PRIVATE --fmad=false --ftz=false --diag-suppress=177
        $<$<BOOL:${TESSERA_WERROR}>:-Werror=all-warnings>)
    set_target_properties(${name} PROPERTIES CUDA_RUNTIME_LIBRARY Static CUDA_EXTENSIONS OFF)
    add_dependencies(gpu_programs ${name})
endfunction()

include(${tree}/cmake/TesseraClifford.cmake)
add_custom_target(gpu_programs)
gpu_program(gpu_clifford_sgp "sgp/|common/" gpu_clifford_sgp.cu gpu_clifford_sgp_bench.cu
            gpu_clifford_sgp_device.cu)
gpu_program(gpu_clifford_fcgp "fcgp/|common/boxes" gpu_clifford_fcgp.cu gpu_clifford_fcgp_parts.cu)
gpu_program(gpu_clifford_linear "linear/linear_tile" gpu_clifford_linear.cu)
gpu_program(gpu_clifford_graph "none" gpu_clifford_graph.cu)
gpu_program(gpu_clifford_maps "maps/maps_" gpu_clifford_maps.cu)
gpu_program(gpu_clifford_layer "layer/layer_cl" gpu_clifford_layer.cu)
