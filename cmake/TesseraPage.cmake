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

# The font of pictures, drawn by FreeType when the library is built; where FreeType or the font is
# not there, or nothing can be run, a plain one of dots.
find_file(TESS_FONT DejaVuSans.ttf PATHS /usr/share/fonts PATH_SUFFIXES truetype/dejavu dejavu TTF)
if(PKG_CONFIG_FOUND)
    pkg_check_modules(TESS_FREETYPE QUIET IMPORTED_TARGET freetype2)
endif()
if(TESS_FONT AND TESS_FREETYPE_FOUND AND NOT CMAKE_CROSSCOMPILING)
    add_executable(make_font EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tools/make_font.c)
    target_link_libraries(make_font PRIVATE PkgConfig::TESS_FREETYPE)
    set(table ${PROJECT_BINARY_DIR}/generated/font_table.h)
    add_custom_command(OUTPUT ${table} COMMAND make_font ${TESS_FONT} 16 ${table}
        DEPENDS make_font ${TESS_FONT} VERBATIM)
    add_custom_target(tess_font_table DEPENDS ${table})
    set(tess_page_font page/font_drawn.c)
else()
    message(STATUS "  pictures: plain letters (needs freetype2 and DejaVuSans.ttf for smooth ones)")
    set(tess_page_font page/font_plain.c)
endif()
