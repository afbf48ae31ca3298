# The package as others meet it. A sanitised library asks its users for the same flags: left out.
# The programs are compiled by another compiler than the library, where there is one.
if(NOT POPGRAD_SANITIZE)
  set(other g++)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    set(other clang++)
  endif()
  find_program(POPGRAD_OTHER_COMPILER ${other})
  if(NOT POPGRAD_OTHER_COMPILER)
    set(POPGRAD_OTHER_COMPILER ${CMAKE_CXX_COMPILER})
  endif()
  add_test(NAME package COMMAND ${CMAKE_COMMAND}
    -DSOURCE_DIR=${CMAKE_SOURCE_DIR} -DBUILD_DIR=${CMAKE_BINARY_DIR}
    -DWORK_DIR=${CMAKE_CURRENT_BINARY_DIR}/package -DCOMPILER=${POPGRAD_OTHER_COMPILER}
    -DGENERATOR=${CMAKE_GENERATOR} -P ${CMAKE_CURRENT_LIST_DIR}/check.cmake)
  set(package_python)
  if(POPGRAD_PYTHON)
    set(package_python -DPYTHON=${Python_EXECUTABLE})
  endif()
  add_test(NAME package-debian COMMAND ${CMAKE_COMMAND}
    -DBUILD_DIR=${CMAKE_BINARY_DIR} -DWORK_DIR=${CMAKE_CURRENT_BINARY_DIR}/package-debian
    -DCPACK=${CMAKE_CPACK_COMMAND} ${package_python} -P ${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
  set_tests_properties(package package-debian PROPERTIES TIMEOUT 600 LABELS slow COST 100)
endif()
