#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "popgrad/theory.hpp"
#include "report/figure.hpp"

namespace popgrad::cli {
namespace {

std::string defaults_of_steps(const RungInfo& rung) {
  std::string text;
  if (rung.kind == RungKind::random || rung.kind == RungKind::descent) {
    text += " --eta " + rung.default_step;
  }
  if (rung.kind == RungKind::random) text += fmt::format(" --batch {}", rung.default_batch);
  return text;
}

void list_models(Theories theories) {
  for (const Theory& theory : theories) {
    const auto& model = theory.model;
    fmt::print("model {}\n  {}\n\n  rungs\n", model->name(), model->paper());
    for (const RungInfo& rung : model->rungs()) {
      fmt::print(
          "    {:<12} {}\n    {:<12} cost {}; default {} {}{}\n    {:<12} columns {}\n", rung.name,
          rung.summary, "", rung.cost,
          rung.kind == RungKind::random || rung.kind == RungKind::descent ? "--steps" : "--t1",
          rung.default_end, defaults_of_steps(rung), "", rung.columns);
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

int list_errata(Theories theories) {
  int status = success;
  for (const Erratum& erratum : errata(theories)) {
    fmt::print(
        "{}\n  class    {}\n  place    {}; {}\n  paper    {}\n  found    {}\n  see      popgrad "
        "verify {}\n",
        erratum.name, name_of(erratum.kind), erratum.place, erratum.known, erratum.paper_says,
        erratum.algebra_says, erratum.statement);
    for (const Evidence& item : erratum.evidence()) {
      const bool judged = item.kind != EvidenceKind::report;
      fmt::print("  evidence {}: {}{}{}\n", name_of(item.kind), item.what,
                 judged ? (item.verdict == Verdict::holds ? ": shown" : ": NOT shown")
                        : fmt::format(": {:.4g}", item.measured),
                 item.detail.empty() ? "" : "; " + item.detail);
      // An erratum that its own program does not confirm is one of ours.
      if (judged && item.verdict != Verdict::holds) status = violation;
    }
    fmt::print("\n");
  }
  return status;
}

}  // namespace

Action add_list(CommandLine& app, const Invocation& call) {
  Command* command = app.add_subcommand("list", "models, rungs, parameters, statements, figures");
  auto only_errata = std::make_shared<bool>(false);
  command->add_flag("--errata", *only_errata,
                    "where a paper's formula and the algebra disagree, each with its evidence");
  return [only_errata, theories = call.theories]() -> int {
    if (*only_errata) return list_errata(theories);
    list_models(theories);
    list_statements(theories);
    return success;
  };
}

}  // namespace popgrad::cli
