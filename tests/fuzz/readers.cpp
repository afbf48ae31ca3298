// The readers of what users bring, under libFuzzer: no input may crash, hang or leak, and what is
// refused is refused in one line. Which reader: the environment variable POPGRAD_FUZZ_READER.

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/config_file.hpp"
#include "io/input_files.hpp"
#include "io/row_formula.hpp"
#include "io/table.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/rungs/parameters.hpp"
#include "theorems/scan_snap/rungs/corpus.hpp"
#include "theorems/topic/rungs/training.hpp"

namespace {

using namespace popgrad;

/// The input as a file, where readers want one.
std::string as_file(std::string_view text, const char* suffix) {
  static const std::string folder = [] {
    std::string name = "/dev/shm/popgrad-fuzz-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    static std::string made = name;
    std::atexit([] { std::filesystem::remove_all(made); });
    return name;
  }();
  const std::string path = folder + "/input" + suffix;
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0 || write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    std::abort();
  }
  close(file);
  begin_reading();  // each input is a command of its own
  return path;
}

void read_instance(std::string_view text) {
  const Parameters p = Parameters::parse("joma", text, "instance.json");
  for (const auto& entry : p.values().entries()) {
    const std::string& name = entry.name;
    // Whatever the reader lets through is asked for in every form.
    const std::function<void()> forms[]{
        [&] { static_cast<void>(p.number<double>(name, "0")); },
        [&] { static_cast<void>(p.count(name, 0, 0, 1000)); },
        [&] { static_cast<void>(p.vector<double>(name)); },
        [&] { static_cast<void>(p.matrix<double>(name)); },
        [&] { static_cast<void>(p.flag(name, false)); },
    };
    for (const auto& form : forms) {
      try {
        form();
      } catch (const InputError&) {
      }
    }
  }
}

const std::map<std::string, std::function<void(std::string_view)>>& readers() {
  static const std::map<std::string, std::function<void(std::string_view)>> all{
      {"csv", [](std::string_view text) { static_cast<void>(parse_csv(text, "runs.csv")); }},
      {"jsonl",
       [](std::string_view text) { static_cast<void>(read_table(as_file(text, ".jsonl"))); }},
      {"npz", [](std::string_view text) { static_cast<void>(read_table(as_file(text, ".npz"))); }},
      {"json", read_instance},
      {"formula",
       [](std::string_view text) {
         const std::vector<std::string> columns{"step", "lr", "optim/lr"};
         try {
           static_cast<void>(RowFormula(
               text, columns)([](std::size_t c) { return 0.5 + static_cast<double>(c); }));
         } catch (const std::invalid_argument& error) {
           throw InputError(error.what());
         }
       }},
      {"toml",
       [](std::string_view text) { static_cast<void>(parse_config(std::string(text), "a.toml")); }},
      {"corpus",
       [](std::string_view text) {
         scan_snap::CorpusRequest request;
         request.file = as_file(text, ".txt");
         request.window = 3;
         static_cast<void>(scan_snap::read_corpus(request));
       }},
      {"documents",
       [](std::string_view text) {
         static_cast<void>(topic::read_documents(as_file(text, ".txt"), 100));
       }},
  };
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto& read = []() -> const std::function<void(std::string_view)>& {
    const char* name = std::getenv("POPGRAD_FUZZ_READER");
    const auto found = readers().find(name == nullptr ? "" : name);
    if (found == readers().end()) {
      std::fprintf(
          stderr,
          "POPGRAD_FUZZ_READER: one of csv, jsonl, npz, json, formula, toml, corpus, documents\n");
      std::exit(2);
    }
    return found->second;
  }();
  try {
    read({reinterpret_cast<const char*>(data), size});
  } catch (const InputError& error) {
    const std::string_view reason = error.what();
    if (reason.empty() || reason.find('\n') != std::string_view::npos) std::abort();
  }
  return 0;
}
