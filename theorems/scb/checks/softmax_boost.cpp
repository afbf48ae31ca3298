#include "theorems/scb/checks/softmax_boost.hpp"

#include <omp.h>
#include <functional>

#include "popgrad/rungs/trajectory.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/noise.hpp"
#include "theorems/scb/rungs/population_flow.hpp"

namespace popgrad::scb::checks {

namespace {

constexpr double left = 10;  // T alpha_A

// Does a run leave within `most` steps? `most` 0: after how many steps, without noise.
using Run = std::function<std::uint64_t(std::uint64_t most, std::uint32_t run)>;

Quantity share_of(const std::function<Run()>& make, std::uint32_t runs, std::uint32_t first_run,
                  const Setting& setting) {
  const std::uint64_t most = 2 * make()(0, 0);
  throw_if_stopped();
  const int jobs = setting.jobs > 0 ? setting.jobs : omp_get_num_procs();
  std::uint32_t leave = 0;
#pragma omp parallel num_threads(jobs) reduction(+ : leave)
  {
    const Run own = make();
#pragma omp for schedule(dynamic, 8)
    for (std::uint32_t run = first_run; run < first_run + runs; ++run) {
      if (stop_asked()) continue;
      leave += own(most, run) < most ? 1U : 0U;
    }
  }
  throw_if_stopped();
  return success_probability(leave, runs, setting.false_alarm);
}

}  // namespace

SoftmaxBoost::SoftmaxBoost(const Bigrams<double>& bigrams, double step)
    : bigrams_(bigrams),
      transition_size_(transition_size(bigrams)),
      context_size_(context_size(bigrams)),
      level_(noise_at_solution(bigrams).value) {
  const Vector<double>& mu = bigrams.stationary;
  const Matrix<double> covariance = Matrix<double>(mu.asDiagonal()) - mu * mu.transpose();
  along_ = (bigrams.transition * covariance).norm() / transition_size_;
  step_ = step / std::sqrt(transition_size_ * context_size_);
}

double SoftmaxBoost::load(double argument) const {
  // B = z^2 eta T g W_V/(2 K_P K_Q), W_V = sigma_V^2 |P C|^2/K_P (scb.two-stages).
  const double rate = std::sqrt(transition_size_ * context_size_);
  return 2 * context_size_ / (argument * argument * step_ * rate * std::pow(level_ * along_, 2));
}

Quantity SoftmaxBoost::share(double positions, double load, std::uint32_t runs,
                             std::uint32_t first_run, const Setting& setting) const {
  Training<double> training;
  training.bigrams = bigrams_;
  Bigrams<double>& b = training.bigrams;
  b.context = std::lround(positions);
  const Index n = b.tokens();
  training.start = b.stationary * Vector<double>::Ones(n).transpose();
  training.softmax = true;
  training.attention_rate = positions * positions;
  const double noise = step_ * level_ * std::sqrt(load / positions / context_size_);
  const std::uint64_t seed = setting.draw_seed();
  const auto make = [&]() -> Run {
    return [flow = PopulationFlow<double>(training), noise, positions, seed, n, this](
               std::uint64_t most, std::uint32_t run) {
      const Vector<double>& mu = bigrams_.stationary;
      Vector<double> x = flow.initial();
      Vector<double> dx(x.size());
      const std::vector<std::string> columns = flow.columns();
      const std::size_t alpha_A = place_of(columns, "alpha_A");
      std::vector<double> row(columns.size());
      Matrix<double> kick(n, n);
      std::uint64_t i = 0;
      for (; most == 0 || i < most; ++i) {
        flow.observe(x, 0.0, row);
        if (row[alpha_A] * positions >= left || stop_asked()) break;
        flow.rhs(x, dx, 0.0);
        if (most > 0) {
          // d = sum_k mu_k |a^k|^2 from the loss would cancel; from the state it is at hand.
          double size = 0;
          Index at = n * n;
          for (Index k = 0; k < n; ++k) {
            const auto rest = positions - static_cast<double>(bigrams_.support(k));
            const auto own = x.segment(at, bigrams_.support(k) + 1).array().exp();
            const double last = own[bigrams_.support(k)];
            const double total = own.sum() + (rest - 1) * last;
            size += mu[k] * (own.square().sum() + (rest - 1) * last * last) / (total * total);
            at += bigrams_.support(k) + 1;
          }
          Stream stream(seed, run, i);
          for (double& value : kick.reshaped()) value = stream.normal();
          kick.rowwise() -= kick.colwise().mean().eval();
          kick.colwise() -= (kick * mu).eval();
          dx.head(n * n) += (noise / step_ * std::sqrt(size)) * kick.reshaped();
        }
        x += step_ * dx;
      }
      return i;
    };
  };
  Quantity found = share_of(make, runs, first_run, setting);
  const double of_logits = noise_at_solution(bigrams_).attention.maxCoeff() / (level_ * along_);
  found.add(ErrorPart::next_order(std::sqrt(context_size_ / positions) * of_logits));
  found.add(ErrorPart::next_order(left / positions));  // what attention takes from other positions
  return found;
}

Quantity SoftmaxBoost::limit_share(double load, std::uint32_t runs, std::uint32_t first_run,
                                   const Setting& setting) const {
  const Bigrams<double>& b = bigrams_;
  const double noise = step_ * level_ * along_ * std::sqrt(load / context_size_);
  const std::uint64_t seed = setting.draw_seed();
  const auto make = [&]() -> Run {
    return [&](std::uint64_t most, std::uint32_t run) {
      Vector<double> weight(b.entries());  // mu_k q^k_t
      for (Index k = 0; k < b.tokens(); ++k) {
        const Index first = b.first[static_cast<std::size_t>(k)];
        weight.segment(first, b.support(k)) = b.stationary[k] * b.law.segment(first, b.support(k));
      }
      Vector<double> w = Vector<double>::Zero(b.entries());
      double v = 0;
      std::uint64_t i = 0;
      for (; most == 0 || i < most; ++i) {
        const Vector<double> grown = w.array().exp();
        const double overlap = weight.dot(grown);
        if ((overlap - weight.sum()) / context_size_ >= left) break;
        Stream stream(seed, run, i);
        const double before = v;
        v += step_ * overlap + (most > 0 ? noise * stream.normal() : 0.0);
        w.array() += step_ * transition_size_ * before * b.law.array() * grown.array();
      }
      return i;
    };
  };
  return share_of(make, runs, first_run, setting);
}

}  // namespace popgrad::scb::checks
