# The script and the style of reports as C strings: generated/page_files.c, made again when they
# change. Comment lines, blank lines, indentation and spaces around operators go, so that a page
# carries less; that is why page.js has no text that spans lines, no comment behind code, and in its
# texts no operator, comma or bracket with a space behind it.
function(tess_embed_text file name)
    file(READ ${file} text)
    string(REGEX REPLACE "\n[ ]+" "\n" text "\n${text}")
    string(REGEX REPLACE "\n//[^\n]*" "" text "${text}")
    string(REGEX REPLACE "\n\n+" "\n" text "${text}")
    if(file MATCHES "js$")
        string(REGEX REPLACE "([\n;({ ])const " "\\1let " text "${text}") # shorter, else the same
        string(REGEX REPLACE " ([=+*/<>?:&|!-]+)[ \n]" "\\1" text "${text}")
        string(REGEX REPLACE "([,;:{]) " "\\1" text "${text}")
        string(REGEX REPLACE " ([{}])" "\\1" text "${text}")
        string(REGEX REPLACE "(if|for|const|let|of|return) ([[(])" "\\1\\2" text "${text}")
        string(REGEX REPLACE "\\) (return|[a-qs-z])" ")\\1" text "${text}") # but ") rotate(", a text
        string(REGEX REPLACE "([^])a-z'`])\n" "\\1" text "${text}")
    endif()
    file(WRITE ${PROJECT_BINARY_DIR}/generated/${name}.txt "${text}")
    file(READ ${PROJECT_BINARY_DIR}/generated/${name}.txt hex HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
    set(tess_page_${name} "${bytes}0" PARENT_SCOPE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
endfunction()

tess_embed_text(${PROJECT_SOURCE_DIR}/src/page/page.css style)
tess_embed_text(${PROJECT_SOURCE_DIR}/src/page/page.js script)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/page_files.c @ONLY CONTENT
[[#include "page/html_parts.h"
const char tess_page_style[] = {
@tess_page_style@};
const char tess_page_script[] = {
@tess_page_script@};
]])
