#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/ladder.hpp"
#include "cli/progress.hpp"
#include "cli/statement_choice.hpp"
#include "cli/verification.hpp"
#include "io/atomic_file.hpp"
#include "io/temporary_folder.hpp"
#include "popgrad/error.hpp"
#include "report/figure.hpp"
#include "report/html_report.hpp"
#include "report/versions.hpp"

namespace popgrad::cli {
namespace {

namespace fs = std::filesystem;

struct ReportOptions {
  VerificationOptions verification;
  std::string output;
  std::vector<std::string> figures;
  bool no_ladders = false;
};

// The theories that the page is about: those of its statements.
std::vector<Theory> theories_of(const std::vector<const Statement*>& chosen, Theories theories) {
  std::vector<Theory> found;
  for (const Theory& theory : theories) {
    const std::string prefix = theory.model->name() + ".";
    if (std::any_of(chosen.begin(), chosen.end(),
                    [&](const Statement* s) { return s->id.starts_with(prefix); })) {
      found.push_back(theory);
    }
  }
  return found;
}

std::vector<std::string> chosen_figures(Theories theories, Theories shown, const ReportOptions& o) {
  std::vector<std::string> names;
  std::vector<std::string> drawable;
  for (const FigureInfo& figure : figures(theories)) {
    names.push_back(figure.name);
    if (!figure.needs_data) drawable.push_back(figure.name);
  }
  if (o.figures.empty()) {
    std::vector<std::string> usual;
    for (const FigureInfo& figure : figures(shown)) {
      if (figure.in_report) usual.push_back(figure.name);
    }
    return usual;
  }
  if (o.figures == std::vector<std::string>{"all"}) return drawable;
  if (o.figures == std::vector<std::string>{"none"}) return {};
  for (const std::string& name : o.figures) {
    if (std::find(drawable.begin(), drawable.end(), name) == drawable.end()) {
      reject("popgrad report", "--figures", name,
             "is not one that can be drawn without data" + suggestion(name, names) +
                 "; all, none, or names from 'popgrad list'");
    }
  }
  return o.figures;
}

int execute(const ReportOptions& o, const Invocation& call) {
  if (fs::path(o.output).extension() != ".html") {
    reject("popgrad report", "--output", o.output, "must end in .html");
  }
  check_writable(o.output);
  const std::vector<const Statement*> chosen =
      matching_statements(call.theories, "popgrad report", o.verification.patterns);
  const std::vector<Theory> shown = theories_of(chosen, call.theories);
  const std::vector<std::string> pictures = chosen_figures(call.theories, shown, o);
  ReportContent report;
  report.command = command_line(call);
  report.versions = versions();
  VerificationOptions defaults = o.verification;
  defaults.seeds = 0;
  report.verification = verification_of(defaults, chosen, call);
  if (o.verification.seeds > 0 && !interrupted()) {
    report.survey = verification_of(o.verification, chosen, call);
  }
  const TemporaryFolder scratch(fs::temp_directory_path(), "popgrad-report");
  if (!o.no_ladders && !interrupted()) {
    CommonOptions common;
    common.seed = o.verification.seed;
    common.jobs = o.verification.jobs;
    Progress bar("ladders", o.verification.quiet);
    double done = 0;
    for (const Theory& theory : shown) {
      const auto& model = theory.model;
      const auto count = static_cast<double>(shown.size());
      const std::vector<LadderCost> costs = ladder_costs(common, *model, [&](double part) {
        bar.update((done + part) / count, model->name());
        return interrupted();
      });
      done += 1;
      if (interrupted()) break;
      if (costs.empty()) continue;
      const std::string command =
          fmt::format("{} ladder {} --seed {}", call.program, model->name(), common.seed);
      ReportRegimes regimes{model->name(), {}};
      for (const LadderCost& cost : costs) {
        for (const RungRegimes& rung : cost.regimes) {
          if (rung.times.empty()) continue;
          regimes.steps.emplace_back(cost.step.finer + " -> " + cost.step.coarser, rung);
        }
      }
      report.regimes.push_back(std::move(regimes));
      const Drawing drawing = ladder_drawing(costs, *model, scratch.path(), command);
      static_cast<void>(draw(drawing));
      report.ladders.push_back({model->name(),
                                model->paper(),
                                ladder_table(costs),
                                {drawing.name, drawing.title,
                                 read_file(scratch.path() / (drawing.name + ".svg")), command}});
    }
  }
  if (!interrupted()) {
    Progress bar("figures", o.verification.quiet);
    for (const std::string& name : pictures) {
      bar.update(static_cast<double>(report.figures.size()) / static_cast<double>(pictures.size()),
                 name);
      FigureRequest request;
      request.name = name;
      request.folder = scratch.path();
      request.seed = o.verification.seed;
      request.jobs = o.verification.jobs;
      request.command = fmt::format("{} figure {} --seed {}", call.program, name, request.seed);
      static_cast<void>(make_figure(call.theories, request));
      std::string title;
      for (const FigureInfo& figure : figures(call.theories)) {
        if (figure.name == name) title = figure.title;
      }
      report.figures.push_back(
          {name, title, read_file(scratch.path() / (name + ".svg")), request.command});
      if (interrupted()) break;
    }
  }
  const bool stopped = interrupted();
  if (!stopped) report.errata = errata(shown);
  write_atomically(o.output, html_report(report));
  if (!o.verification.quiet) fmt::print(stderr, "popgrad: {} is written\n", o.output);
  if (stopped) {
    fmt::print(stderr, "popgrad: interrupted; the page holds what was there by then\n");
    return numerical_failure;
  }
  return status_of(report.verification);
}

}  // namespace

Action add_report(CommandLine& app, const Invocation& call) {
  auto o = std::make_shared<ReportOptions>();
  Command* command = app.add_subcommand(
      "report", "verdicts, ladders, figures and errata as one page that a person can read");
  add_verification_options(*command, o->verification);
  add_survey_options(*command, o->verification);
  command->add_option("-o,--output", o->output, "the page, .html").required();
  command
      ->add_option("--figures", o->figures,
                   "figures by name, separated by commas; all; or none (default: two a model)")
      .delimiter(',');
  command->add_flag("--no-ladders", o->no_ladders, "leave out what each assumption costs");
  command->footer("Exit status as of 'popgrad verify'.");
  return [o, call] { return execute(*o, call); };
}

}  // namespace popgrad::cli
