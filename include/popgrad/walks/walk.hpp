#pragma once
/// Discrete rungs: gradient descent and SGD, single runs and ensembles over seeds.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "popgrad/rungs/rung_fwd.hpp"
#include "popgrad/rungs/trajectory.hpp"

namespace popgrad {

/// How a step follows from the field; state begins at 0 with the run.
struct Optimiser {
  enum class Rule {
    plain,     ///< x <- x + eta g
    momentum,  ///< v <- beta v + g;  x <- x + eta v  (heavy ball)
    adam,      ///< Kingma and Ba, Adam (arXiv 1412.6980), Algorithm 1, on g without its rates
  };
  Rule rule = Rule::plain;
  double momentum = 0.9;               ///< beta, in [0, 1)
  double first_moment_decay = 0.9;     ///< beta_1 of Adam
  double second_moment_decay = 0.999;  ///< beta_2 of Adam
  double damping = 1e-8;               ///< epsilon of Adam
};

/// The loss that a rung descends, where it has a column of it.
inline constexpr const char* loss_column = "loss";
/// The loss of the minibatch before its step, as training code logs it; after the last step of a minibatch more.
inline constexpr const char* batch_loss_column = "batch_loss";
/// The share of its answers that are right.
inline constexpr const char* batch_accuracy_column = "batch_accuracy";

/// Columns that depend on samples, as training code logs them.
struct SampledColumns {
  /// Last columns batch_loss and batch_accuracy: of the minibatch of the next step, before it.
  bool loss = false, accuracy = false;
  /// These are means over the steps since the row before; of the first row over all steps before it, at step 0 of the
  /// first minibatch.
  bool averaged = false;
  /// > 0: the column loss is the mean loss of this number of draws, which are drawn once a run.
  Index held_out = 0;
  /// The weight w in [0, 1) of what was before, where loss, batch_loss and batch_accuracy are moving averages
  /// over rows as TensorBoard shows them: of the values y_1 ... y_k of a column
  ///   sum_i w^(k-i) y_i / sum_i w^(k-i).
  double smoothing = 0;

  /// Whether any column is of samples, or depends on other rows.
  [[nodiscard]] bool any() const { return of_minibatches() || held_out > 0 || smoothing > 0; }
  /// Whether there are columns of minibatches.
  [[nodiscard]] bool of_minibatches() const { return loss || accuracy; }
  /// The columns of a row, from those of its rung.
  [[nodiscard]] std::vector<std::string> with(std::vector<std::string> columns) const;
  /// Whether a row depends on which rows were before it.
  [[nodiscard]] bool follow_rows() const { return averaged || smoothing > 0; }
};

struct WalkRequest {
  double step_size = 0;                   ///< learning rate eta > 0; clock t = eta * step
  std::uint64_t steps = 0;                ///< after the start
  std::vector<std::uint64_t> save_steps;  ///< ascending, within [0, steps]
  Index batch = 0;                        ///< draws a step; 0: the expectation (gradient descent)
  Optimiser optimiser;
  std::uint64_t seed = 0;
  std::uint32_t first_run = 0;  ///< runs are numbered first_run .. first_run + runs - 1
  std::uint32_t runs = 1;
  int jobs = 0;  ///< threads; 0: all cores. The result does not depend on it
  bool keep_states = false;
  SampledColumns sampled;
  std::uint64_t start_step = 0;  ///< to go on from a checkpoint
  Vector<double> start_memory;   ///< of the optimiser, to go on; empty: as at the start
  /// Called now and then with the fraction done; returns true to stop (Ending::interrupted).
  std::function<bool(double)> on_progress;
};

/// Steps along rhs(x) or sample_rhs(x): one trajectory a run, in order of run number.
/// Events of the rung are not looked for: an event function costs an evaluation a step.
/// Cost: runs * steps evaluations; memory runs * save points * columns.
std::vector<Trajectory<double>> walk(const AnyRung<double>& rung, const Vector<double>& initial,
                                     const WalkRequest& request);

/// `count` >= 2 save steps spread evenly over 0..steps, ends included (rounded, no repeats).
std::vector<std::uint64_t> evenly_spread_steps(std::uint64_t steps, std::size_t count);

}  // namespace popgrad
