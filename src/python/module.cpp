// The part of the Python module that is compiled: commands as functions, with their results as arrays.
//
// Everything else of the module is Python (popgrad/): it puts words together and gives results their
// methods. A call takes the way of the command line, so options, their checks, texts and judgements
// are the same, and there is one of each.

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "commands/commands.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "io/given_files.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/failure.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/theories.hpp"
#include "python/arrays.hpp"
#include "python/calling.hpp"
#include "python/observer.hpp"

namespace popgrad::python {
namespace {

GivenFiles files_of(const std::map<std::string, std::string>& texts,
                    const std::map<std::string, std::map<std::string, Array>>& tables) {
  GivenFiles files;
  files.texts = {texts.begin(), texts.end()};
  for (const auto& [file, columns] : tables) {
    Table table;
    for (const auto& [name, numbers] : columns) {
      if (numbers.ndim() != 1 ||
          (!table.columns.empty() && static_cast<std::size_t>(numbers.size()) != table.rows())) {
        reject(file, "column", name,
               "must have one dimension and as many numbers as the other columns");
      }
      table.names.push_back(name);
      table.columns.emplace_back(numbers.data(), numbers.data() + numbers.size());
    }
    if (table.rows() == 0) throw InputError(fmt::format("{}: holds no rows", file));
    files.tables.emplace(file, std::move(table));
  }
  return files;
}

// Runs `work` as commands are run; its status, or in `error` what went wrong.
template <class Work>
int guarded(py::dict& answer, const Work& work) {
  const auto failed = [&](const char* kind, const std::string& text) {
    const py::gil_scoped_acquire lock;
    answer["kind"] = kind;
    answer["error"] = text;
  };
  try {
    return work();
  } catch (const cli::UsageError& error) {
    failed("input", error.what());
    return cli::bad_input;
  } catch (const std::invalid_argument& error) {
    failed("input", error.what());
    return cli::bad_input;
  } catch (const Stopped&) {
    // `interrupted` says so.
  } catch (const std::bad_alloc&) {
    failed("memory", "popgrad: not enough memory for this size; lower it");
  } catch (const std::exception& error) {
    failed("numerical", fmt::format("popgrad: {}", words_of(error)));
  }
  return cli::numerical_failure;
}

py::dict call(const std::vector<std::string>& words,
              const std::map<std::string, std::string>& texts,
              const std::map<std::string, std::map<std::string, Array>>& tables,
              const py::object& progress, bool main_thread) {
  const auto turn = take_turn();
  py::dict answer;
  Text output, notes;
  cli::Results results;
  Reporter reporter(progress);
  cli::Host host;
  host.output = output.stream();
  host.errors = notes.stream();
  // Without a callback nothing is told: a bar on standard error is for terminals.
  host.progress = [&, silent = progress.is_none()](double share, const std::string& what,
                                                   const std::string& doing) {
    if (!silent) reporter(share, what, doing);
  };
  host.interrupted = [] { return asked_to_stop.load(); };
  const SignalWatch signals(main_thread);
  int status = guarded(answer, [&] {
    host.files = files_of(texts, tables);
    const py::gil_scoped_release without_lock;
    return cli::carry_out({words, theories(), "popgrad", &host, &results});
  });
  answer["status"] = status;
  answer["output"] = output.text();
  answer["notes"] = notes.text();
  answer["failure"] = std::move(results.failure);
  answer["document"] = std::move(results.document);
  answer["table"] = std::move(results.table);
  answer["run"] = py::none();
  if (results.run) answer["run"] = as_dict(std::move(*results.run));
  answer["digits"] = results.run_in_digits.has_value();
  if (results.run_in_digits) {
    const auto* const digits = results.run_in_digits->settings.find("digits")->as<std::int64_t>();
    const DigitsScope scope(static_cast<unsigned>(*digits));
    answer["run"] = as_dict(*results.run_in_digits);
  }
  const auto grid = [](std::vector<double> numbers) {
    const auto n = static_cast<py::ssize_t>(numbers.size());
    return array_of(std::move(numbers), {n});
  };
  answer["title"] = std::move(results.title);
  answer["xs"] = grid(std::move(results.xs));
  answer["ys"] = grid(std::move(results.ys));
  answer["values"] = grid(std::move(results.values));
  answer["interrupted"] = asked_to_stop.load();
  answer["exception"] = reporter.exception();
  return answer;
}

// What Python makes of a SIGINT that stopped a command: the exception of its handler, or None.
py::object pending_interrupt() {
  PyErr_SetInterrupt();
  if (PyErr_CheckSignals() == 0) return py::none();
  const py::error_already_set raised;
  return py::object(raised.value());
}

// Threads that spin at barriers take the cores of the other threads of Python; see src/commands/program.cpp.
void wait_briefly_at_barriers() {
  for (const char* choice : {"KMP_BLOCKTIME", "OMP_WAIT_POLICY"}) {
    if (std::getenv(choice) != nullptr) return;
  }
  ::setenv("KMP_BLOCKTIME", "0", 0);
}

}  // namespace
}  // namespace popgrad::python

PYBIND11_MODULE(_popgrad, module) {
  using namespace popgrad::python;
  wait_briefly_at_barriers();
  module.doc() = "Commands of popgrad as functions; used by the package popgrad.";
  module.attr("__version__") = POPGRAD_VERSION;
  module.def("call", &call, py::arg("words"), py::arg("texts"), py::arg("tables"),
             py::arg("progress"), py::arg("main_thread"));
  module.def("pending_interrupt", &pending_interrupt);
  py::class_<Observer>(module, "Observer")
      .def(py::init<const std::string&, std::string, const std::string&, std::uint64_t,
                    const std::map<std::string, std::string>&>(),
           py::arg("model"), py::arg("rung"), py::arg("instance"), py::arg("seed"),
           py::arg("texts"))
      .def_property_readonly("columns", &Observer::columns)
      .def("observe", &Observer::observe, py::arg("state"), py::arg("t"));
}
