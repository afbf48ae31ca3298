// A rung against runs recorded elsewhere: judged where the clock is known, fitted where it is not.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "commands/compare_parts.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/interrupt.hpp"
#include "commands/judgement.hpp"
#include "commands/panels.hpp"
#include "commands/progress.hpp"
#include "io/recorded_run.hpp"
#include "io/run_record.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/failure.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/figure.hpp"
#include "popgrad/judging/compare.hpp"
#include "popgrad/rungs/rung.hpp"
#include "presenting/drawing.hpp"
#include "presenting/regime_table.hpp"

namespace popgrad::cli {
namespace {

constexpr int standard_runs = 64;

// Of the level. Faults of settings show in sums over all rows long before they show in one row; rows and
// levels are for what no setting makes.
constexpr double share_of_settings = 0.8;
constexpr double share_of_levels = 0.1;
constexpr double share_of_rows = 0.1;

RecordedLayout layout_of(const CompareOptions& options) {
  RecordedLayout layout;
  for (const std::string& pair : options.map) {
    const std::size_t at = pair.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == pair.size()) {
      reject("popgrad compare", "--map", pair, "must be OBSERVABLE=COLUMN, e.g. t=step");
    }
    layout.columns[pair.substr(0, at)] = pair.substr(at + 1);
  }
  layout.group = options.group;
  if (!options.clock.empty()) layout.clock = options.clock;
  return layout;
}

// What the files do not have.
void print_gaps(const std::vector<RecordedRun>& recorded) {
  for (const RecordedRun& run : recorded) {
    if (run.averaged > 1) continue;
    if (run.without_time > 0) {
      fmt::print(standard_output(), "{}: {} of {} rows have no time and are left out\n", run.label,
                 run.without_time,
                 run.without_time + (run.gaps.empty() ? 0 : run.gaps.front().rows));
    }
    for (std::size_t c = 0; c < run.gaps.size(); ++c) {
      const Gaps& gaps = run.gaps[c];
      if (gaps.missing == 0) continue;
      fmt::print(
          standard_output(), "{}: {} of {} values of {} are missing{}\n", run.label, gaps.missing,
          gaps.rows, run.columns[c],
          gaps.diverged ? fmt::format(", all from t = {:.6g} on", *gaps.diverged) : std::string{});
    }
  }
}

// Where the rows end before those of other runs.
void print_early_ends(const std::vector<RecordedRun>& recorded) {
  double last = 0;
  for (const RecordedRun& run : recorded) last = std::max(last, run.last);
  for (const RecordedRun& run : recorded) {
    if (run.averaged > 1 || !(run.last < last)) continue;
    fmt::print(standard_output(), "{}: has no row after t = {:.6g}; others go on to {:.6g}\n",
               run.label, run.last, last);
  }
}

// A learning rate in a row that --eta denies; empty where there is none.
std::string contradiction_of(const std::vector<RecordedRun>& recorded, double eta,
                             double resolution) {
  for (const RecordedRun& run : recorded) {
    for (const RecordedRate& rate : run.rates) {
      if (std::fabs(rate.rate - eta) <= resolution * eta) continue;
      return fmt::format(
          "{} of {} is {:.6g} at t = {:.6g}, and --eta {:g}; estimates here are relative to the "
          "clock, so give the --eta that the runs were made with",
          rate.column, run.label, rate.rate, rate.t, eta);
    }
  }
  return {};
}

// ---- without a judgement --------------------------------------------------------------------

// On our clock, or on one that is fitted.
void print_deviations(const std::vector<RecordedRun>& recorded,
                      const std::vector<Trajectory<double>>& runs, bool fitted) {
  std::size_t widest = 3;
  for (const RecordedRun& run : recorded) widest = std::max(widest, run.label.size());
  fmt::print(standard_output(), "{:<{}} {:<20} {:>6} {:>11} {:>11} {:>11} {:>11} {:>12}\n", "run",
             widest, "observable", "rows", "factor", "rms", "largest", "at recorded",
             "correlation");
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
        fmt::print(standard_output(), "{:<{}} {:<20} {:>6}  too few to be compared\n", run.label,
                   widest, run.columns[c], t.size());
        continue;
      }
      const std::vector<double> computed = band(runs, run.columns[c]).mean;
      const ClockFit fit =
          fitted ? fit_clock(times, computed, t, y) : deviation_at(1.0, times, computed, t, y);
      fmt::print(standard_output(),
                 "{:<{}} {:<20} {:>6} {:>11.4g} {:>11.4g} {:>11.4g} {:>11.6g} {:>12.4f}\n",
                 run.label, widest, run.columns[c], t.size(), fit.factor, fit.root_mean_square,
                 fit.largest, fit.time_of_largest, fit.correlation);
    }
  }
}

// ---- the clock is known ---------------------------------------------------------------------

/// Everything that one judgement needs.
struct Judging {
  const CompareOptions& options;
  const Model& model;
  const RungInfo& rung;
  CommonOptions common;  // with the size of the ensemble
  std::vector<RecordedRun> recorded;
  std::vector<double> times;
  CrossCheckRequest request;
  const Report& report;
  const WholeRuns* whole = nullptr;  ///< tests of runs as wholes; null until they are prepared
};

// Runs that fluctuate as the recorded ones should, and whether they are predicted.
struct Fluctuation {
  const std::vector<Trajectory<double>>& runs;
  const PredictedRuns* predicted = nullptr;
};

Judgement judged(const Judging& j, const Fluctuation& expected, const Trajectory<double>* centre) {
  Judgement made;
  made.level = j.options.level;
  CrossCheckRequest request = j.request;
  request.predicted = expected.predicted;
  made.predicted = expected.predicted != nullptr;
  made.rows = cross_check(j.recorded, expected.runs, centre, request);
  made.recorded_runs = j.whole->recorded_runs();
  if (j.whole->numbers() > 0) {
    made.whole = j.whole->tests(expected.runs, centre, made.predicted);
  }
  return made;
}

Judgement judge(const Judging& j, const RungInfo& info, const RungInfo& sampled,
                const Fluctuation& expected, std::vector<Trajectory<double>>* kept = nullptr) {
  if (info.name == sampled.name) return judged(j, expected, nullptr);
  const Parameters p = gather_parameters(j.common, j.model, {info.name, sampled.name});
  const CommonOptions common = kept != nullptr ? j.common : without_events(j.common);
  std::vector<Trajectory<double>> runs =
      produce_at(common, j.model, info, p, j.times, j.report, j.options.fresh_starts);
  require_ends(runs);
  for (const std::string& column : j.recorded.front().columns) {
    const auto& known = runs.front().columns;
    if (std::find(known.begin(), known.end(), column) == known.end()) {
      throw InputError(fmt::format("has no {}", column));
    }
  }
  Judgement made = info.kind == RungKind::random ? judged(j, {runs}, nullptr)
                                                 : judged(j, expected, &runs.front());
  if (kept != nullptr) *kept = std::move(runs);
  return made;
}

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

void print_regimes(const Judging& j, const RungInfo& sampled,
                   const std::vector<Trajectory<double>>& ensemble,
                   const std::vector<Trajectory<double>>& centre) {
  if (j.common.no_events) return;
  const auto only_recorded = [&](const std::vector<Trajectory<double>>& runs) {
    std::vector<RegimeTime> times = regime_times(runs);
    const auto& known = j.recorded.front().columns;
    std::erase_if(times, [&](const RegimeTime& time) {
      return std::find(known.begin(), known.end(), time.column) == known.end();
    });
    return times;
  };
  std::vector<RungRegimes> rungs{{"recorded", regime_times(trajectories_of(j.recorded, j.model))},
                                 {sampled.name, only_recorded(ensemble)}};
  if (!centre.empty()) rungs.push_back({j.rung.name, only_recorded(centre)});
  const std::string table = regime_table(rungs);
  if (!table.empty()) fmt::print(standard_output(), "\n{}", table);
}

// What is given and this rung does not read: a reduction that leaves it out.
std::vector<std::string> left_out(const Judging& j, const RungInfo& sampled, const RungInfo& rung) {
  const Parameters given =
      gather_parameters(j.common, j.model, std::vector<std::string>{sampled.name, j.rung.name});
  std::vector<std::string> names;
  for (const ParameterInfo& info : j.model.parameters()) {
    if (!info.is_read_by(rung.name) && given.has(info.name)) names.push_back(info.name);
  }
  return names;
}

// Which rung of the ladder explains the runs best.
// False if interrupted before the last.
bool print_ladder(const Judging& j, const RungInfo& sampled, const Fluctuation& expected) {
  const std::set<std::string> known = rungs_of_training(j.model, sampled.name);
  struct Entry {
    std::string name;
    double size = 0;
    bool consistent = false;
    std::string why;
    std::vector<std::string> left_out;
  };
  std::vector<Entry> entries;
  bool whole = true;
  for (const RungInfo& info : j.model.rungs()) {
    if (!known.contains(info.name)) continue;
    Entry entry{info.name, INFINITY, false, {}, left_out(j, sampled, info)};
    try {
      const Judgement made = judge(j, info, sampled, expected);
      entry.size = made.rows.root_mean_square;
      entry.consistent = made.consistent();
    } catch (const Stopped&) {
      whole = false;
      break;
    } catch (const std::exception& error) {
      entry.why = words_of(error);
    }
    entries.push_back(std::move(entry));
  }
  if (entries.empty()) return whole;
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.size < b.size; });
  fmt::print(standard_output(),
             "\nrungs by how well they explain the runs (rms deviation, 1 is perfect)\n");
  for (const Entry& entry : entries) {
    if (entry.why.empty()) {
      fmt::print(standard_output(), "  {:<14} {:>9.3g}  {}{}\n", entry.name, entry.size,
                 entry.consistent ? "consistent" : "departs",
                 entry.left_out.empty()
                     ? std::string{}
                     : fmt::format("; it does not read {}", fmt::join(entry.left_out, ", ")));
    } else {
      fmt::print(standard_output(), "  {:<14} {:>9}  {}\n", entry.name, "-", entry.why);
    }
  }
  return whole;
}

// Per observable: centre (null: the mean of the ensemble) and half band, then the recorded runs and
// their deviations.
Trajectory<double> table_of(const Judging& j, const CrossCheck& check,
                            const std::vector<Trajectory<double>>& ensemble,
                            const Trajectory<double>* centre) {
  Trajectory<double> table;
  table.t = j.times;
  table.rows.resize(j.times.size());
  const auto add = [&](const std::string& name, const std::vector<double>& values) {
    table.columns.push_back(name);
    for (std::size_t k = 0; k < table.t.size(); ++k) {
      table.rows[k].push_back(k < values.size() ? values[k] : NAN);
    }
  };
  for (std::size_t c = 0; c < j.recorded.front().columns.size(); ++c) {
    const std::string& column = j.recorded.front().columns[c];
    const Band spread = band(ensemble, column);
    add(column + "_expected", centre != nullptr ? curve(*centre, column) : spread.mean);
    std::vector<double> half = spread.deviation;
    for (double& s : half) s *= check.bound;
    add(column + "_band", half);
    for (std::size_t r = 0; r < j.recorded.size(); ++r) {
      add(fmt::format("{}_recorded_{}", column, r), j.recorded[r].values[c]);
      add(fmt::format("{}_deviation_{}", column, r), check.runs[r].columns[c].deviation);
    }
  }
  return table;
}

void draw_check(const Judging& j, const CrossCheck& check, const Trajectory<double>& table,
                const Invocation& call) {
  Drawing drawing;
  drawing.name = fmt::format("compare-{}-{}", j.model.name(), j.rung.name);
  drawing.script = "recorded-runs";
  drawing.title = fmt::format("recorded runs against {} {}", j.model.name(), j.rung.name);
  FigureTable csv;
  for (std::size_t k = 0; k < table.t.size(); ++k) {
    std::vector<Cell> row{{"t", table.t[k]}};
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      row.emplace_back(table.columns[c], table.rows[k][c]);
    }
    csv.add(row);
  }
  std::vector<std::string> panels, departures, floors;
  for (std::size_t c = 0; c < j.recorded.front().columns.size(); ++c) {
    panels.push_back(panel_title(j.recorded.front().columns[c]));
    double first = INFINITY;
    for (const RunCheck& run : check.runs) {
      first = std::min(first, run.columns[c].first_outside.value_or(INFINITY));
    }
    departures.push_back(std::isinf(first) ? "-" : fmt::format("{:.9g}", first));
    // Distances, entropies and losses have no band below 0.
    const std::size_t expected = c * (2 + 2 * j.recorded.size());
    bool negative = false;
    for (const std::vector<double>& row : table.rows) negative = negative || row[expected] < 0;
    for (const RecordedRun& run : j.recorded) {
      for (const double x : run.values[c]) negative = negative || x < 0;
    }
    floors.emplace_back(negative ? "-" : "0");
  }
  drawing.variables = {{"panels", fmt::format("{}", fmt::join(panels, " "))},
                       {"departures", fmt::format("{}", fmt::join(departures, " "))},
                       {"floors", fmt::format("{}", fmt::join(floors, " "))},
                       {"runs", std::to_string(j.recorded.size())},
                       {"mean", j.recorded.size() > 1 ? "1" : "0"},
                       {"expected", j.rung.name}};
  drawing.files = {{drawing.name + ".csv", csv.text()}};
  drawing.command = command_line(call);
  drawing.seed = j.common.seed;
  draw_and_tell(std::move(drawing), j.common.plot);
}

RungInfo sampled_rung(const Model& model, const RungInfo& rung) {
  if (rung.kind == RungKind::random) return rung;
  const std::set<std::string> own = rungs_of_training(model, rung.name);
  for (const RungInfo& info : model.rungs()) {
    if (info.kind == RungKind::random && (own.empty() || own.contains(info.name))) return info;
  }
  return rung;
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
  need(!options.instance.empty() || !options.flags.empty(),
       "give --instance, or parameters of the model, for the data");
}

int judge_runs(Judging& j, const Invocation& call) {
  const RungInfo sampled = sampled_rung(j.model, j.rung);
  // All that was given has to mean something to the rung that the fluctuation is taken from.
  const Parameters sampled_parameters =
      gather_parameters(j.common, j.model, std::vector<std::string>{sampled.name, j.rung.name});
  const WholeRuns whole({{j.common, j.model, sampled, sampled_parameters, j.times},
                         j.options.suspects,
                         share_of_settings * j.options.level,
                         share_of_levels * j.options.level,
                         j.options.resolution,
                         j.options.fresh_starts,
                         !j.options.ensemble},
                        j.recorded, j.report);
  j.whole = &whole;
  const PredictedRuns* const predicted = whole.predicted_runs();
  std::vector<Trajectory<double>> ensemble =
      predicted != nullptr
          ? predicted->sampled
          : produce_at(without_events(j.common), j.model, sampled, sampled_parameters, j.times,
                       j.report, j.options.fresh_starts);
  if (const int status = status_of(ensemble); status != success) return status;
  // From the rows that the recorded runs have, so that both are seen alike.
  find_regimes_of_walks(ensemble, j.model, sampled);
  const Fluctuation expected{predicted != nullptr ? predicted->ensemble : ensemble, predicted};
  if (j.recorded.size() > 1) j.recorded.push_back(mean_of(j.recorded));
  std::vector<Trajectory<double>> centre;
  Judgement made = judge(j, j.rung, sampled, expected, &centre);
  const CrossCheck& check = made.rows;
  std::string unexamined;  // after an interruption
  const WalkRequest steps = walk_request(j.common, sampled);
  made.batch = static_cast<double>(steps.batch);
  made.contradiction = contradiction_of(j.recorded, steps.step_size, j.options.resolution);
  if (made.whole.chance > 0 && j.rung.name == sampled.name && !j.options.no_fit) {
    try {
      made.fits = whole.fits(made.whole, j.report);
    } catch (const Stopped&) {
      unexamined = "settings that would explain the runs";
    }
  }
  const bool to_stdout = j.common.output == "-";
  if (!to_stdout) {
    fmt::print(
        standard_output(),
        "{} {} against {}: {} runs, {} times to t = {:.6g}\n"
        "expected fluctuation: {} with eta {:g}, batch {}, seed {}{}\n"
        "band: {:.3g} of it at level {:g} for {} looks ({}; own runs reach {:.3g})\n\n",
        j.model.name(), j.rung.name, fmt::join(j.options.with, ", "),
        j.recorded.size() - (j.recorded.size() > 1 ? 1 : 0), j.times.size(), j.times.back(),
        predicted != nullptr ? fmt::format("the predicted law of a run of {}", sampled.name)
                             : fmt::format("{} runs of {}", ensemble.size(), sampled.name),
        steps.step_size, steps.batch, j.common.seed,
        predicted != nullptr
            ? fmt::format("\n(its second order changes a test by up to {:.2g} deviations; {} "
                          "sampled runs agree; --ensemble for sampled runs only)",
                          made.whole.neglected, ensemble.size())
        : whole.why_not().empty() ? std::string{}
                                  : fmt::format("\n(sampled: {})", whole.why_not()),
        check.bound, j.request.false_alarm, check.looks,
        fmt::format("Student's t: {:.3g}; tail of own runs: {:.3g}", check.student_bound,
                    check.tail_bound),
        check.own_largest);
    print_gaps(j.recorded);
    print_early_ends(j.recorded);
    print_judgement(made, fmt::format("{} {}", j.model.name(), j.rung.name));
    print_regimes(j, sampled, ensemble, centre);
    if (!j.options.no_ladder && !print_ladder(j, sampled, expected) && unexamined.empty()) {
      unexamined = "other rungs";
    }
  }
  const bool with_centre = centre.size() == 1 && j.rung.kind != RungKind::random;
  Trajectory<double> table = table_of(j, check, centre.size() > 1 ? centre : expected.runs,
                                      with_centre ? &centre.front() : nullptr);
  if (!j.common.plot.empty()) draw_check(j, check, table, call);
  if (!j.common.output.empty() || host().results != nullptr) {
    RunRecord<double> record;
    record.model = j.model.name();
    record.rung = fmt::format("{} against {}", j.rung.name, fmt::join(j.options.with, ", "));
    record.parameters = sampled_parameters.values();
    record.command = command_line(call);
    record.seed = j.common.seed;
    record.judgement = as_record(made);
    record.sides = {side_of(j.common, sampled, sampled_parameters, ensemble)};
    if (j.rung.name != sampled.name && !centre.empty()) {
      record.sides.push_back(side_of(j.common, j.rung, sampled_parameters, centre));
    }
    record.runs = {std::move(table)};
    if (!j.common.output.empty()) write_record(record, j.common.output, standard_output());
    if (host().results != nullptr) host().results->run = std::move(record);
  }
  if (unexamined.empty()) return made.status();
  fmt::print(standard_error(),
             "popgrad: interrupted; the judgement is whole, {} were not examined\n", unexamined);
  return combined(made.status(), numerical_failure);
}

}  // namespace

int compare_with_recorded(const Command& command, const CompareOptions& options,
                          const Invocation& call) {
  CommonOptions common = *options.common;
  const Model& model = find_model(common.theories, common.model);
  const RungInfo& info = find_rung(model, options.first);
  const RungInfo sampled = sampled_rung(model, info);
  check_output(common.output);
  const std::vector<std::string> columns = columns_of(
      model, info, gather_parameters(common, model, {info.name, sampled.name}), common.seed);
  const RecordedLayout layout = layout_of(options);
  std::vector<RecordedRun> recorded = read_recorded_runs(options.with, layout, columns);
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
    if (const int status = status_of(runs); status != success) return status;
    fmt::print(standard_output(), "{} {} against {}: {} runs; {}\n", model.name(), info.name,
               fmt::join(options.with, ", "), recorded.size(),
               options.clock.empty()
                   ? "computed time = factor * recorded time, factor fitted to each; with --clock "
                     "the runs are judged"
                   : "deviations only: no sampled rung has instances of this form, so there is no "
                     "fluctuation to judge by");
    print_gaps(recorded);
    print_early_ends(recorded);
    print_deviations(recorded, runs, options.clock.empty());
    return success;
  }
  // Steps and batch say how the recorded run was made, whatever the rung is.
  check_meaning(command, sampled);
  require_setting(common);
  CompareOptions chosen = options;
  chosen.ensemble = options.ensemble || common.runs.has_value();
  if (!common.runs) common.runs = standard_runs;
  if (*common.runs < 3) {
    reject("popgrad compare", "--runs", std::to_string(*common.runs),
           "is too few for a spread; give at least 3, better 64");
  }
  std::vector<double> times = recorded.front().t;
  if (times.empty() || !(times.back() > 0)) {
    throw InputError("popgrad compare: the recorded runs have no time after 0; see --clock");
  }
  Judging j{chosen,
            model,
            info,
            common,
            std::move(recorded),
            std::move(times),
            {share_of_rows * options.level, options.resolution},
            report};
  return judge_runs(j, call);
}

}  // namespace popgrad::cli
