#include "popgrad/evidence/frontier.hpp"

#include <algorithm>
#include <cmath>

#include "popgrad/scalars/random.hpp"

namespace popgrad {
namespace {

constexpr std::uint32_t stream_of_instances = 0xF2017713U;
constexpr int bisections = 10;

class Turning {
 public:
  Turning(const Statement& statement, const Knob& knob, const FrontierRequest& request)
      : statement_(statement), request_(request) {
    result_.knob = knob;
    outward_ = std::fabs(knob.low - knob.usual) <= std::fabs(knob.high - knob.usual);
    for (int k = 0; k < request.grid; ++k) {
      result_.values.push_back(at(static_cast<double>(k) / (request.grid - 1)));
    }
    if (knob.spacing == Spacing::whole) {
      const auto end = std::unique(result_.values.begin(), result_.values.end());
      result_.values.erase(end, result_.values.end());
    }
  }

  Frontier run() {
    for (int i = 0; i < request_.instances && !result_.stopped; ++i) {
      FrontierInstance instance = instance_of(i);
      turn(instance);
      if (!result_.stopped) result_.instances.push_back(std::move(instance));
    }
    return std::move(result_);
  }

 private:
  // The value at a fraction of the way outwards.
  [[nodiscard]] double at(double fraction) const {
    return value_at(result_.knob, outward_ ? fraction : 1 - fraction);
  }

  [[nodiscard]] FrontierInstance instance_of(int i) const {
    FrontierInstance instance;
    instance.seed = request_.seed + static_cast<std::uint64_t>(i);
    Stream stream(request_.seed, stream_of_instances, static_cast<std::uint64_t>(i));
    for (const Knob& knob : statement_.knobs) {
      if (!knob.breaks.empty()) continue;
      instance.point.emplace(knob.name, i == 0 ? knob.usual : value_at(knob, stream.uniform()));
    }
    return instance;
  }

  struct Outcome {
    Verdict verdict = Verdict::inconclusive;
    double of_allowed = std::numeric_limits<double>::quiet_NaN();
    std::string what;
  };

  Outcome examine(const FrontierInstance& instance, double value, bool confirm = false) {
    Setting setting;
    setting.seed = instance.seed;
    setting.jobs = request_.jobs;
    setting.chosen = instance.point;
    setting.chosen.insert_or_assign(std::string(result_.knob.name), value);
    setting.effort = Effort::search;
    setting.with_controls = false;
    Outcome outcome;
    const Finding found =
        check_point(statement_, setting,
                    {.slack = request_.slack, .despite_hypotheses = true, .confirm = confirm});
    outcome.verdict = found.verdict;
    if (const Evidence* nearest = found.examination.nearest_to_failing()) {
      outcome.what = nearest->what;
    }
    if (const Evidence* tightest = found.examination.tightest()) {
      outcome.of_allowed = share_of_allowed(*tightest);
    }
    // An identity has no share: nothing is allowed.
    if (outcome.verdict == Verdict::violated && !(outcome.of_allowed > 1)) {
      outcome.of_allowed = std::numeric_limits<double>::infinity();
    }
    if (found.cut_short) result_.stopped = true;
    ++result_.examinations;
    const auto a_piece = static_cast<double>(result_.values.size() + bisections);
    const double done = static_cast<double>(result_.examinations) /
                        (a_piece * static_cast<double>(request_.instances));
    if (request_.on_progress && request_.on_progress(std::min(1.0, done))) result_.stopped = true;
    return outcome;
  }

  void turn(FrontierInstance& instance) {
    bool decided = true;
    std::size_t first = result_.values.size();
    for (std::size_t k = 0; k < result_.values.size() && !result_.stopped; ++k) {
      const Outcome outcome = examine(instance, result_.values[k]);
      instance.of_allowed.push_back(outcome.of_allowed);
      if (outcome.verdict == Verdict::inconclusive && first == result_.values.size()) {
        decided = false;
      }
      if (outcome.verdict == Verdict::violated && first == result_.values.size()) {
        first = k;
        instance.what = outcome.what;
      }
    }
    if (first == result_.values.size()) {
      if (decided) instance.fails_at = std::numeric_limits<double>::infinity();
      return;
    }
    double failed = result_.values[first];
    if (first > 0) {
      double held = result_.values[first - 1];
      for (int k = 0; k < bisections && !result_.stopped; ++k) {
        const double low = fraction_of(result_.knob, held);
        const double high = fraction_of(result_.knob, failed);
        const double middle = value_at(result_.knob, (low + high) / 2);
        if (middle == held || middle == failed) break;
        const Outcome outcome = examine(instance, middle);
        if (outcome.verdict == Verdict::violated) {
          failed = middle;
          instance.what = outcome.what;
        } else {
          held = middle;
        }
      }
    }
    // What fails has to fail in a second examination as well, or where it fails is not known.
    if (result_.stopped || examine(instance, failed, true).verdict != Verdict::violated) return;
    instance.fails_at = failed;
  }

  const Statement& statement_;
  const FrontierRequest& request_;
  bool outward_ = true;
  Frontier result_;
};

bool decided(const FrontierInstance& instance) { return !std::isnan(instance.fails_at); }

}  // namespace

double Frontier::quantile(double p) const {
  std::vector<double> distances;
  for (const FrontierInstance& instance : instances) {
    if (decided(instance)) distances.push_back(std::fabs(instance.fails_at - knob.usual));
  }
  if (distances.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(distances.begin(), distances.end());
  const auto n = static_cast<double>(distances.size());
  const auto rank = static_cast<std::size_t>(std::max(0.0, std::ceil(p * n) - 1));
  const double outwards = values.back() >= knob.usual ? 1 : -1;
  return knob.usual + outwards * distances[rank];
}

double Frontier::failed_share(double value) const {
  std::size_t all = 0;
  std::size_t failed = 0;
  for (const FrontierInstance& instance : instances) {
    if (!decided(instance)) continue;
    ++all;
    if (std::fabs(instance.fails_at - knob.usual) <= std::fabs(value - knob.usual)) ++failed;
  }
  return all == 0 ? std::numeric_limits<double>::quiet_NaN()
                  : static_cast<double>(failed) / static_cast<double>(all);
}

std::vector<Knob> quantitative_hypotheses(const Statement& statement) {
  std::vector<Knob> found;
  for (const Knob& knob : statement.knobs) {
    if (!knob.breaks.empty()) found.push_back(knob);
  }
  return found;
}

Frontier frontier(const Statement& statement, const Knob& knob, const FrontierRequest& request) {
  return Turning(statement, knob, request).run();
}

}  // namespace popgrad
