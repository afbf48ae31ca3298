#include "theorems/scb/checks/patterns.hpp"

#include "popgrad/walks/ensemble.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/noise.hpp"
#include "theorems/scb/rungs/population_flow.hpp"
#include "theorems/scb/rungs/sequence_sgd.hpp"

namespace popgrad::scb::checks {

namespace {

constexpr double tolerance = 1e-9;    // of the solves
constexpr double sampled_step = 0.1;  // eta

double product(const Vector<double>& mu, const Matrix<double>& one, const Matrix<double>& other) {
  return mu.dot(one.cwiseProduct(other).colwise().sum().transpose());
}

// What is read off V, A and the columns of a rung.
Pattern pattern_from(const Bigrams<double>& b, const Vector<double>& x, Matrix<double> attention,
                     const std::vector<std::string>& columns, const std::vector<double>& row) {
  const auto at = [&](const char* name) { return row[place_of(columns, name)]; };
  const Vector<double>& mu = b.stationary;
  const Index n = b.tokens();
  const double scale = transition_size(b) * context_size(b) / 2;
  const double least = (1 - mu.squaredNorm()) / 2 - scale;
  const double overlap = product(mu, pattern_of_law(b), attention);
  const double size = product(mu, attention, attention);
  const Matrix<double> missed =
      Eigen::Map<const Matrix<double>>(x.data(), n, n) - overlap / size * b.transition;
  return {.attention = std::move(attention),
          .alpha_V = at("alpha_V"),
          .alpha_A = at("alpha_A"),
          .excess = (at("loss") - least) / scale,
          .lag = size * covariance_product(missed, missed, mu) / (2 * scale)};
}

}  // namespace

Matrix<double> pattern_of_law(const Bigrams<double>& b, bool even) {
  Matrix<double> made = Matrix<double>::Zero(b.context, b.tokens());
  for (Index k = 0; k < b.tokens(); ++k) {
    for (Index e = b.first[static_cast<std::size_t>(k)];
         e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
      made(b.position[static_cast<std::size_t>(e)], k) =
          even ? 1 / static_cast<double>(b.support(k)) : b.law[e];
    }
  }
  return made;
}

Matrix<double> shifted(const Matrix<double>& attention) {
  const Index last = attention.cols() - 1;
  Matrix<double> made(attention.rows(), attention.cols());
  made.leftCols(last) = attention.rightCols(last);
  made.col(last) = attention.col(0);
  return made;
}

double apart(const Vector<double>& mu, const Matrix<double>& one, const Matrix<double>& other) {
  const Matrix<double> difference =
      one / std::sqrt(product(mu, one, one)) - other / std::sqrt(product(mu, other, other));
  return std::sqrt(product(mu, difference, difference));
}

double sine_square(const Vector<double>& mu, const Matrix<double>& one,
                   const Matrix<double>& other) {
  const double square = std::pow(apart(mu, one, other), 2);
  return square * (1 - square / 4);
}

TrainedFlow::TrainedFlow(const Training<double>& training, double time)
    : training_(training),
      solved_(forget_type(PopulationFlow<double>(training)), {time / 2, time}, tolerance) {}

double TrainedFlow::time_of(const Bigrams<double>& b, double times) {
  const double positions = static_cast<double>(b.context);
  return times * std::sqrt(positions / (transition_size(b) * context_size(b))) / 2;
}

Pattern TrainedFlow::pattern_at(const Vector<double>& x) const {
  const Bigrams<double>& b = training_.bigrams;
  Matrix<double> attention(b.context, b.tokens());
  Index at = b.tokens() * b.tokens();
  for (Index k = 0; k < b.tokens(); ++k) {
    auto own = attention.col(k);
    own.setConstant(x[at + b.support(k)]);
    for (Index e = b.first[static_cast<std::size_t>(k)];
         e < b.first[static_cast<std::size_t>(k + 1)]; ++e) {
      own[b.position[static_cast<std::size_t>(e)]] = x[at++];
    }
    ++at;
    if (training_.softmax) own = (own.array() - own.maxCoeff()).exp();
    if (training_.softmax) own /= own.sum();
  }
  const PopulationFlow<double> flow(training_);
  std::vector<double> row(flow.columns().size());
  flow.observe(x, 0.0, row);
  return pattern_from(b, x, std::move(attention), flow.columns(), row);
}

Pattern TrainedFlow::pattern(bool half) const { return pattern_at(solved_.state(half ? 0 : 1)); }

Quantity TrainedFlow::read(const std::function<double(const Pattern&)>& number, bool half) const {
  return solved_.at(half ? 0 : 1, [&](const Vector<double>& x) { return number(pattern_at(x)); });
}

double TrainedFlow::square(const Pattern& pattern) const {
  const Bigrams<double>& b = training_.bigrams;
  return sine_square(b.stationary, pattern.attention, pattern_of_law(b));
}

double TrainedFlow::trained_margin() const {
  constexpr double settled = 0.01;
  const double before = pattern(true).excess;
  const double after = pattern().excess;
  return std::min(0.5 - after, settled - (before - after));
}

Quantity TrainedFlow::excess_over_law() const {
  const Bigrams<double>& b = training_.bigrams;
  const Pattern end = pattern();
  Quantity ratio = read([&](const Pattern& p) { return p.excess / square(p); });
  ratio.add(ErrorPart::next_order(end.lag / square(end)));
  // Of the loss, a number below 1, over what is left of it.
  const auto operations = static_cast<double>(b.tokens() * b.tokens() + b.entries());
  ratio.add(
      ErrorPart::rounding(operations, 2 / (transition_size(b) * context_size(b) * square(end))));
  return ratio;
}

double TrainedFlow::unscaled() const {
  const Bigrams<double>& b = training_.bigrams;
  const Pattern end = pattern();
  const Matrix<double> missed = end.attention - pattern_of_law(b);
  return product(b.stationary, missed, missed) / context_size(b) / square(end);
}

Quantity TrainedFlow::angle_over_settled() const {
  const Bigrams<double>& b = training_.bigrams;
  const double size = static_cast<double>(b.context) * context_size(b);  // T K_Q
  const Pattern end = pattern();
  Quantity ratio =
      read([&](const Pattern& p) { return square(p) * size / std::pow(1 - p.alpha_V, 2); });
  ratio.add(ErrorPart::next_order(2 * (1 - end.alpha_A * end.alpha_V) / (1 - end.alpha_V)));
  ratio.add(ErrorPart::next_order(end.alpha_V * end.alpha_V / size));
  return ratio;
}

Training<double> with_softmax(Training<double> training) {
  training.softmax = true;
  training.attention_rate = 4 * static_cast<double>(training.bigrams.context);
  return training;
}

std::vector<Quantity> differences(const TrainedFlow& linear, const TrainedFlow& softmax,
                                  const Vector<double>& mu, const Matrix<double>& law) {
  const auto apart_from = [&](const Matrix<double>& other) {
    return [&](const Pattern& p) { return apart(mu, p.attention, other); };
  };
  const Pattern end = linear.pattern();
  const Pattern other_end = softmax.pattern();
  Quantity between = linear.read(apart_from(other_end.attention));
  const Quantity again = softmax.read(apart_from(end.attention));
  for (const ErrorPart& part : again.parts()) between.add(part);
  const auto excess = [](const Pattern& p) { return p.excess; };
  return {linear.read(apart_from(law)), softmax.read(apart_from(law)), between,
          abs(linear.read(excess) - softmax.read(excess))};
}

SampledPairs::SampledPairs(Training<double> training, double share, const Setting& setting)
    : training_(std::move(training)) {
  const Bigrams<double>& b = training_.bigrams;
  const double transition = transition_size(b);
  const Vector<double> squares = noise_at_solution(b).attention.array().square().matrix();
  const double noise_of_one =
      sampled_step * static_cast<double>(b.context) * b.stationary.dot(squares) / (2 * transition);
  const double size = std::sqrt(transition * context_size(b));  // alpha_A^2 K_Q
  batch_ = static_cast<Index>(std::ceil(noise_of_one / (share * size)));
  linear_ = ends(training_, setting);
  softmax_ = ends(with_softmax(training_), setting);
}

std::vector<Pattern> SampledPairs::ends(const Training<double>& training,
                                        const Setting& setting) const {
  const Bigrams<double>& b = training.bigrams;
  const SequenceSgd<double> reader(training);
  const AnyRung<double> rung = forget_type(SequenceSgd<double>(training));
  constexpr double times = 10;  // of the growth time
  WalkRequest request;
  request.step_size = sampled_step;
  request.steps = static_cast<std::uint64_t>(TrainedFlow::time_of(b, times) / sampled_step);
  request.save_steps = {request.steps};
  request.batch = batch_;
  request.runs = std::max(6U, setting.draws(12));
  request.seed = setting.draw_seed();
  request.jobs = setting.jobs;
  request.keep_states = true;
  std::vector<Pattern> found;
  for (const Trajectory<double>& run : walk(rung, rung.initial, request)) {
    if (run.rows.empty()) continue;
    Matrix<double> attention(b.context, b.tokens());
    for (Index k = 0; k < b.tokens(); ++k) {
      attention.col(k) = reader.attention(run.states.back(), k);
    }
    found.push_back(
        pattern_from(b, run.states.back(), std::move(attention), run.columns, run.rows.back()));
  }
  return found;
}

std::vector<Quantity> SampledPairs::differences(const Matrix<double>& law,
                                                double false_alarm) const {
  const Vector<double>& mu = bigrams().stationary;
  const std::size_t pairs = std::min(linear_.size(), softmax_.size());
  Matrix<double> samples(static_cast<Index>(pairs), 4);
  for (std::size_t r = 0; r < pairs; ++r) {
    const Pattern& one = linear_[r];
    const Pattern& other = softmax_[r];
    samples.row(static_cast<Index>(r)) << apart(mu, one.attention, law),
        apart(mu, other.attention, law), apart(mu, one.attention, other.attention),
        std::fabs(one.excess - other.excess);
  }
  return sample_moments(samples, false_alarm).mean;
}

}  // namespace popgrad::scb::checks
