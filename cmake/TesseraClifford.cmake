# The product tables of the algebras that have kernels of their own, generated when configuring:
# ${tess_clifford_generated}/clifford/*.def and algebras.h.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
get_filename_component(tess_clifford_script ${CMAKE_CURRENT_LIST_DIR}/../tools/clifford_tables.py ABSOLUTE)
set(tess_clifford_generated ${PROJECT_BINARY_DIR}/generated)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${tess_clifford_script})
execute_process(
    COMMAND ${Python3_EXECUTABLE} ${tess_clifford_script} ${tess_clifford_generated}/clifford
    COMMAND_ERROR_IS_FATAL ANY)
