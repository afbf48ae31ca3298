# Libraries, all of them Debian 12 packages; ./run lists the package names.
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(Boost 1.74 REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(OpenMP REQUIRED)
find_package(PkgConfig REQUIRED)

# Header only, for one source: Debian's CMake files link the compiled library.
find_path(TOML_INCLUDE toml++/toml.h REQUIRED)
add_library(popgrad_toml INTERFACE)
target_include_directories(popgrad_toml SYSTEM INTERFACE $<BUILD_INTERFACE:${TOML_INCLUDE}>)

# Compilers have OpenMP runtimes of their own. An installed library names the one it was compiled for,
# so that programs by another compiler can use it.
add_library(popgrad_openmp INTERFACE)
target_link_libraries(popgrad_openmp INTERFACE $<BUILD_INTERFACE:OpenMP::OpenMP_CXX>
                                               "$<INSTALL_INTERFACE:${OpenMP_CXX_LIBRARIES}>")

# Debian's CMake files of libzip ask for its command-line tools, in packages of their own. The
# package of libzip brings zlib.
pkg_check_modules(LIBZIP REQUIRED libzip zlib)
add_library(popgrad_zip INTERFACE)
target_include_directories(popgrad_zip SYSTEM INTERFACE $<BUILD_INTERFACE:${LIBZIP_INCLUDE_DIRS}>)
target_link_libraries(popgrad_zip INTERFACE ${LIBZIP_LIBRARIES})

pkg_check_modules(GINAC REQUIRED ginac)
add_library(popgrad_ginac INTERFACE)
target_link_libraries(popgrad_ginac INTERFACE ${GINAC_LIBRARIES})

# GMP, MPFR and MPFI: number types behind Boost.Multiprecision.
add_library(popgrad_mp INTERFACE)
target_link_libraries(popgrad_mp INTERFACE mpfi mpfr gmp)

find_library(CSV_LIBRARY csv REQUIRED)
add_library(popgrad_csv INTERFACE)
target_link_libraries(popgrad_csv INTERFACE ${CSV_LIBRARY})

# Debian's CMake files of NLopt name its C library; the C++ one lies beside it.
find_path(NLOPT_INCLUDE nlopt.hpp REQUIRED)
find_library(NLOPT_CXX_LIBRARY nlopt_cxx REQUIRED)
add_library(popgrad_nlopt INTERFACE)
target_include_directories(popgrad_nlopt INTERFACE $<BUILD_INTERFACE:${NLOPT_INCLUDE}>)
target_link_libraries(popgrad_nlopt INTERFACE ${NLOPT_CXX_LIBRARY})

# For the one source that needs them (MPI_CXX_INCLUDE_DIRS), so that nothing else is compiled anew.
add_library(popgrad_mpi INTERFACE)
if(POPGRAD_MPI)
  find_package(MPI COMPONENTS CXX)
  find_package(Boost 1.74 COMPONENTS mpi serialization)
  if(NOT MPI_FOUND OR NOT Boost_FOUND)
    message(FATAL_ERROR "POPGRAD_MPI needs Boost.MPI: apt-get install libboost-mpi-dev openmpi-bin")
  endif()
  foreach(library mpi serialization)
    get_target_property(file Boost::${library} LOCATION)
    target_link_libraries(popgrad_mpi INTERFACE ${file})
  endforeach()
  target_link_libraries(popgrad_mpi INTERFACE ${MPI_CXX_LIBRARIES})
endif()
