#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>

#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/interrupt.hpp"
#include "commands/ladder.hpp"
#include "commands/progress.hpp"
#include "commands/statement_choice.hpp"
#include "commands/verification.hpp"
#include "io/atomic_file.hpp"
#include "io/fingerprint.hpp"
#include "io/input_files.hpp"
#include "io/made_with.hpp"
#include "io/result_cache.hpp"
#include "io/temporary_folder.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/stop.hpp"
#include "presenting/figure.hpp"
#include "presenting/html_report.hpp"

namespace popgrad::cli {
namespace {

namespace fs = std::filesystem;

struct ReportOptions {
  VerificationOptions verification;
  std::string output;
  std::vector<std::string> figures;
  bool no_ladders = false, no_cache = false;
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
  if (o.figures == std::vector<std::string>{"none"}) return {};
  const bool all = o.figures == std::vector<std::string>{"all"};
  if (o.figures.empty() || all) {
    std::vector<std::string> chosen;
    for (const FigureInfo& figure : figures(shown)) {
      if (!figure.needs_data && (all || figure.in_report)) chosen.push_back(figure.name);
    }
    return chosen;
  }
  std::vector<std::string> names;
  std::vector<std::string> drawable;
  for (const FigureInfo& figure : figures(theories)) {
    names.push_back(figure.name);
    if (!figure.needs_data) drawable.push_back(figure.name);
  }
  for (const std::string& name : o.figures) {
    if (std::find(drawable.begin(), drawable.end(), name) == drawable.end()) {
      reject("popgrad report", "--figures", name,
             "is not one that can be drawn without data" + suggestion(name, names) +
                 "; all, none, or names from 'popgrad list MODEL'");
    }
  }
  return o.figures;
}

/// A part and whether another run may take it as it is.
struct Made {
  ReportPart part;
  bool lasting = true;
};

/// A part of the page that is still to be made.
struct Task {
  std::string kind;   ///< as it is counted: "statements"
  std::string name;   ///< of the statement, model or figure
  bool slow = false;  ///< may take minutes
  /// What the part depends on besides the program, its kind and its name.
  std::string parameters;
  /// Calls the report with the share done; nothing if it was interrupted before there was anything to show.
  std::function<std::optional<Made>(const Report& report)> make;
};

/// What the tasks refer to.
struct Workshop {
  Workshop(const ReportOptions& options, const std::vector<const Statement*>& chosen,
           const std::vector<Theory>& theories, const Invocation& invocation)
      : o(options),
        call(invocation),
        shown(theories),
        examiner(options.verification, chosen, invocation.theories),
        scratch(fs::temp_directory_path(), "popgrad-report") {}

  const ReportOptions& o;
  const Invocation& call;
  const std::vector<Theory>& shown;
  Examiner examiner;
  TemporaryFolder scratch;

  // Of a picture on the page, whose data and script nobody looks for.
  [[nodiscard]] std::string svg_of(const std::string& name) const {
    return read_own_file(scratch.path() / (name + ".svg"));
  }
};

std::optional<Made> made_ladder(const Workshop& shop, const Model& model, const Report& report) {
  CommonOptions common;
  common.seed = shop.o.verification.seed;
  common.jobs = shop.o.verification.jobs;
  const std::vector<LadderCost> costs = ladder_costs(common, model, report);
  if (interrupted()) return std::nullopt;
  if (costs.empty()) return Made{};
  const std::string command =
      fmt::format("{} ladder {} --seed {}", shop.call.program, model.name(), common.seed);
  const Drawing drawing = ladder_drawing(costs, model, common, shop.scratch.path(), command);
  static_cast<void>(draw(drawing));
  ReportLadder ladder{model.name(),
                      model.paper(),
                      ladder_table(costs),
                      {drawing.name, drawing.title, shop.svg_of(drawing.name), command},
                      {}};
  bool lasting = true;
  for (const LadderCost& cost : costs) {
    // Why a step failed is not known here: it may be that memory was short.
    lasting = lasting && cost.failure.empty();
    for (const RungRegimes& rung : cost.regimes) {
      if (rung.times.empty()) continue;
      ladder.regimes.emplace_back(cost.step.finer + " → " + cost.step.coarser, rung);
    }
  }
  return Made{ladder_part(ladder), lasting};
}

Made made_figure(const Workshop& shop, const FigureInfo& figure, const Report& report) {
  FigureRequest request;
  request.name = figure.name;
  request.folder = shop.scratch.path();
  request.seed = shop.o.verification.seed;
  request.jobs = shop.o.verification.jobs;
  request.command =
      fmt::format("{} figure {} --seed {}", shop.call.program, figure.name, request.seed);
  request.progress = [&report](double share) { static_cast<void>(report(share)); };
  static_cast<void>(make_figure(shop.call.theories, request));
  return {figure_part({figure.name, figure.title, shop.svg_of(figure.name), request.command})};
}

// What the findings on statements depend on.
std::string verification_parameters(const Workshop& shop) {
  const Setting& setting = shop.examiner.setting();
  std::string text =
      fmt::format("seed {}\nfalse alarms {:.17g}\nfull {}\ndata {}\n", setting.seed,
                  setting.false_alarm, setting.effort == Effort::full, setting.data_file);
  for (const std::string& file : data_files_of(shop.o.verification)) {
    text += fmt::format("of {}\n", fingerprint(read_file(file)));
  }
  return text;
}

void add_statements(std::vector<Task>& tasks, const Workshop& shop,
                    const std::vector<const Statement*>& chosen) {
  const std::string parameters = verification_parameters(shop);
  const std::vector<FigureInfo> all_figures = figures(shop.call.theories);
  for (const Statement* statement : chosen) {
    tasks.push_back({"statements", statement->id, false, parameters,
                     [&shop, statement, all_figures](const Report&) {
                       const Finding finding = shop.examiner.finding(*statement);
                       if (finding.cut_short) throw Stopped{};
                       return Made{statement_part(finding, all_figures), finding.failure.empty()};
                     }});
  }
  const VerificationOptions& o = shop.o.verification;
  if (o.seeds == 0) return;
  for (const Statement* statement : chosen) {
    if (statement->needs_data && o.data.empty()) continue;
    tasks.push_back(
        {"surveys", statement->id, true,
         fmt::format("{}instances {}\nseconds {:.17g}\n", parameters, o.seeds, o.seconds),
         [&shop, statement](const Report& report) {
           const Survey found = shop.examiner.survey_of(*statement, report);
           if (found.stopped) throw Stopped{};
           return Made{survey_part(*statement, found)};
         }});
  }
}

std::vector<Task> tasks_of(const Workshop& shop, const std::vector<const Statement*>& chosen,
                           const std::vector<std::string>& pictures) {
  std::vector<Task> tasks;
  add_statements(tasks, shop, chosen);
  const std::string seed =
      fmt::format("seed {}\ncalled {}\n", shop.o.verification.seed, shop.call.program);
  for (const Theory& theory : shop.shown) {
    const std::string& model = theory.model->name();
    if (!theory.errata.empty()) {
      tasks.push_back({"errata", model, false, "",
                       [&theory](const Report&) { return Made{errata_part(theory.errata)}; }});
    }
    tasks.push_back({"equations", model, false, seed, [&shop, &theory](const Report&) {
                       return Made{equations_part(*theory.model, shop.call.program)};
                     }});
  }
  for (const Theory& theory : shop.shown) {
    if (shop.o.no_ladders) break;
    tasks.push_back(
        {"ladders", theory.model->name(), true, seed, [&shop, &theory](const Report& report) {
           return made_ladder(shop, *theory.model, report);
         }});
  }
  for (const FigureInfo& figure : figures(shop.call.theories)) {
    if (std::find(pictures.begin(), pictures.end(), figure.name) == pictures.end()) continue;
    tasks.push_back({"figures", figure.name, true, seed, [&shop, figure](const Report& report) {
                       return made_figure(shop, figure, report);
                     }});
  }
  return tasks;
}

/// The page as far as it is made, and the parts of earlier runs.
class Writer {
 public:
  Writer(const ReportOptions& o, const Invocation& call)
      : output_(o.output), quiet_(o.verification.quiet) {
    content.command = command_line(call);
    content.versions = versions();
    content.seed = o.verification.seed;
    if (o.no_cache) return;
    program_ = program_identity();
    // Without knowing what computes, nothing may be taken for its result.
    if (!program_.empty()) cache_ = ResultCache(usual_cache_folder());
  }

  ReportContent content;

  bool take_kept(const Task& task) {
    const auto kept = cache_.find(key_of(task));
    auto part = kept ? part_of_text(*kept) : std::nullopt;
    if (!part) return false;
    content.parts.push_back(std::move(*part));
    ++content.kept[task.kind];
    return true;
  }

  void take_made(const Task& task, Made made) {
    if (made.lasting && !cache_.keep(key_of(task), kept_text(made.part)) && !warned_ && !quiet_) {
      warned_ = true;
      fmt::print(standard_error(),
                 "popgrad: {} cannot be written; the next report makes all parts anew\n",
                 usual_cache_folder().string());
    }
    content.parts.push_back(std::move(made.part));
    // Quick parts come many a second.
    if (std::chrono::steady_clock::now() - written_ > std::chrono::seconds(1)) write();
  }

  void write() {
    write_atomically(output_, html_report(content));
    written_ = std::chrono::steady_clock::now();
  }

 private:
  std::string output_, program_;
  bool quiet_;
  bool warned_ = false;
  ResultCache cache_;
  std::chrono::steady_clock::time_point written_{};

  [[nodiscard]] std::string key_of(const Task& task) const {
    return fmt::format("{}\n{}{} {}\n{}", version_text(), program_, task.kind, task.name,
                       task.parameters);
  }
};

int execute(const ReportOptions& o, const Invocation& call) {
  if (fs::path(o.output).extension() != ".html") {
    reject("popgrad report", "--output", o.output, "must end in .html");
  }
  check_writable(o.output);
  check_regular("popgrad report", o.output);
  const std::vector<const Statement*> chosen =
      matching_statements(call.theories, "popgrad report", o.verification.patterns);
  const std::vector<Theory> shown = theories_of(chosen, call.theories);
  const Workshop shop(o, chosen, shown, call);
  const std::vector<Task> tasks = tasks_of(shop, chosen, chosen_figures(call.theories, shown, o));
  Writer writer(o, call);
  writer.content.planned = tasks.size();
  writer.content.false_alarm = shop.examiner.false_alarm();
  const auto make_parts = [&] {
    Progress bar("report", o.verification.quiet);
    const auto count = static_cast<double>(tasks.size());
    for (const Task& task : tasks) {
      if (interrupted()) return;
      if (writer.take_kept(task)) continue;
      const std::string doing = task.kind + " " + task.name;
      const auto done = static_cast<double>(writer.content.parts.size());
      if (task.slow) {
        bar.begin(done / count, doing);
      } else {
        bar.update(done / count, doing);
      }
      auto made = task.make([&](double part) {
        bar.update((done + part) / count, doing);
        return interrupted();
      });
      if (!made) return;
      writer.take_made(task, std::move(*made));
    }
  };
  try {
    make_parts();
  } catch (const Stopped&) {
    // The page is of the parts before.
  } catch (const std::exception&) {
    writer.write();
    throw;
  }
  writer.write();
  const std::vector<ReportPart>& parts = writer.content.parts;
  if (!o.verification.quiet) fmt::print(standard_error(), "popgrad: {} is written\n", o.output);
  if (parts.size() < tasks.size()) {
    fmt::print(standard_error(),
               "popgrad: interrupted; the page holds {} of {} parts; the same command "
               "makes the others\n",
               parts.size(), tasks.size());
  }
  std::vector<Judged> all;
  for (const ReportPart& part : parts) {
    if (part.judged) all.push_back(*part.judged);
  }
  const int of_verdicts = status_of(all, o.verification.patterns, false);
  return parts.size() < tasks.size() ? combined(of_verdicts, numerical_failure) : of_verdicts;
}

}  // namespace

Action add_report(CommandLine& app, const Invocation& call) {
  auto o = std::make_shared<ReportOptions>();
  Command* command = app.add_subcommand(
      "report",
      "verdicts, equations, ladders, figures and errata as one page that a person can read");
  add_verification_options(*command, o->verification, call.theories);
  add_survey_options(*command, o->verification);
  command->add_option("-o,--output", o->output, "the page, .html").kind("output file").required();
  command->add_list("--figures", o->figures,
                    "figures by name, separated by commas; all; or none (default: two a model)");
  command->add_flag("--no-ladders", o->no_ladders, "leave out what each assumption costs");
  command->add_flag("--no-cache", o->no_cache,
                    "make all parts anew, and keep none for the next report");
  command->introduce("report " + example_statements(call.theories) + " -o report.html",
                     {"--output", "--figures", "--seeds", "--full", "--no-ladders"});
  command->footer(
      "The page is written anew after every part, so an interrupted one holds what was there. "
      "Parts "
      "are kept in $XDG_CACHE_HOME/popgrad (~/.cache/popgrad) for the same program with the same "
      "parameters; those that were not used for thirty days are removed. Exit status as of "
      "'popgrad "
      "verify'.");
  return [o, call] { return execute(*o, call); };
}

}  // namespace popgrad::cli
