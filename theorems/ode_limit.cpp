#include "theorems/ode_limit.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "fluctuations/moment_blocks.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/solved.hpp"
#include "popgrad/statistics/order.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad {
namespace {

// The second ensemble has so many times smaller batches: what the prediction neglects is as many
// times larger there, and measured well.
constexpr int fewer = 8;
constexpr double solve_tolerance = 1e-11;
// Learning rates of descent: the largest, and as often a half of it.
constexpr double halving = 2;
constexpr std::size_t rates = 5;

constexpr Clause follows{"descent follows the flow with an error `O(eta)`"};
constexpr Clause spreads{"SGD spreads about descent by `O(sqrt(eta/B))`"};
constexpr Hypothesis small_steps{"small steps"};
constexpr Hypothesis independent{"independent minibatches"};
constexpr Hypothesis fixed_time =
    by_construction("a fixed time", "all step sizes are compared at one time");
constexpr Control exponent{"exponent", "an error of order 1.1 in `eta` claimed for descent"};
constexpr Rival logarithm{"logarithm", "the error of descent goes as `eta` times `ln(1/eta)`",
                          "a factor"};
constexpr Control fixed_steps{"fixed-steps",
                              "a spread as `eta/sqrt(B)`, as after a fixed number of steps"};
constexpr Control no_transport{
    "no-transport", "noise of all steps added up without the Jacobian that carries it on"};

// By differences, for rungs without dual numbers.
AnyRung<double> with_jacobian(AnyRung<double> rung) {
  if (rung.field.jacobian) return rung;
  rung.field.jacobian = [law = std::make_shared<StepLaw>(rung)](
                            const Vector<double>& x, Matrix<double>& jacobian,
                            const double& /*t*/) { jacobian = law->jacobian(x); };
  return rung;
}

// Runs whose minibatch is that of the step before with the given probability.
Matrix<double> ends_of_runs(const OdeLimit& training, Index batch, std::uint32_t first_run,
                            const Setting& setting) {
  const std::uint32_t count = setting.draws(training.runs);
  Matrix<double> ends(count, training.rung.dimension);
  if (training.repetition > 0) {
    Vector<double> slope(training.rung.dimension);
    for (std::uint32_t r = 0; r < count; ++r) {
      Stream choice(setting.draw_seed(), first_run + r, training.steps);
      Vector<double> x = training.rung.initial;
      std::uint64_t minibatch = 0;
      for (std::uint64_t step = 0; step < training.steps; ++step) {
        throw_if_stopped();
        if (step == 0 || choice.uniform() >= training.repetition) minibatch = step;
        Stream stream(setting.draw_seed(), first_run + r, minibatch);
        training.rung.draws.sample(x, slope, stream, batch);
        x += training.step_size * slope;
      }
      ends.row(r) = x;
    }
    return ends;
  }
  WalkRequest request;
  request.step_size = training.step_size;
  request.steps = training.steps;
  request.save_steps = {training.steps};
  request.batch = batch;
  request.runs = count;
  request.first_run = first_run;
  request.seed = setting.draw_seed();
  request.jobs = setting.jobs;
  request.keep_states = true;
  const auto runs = walk(training.rung, training.rung.initial, request);
  for (std::uint32_t r = 0; r < count; ++r) ends.row(r) = runs[r].states.front();
  return ends;
}

// Means of the components, and the variance summed over all of the state, as the last.
std::vector<Quantity> measured_moments(const OdeLimit& training, Index batch,
                                       std::uint32_t first_run, const Setting& setting) {
  const Matrix<double> ends = ends_of_runs(training, batch, first_run, setting);
  const auto looks = static_cast<Index>(training.components.size());
  const auto runs = static_cast<double>(ends.rows());
  const Vector<double> mean = ends.colwise().mean();
  Matrix<double> samples(ends.rows(), looks + 1);
  for (Index k = 0; k < looks; ++k) {
    samples.col(k) = ends.col(training.components[static_cast<std::size_t>(k)]);
  }
  samples.col(looks) =
      (ends.rowwise() - mean.transpose()).rowwise().squaredNorm() * (runs / (runs - 1));
  return sample_moments(samples, setting.false_alarm).mean;
}

// Descent from the start, at every step.
std::vector<Vector<double>> path_of(const AnyRung<double>& rung, std::uint64_t steps,
                                    double step_size) {
  std::vector<Vector<double>> path{rung.initial};
  Vector<double> slope(rung.dimension);
  for (std::uint64_t step = 0; step < steps; ++step) {
    throw_if_stopped();
    rung.field.value(path.back(), slope, 0.0);
    path.emplace_back(path.back() + step_size * slope);
  }
  return path;
}

enum class Transport { by_jacobian, none };

// Variance at the end, summed over the state, to first order in 1/B: the deviation of the draws of
// every step, carried to the end by the Jacobians of the steps after it,
//   (eta^2/B) sum_k E|(I + eta J_{K-1}) ... (I + eta J_{k+1}) xi_k|^2,
// from the covariance of xi_k where it is known, else from draws.
Quantity predicted_variance(const OdeLimit& training, const AnyRung<double>& rung, double step_size,
                            Transport transport, const Setting& setting) {
  const std::vector<Vector<double>> path = path_of(rung, training.steps, step_size);
  const Index n = rung.dimension;
  Matrix<double> carried = Matrix<double>::Identity(n, n);
  Matrix<double> jacobian;
  Matrix<double> images;
  double sum = 0;
  Vector<double> squares = Vector<double>::Zero(training.variance_draws);
  for (std::uint64_t step = training.steps; step-- > 0;) {
    throw_if_stopped();
    if (rung.draws.covariance) {
      rung.draws.covariance(path[step], carried.transpose(), images);
      sum += carried.cwiseProduct(images.transpose()).sum();
    } else {
      const Matrix<double> draws =
          sampled_deviations(rung, path[step], training.variance_draws, setting.draw_seed(), step);
      squares += (carried * draws).colwise().squaredNorm().transpose();
    }
    if (transport == Transport::none) continue;
    rung.field.jacobian(path[step], jacobian, 0.0);
    carried += step_size * carried * jacobian;
  }
  const double noise = step_size * step_size / static_cast<double>(training.batch);
  if (rung.draws.covariance) return noise * sum;
  squares *= noise;
  return sample_moments(squares, setting.false_alarm).mean.front();
}

// Means at the end with the drift of second order, of a rung whose law of one draw is known.
std::vector<Quantity> predicted_means(const OdeLimit& training, Index batch, double step_size) {
  const Vector<double> mean = law_after(training.rung, step_size, batch, training.steps).mean();
  std::vector<Quantity> values;
  for (const Index component : training.components) values.emplace_back(mean[component]);
  return values;
}

Quantity order_of_descent(const OdeLimit& training, const Solved& flow) {
  const auto error = [&](double step_size) {
    WalkRequest request;
    request.step_size = step_size;
    request.steps =
        training.steps * static_cast<std::uint64_t>(std::lround(training.step_size / step_size));
    request.save_steps = {request.steps};
    request.keep_states = true;
    const Vector<double> end =
        walk(training.rung, training.rung.initial, request).front().states.front();
    return flow.at(0, [&](const Vector<double>& limit) { return (end - limit).norm(); });
  };
  return order_of(error, training.step_size, halving, rates);
}

void judge_means(const OdeLimit& training, const Solved& flow, std::vector<Quantity> measured,
                 const std::vector<Quantity>& noisier, double spread, Examination& it) {
  const double eta = training.step_size;
  const Index noisy = training.batch / fewer;
  const std::vector<Quantity> claimed = predicted_means(training, training.batch, eta);
  const std::vector<Quantity> at_noisy = predicted_means(training, noisy, eta);
  std::vector<double> scales;
  std::vector<std::string> places;
  for (std::size_t i = 0; i < claimed.size(); ++i) {
    // What is neglected is of order (eta/B)^2.
    const Quantity change = (noisier[i] - at_noisy[i]) - (measured[i] - claimed[i]);
    measured[i].add(
        ErrorPart::next_order((std::fabs(change.value()) + change.error()) / (fewer * fewer - 1)));
    const Index component = training.components[i];
    const double step_error = std::fabs(claimed[i].value() - flow.state(0)[component]);
    scales.push_back(std::max(step_error, spread));
    places.push_back(training.rung.state_names.at(static_cast<std::size_t>(component)));
  }
  it.judge(spreads, equal("mean over runs", std::move(measured), claimed)
                        .of_kind(EvidenceKind::statistical)
                        .in_units_of(scales)
                        .at(places)
                        .unless(wrong_learning_rate, instead([&] {
                                  return predicted_means(training, training.batch, 1.1 * eta);
                                })));
}

// Of the prediction that is compared with runs at one learning rate.
void judge_order_of_spread(const OdeLimit& training, const AnyRung<double>& rung,
                           const Setting& setting, Examination& it) {
  const auto variance = [&](double step_size) {
    OdeLimit finer = training;
    finer.steps *= static_cast<std::uint64_t>(std::lround(training.step_size / step_size));
    return predicted_variance(finer, rung, step_size, Transport::by_jacobian, setting);
  };
  it.judge(spreads, equal("order in `eta` of the variance at a fixed time",
                          order_of(variance, training.step_size, halving, 3), 1)
                        .unless(fixed_steps, 2));
}

void judge_fluctuations(const OdeLimit& training, const Solved& flow, const Setting& setting,
                        Examination& it) {
  const AnyRung<double> rung = with_jacobian(training.rung);
  const double eta = training.step_size;
  const auto predicted = [&](double step_size, Transport transport) {
    return predicted_variance(training, rung, step_size, transport, setting);
  };
  Quantity claimed = predicted(eta, Transport::by_jacobian);
  if (training.uncorrected.field.value) {
    const Quantity without = predicted_variance(training, with_jacobian(training.uncorrected), eta,
                                                Transport::by_jacobian, setting);
    claimed.add(ErrorPart::next_order(training.left * (claimed.value() - without.value())));
  }
  if (rung.draws.covariance) judge_order_of_spread(training, rung, setting, it);
  std::vector<Quantity> measured = measured_moments(training, training.batch, 0, setting);
  std::vector<Quantity> noisier =
      measured_moments(training, training.batch / fewer, 1U << 24U, setting);
  Quantity variance = measured.back();
  measured.pop_back();
  // What is neglected is a share of order eta/B.
  const Quantity change = noisier.back() * Quantity(1.0 / fewer) - variance;
  noisier.pop_back();
  if (!measured.empty()) {
    judge_means(training, flow, measured, noisier, std::sqrt(claimed.value()), it);
  }
  variance.add(ErrorPart::next_order((std::fabs(change.value()) + change.error()) / (fewer - 1)));
  it.judge(
      spreads,
      equal("variance over runs, summed over the state", variance, claimed)
          .of_kind(EvidenceKind::statistical)
          .with(fmt::format("{} runs at `B = {}`", setting.draws(training.runs), training.batch))
          .unless(wrong_learning_rate,
                  instead([&] { return predicted(1.1 * eta, Transport::by_jacobian); }))
          .unless(no_transport, instead([&] { return predicted(eta, Transport::none); })));
}

}  // namespace

Statement ode_limit_sheet(Statement own, bool exact_noise) {
  for (const Clause& clause : {follows, spreads}) own.clause(clause.text);
  for (const Hypothesis& hypothesis : {small_steps, independent, fixed_time})
    own.assume(hypothesis);
  for (const Control& control : {exponent, wrong_learning_rate, no_transport}) {
    own.controls.push_back(control);
  }
  own.rivals.push_back(logarithm);
  own.false_version = no_transport.name;
  if (exact_noise) {
    own.controls.push_back(fixed_steps);
    own.false_version = fixed_steps.name;
  }
  own.reaches = {EvidenceKind::numerical, EvidenceKind::statistical};
  return own;
}

void examine_ode_limit(const OdeLimit& training, const Setting& setting, Examination& it) {
  const double end = training.step_size * static_cast<double>(training.steps);
  const Solved flow(training.rung, {end}, solve_tolerance);
  Matrix<double> jacobian;
  double steepest = 0;
  for (const Vector<double>& x : {training.rung.initial, flow.state(0)}) {
    with_jacobian(training.rung).field.jacobian(x, jacobian, 0.0);
    steepest = std::max(steepest, jacobian.norm());
  }
  it.require(
      small_steps, 1 - training.step_size * steepest,
      fmt::format("`eta |J| = {:.3g}` at most, at the start and the end, has to stay below 1",
                  training.step_size * steepest));
  it.require(independent, -training.repetition,
             fmt::format("repeated with probability {:.3g}", training.repetition));
  const Quantity order = order_of_descent(training, flow);
  // In units of the time that is compared; the slope of x ln(1/x) is 1 - 1/ln(1/x).
  const double finest =
      std::log(std::pow(halving, rates - 1) * static_cast<double>(training.steps));
  it.judge(follows, equal("order of |descent - flow| in `eta`", order, 1)
                        .unless(exponent, 1.1)
                        .against(logarithm, 1 - 1 / finest));
  judge_fluctuations(training, flow, setting, it);
}

}  // namespace popgrad
