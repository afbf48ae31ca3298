#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "io/atomic_file.hpp"
#include "popgrad/error.hpp"
#include "popgrad/theory.hpp"
#include "report/errata_table.hpp"
#include "report/figure.hpp"

namespace popgrad::cli {
namespace {

constexpr std::uint64_t default_seed = 1;

std::string defaults_of_steps(const RungInfo& rung) {
  std::string text;
  if (walks(rung)) {
    text += " --eta " + rung.default_step;
  }
  if (samples(rung)) text += fmt::format(" --batch {}", rung.default_batch);
  return text;
}

// `entropy_0` and `entropy_1` as `entropy_N`, once: class by class names would fill pages.
std::string columns_of(const Model& model, const RungInfo& rung) {
  std::vector<std::string> shown;
  // Moments are not for states as large as the defaults of some models.
  const std::string own = rung.kind == RungKind::moments ? "sgd" : rung.name;
  for (const std::string& name : model.rung(own, Parameters(model.name()), default_seed).columns) {
    const std::size_t mark = name.rfind('_');
    const bool indexed = mark != std::string::npos && mark + 1 < name.size() &&
                         name.find_first_not_of("0123456789", mark + 1) == std::string::npos;
    const std::string pattern = indexed ? name.substr(0, mark) + "_N" : name;
    if (std::find(shown.begin(), shown.end(), pattern) == shown.end()) shown.push_back(pattern);
  }
  return fmt::format("{}{}{}", fmt::join(shown, " "), rung.columns.empty() ? "" : "; ",
                     rung.columns);
}

void list_models(Theories theories) {
  for (const Theory& theory : theories) {
    const auto& model = theory.model;
    fmt::print("model {}\n  {}\n\n  rungs\n", model->name(), model->paper());
    for (const RungInfo& rung : model->rungs()) {
      fmt::print("    {:<12} {}\n    {:<12} cost {}; default {} {}{}\n    {:<12} columns {}\n",
                 rung.name, rung.summary, "", rung.cost, walks(rung) ? "--steps" : "--t1",
                 rung.default_end, defaults_of_steps(rung), "", columns_of(*model, rung));
    }
    if (!model->regimes().empty()) {
      fmt::print("\n  regimes, events of every rung that has the observable\n");
    }
    for (const Regime& regime : model->regimes()) {
      fmt::print("    {:<20} of {}: {}\n", regime.name, regime.column, describe(regime.kind));
    }
    fmt::print("\n  parameters (flags, or keys of --instance and --config)\n");
    for (const ParameterInfo& p : model->parameters()) {
      std::string tail = p.help;
      if (!p.choices.empty()) tail += fmt::format(": {}", fmt::join(p.choices, ", "));
      if (!p.default_value.empty()) tail += fmt::format(" (default {})", p.default_value);
      if (!p.flag) tail += " (file only)";
      if (!p.rungs.empty()) tail += fmt::format(" [{}]", fmt::join(p.rungs, ", "));
      fmt::print("    {:<20} {}\n", p.name, tail);
    }
    fmt::print("\n");
  }
}

void list_statements(Theories theories) {
  fmt::print("statements\n");
  for (const Statement* const statement : statements(theories)) {
    const Statement& s = *statement;
    std::string kinds;
    for (const EvidenceKind kind : s.reaches) kinds += (kinds.empty() ? "" : ", ") + name_of(kind);
    fmt::print("  {:<28} {}\n  {:<28} {}; {}; controls: {}{}\n", s.id, s.claim, "", s.paper, kinds,
               s.controls.size(), s.needs_data ? "; needs --data FILE" : "");
    for (const DeclaredHypothesis& h : s.hypotheses) {
      fmt::print("  {:<28} hypothesis: {} ({})\n", "", h.text, name_of(h.basis));
    }
    if (!s.reads.empty()) {
      fmt::print("  {:<28} --instance FILE: parameters of {} {}\n", "",
                 s.id.substr(0, s.id.find('.')), s.reads);
    }
    for (const Knob& knob : s.knobs) {
      fmt::print("  {:<28} {} {:g} to {:g}, usually {:g}: {}{}\n", "", knob.name, knob.low,
                 knob.high, knob.usual, knob.meaning,
                 knob.breaks.empty() ? "" : fmt::format("; breaks '{}'", knob.breaks));
    }
  }
  fmt::print("\nfigures\n");
  for (const FigureInfo& figure : figures(theories))
    fmt::print("  {:<30} {}\n", figure.name, figure.title);
  fmt::print("\n{} errata: popgrad list --errata\n", errata(theories).size());
}

int list_errata(Theories theories, const std::string& json) {
  if (!json.empty() && json != "-") check_writable(json);
  const std::vector<Erratum> all = errata(theories);
  const std::vector<ExaminedErratum> found = examined_errata(all);
  if (json != "-") std::fputs(errata_text(found).c_str(), stdout);
  if (!json.empty()) {
    const std::string text = errata_json(found);
    if (json == "-") {
      std::fputs(text.c_str(), stdout);
    } else {
      write_atomically(json, text);
    }
  }
  // An erratum that its own program does not confirm is one of ours.
  const bool shown = std::all_of(found.begin(), found.end(),
                                 [](const ExaminedErratum& e) { return is_shown(e.found); });
  return shown ? success : violation;
}

}  // namespace

Action add_list(CommandLine& app, const Invocation& call) {
  Command* command = app.add_subcommand("list", "models, rungs, parameters, statements, figures");
  auto only_errata = std::make_shared<bool>(false);
  command->add_flag("--errata", *only_errata,
                    "where a paper's formula and the algebra disagree, each with its evidence");
  auto json = std::make_shared<std::string>();
  command->add_option("--json", *json, "with --errata: write them as JSON (- is standard output)");
  return [only_errata, json, theories = call.theories]() -> int {
    if (!json->empty() && !*only_errata) {
      reject("popgrad list", "--json", *json, "is for the errata alone; add --errata");
    }
    if (*only_errata) return list_errata(theories, *json);
    list_models(theories);
    list_statements(theories);
    return success;
  };
}

}  // namespace popgrad::cli
