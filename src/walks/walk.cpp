#include "popgrad/walks/walk.hpp"

#include <fmt/format.h>

#include "popgrad/base/error.hpp"
#include "popgrad/base/memory.hpp"
#include "popgrad/rungs/rung.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "walks/walk_runs.hpp"

namespace popgrad {
namespace {

// The memory of an optimiser and its step; Adam's two moments lie one behind the other.
class Stepper {
 public:
  Stepper(const WalkRequest& request, const AnyRung<double>& rung)
      : optimiser_(request.optimiser), step_size_(request.step_size), rates_(rung.field.rates) {
    const Index n = rung.dimension;
    const Index kept = optimiser_.rule == Optimiser::Rule::plain      ? 0
                       : optimiser_.rule == Optimiser::Rule::momentum ? n
                                                                      : 2 * n;
    memory_ = request.start_memory.size() == kept ? request.start_memory
                                                  : Vector<double>(Vector<double>::Zero(kept));
    if (rates_.size() == 0) rates_ = Vector<double>::Ones(n);
  }

  // x <- x + the step number `step` (from 0) along `field`.
  void advance(const Vector<double>& field, std::uint64_t step, Vector<double>& x) {
    switch (optimiser_.rule) {
      case Optimiser::Rule::plain:
        x += step_size_ * field;
        return;
      case Optimiser::Rule::momentum:
        memory_ = optimiser_.momentum * memory_ + field;
        x += step_size_ * memory_;
        return;
      case Optimiser::Rule::adam:
        break;
    }
    const double b1 = optimiser_.first_moment_decay;
    const double b2 = optimiser_.second_moment_decay;
    auto first = memory_.head(x.size()).array();
    auto second = memory_.tail(x.size()).array();
    const auto gradient = field.array() / rates_.array();
    first = b1 * first + (1 - b1) * gradient;
    second = b2 * second + (1 - b2) * gradient.square();
    const auto count = static_cast<double>(step + 1);
    const double first_bias = 1 - std::pow(b1, count);
    const double second_bias = 1 - std::pow(b2, count);
    x.array() += step_size_ * rates_.array() * (first / first_bias) /
                 ((second / second_bias).sqrt() + optimiser_.damping);
  }

  [[nodiscard]] const Vector<double>& memory() const { return memory_; }

 private:
  Optimiser optimiser_;
  double step_size_;
  Vector<double> rates_, memory_;
};

// The columns of samples of one run, row after row.
class SampledRows {
 public:
  SampledRows(const AnyRung<double>& rung, const WalkRequest& request, std::uint32_t run)
      : draws_(rung.draws),
        request_(request),
        run_(run),
        columns_(request.sampled.with(rung.observables.columns)) {
    const SampledColumns& asked = request.sampled;
    std::size_t next = rung.observables.columns.size();
    if (asked.loss) parts_.push_back({&draws_.loss, next++});
    if (asked.accuracy) parts_.push_back({&draws_.accuracy, next});
    const auto loss = std::find(columns_.begin(), columns_.end(), loss_column);
    if (loss != columns_.end()) loss_ = static_cast<std::size_t>(loss - columns_.begin());
    if (asked.smoothing == 0) return;
    if (loss_) smoothed_.push_back({*loss_});
    for (const Part& part : parts_) smoothed_.push_back({part.column});
  }

  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }

  // Before a step from x.
  void before_step(const Vector<double>& x, std::uint64_t step) {
    if (!request_.sampled.averaged) return;
    for (Part& part : parts_) part.sum += of_minibatch(part, x, step);
    ++steps_;
  }

  // Completes a row at x, from which that is the next step.
  void write(const Vector<double>& x, std::uint64_t next_step, std::span<double> row) {
    const SampledColumns& asked = request_.sampled;
    for (Part& part : parts_) {
      row[part.column] =
          steps_ > 0 ? part.sum / static_cast<double>(steps_) : of_minibatch(part, x, next_step);
      part.sum = 0;
    }
    steps_ = 0;
    if (asked.held_out > 0) {
      // Further on than steps are.
      Stream stream(request_.seed, run_, std::numeric_limits<std::uint64_t>::max());
      row[*loss_] = draws_.loss(x, stream, asked.held_out);
    }
    for (Smoothed& column : smoothed_) {
      column.sum = asked.smoothing * column.sum + row[column.at];
      column.weight = asked.smoothing * column.weight + 1;
      row[column.at] = column.sum / column.weight;
    }
  }

 private:
  struct Part {
    const std::function<double(const Vector<double>&, Stream&, Index)>* read;
    std::size_t column;
    double sum = 0;  // over the steps since the row before
  };
  struct Smoothed {
    std::size_t at;
    double sum = 0, weight = 0;
  };

  [[nodiscard]] double of_minibatch(const Part& part, const Vector<double>& x,
                                    std::uint64_t step) const {
    Stream stream(request_.seed, run_, step);
    return (*part.read)(x, stream, request_.batch);
  }

  const Draws<double>& draws_;
  const WalkRequest& request_;
  std::uint32_t run_;
  std::vector<std::string> columns_;
  std::vector<Part> parts_;
  std::optional<std::size_t> loss_;
  std::vector<Smoothed> smoothed_;
  std::uint64_t steps_ = 0;  // since the row before
};

// The steps of a rung in double: along its field, or its own.
class RungSteps {
 public:
  using State = Vector<double>;
  RungSteps(const AnyRung<double>& rung, const WalkRequest& request, std::uint32_t run)
      : rung_(rung),
        request_(request),
        run_(run),
        next_(request.start_step),
        sampled_(rung, request, run),
        stepper_(request, rung) {}

  [[nodiscard]] const std::vector<std::string>& columns() const { return sampled_.columns(); }
  bool step(Vector<double>& x, Vector<double>& last, std::uint64_t step) {
    sampled_.before_step(x, step);
    Stream stream(request_.seed, run_, step);
    next_ = step + 1;
    if (rung_.draws.step) {
      const bool checked = walking::is_checked(request_, step, x.size());
      if (checked) last = x;
      rung_.draws.step(x, request_.step_size, stream, request_.batch);
      return !checked || x.allFinite();
    }
    slope_.resize(x.size());
    if (request_.batch > 0) {
      if (rung_.draws.at_time) rung_.draws.at_time(request_.step_size * static_cast<double>(step));
      rung_.draws.sample(x, slope_, stream, request_.batch);
    } else {
      rung_.field.value(x, slope_, request_.step_size * static_cast<double>(step));
    }
    if (!slope_.allFinite() || !x.allFinite()) return false;
    last = x;
    stepper_.advance(slope_, step, x);
    return true;
  }
  void observe(const Vector<double>& x, double t, std::span<double> row) {
    rung_.observables.read(x, t, row.first(rung_.observables.columns.size()));
    sampled_.write(x, next_, row);
  }
  [[nodiscard]] std::string divergence(const Vector<double>& x) const {
    return rung_.divergence ? rung_.divergence(x, request_.step_size, request_.batch)
                            : std::string{};
  }
  [[nodiscard]] static Vector<double> in_double(Vector<double> x) { return x; }
  [[nodiscard]] const Vector<double>& memory() const { return stepper_.memory(); }

 private:
  const AnyRung<double>& rung_;
  const WalkRequest& request_;
  std::uint32_t run_;
  std::uint64_t next_;
  SampledRows sampled_;
  Stepper stepper_;
  Vector<double> slope_;
};

}  // namespace

std::vector<std::string> SampledColumns::with(std::vector<std::string> columns) const {
  if (loss) columns.emplace_back(batch_loss_column);
  if (accuracy) columns.emplace_back(batch_accuracy_column);
  return columns;
}

void walking::check_request(const WalkRequest& request) {
  if (!(request.step_size > 0)) throw std::invalid_argument("walk: the step size must be > 0");
  const double momentum = request.optimiser.momentum;
  if (request.optimiser.rule == Optimiser::Rule::momentum && !(momentum >= 0 && momentum < 1)) {
    throw std::invalid_argument("walk: momentum must be >= 0 and < 1");
  }
}

void walking::require_memory_of_rows(const WalkRequest& request, std::size_t columns,
                                     Index dimension) {
  const auto rows = static_cast<double>(std::max<std::size_t>(1, request.save_steps.size()));
  const double states = request.keep_states ? static_cast<double>(dimension) : 0;
  require_memory(request.runs * (bytes_of_run + static_cast<double>(dimension) * sizeof(double) +
                                 rows * bytes_of_row(columns, states, sizeof(double))),
                 fmt::format("{} rows of {} runs", rows, request.runs),
                 "lower --runs or --save, or leave out --states");
}

void walking::require_plain_steps(const WalkRequest& request) {
  if (request.optimiser.rule != Optimiser::Rule::plain) {
    throw InputError("--optimiser: this rung takes plain steps only; leave it out");
  }
}

namespace {

void require_sampled_columns(const AnyRung<double>& rung, const WalkRequest& request) {
  const SampledColumns& asked = request.sampled;
  if ((asked.loss || asked.held_out > 0) && (request.batch == 0 || !rung.draws.loss)) {
    throw InputError(fmt::format(
        "popgrad: {} is a loss of samples; this rung draws none, take one that does (sgd)",
        asked.loss ? batch_loss_column : "the loss of --held-out"));
  }
  if (asked.accuracy && (request.batch == 0 || !rung.draws.accuracy)) {
    throw InputError(fmt::format(
        "popgrad: {} is the share of right answers of a minibatch; this rung gives none",
        batch_accuracy_column));
  }
  if (asked.averaged && !asked.of_minibatches()) {
    throw InputError(
        "popgrad: --averaged is of the columns batch_loss and batch_accuracy; give --batch-loss or "
        "--batch-accuracy as well");
  }
  const std::vector<std::string>& columns = rung.observables.columns;
  const bool has_loss = std::find(columns.begin(), columns.end(), loss_column) != columns.end();
  if ((asked.held_out > 0 || (asked.smoothing > 0 && !asked.of_minibatches())) && !has_loss) {
    throw InputError(fmt::format("popgrad: {} is of the column loss, which this rung has not",
                                 asked.held_out > 0 ? "--held-out" : "--smoothed"));
  }
  if (asked.follow_rows() && request.start_step > 0) {
    throw InputError(
        "popgrad: averages over rows do not go on where a run was interrupted; begin it anew");
  }
}

}  // namespace

std::vector<Trajectory<double>> walk(const AnyRung<double>& rung, const Vector<double>& initial,
                                     const WalkRequest& request) {
  walking::check_request(request);
  if (rung.draws.step) walking::require_plain_steps(request);
  walking::require_memory_of_rows(request, request.sampled.with(rung.observables.columns).size(),
                                  rung.dimension);
  if (request.batch > 0 && !rung.draws.sample && !rung.draws.step) {
    throw std::invalid_argument("walk: this rung draws no samples; use batch 0");
  }
  require_sampled_columns(rung, request);
  if (request.batch == 0 && !rung.field.value) {
    throw std::invalid_argument("walk: a closed form has no steps");
  }
  return walking::all_runs(request, [&]() -> walking::MakeRun {
    return [&initial, &request, own = rung.clone()](std::uint32_t run, const auto& stop, auto& done,
                                                    const auto& look) {
      RungSteps steps(own, request, run);
      return walking::single_run(steps, initial, request, stop, done, look);
    };
  });
}

std::vector<std::uint64_t> evenly_spread_steps(std::uint64_t steps, std::size_t count) {
  if (count < 2) throw std::invalid_argument("evenly_spread_steps: at least two points");
  // More points than that are all steps.
  count = static_cast<std::size_t>(std::min<std::uint64_t>(count - 1, steps)) + 1;
  if (count < 2) return {0};
  require_memory(static_cast<double>(count) * sizeof(std::uint64_t),
                 fmt::format("{} save points", count), "lower --save");
  std::vector<std::uint64_t> chosen;
  chosen.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    const long double share = static_cast<long double>(k) / static_cast<long double>(count - 1);
    const auto step =
        static_cast<std::uint64_t>(std::llround(share * static_cast<long double>(steps)));
    if (chosen.empty() || chosen.back() != step) chosen.push_back(step);
  }
  return chosen;
}

}  // namespace popgrad
