#include <algorithm>
#include <cstdio>
#include <memory>

#include "commands/commands.hpp"
#include "commands/declarations.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/statement_choice.hpp"
#include "io/atomic_file.hpp"
#include "popgrad/evidence/theory.hpp"
#include "presenting/catalogue.hpp"
#include "presenting/errata_table.hpp"

namespace popgrad::cli {
namespace {

void write(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::fputs(text.c_str(), standard_output());
  } else {
    write_atomically(path, text);
  }
}

int list_errata(Theories theories, const std::string& json, Results* results) {
  const std::vector<Erratum> all = errata(theories);
  const std::vector<ExaminedErratum> found = examined_errata(all);
  if (results != nullptr) results->document = errata_json(found);
  if (json != "-") std::fputs(errata_text(found).c_str(), standard_output());
  if (!json.empty()) write(json, errata_json(found));
  // An erratum that its own program does not confirm is one of ours.
  const bool shown = std::all_of(found.begin(), found.end(),
                                 [](const ExaminedErratum& e) { return e.found.shown(); });
  return shown ? success : violation;
}

void list_statements(Theories theories, const std::string& pattern) {
  std::string text;
  for (const Statement* s : matching_statements(theories, "popgrad list", {pattern})) {
    text += (text.empty() ? "" : "\n") + statement_text(*s);
  }
  std::fputs(text.c_str(), standard_output());
}

}  // namespace

Action add_list(CommandLine& app, const Invocation& call) {
  Command* command = app.add_subcommand("list", "models, rungs, parameters, statements, figures");
  command->introduce("list " + call.theories.front().model->name());
  auto model = std::make_shared<std::string>();
  command->add_option("model", *model,
                      "of this model, or one statement by its id; without it, of all models");
  auto entry = std::make_shared<std::string>();
  command->add_option("name", *entry,
                      "of this rung, observable, parameter, figure or statement of the model");
  auto everything = std::make_shared<bool>(false);
  command->add_flag("--all", *everything, "with every cost, formula, hypothesis and knob");
  auto only_errata = std::make_shared<bool>(false);
  command->add_flag("--errata", *only_errata,
                    "where a paper's formula and the algebra disagree, each with its evidence");
  auto json = std::make_shared<std::string>();
  command->add_option("--json", *json, "write it as JSON (- is standard output)")
      .kind("output file");
  auto only_options = std::make_shared<bool>(false);
  command->add_flag("--options", *only_options,
                    "all options and parameters with types and ranges, as JSON for other programs");
  return [&app, model, entry, everything, only_errata, only_options, json, theories = call.theories,
          results = call.results]() -> int {
    if (!json->empty() && *json != "-") check_writable(*json, "--json");
    const bool statement =
        model->find('.') != std::string::npos && !has_model(theories, *model);  // or a file
    if ((statement || !entry->empty()) &&
        (*everything || *only_errata || *only_options || !json->empty())) {
      throw InputError("popgrad list: --all, --errata, --options and --json list models; leave " +
                       (statement ? *model : *entry) + " out");
    }
    if (statement && !entry->empty()) {
      throw InputError("popgrad list: " + *model + " is a statement and has no " + *entry +
                       "; leave it out");
    }
    if (statement) {
      list_statements(theories, *model);
      return success;
    }
    const Theories chosen = model->empty() ? theories : Theories(&find_theory(theories, *model), 1);
    if (entry->starts_with(chosen.front().model->name() + ".")) {
      list_statements(chosen, *entry);
      return success;
    }
    if (*only_errata) return list_errata(chosen, *json, results);
    if (*only_options) {
      const std::string text = declarations_json(app, chosen);
      if (results != nullptr) results->document = text;
      write(json->empty() ? "-" : *json, text);
      return success;
    }
    if (results != nullptr) results->document = catalogue_json(chosen);
    if (*json != "-") {
      const std::string text = !entry->empty()  ? entry_text(chosen.front(), *entry)
                               : *everything    ? catalogue_text(chosen)
                               : model->empty() ? overview_text(chosen)
                                                : contents_text(chosen.front());
      std::fputs(text.c_str(), standard_output());
    }
    if (!json->empty()) write(*json, catalogue_json(chosen));
    return success;
  };
}

}  // namespace popgrad::cli
