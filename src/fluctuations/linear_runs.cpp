#include "popgrad/fluctuations/linear_runs.hpp"

#include <algorithm>
#include <stdexcept>

#include "fluctuations/observable_readings.hpp"
#include "fluctuations/propagator.hpp"
#include "fluctuations/step_law.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/base/stoppable_step.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/random.hpp"
#include "scalars/linear_algebra.hpp"

namespace popgrad {
namespace {

// With 51 rows, as runs are often logged, a block is from row to row.
constexpr std::uint64_t blocks = 48;
constexpr std::uint32_t stream_of_normals = 0xFFFFFFF5U;

class Path {
 public:
  Path(const AnyRung<double>& rung, const LinearRunsRequest& request)
      : request_(request),
        law_(rung),
        x_(rung.initial),
        direction_(rung.dimension),
        drift_(Vector<double>::Zero(rung.dimension)),
        covariance_(Matrix<double>::Zero(rung.dimension, rung.dimension)) {}

  // Moves on by `count` steps.
  [[nodiscard]] Propagator block(std::uint64_t count) {
    const std::uint64_t half = count / 2;
    const Vector<double> nowhere = Vector<double>::Zero(x_.size());
    Propagator one;
    if (request_.order == LinearOrder::second) {
      // The drift of the block before, until the covariance half-way through tells what it
      // makes of a step and of its drift; that of the middle is then that of all steps together.
      const Vector<double> likely = drift_;
      walk(half, likely);
      const Matrix<double> root = square_root(after(one_step(nowhere), half));
      one = one_step(root * random_signs(x_.size(), step_));
      drift_ = drift_by(root);
      walk(count - half,
           (static_cast<double>(count) * drift_ - static_cast<double>(half) * likely) /
               static_cast<double>(count - half));
    } else {
      const Vector<double> drift = drift_by(square_root(covariance_));
      walk(half, drift);
      one = one_step(nowhere);
      walk(count - half, drift);
    }
    Propagator moved = repeated(std::move(one), count);
    covariance_ = congruent(moved.power, covariance_) + moved.noise;
    return moved;
  }

  // Moves on to a step, by blocks; calls moved(propagator) after each.
  template <class Moved>
  void go_to(std::uint64_t target, const Moved& moved) {
    const std::uint64_t longest = std::max<std::uint64_t>(1, request_.save_steps.back() / blocks);
    while (step_ < target) {
      // Equal parts of what is left to the row.
      const std::uint64_t left = target - step_;
      const std::uint64_t parts = (left + longest - 1) / longest;
      throw_if_step_stopped();
      moved(block((left + parts - 1) / parts));
    }
  }

  [[nodiscard]] const Vector<double>& state() const { return x_; }
  [[nodiscard]] const Matrix<double>& covariance() const { return covariance_; }

 private:
  [[nodiscard]] Matrix<double> after(const Propagator& one, std::uint64_t steps) const {
    if (steps == 0) return covariance_;
    const Propagator moved = repeated(one, steps);
    return congruent(moved.power, covariance_) + moved.noise;
  }

  void walk(std::uint64_t steps, const Vector<double>& drift) {
    for (std::uint64_t k = 0; k < steps; ++k) {
      throw_if_stopped();
      throw_if_step_stopped(static_cast<std::int64_t>(k));
      law_.field(x_, direction_);
      x_ += request_.step_size * (direction_ + drift);
    }
    step_ += steps;
  }

  // Half of the second derivatives of the direction, over a covariance with this root.
  [[nodiscard]] Vector<double> drift_by(const Matrix<double>& root) {
    law_.field(x_, direction_);
    return law_.drift(x_, direction_, root, Nodes::gauss, step_);
  }

  // Of deviations, on average over the states x + apart and x - apart.
  [[nodiscard]] Propagator one_step(const Vector<double>& apart) {
    const double eta = request_.step_size;
    const Index n = x_.size();
    Propagator made{Matrix<double>::Identity(n, n), Matrix<double>::Zero(n, n),
                    Vector<double>::Zero(n)};
    const auto add = [&](const Vector<double>& x, double weight) {
      made.power += weight * eta * law_.jacobian(x);
      made.noise += weight * eta * eta / request_.batch * law_.draw_covariance(x);
    };
    if (apart.isZero(0)) {
      add(x_, 1);
    } else {
      add(x_ + apart, 0.5);
      add(x_ - apart, 0.5);
    }
    return made;
  }

  const LinearRunsRequest& request_;
  StepLaw law_;
  Vector<double> x_, direction_, drift_;
  Matrix<double> covariance_;
  std::uint64_t step_ = 0;
};

}  // namespace

LinearCovariance linear_covariance(const AnyRung<double>& sgd, const LinearRunsRequest& request) {
  if (!sgd.draws.covariance) throw std::invalid_argument("linear_covariance: no law of one draw");
  const auto columns = std::ssize(sgd.observables.columns);
  LinearCovariance made;
  made.covariance = Matrix<double>::Zero(std::ssize(request.save_steps) * columns,
                                         std::ssize(request.save_steps) * columns);
  Path path(sgd, request);
  std::vector<Matrix<double>> carried;  // Phi_kl C_l G_l of the rows l so far
  for (const std::uint64_t target : request.save_steps) {
    path.go_to(target, [&](const Propagator& moved) {
      for (Matrix<double>& earlier : carried) earlier = (moved.power * earlier).eval();
    });
    made.t.push_back(static_cast<double>(target) * request.step_size);
    const Matrix<double> own =
        observable_gradients(sgd, path.state(), made.t.back(), gradient_step);
    carried.emplace_back(path.covariance() * own);
    const Index row = (std::ssize(carried) - 1) * columns;
    for (Index l = 0; l < std::ssize(carried); ++l) {
      const Matrix<double> block = own.transpose() * carried[static_cast<std::size_t>(l)];
      made.covariance.block(row, l * columns, columns, columns) = block;
      made.covariance.block(l * columns, row, columns, columns) = block.transpose();
    }
  }
  return made;
}

std::vector<Trajectory<double>> linear_runs(const AnyRung<double>& sgd,
                                            const LinearRunsRequest& request) {
  if (!sgd.draws.covariance) throw std::invalid_argument("linear_runs: no law of one draw");
  const Index n = sgd.dimension;
  std::vector<Trajectory<double>> runs(static_cast<std::size_t>(request.runs));
  std::vector<Stream> streams;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    runs[r].columns = sgd.observables.columns;
    streams.emplace_back(request.seed, stream_of_normals, r);
  }
  Path path(sgd, request);
  Matrix<double> deviations = Matrix<double>::Zero(n, request.runs);
  Matrix<double> normals(n, request.runs);
  const auto normals_of_a_run = static_cast<std::size_t>(n);
  for (const std::uint64_t target : request.save_steps) {
    path.go_to(target, [&](const Propagator& moved) {
      for (Index r = 0; r < request.runs; ++r) {
        streams[static_cast<std::size_t>(r)].normals({normals.col(r).data(), normals_of_a_run});
      }
      deviations = (moved.power * deviations + square_root(moved.noise) * normals).eval();
    });
    const double t = static_cast<double>(target) * request.step_size;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      std::vector<double>& row = runs[r].rows.emplace_back(sgd.observables.columns.size());
      sgd.observables.read(path.state() + deviations.col(static_cast<Index>(r)), t, row);
      runs[r].t.push_back(t);
    }
  }
  return runs;
}

}  // namespace popgrad
