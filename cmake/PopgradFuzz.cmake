# Target `popgrad_fuzz`: the readers of files under libFuzzer and the sanitizers, by Clang. Only what
# they need is compiled, so the build takes a minute.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  message(FATAL_ERROR "POPGRAD_FUZZ needs Clang for libFuzzer: cmake -DCMAKE_CXX_COMPILER=clang++")
endif()
add_executable(popgrad_fuzz tests/fuzz/readers.cpp src/error.cpp src/json.cpp src/number_field.cpp
  src/number_text.cpp src/parameters.cpp src/record.cpp src/scalar_double.cpp src/scalar_rational.cpp src/scalar_real.cpp
  src/scalar_interval.cpp src/scalar_expression.cpp src/expression_text.cpp
  src/io/atomic_file.cpp src/io/config_file.cpp src/file_bytes.cpp src/io/fingerprint.cpp
  src/io/given_files.cpp src/io/input_files.cpp src/io/npz.cpp src/io/row_formula.cpp src/io/table.cpp
  src/memory.cpp src/stop.cpp
  src/scan_snap/corpus.cpp src/topic/document_reader.cpp)
target_include_directories(popgrad_fuzz PRIVATE include src)
target_precompile_headers(popgrad_fuzz PRIVATE <precompiled.hpp>)
target_compile_options(popgrad_fuzz PRIVATE -g -O1 -fno-omit-frame-pointer
  -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
target_link_options(popgrad_fuzz PRIVATE -fsanitize=fuzzer,address,undefined)
target_link_libraries(popgrad_fuzz PRIVATE Eigen3::Eigen Boost::headers nlohmann_json::nlohmann_json
  popgrad_ginac popgrad_mp popgrad_csv popgrad_zip popgrad_toml fmt::fmt
  OpenMP::OpenMP_CXX)
