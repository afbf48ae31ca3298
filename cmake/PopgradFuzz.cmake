# Target `popgrad_fuzz`: the readers of files under libFuzzer and the sanitizers, by Clang. Only what
# they need is compiled, so the build takes a minute.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  message(FATAL_ERROR "POPGRAD_FUZZ needs Clang for libFuzzer: cmake -DCMAKE_CXX_COMPILER=clang++")
endif()
file(GLOB formula_readers CONFIGURE_DEPENDS src/formulas/*.cpp)
list(FILTER formula_readers EXCLUDE REGEX "evaluate_(dual|rational|real)|batch")
add_executable(popgrad_fuzz tests/fuzz/readers.cpp src/base/error.cpp src/base/json.cpp src/base/number_field.cpp
  src/scalars/number_text.cpp src/rungs/parameters.cpp src/base/record.cpp src/scalars/scalar_double.cpp src/scalars/scalar_rational.cpp src/scalars/scalar_real.cpp
  src/scalars/scalar_interval.cpp src/scalars/scalar_expression.cpp src/scalars/expression_text.cpp src/scalars/latex_name.cpp src/scalars/linear_algebra.cpp
  src/io/atomic_file.cpp src/io/config_file.cpp src/io/toml_tree.cpp src/io/event_file.cpp src/base/file_bytes.cpp src/io/fingerprint.cpp
  src/io/input_files.cpp src/io/npz.cpp src/io/recorded_run.cpp src/judging/recorded_run.cpp src/io/row_formula.cpp src/io/table.cpp src/theory_files/entry_reader.cpp src/theory_files/statement_text.cpp src/theory_files/theory_file.cpp
  src/base/memory.cpp src/base/stop.cpp ${formula_readers} ${theory_readers})
target_include_directories(popgrad_fuzz PRIVATE include src ${PROJECT_SOURCE_DIR})
target_precompile_headers(popgrad_fuzz PRIVATE <precompiled.hpp>)
target_compile_options(popgrad_fuzz PRIVATE -g -O1 -fno-omit-frame-pointer
  -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
target_link_options(popgrad_fuzz PRIVATE -fsanitize=fuzzer,address,undefined)
target_link_libraries(popgrad_fuzz PRIVATE Eigen3::Eigen Boost::headers nlohmann_json::nlohmann_json
  popgrad_ginac popgrad_mp popgrad_csv popgrad_zip popgrad_toml fmt::fmt
  OpenMP::OpenMP_CXX)
