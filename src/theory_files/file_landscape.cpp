#include "theory_files/file_landscape.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "formulas/gradient.hpp"
#include "formulas/rebuild.hpp"
#include "learning/loss_rung.hpp"
#include "learning/own_rung.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/vector.hpp"
#include "scalars/linear_algebra.hpp"

namespace popgrad::theory_files {
namespace file_landscape_cpp {
namespace {

using formulas::Array;
using learning::LossArrays;
using learning::LossFlow;

struct Plane {
  SampleLoss loss;  ///< with the two numbers as parameters, and with starts that read them
  SampleLoss as_written;
  FileLandscape written;
};

bool is_set(const FileLandscape& written, const std::string& state) {
  return std::ranges::find(written.set, state, &NamedFormula::name) != written.set.end();
}

const LossRung* own_rung_of(const SampleLoss& loss, const FileLandscape& written) {
  const auto own = std::ranges::find(loss.rungs, written.rung, &LossRung::name);
  return own == loss.rungs.end() ? nullptr : &*own;
}

SampleLoss with_coordinates(const TheoryFile& file, const FileLandscape& written) {
  SampleLoss loss = file.loss;
  loss.observables.clear();
  loss.invariants.clear();
  for (const FileLandscape::Axis& axis : written.axes)
    loss.parameters.push_back({.name = axis.name, .value = axis.low});
  // Rungs that it does not read may have states of the names of the coordinates.
  std::set<std::string> read;
  for (const LossRung* own = own_rung_of(loss, written); own != nullptr;) {
    read.insert(own->name);
    const auto finer = std::ranges::find(loss.rungs, own->of, &LossRung::name);
    own = finer == loss.rungs.end() ? nullptr : &*finer;
  }
  std::erase_if(loss.rungs, [&](const LossRung& rung) { return !read.contains(rung.name); });
  const LossRung* const own = own_rung_of(loss, written);
  std::vector<LossState>& states =
      own == nullptr ? loss.states
                     : loss.rungs[static_cast<std::size_t>(own - loss.rungs.data())].states;
  for (const NamedFormula& set : written.set) {
    const auto state = std::ranges::find(states, set.name, &LossState::name);
    if (state != states.end()) {
      state->start = set.formula;
    } else {
      states.push_back({.name = set.name, .start = set.formula});
    }
  }
  return loss;
}

// States of a rung as those of the loss, through its lift and those above it.
std::vector<Array> lifted(const Plane& plane, const LossArrays& arrays,
                          const learning::OwnArrays& own, const std::vector<Array>& z) {
  if (own.lift.empty()) {
    learning::reject_entry(plane.loss.name, "rung " + own.name,
                           "has no lift, which its landscapes and paths need");
  }
  const std::vector<Array> finer = formulas::substituted(own.lift, own.states, z);
  return own.finer ? lifted(plane, arrays, arrays.own[*own.finer], finer) : finer;
}

// The states of the loss as formulas of the two numbers and of `left`, states that are not set.
struct PlaneArrays {
  PlaneArrays(const Plane& plane, const Parameters& p) : arrays(plane.loss, p, {}, 1) {
    const FileLandscape& written = plane.written;
    const auto own = std::ranges::find(arrays.own, written.rung, &learning::OwnArrays::name);
    const auto add = [&](const std::string& name, const Array& state, const Array& start) {
      if (is_set(written, name)) {
        x.push_back(start);
      } else {
        x.push_back(state);
        left.push_back({state, begin});
      }
      begin += formulas::entries(state.shape());
    };
    if (own == arrays.own.end()) {
      for (const learning::StateArray& s : arrays.states)
        add(s.variable.node().text, s.variable, s.start);
      return;
    }
    for (std::size_t k = 0; k < own->names.size(); ++k)
      add(own->names[k], own->states[k], own->starts[k].value_or(own->states[k]));
    x = lifted(plane, arrays, *own, x);
  }

  struct Left {
    Array variable;
    Index begin;  ///< among the numbers of the rung's state
  };
  LossArrays arrays;
  std::vector<Array> x;
  std::vector<Left> left;

 private:
  Index begin = 0;
};

// The start of the rung of a landscape, of which states that are not set keep their numbers.
template <class T>
Vector<T> usual_state(const Plane& plane, const Parameters& p) {
  const auto instance = learning::loss_instance(plane.as_written, p, 1);
  const LossRung* const own = own_rung_of(plane.as_written, plane.written);
  if (own == nullptr) return LossFlow<T>(instance).initial();
  if constexpr (std::same_as<T, double>) {
    const auto place = static_cast<std::size_t>(own - plane.as_written.rungs.data());
    return learning::own_rung<T>(instance, place, false).initial;
  } else {
    throw InputError("starts of own rungs are not rational");
  }
}

template <class T>
void set_numbers(formulas::Evaluator<T>& evaluator, const std::string& name, const T* from) {
  const std::span<T> to = evaluator.variable(name);
  std::copy_n(from, to.size(), to.begin());
}

// Formulas of PlaneArrays as numbers; not for several threads.
template <class T>
class PlaneNumbers {
 public:
  PlaneNumbers(const Plane& plane, const Parameters& p, const PlaneArrays& arrays,
               const std::vector<Array>& outputs)
      : axes_(&plane.written.axes), outputs_(outputs.size()), evaluator_(outputs) {
    learning::set_parameters(evaluator_, arrays.arrays,
                             learning::parameter_values<T>(arrays.arrays));
    if (arrays.left.empty()) return;
    const Vector<T> usual = usual_state<T>(plane, p);
    for (const auto& [variable, begin] : arrays.left)
      set_numbers(evaluator_, variable.node().text, usual.data() + begin);
  }
  // Of the outputs, one after the other.
  void at(const T& a, const T& b, Vector<T>& x) {
    set_numbers(evaluator_, (*axes_)[0].name, &a);
    set_numbers(evaluator_, (*axes_)[1].name, &b);
    evaluator_.run();
    Index i = 0;
    for (std::size_t k = 0; k < outputs_; ++k) {
      for (const T& number : evaluator_.output(k)) x[i++] = number;
    }
  }

 private:
  const std::array<FileLandscape::Axis, 2>* axes_;
  std::size_t outputs_;
  formulas::Evaluator<T> evaluator_;
};

// The loss at two numbers; not for several threads.
template <class T>
class PlaneLoss {
 public:
  PlaneLoss(const Plane& plane, const Parameters& p)
      : flow_(learning::loss_instance(plane.loss, p, 1)),
        arrays_(plane, p),
        states_(plane, p, arrays_, arrays_.x),
        x_(flow_.dimension()),
        row_(flow_.columns().size()) {}

  [[nodiscard]] T at(const T& a, const T& b) {
    states_.at(a, b, x_);
    flow_.observe(x_, T(0), row_);
    return row_[0];
  }

 private:
  LossFlow<T> flow_;
  PlaneArrays arrays_;
  PlaneNumbers<T> states_;
  Vector<T> x_;
  std::vector<T> row_;
};

std::optional<Rational> value_at(const Plane& plane, const Parameters& p, const Rational& a,
                                 const Rational& b) {
  if (plane.loss.samples == 0) {
    try {
      return PlaneLoss<Rational>(plane, p).at(a, b);
    } catch (const InputError&) {
      // Of exponentials or roots, which rationals do not have.
    }
  }
  const double value = PlaneLoss<double>(plane, p).at(to_double(a), to_double(b));
  if (!std::isfinite(value)) return std::nullopt;
  return Rational(value);
}

std::vector<double> grid_of(const Plane& plane, const Parameters& p, const std::vector<double>& xs,
                            const std::vector<double>& ys, int jobs) {
  std::vector<std::unique_ptr<PlaneLoss<double>>> losses;  // one for each thread
  const int threads = std::clamp(jobs > 0 ? jobs : omp_get_max_threads(), 1,
                                 static_cast<int>(std::max<std::size_t>(ys.size(), 1)));
  for (int k = 0; k < threads; ++k) losses.push_back(std::make_unique<PlaneLoss<double>>(plane, p));
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

// Minus the Jacobian of the field over the whole state, of a gradient the second derivatives of the loss.
class WholeCurvature {
 public:
  WholeCurvature(const Plane& plane, const Parameters& p)
      : arrays_(plane.as_written, p, {}, 1),
        flow_(learning::loss_instance(plane.as_written, p, 1)),
        dimension_(flow_.dimension()) {
    const learning::ExpectedLoss expected(arrays_, plane.as_written);
    const std::vector<Array> states = arrays_.state_variables();
    for (const Array& s : states)
      directions_.push_back(arrays_.graph->variable("direction of " + s.node().text, s.shape()));
    is_gradient_ = arrays_.no_gradient().empty();
    const std::vector<Array> slopes =
        is_gradient_ ? expected.slopes : negative(arrays_.directions(expected.slopes));
    evaluator_.emplace(formulas::derivative_along(slopes, states, directions_));
    learning::set_parameters(*evaluator_, arrays_, learning::parameter_values<double>(arrays_));
  }

  void add(const Vector<double>& x, LandscapeCritical& point) {
    Vector<double> field(dimension_), row(dimension_);
    flow_.rhs(x, field, 0);
    point.slope = field.norm();
    learning::set_states(*evaluator_, arrays_, x);
    Matrix<double> slopes(dimension_, dimension_);
    for (Index i = 0; i < dimension_; ++i) {
      row.setZero();
      row[i] = 1;
      const double* from = row.data();
      for (const Array& direction : directions_)
        from = learning::set_variable(*evaluator_, direction, from);
      evaluator_->run();
      learning::read_outputs(*evaluator_, directions_.size(), row);
      slopes.col(i) = row;
    }
    const Vector<double> values = is_gradient_ ? symmetric_eigenvalues<double>(slopes)
                                               : Vector<double>(eigenvalues_of(slopes).real());
    constexpr double vanishing = 1e-9;  // of the largest
    const double zero = vanishing * values.cwiseAbs().maxCoeff();
    for (const double value : values)
      ++(value > zero ? point.positive : value < -zero ? point.negative : point.zero);
  }

 private:
  static std::vector<Array> negative(std::vector<Array> field) {
    for (Array& part : field) part = -part;
    return field;
  }
  static Eigen::VectorXcd eigenvalues_of(const Matrix<double>& square) {
    return Eigen::EigenSolver<Matrix<double>>(square, false).eigenvalues();
  }

  LossArrays arrays_;
  LossFlow<double> flow_;
  Index dimension_;
  bool is_gradient_ = true;
  std::vector<Array> directions_;
  std::optional<formulas::Evaluator<double>> evaluator_;
};

// The loss, minus the field along the two numbers, and its derivatives by them; of a gradient those of the loss.
struct PlaneQuadratic {
  double value = 0;
  std::array<double, 2> slope{};
  double xx = 0, xy = 0, yx = 0, yy = 0;
};

class PlaneDerivatives {
 public:
  PlaneDerivatives(const Plane& plane, const Parameters& p) : arrays_(plane, p) {
    const learning::ExpectedLoss expected(arrays_.arrays, plane.loss);
    const std::vector<Array> states = arrays_.arrays.state_variables();
    const Array loss = formulas::substituted({expected.summed}, states, arrays_.x).front();
    std::vector<Array> axes, outputs{loss};
    for (const FileLandscape::Axis& axis : plane.written.axes)
      axes.push_back(arrays_.arrays.graph->variable(axis.name, {}));
    std::vector<Array> slope;
    if (arrays_.arrays.no_gradient().empty()) {
      slope = formulas::gradient(loss, axes);
    } else {
      const std::vector<Array> field =
          formulas::substituted(arrays_.arrays.directions(expected.slopes), states, arrays_.x);
      for (const Array& along : formulas::pull_back(arrays_.x, field, axes))
        slope.push_back(-along);
    }
    outputs.insert(outputs.end(), slope.begin(), slope.end());
    const Array one = loss.number(1), zero = loss.number(0);
    for (const std::vector<Array>& along : {std::vector{one, zero}, std::vector{zero, one}}) {
      const std::vector<Array> made = formulas::derivative_along(slope, axes, along);
      outputs.insert(outputs.end(), made.begin(), made.end());
    }
    numbers_.emplace(plane, p, arrays_, outputs);
  }
  PlaneQuadratic at(double x, double y) {
    numbers_->at(x, y, read_);
    return {read_[0], {read_[1], read_[2]}, read_[3], read_[5], read_[4], read_[6]};
  }

 private:
  PlaneArrays arrays_;
  std::optional<PlaneNumbers<double>> numbers_;
  Vector<double> read_{7};
};

// Newton's step; along a direction in which the second derivative vanishes there is none.
std::array<double, 2> newton_step(const PlaneQuadratic& q) {
  constexpr double vanishing = 1e-10;  // of the other curvature, or of their product
  if (q.xy != q.yx) {
    const double area = q.xx * q.yy - q.xy * q.yx;
    const double size = std::abs(q.xx) + std::abs(q.yy) + std::abs(q.xy) + std::abs(q.yx);
    if (std::abs(area) > vanishing * size * size)
      return {(q.xy * q.slope[1] - q.yy * q.slope[0]) / area,
              (q.yx * q.slope[0] - q.xx * q.slope[1]) / area};
  }
  const double mean = (q.xx + q.yy) / 2, half = (q.xx - q.yy) / 2;
  const double radius = std::hypot(half, q.xy);
  const double angle = std::atan2(q.xy, half) / 2;
  const double zero = vanishing * (std::abs(mean) + radius);
  std::array<double, 2> step{0, 0};
  for (const auto& [curvature, x, y] :
       {std::tuple{mean + radius, std::cos(angle), std::sin(angle)},
        std::tuple{mean - radius, -std::sin(angle), std::cos(angle)}}) {
    if (std::abs(curvature) <= zero) continue;
    const double length = -(q.slope[0] * x + q.slope[1] * y) / curvature;
    step[0] += length * x;
    step[1] += length * y;
  }
  return step;
}

// Whether one of two curvatures vanishes, as along a curve of critical points.
bool is_flat(const PlaneQuadratic& q) {
  constexpr double vanishing = 1e-6;  // of the product, in the square of the sum
  const double size = std::abs(q.xx) + std::abs(q.yy) + std::abs(q.xy);
  return size > 0 && std::abs(q.xx * q.yy - q.xy * q.yx) <= vanishing * size * size;
}

std::vector<LandscapeCritical> critical_points(const Plane& plane, const Parameters& p,
                                               const LandscapeBox& box) {
  WholeCurvature whole(plane, p);
  PlaneArrays arrays(plane, p);
  PlaneNumbers<double> states(plane, p, arrays, arrays.x);
  PlaneDerivatives derivatives(plane, p);
  Vector<double> state(arrays.arrays.dimension());
  std::array<double, 2> low{}, width{};
  for (std::size_t k = 0; k < 2; ++k) {
    low[k] = to_double(box.low[k]);
    width[k] = to_double(box.high[k]) - low[k];
  }
  constexpr int starts = 21, most_steps = 200;
  constexpr double same = 1e-6, arrived = 1e-13;  // of the box
  std::vector<LandscapeCritical> found;
  for (int k = 0; k < starts * starts; ++k) {
    throw_if_stopped();
    const int column = k % starts, row = k / starts;
    double x = low[0] + width[0] * column / (starts - 1);
    double y = low[1] + width[1] * row / (starts - 1);
    bool done = false;
    for (int i = 0; i < most_steps && !done; ++i) {
      const auto [dx, dy] = newton_step(derivatives.at(x, y));
      const double length = std::max(std::abs(dx) / width[0], std::abs(dy) / width[1]);
      // A step longer than a tenth of the box goes beyond what the second derivatives describe.
      constexpr double longest = 0.1;
      const double part = length > longest ? longest / length : 1;
      x += part * dx;
      y += part * dy;
      if (!std::isfinite(x + y)) break;
      done = length <= arrived;
    }
    const auto inside = [&](double at, std::size_t axis) {
      return at >= low[axis] - same * width[axis] && at <= low[axis] + (1 + same) * width[axis];
    };
    if (!done || !inside(x, 0) || !inside(y, 1)) continue;
    const PlaneQuadratic here = derivatives.at(x, y);
    const bool on_curve = is_flat(here);
    const bool is_known = std::ranges::any_of(found, [&](const LandscapeCritical& other) {
      const bool near =
          std::abs(other.x - x) <= same * width[0] && std::abs(other.y - y) <= same * width[1];
      const double size = std::max(1.0, std::abs(here.value));
      return near || (on_curve && std::abs(other.value - here.value) <= same * size);
    });
    if (is_known) continue;
    LandscapeCritical point{.x = x, .y = y, .value = here.value};
    states.at(x, y, state);
    whole.add(state, point);
    found.push_back(point);
  }
  std::ranges::stable_sort(
      found, {}, [](const LandscapeCritical& c) { return std::tuple(c.value, c.x, c.y); });
  return found;
}

// Least squares by steps of Gauss and Newton, whose slopes are differences.
class NearestPoint {
 public:
  NearestPoint(const Plane& plane, const Parameters& p)
      : plane_(plane),
        arrays_(plane, p),
        written_(plane.as_written, p),
        states_(plane, p, arrays_, arrays_.x),
        parameters_(learning::parameter_values<double>(written_)) {
    for (std::size_t k = 0; k < 2; ++k)
      point_[k] =
          (std::stod(plane.written.axes[k].low) + std::stod(plane.written.axes[k].high)) / 2;
  }

  LandscapeNearest of(const std::string& rung, const Vector<double>& own_state) {
    const Vector<double> state = state_of_loss(rung, own_state);
    const Index n = state.size();
    Vector<double> here(n), there(n);
    Matrix<double> slopes(n, 2);
    constexpr int most_steps = 50;
    constexpr double difference = 1e-6, arrived = 1e-10;
    for (int i = 0; i < most_steps; ++i) {
      states_.at(point_[0], point_[1], here);
      for (std::size_t k = 0; k < 2; ++k) {
        std::array<double, 2> moved = point_;
        moved[k] += difference;
        states_.at(moved[0], moved[1], there);
        slopes.col(static_cast<Index>(k)) = (there - here) / difference;
      }
      const Matrix<double> products = slopes.transpose() * slopes;
      const Vector<double> step =
          solve_symmetric<double>(products, slopes.transpose() * (state - here));
      if (!step.allFinite()) break;
      for (std::size_t k = 0; k < 2; ++k) point_[k] += step[static_cast<Index>(k)];
      if (step.cwiseAbs().maxCoeff() <= arrived) break;
    }
    states_.at(point_[0], point_[1], here);
    return {point_[0], point_[1], (state - here).norm()};
  }

 private:
  Vector<double> state_of_loss(const std::string& rung, const Vector<double>& state) {
    const auto own = std::ranges::find(written_.own, rung, &learning::OwnArrays::name);
    if (own == written_.own.end()) return state;
    auto lift = lifts_.find(rung);
    if (lift == lifts_.end()) {
      lift = lifts_.try_emplace(rung, lifted(plane_, written_, *own, own->states)).first;
      learning::set_parameters(lift->second, written_, parameters_);
    }
    const double* from = state.data();
    for (const Array& s : own->states) from = learning::set_variable(lift->second, s, from);
    lift->second.run();
    Vector<double> x(written_.dimension());
    learning::read_outputs(lift->second, written_.states.size(), x);
    return x;
  }

  const Plane& plane_;
  PlaneArrays arrays_;
  LossArrays written_;
  PlaneNumbers<double> states_;
  std::vector<std::vector<double>> parameters_;
  std::map<std::string, formulas::Evaluator<double>> lifts_;
  std::array<double, 2> point_{};
};

WholeLoss whole_loss(const SampleLoss& written, const Parameters& p, std::uint64_t seed) {
  auto flow = std::make_shared<LossFlow<double>>(learning::loss_instance(written, p, seed));
  WholeLoss whole;
  const LossArrays arrays(written, p, {}, seed);
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
  const auto plane =
      std::make_shared<const Plane>(Plane{with_coordinates(file, written), file.loss, written});
  const auto& [x, y] = written.axes;
  // Its formulas are typed now, so that mistakes are those of the file.
  static_cast<void>(PlaneArrays(*plane, Parameters(file.loss.name)));
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
    LossArrays arrays(plane->as_written, p, {}, 1);
    if (!learning::ExpectedLoss(arrays, plane->as_written).sampled) {
      loss.critical = [plane, p](const LandscapeBox& box) {
        return critical_points(*plane, p, box);
      };
    }
    loss.nearest = [plane, p, nearest = std::shared_ptr<NearestPoint>()](
                       const std::string& rung, const Vector<double>& state) mutable {
      if (!nearest) nearest = std::make_shared<NearestPoint>(*plane, p);
      return nearest->of(rung, state);
    };
    return loss;
  };
  made.path_rungs = written.paths;
  made.whole_rungs = {"sgd", "gd", "flow"};
  made.whole = [loss = file.loss](const Parameters& p, std::uint64_t seed) {
    return whole_loss(loss, p, seed);
  };
  return made;
}

}  // namespace popgrad::theory_files
