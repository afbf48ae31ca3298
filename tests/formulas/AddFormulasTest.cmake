# NumPy has the last word on the values of formulas.
if(POPGRAD_PYTHON)
  add_executable(popgrad_formulas ${CMAKE_CURRENT_LIST_DIR}/formulas.cpp)
  target_include_directories(popgrad_formulas PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(popgrad_formulas PRIVATE popgrad_tool popgrad_warnings)
  target_compile_options(popgrad_formulas PRIVATE -O0)
  popgrad_prefers_library(popgrad_formulas popgrad popgrad_theorems popgrad_tool)
  add_test(NAME formulas COMMAND ${Python_EXECUTABLE} -m pytest -q -rs -p no:cacheprovider ${CMAKE_CURRENT_LIST_DIR})
  set_tests_properties(formulas PROPERTIES TIMEOUT 600 ENVIRONMENT
    "PYTHONDONTWRITEBYTECODE=1;POPGRAD_FORMULAS=$<TARGET_FILE:popgrad_formulas>;POPGRAD_COMPILER=${CMAKE_CXX_COMPILER}")
endif()
