# Warnings are errors in our own code; library headers come in as system headers.
add_library(popgrad_warnings INTERFACE)
target_compile_options(popgrad_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 reports these inside Boost and Eigen templates at -O2 and above, without a fault in them.
  target_compile_options(popgrad_warnings INTERFACE
    -Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
    -Wno-restrict)
else()
  # Loops marked for vectors are written for the optimiser of a release; at -O1 it leaves them.
  target_compile_options(popgrad_warnings INTERFACE -Wno-pass-failed)
endif()
if(POPGRAD_NATIVE)
  add_compile_options(-march=native)
endif()
# What the sanitizers watch: the library and the tool. Tests are compiled without them.
add_library(popgrad_instrumented INTERFACE)
if(POPGRAD_SANITIZE)
  target_compile_definitions(popgrad_instrumented INTERFACE _GLIBCXX_ASSERTIONS)
  # What these three look for, the address sanitizer stops at as well (or x86 allows it); at every
  # access they cost more than a third of the build. The list leaves out the arithmetic of library
  # headers, another tenth. A call in place of the code of each check is another quarter.
  target_compile_options(popgrad_instrumented INTERFACE
    -fsanitize=address,undefined -fno-sanitize=null,alignment,object-size
    -fsanitize-ignorelist=${CMAKE_CURRENT_LIST_DIR}/sanitize-ignore.txt -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer -UNDEBUG -g1 -fsanitize-address-outline-instrumentation)
  add_link_options(-fsanitize=address,undefined)
  # What libFuzzer is guided by. Its own option is refused with the precompiled header of sources that are not counted.
  set(popgrad_counted -fsanitize-coverage=inline-8bit-counters,indirect-calls,trace-cmp,pc-table)
endif()
