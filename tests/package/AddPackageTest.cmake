# The package as others meet it. A sanitised library asks its users for the same flags: left out.
if(NOT POPGRAD_SANITIZE)
  add_test(NAME package COMMAND ${CMAKE_COMMAND}
    -DSOURCE_DIR=${CMAKE_SOURCE_DIR} -DBUILD_DIR=${CMAKE_BINARY_DIR}
    -DWORK_DIR=${CMAKE_CURRENT_BINARY_DIR}/package -DCOMPILER=${CMAKE_CXX_COMPILER}
    -DGENERATOR=${CMAKE_GENERATOR} -P ${CMAKE_CURRENT_LIST_DIR}/check.cmake)
  set_tests_properties(package PROPERTIES TIMEOUT 600)
endif()
