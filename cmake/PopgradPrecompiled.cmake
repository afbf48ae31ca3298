# What makes a build fast: library headers parsed once for all targets, and optimisation where it pays.
set(popgrad_precompiled ${CMAKE_CURRENT_SOURCE_DIR}/src/precompiled.hpp)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # What ccache asks for to store objects made with precompiled headers; and GCC forgets, in them,
  # that Eigen silences a warning about its own vector types.
  add_compile_options(-fpch-preprocess $<$<COMPILE_LANGUAGE:CXX>:-Wno-ignored-attributes>)
elseif(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # Without the times of the headers two builds of one folder have the same precompiled header, byte by
  # byte, and the second finds its objects in ccache. Ninja knows when a header has changed.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  # A pass that looks for calls of OpenMP to join takes a quarter of the time of a source at -O2, and finds none.
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag("-Xclang -mllvm -Xclang -openmp-opt-disable" popgrad_openmp_opt)
  if(popgrad_openmp_opt)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -mllvm -Xclang -openmp-opt-disable>")
  endif()
endif()

# popgrad_outer(TARGET): readers of parameters, tables of rungs, statements, reports and commands call what computes and
# do little between, so they are compiled without optimisation, which takes more than half of the time of a source; a
# check that computes for long by itself is named (`optimised` in the contents.cmake of a theory) and compiled as the
# library is: the library with -O1 and -O2, the loops that it spends its time in with -O3 (CMakeLists.txt names them).
# Under the sanitizers all get less; but their loops check accesses in place, not by calls, which for vectors longer than
# 16 bytes are many times slower.
set(popgrad_outermost -O0)
if(POPGRAD_SANITIZE)
  set(popgrad_cold -O1)
  set(popgrad_warm -O1)
  set(popgrad_hot -O1 -fno-sanitize-address-outline-instrumentation)
else()
  set(popgrad_cold $<$<CONFIG:Release>:-O1>)
  set(popgrad_warm $<$<CONFIG:Release>:-O2>)
  set(popgrad_hot $<$<CONFIG:Release>:-O3>)
endif()
function(popgrad_outer target)
  target_compile_options(${target} PRIVATE ${popgrad_outermost})
  # A precompiled header serves one kind of optimisation.
  if(target STREQUAL popgrad_core)
    target_precompile_headers(${target} PRIVATE <precompiled.hpp>)
  else()
    target_precompile_headers(${target} REUSE_FROM popgrad_core)
  endif()
endfunction()

# popgrad_optimised(TARGET SOURCE ...): objects of an outer library that are compiled as the library is, with its
# precompiled header, which a target has one of.
function(popgrad_optimised target)
  add_library(${target} OBJECT ${ARGN})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE popgrad fmt::fmt popgrad_warnings popgrad_instrumented)
  target_compile_options(${target} PRIVATE ${popgrad_cold})
  target_precompile_headers(${target} REUSE_FROM popgrad_computing)
endfunction()

# popgrad_prefers_library(PROGRAM LIBRARY ...): what headers define is in many objects; the linker takes the first. That of
# the first of these libraries is the optimised one; an installed library says so itself (popgradConfig.cmake.in).
function(popgrad_prefers_library program)
  set(archives)
  foreach(library ${ARGN})
    list(APPEND archives $<TARGET_FILE:${library}>)
  endforeach()
  target_link_options(${program} PRIVATE -Wl,--whole-archive ${archives} -Wl,--no-whole-archive)
endfunction()
