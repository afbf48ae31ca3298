# The sanitizers bring a malloc of their own.
if(NOT POPGRAD_SANITIZE)
  add_executable(popgrad_allocations ${CMAKE_CURRENT_LIST_DIR}/steps.cpp ${CMAKE_CURRENT_LIST_DIR}/formulas.cpp
                                     ${CMAKE_CURRENT_LIST_DIR}/../bench/allocations.cpp)
  target_include_directories(popgrad_allocations PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR})
  target_link_libraries(popgrad_allocations PRIVATE popgrad_tool Catch2::Catch2 popgrad_warnings)
  target_compile_options(popgrad_allocations PRIVATE -O0)
  popgrad_prefers_library(popgrad_allocations popgrad popgrad_theorems popgrad_tool)
  catch_discover_tests(popgrad_allocations PROPERTIES TIMEOUT 600)
endif()
