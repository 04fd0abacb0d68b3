# Manual pages and completion scripts of an installation, written by the program itself (cmake --install).
#
#   cmake -DHCUBE=PROGRAM -DFOLDER=FOLDER -P cmake/usage.cmake
#
# FOLDER/man1 then holds hcube.1, hcube-mnf.1, hcube-solve-lp.1 ..., and FOLDER/{bash,zsh,fish} the scripts.

# Words that `hcube complete` offers after these.
function(words_of result)
  execute_process(COMMAND ${HCUBE} complete ${ARGN} "" OUTPUT_VARIABLE shown COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "(^|\n)[a-z0-9]+\t" words "${shown}")
  list(TRANSFORM words STRIP)
  set(${result} ${words} PARENT_SCOPE)
endfunction()

function(print_into file)
  execute_process(COMMAND ${HCUBE} ${ARGN} OUTPUT_FILE ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER}/man1 ${FOLDER}/bash ${FOLDER}/zsh ${FOLDER}/fish)
print_into(${FOLDER}/man1/hcube.1 man)
words_of(names man)
foreach(name ${names})
  print_into(${FOLDER}/man1/hcube-${name}.1 man ${name})
endforeach()
words_of(problems solve)
foreach(name ${problems})
  print_into(${FOLDER}/man1/hcube-solve-${name}.1 man solve ${name})
endforeach()
print_into(${FOLDER}/bash/hcube completion bash)
print_into(${FOLDER}/zsh/_hcube completion zsh)
print_into(${FOLDER}/fish/hcube.fish completion fish)
