# What a Debian package wants to be otherwise than an installation. CPack runs it over the folders of the packages.
#
#   CPACK_TEMPORARY_DIRECTORY/COMPONENT/usr/...      (CPACK_PRE_BUILD_SCRIPTS)

# gzip without a name and a time, so that the same tree makes the same package.
function(compress file)
  execute_process(COMMAND gzip -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Every package has its copyright and the changes of its own versions.
function(write_papers package root)
  set(doc ${root}/usr/share/doc/${package})
  file(MAKE_DIRECTORY ${doc})
  configure_file(${CPACK_HCUBE_SOURCE}/cmake/package/copyright ${doc}/copyright COPYONLY)
  file(WRITE ${doc}/changelog "hcube (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Release ${CPACK_PACKAGE_VERSION}; CHANGELOG.md of hcube says what is new.

 -- ${CPACK_PACKAGE_CONTACT}  ${CPACK_HCUBE_DATE}
")
  compress(${doc}/changelog)
  file(CHMOD ${doc}/copyright ${doc}/changelog.gz PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endfunction()

foreach(component ${CPACK_COMPONENTS_ALL})
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component})
  string(TOUPPER ${component} upper)
  write_papers(${CPACK_DEBIAN_${upper}_PACKAGE_NAME} ${root})
  file(GLOB pages ${root}/usr/share/man/man1/*.1)
  foreach(page ${pages})
    compress(${page})
  endforeach()
endforeach()

# The licence is among those that Debian has once for all; zsh looks for completion of packages in a folder of its own.
set(root ${CPACK_TEMPORARY_DIRECTORY}/hcube/usr/share)
file(REMOVE ${root}/doc/hcube/LICENSE)
file(RENAME ${root}/zsh/site-functions ${root}/zsh/vendor-completions)
