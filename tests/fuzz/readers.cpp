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

#include "formulas/elaborate.hpp"
#include "formulas/print.hpp"
#include "formulas/written.hpp"
#include "io/config_file.hpp"
#include "io/input_files.hpp"
#include "io/recorded_run.hpp"
#include "io/row_formula.hpp"
#include "io/table.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/rungs/parameters.hpp"
#include "tests/event_record.hpp"
#include "theorems/scan_snap/rungs/corpus.hpp"
#include "theorems/topic/rungs/training.hpp"
#include "theory_files/theory_file.hpp"

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

// Every column that the reader lets through, as numbers and as labels.
void read_columns(Table table) {
  table.load_all();
  for (std::size_t c = 0; c < table.names.size(); ++c) {
    static_cast<void>(table.labels(c));
    try {
      static_cast<void>(table.numbers({c}));
    } catch (const InputError&) {
    }
  }
}

// As runs, in a layout that the size of the input draws.
void read_runs(std::string_view text) {
  constexpr Restarts restarts[]{Restarts::refuse, Restarts::keep_last, Restarts::keep_first,
                                Restarts::new_run};
  const std::size_t draw = text.size();
  RecordedLayout layout;
  layout.restarts = restarts[draw % 4];
  layout.runs_in_columns = draw / 4 % 2 == 1;
  layout.clock = draw / 8 % 2 == 0 ? "`step`" : "lr*step";
  if (draw / 16 % 2 == 1) layout.group = {"run"};
  if (draw / 32 % 2 == 1) layout.columns["loss"] = "~.*loss";
  static_cast<void>(read_recorded_runs({as_file(text, ".csv")}, layout, {"loss", "entropy"}));
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

// What is a formula over these arrays is the same one again when it was printed.
void read_array_formula(std::string_view text) {
  using namespace formulas;
  Graph graph;
  const Dimension n{3, "n"}, d{4, "d"};
  const Scope scope{{"n", graph.size("n", n.extent)},
                    {"d", graph.size("d", d.extent)},
                    {"u", graph.variable("u", {d})},
                    {"A", graph.variable("A", {n, d})},
                    {"B", graph.variable("B", {d, n})},
                    {"T", graph.variable("T", {{2, ""}, {1, ""}, n})},
                    {"i", graph.variable("i", {n}, Type::whole)},
                    {"x", graph.variable("x", {})}};
  const Array array = elaborate(syntax::parse(text), graph, scope);
  const Written formula = written(array);
  static_cast<void>(syntax::to_latex(formula.tree, formula.ranks));
  static_cast<void>(syntax::to_cpp(formula.tree, formula.ranks));
  const std::string printed = syntax::to_numpy(formula.tree);
  const Array again = elaborate(syntax::parse(printed), graph, scope);
  // By its text: a slice may be as long in two ways, as with d = n + 1 in u[:n] and u[:d - 1].
  if (entries(again.shape()) != entries(array.shape()) ||
      syntax::to_numpy(written(again).tree) != printed) {
    std::abort();
  }
}

const std::map<std::string, std::function<void(std::string_view)>>& readers() {
  static const std::map<std::string, std::function<void(std::string_view)>> all{
      {"csv",
       [](std::string_view text) { read_columns(parse_csv(std::string(text), "runs.csv")); }},
      {"jsonl", [](std::string_view text) { read_columns(read_table(as_file(text, ".jsonl"))); }},
      {"npz", [](std::string_view text) { read_columns(read_table(as_file(text, ".npz"))); }},
      {"events",
       [](std::string_view text) {
         const std::string records =
             event_record::scalar(1, "loss", 0.5F) + event_record::of(std::string(text));
         read_columns(read_table(as_file(records, ".tfevents")));
       }},
      {"runs", read_runs},
      {"json", read_instance},
      {"formula",
       [](std::string_view text) {
         const std::vector<std::string> columns{"step", "lr", "optim/lr"};
         static_cast<void>(
             RowFormula(text, columns)([](std::size_t c) { return 0.5 + static_cast<double>(c); }));
       }},
      {"array", read_array_formula},
      {"toml",
       [](std::string_view text) { static_cast<void>(parse_config(std::string(text), "a.toml")); }},
      {"theory",
       [](std::string_view text) {
         static_cast<void>(theory_files::parse_theory_file(std::string(text), "a.toml"));
       }},
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
      std::fprintf(stderr,
                   "POPGRAD_FUZZ_READER: one of csv, jsonl, npz, runs, json, formula, array, "
                   "toml, theory, corpus, documents\n");
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
