# What makes a build fast: library headers parsed once for all targets, and optimisation where it pays.
#
# A target that is compiled like the others takes part by popgrad_use_precompiled(TARGET).
set(popgrad_precompiled ${CMAKE_CURRENT_SOURCE_DIR}/src/precompiled.hpp)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # What ccache asks for to store objects made with precompiled headers; and GCC forgets, in them,
  # that Eigen silences a warning about its own vector types.
  add_compile_options(-fpch-preprocess $<$<COMPILE_LANGUAGE:CXX>:-Wno-ignored-attributes>)
elseif(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # Without the times of the headers two builds of one folder have the same precompiled header, byte by
  # byte, and the second finds its objects in ccache. Ninja knows when a header has changed.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

function(popgrad_use_precompiled target)
  target_precompile_headers(${target} REUSE_FROM popgrad)
endfunction()

# Statements, reports and commands call the library and do little between: optimising them hard costs
# a build more than it brings. The library is compiled with -O2, the loops that it spends its time in
# with -O3 (CMakeLists.txt names them).
set(popgrad_cold $<$<CONFIG:Release>:-O1>)
set(popgrad_warm $<$<CONFIG:Release>:-O2>)
set(popgrad_hot $<$<CONFIG:Release>:-O3>)
