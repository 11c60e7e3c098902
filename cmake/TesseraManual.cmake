# Manual pages, printed by the command itself when it is installed: what cannot run here has none.
# Used as a script too: cmake -DTESSERA_COMMAND=... -DTESSERA_MANUAL_DIR=... -P TesseraManual.cmake

if(CMAKE_SCRIPT_MODE_FILE)
    file(REMOVE_RECURSE ${TESSERA_MANUAL_DIR})
    file(MAKE_DIRECTORY ${TESSERA_MANUAL_DIR})
    execute_process(COMMAND ${TESSERA_COMMAND} help --json
                    OUTPUT_VARIABLE table RESULT_VARIABLE failed)
    if(failed)
        message(WARNING "tessera help --json failed: no manual pages installed")
        return()
    endif()
    execute_process(COMMAND ${TESSERA_COMMAND} help --man
                    OUTPUT_FILE ${TESSERA_MANUAL_DIR}/tessera.1 COMMAND_ERROR_IS_FATAL ANY)
    string(JSON n_command LENGTH ${table} commands)
    math(EXPR last "${n_command} - 1")
    foreach(i RANGE ${last})
        string(JSON name GET ${table} commands ${i} name)
        string(JSON is_present GET ${table} commands ${i} is_present)
        if(is_present)
            string(REPLACE " " "-" page ${name})
            string(REPLACE " " ";" words ${name})
            execute_process(COMMAND ${TESSERA_COMMAND} help --man ${words}
                            OUTPUT_FILE ${TESSERA_MANUAL_DIR}/tessera-${page}.1
                            COMMAND_ERROR_IS_FATAL ANY)
        endif()
    endforeach()
    return()
endif()

set(TESSERA_MANUAL_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

# Installs the pages into <destination>/man1; what follows goes to install(), such as COMPONENT.
function(tessera_install_manual destination)
    if(NOT TARGET tessera_cli OR CMAKE_CROSSCOMPILING)
        return()
    endif()
    set(folder ${PROJECT_BINARY_DIR}/generated/man1)
    install(CODE "
        execute_process(COMMAND \"${CMAKE_COMMAND}\"
                        \"-DTESSERA_COMMAND=$<TARGET_FILE:tessera_cli>\"
                        \"-DTESSERA_MANUAL_DIR=${folder}\" -P \"${TESSERA_MANUAL_SCRIPT}\")"
            ${ARGN})
    install(DIRECTORY ${folder} DESTINATION ${destination} ${ARGN} OPTIONAL)
endfunction()
