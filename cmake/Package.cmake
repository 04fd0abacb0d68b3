# Packages by CPack (scripts/package): hcube, and one for each module that was built.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hcube)
set(CPACK_PACKAGE_VENDOR hcube)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # the first line of each description below
set(CPACK_PACKAGE_CONTACT "hcube maintainers <maintainers@users.noreply.a-seed-1bf36f38.example>"
  CACHE STRING "maintainer of the packages")
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_ALL hcube python3)
foreach(module gpu mpi)
  if(TARGET hcube_${module})
    list(APPEND CPACK_COMPONENTS_ALL ${module})
  endif()
endforeach()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_HCUBE_PACKAGE_NAME hcube)
set(CPACK_DEBIAN_GPU_PACKAGE_NAME hcube-gpu)
set(CPACK_DEBIAN_MPI_PACKAGE_NAME hcube-mpi)
set(CPACK_DEBIAN_PYTHON3_PACKAGE_NAME python3-hcube)
set(CPACK_DEBIAN_PYTHON3_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON3_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON3_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON3_PACKAGE_DEPENDS "python3, python3-numpy, hcube (>= ${PROJECT_VERSION})")
# Python's compiled files belong to no package: made when it is installed, removed with it.
set(CPACK_DEBIAN_PYTHON3_PACKAGE_CONTROL_EXTRA
  ${CMAKE_SOURCE_DIR}/cmake/package/python3/postinst ${CMAKE_SOURCE_DIR}/cmake/package/python3/prerm)
# A module is of one version and of no other.
set(CPACK_DEBIAN_GPU_PACKAGE_DEPENDS "hcube (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "hcube (= ${PROJECT_VERSION})")
# Of the builds of OpenBLAS, that with OpenMP starts no threads when it is loaded. Figures need a font.
set(CPACK_DEBIAN_HCUBE_PACKAGE_RECOMMENDS "libopenblas0-openmp, fonts-dejavu-core")
set(CPACK_DEBIAN_GPU_PACKAGE_SUGGESTS libcuda1)
set(CPACK_DEBIAN_HCUBE_PACKAGE_SUGGESTS "hcube-gpu, hcube-mpi, python3-hcube")
set(CPACK_DEBIAN_HCUBE_DESCRIPTION "hyperspectral scenes from the command line
hcube reads a hyperspectral scene, sends it through a chain of stages, and
writes reduced rasters, pictures and a record of what was done: noise-adjusted
components, noise removal, classes, abundances, anomalies and targets.
Scenes may be larger than memory. Georeferencing and metadata are kept.")
set(gpus "from compute capability 7.5
on")
if(DEFINED CMAKE_CUDA_ARCHITECTURES) # of the cache: CUDAARCHS of scripts/package
  string(REPLACE ";" ", " gpus "of ${CMAKE_CUDA_ARCHITECTURES}
alone")
endif()
set(CPACK_DEBIAN_GPU_DESCRIPTION "hyperspectral scenes from the command line - NVIDIA GPUs
The module by which hcube computes on NVIDIA GPUs ${gpus}.
It holds what it needs of the CUDA runtime. The driver of NVIDIA (libcuda.so.1)
is looked for when it runs; without it hcube computes on the CPU.")
set(CPACK_DEBIAN_MPI_DESCRIPTION "hyperspectral scenes from the command line - MPI
The module by which processes of hcube that mpirun or srun started share one
scene or the scenes of a batch.")
set(CPACK_DEBIAN_PYTHON3_DESCRIPTION "hyperspectral scenes from the command line - Python
The package hcube for Python: it runs chains and commands of hcube, yields
their progress, and reads models, statistics, records, spectral libraries and
ENVI rasters as NumPy arrays and dicts.")

# The date of the packages is that of the last commit, where there is one.
execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} log -1 --format=%cD OUTPUT_VARIABLE CPACK_HCUBE_DATE
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT CPACK_HCUBE_DATE)
  set(CPACK_HCUBE_DATE "Thu, 01 Jan 1970 00:00:00 +0000")
endif()
set(CPACK_HCUBE_SOURCE ${CMAKE_SOURCE_DIR})
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/package/deb.cmake)
include(CPack)
