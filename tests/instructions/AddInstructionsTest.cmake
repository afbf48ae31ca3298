# Under the sanitizers there are no versions of functions (src/scalars/wide.hpp); POPGRAD_NATIVE asks for such code.
find_program(POPGRAD_OBJDUMP objdump)
if(POPGRAD_OBJDUMP AND NOT POPGRAD_SANITIZE AND NOT POPGRAD_NATIVE
   AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  set(programs $<TARGET_FILE:popgrad_cli>)
  if(POPGRAD_PYTHON)
    list(APPEND programs $<TARGET_FILE:popgrad_python>)
  endif()
  add_test(NAME instructions COMMAND ${CMAKE_CURRENT_LIST_DIR}/check.sh ${programs})
endif()
