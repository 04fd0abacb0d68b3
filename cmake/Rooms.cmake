# A room is a folder of the source tree, a static library, and an include path of its own: `#include "io/read/reader.h"`
# compiles only in rooms that say USES io. The path is a folder in the build tree with one link to the room.

set(HCUBE_WARNINGS -Wall -Wextra -Wconversion -Wshadow -Wpointer-arith -Wvla -Wformat=2)
set(HCUBE_C_WARNINGS -Wstrict-prototypes -Wmissing-prototypes)

# Messages for debugging name source files; where they were built is no news.
set(HCUBE_PREFIX_MAPS
  -ffile-prefix-map=${CMAKE_BINARY_DIR}/= -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)

function(hc_compile_flags TARGET)
  target_compile_definitions(${TARGET} PRIVATE _GNU_SOURCE)
  target_compile_options(${TARGET} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:${HCUBE_PREFIX_MAPS}>)
  target_compile_options(${TARGET} PRIVATE
    $<$<COMPILE_LANGUAGE:C,CXX>:${HCUBE_WARNINGS}>
    $<$<COMPILE_LANGUAGE:C>:${HCUBE_C_WARNINGS}>
    $<$<COMPILE_LANGUAGE:C,CXX>:-fno-fast-math -ffp-contract=off>)
  if(HCUBE_WERROR)
    target_compile_options(${TARGET} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-Werror>)
  endif()
  if(HCUBE_SANITIZE)
    target_compile_options(${TARGET} PRIVATE
      $<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined>)
    target_compile_definitions(${TARGET} PRIVATE HC_SANITIZED)
    target_link_options(${TARGET} PRIVATE -fsanitize=address,undefined)
  endif()
  if(HCUBE_SANITIZE_THREADS)
    target_compile_options(${TARGET} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=thread -fno-omit-frame-pointer>)
    target_compile_definitions(${TARGET} PRIVATE HC_SANITIZED)
    target_link_options(${TARGET} PRIVATE -fsanitize=thread)
  endif()
  if(HCUBE_FUZZ)
    set(sanitizers -fsanitize=address,undefined,float-cast-overflow)
    target_compile_options(${TARGET} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:
      ${sanitizers} -fsanitize=fuzzer-no-link -fno-omit-frame-pointer -fno-sanitize-recover=all>)
    target_compile_definitions(${TARGET} PRIVATE HC_SANITIZED)
    target_link_options(${TARGET} PRIVATE ${sanitizers})
  endif()
endfunction()

function(hc_room_link NAME)
  set(dir ${CMAKE_BINARY_DIR}/rooms/${NAME})
  if(NOT EXISTS ${dir}/${NAME})
    file(MAKE_DIRECTORY ${dir})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${NAME} ${dir}/${NAME} SYMBOLIC)
  endif()
endfunction()

# The sources of a room are found in its folders (CMake looks again at each build).
function(hc_room_sources OUT)
  file(GLOB_RECURSE found RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *.c *.cpp)
  list(REMOVE_ITEM found ${ARGN})
  set(${OUT} ${found} PARENT_SCOPE)
endfunction()

# hc_room(NAME [USES room...] [LIBRARIES target...] [EXCEPT file...]): EXCEPT names sources of other targets.
function(hc_room NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ROOM "" "" "EXCEPT;USES;LIBRARIES")
  hc_room_link(${NAME})
  hc_room_sources(sources ${ROOM_EXCEPT})
  add_library(hc_${NAME} STATIC ${sources})
  set_target_properties(hc_${NAME} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(hc_${NAME} PUBLIC ${CMAKE_BINARY_DIR}/rooms/${NAME})
  foreach(used ${ROOM_USES})
    target_link_libraries(hc_${NAME} PUBLIC hc_${used})
  endforeach()
  target_link_libraries(hc_${NAME} PRIVATE ${ROOM_LIBRARIES})
  hc_compile_flags(hc_${NAME})
endfunction()
