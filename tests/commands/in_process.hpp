#pragma once
/// Commands as functions of the test, with their statuses and errors as the program has them: many calls
/// take no time, and a signal ends the test.

#include <catch2/catch.hpp>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "commands/commands.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/shell.hpp"
#include "popgrad/evidence/theories.hpp"

namespace in_process {

using Words = std::vector<std::string>;

struct Answer {
  int status = 0;
  std::string error;   // thrown
  std::string output;  // standard output and standard error together
  int asked = 0;       // how often the command asked whether to stop
};

// Interrupted when it asks for the time after these; negative: never.
inline Answer call(const Words& words, int interrupted_after = -1) {
  using namespace popgrad;
  char* bytes = nullptr;
  std::size_t size = 0;
  std::FILE* const kept = ::open_memstream(&bytes, &size);
  Answer answer;
  cli::Host host;
  host.output = host.errors = kept;
  host.interrupted = [&] {
    ++answer.asked;
    return interrupted_after >= 0 && answer.asked > interrupted_after;
  };
  try {
    answer.status = cli::carry_out({words, theories(), "popgrad", &host});
  } catch (const std::invalid_argument& error) {
    answer.status = cli::bad_input;
    answer.error = error.what();
  } catch (const cli::UsageError& error) {
    answer.status = cli::bad_input;
    answer.error = error.what();
  } catch (const std::exception& error) {
    answer.status = cli::numerical_failure;
    answer.error = error.what();
  }
  std::fclose(kept);
  answer.output.assign(bytes, size);
  std::free(bytes);
  return answer;
}

using command_line::Folder;

inline void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace in_process
