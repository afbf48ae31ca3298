#include "theorems/scb/checks/sampled_runs.hpp"

#include <numeric>

#include "popgrad/walks/walk.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/noise.hpp"
#include "theorems/scb/rungs/three_part_descent.hpp"

namespace popgrad::scb::checks {

namespace {

double square_of_law(const Bigrams<double>& b, Index k) {
  return b.law.segment(b.first[static_cast<std::size_t>(k)], b.support(k)).squaredNorm();
}

}  // namespace

namespace {

double least_pull(const Training<double>& training) {
  return training.bigrams.law.minCoeff() * transition_size(training.bigrams);
}

}  // namespace

void report_least_pull(const Training<double>& training, Examination& it) {
  it.report("`q_min K_P` of the instance of the runs; of a drawn one the largest of 8 draws",
            least_pull(training));
}

Training<double> clearest_training(Index tokens, Index context, Index support, std::uint64_t seed) {
  constexpr std::uint64_t draws = 8;
  constexpr std::uint64_t apart = 1000;  // further than the seeds that are usually compared
  Training<double> clearest;
  double most = -1;
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    Training<double> drawn = from_scratch(tokens, context, support, seed + apart * draw);
    const double pull = least_pull(drawn);
    if (pull > most) clearest = std::move(drawn);
    most = std::max(most, pull);
  }
  return clearest;
}

std::vector<Trajectory<double>> runs_to_end(const AnyRung<double>& rung, double step_size,
                                            std::uint64_t steps, Index batch, std::uint32_t runs,
                                            std::uint32_t first_run, const Setting& setting) {
  WalkRequest request;
  request.step_size = step_size;
  request.steps = steps;
  request.save_steps = {steps};
  request.batch = batch;
  request.runs = runs;
  request.first_run = first_run;
  request.seed = setting.draw_seed();
  request.jobs = setting.jobs;
  return walk(rung, rung.initial, request);
}

SolutionRuns::SolutionRuns(Training<double> training, double step)
    : training_(std::move(training)),
      transition_size_(transition_size(training_.bigrams)),
      context_size_(context_size(training_.bigrams)) {
  const Bigrams<double>& b = training_.bigrams;
  const Vector<double>& mu = b.stationary;
  step_ = step / context_size_;
  training_.start = b.transition;
  training_.attention_start = dense_law(b);
  const Matrix<double> covariance = token_covariance(mu);
  const Matrix<double> moved = b.transition * covariance * b.transition.transpose();
  spread_ = (moved * covariance).trace();
  square_ = moved.squaredNorm();
}

double SolutionRuns::critical() const {
  const Bigrams<double>& b = training_.bigrams;
  return step_ * static_cast<double>(b.context) * square_ /
         (b.stationary.minCoeff() * transition_size_ * (2 - step_ * transition_size_));
}

Index SolutionRuns::batch(double share) const {
  return std::max<Index>(1, std::llround(share * critical()));
}

double SolutionRuns::l1_noise(double batch) const {
  return noise_at_solution(training_.bigrams).attention.maxCoeff() *
         std::sqrt(step_ * transition_size_ / batch);
}

double SolutionRuns::least_pull() const {
  return training_.bigrams.law.minCoeff() * transition_size_;
}

double SolutionRuns::noise_of_values(double batch) const {
  const Vector<double>& mu = training_.bigrams.stationary;
  const auto n = static_cast<double>(mu.size());
  const double coordinates = (n - 1) * (n - 2 + n * mu.squaredNorm());
  return step_ * std::pow(noise_at_solution(training_.bigrams).value, 2) * coordinates /
         (2 * context_size_ * batch);
}

std::uint64_t SolutionRuns::steps(double times) const {
  return static_cast<std::uint64_t>(std::ceil(times / (step_ * transition_size_)));
}

CriticalBatch SolutionRuns::half_batch(bool feedback, std::uint32_t runs, const Setting& setting,
                                       const std::function<Quantity(Index)>& measure) const {
  const ResidualRuns by_residual(training_);
  const ResidualRequest request{
      .step = step_, .steps = steps(3), .values_move = true, .feedback = feedback};
  return critical_batch(
      0.5, 2 * critical(), runs,
      [&](Index batch, std::uint32_t own) {
        return by_residual.near(request, batch, own, setting);
      },
      measure);
}

SolutionRuns SolutionRuns::changed(Index context, double times) const {
  Training<double> training = training_;
  Bigrams<double>& b = training.bigrams;
  b.context = context;
  for (Index k = 0; k < b.tokens(); ++k) {
    const auto begin = b.position.begin() + b.first[static_cast<std::size_t>(k)];
    std::iota(begin, begin + b.support(k), Index{0});
  }
  return {std::move(training), times * step_ * context_size_};
}

double SolutionRuns::derived_noise(Index batch, const Formula& formula) const {
  const Bigrams<double>& b = training_.bigrams;
  const auto positions = static_cast<double>(b.context - 1);  // the mean over t is taken off
  double mean = 0;
  for (Index k = 0; k < b.tokens(); ++k) {
    const double per_batch = step_ * step_ * positions / static_cast<double>(batch) /
                             (formula.weighted ? b.stationary[k] : 1);
    double noise = 0;
    for (std::uint64_t i = 0; i < steps(1); ++i) {
      const double felt = (formula.feedback ? noise : 0) - square_of_law(b, k);
      noise = std::pow(1 - step_ * transition_size_, 2) * noise +
              per_batch * (spread_ + felt * square_);
    }
    mean += b.stationary[k] * noise;
  }
  return mean;
}

double SolutionRuns::left_out() const {
  const Bigrams<double>& b = training_.bigrams;
  const SequenceSgd<double> sampled(training_);
  const Vector<double> x = sampled.initial();
  // A column for every position of a support, and one for the others.
  const Index n = b.tokens();
  Matrix<double> vectors = Matrix<double>::Zero(x.size(), b.entries() + n);
  std::vector<double> counts;
  std::vector<Index> rows;
  for (Index k = 0; k < n; ++k) {
    const auto begin = b.position.begin() + b.first[static_cast<std::size_t>(k)];
    const auto end = b.position.begin() + b.first[static_cast<std::size_t>(k + 1)];
    Index free = 0;
    for (auto at = begin; at != end; ++at) {
      rows.push_back(n * n + k * b.context + *at);
      counts.push_back(b.stationary[k]);
      free += *at == free ? 1 : 0;
    }
    rows.push_back(n * n + k * b.context + std::min(free, b.context - 1));
    counts.push_back(b.stationary[k] * static_cast<double>(b.context - b.support(k)));
  }
  for (Index c = 0; c < vectors.cols(); ++c) vectors(rows[static_cast<std::size_t>(c)], c) = 1;
  Matrix<double> images(vectors.rows(), vectors.cols());
  sampled.draw_covariance(x, vectors, images);
  double exact = 0;
  for (Index c = 0; c < vectors.cols(); ++c) {
    exact += counts[static_cast<std::size_t>(c)] * images(rows[static_cast<std::size_t>(c)], c);
  }
  double derived = 0;
  for (Index k = 0; k < n; ++k) {
    derived += static_cast<double>(b.context - 1) * (spread_ - square_of_law(b, k) * square_);
  }
  return std::fabs(exact / derived - 1);
}

std::vector<Trajectory<double>> SolutionRuns::walked(const Schedule& schedule, double times,
                                                     Index batch, std::uint32_t runs,
                                                     std::uint32_t first_run,
                                                     const Setting& setting) const {
  const AnyRung<double> rung = forget_type(ThreePartDescent(training_, schedule));
  return runs_to_end(rung, step_, steps(times), batch, runs, first_run, setting);
}

Matrix<double> SolutionRuns::noise_of_runs(Index batch, std::uint32_t runs, std::uint32_t first_run,
                                           const Setting& setting) const {
  Schedule schedule;
  schedule.transfer = true;
  schedule.boost_until = std::numeric_limits<double>::max();
  schedule.boost_steps = std::numeric_limits<std::uint64_t>::max();
  Matrix<double> squares(runs, 1);
  Index r = 0;
  for (const Trajectory<double>& run : walked(schedule, 1, batch, runs, first_run, setting)) {
    squares(r++, 0) = run.rows.empty() ? std::numeric_limits<double>::quiet_NaN()
                                       : std::pow(run.column("dist_Q").back(), 2);
  }
  return squares;
}

std::vector<double> SolutionRuns::distances(Index batch, double weight, std::uint32_t runs,
                                            std::uint32_t first_run, const Setting& setting) const {
  Schedule schedule;
  schedule.boost_until = std::numeric_limits<double>::max();
  schedule.boost_steps = weight > 0 ? 1 : std::numeric_limits<std::uint64_t>::max();
  schedule.threshold = 0;
  schedule.l1_step = step_;
  schedule.l1_weight = weight;
  const double far_P = std::sqrt(transition_size_);
  const double far_Q =
      std::sqrt(context_size_ - 1 / static_cast<double>(training_.bigrams.context));
  std::vector<double> ends;
  for (const Trajectory<double>& run : walked(schedule, 3, batch, runs, first_run, setting)) {
    ends.push_back(run.rows.empty() ? std::numeric_limits<double>::max()
                                    : std::max(run.column("dist_P_normalised").back() / far_P,
                                               run.column("dist_Q_normalised").back() / far_Q));
  }
  return ends;
}

}  // namespace popgrad::scb::checks
