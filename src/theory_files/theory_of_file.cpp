// Models of files, with mistakes of formulas at their places.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "learning/entry_error.hpp"
#include "learning/loss_rung.hpp"
#include "theory_files/file_landscape.hpp"
#include "theory_files/file_statements.hpp"
#include "theory_files/residual_statements.hpp"
#include "theory_files/theory_file.hpp"
#include "theory_files/training_script.hpp"
#include "theory_files/written_theory.hpp"

namespace popgrad::theory_files {
namespace theory_of_file_cpp {
namespace {

bool needs_samples(const SampleLoss& loss) {
  if (loss.loss.empty()) return false;
  learning::LossArrays arrays(loss, Parameters(loss.name));
  try {
    const learning::ExpectedLoss expected(arrays, loss);
    return false;
  } catch (const learning::EntryError&) {
    return true;
  }
}

}  // namespace
}  // namespace theory_of_file_cpp

InputError located(const TheoryFile& file, const InputError& error) {
  const auto* within = dynamic_cast<const learning::EntryError*>(&error);
  if (within == nullptr) {
    // Of a value outside its range: "NAME: VALUE must be ...".
    const std::string text = error.what();
    const std::size_t colon = std::min(text.find(": "), text.size());
    const auto named = file.places.find("parameter " + text.substr(0, colon));
    if (named == file.places.end()) return InputError(fmt::format("{}: {}", file.file, text));
    const PlacedFormula& placed = named->second;
    const TextPlace at = placed.node.place;
    return InputError(fmt::format("{}:{}:{}: {}: {}", file.file, at.line, at.column, placed.entry,
                                  text.substr(colon + 2)));
  }
  // The longest name that is the entry, or the beginning of it.
  std::string name = within->entry();
  while (!name.empty() && !file.places.contains(name)) {
    const std::size_t space = name.rfind(' ');
    name.resize(space == std::string::npos ? 0 : space);
  }
  if (name.empty())
    return InputError(fmt::format("{}: {}: {}", file.file, within->entry(), within->reason()));
  const PlacedFormula& placed = file.places.at(name);
  TextPlace at = placed.node.place;
  if (within->place()) at = placed.node.place_in({within->place()->line, within->place()->column});
  return InputError(fmt::format("{}:{}:{}: {}: {}", placed.file.empty() ? file.file : placed.file,
                                at.line, at.column, placed.entry, within->reason()));
}

void complete(TheoryFile& file) {
  try {
    if (!file.gives_samples && theory_of_file_cpp::needs_samples(file.loss))
      file.loss.samples = usual_samples;
  } catch (const InputError& error) {
    throw located(file, error);
  }
}

Theory theory_of(TheoryFile& file, bool with_statements) {
  complete(file);
  Theory theory;
  try {
    theory.model = model_of_loss(file.loss);
  } catch (const InputError& error) {
    throw located(file, error);
  }
  for (const FileLandscape& landscape : file.landscapes) {
    try {
      theory.landscapes.push_back(landscape_of(file, landscape));
    } catch (const InputError& error) {
      TheoryFile own = file;
      for (const NamedFormula& set : landscape.set) {
        own.places.insert_or_assign(
            "state " + set.name,
            file.places.at(fmt::format("landscape {} {}", landscape.name, set.name)));
      }
      throw located(own, error);
    }
  }
  try {
    if (with_statements) {
      theory.statements = statements_of(file);
      if (file.about.empty()) {
        for (Statement& own : residual_statements(file.loss))
          theory.statements.push_back(std::move(own));
      }
    }
    check_theories({&theory, 1});
  } catch (const InputError& error) {
    throw located(file, error);
  }
  theory.file = file.about.empty() ? file.file : file.about;
  theory.written = [loss = file.loss](const std::string& rung, const Parameters& p,
                                      Notation notation) {
    return equations_of(loss, rung, p, notation);
  };
  theory.exported = [file](const std::string& form, const Parameters& p, std::uint64_t seed) {
    if (form == "latex") return latex_document(file, p);
    return training_script(file.loss, p, seed, form == "numpy" ? Library::numpy : Library::torch);
  };
  return theory;
}

}  // namespace popgrad::theory_files
