#include "theorems/scb/checks/plain_runs.hpp"

#include "popgrad/walks/ensemble.hpp"
#include "popgrad/walks/walk.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/rungs/lumped_three_part.hpp"

namespace popgrad::scb::checks {

namespace {

// Of a round.
std::uint32_t runs_in_round(const NoisyTraining& setup, const Setting& setting) {
  if (setup.batch == 0) return 1;  // without noise all are the same
  std::uint32_t runs = std::max(4U, setting.draws(24));
  // Fewer decide no share at this level where one of them differs from the others.
  const auto undecided = [&](double count) {
    return (count + 1) * std::exp2(-count) > setting.false_alarm / 2;
  };
  while (setting.effort != Effort::search && undecided(runs)) ++runs;
  return runs;
}

}  // namespace

std::vector<Trajectory<double>> runs_of(const NoisyTraining& setup, const Schedule& schedule,
                                        double step, std::vector<std::uint64_t> saves,
                                        const Setting& setting, std::uint32_t round) {
  const AnyRung<double> rung = forget_type(LumpedThreePart(setup.training, schedule, setup.levels));
  WalkRequest request;
  request.step_size = step;
  request.steps = saves.back();
  request.save_steps = std::move(saves);
  request.batch = setup.batch;
  request.runs = runs_in_round(setup, setting);
  request.first_run = round * request.runs;
  request.seed = setting.draw_seed();
  request.jobs = setting.jobs;
  request.keep_states = true;
  return walk(rung, rung.initial, request);
}

std::vector<double> worse_distances(const std::vector<Trajectory<double>>& runs, std::size_t save) {
  std::vector<double> worse;
  for (const Trajectory<double>& run : runs) {
    const std::vector<double> from_P = run.column("dist_P_normalised");
    const std::vector<double> from_Q = run.column("dist_Q_normalised");
    worse.push_back(run.rows.size() > save
                        ? std::max(from_P[save] / from_P[0], from_Q[save] / from_Q[0])
                        : std::numeric_limits<double>::max());
  }
  return worse;
}

namespace {

// The state of the rung noisy-lumped that one of part 2 is (lumped_three_part.hpp).
Vector<double> lumped_after_threshold(const Bigrams<double>& b, const LumpedDescent& plain,
                                      const Vector<double>& x) {
  Vector<double> y(plain.dimension());
  Index at = b.tokens() * b.tokens();
  y.head(at) = x.head(at);
  for (Index k = 0; k < b.tokens(); ++k) {
    const Index begin = plain.begin_of(k);
    y.segment(begin, b.support(k)) = x.segment(at, b.support(k));
    at += b.support(k);
    const double common = x[at];
    const auto listed = x.segment(at + 2, static_cast<Index>(x[at + 1])).array();
    at += 2 + listed.size();
    const auto rest = static_cast<double>(b.context - b.support(k));
    const double unlisted = rest - static_cast<double>(listed.size());
    const double mean = (listed.sum() + unlisted * common) / rest;
    y[begin + b.support(k)] = mean;
    y[begin + b.support(k) + 1] =
        std::sqrt((listed - mean).square().sum() + unlisted * (common - mean) * (common - mean));
  }
  return y;
}

}  // namespace

std::vector<double> distances_without_l1(const NoisyTraining& setup, const Schedule& schedule,
                                         double step, std::uint64_t steps, const Setting& setting,
                                         std::uint32_t round) {
  const LumpedThreePart with_threshold(setup.training, schedule, setup.levels);
  const LumpedDescent plain(setup.training, setup.levels);
  const std::uint32_t runs = runs_in_round(setup, setting);
  const std::vector<std::string> columns = plain.columns();
  const auto distances = [&](const Vector<double>& x) {
    std::vector<double> row(columns.size());
    plain.observe(x, 0.0, row);
    return Eigen::Array2d(row[place_of(columns, "dist_P_normalised")],
                          row[place_of(columns, "dist_Q_normalised")]);
  };
  const Eigen::Array2d at_start = distances(plain.initial());
  std::vector<double> worse;
  for (std::uint32_t run = round * runs; run < (round + 1) * runs; ++run) {
    throw_if_stopped();
    Vector<double> x = with_threshold.initial();
    std::uint64_t i = 0;
    for (; i < steps && part_of(x) == Part::boost; ++i) {
      Stream stream(setting.draw_seed(), run, i);
      with_threshold.sample_step(x, step, stream, setup.batch);
    }
    Vector<double> y = x.head(plain.dimension());
    if (part_of(x) != Part::boost) y = lumped_after_threshold(setup.training.bigrams, plain, x);
    for (; i < steps; ++i) {
      Stream stream(setting.draw_seed(), run, i);
      plain.sample_step(y, schedule.l1_step, stream, setup.batch);
    }
    const double found = (distances(y) / at_start).maxCoeff();
    worse.push_back(std::isfinite(found) ? found : std::numeric_limits<double>::max());
  }
  return worse;
}

Quantity share_nearer(const std::vector<double>& first, const std::vector<double>& second,
                      double false_alarm) {
  std::uint32_t nearer = 0;
  for (std::size_t r = 0; r < first.size(); ++r) nearer += first[r] < second[r] ? 1U : 0U;
  return success_probability(nearer, static_cast<std::uint32_t>(first.size()), false_alarm);
}

double sustained_noise(const NoisyTraining& setup, double step) {
  const Bigrams<double>& b = setup.training.bigrams;
  const Vector<double> squares = setup.levels.attention.array().square().matrix();
  return step * static_cast<double>(b.context) * b.stationary.dot(squares) /
         (2 * transition_size(b) * static_cast<double>(setup.batch));
}

namespace {

// |a^k off the support, less its mean|^2 over what noise sustains, of every token.
Vector<double> noise_of_tokens(const NoisyTraining& setup, const Vector<double>& x, double step) {
  const Bigrams<double>& b = setup.training.bigrams;
  const Index n = b.tokens();
  const Matrix<double> v = x.head(n * n).reshaped(n, n);
  const double damping = 2 - step * covariance_product(v, v, b.stationary);
  Vector<double> ratios(n);
  Index at = n * n;
  for (Index k = 0; k < n; ++k) {
    at += b.support(k) + 1;
    const double sustained = step * static_cast<double>(b.context - b.support(k) - 1) *
                             std::pow(setup.levels.attention[k], 2) /
                             (transition_size(b) * static_cast<double>(setup.batch) * damping);
    ratios[k] = x[at] * x[at] / sustained;
    ++at;
  }
  return ratios;
}

// The same of all runs, a row each; NaN where one has not come so far.
Matrix<double> noise_of_runs(const NoisyTraining& setup,
                             const std::vector<Trajectory<double>>& runs, double step,
                             std::size_t save) {
  Matrix<double> ratios(std::ssize(runs), setup.training.bigrams.tokens());
  Index r = 0;
  for (const Trajectory<double>& run : runs) {
    if (run.states.size() <= save) {
      ratios.setConstant(std::numeric_limits<double>::quiet_NaN());
      break;
    }
    ratios.row(r++) = noise_of_tokens(setup, run.states[save], step).transpose();
  }
  return ratios;
}

}  // namespace

Quantity noise_of_plain(const NoisyTraining& setup, const std::vector<Trajectory<double>>& runs,
                        double step, std::size_t save, const Setting& setting) {
  const Matrix<double> ratios = noise_of_runs(setup, runs, step, save);
  if (!ratios.allFinite()) return std::numeric_limits<double>::quiet_NaN();
  const Matrix<double> means = ratios * setup.training.bigrams.stationary;
  return sample_moments(means, setting.false_alarm).mean.front();
}

double missing_after_as_long(const NoisyTraining& setup,
                             const std::vector<Trajectory<double>>& runs, double step,
                             std::size_t save, const Setting& setting) {
  const Bigrams<double>& b = setup.training.bigrams;
  const Index n = b.tokens();
  const Matrix<double> ratios = noise_of_runs(setup, runs, step, save);
  if (!ratios.allFinite()) return std::numeric_limits<double>::quiet_NaN();
  double slowest = 1;
  for (const Trajectory<double>& run : runs) {
    for (const Vector<double>& x : run.states) {
      const Matrix<double> v = x.head(n * n).reshaped(n, n);
      slowest = std::min(slowest, 1 - step * covariance_product(v, v, b.stationary) / 2);
    }
  }
  double missing = 0;
  const auto moments = sample_moments(ratios, setting.false_alarm);
  for (Index k = 0; k < n; ++k) {
    const Quantity& reached = moments.mean[static_cast<std::size_t>(k)];
    const double left = std::clamp(1 - reached.value() + reached.error(), 0.0, 1.0);
    missing += b.stationary[k] * std::pow(left, 1 + std::max(slowest, 0.0));
  }
  return missing;
}

double quiet_distance(NoisyTraining setup, const Schedule& schedule, double step,
                      std::uint64_t steps, const Setting& setting) {
  setup.batch = 0;
  return worse_distances(runs_of(setup, schedule, step, {0, steps}, setting), 1).front();
}

double lag_of_noise(const NoisyTraining& setup, const std::vector<Trajectory<double>>& runs,
                    double step, std::size_t from, std::size_t to) {
  double most = 0;
  for (const Trajectory<double>& run : runs) {
    if (run.rows.size() <= to) continue;
    const std::vector<double> alpha_V = run.column("alpha_V");
    most = std::max(most, std::fabs(std::pow(alpha_V[to], 2) - std::pow(alpha_V[from], 2)));
  }
  const double change = step * transition_size(setup.training.bigrams) * most;
  return change / (2 - change);
}

}  // namespace popgrad::scb::checks
