// A rung against runs recorded elsewhere: judged where the clock is known, fitted where it is not.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "commands/compare_parts.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/interrupt.hpp"
#include "commands/panels.hpp"
#include "commands/progress.hpp"
#include "io/recorded_run.hpp"
#include "io/run_record.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/failure.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/figure.hpp"
#include "popgrad/judging/compare.hpp"
#include "popgrad/judging/judge.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/statistics/statistics.hpp"
#include "presenting/drawing.hpp"
#include "presenting/judgement_text.hpp"
#include "presenting/regime_table.hpp"
#include "presenting/result_table.hpp"

namespace popgrad::cli {
namespace {

constexpr int standard_runs = 64;

RecordedLayout layout_of(const CompareOptions& options) {
  RecordedLayout layout;
  for (const std::string& pair : options.map) {
    const std::size_t at = pair.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == pair.size()) {
      reject("popgrad compare", "--map", pair, "must be OBSERVABLE=COLUMN, e.g. t=step");
    }
    layout.columns[pair.substr(0, at)] = pair.substr(at + 1);
  }
  for (const std::string& name : options.group) {
    const bool quoted = name.size() > 2 && name.starts_with('`') && name.ends_with('`');
    layout.group.push_back(quoted ? name.substr(1, name.size() - 2) : name);
  }
  layout.runs_in_columns = options.runs_in_columns;
  layout.restarts = options.restarts == "keep-last"    ? Restarts::keep_last
                    : options.restarts == "keep-first" ? Restarts::keep_first
                    : options.restarts == "new-run"    ? Restarts::new_run
                                                       : Restarts::refuse;
  if (!options.clock.empty()) layout.clock = options.clock;
  return layout;
}

// What was taken for granted, left out or filled in, and what the files do not have; a line each.
std::vector<std::string> notes_of(const RecordedFiles& files) {
  std::vector<std::string> notes = files.notes;
  double last = 0;
  for (const RecordedRun& run : files.runs) last = std::max(last, run.last);
  for (const RecordedRun& run : files.runs) {
    if (run.without_time > 0) {
      notes.push_back(fmt::format(
          "{}: {} of {} rows have no time and are left out", run.label, run.without_time,
          run.without_time + (run.gaps.empty() ? 0 : run.gaps.front().rows)));
    }
    for (std::size_t c = 0; c < run.gaps.size(); ++c) {
      const Gaps& gaps = run.gaps[c];
      if (gaps.missing == 0) continue;
      notes.push_back(fmt::format(
          "{}: {} of {} values of {} are missing{}", run.label, gaps.missing, gaps.rows,
          run.columns[c],
          gaps.diverged ? fmt::format(", all from t = {:.6g} on", *gaps.diverged) : std::string{}));
    }
    if (run.last < last) {
      notes.push_back(fmt::format("{}: has no row after t = {:.6g}; others go on to {:.6g}",
                                  run.label, run.last, last));
    }
  }
  return notes;
}

// Of rows most of which are equally far apart: the time after which some are left out, and how many in all.
std::pair<double, std::size_t> rows_left_out(const std::vector<double>& times) {
  constexpr double rounding = 1e-6;
  std::vector<double> apart;
  for (std::size_t k = 1; k < times.size(); ++k) apart.push_back(times[k] - times[k - 1]);
  if (apart.empty()) return {};
  const double usual = median(apart);
  std::pair<double, std::size_t> left_out{};
  for (std::size_t k = 0; k < apart.size(); ++k) {
    const double rows = std::round(apart[k] / usual);
    if (!(std::fabs(apart[k] - rows * usual) <= rounding * usual) || rows < 2) continue;
    if (left_out.second == 0) left_out.first = times[k];
    left_out.second += static_cast<std::size_t>(rows) - 1;
  }
  return left_out;
}

void print_lines(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print(standard_output(), "{}\n", note);
}

// ---- without a judgement --------------------------------------------------------------------

// On our clock, or on one that is fitted.
void print_deviations(const std::vector<RecordedRun>& recorded,
                      const std::vector<Trajectory<double>>& runs, bool fitted) {
  ResultTable table({words("run"), words("observable", 20), numbers("rows", 6),
                     numbers("factor", 11, ".4g"), numbers("rms", 11, ".4g"),
                     numbers("largest", 11, ".4g"), numbers("at recorded", 11, ".6g"),
                     numbers("correlation", 12, ".4f")});
  const std::vector<double>& times = runs.front().t;
  for (const RecordedRun& run : recorded) {
    for (std::size_t c = 0; c < run.columns.size(); ++c) {
      std::vector<double> t;
      std::vector<double> y;
      for (std::size_t k = 0; k < run.t.size(); ++k) {
        if (std::isnan(run.values[c][k])) continue;
        t.push_back(run.t[k]);
        y.push_back(run.values[c][k]);
      }
      if (t.size() < 3 || !(t.back() > 0)) {
        table.add(run.label, run.columns[c], t.size(), " too few to be compared");
        continue;
      }
      const std::vector<double> computed = band(runs, run.columns[c]).mean;
      const ClockFit fit =
          fitted ? fit_clock(times, computed, t, y) : deviation_at(1.0, times, computed, t, y);
      table.add(run.label, run.columns[c], t.size(), fit.factor, fit.root_mean_square, fit.largest,
                fit.time_of_largest, fit.correlation);
    }
  }
  fmt::print(standard_output(), "{}", table.text());
}

// ---- the clock is known ---------------------------------------------------------------------

/// What is judged, as the command was given it.
struct Judging {
  const CompareOptions& options;
  const Model& model;
  const RungInfo& rung;
  const CommonOptions& common;
  std::vector<std::string> notes;  // on the files
};

// The recorded runs as rows that regimes are looked for in, without their mean.
std::vector<Trajectory<double>> trajectories_of(const std::vector<RecordedRun>& recorded,
                                                const Model& model) {
  std::vector<Trajectory<double>> runs;
  const std::vector<Regime>& regimes = model.regimes();
  for (const RecordedRun& run : recorded) {
    if (run.averaged > 1) continue;
    Trajectory<double> rows;
    rows.columns = run.columns;
    rows.t = run.t;
    for (std::size_t k = 0; k < run.t.size(); ++k) {
      std::vector<double>& row = rows.rows.emplace_back();
      for (const auto& values : run.values) row.push_back(values[k]);
    }
    rows.events = find_regimes<double>(rows, regimes, SeriesKind::sampled);
    runs.push_back(std::move(rows));
  }
  return runs;
}

void print_regimes(const Judging& j, const RungInfo& sampled, const RunJudge& judge) {
  if (j.common.no_events) return;
  const auto only_recorded = [&](const std::vector<Trajectory<double>>& runs) {
    std::vector<RegimeTime> times = regime_times(runs);
    const auto& known = judge.recorded().front().columns;
    std::erase_if(times, [&](const RegimeTime& time) {
      return std::find(known.begin(), known.end(), time.column) == known.end();
    });
    return times;
  };
  std::vector<RungRegimes> rungs{
      {"recorded", regime_times(trajectories_of(judge.recorded(), j.model))},
      {sampled.name, only_recorded(judge.sampled())}};
  if (!judge.own().empty()) rungs.push_back({j.rung.name, only_recorded(judge.own())});
  const std::string table = regime_table(rungs);
  if (!table.empty()) fmt::print(standard_output(), "\n{}", table);
}

// Per observable: centre (null: the mean of the ensemble) and half band, then the recorded runs and
// their deviations.
Trajectory<double> table_of(const RunJudge& judge, const Trajectory<double>* centre) {
  const CrossCheck& check = judge.judgement().rows;
  const std::vector<RecordedRun>& recorded = judge.recorded();
  Trajectory<double> table;
  table.t = recorded.front().t;
  table.rows.resize(table.t.size());
  const auto add = [&](const std::string& name, const std::vector<double>& values) {
    table.columns.push_back(name);
    for (std::size_t k = 0; k < table.t.size(); ++k) {
      table.rows[k].push_back(k < values.size() ? values[k] : NAN);
    }
  };
  for (std::size_t c = 0; c < recorded.front().columns.size(); ++c) {
    const std::string& column = recorded.front().columns[c];
    const Band spread = band(judge.expected(), column);
    add(column + "_expected", centre != nullptr ? curve(*centre, column) : spread.mean);
    std::vector<double> half = spread.deviation;
    for (double& s : half) s *= check.bound;
    add(column + "_band", half);
    for (std::size_t r = 0; r < recorded.size(); ++r) {
      add(fmt::format("{}_recorded_{}", column, r), recorded[r].values[c]);
      add(fmt::format("{}_deviation_{}", column, r), check.runs[r].columns[c].deviation);
    }
  }
  return table;
}

void draw_check(const Judging& j, const RunJudge& judge, const Trajectory<double>& table,
                const Invocation& call) {
  const std::vector<RecordedRun>& recorded = judge.recorded();
  Drawing drawing = captioned_drawing(
      fmt::format("compare-{}-{}", j.model.name(), j.rung.name), "recorded-runs",
      fmt::format("{} against {} {}", fmt::join(j.options.with, ", "), j.model.name(), j.rung.name),
      caption_of_given(j.common, j.model));
  FigureTable csv;
  for (std::size_t k = 0; k < table.t.size(); ++k) {
    std::vector<Cell> row{{"t", table.t[k]}};
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      row.emplace_back(table.columns[c], table.rows[k][c]);
    }
    csv.add(row);
  }
  std::vector<std::string> panels, departures, floors;
  for (std::size_t c = 0; c < recorded.front().columns.size(); ++c) {
    panels.push_back(panel_title(recorded.front().columns[c]));
    double first = INFINITY;
    for (const RunCheck& run : judge.judgement().rows.runs) {
      first = std::min(first, run.columns[c].first_outside.value_or(INFINITY));
    }
    departures.push_back(std::isinf(first) ? "-" : fmt::format("{:.9g}", first));
    // Distances, entropies and losses have no band below 0.
    const std::size_t expected = c * (2 + 2 * recorded.size());
    bool negative = false;
    for (const std::vector<double>& row : table.rows) negative = negative || row[expected] < 0;
    for (const RecordedRun& run : recorded) {
      for (const double x : run.values[c]) negative = negative || x < 0;
    }
    floors.emplace_back(negative ? "-" : "0");
  }
  const std::vector<std::pair<std::string, std::string>> variables{
      {"panels", fmt::format("{}", fmt::join(panels, " "))},
      {"departures", fmt::format("{}", fmt::join(departures, " "))},
      {"floors", fmt::format("{}", fmt::join(floors, " "))},
      {"runs", std::to_string(recorded.size())},
      {"mean", recorded.size() > 1 ? "1" : "0"},
      {"expected", j.rung.name}};
  drawing.variables.insert(drawing.variables.end(), variables.begin(), variables.end());
  drawing.files = {{drawing.name + ".csv", csv.text()}};
  drawing.command = command_line(call);
  drawing.seed = j.common.seed;
  draw_and_report(std::move(drawing), j.common.plot);
}

// How the recorded runs were made has to be said: a default would be judged in its place.
void require_setting(const CommonOptions& options) {
  const auto need = [](bool given, const char* what) {
    if (!given)
      throw InputError(
          fmt::format("popgrad compare: {} that the recorded runs were made with", what));
  };
  need(!options.step_size.empty(), "give --eta, the learning rate");
  need(options.batch.has_value(), "give --batch, the samples a step");
  // A theory file states its data by itself.
  const bool is_file = !find_theory(options.theories, options.model).file.empty();
  need(is_file || !options.instance.empty() || !options.flags.empty(),
       "give --instance, or parameters of the model, for the data");
}

// A clock that has another rate would hide that the runs were made with it.
void require_rate(const std::vector<RecordedRun>& recorded, double eta, double resolution) {
  for (const RecordedRun& run : recorded) {
    for (const RecordedRate& rate : run.rates) {
      if (std::fabs(rate.rate - eta) <= resolution * eta) continue;
      reject("popgrad compare", "--eta", fmt::format("{:g}", eta),
             fmt::format("is not the rate of the clock: {} of {} is {:.6g} a step at t = {:.6g}; "
                         "give the --eta that the runs were made with, one for all steps",
                         rate.column, run.label, rate.rate, rate.t));
    }
  }
}

// The same of a rate that is written in the clock. A number in it that is the learning rate states it, so that
// another factor may count steps: 0.1*(4*step).
void require_rate_of_clock(const std::vector<RecordedRun>& recorded, const std::string& clock,
                           double eta, double resolution) {
  const auto is_eta = [&](double x) { return std::fabs(x - eta) <= resolution * eta; };
  for (const RecordedRun& run : recorded) {
    if (!run.clock_rate || is_eta(run.clock_rate->rate)) continue;
    const std::vector<double>& literals = run.clock_rate->literals;
    if (std::any_of(literals.begin(), literals.end(), is_eta)) continue;
    reject("popgrad compare", "--clock", clock,
           fmt::format("adds {:.6g} a step, and --eta is {:g}; the time is learning rate * steps: "
                       "give '{:g}*step', where a step of the log is several '{:g}*(N*step)'",
                       run.clock_rate->rate, eta, eta, eta));
  }
}

// What averages are over needs every row, of a run that began again too; of columns of samples there have to be some.
void require_sampled(const std::vector<RecordedRun>& recorded, const CommonOptions& options) {
  struct Asked {
    bool given;
    const char* option;
    std::vector<std::string> of;
    bool over_rows;
  };
  for (const Asked& asked : std::vector<Asked>{
           {options.averaged, "--averaged", {batch_loss_column, batch_accuracy_column}, true},
           {options.smoothed > 0,
            "--smoothed",
            {loss_column, batch_loss_column, batch_accuracy_column},
            true},
           {options.held_out.has_value(), "--held-out", {loss_column}, false}}) {
    if (!asked.given) continue;
    for (const RecordedRun& run : recorded) {
      bool any = false;
      for (std::size_t c = 0; c < run.columns.size(); ++c) {
        const std::string& column = run.columns[c];
        if (std::find(asked.of.begin(), asked.of.end(), column) == asked.of.end()) continue;
        any = true;
        if (!asked.over_rows) continue;
        const Gaps& gaps = run.gaps[c];
        for (std::size_t k = 0; k < run.t.size() && gaps.missing == 0; ++k) {
          if (!(run.t[k] <= run.last) || !std::isnan(run.values[c][k])) continue;
          throw InputError(fmt::format(
              "popgrad compare: {}: {} has no row at t = {:.6g}, where others have one, and means "
              "over the steps since the row before are of other steps; judge it by itself",
              asked.option, run.label, run.t[k]));
        }
        if (gaps.missing == 0 || gaps.diverged) continue;
        throw InputError(
            fmt::format("popgrad compare: {}: {} has {} rows without {}; give only rows that have "
                        "it, all of them",
                        asked.option, run.label, gaps.missing, column));
      }
      if (any) continue;
      throw InputError(fmt::format("popgrad compare: {} is of the column {}; give --map {}=COLUMN",
                                   asked.option, fmt::join(asked.of, " or "), asked.of.front()));
    }
  }
}

// What the band is, and whether the expected fluctuation is predicted or sampled.
std::string band_text(const Judging& j, const RungInfo& sampled, const RunJudge& judge) {
  const Judgement& made = judge.judgement();
  const std::vector<double>& times = judge.recorded().front().t;
  return fmt::format(
      "{} {} against {}: {} runs, {} times to t = {:.6g}\n"
      "expected fluctuation: {} with eta {:g}, batch {}, seed {}{}\n"
      "band: {:.3g} standard deviations, false-alarm probability {:g} for {} values ({}; sampled "
      "runs reach {:.3g})\n",
      j.model.name(), j.rung.name, fmt::join(j.options.with, ", "),
      judge.recorded().size() - (judge.recorded().size() > 1 ? 1 : 0), times.size(), times.back(),
      made.predicted ? fmt::format("the predicted law of a run of {}", sampled.name)
                     : fmt::format("{} runs of {}", made.own_runs, sampled.name),
      made.learning_rate, made.assumed_batch, j.common.seed,
      made.predicted
          ? fmt::format("\n(second-order terms change a test by at most {:.2g} standard "
                        "deviations; {} sampled runs agree; --ensemble for sampled runs only)",
                        made.neglected, made.own_runs)
      : made.why_sampled.empty() ? std::string{}
                                 : fmt::format("\n(sampled: {})", made.why_sampled),
      made.rows.bound, made.row_level, made.rows.looks,
      fmt::format("Student's t: {:.3g}; tail of sampled runs: {:.3g}", made.rows.student_bound,
                  made.rows.tail_bound),
      made.rows.own_largest);
}

ExitStatus status_of(const Judgement& judgement) {
  if (!judgement.consistent()) return violation;
  return judgement.blind() ? undecided : success;
}

// All that was given has to mean something to the rung that the fluctuation is taken from.
JudgeRequest request_of(const Judging& j, const RungInfo& sampled,
                        const std::vector<double>& times) {
  JudgeRequest request{
      j.model, j.rung.name,
      gather_parameters(j.common, j.model, std::vector<std::string>{sampled.name, j.rung.name}),
      walk_request_at(j.common, sampled, times)};
  request.runs = static_cast<std::uint32_t>(*j.common.runs);
  request.level = j.options.level;
  request.resolution = j.options.resolution;
  request.suspects = j.options.suspects;
  request.fresh_starts = j.options.fresh_starts;
  request.ensemble = j.options.ensemble;
  request.fit = !j.options.no_fit;
  request.events = !j.common.no_events;
  const SolveRequest<double> flow = solve_request<double>(j.common, j.rung, request.parameters);
  request.method = flow.method;
  if (!j.common.relative_tolerance.empty()) request.relative_tolerance = flow.relative_tolerance;
  if (!j.common.absolute_tolerance.empty()) request.absolute_tolerance = flow.absolute_tolerance;
  return request;
}

// The earliest row that leaves its band; empty if none does.
std::string first_word(const CrossCheck& rows) {
  const ColumnCheck* const first = rows.first_departure().first;
  if (first == nullptr) return {};
  return fmt::format("rows by themselves: {} departs at t = {:.6g}; the tests follow",
                     first->column, *first->first_outside);
}

// What the judgement took; empty where that is not worth a line.
std::string spent_text(const RunJudge& judge) {
  constexpr double worth_a_line = 2;  // s
  double sum = 0;
  std::vector<std::string> parts;
  for (const JudgingTime& time : judge.times()) {
    sum += time.seconds;
    parts.push_back(fmt::format("{} {:.1f} s", time.part, time.seconds));
  }
  if (sum < worth_a_line) return {};
  return fmt::format("took {:.1f} s: {}", sum, fmt::join(parts, ", "));
}

int judge_runs(const Judging& j, std::vector<RecordedRun> recorded, Progress& bar,
               const Report& report, const Invocation& call) {
  const RungInfo& sampled = sampled_rung(j.model, j.rung);
  JudgeRequest request = request_of(j, sampled, recorded.front().t);
  const Parameters sampled_parameters = request.parameters;
  const auto say = [&](const std::string& text) {
    if (!text.empty()) bar.say(text);
  };
  const RunJudge judge(std::move(request), std::move(recorded), report,
                       [&](const CrossCheck& rows) { say(first_word(rows)); });
  say(spent_text(judge));
  const Judgement& made = judge.judgement();
  std::string unexamined;  // after an interruption
  if (made.fits_interrupted) unexamined = "settings that would explain the runs";
  if (j.common.output != "-") {
    fmt::print(standard_output(), "{}",
               judgement_summary(made, fmt::format("{} {}", j.model.name(), j.rung.name)));
    print_lines(j.notes);
    fmt::print(standard_output(), "{}", judgement_text(made, j.options.details));
    if (j.options.details) {
      fmt::print(standard_output(), "\n{}", band_text(j, sampled, judge));
      print_regimes(j, sampled, judge);
    }
    if (j.options.details && !j.options.no_ladder) {
      bool interrupted = false;
      fmt::print(standard_output(), "{}", ladder_text(judge.ladder(interrupted)));
      if (interrupted && unexamined.empty()) unexamined = "other rungs";
    }
  }
  const bool with_centre = !judge.own().empty();
  Trajectory<double> table = table_of(judge, with_centre ? &judge.own().front() : nullptr);
  if (!j.common.plot.empty()) draw_check(j, judge, table, call);
  if (!j.common.output.empty() || call.results != nullptr) {
    RunRecord<double> record;
    record.model = j.model.name();
    record.rung = fmt::format("{} against {}", j.rung.name, fmt::join(j.options.with, ", "));
    record.parameters = sampled_parameters.values();
    record.command = command_line(call);
    record.seed = j.common.seed;
    record.judgement = as_record(made);
    record.judgement["notes"] = Value::List(j.notes.begin(), j.notes.end());
    record.sides = {side_of(j.common, sampled, sampled_parameters, judge.sampled())};
    if (with_centre) {
      record.sides.push_back(side_of(j.common, j.rung, sampled_parameters, judge.own()));
    }
    record.runs = {std::move(table)};
    if (!j.common.output.empty()) write_record(record, j.common.output, standard_output());
    if (call.results != nullptr) call.results->run = std::move(record);
  }
  if (unexamined.empty()) return status_of(made);
  fmt::print(standard_error(),
             "popgrad: interrupted; the judgement is whole, {} were not examined\n", unexamined);
  return combined(status_of(made), numerical_failure);
}

}  // namespace

int compare_with_recorded(const Command& command, const CompareOptions& options,
                          const Invocation& call) {
  CommonOptions common = *options.common;
  const Model& model = find_model(common.theories, common.model);
  const RungInfo& info = find_rung(model, options.first);
  const RungInfo& sampled = sampled_rung(model, info);
  check_output(common.output);
  std::vector<std::string> columns = columns_of(
      model, info, gather_parameters(common, model, {info.name, sampled.name}), common.seed);
  if (info.name == sampled.name) {
    columns.emplace_back(batch_loss_column);
    if (std::find(columns.begin(), columns.end(), "accuracy") != columns.end()) {
      columns.emplace_back(batch_accuracy_column);
    }
  }
  const RecordedLayout layout = layout_of(options);
  RecordedFiles files = read_recorded_runs(options.with, layout, columns);
  std::vector<std::string> notes = notes_of(files);
  if (common.averaged) {
    const auto [after, rows] = rows_left_out(files.runs.front().t);
    if (rows > 0) {
      notes.push_back(
          fmt::format("{} rows may be left out, the first after t = {:.6g}; --averaged takes each "
                      "row for the mean since the row "
                      "before that is there",
                      rows, after));
    }
  }
  std::vector<RecordedRun>& recorded = files.runs;
  Progress bar("compare " + model.name(), common.quiet);
  const Report report = [&](double done) {
    bar.update(done);
    return interrupted();
  };
  const bool trained = !rungs_of_training(model, info.name).empty();
  if (options.clock.empty() || !trained) {
    check_meaning(command, info);
    const Parameters parameters = gather_parameters(common, model, info.name);
    if (!common.save && common.save_at.empty()) common.save = 2001;
    const std::vector<Trajectory<double>> runs =
        uninterrupted(produce(common, model, info, parameters, {}, 1.0, report));
    if (const int status = status_of(runs, call.results); status != success) return status;
    fmt::print(standard_output(), "{} {} against {}: {} runs; {}\n", model.name(), info.name,
               fmt::join(options.with, ", "), recorded.size(),
               options.clock.empty()
                   ? "computed time = factor * recorded time, factor fitted to each; with --clock "
                     "the runs are judged"
                   : "deviations only: no sampled rung has instances of this form, so there is no "
                     "fluctuation to judge by");
    print_lines(notes);
    print_deviations(recorded, runs, options.clock.empty());
    return success;
  }
  // Steps and batch say how the recorded run was made, for any rung.
  check_meaning(command, sampled);
  require_setting(common);
  if (info.name != sampled.name) {
    refuse_options(command, {"--averaged", "--held-out", "--smoothed"},
                   fmt::format("is of samples; judge by {}", sampled.name));
  }
  require_sampled(recorded, common);
  const double eta = from_text<double>(common.step_size);
  require_rate(recorded, eta, options.resolution);
  require_rate_of_clock(recorded, options.clock, eta, options.resolution);
  if (command.get_option("--resolution").count() > 0) {
    for (RecordedRun& run : recorded) run.digits.clear();
  }
  CompareOptions chosen = options;
  chosen.ensemble = options.ensemble || common.runs.has_value();
  if (!common.runs) common.runs = standard_runs;
  if (*common.runs < 3) {
    reject("popgrad compare", "--runs", std::to_string(*common.runs),
           "is too few for a spread; give at least 3, better 64");
  }
  const std::vector<double>& times = recorded.front().t;
  if (times.empty() || !(times.back() > 0)) {
    throw InputError("popgrad compare: the recorded runs have no time after 0; see --clock");
  }
  return judge_runs({chosen, model, info, common, notes}, std::move(recorded), bar, report, call);
}

}  // namespace popgrad::cli
