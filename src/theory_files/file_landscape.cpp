#include "theory_files/file_landscape.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "learning/loss_rung.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/scalars/rational.hpp"

namespace popgrad::theory_files {
namespace file_landscape_cpp {
namespace {

using learning::LossArrays;
using learning::LossFlow;

// The theory with the two numbers as parameters, and with starts that read them.
SampleLoss with_coordinates(const TheoryFile& file, const FileLandscape& written) {
  SampleLoss loss = file.loss;
  loss.observables.clear();
  loss.invariants.clear();
  loss.rungs.clear();
  for (const FileLandscape::Axis& axis : written.axes)
    loss.parameters.push_back({.name = axis.name, .value = axis.low});
  for (const NamedFormula& set : written.set)
    std::ranges::find(loss.states, set.name, &LossState::name)->start = set.formula;
  return loss;
}

// The loss at two numbers; not for several threads.
template <class T>
class PlaneLoss {
 public:
  PlaneLoss(const SampleLoss& loss, const FileLandscape& written, const Parameters& p)
      : flow_(learning::loss_instance(loss, p, 1)), arrays_(loss, p, 1), axes_(&written.axes) {
    std::vector<formulas::Array> starts;
    for (const learning::StateArray& s : arrays_.states) starts.push_back(s.start);
    // Starts that are drawn or read no coordinate stay as they are.
    x_ = flow_.initial();
    begins_.push_back(0);
    std::vector<formulas::Array> read;
    for (std::size_t k = 0; k < starts.size(); ++k) {
      begins_.push_back(begins_.back() + formulas::entries(starts[k].shape()));
      const bool set = std::ranges::find(written.set, arrays_.states[k].variable.node().text,
                                         &NamedFormula::name) != written.set.end();
      if (!set) continue;
      states_.push_back(k);
      read.push_back(starts[k]);
    }
    evaluator_.emplace(read);
    const std::vector<std::vector<T>> values = learning::parameter_values<T>(arrays_);
    learning::set_parameters(*evaluator_, arrays_, values);
    row_.resize(flow_.columns().size());
  }

  [[nodiscard]] T at(const T& a, const T& b) {
    for (const auto& [axis, value] : {std::pair{0, &a}, std::pair{1, &b}}) {
      const std::span<T> to = evaluator_->variable((*axes_)[static_cast<std::size_t>(axis)].name);
      if (!to.empty()) to[0] = *value;
    }
    evaluator_->run();
    for (std::size_t k = 0; k < states_.size(); ++k) {
      Index i = begins_[states_[k]];
      for (const T& number : evaluator_->output(k)) x_[i++] = number;
    }
    flow_.observe(x_, T(0), row_);
    return row_[0];
  }

 private:
  LossFlow<T> flow_;
  LossArrays arrays_;
  const std::array<FileLandscape::Axis, 2>* axes_;
  std::optional<formulas::Evaluator<T>> evaluator_;
  std::vector<std::size_t> states_;
  std::vector<Index> begins_;
  Vector<T> x_;
  std::vector<T> row_;
};

struct Plane {
  SampleLoss loss;
  FileLandscape written;
};

std::optional<Rational> value_at(const Plane& plane, const Parameters& p, const Rational& a,
                                 const Rational& b) {
  if (plane.loss.samples == 0) {
    try {
      return PlaneLoss<Rational>(plane.loss, plane.written, p).at(a, b);
    } catch (const InputError&) {
      // Of exponentials or roots, which rationals do not have.
    }
  }
  const double value =
      PlaneLoss<double>(plane.loss, plane.written, p).at(to_double(a), to_double(b));
  if (!std::isfinite(value)) return std::nullopt;
  return Rational(value);
}

std::vector<double> grid_of(const Plane& plane, const Parameters& p, const std::vector<double>& xs,
                            const std::vector<double>& ys, int jobs) {
  std::vector<std::unique_ptr<PlaneLoss<double>>> losses;  // one for each thread
  const int threads = std::clamp(jobs > 0 ? jobs : omp_get_max_threads(), 1,
                                 static_cast<int>(std::max<std::size_t>(ys.size(), 1)));
  for (int k = 0; k < threads; ++k)
    losses.push_back(std::make_unique<PlaneLoss<double>>(plane.loss, plane.written, p));
  std::vector<double> values(xs.size() * ys.size());
  std::size_t rows = 0;
  // Some rows a thread at a time: a request to stop is for this thread to see.
  for (const auto team = static_cast<std::size_t>(threads); rows < ys.size() && !stop_asked();
       rows = std::min(rows + team, ys.size())) {
    const auto count = static_cast<int>(std::min(team, ys.size() - rows));
#pragma omp parallel for num_threads(count)
    for (int k = 0; k < count; ++k) {
      const std::size_t row = rows + static_cast<std::size_t>(k);
      PlaneLoss<double>& loss = *losses[static_cast<std::size_t>(k)];
      for (std::size_t i = 0; i < xs.size(); ++i)
        values[row * xs.size() + i] = loss.at(xs[i], ys[row]);
    }
  }
  values.resize(rows * xs.size());
  return values;
}

WholeLoss whole_loss(const SampleLoss& written, const Parameters& p, std::uint64_t seed) {
  auto flow = std::make_shared<LossFlow<double>>(learning::loss_instance(written, p, seed));
  WholeLoss whole;
  const LossArrays arrays(written, p);
  Index begin = 0;
  for (const learning::StateArray& s : arrays.states) {
    // Rows of ours are columns there: a direction has the length of each row.
    const formulas::Shape& shape = s.variable.shape();
    const Index entries = formulas::entries(shape);
    const Index length = shape.empty() ? 1 : shape.back().extent;
    whole.blocks.push_back({begin, length, entries / length});
    begin += entries;
  }
  whole.loss =
      [flow, row = std::vector<double>(flow->columns().size())](const Vector<double>& x) mutable {
        flow->observe(x, 0, row);
        return row[0];
      };
  return whole;
}

}  // namespace
}  // namespace file_landscape_cpp

LossLandscape landscape_of(const TheoryFile& file, const FileLandscape& written) {
  using namespace file_landscape_cpp;
  const auto plane = std::make_shared<const Plane>(Plane{with_coordinates(file, written), written});
  const auto& [x, y] = written.axes;
  // Its formulas are typed now, so that mistakes are those of the file.
  static_cast<void>(LossArrays(plane->loss, Parameters(file.loss.name)));
  LossLandscape made;
  made.name = written.name;
  made.summary = fmt::format("({}, {})", x.name, y.name);
  for (std::size_t k = 0; k < 2; ++k) {
    const FileLandscape::Axis& axis = written.axes[k];
    made.coordinates[k] = {axis.name, axis.name, fmt::format("{},{}", axis.low, axis.high)};
  }
  made.meaning = "a range of numbers";
  made.undefined = "is a point where the loss is no finite number";
  made.at = [plane, name = file.loss.name](const Parameters& p) {
    const std::array<FileLandscape::Axis, 2>& axes = plane->written.axes;
    LandscapeLoss loss;
    loss.title = plane->written.name;
    loss.form = plane->written.name;
    loss.instance = Record{{"model", name}};
    for (const NamedValue& given : p.values().entries()) loss.instance[given.name] = given.value;
    for (std::size_t k = 0; k < 2; ++k) {
      loss.box.low[k] = from_text<Rational>(axes[k].low);
      loss.box.high[k] = from_text<Rational>(axes[k].high);
    }
    loss.value = [plane, p](const Rational& a, const Rational& b) {
      return value_at(*plane, p, a, b);
    };
    loss.grid = [plane, p](const std::vector<double>& xs, const std::vector<double>& ys, int jobs) {
      return grid_of(*plane, p, xs, ys, jobs);
    };
    return loss;
  };
  made.whole_rungs = {"sgd", "gd", "flow"};
  made.whole = [loss = file.loss](const Parameters& p, std::uint64_t seed) {
    return whole_loss(loss, p, seed);
  };
  return made;
}

}  // namespace popgrad::theory_files
