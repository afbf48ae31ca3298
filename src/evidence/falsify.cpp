#include "popgrad/evidence/falsify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/random/sobol.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlopt.hpp>
#include <numbers>
#include <set>

#include "popgrad/base/error.hpp"
#include "popgrad/base/interruption.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/scalars/random.hpp"

namespace popgrad {
namespace {

constexpr std::uint32_t stream_of_points = 0xFA151F1EU;
constexpr int points_a_round = 16;  // half of Sobol's sequence, half at random
constexpr unsigned descent_evaluations_a_knob = 12;
constexpr unsigned most_descent_evaluations = 48;
constexpr std::size_t most_shrinking = 200;

/// Thrown to end the search from any depth.
struct Enough {};

using Clock = std::chrono::steady_clock;
using Point = std::map<std::string, double, std::less<>>;

// `value` to so many significant digits, inside the knob's range.
double rounded(const Knob& knob, double value, int digits) {
  if (value == 0 || knob.spacing == Spacing::whole) return value;
  const double unit = std::pow(10.0, std::floor(std::log10(std::fabs(value))) + 1 - digits);
  // By text, so that the number is the one that its decimals say.
  const double round = std::stod(fmt::format("{:.{}g}", std::round(value / unit) * unit, digits));
  return std::clamp(round, knob.low, knob.high);
}

class Search {
 public:
  Search(const Statement& statement, const SearchRequest& request)
      : statement_(statement), request_(request) {
    for (const Knob& knob : statement.knobs) {
      if (knob.breaks.empty()) knobs_.push_back(knob);
    }
  }

  SearchResult run() {
    try {
      explore();
    } catch (const Enough&) {
    }
    try {
      if (result_.counterexample && !result_.stopped) shrink();
    } catch (const Enough&) {
    }
    if (result_.counterexample) result_.shrunk = best_;
    return std::move(result_);
  }

 private:
  void explore() {
    examine(usual(), request_.seed);
    const std::size_t dimension = knobs_.size();
    boost::random::sobol sobol(std::max<std::size_t>(1, dimension));
    Stream stream(request_.seed, stream_of_points, 0);
    std::vector<double> shift(dimension);
    for (double& s : shift) s = stream.uniform();
    constexpr double scale = 0x1p-64;
    while (true) {
      for (int k = 0; k < points_a_round; ++k) {
        Point point;
        for (std::size_t i = 0; i < dimension; ++i) {
          double fraction = 0;
          if (k % 2 == 0) {
            fraction = static_cast<double>(sobol()) * scale + shift[i];
            fraction -= std::floor(fraction);
          } else {
            // Statements fail at the borders of their hypotheses first.
            const double place = stream.uniform();
            fraction = place < 0.15 ? 0 : place > 0.85 ? 1 : (place - 0.15) / 0.7;
          }
          point.emplace(knobs_[i].name, value_at(knobs_[i], fraction));
        }
        const Trial& trial = examine(point, next_seed());
        if (trial.verdict == Verdict::holds && !std::isnan(trial.margin)) {
          samples_.emplace(trial.margin, result_.trials.size() - 1);
        }
      }
      if (dimension > 0) descend();
    }
  }

  // From the sample of least margin that no descent has begun at.
  void descend() {
    if (samples_.empty()) return;
    // Along the way the record grows, so nothing may point into it.
    const Trial start = result_.trials[samples_.begin()->second];
    samples_.erase(samples_.begin());
    const std::uint64_t seed = start.seed;
    std::vector<double> at;
    for (const Knob& knob : knobs_) {
      at.push_back(fraction_of(knob, start.point.find(knob.name)->second));
    }
    const auto dimension = static_cast<unsigned>(knobs_.size());
    nlopt::opt descent(nlopt::LN_SBPLX, dimension);
    descent.set_lower_bounds(0.0);
    descent.set_upper_bounds(1.0);
    descent.set_initial_step(0.15);
    descent.set_maxeval(static_cast<int>(
        std::min(most_descent_evaluations, descent_evaluations_a_knob * dimension)));
    struct Objective {
      Search* search;
      std::uint64_t seed;
    } objective{this, seed};
    descent.set_min_objective(
        [](const std::vector<double>& x, std::vector<double>&, void* data) {
          const auto& own = *static_cast<Objective*>(data);
          try {
            return own.search->margin_at(x, own.seed);
          } catch (const Enough&) {
            throw nlopt::forced_stop();  // the one that passes through NLopt
          }
        },
        &objective);
    double least = 0;
    try {
      descent.optimize(at, least);
    } catch (const nlopt::forced_stop&) {
      throw Enough{};
    } catch (const nlopt::roundoff_limited&) {
      // A margin that does not depend on the knobs has nowhere to descend to.
    }
  }

  double margin_at(const std::vector<double>& x, std::uint64_t seed) {
    Point point;
    for (std::size_t i = 0; i < knobs_.size(); ++i) {
      point.emplace(knobs_[i].name, value_at(knobs_[i], x[i]));
    }
    const Trial& trial = examine(point, seed);
    // Outside and undecided: a wall, higher than any margin.
    if (trial.verdict != Verdict::holds || std::isnan(trial.margin)) return 2;
    return trial.margin;
  }

  // Fewer and rounder numbers, one at a time, as long as the statement still fails.
  void shrink() {
    const std::size_t begin = result_.trials.size();
    const Trial found = best_;
    // A record goes on to a counterexample whose examination it does not have.
    if (result_.shrunk_finding.statement == nullptr) {
      result_.shrunk_finding = finding(best_.point, best_.seed, begin);
    }
    const Finding finding_of_found = result_.shrunk_finding;
    // Points on the way have no time for more digits; the last one gets them.
    with_digits_ = false;
    const auto try_out = [&](const Point& point, std::uint64_t seed) {
      if (point == best_.point && seed == best_.seed) return false;
      return examine_one(point, seed).verdict == Verdict::violated;
    };
    bool better = true;
    while (better && !result_.stopped && result_.trials.size() - begin < most_shrinking) {
      better = false;
      for (std::uint64_t seed = 1; seed <= 3 && seed < best_.seed && !better; ++seed) {
        better = try_out(best_.point, seed);
      }
      for (const Knob& knob : knobs_) {
        const double value = best_.point.find(knob.name)->second;
        if (value == knob.usual) continue;
        std::vector<double> candidates{knob.usual};
        if (knob.spacing == Spacing::whole) {
          candidates.push_back(knob.low);
          candidates.push_back(std::floor((value + knob.low) / 2));
          candidates.push_back(std::max(knob.low, value - 1));
        } else {
          for (const int digits : {1, 2, 3}) candidates.push_back(rounded(knob, value, digits));
        }
        for (const double candidate : candidates) {
          if (candidate == value) break;  // what follows is no simpler
          Point point = best_.point;
          point[std::string(knob.name)] = candidate;
          if (try_out(point, best_.seed)) {
            better = true;
            break;
          }
        }
        if (result_.stopped) break;
      }
    }
    with_digits_ = true;
    if (best_.point == found.point && best_.seed == found.seed) return;
    Finding last = finding(best_.point, best_.seed, result_.trials.size());
    if (last.verdict == Verdict::violated) {
      result_.shrunk_finding = std::move(last);
    } else if (!last.cut_short) {
      best_ = found;
      result_.shrunk_finding = finding_of_found;
    }
  }

  [[nodiscard]] Point usual() const {
    Point point;
    for (const Knob& knob : knobs_) point.emplace(knob.name, knob.usual);
    return point;
  }

  [[nodiscard]] std::uint64_t next_seed() const { return request_.seed + result_.trials.size(); }

  // Throws Enough when the budget is used up or a counterexample is found.
  const Trial& examine(const Point& point, std::uint64_t seed) {
    if (result_.stopped || result_.trials.size() >= request_.evaluations ||
        (result_.seconds >= request_.seconds && !replaying())) {
      throw Enough{};
    }
    const Trial& trial = examine_one(point, seed);
    if (trial.verdict == Verdict::violated) {
      result_.counterexample = trial;
      result_.found_after = result_.trials.size();
      throw Enough{};
    }
    return trial;
  }

  [[nodiscard]] bool replaying() const { return result_.trials.size() < request_.earlier.size(); }

  // Throws Enough where the time was over before the point was decided: it is no trial then, so that
  // a search that goes on from its record examines it again.
  const Trial& examine_one(const Point& point, std::uint64_t seed) {
    const std::size_t index = result_.trials.size();
    Trial trial;
    if (replaying()) {
      trial = request_.earlier[index];
      if (trial.point != point || trial.seed != seed) {
        throw InputError(
            fmt::format("popgrad falsify: the record is of another search: its trial {} is at "
                        "another point than this one's; start without it",
                        index + 1));
      }
      if (trial.verdict == Verdict::violated) best_ = trial;
    } else {
      if (!begin_) begin_ = Clock::now();
      if (!deadline_) deadline_.emplace(std::chrono::duration<double>(request_.seconds));
      trial.point = point;
      trial.seed = seed;
      Finding found = finding(point, seed, index);
      const std::chrono::duration<double> seconds = Clock::now() - *begin_;
      result_.seconds = seconds.count();
      if (found.cut_short) {
        result_.cut_short = true;
        if (process_interrupted()) result_.stopped = true;
        throw Enough{};
      }
      trial.verdict = found.verdict;
      trial.unconfirmed = found.unconfirmed();
      trial.margin = std::numeric_limits<double>::quiet_NaN();
      if (const Evidence* nearest = found.examination.nearest_to_failing()) {
        trial.margin = relative_margin(*nearest);
        trial.what = nearest->what;
      }
      if (const Evidence* tightest = found.examination.tightest()) {
        trial.of_allowed = share_of_allowed(*tightest);
        trial.what = tightest->what;
      }
      if (trial.unconfirmed) {
        for (std::string& fault : found.confirmation.faults) {
          result_.faults.push_back(std::move(fault));
        }
      }
      if (trial.verdict == Verdict::violated) {
        best_ = trial;
        result_.shrunk_finding = std::move(found);
      }
    }
    record(std::move(trial));
    if (request_.on_progress && request_.on_progress(result_.trials)) result_.stopped = true;
    return result_.trials.back();
  }

  [[nodiscard]] Finding finding(const Point& point, std::uint64_t seed, std::size_t index) const {
    Setting setting;
    setting.seed = seed;
    setting.jobs = request_.jobs;
    const double share = std::numbers::pi * static_cast<double>(index + 1);
    setting.false_alarm = request_.false_alarm * 6 / (share * share);
    setting.chosen = point;
    setting.effort = Effort::search;
    setting.with_controls = false;
    Finding found = check_point(statement_, setting, {.control = request_.control});
    if (!with_digits_ || !request_.control.empty() || found.verdict != Verdict::violated)
      return found;
    // What a counterexample rests on are more digits, as in an examination by itself, unless time is over before.
    setting.effort = Effort::usual;
    Finding sharper = check_point(statement_, setting, {});
    return sharper.cut_short ? std::move(found) : std::move(sharper);
  }

  void record(Trial trial) {
    if (trial.verdict == Verdict::not_applicable) ++result_.outside;
    if (trial.verdict == Verdict::inconclusive) ++result_.undecided;
    if (trial.unconfirmed) {
      ++result_.unconfirmed;
      if (!result_.first_unconfirmed) result_.first_unconfirmed = trial;
    }
    const bool judged = trial.verdict == Verdict::holds || trial.verdict == Verdict::violated;
    if (judged && !std::isnan(trial.margin) &&
        (!result_.smallest || trial.margin < result_.smallest->margin)) {
      result_.smallest = trial;
    }
    result_.trials.push_back(std::move(trial));
  }

  const Statement& statement_;
  const SearchRequest& request_;
  std::vector<Knob> knobs_;
  bool with_digits_ = true;                           // where a point violates the claim
  std::set<std::pair<double, std::size_t>> samples_;  // margin and trial, not yet descended from
  std::optional<Clock::time_point> begin_;            // of new evaluations
  std::optional<Deadline> deadline_;                  // from then on
  Trial best_;                                        // the last counterexample
  SearchResult result_;
};

}  // namespace

SearchResult falsify(const Statement& statement, const SearchRequest& request) {
  if (!request.control.empty()) {
    std::vector<std::string> names;
    for (const Control& control : statement.controls) names.emplace_back(control.name);
    if (std::find(names.begin(), names.end(), request.control) == names.end()) {
      reject("popgrad falsify", "--control", request.control,
             fmt::format("is no control of {}{}; it has {}", statement.id,
                         suggestion(request.control, names), fmt::join(names, ", ")));
    }
  }
  return Search(statement, request).run();
}

}  // namespace popgrad
