#include "theorems/scb/checks/residual_runs.hpp"

#include <omp.h>

#include <cmath>
#include <numbers>

#include "popgrad/base/stop.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "theorems/scb/checks/branching.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/draws.hpp"

namespace popgrad::scb::checks {
namespace {

AliasTable table(const Vector<double>& law) {
  return AliasTable(std::span(law.data(), static_cast<std::size_t>(law.size())));
}

// A sum over samples of a number that token x makes, with probability mu_x, `pulls[x]` of the sample.
struct Sum {
  const Vector<double>& mu;
  const std::vector<double>& pulls;             // (N) a sample, one sample behind the other
  double cumulant = 0, mean = 0, variance = 0;  // ln E exp(u sum) and its derivatives in u

  void tilt(double u) {
    cumulant = mean = variance = 0;
    for (std::size_t at = 0; at < pulls.size(); at += static_cast<std::size_t>(mu.size())) {
      double weight = 0, first = 0, second = 0;
      for (Index x = 0; x < mu.size(); ++x) {
        const double pull = pulls[at + static_cast<std::size_t>(x)];
        const double own = mu[x] * std::exp(u * pull);
        weight += own;
        first += own * pull;
        second += own * pull * pull;
      }
      cumulant += std::log(weight);
      mean += first / weight;
      variance += second / weight - std::pow(first / weight, 2);
    }
  }
  // P[sum > level]. Source: Lugannani and Rice, Adv. Appl. Prob. 12 (1980) 475.
  double beyond(double level) {
    tilt(0);
    const double deviation = std::sqrt(variance);
    constexpr double near = 0.1;  // of a deviation: there the formula is 0/0 and the sum is normal
    if (!(level > near * deviation)) return normal_share(-level / deviation);
    double u = level / variance;
    for (int round = 0; round < 60; ++round) {
      tilt(u);
      const double change = (level - mean) / variance;
      if (!std::isfinite(change)) return 0;  // no sum is so large
      u = std::min(u + change, 2 * u);
      if (std::fabs(change) < 1e-7 * u) break;
    }
    const double w = std::sqrt(2 * std::max(0.0, u * level - cumulant));
    const double density = std::exp(-w * w / 2) / std::sqrt(2 * std::numbers::pi);
    return normal_share(-w) + density * (1 / (u * std::sqrt(variance)) - 1 / w);
  }
};

}  // namespace

// What one token has learnt.
struct ResidualRuns::Own {
  Vector<double> support;     // a_t there
  double rest = 0;            // mean of a_t elsewhere
  double square = 0;          // sum of squares about it
  std::vector<double> pulls;  // of a_t elsewhere; kept while V stays
  // Of one step:
  std::size_t earlier = 0;  // size of `pulls` before
  Vector<double> gained;    // on the support
  double drawn = 0;         // samples over B mu_k
  double spread = 0;        // that a position elsewhere gains in variance
};

struct ResidualRuns::State {
  Matrix<double> values;
  std::vector<Own> tokens;
};

ResidualRuns::ResidualRuns(const Training<double>& training)
    : training_(training),
      b_(training.bigrams),
      roots_(b_.stationary.cwiseSqrt()),
      tokens_(table(b_.stationary)) {
  for (Index k = 0; k < b_.tokens(); ++k) {
    next_.push_back(table(b_.transition.col(k)));
    positions_.push_back(
        table(b_.law.segment(b_.first[static_cast<std::size_t>(k)], b_.support(k))));
  }
}

double ResidualRuns::elsewhere(const Own& own) const {
  return static_cast<double>(b_.context - own.support.size());
}

ResidualRuns::State ResidualRuns::ran(const ResidualRequest& request, Index batch, bool about_mean,
                                      Stream& stream) const {
  const Index n = b_.tokens();
  const Vector<double>& mu = b_.stationary;
  const auto positions = static_cast<double>(b_.context);
  State state{training_.start, std::vector<Own>(static_cast<std::size_t>(n))};
  for (Index k = 0; k < n; ++k) {
    Own& own = state.tokens[static_cast<std::size_t>(k)];
    own.support.setConstant(b_.support(k), 1 / positions);
    for (Index e = 0; training_.attention_start.size() > 0 && e < own.support.size(); ++e) {
      const auto entry = static_cast<std::size_t>(b_.first[static_cast<std::size_t>(k)] + e);
      own.support[e] = training_.attention_start(b_.position[entry], k);
    }
    own.rest = (1 - own.support.sum()) / elsewhere(own);
  }
  const auto draw = [&](const AliasTable& law) {
    return static_cast<Index>(law(static_cast<std::uint32_t>(stream.bits())));
  };
  Vector<double> histogram(n), residual(n), pull(n);
  Matrix<double> moved(n, n);
  std::vector<Index> seen;
  for (std::uint64_t step = 0; step < request.steps; ++step) {
    moved.setZero();
    const double square = covariance_product(state.values, state.values, mu);
    for (Own& own : state.tokens) {
      own.earlier = own.pulls.size();
      own.gained.setZero(own.support.size());
      own.drawn = own.spread = 0;
    }
    for (Index s = 0; s < batch; ++s) {
      const Index k = draw(tokens_);
      Own& own = state.tokens[static_cast<std::size_t>(k)];
      histogram = elsewhere(own) * own.rest * mu;
      if (request.feedback) {
        const double size = std::sqrt(own.square + elsewhere(own) * own.rest * own.rest);
        for (Index x = 0; x < n; ++x) pull[x] = size * roots_[x] * stream.normal();
        histogram += pull - pull.sum() * mu;
      }
      seen.clear();
      for (const double a : own.support) {
        seen.push_back(draw(tokens_));
        histogram[seen.back()] += a;
      }
      const Index source =
          seen[static_cast<std::size_t>(draw(positions_[static_cast<std::size_t>(k)]))];
      residual.noalias() = -(state.values * histogram);
      residual[draw(next_[static_cast<std::size_t>(source)])] += 1;
      if (request.values_move) moved.noalias() += residual * histogram.transpose();
      const double weight = mu[k] * static_cast<double>(batch);
      pull.noalias() = state.values.transpose() * residual;
      pull.array() -= pull.dot(mu);
      pull *= request.step / weight;
      if (!request.values_move) own.pulls.insert(own.pulls.end(), pull.begin(), pull.end());
      for (Index e = 0; e < own.gained.size(); ++e) {
        own.gained[e] += pull[seen[static_cast<std::size_t>(e)]];
      }
      own.drawn += 1 / weight;
      own.spread += mu.dot(pull.cwiseAbs2());
    }
    for (Own& own : state.tokens) {
      const double kept = 1 - request.step * square * own.drawn;
      for (std::size_t i = 0; i < own.earlier; ++i) own.pulls[i] *= kept;
      const double along = kept * std::sqrt(own.square) + std::sqrt(own.spread) * stream.normal();
      const double across = chi_square(elsewhere(own) - 2, stream);
      const double of_mean = stream.normal();  // drawn either way, so that both runs are alike
      own.square = along * along + own.spread * (across + (about_mean ? 0 : of_mean * of_mean));
      own.support.array() += own.gained.array() - own.gained.sum() / positions;
      own.rest = (1 - own.support.sum()) / elsewhere(own);
    }
    if (!request.values_move) continue;
    moved *= request.step / static_cast<double>(batch);
    moved.array().rowwise() /= mu.transpose().array();
    moved.rowwise() -= moved.colwise().mean().eval();
    const Vector<double> mean = moved * mu;
    state.values += moved.colwise() - mean;
    if (!state.values.allFinite()) break;
  }
  return state;
}

double ResidualRuns::chance(const State& state, double threshold, bool about_mean) const {
  Index lost = 0;
  double gained = 0;  // expected number
  for (const Own& own : state.tokens) {
    lost += (own.support.array() < threshold).count();
    const double rest = elsewhere(own);
    const double narrower = about_mean ? std::sqrt(1 - 1 / rest) : 1;
    Sum sum{b_.stationary, own.pulls};
    gained -= rest * std::log1p(-sum.beyond((threshold - own.rest) / narrower));
  }
  const auto as_many = static_cast<double>(lost);
  return std::pow(gained, as_many) * std::exp(-gained) / std::tgamma(as_many + 1);
}

double ResidualRuns::square_distance(const State& state) const {
  const Vector<double>& mu = b_.stationary;
  const double from_P =
      stationary_square(Matrix<double>(state.values - b_.transition), mu) / transition_size(b_);
  double from_Q = 0;
  for (Index k = 0; k < b_.tokens(); ++k) {
    const Own& own = state.tokens[static_cast<std::size_t>(k)];
    const auto law = b_.law.segment(b_.first[static_cast<std::size_t>(k)], b_.support(k));
    from_Q += mu[k] * ((own.support - law).squaredNorm() + own.square +
                       elsewhere(own) * own.rest * own.rest);
  }
  return std::max(from_P, from_Q / (context_size(b_) - 1 / static_cast<double>(b_.context)));
}

template <class Number>
Quantity ResidualRuns::mean(const ResidualRequest& request, Index batch, std::uint32_t runs,
                            const Setting& setting, Number number) const {
  Matrix<double> numbers = Matrix<double>::Zero(runs, 1);
  Vector<double> changes = Vector<double>::Zero(runs);
  const int jobs = setting.jobs > 0 ? setting.jobs : omp_get_num_procs();
  constexpr std::uint32_t one_of = 4;  // of how many runs the next order is computed
#pragma omp parallel for num_threads(jobs) schedule(dynamic, 1)
  for (std::uint32_t run = 0; run < runs; ++run) {
    const auto at_end = [&](bool about_mean) {
      constexpr std::uint32_t apart = 1U << 30U;  // from runs on sequences
      Stream stream(setting.draw_seed(), apart + run, 0);
      return number(ran(request, batch, about_mean, stream), about_mean);
    };
    if (stop_asked()) continue;
    numbers(run, 0) = at_end(true);
    if (run % one_of == 0) changes[run] = numbers(run, 0) - at_end(false);
  }
  throw_if_stopped();
  Quantity found = sample_moments(numbers, setting.false_alarm).mean.front();
  const std::uint32_t changed = (runs + one_of - 1) / one_of;
  found.add(ErrorPart::next_order(changes.sum() / static_cast<double>(changed)));
  return found;
}

Quantity ResidualRuns::found(const ResidualRequest& request, double threshold, Index batch,
                             std::uint32_t runs, const Setting& setting) const {
  return mean(request, batch, runs, setting, [&](const State& state, bool about_mean) {
    return chance(state, threshold, about_mean);
  });
}

Quantity ResidualRuns::near(const ResidualRequest& request, Index batch, std::uint32_t runs,
                            const Setting& setting) const {
  return mean(request, batch, runs, setting,
              [&](const State& state, bool) { return square_distance(state) < 1 ? 1.0 : 0.0; });
}

namespace {

Quantity logit(const Quantity& share) {
  const double p = share.value();
  return mapped(share, std::log(p / (1 - p)), 1 / (p * (1 - p)));
}

}  // namespace

Quantity CriticalBatch::law_at(double other) const {
  const Quantity at = logit(law) + slope * Quantity(std::log(other / static_cast<double>(batch)));
  const double own = 1 / (1 + std::exp(-at.value()));
  return mapped(at, own, own * (1 - own));
}

Quantity CriticalBatch::from(const Quantity& own) const {
  return Quantity(static_cast<double>(batch)) * exp((logit(level) - logit(own)) / slope);
}

Quantity CriticalBatch::ratio() const { return exp((logit(law) - logit(share)) / slope); }

CriticalBatch critical_batch(double level, double first, std::uint32_t runs,
                             const std::function<Quantity(Index, std::uint32_t)>& law,
                             const std::function<Quantity(Index)>& measure) {
  const std::uint32_t few = std::max(8U, runs / 10);
  const auto below_level = [&](double batch) { return law(counted(batch), few).value() < level; };
  double low = std::max(1.0, first);
  double high = 2 * low;
  while (low > 1 && !below_level(low)) high = std::exchange(low, std::max(1.0, low / 2));
  while (below_level(high)) {
    low = std::exchange(high, 2 * high);
    constexpr double most = 1e8;
    if (high > most)
      throw Failure(fmt::format("no batch up to {:.0e} has the share {}", most, level));
  }
  for (int halvings = 0; halvings < 5; ++halvings) {
    const double middle = std::sqrt(low * high);
    (below_level(middle) ? low : high) = middle;
  }
  CriticalBatch found{.level = level, .batch = counted(std::sqrt(low * high))};
  found.law = law(found.batch, runs);
  // The slope is that between both sides, so near that some of a few runs fail at the larger.
  const auto middle = static_cast<double>(found.batch);
  double apart = 1.25;
  const auto larger = [&] { return std::max(found.batch + 1, counted(apart * middle)); };
  while (larger() > found.batch + 1 && law(larger(), few).value() > 1 - 1.0 / few) {
    apart = std::sqrt(apart);
  }
  const Index smaller = std::max<Index>(1, std::min(found.batch - 1, counted(middle / apart)));
  const std::uint32_t at_sides = runs / 2;
  // Of all runs half a one fails, and succeeds, so that certain outcomes have a slope.
  const auto logit_at = [&](Index batch) {
    const Quantity share = law(batch, at_sides);
    const double least = 0.5 / at_sides;
    return logit(mapped(share, std::clamp(share.value(), least, 1 - least), 1));
  };
  found.slope = (logit_at(larger()) - logit_at(smaller)) /
                Quantity(std::log(static_cast<double>(larger()) / static_cast<double>(smaller)));
  found.share = measure(found.batch);
  return found;
}

}  // namespace popgrad::scb::checks
