# Library headers are parsed once for targets compiled alike: half of the time of a source otherwise.
set(popgrad_precompiled ${CMAKE_CURRENT_SOURCE_DIR}/src/precompiled.hpp)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # What ccache asks for to store objects made with precompiled headers; and GCC forgets, in them,
  # that Eigen silences a warning about its own vector types.
  add_compile_options(-fpch-preprocess $<$<COMPILE_LANGUAGE:CXX>:-Wno-ignored-attributes>)
endif()
# Statements, reports and commands call the library and do little between: optimising them hard costs
# more than it brings.
set(popgrad_cold $<$<CONFIG:Release>:-O1>)
