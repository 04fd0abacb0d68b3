# The plug-in for QGIS as the zip that its repository and "Install from ZIP" take.
#
#   cmake -DFILE=hcube_provider.zip [-DREPOSITORY=https://...] -P cmake/qgis_plugin.cmake
#
# One folder, hcube_provider, with the sources of qgis/hcube_provider, metadata.txt and the license. REPOSITORY: where
# the sources are published, which the plug-in repository of QGIS demands; "Install from ZIP" does without.

if(REPOSITORY AND NOT REPOSITORY MATCHES "^https://[^ /]+/[^ ]+$")
  message(FATAL_ERROR "REPOSITORY=${REPOSITORY}: no address https://HOST/PATH")
endif()
set(root ${CMAKE_CURRENT_LIST_DIR}/..)
get_filename_component(file ${FILE} ABSOLUTE)
set(folder ${file}.folder)
file(REMOVE_RECURSE ${folder})
file(COPY ${root}/qgis/hcube_provider DESTINATION ${folder} PATTERN __pycache__ EXCLUDE PATTERN ".*" EXCLUDE)
file(COPY ${root}/LICENSE DESTINATION ${folder}/hcube_provider)
if(REPOSITORY)
  file(APPEND ${folder}/hcube_provider/metadata.txt
    "homepage=${REPOSITORY}\nrepository=${REPOSITORY}\ntracker=${REPOSITORY}/issues\n")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E tar cf ${file} --format=zip hcube_provider
  WORKING_DIRECTORY ${folder} COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE_RECURSE ${folder})
