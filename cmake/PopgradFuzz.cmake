# Target `popgrad_fuzz` of a build under the sanitizers: the readers of files under libFuzzer, by Clang. It links the library
# of the sanitized tests, whose readers count which branches an input takes (POPGRAD_SANITIZE in CMakeLists.txt).
add_executable(popgrad_fuzz EXCLUDE_FROM_ALL tests/fuzz/readers.cpp)
target_link_libraries(popgrad_fuzz PRIVATE popgrad_tool popgrad_warnings popgrad_instrumented)
target_compile_options(popgrad_fuzz PRIVATE ${popgrad_counted})
target_link_options(popgrad_fuzz PRIVATE -fsanitize=fuzzer)
popgrad_outer(popgrad_fuzz)
popgrad_prefers_library(popgrad_fuzz popgrad popgrad_theorems popgrad_tool)
