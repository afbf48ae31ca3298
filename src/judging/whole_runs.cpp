#include "judging/whole_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>
#include <utility>

#include "judging/cross_check.hpp"
#include "judging/possible_values.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/failure.hpp"
#include "popgrad/base/range.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/statistics/statistics.hpp"
#include "runs/runs_of_rung.hpp"

namespace popgrad {
namespace {

// Number of the first run that is not of the ensemble: what is estimated from these runs is fixed when
// the ensemble is looked at.
constexpr std::uint32_t other_draws = 1'000'000;
constexpr std::uint32_t sampled_runs_of_a_shift = 16;
constexpr double share_of_named = 0.9;
constexpr double share_of_larger_batch = 0.8;
constexpr int most_steps = 12;  // of a fit, some of which only change its runs
// Of a search for a value. Equal draws move alike, so that these come within a fraction of a deviation of
// where all runs do, at a fraction of their cost; fewer do far from there. All judge what is found.
constexpr std::uint32_t sampled_runs_of_a_search = 16;
constexpr std::uint32_t sampled_runs_far_away = 4;
// Standard errors. Within `near` of the best value it follows along a line.
constexpr double far_away = 10;
constexpr double near = 1;
constexpr double settled = 0.2;
// A fit ends where `patience` steps lower the sum of squares of all numbers by less than `least_gain`, about the square
// of the bound of one test.
constexpr int patience = 3;
constexpr double least_gain = 15;
constexpr Index linear_runs_of_a_search = 128;
// Where sampled ones take more, linear ones search.
constexpr double draws_of_a_search = 5e5;
constexpr int most_halvings = 3;
constexpr double largest_batch = 16;  // in units of that assumed
constexpr Index number_of_predicted_runs = 1000;
constexpr Index number_of_likely_runs = 2000;  // that weights are made of
constexpr Index runs_of_a_law = 512;           // with a fault that changes how runs fluctuate
// A choice that would be found less often is not looked for unless it is named.
constexpr double least_power = 0.05;
// Sampled ones, of a prediction: as many as these draws make. A skewness is known to sqrt(6/runs).
constexpr std::uint32_t fewest_of_a_check = 32;
constexpr std::uint32_t most_of_a_check = 128;
constexpr double draws_of_a_check = 4e6;
// That decide on a narrow departure, of other draws than all others.
constexpr std::uint32_t deciding_draws = 2'000'000;
constexpr std::uint32_t fewest_deciding = 256;
constexpr std::uint32_t most_deciding = 1024;
constexpr double draws_of_a_decision = 3.2e7;
constexpr double narrow = 1.5;  // times the bound
constexpr double least_narrow_chance = 1e-9;

// Of the rows of an observable.
constexpr std::array part_names{"first third", "middle third", "last third"};

bool is_zero(const Vector<double>& shift) {
  // Rounding of equal runs, in units of their deviation.
  return !(shift.lpNorm<Eigen::Infinity>() > 1e-9);
}

bool beyond(const ScoreTest& test, double chance) {
  return !(std::fabs(test.statistic()) <= test.bound_here(chance));
}

}  // namespace

const WholeRunTests::Level& WholeRunTests::largest_level() const {
  const auto share = [&](const Level& level) {
    return std::fabs(level.test.statistic()) / level.test.bound_here(level_chance);
  };
  return *std::max_element(levels.begin(), levels.end(),
                           [&](const Level& a, const Level& b) { return share(a) < share(b); });
}

double WholeRunTests::bound(const Fault& fault) const {
  const bool below = !fault.suspect.one_sided() && fault.test.size < 0;
  return bound(fault, below ? ScoreTest::Side::below : ScoreTest::Side::above);
}

double WholeRunTests::bound(const Fault& fault, ScoreTest::Side side) const {
  const double above = fault.suspect.one_sided()                    ? 1
                       : fault.suspect.kind == Suspect::Kind::batch ? share_of_larger_batch
                                                                    : 0.5;
  const double share = side == ScoreTest::Side::above ? above : 1 - above;
  return fault.test.bound(2 * share * fault.chance, side);
}

bool WholeRunTests::departs(const Fault& fault) const {
  const double statistic = fault.test.statistic();
  return !((fault.suspect.one_sided() ? statistic : std::fabs(statistic)) <= bound(fault));
}

bool WholeRunTests::consistent() const {
  return !scatter_departs() && std::none_of(faults.begin(), faults.end(), [&](const Fault& fault) {
    return departs(fault);
  }) && std::none_of(levels.begin(), levels.end(), [&](const Level& level) {
    return beyond(level.test, level_chance);
  });
}

double WholeRunTests::largest_excess() const {
  double largest = -std::numeric_limits<double>::infinity();
  for (const Fault& fault : faults) {
    // A batch is far off where a mean is.
    if (fault.suspect.kind == Suspect::Kind::batch) continue;
    const double statistic = fault.test.statistic();
    largest = std::max(
        largest, (fault.suspect.one_sided() ? statistic : std::fabs(statistic)) - bound(fault));
  }
  for (const Level& level : levels) {
    largest =
        std::max(largest, std::fabs(level.test.statistic()) - level.test.bound_here(level_chance));
  }
  return largest;
}

WholeRunTests WholeRunTests::with_chances_times(double factor) const {
  WholeRunTests made = *this;
  made.chance *= factor;
  made.level_chance *= factor;
  for (Fault& fault : made.faults) fault.chance *= factor;
  return made;
}

namespace {

// Standard error with `runs` runs, where there are `now`.
double error_with(const ScoreTest& test, double now, double runs) {
  return test.standard_error * std::sqrt((1 / runs + test.sampling) / (1 / now + test.sampling));
}

}  // namespace

double WholeRunTests::power(const Fault& fault, double now, double runs) const {
  const double error = error_with(fault.test, now, runs);
  const double one = fault.test.standard_error / std::sqrt(1 / now + fault.test.sampling);
  // Of the other choice's runs and of what is expected as said.
  const double spread =
      std::hypot(fault.there / std::sqrt(runs), one * std::sqrt(fault.test.sampling));
  const double beyond_bound = (1 - bound(fault) * error) / spread;
  return std::erfc(-beyond_bound / std::numbers::sqrt2) / 2;
}

double WholeRunTests::visible(const Fault& fault, double now, double runs) const {
  const double error = error_with(fault.test, now, runs);
  const double above = bound(fault, ScoreTest::Side::above);
  const double either =
      fault.suspect.one_sided() ? above : std::max(above, bound(fault, ScoreTest::Side::below));
  return (either + normal_quantile(0.95)) * error;
}

WholeRuns::WholeRuns(WholeRunRequest request, const std::vector<RecordedRun>& recorded,
                     const Report& report)
    : request_(std::move(request)),
      runs_(recorded),
      linear_(request_.claimed, request_.fresh_starts) {
  const std::vector<std::string>& columns = recorded.front().columns;
  const std::string none = linear_.why_not(columns.size());
  if (none.empty()) {
    linear_.make(suspects(request_.claimed, request_.suspects),
                 number_of_likely_runs + (request_.predict ? number_of_predicted_runs : 0),
                 runs_of_a_law, report);
  }
  if (request_.predict) {
    why_not_ = none;
    if (none.empty()) predict(columns, report);
  }
  prepare(recorded, report);
  if (predicted_ == nullptr) return;
  why_not_ = objection();
  if (why_not_.empty()) return;
  predicted_.reset();
  prepare(recorded, report);
}

void WholeRuns::predict(const std::vector<std::string>& columns, const Report& report) {
  PredictedRuns made;
  const auto half = linear_.second().begin() + number_of_likely_runs;
  made.second.assign(linear_.second().begin(), half);
  made.ensemble.assign(half, linear_.second().end());
  made.first = linear_.first();
  if (const auto end = prediction_ends(made.second, made.first, columns, request_.resolution)) {
    std::vector<std::string> ending;
    for (const std::string& column : columns) {
      if (prediction_ends(made.second, made.first, {column}, request_.resolution)) {
        ending.push_back(column);
      }
    }
    why_not_ =
        fmt::format("the prediction ends at t = {:.6g}, of {}{}", *end, fmt::join(ending, " "),
                    ending.size() < columns.size() ? "; what else is logged is predicted" : "");
    return;
  }
  const std::uint32_t count = runs_of_draws(draws_of_a_check, fewest_of_a_check, most_of_a_check);
  const Suspect claimed = as_claimed();
  made.sampled = simulate(claimed, claimed.assumed, count, other_draws, report);
  require_ends(made.sampled);
  predicted_ = std::make_unique<PredictedRuns>(std::move(made));
}

Suspect WholeRuns::as_claimed() const {
  return suspects(request_.claimed, request_.suspects).front();
}

std::uint32_t WholeRuns::runs_of_draws(double draws, double fewest, double most) const {
  const WalkRequest& steps = request_.claimed.steps;
  const double of_a_run = static_cast<double>(steps.steps) * static_cast<double>(steps.batch);
  return static_cast<std::uint32_t>(std::clamp(draws / of_a_run, fewest, most));
}

std::string WholeRuns::objection() const {
  if (known_.empty()) return "nothing that was logged depends on the learning rate";
  const auto fails = [](const auto& sum) { return !sum.error.holds(); };
  const auto fault = std::find_if(known_.begin(), known_.end(), fails);
  if (fault != known_.end()) {
    return fmt::format("sampled runs and orders of the prediction differ in the test of {}",
                       fault->suspect.label());
  }
  const auto level = std::find_if(levels_.begin(), levels_.end(), fails);
  if (level == levels_.end()) return {};
  return fmt::format("sampled runs and orders of the prediction differ in {}", level->what);
}

PredictionError WholeRuns::error_of(const RunScore& score) const {
  if (predicted_ == nullptr) return {};
  return prediction_error({score.of(predicted_numbers_), score.of(*likely_), score.of(first_order_),
                           score.of(spread_)});
}

std::optional<RunScore> WholeRuns::best_score(const Suspect& suspect) const {
  const auto* const runs = linear_.changed(suspect);
  if (law_ == nullptr || runs == nullptr) return std::nullopt;
  const Matrix<double> changed = logged_->of(*runs);
  if (!changed.allFinite()) return std::nullopt;
  // How runs fluctuate changes in as many ways as there are pairs of numbers: of the batch all of them by one
  // factor, of a choice whatever the linear runs say.
  std::optional<ScoreKind> squares;
  if (suspect.kind == Suspect::Kind::batch) squares = ScoreKind::stretch;
  if (suspect.kind == Suspect::Kind::choice) squares = ScoreKind::laws;
  const Matrix<double> before = likely_->leftCols(changed.cols());
  const double change = change_of(suspect);
  const FaultShift shift(*law_, before, changed, change, suspect.changes_fluctuation());
  const Matrix<double> second = likely_->leftCols(first_order_.cols());
  const auto recorded = static_cast<double>(recorded_.cols());
  constexpr double never = std::numeric_limits<double>::infinity();
  // Smallest fault that is found with 95 %, of the sign that is harder to find and of the other, by the
  // deviation of sampled runs: in directions in which runs hardly fluctuate that is more than predicted.
  const auto found = [&](const RunScore& score) -> std::pair<double, double> {
    const Vector<double> values = score.of(second);
    const Vector<double> seen = score.of(spread_);
    const Shape shape = shape_of(values);
    const double bias =
        second_order_changes(values.transpose(), score.of(first_order_).transpose(), 0)[0];
    if (!(bias <= largest_neglected)) return {never, never};
    const bool choice = suspect.kind == Suspect::Kind::choice;
    // Sums of squares of all pairs are what a prediction is least sure of.
    if (choice && !error_of(score).holds()) return {never, never};
    const double sampling = 1 / static_cast<double>(seen.size());
    const double unsure = sampling / (1 + sampling / (bias * bias));
    const double error = shape_of(seen).deviation * std::sqrt(1 / recorded + unsure);
    // Of the deviation by a unit of the fault: a larger batch leaves less of it.
    const double growth =
        (shape_of(score.of(changed)).deviation / shape_of(score.of(before)).deviation - 1) / change;
    const double quantile = normal_quantile(0.95);
    const auto smallest = [&](double sign) {
      // A choice is all or nothing: what it makes of the deviation is known, and no line.
      const double skewness = choice ? std::fabs(shape.skewness) : sign * shape.skewness;
      const double bound = bound_of_mean(skewness, shape.kurtosis - 3, recorded, typical_chance);
      if (choice) return error * (bound + quantile);
      // size = error (bound + quantile (1 + sign growth size))
      const double left = 1 - sign * growth * error * quantile;
      if (!(left > 0)) return never;
      const double value = suspect.value_at(sign * error * (bound + quantile) / left);
      return std::isfinite(value) ? std::fabs(value - suspect.assumed) : never;
    };
    const double more = smallest(1);
    if (suspect.one_sided()) return {more, more};
    const double less = smallest(-1);
    return {std::max(more, less), std::min(more, less)};
  };
  std::optional<RunScore> best;
  std::pair<double, double> smallest{never, never};
  const auto look_at = [&](std::optional<RunScore> score) {
    if (!score) return false;
    const std::pair<double, double> size = found(*score);
    if (!(size < smallest)) return false;
    smallest = size;
    best = std::move(score);
    return true;
  };
  double of_means = 1;
  for (int half_decade = -8; half_decade <= 2; ++half_decade) {
    const double lambda = std::pow(10.0, 0.5 * half_decade);
    if (look_at(shift.score(lambda, ScoreKind::means))) of_means = lambda;
  }
  if (squares) {
    // Of a choice, whose squares are as large as its sums, one lambda for both.
    const bool choice = suspect.kind == Suspect::Kind::choice;
    for (const double of_squares : {1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0}) {
      look_at(shift.score(choice ? of_squares : of_means, *squares, of_squares));
    }
  }
  return best;
}

double WholeRuns::deviation_there(const Suspect& suspect, const RunScore& score) const {
  const auto* const runs = linear_.changed(suspect);
  if (suspect.kind != Suspect::Kind::choice || runs == nullptr) return 0;
  return shape_of(score.of(logged_->of(*runs))).deviation;
}

void WholeRuns::prepare(const std::vector<RecordedRun>& recorded, const Report& report) {
  known_.clear();
  not_tested_.clear();
  levels_.clear();
  likely_.reset();
  law_.reset();
  const std::vector<Suspect> all = suspects(request_.claimed, request_.suspects);
  const auto runs = request_.claimed.steps.runs;
  const auto half = static_cast<Index>(std::max<std::uint32_t>(sampled_runs_of_a_shift, runs / 2));
  std::vector<Trajectory<double>> spread;
  if (predicted_ == nullptr) {
    spread = simulate(all.front(), all.front().assumed, static_cast<std::uint32_t>(2 * half),
                      other_draws, report);
    require_ends(spread);
  }
  logged_ = std::make_unique<LoggedNumbers>(
      recorded, predicted_ != nullptr ? predicted_->second : spread, request_.resolution);
  if (numbers() == 0) return;
  recorded_ = logged_->of(recorded);
  Matrix<double> judges;
  if (predicted_ != nullptr) {
    spread_ = logged_->of(predicted_->sampled);
    likely_ = logged_->of(predicted_->second);
    first_order_ = logged_->of(predicted_->first);
    predicted_numbers_ = logged_->of(predicted_->ensemble);
  } else {
    const Matrix<double> numbers_of_spread = logged_->of(spread);
    spread_ = numbers_of_spread.leftCols(half);
    judges = numbers_of_spread.rightCols(half);
    if (!linear_.second().empty()) {
      likely_ = logged_->of(linear_.second()).leftCols(number_of_likely_runs);
    }
  }
  if (likely_ && !likely_->allFinite()) likely_.reset();
  if (likely_ && predicted_ != nullptr) law_ = std::make_unique<LikelyRuns>(*likely_);
  std::vector<std::pair<Suspect, Vector<double>>> shifts;
  for (const Suspect& suspect : all) {
    try {
      Vector<double> shift = shift_by(suspect, report);
      // A choice may change nothing but how runs fluctuate.
      if (!is_zero(shift) || suspect.kind == Suspect::Kind::choice)
        shifts.emplace_back(suspect, std::move(shift));
    } catch (const InputError&) {
      // Among numbers that nobody named some belong to other options than are in use.
      if (suspect.asked_for || suspect.kind == Suspect::Kind::learning_rate) throw;
    }
  }
  correlation_ = std::make_unique<RunCorrelation>(RunCorrelation::estimated(spread_));
  if (likely_ && !shifts.empty()) {
    if (predicted_ != nullptr) {
      *correlation_ = RunCorrelation::predicted(*likely_, spread_, shifts.front().second);
    } else {
      prefer_prediction(judges, shifts.front().second);
    }
  }
  for (const auto& [suspect, shift] : shifts) {
    Vector<double> weights = is_zero(shift) ? Vector<double>() : correlation_->weights(shift);
    std::optional<RunScore> score = best_score(suspect);
    if (!score) {
      if (weights.size() == 0) continue;
      score = RunScore::of_means(weights);
    }
    const PredictionError error = error_of(*score);
    // What is looked for unasked does not take the prediction from the rest.
    const bool needed = suspect.asked_for || suspect.kind == Suspect::Kind::learning_rate;
    if (needed || error.holds()) {
      const double there = deviation_there(suspect, *score);
      Vector<double> of_recorded = score->of(recorded_);
      Vector<double> of_likely = likely_ ? score->of(*likely_) : Vector<double>();
      known_.push_back({suspect, std::move(weights), std::move(*score), error, there,
                        std::move(of_recorded), std::move(of_likely)});
    } else {
      not_tested_.push_back(suspect.label());
    }
  }
  for (std::size_t c = 0; c < recorded.front().columns.size(); ++c) {
    for (std::size_t part = 0; part < part_names.size(); ++part) {
      const Vector<double> level = logged_->level_of(c, part, part_names.size());
      if (level.isZero()) continue;
      Vector<double> weights = correlation_->weights(level);
      const PredictionError error = error_of(RunScore::of_means(weights));
      levels_.push_back(
          {recorded.front().columns[c] + ", " + part_names[part], std::move(weights), error});
    }
  }
  if (predicted_ != nullptr) {
    sampled_scatter_ = scatter_test(correlation_->uncorrelated(spread_),
                                    correlation_->uncorrelated(predicted_numbers_));
  }
}

void WholeRuns::prefer_prediction(const Matrix<double>& judges, const Vector<double>& shift) {
  RunCorrelation predicted = RunCorrelation::predicted(*likely_, spread_, shift);
  const auto error = [&](const RunCorrelation& correlation) {
    const Vector<double> sums = judges.transpose() * correlation.weights(shift);
    return (sums.array() - sums.mean()).matrix().norm();
  };
  if (error(predicted) < error(*correlation_)) *correlation_ = std::move(predicted);
}

std::vector<Trajectory<double>> WholeRuns::simulate(const Suspect& suspect, double value,
                                                    std::uint32_t runs, std::uint32_t first_run,
                                                    const Report& report) const {
  auto [steps, parameters, batch] = setting_with(request_.claimed, suspect, value);
  steps.runs = runs;
  steps.first_run = first_run;
  RunChoices choices{.events = false, .fresh_starts = request_.fresh_starts};
  if (suspect.in_training_only) choices.observed = request_.claimed.parameters;
  return uninterrupted(runs_of_walk(request_.claimed.model, request_.claimed.sampled, parameters,
                                    steps, choices, report));
}

Vector<double> WholeRuns::shift_by(const Suspect& suspect, const Report& report) const {
  const double change = change_of(suspect);
  if (likely_) {
    if (const auto* const runs = linear_.changed(suspect)) {
      const Matrix<double> changed = logged_->of(*runs);
      if (changed.allFinite())
        return (changed - likely_->leftCols(changed.cols())).rowwise().mean() / change;
    }
  }
  // A batch changes the draws, and a choice is looked for unasked only where that costs little.
  if (suspect.kind == Suspect::Kind::batch ||
      (suspect.kind == Suspect::Kind::choice && !suspect.asked_for)) {
    return Vector<double>::Zero(numbers());
  }
  const std::vector<Trajectory<double>> changed =
      simulate(suspect, suspect.assumed + change, sampled_runs_of_a_shift, other_draws, report);
  require_ends(changed);
  const Vector<double> after = logged_->of(changed).rowwise().mean();
  const Vector<double> before = spread_.leftCols(sampled_runs_of_a_shift).rowwise().mean();
  return (after - before) / change;
}

bool WholeRuns::rows_agree(const std::vector<Trajectory<double>>& ensemble) const {
  const CrossCheckRequest rows{request_.false_alarm_rows, request_.resolution};
  return cross_check(runs_, ensemble, nullptr, rows).consistent();
}

WholeRunTests WholeRuns::tests(const std::vector<Trajectory<double>>& ensemble,
                               const Trajectory<double>* centre, bool of_prediction) const {
  const Matrix<double> own = logged_->of(ensemble);
  Vector<double> expected;
  if (centre != nullptr) expected = logged_->of(std::vector<Trajectory<double>>{*centre}).col(0);
  const Vector<double>* const mean = centre != nullptr ? &expected : nullptr;
  const Matrix<double>* const likely = predicts() ? &*likely_ : nullptr;
  WholeRunTests made;
  Matrix<double> centred;  // the ensemble about what this rung says of the mean
  if (mean != nullptr) centred = own.colwise() + (expected - own.rowwise().mean()).eval();
  for (const Known& known : known_) {
    const PredictionError error = of_prediction ? known.error : PredictionError{};
    made.neglected = std::max(made.neglected, error.bias);
    RunNumbers numbers{
        known.of_recorded, known.score.of(own), likely != nullptr ? &known.of_likely : nullptr, {}};
    if (mean != nullptr) numbers.expected = known.score.of(centred).mean();
    made.faults.push_back(
        {known.suspect, score_test(numbers, error), 0, known.score.is_of_laws(), known.there});
  }
  for (const KnownLevel& level : levels_) {
    const PredictionError error = of_prediction ? level.error : PredictionError{};
    made.neglected = std::max(made.neglected, error.bias);
    made.levels.push_back(
        {level.what, score_test(level.weights, recorded_, own, mean, likely, error)});
  }
  made.scatter =
      scatter_test(correlation_->uncorrelated(recorded_), correlation_->uncorrelated(own));
  if (of_prediction) made.scatter = made.scatter.corrected_by(sampled_scatter_);
  made.predicted = predicts();
  made.not_tested = not_tested_;
  // The level is for what can be seen; that is fixed before a recorded run is looked at.
  const auto hidden = [&](WholeRunTests::Fault& fault) {
    fault.chance = request_.false_alarm / static_cast<double>(made.faults.size() + 1);
    return fault.suspect.kind == Suspect::Kind::choice && !fault.suspect.asked_for &&
           made.power(fault, recorded_runs(), recorded_runs()) < least_power;
  };
  const auto seen = std::stable_partition(made.faults.begin(), made.faults.end(),
                                          [&](auto& fault) { return !hidden(fault); });
  made.unseen.assign(seen, made.faults.end());
  made.faults.erase(seen, made.faults.end());
  share_level(made);
  return made;
}

WholeRunTests WholeRuns::confirmed(const WholeRunTests& found, const Report& report) const {
  const auto departs_widely = [](double statistic, double bound) {
    return std::fabs(statistic) > narrow * bound;
  };
  WholeRunTests decided = found;
  std::vector<WholeRunTests::Fault*> faults;
  for (WholeRunTests::Fault& fault : decided.faults)
    if (found.departs(fault)) faults.push_back(&fault);
  std::vector<WholeRunTests::Level*> levels;
  for (WholeRunTests::Level& level : decided.levels)
    if (beyond(level.test, found.level_chance)) levels.push_back(&level);
  const bool widely =
      found.scatter.chance() < least_narrow_chance ||
      std::any_of(faults.begin(), faults.end(),
                  [&](const auto* fault) {
                    return departs_widely(fault->test.statistic(), found.bound(*fault));
                  }) ||
      std::any_of(levels.begin(), levels.end(), [&](const auto* level) {
        return departs_widely(level->test.statistic(), level->test.bound_here(found.level_chance));
      });
  if (widely || found.consistent()) return found;
  const Suspect claimed = as_claimed();
  const std::vector<Trajectory<double>> runs = simulate(
      claimed, claimed.assumed, runs_of_draws(draws_of_a_decision, fewest_deciding, most_deciding),
      deciding_draws, report);
  const Matrix<double> own = logged_->of(runs);
  if (!own.allFinite()) return found;
  for (WholeRunTests::Fault* const fault : faults) {
    const auto known = std::find_if(known_.begin(), known_.end(), [&](const Known& one) {
      return one.suspect.label() == fault->suspect.label();
    });
    fault->test = score_test({known->of_recorded, known->score.of(own), nullptr, {}});
  }
  for (WholeRunTests::Level* const level : levels) {
    const auto known = std::find_if(levels_.begin(), levels_.end(),
                                    [&](const KnownLevel& one) { return one.what == level->what; });
    level->test = score_test(known->weights, recorded_, own, nullptr);
  }
  if (found.scatter_departs()) {
    decided.scatter.counted =
        counted_chance(correlation_->uncorrelated(recorded_), correlation_->uncorrelated(own));
  }
  return decided.consistent() ? decided : found;
}

// Weighted Bonferroni: what somebody doubts is the likeliest fault, and one test of it alone finds the
// smallest.
void WholeRuns::share_level(WholeRunTests& tests) const {
  const auto named =
      std::count_if(tests.faults.begin(), tests.faults.end(),
                    [](const WholeRunTests::Fault& fault) { return fault.suspect.asked_for; });
  const auto others = static_cast<double>(std::ssize(tests.faults) - named + 1);
  const double of_named = named > 0 ? share_of_named * request_.false_alarm : 0;
  tests.chance = (request_.false_alarm - of_named) / others;
  for (WholeRunTests::Fault& fault : tests.faults) {
    fault.chance = fault.suspect.asked_for ? of_named / static_cast<double>(named) : tests.chance;
  }
  tests.level_chance = request_.false_alarm_levels /
                       static_cast<double>(std::max<std::size_t>(1, tests.levels.size()));
}

WholeRuns::Moved WholeRuns::moved(const Suspect& suspect, double value, Search search,
                                  const Report& report) const {
  // Most fits begin at the same runs.
  const bool as_said = search == Search::rough && value == suspect.assumed;
  if (as_said && few_as_said_) return {*few_as_said_, false};
  const bool all = search == Search::all;
  if (search == Search::linear || (all && predicted_ != nullptr)) {
    auto likely = all ? linear_.with(suspect, value, number_of_predicted_runs, LinearOrder::second)
                      : linear_.with(suspect, value, linear_runs_of_a_search, LinearOrder::first);
    if (likely && logged_->of(*likely).allFinite()) return {std::move(*likely), true};
  }
  std::uint32_t runs = request_.claimed.steps.runs;
  if (!all) {
    runs = std::min(runs,
                    search == Search::sampled ? sampled_runs_of_a_search : sampled_runs_far_away);
  }
  std::vector<Trajectory<double>> sampled = simulate(suspect, value, runs, 0, report);
  require_ends(sampled);
  if (as_said) few_as_said_ = sampled;
  return {std::move(sampled), false};
}

bool WholeRuns::linear_runs_search() const {
  const WalkRequest& steps = request_.claimed.steps;
  const double draws = static_cast<double>(steps.steps) * static_cast<double>(steps.batch);
  return !linear_.second().empty() && draws * sampled_runs_of_a_search > draws_of_a_search;
}

// Gauss and Newton's steps of the weighted squares; the shift is the secant's, from equal draws.
FittedFault WholeRuns::fit(const Known& known, const Report& report) const {
  const Suspect& suspect = known.suspect;
  FittedFault fitted{suspect, suspect.assumed, 0, {}, false, {}};
  Vector<double> weights = known.weights;
  Vector<double> mean_before;
  double size = 0, before = 0;  // of the fault
  double error_before = 0;
  int halved = 0;
  struct Best {
    double misfit = std::numeric_limits<double>::infinity();
    double size = 0;
    int step = 0;
  } best;
  Search search = linear_runs_search() ? Search::linear : Search::rough;
  const auto go_on_by = [&](Search next) {
    search = next;
    mean_before.resize(0);  // a shift is of equal draws
    best = {};
  };
  for (int step = 0; step < most_steps; ++step) {
    std::vector<Trajectory<double>> ensemble;
    bool predicted = false;
    try {
      std::tie(ensemble, predicted) = moved(suspect, fitted.value, search, report);
    } catch (const std::exception& error) {
      fitted.why_not = fmt::format("at {:.3g}: {}", fitted.value, words_of(error));
      return fitted;
    }
    if (search == Search::linear && !predicted) go_on_by(Search::rough);
    const Matrix<double> own = logged_->of(ensemble);
    const Vector<double> mean = own.rowwise().mean();
    // Sampled runs show no other shift by a move that is less than their standard error.
    if (mean_before.size() > 0 && (predicted || std::fabs(size - before) > error_before)) {
      const Vector<double> shift = (mean - mean_before) / (size - before);
      if (!is_zero(shift)) weights = correlation_->weights(shift);
    }
    const ScoreTest left =
        score_size(weights, recorded_, own, predicted ? known.error : PredictionError{});
    fitted.half_width = left.half_width(0.05) * suspect.slope_at(size);
    const double distance = std::fabs(left.size) / left.standard_error;
    const double misfit =
        correlation_->uncorrelated(recorded_.rowwise().mean() - mean).squaredNorm();
    if (misfit < best.misfit - least_gain) best = {misfit, size, step};
    const bool ends = step - best.step >= patience;
    const double at_line = suspect.value_at(size + left.size);
    const bool possible =
        !end_before(suspect.possible, at_line) &&
        (suspect.kind != Suspect::Kind::batch || at_line <= largest_batch * suspect.assumed);
    const bool on_line = distance < near && possible;
    // Linear runs cost little, and the shift that they show is the weight of all that follows.
    const bool is_near = distance < settled || (on_line && search != Search::linear);
    const auto to_line = [&] {
      if (!on_line) return;
      size += left.size;
      fitted.value = at_line;
    };
    if (search == Search::all && (is_near || ends)) {
      const WholeRunTests rest = tests(ensemble, nullptr, predicted);
      fitted.explains = rest.consistent() && (predicted || rows_agree(ensemble));
      // A move by a number of standard errors changes no other statistic by more than that number.
      if (fitted.explains || ends || distance < settled || rest.largest_excess() > distance) {
        to_line();
        return fitted;
      }
    } else if (search != Search::rough && (is_near || ends)) {
      // What departs from few runs is explained by no more of them, which take most of the time.
      const bool few_depart = search == Search::sampled &&
                              (!rows_agree(ensemble) ||
                               tests(ensemble, nullptr, predicted).largest_excess() > distance);
      to_line();
      if (!is_near && !on_line) {
        size = best.size;
        fitted.value = suspect.value_at(size);
      }
      if (few_depart) return fitted;
      const bool judged_next = search == Search::sampled || (predicted && predicted_ != nullptr);
      go_on_by(judged_next ? Search::all : Search::sampled);
      continue;
    }
    before = size;
    error_before = left.standard_error;
    mean_before = mean;
    if (search == Search::rough && distance < far_away) go_on_by(Search::sampled);
    size += left.size;
    // A large fault is no line, whose root may lie beyond what is possible: half of the way there.
    const double wanted = suspect.value_at(size);
    const std::optional<RangeEnd> end = end_before(suspect.possible, wanted);
    if (end && !end->rule.empty()) {
      if (fitted.value == end->value || halved++ == most_halvings) {
        fitted.why_not = fmt::format("none {} explains them", end->rule);
        return fitted;
      }
      size = suspect.size_at((fitted.value + end->value) / 2);
    }
    fitted.value = suspect.value_at(size);
    // Runs cost what their batch does, and beyond this one the mean hardly moves any more.
    if (suspect.kind == Suspect::Kind::batch &&
        !(fitted.value <= largest_batch * suspect.assumed)) {
      fitted.value = largest_batch * suspect.assumed;
      fitted.why_not = fmt::format("beyond {:g} times the batch", largest_batch);
      return fitted;
    }
  }
  fitted.why_not = fmt::format("still moving at {:.3g} after {} steps", fitted.value, most_steps);
  return fitted;
}

FittedFault WholeRuns::fit_of_scatter(const ScatterTest& found, const Report& report) const {
  constexpr int most_tries = 4;
  const Suspect batch = batch_suspect(request_.claimed);
  FittedFault fitted{batch, batch.assumed, 0, {}, false, {}};
  // Of runs with this batch, the ratio of variances.
  const auto by_ratio = [&](double value, const Share& ratio, double batch_of_runs) {
    fitted.value = value;
    fitted.interval = Share{value, batch_of_runs / ratio.high, batch_of_runs / ratio.low};
    fitted.half_width = (fitted.interval->high - fitted.interval->low) / 2;
  };
  // What departs from few runs is explained by no more of them.
  const auto few_agree = [&](double value) {
    const std::uint32_t few = std::min(request_.claimed.steps.runs, sampled_runs_of_a_search);
    const std::vector<Trajectory<double>> ensemble = simulate(batch, value, few, 0, report);
    require_ends(ensemble);
    return rows_agree(ensemble) && !(tests(ensemble, nullptr, false).largest_excess() > 0);
  };
  const auto judge_at = [&](double value) {
    fitted.value = value;
    const std::vector<Trajectory<double>> ensemble =
        simulate(batch, value, request_.claimed.steps.runs, 0, report);
    require_ends(ensemble);
    const WholeRunTests left = tests(ensemble, nullptr, false);
    by_ratio(value, left.scatter.interval(0.05), value);
    fitted.explains = left.consistent() && rows_agree(ensemble);
    return left.scatter.ratio;
  };
  try {
    // Batches that are miscounted, by micro-batches or devices, are off by these factors.
    const Share wide = found.interval(0.05);
    for (const double factor : {0.5, 2.0, 0.25, 4.0}) {
      const double value = factor * batch.assumed;
      const bool within = wide.low <= 1 / factor && 1 / factor <= wide.high;
      if (!within || value != std::round(value) || !few_agree(value)) continue;
      judge_at(value);
      if (fitted.explains) return fitted;
    }
    double ratio = found.ratio;
    fitted.value = batch.assumed;
    for (int tried = 0; tried < most_tries && !fitted.explains; ++tried) {
      const double wanted = fitted.value / ratio;
      if (!(wanted <= largest_batch * batch.assumed)) {
        fitted.why_not = fmt::format("beyond {:g} times the batch", largest_batch);
        return fitted;
      }
      const double next = std::max(1.0, std::round(wanted));
      if (tried > 0 && next == fitted.value) break;
      if (!few_agree(next)) {
        if (tried == 0) by_ratio(next, found.interval(0.05), batch.assumed);
        break;
      }
      ratio = judge_at(next);
    }
  } catch (const Stopped&) {
    throw;
  } catch (const std::exception& error) {
    fitted.why_not = fmt::format("at {:g}: {}", fitted.value, words_of(error));
  }
  return fitted;
}

FittedFault WholeRuns::fit_of_choice(const Known& known, const Report& report) const {
  FittedFault fitted{known.suspect, 1, 0, {}, false, {}};
  try {
    const auto [ensemble, predicted] = moved(known.suspect, 1, Search::all, report);
    fitted.explains =
        tests(ensemble, nullptr, predicted).consistent() && (predicted || rows_agree(ensemble));
  } catch (const std::exception& error) {
    fitted.why_not = words_of(error);
  }
  return fitted;
}

namespace {

bool explained_by(const std::vector<FittedFault>& fits) {
  return std::any_of(fits.begin(), fits.end(),
                     [](const FittedFault& fitted) { return fitted.explains; });
}

}  // namespace

std::vector<FittedFault> WholeRuns::fits(const WholeRunTests& found, const Report& report) const {
  std::vector<FittedFault> all;
  const bool departs = !found.consistent();
  const auto add = [&](const Known& known) {
    static_cast<void>(report(static_cast<double>(all.size()) / static_cast<double>(known_.size())));
    const bool choice = known.suspect.kind == Suspect::Kind::choice;
    all.push_back(choice ? fit_of_choice(known, report) : fit(known, report));
  };
  std::vector<const Known*> others;
  for (const Known& known : known_) {
    const auto own = std::find_if(
        found.faults.begin(), found.faults.end(),
        [&](const WholeRunTests::Fault& f) { return f.suspect.label() == known.suspect.label(); });
    if (own == found.faults.end()) continue;
    if (found.departs(*own) || (departs && known.suspect.asked_for)) {
      add(known);
    } else {
      others.push_back(&known);
    }
  }
  const auto fitted_batch = std::find_if(all.begin(), all.end(), [](const FittedFault& fitted) {
    return fitted.suspect.kind == Suspect::Kind::batch;
  });
  // Of the batch the scatter shows more than the mean; where only sampled runs judge it shows all.
  const Share scatter = found.scatter.interval(0.05);
  const bool off = departs && !(scatter.low <= 1 && 1 <= scatter.high);
  if (found.scatter_departs() || off || (fitted_batch != all.end() && !fitted_batch->explains)) {
    FittedFault by_scatter = fit_of_scatter(found.scatter, report);
    if (fitted_batch == all.end()) {
      all.push_back(std::move(by_scatter));
    } else if (by_scatter.explains) {
      *fitted_batch = std::move(by_scatter);
    }
  }
  // A large fault is no line: the test of its own setting may pass by chance where others fail.
  if (!all.empty() && !explained_by(all)) {
    for (const Known* const known : others) add(*known);
  }
  const bool tested = std::any_of(known_.begin(), known_.end(), [](const Known& known) {
    return known.suspect.kind == Suspect::Kind::momentum;
  });
  // Momentum moves the mean much as a larger learning rate does: where the one departs, so may the
  // other.
  if (!all.empty() && !tested) {
    if (const auto momentum = fit_of_momentum(report)) all.push_back(*momentum);
  }
  if (!all.empty() && !explained_by(all)) {
    for (const Known& known : known_) {
      const std::optional<FittedFault> fitted = fit_in_training_only(known.suspect, report);
      if (fitted && fitted->explains) all.push_back(*fitted);
    }
  }
  std::stable_partition(all.begin(), all.end(),
                        [](const FittedFault& fitted) { return fitted.explains; });
  return all;
}

std::optional<FittedFault> WholeRuns::fit_by_shift(const Suspect& suspect,
                                                   const Vector<double>& shift,
                                                   const Report& report) const {
  if (is_zero(shift)) return std::nullopt;
  Vector<double> weights = correlation_->weights(shift);
  return fit({suspect, weights, RunScore::of_means(weights), {}, 1, {}, {}}, report);
}

std::optional<FittedFault> WholeRuns::fit_in_training_only(const Suspect& suspect,
                                                           const Report& report) const {
  if (suspect.kind != Suspect::Kind::parameter || !suspect.one_sided()) return std::nullopt;
  Suspect own = suspect;
  own.in_training_only = true;
  const auto runs_with = [&](const Suspect& with) {
    return logged_->of(simulate(with, with.assumed + change_of(with), 1, other_draws, report));
  };
  // Nothing that was logged depends on what runs are observed with.
  if (runs_with(own) == runs_with(suspect)) return std::nullopt;
  return fit_by_shift(own, shift_by(own, report), report);
}

std::optional<FittedFault> WholeRuns::fit_of_momentum(const Report& report) const {
  try {
    const Suspect momentum = momentum_suspect(request_.claimed);
    return fit_by_shift(momentum, shift_by(momentum, report), report);
  } catch (const std::exception&) {
    // A rung whose steps are its own has no momentum.
    return std::nullopt;
  }
}

}  // namespace popgrad
