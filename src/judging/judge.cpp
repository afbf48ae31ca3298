#include "popgrad/judging/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "judging/cross_check.hpp"
#include "judging/other_readings.hpp"
#include "judging/possible_values.hpp"
#include "judging/whole_runs.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/failure.hpp"
#include "popgrad/base/range.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/judging/compare.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/scalar.hpp"
#include "runs/runs_of_rung.hpp"

namespace popgrad {
namespace {

// Of the level. Faults of settings show in sums over all rows long before they show in one row; rows and
// levels are for what no setting makes.
constexpr double share_of_settings = 0.8;
constexpr double share_of_levels = 0.1;
constexpr double share_of_rows = 0.1;

constexpr double usual_tolerance = 1e-11;  // of a flow

// The runs that judge rows before all else, the first of the ensemble.
constexpr std::uint32_t first_runs = 8;

bool has(const std::vector<std::string>& columns, std::string_view name) {
  return std::find(columns.begin(), columns.end(), name) != columns.end();
}

// Whether the rows of an observable fluctuate in each run at least half as much as expected: those of a smooth one
// taken for one of independent rows do not, which no test of their mean shows.
bool fluctuates(const CrossCheck& rows, const std::string& observable) {
  constexpr std::size_t enough = 16;  // 1 in 4000 such rows has less than a quarter of its variance
  return std::all_of(rows.runs.begin(), rows.runs.end(), [&](const RunCheck& run) {
    return std::all_of(run.columns.begin(), run.columns.end(), [&](const ColumnCheck& column) {
      return column.column != observable || column.deviation.size() < enough ||
             column.root_mean_square > 0.5;
    });
  });
}

JudgedSetting setting_of(const Suspect& suspect) {
  return {suspect.in_training_only ? suspect.label() : suspect.name,
          suspect.assumed,
          suspect.kind == Suspect::Kind::choice,
          suspect.said,
          suspect.other,
          suspect.kind == Suspect::Kind::learning_rate,
          suspect.asked_for,
          suspect.possible};
}

// Of 95 %. Where a line through the estimate leaves what is possible, a batch is estimated by what it does to the
// variance, in which sizes are linear.
SettingEstimate estimate_of(const Suspect& suspect, const ScoreTest& test) {
  const double value = suspect.value_at(test.size);
  const double half = test.half_width(0.05);
  const double of_line = half * suspect.slope_at(test.size);
  const Share line{value, value - of_line, value + of_line};
  if (suspect.kind == Suspect::Kind::batch && !(line.low >= suspect.possible.low)) {
    return possible_estimate(suspect.possible, {value, suspect.value_at(test.size - half),
                                                suspect.value_at(test.size + half)});
  }
  return possible_estimate(suspect.possible, line);
}

FittedSetting fitted_setting(const FittedFault& fit) {
  const Range& possible = fit.suspect.possible;
  std::optional<Share> interval = fit.interval;
  if (!interval && fit.suspect.kind != Suspect::Kind::choice) {
    const Share line{fit.value, fit.value - fit.half_width, fit.value + fit.half_width};
    if (end_before(possible, line.low) || end_before(possible, line.high)) interval = line;
  }
  std::string why_not = fit.why_not;
  if (interval) {
    const std::optional<RangeEnd> beyond = end_before(possible, interval->high);
    if (beyond && interval->high < beyond->value && !fit.explains && why_not.empty()) {
      why_not = fmt::format("none {} explains them", beyond->rule);
    }
    interval = possible_estimate(possible, *interval).interval;
  }
  return {setting_of(fit.suspect), fit.value, fit.half_width, interval, fit.explains, why_not};
}

SettingTest result_of(const WholeRunTests& tests, const WholeRunTests::Fault& fault, double runs) {
  const Suspect& suspect = fault.suspect;
  const bool choice = suspect.kind == Suspect::Kind::choice;
  const double slope = suspect.slope_at(fault.test.size);
  const double later = runs + Judgement::more_runs;
  return {setting_of(suspect),
          tests.departs(fault),
          fault.test.statistic(),
          tests.bound(fault),
          fault.chance,
          estimate_of(suspect, fault.test),
          fault.test.standard_error * slope,
          tests.visible(fault, runs, runs),
          tests.visible(fault, runs, later),
          choice ? tests.power(fault, runs, runs) : 0,
          choice ? tests.power(fault, runs, later) : 0,
          fault.of_laws};
}

void take(const WholeRunTests& tests, Judgement& made) {
  made.has_tests = tests.chance > 0;
  made.chance = tests.chance;
  made.neglected = tests.neglected;
  made.predicted_weights = tests.predicted;
  made.not_tested = tests.not_tested;
  for (const WholeRunTests::Fault& fault : tests.faults) {
    made.settings.push_back(result_of(tests, fault, made.recorded_runs));
  }
  for (const WholeRunTests::Fault& fault : tests.unseen) {
    made.unseen.push_back(result_of(tests, fault, made.recorded_runs));
  }
  double largest = 0;
  for (const WholeRunTests::Level& level : tests.levels) {
    const LevelTest test{level.what, level.test.statistic(),
                         level.test.bound_here(tests.level_chance)};
    const double share = std::fabs(test.statistic) / test.bound;
    if (made.levels.empty() || share > largest) {
      largest = share;
      made.largest_level = made.levels.size();
    }
    made.levels.push_back(test);
  }
  if (!made.has_tests) return;
  made.scatter_departs = tests.scatter_departs();
  made.scatter_chance = tests.scatter.chance();
  const Share ratio = tests.scatter.interval(0.05);
  made.batch = possible_estimate(at_least(1),
                                 {made.assumed_batch / ratio.value, made.assumed_batch / ratio.high,
                                  made.assumed_batch / ratio.low});
  made.batch.half_width = 0;  // it is not symmetric
}

bool has_numbers_of(const std::vector<RecordedRun>& a, const std::vector<RecordedRun>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const RecordedRun& x, const RecordedRun& y) {
                      return x.columns == y.columns && x.values == y.values;
                    });
}

constexpr int least_decade = -30;  // of a chance that is computed

std::string chance_text(double chance) {
  return chance <= std::pow(10, least_decade) ? fmt::format("below 1e{}", least_decade)
                                              : fmt::format("{:.1g}", chance);
}

// Runs that fluctuate as the recorded ones should, and whether they are predicted.
struct Fluctuation {
  const std::vector<Trajectory<double>>& runs;
  const PredictedRuns* predicted = nullptr;
};

}  // namespace

bool Judgement::consistent() const {
  if (!rows.consistent()) return false;
  if (!has_tests) return true;
  return !scatter_departs && std::none_of(settings.begin(), settings.end(), [](const auto& test) {
    return test.departs;
  }) && std::none_of(levels.begin(), levels.end(), [](const LevelTest& test) {
    return !(std::fabs(test.statistic) <= test.bound);
  });
}

bool Judgement::blind() const {
  if (!consistent()) return false;
  if (rows.escaped.recorded > 0) return true;
  const auto rate = std::find_if(settings.begin(), settings.end(), [](const SettingTest& test) {
    return test.setting.is_learning_rate;
  });
  return rate == settings.end() || !(rate->visible <= 0.1 * rate->setting.assumed);
}

const RungInfo& sampled_rung(const Model& model, const RungInfo& rung) {
  const RungInfo& own = find_rung(model, rung.name);
  if (own.kind == RungKind::random) return own;
  const std::set<std::string> ladder = rungs_of_training(model, rung.name);
  for (const Rung& row : model.table()) {
    if (row.info.kind == RungKind::random && (ladder.empty() || ladder.contains(row.info.name))) {
      return row.info;
    }
  }
  return own;
}

struct RunJudge::State {
  using Clock = std::chrono::steady_clock;
  JudgeRequest request;
  const RungInfo& rung;
  const RungInfo& sampled;
  std::vector<RecordedRun> recorded;
  std::vector<double> times;
  Report report;
  std::unique_ptr<WholeRuns> whole;
  std::vector<Trajectory<double>> ensemble, own;
  WholeRunTests tests;
  Judgement judgement;
  std::vector<JudgingTime> took;
  Clock::time_point part_began = Clock::now();

  State(JudgeRequest asked, std::vector<RecordedRun> runs, Report reporting)
      : request(std::move(asked)),
        rung(find_rung(request.model, request.rung)),
        sampled(sampled_rung(request.model, rung)),
        recorded(std::move(runs)),
        times(recorded.at(0).t),
        report(std::move(reporting)) {}

  [[nodiscard]] Fluctuation expected() const {
    const PredictedRuns* const predicted = whole->predicted_runs();
    return {predicted != nullptr ? predicted->ensemble : ensemble, predicted};
  }

  [[nodiscard]] WalkRequest steps_of(const RungInfo& info) const {
    WalkRequest steps = request.steps;
    steps.save_steps = steps_at(times, steps.step_size);
    steps.steps = steps.save_steps.back();
    if (!has_batch(info)) steps.batch = 0;
    if (info.name != sampled.name) {
      steps.sampled = {};
    } else {
      steps.sampled.loss = has(recorded.front().columns, batch_loss_column);
      steps.sampled.accuracy = has(recorded.front().columns, batch_accuracy_column);
    }
    steps.runs = info.kind == RungKind::random ? request.runs : 1;
    return steps;
  }

  [[nodiscard]] SolveRequest<double> flow_request() const {
    SolveRequest<double> flow;
    flow.save_at = times;
    flow.end = times.back();
    flow.method = request.method;
    const std::string own_tolerance = flow_defaults(request.model, request.parameters).tolerance;
    const double standard =
        own_tolerance.empty() ? usual_tolerance : from_text<double>(own_tolerance);
    flow.relative_tolerance =
        request.relative_tolerance > 0 ? request.relative_tolerance : standard;
    flow.absolute_tolerance =
        request.absolute_tolerance > 0 ? request.absolute_tolerance : flow.relative_tolerance / 100;
    return flow;
  }

  void ends_part(std::string part) {
    const Clock::time_point now = Clock::now();
    took.push_back({std::move(part), std::chrono::duration<double>(now - part_began).count()});
    part_began = now;
  }

  // Further runs of the ensemble, until it has `runs`, or all.
  void sample_up_to(std::uint32_t runs) {
    WalkRequest steps = steps_of(sampled);
    steps.first_run = static_cast<std::uint32_t>(ensemble.size());
    steps.runs = std::min(runs, steps.runs) - steps.first_run;
    std::vector<Trajectory<double>> further = uninterrupted(runs_of_walk(
        request.model, sampled, request.parameters, steps, {false, request.fresh_starts}, report));
    require_ends(further);
    std::move(further.begin(), further.end(), std::back_inserter(ensemble));
  }

  [[nodiscard]] CrossCheckRequest row_request() const {
    return {share_of_rows * request.level, request.resolution};
  }

  [[nodiscard]] CrossCheck rows_of(const std::vector<Trajectory<double>>& runs) const {
    return cross_check(recorded, runs, nullptr, row_request());
  }

  // Of another rung than the sampled one, at the recorded times.
  [[nodiscard]] std::vector<Trajectory<double>> runs_of(const RungInfo& info, bool events) const {
    require_read(request.parameters, request.model, {info.name, sampled.name});
    std::vector<Trajectory<double>> runs;
    if (walks(info)) {
      runs = runs_of_walk(request.model, info, request.parameters, steps_of(info),
                          {events, request.fresh_starts}, report);
    } else {
      SolveRequest<double> flow = flow_request();
      flow.find_events = events;
      runs = {
          run_of_flow(request.model, info, request.parameters, request.steps.seed, flow, report)};
    }
    require_ends(uninterrupted(runs));
    for (const std::string& column : recorded.front().columns) {
      if (!has(runs.front().columns, column)) {
        throw InputError(fmt::format("has no {}", column));
      }
    }
    return runs;
  }

  // The first other meaning of what runs that depart have logged by which they agree.
  [[nodiscard]] std::vector<std::string> agreeing_readings() const {
    std::vector<RecordedRun> runs = recorded;
    std::erase_if(runs, [](const RecordedRun& run) { return run.averaged > 1; });
    std::vector<std::vector<double>> means;
    for (const std::string& column : runs.front().columns) {
      means.push_back(band(expected().runs, column).mean);
    }
    for (OtherReading& reading :
         other_readings({runs, means, judgement.rows, request.model, sampled, request.parameters,
                         request.steps.step_size, static_cast<double>(request.steps.batch),
                         request.steps.sampled})) {
      JudgeRequest other = request;
      other.fit = false;
      other.steps.sampled = reading.columns;
      try {
        // Most meanings are wrong by far, which few runs show at a fraction of the cost of the tests.
        State few(other, reading.runs, report);
        few.sample_up_to(first_runs);
        if (!few.rows_of(few.ensemble).consistent()) continue;
        // So do the tests, where they are of the same numbers.
        if (has_numbers_of(reading.runs, runs) &&
            whole->tests(few.ensemble, nullptr, false).largest_excess() > 0) {
          continue;
        }
        const RunJudge judge(std::move(other), std::move(reading.runs), report);
        const CrossCheck& rows = judge.judgement().rows;
        const bool single_rows =
            reading.independent.empty() || fluctuates(rows, reading.independent);
        if (judge.judgement().consistent() && single_rows) {
          return {fmt::format("{}: chance {} instead of {}", reading.words,
                              chance_text(judge.state_->chance()), chance_text(chance()))};
        }
      } catch (const Stopped&) {
        throw;
      } catch (const std::exception&) {
        // Such runs cannot be: a time between two steps, a loss of no samples.
      }
    }
    return {};
  }

  // The lowest level at which something departs, to a tenth of a decade: the chance of as much under the sampled law.
  [[nodiscard]] double chance() const {
    constexpr double precision = 0.1;
    CrossCheckRequest asked = row_request();
    asked.predicted = expected().predicted;
    double departs = 0, passes = least_decade;  // logarithms of levels
    const auto is_consistent = [&](double decade) {
      const double level = std::pow(10, decade);
      asked.false_alarm = share_of_rows * level;
      return tests.with_chances_times(level / request.level).consistent() &&
             cross_check(recorded, expected().runs, nullptr, asked).consistent();
    };
    if (is_consistent(departs)) return 1;
    while (departs - passes > precision) {
      const double middle = (departs + passes) / 2;
      (is_consistent(middle) ? passes : departs) = middle;
    }
    return std::pow(10, passes);
  }

  // Rows and tests by what a rung makes; empty `runs`: by the sampled rung itself.
  [[nodiscard]] std::pair<CrossCheck, WholeRunTests> tests_of(
      const RungInfo& info, const std::vector<Trajectory<double>>& runs) const {
    const bool sampling = !runs.empty() && info.kind == RungKind::random;
    const Fluctuation spread = sampling ? Fluctuation{runs} : expected();
    const Trajectory<double>* const centre = sampling || runs.empty() ? nullptr : &runs.front();
    CrossCheckRequest rows = row_request();
    rows.predicted = spread.predicted;
    std::pair<CrossCheck, WholeRunTests> made{cross_check(recorded, spread.runs, centre, rows), {}};
    if (whole->numbers() > 0) {
      made.second = whole->tests(spread.runs, centre, spread.predicted != nullptr);
    }
    return made;
  }
};

RunJudge::RunJudge(JudgeRequest request, std::vector<RecordedRun> recorded,
                   const std::function<bool(double)>& report, const OnRows& on_rows) {
  if (recorded.empty() || recorded.front().t.empty() || !(recorded.front().t.back() > 0)) {
    throw InputError("popgrad: the recorded runs have no time after 0");
  }
  state_ = std::make_unique<State>(std::move(request), std::move(recorded), report);
  State& s = *state_;
  const JudgeRequest& asked = s.request;
  if (on_rows && s.rung.kind == RungKind::random && s.rung.name == s.sampled.name &&
      asked.runs > first_runs) {
    s.sample_up_to(first_runs);
    on_rows(s.rows_of(s.ensemble));
    s.ends_part("first rows");
  }
  s.whole = std::make_unique<WholeRuns>(
      WholeRunRequest{{asked.model, s.sampled, asked.parameters, s.steps_of(s.sampled)},
                      asked.suspects,
                      share_of_settings * asked.level,
                      share_of_levels * asked.level,
                      share_of_rows * asked.level,
                      asked.resolution,
                      asked.fresh_starts,
                      !asked.ensemble},
      s.recorded, s.report);
  const PredictedRuns* const predicted = s.whole->predicted_runs();
  s.ends_part("tests");
  if (predicted != nullptr) {
    s.ensemble = predicted->sampled;
    require_ends(s.ensemble);
  } else {
    s.sample_up_to(asked.runs);
  }
  // From the rows that the recorded runs have, so that both are seen alike.
  find_regimes_of_walks(s.ensemble, asked.model, s.sampled);
  if (s.recorded.size() > 1) s.recorded.push_back(mean_of(s.recorded));
  if (s.rung.name != s.sampled.name) s.own = s.runs_of(s.rung, asked.events);
  std::tie(s.judgement.rows, s.tests) = s.tests_of(s.rung, s.own);
  if (s.own.empty() && s.judgement.rows.consistent() && s.whole->numbers() > 0)
    s.tests = s.whole->confirmed(s.tests, s.report);
  Judgement& made = s.judgement;
  made.level = asked.level;
  made.row_level = share_of_rows * asked.level;
  made.recorded_runs = s.whole->recorded_runs();
  made.learning_rate = asked.steps.step_size;
  made.predicted = predicted != nullptr && !(s.rung.kind == RungKind::random && !s.own.empty());
  made.why_sampled = s.whole->why_not();
  made.own_runs = s.ensemble.size();
  made.assumed_batch = static_cast<double>(asked.steps.batch);
  take(s.tests, made);
  s.ends_part("expected runs");
  if (!made.has_tests || s.rung.name != s.sampled.name || !asked.fit) return;
  try {
    if (!made.consistent()) made.readings = s.agreeing_readings();
    for (const FittedFault& fit : s.whole->fits(s.tests, s.report)) {
      made.fits.push_back(fitted_setting(fit));
    }
  } catch (const Stopped&) {
    made.fits_interrupted = true;
  }
  s.ends_part("fits");
}

RunJudge::~RunJudge() = default;

const Judgement& RunJudge::judgement() const { return state_->judgement; }
const std::vector<RecordedRun>& RunJudge::recorded() const { return state_->recorded; }
const std::vector<Trajectory<double>>& RunJudge::expected() const {
  return state_->expected().runs;
}
const std::vector<Trajectory<double>>& RunJudge::sampled() const { return state_->ensemble; }
const std::vector<JudgingTime>& RunJudge::times() const { return state_->took; }
const std::vector<Trajectory<double>>& RunJudge::own() const { return state_->own; }

std::vector<RungScore> RunJudge::ladder(bool& interrupted) const {
  const State& s = *state_;
  interrupted = false;
  std::vector<RungScore> scores;
  const std::set<std::string> known = rungs_of_training(s.request.model, s.sampled.name);
  for (const Rung& row : s.request.model.table()) {
    const RungInfo& info = row.info;
    if (!known.contains(info.name)) continue;
    RungScore score{info.name, std::numeric_limits<double>::infinity(), false, {}, {}};
    for (const ParameterInfo& parameter : s.request.model.parameters()) {
      if (!parameter.is_read_by(info.name) && s.request.parameters.has(parameter.name)) {
        score.left_out.push_back(parameter.name);
      }
    }
    try {
      const bool same = info.name == s.sampled.name;
      const auto [rows, tests] =
          s.tests_of(info, same ? std::vector<Trajectory<double>>{} : s.runs_of(info, false));
      score.root_mean_square = rows.root_mean_square;
      score.consistent = rows.consistent() && (tests.chance == 0 || tests.consistent());
    } catch (const Stopped&) {
      interrupted = true;
      break;
    } catch (const std::exception& error) {
      score.why_not = words_of(error);
    }
    scores.push_back(std::move(score));
  }
  std::stable_sort(scores.begin(), scores.end(), [](const RungScore& a, const RungScore& b) {
    return a.root_mean_square < b.root_mean_square;
  });
  return scores;
}

}  // namespace popgrad
