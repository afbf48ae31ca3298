#include "learning/loss_rung.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "formulas/gradient.hpp"
#include "formulas/rebuild.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"
#include "popgrad/walks/walk.hpp"

namespace popgrad::learning {
ExpectedParts::ExpectedParts(const Array& formula, const LossArrays& arrays,
                             const SampleLoss& written, const std::string& entry,
                             const std::vector<Array>& states)
    : summed(arrays.graph->constant(0)) {
  const auto samples = static_cast<double>(written.samples);
  Array smooth = summed;
  std::vector<Array> others;  // slopes of what jumps
  for (const Array& state : states)
    others.push_back(broadcast(arrays.graph->constant(0), state.shape()));
  for (const Array& part : summands(formula)) {
    const std::vector<Draw> read = read_draws(part, arrays.draws);
    OverNormals exact = over_normals(part, read, states);
    const auto [finite, values] = finite_draws(read);
    if (samples > 0 && values > samples && exact.mean)
      exact = {.way = fmt::format("{:.4g} values of its finite draws are more than the samples",
                                  values)};
    if (exact.mean) {
      const Array mean = learning::expected(*exact.mean, finite);
      summed = summed + mean;
      if (exact.slopes.empty()) smooth = smooth + mean;
      if (exact.fewer) {
        const Array difference = mean - learning::expected(*exact.fewer, finite);
        gap = gap ? *gap + difference : difference;
      }
      for (std::size_t k = 0; k < exact.slopes.size(); ++k)
        others[k] = others[k] + learning::expected(exact.slopes[k], finite);
      if (!finite.empty()) {
        ways.push_back(fmt::format("{}{}summed over {:.4g} values", exact.way,
                                   exact.way.empty() ? "" : ", ", values));
      } else {
        ways.push_back(exact.way.empty() ? "without draws" : exact.way);
      }
    } else if (samples > 0) {
      sampled = sampled ? *sampled + part : part;
      ways.push_back("sampled: " + exact.way);
    } else {
      reject_entry(
          written.name, entry,
          fmt::format("has no exact expectation ({}); give samples, such as 100000", exact.way));
    }
  }
  if (sampled) draws = read_draws(*sampled, arrays.draws);
  if (!states.empty()) slopes = gradient(smooth, states);
  for (std::size_t k = 0; k < states.size(); ++k) slopes[k] = slopes[k] + others[k];
}

ExpectedObservables::ExpectedObservables(const std::vector<ObservableArray>& observables,
                                         LossArrays& arrays, const SampleLoss& written,
                                         const ExpectedParts* known)
    : shown(observables) {
  std::vector<Array> nodes, values, values_by_fewer;
  bool any_gap = false;
  for (const ExpectedCall& call : arrays.expectations) {
    const bool is_read =
        std::any_of(observables.begin(), observables.end(),
                    [&](const ObservableArray& o) { return reads(o.array, call.variable); });
    if (!is_read) continue;
    const bool of_loss = known != nullptr && call.formula == arrays.loss;
    const ExpectedParts parts =
        of_loss ? *known : ExpectedParts(call.formula, arrays, written, call.entry);
    Array value = broadcast(parts.summed, call.variable.shape());
    for (const std::string& way : parts.ways) {
      if (!way.empty()) ways.push_back(fmt::format("{}: {}", call.entry, way));
    }
    if (parts.sampled) {
      const Array rest =
          arrays.graph->variable("sampled " + call.variable.node().text, parts.sampled->shape());
      sampled.push_back({rest, *parts.sampled, parts.draws});
      value = broadcast(parts.summed + rest, call.variable.shape());
    }
    nodes.push_back(call.variable);
    values.push_back(value);
    values_by_fewer.push_back(parts.gap ? value - *parts.gap : value);
    any_gap = any_gap || parts.gap;
  }
  for (ObservableArray& o : shown) {
    if (any_gap)
      by_fewer.push_back(formulas::substituted({o.array}, nodes, values_by_fewer).front());
    o.array = formulas::substituted({o.array}, nodes, values).front();
  }
}

ExpectedLoss::ExpectedLoss(LossArrays& arrays, const SampleLoss& written)
    : ExpectedParts(arrays.expected.empty() ? arrays.loss : arrays.expected.front(), arrays,
                    written, "loss", arrays.state_variables()),
      observables(arrays.observables, arrays, written, this) {}

std::shared_ptr<const LossInstance> loss_instance(SampleLoss written, Parameters given,
                                                  std::uint64_t seed) {
  LossInstance made{std::move(written), std::move(given), seed, nullptr};
  LossArrays arrays(made.written, made.given, {}, seed);
  const std::vector<std::vector<double>> parameters = parameter_values<double>(arrays);
  require_parameters(made.written, arrays, parameters);
  if (made.written.loss.empty()) return std::make_shared<const LossInstance>(std::move(made));
  require_laws(made.written, arrays, parameters);
  if (made.written.samples < 0 || made.written.samples == 1)
    reject_entry(made.written.name, "samples", "must be 0 or 2 and more");
  if (made.written.samples > 0) {
    std::vector<Array> read{arrays.loss};
    for (const ExpectedCall& call : arrays.expectations) read.push_back(call.formula);
    const DrawSampler sampler(arrays, arrays.draws_of(read), parameters);
    made.stored =
        std::make_shared<const StoredSamples>(stored_samples(sampler, made.written.samples, seed));
  }
  return std::make_shared<const LossInstance>(std::move(made));
}

template <class T>
LossFlow<T>::Parts::Parts(const LossInstance& instance)
    : arrays(instance.written, instance.given, {}, instance.seed),
      expected(arrays, instance.written),
      dimension(arrays.dimension()),
      parameters(parameter_values<T>(arrays)) {
  if (!arrays.gradients.empty())
    directions = prepared(arrays.directions(arrays.gradients), arrays, parameters);
  if (arrays.has_timed_rates()) {
    std::vector<Array> timed;
    for (const StateArray& s : arrays.states) timed.push_back(s.rate);
    if constexpr (std::same_as<T, double> || std::same_as<T, Real>)
      jumps.emplace(timed, arrays, parameters);
  } else {
    rates.resize(dimension);
    Index i = 0;
    for (const StateArray& s : arrays.states) {
      for (const T& rate : evaluated(s.rate, arrays, parameters)) rates[i++] = rate;
    }
  }
  summed = prepared(expected.slopes, arrays, parameters);
  std::vector<Array> shown{expected.summed};
  for (const ObservableArray& o : expected.observables.shown) shown.push_back(o.array);
  observables = prepared(shown, arrays, parameters);
  for (const ExpectedObservables::Sampled& s : expected.observables.sampled)
    means.emplace_back(arrays, s.formula, s.draws, parameters);
  if (expected.sampled) stored.emplace(arrays, *expected.sampled, expected.draws, parameters);
  if constexpr (std::same_as<T, double>) {
    const std::vector<Draw> draws = read_draws(arrays.loss, arrays.draws);
    sampler.emplace(arrays, draws, parameters);
    batch.emplace(arrays, arrays.loss, draws, parameters);
    one_sample.emplace(arrays, arrays.loss, draws, parameters, instance.stored);
    if (expected.sampled)
      errors.emplace(arrays, *expected.sampled, expected.draws, parameters, instance.stored, true);
    if (instance.covariance) exact_covariance.emplace(instance.covariance);
    if (expected.gap) {
      std::vector<Array> outputs = gradient(*expected.gap, arrays.state_variables());
      outputs.push_back(*expected.gap);
      gap.emplace(prepared(outputs, arrays, parameters));
    }
  }
}

template <class T>
LossFlow<T>::LossFlow(std::shared_ptr<const LossInstance> instance)
    : instance_(std::move(instance)), parts_(std::make_unique<Parts>(*instance_)) {}

template <class T>
Vector<T> LossFlow<T>::drawn_start(const std::vector<Array>& starts, const std::vector<Draw>& draws,
                                   const LossArrays& arrays,
                                   const std::vector<std::vector<T>>& parameters,
                                   std::uint64_t seed) {
  formulas::Evaluator<T> evaluator(starts, arrays.steady_names<T>());
  const DrawSampler sampler(arrays, draws, parameter_values<double>(arrays));
  std::vector<double> numbers;
  for (std::size_t k = 0; k < draws.size(); ++k) {
    const std::span<T> to = evaluator.variable(draws[k].name());
    if (to.empty()) continue;
    numbers.resize(to.size());
    sampler.fill(k, seed, 0, numbers);
    std::copy(numbers.begin(), numbers.end(), to.begin());
  }
  set_parameters(evaluator, arrays, parameters);
  evaluator.run();
  evaluator.require_defined();
  Index count = 0;
  for (const Array& start : starts) count += formulas::entries(start.shape());
  Vector<T> x(count);
  read_outputs(evaluator, starts.size(), x);
  return x;
}

template <class T>
Vector<T> LossFlow<T>::initial() const {
  const LossArrays& arrays = parts_->arrays;
  std::vector<Array> starts;
  for (const StateArray& s : arrays.states) starts.push_back(s.start);
  return drawn_start(starts, arrays.start_draws, arrays, parts_->parameters, instance_->seed);
}

template <class T>
std::vector<std::string> LossFlow<T>::columns() const {
  std::vector<std::string> names{loss_column};
  if (parts_->expected.has_error()) names.emplace_back(error_column);
  for (std::string& name : parts_->arrays.columns()) names.push_back(std::move(name));
  return names;
}

template <class T>
void LossFlow<T>::copy_stored(const Draw& draw, Index first, std::span<T> to) const {
  if constexpr (std::same_as<T, double>) {
    instance_->stored->copy(draw, first, to);
  } else {
    std::vector<double> numbers(to.size());
    instance_->stored->copy(draw, first, numbers);
    std::copy(numbers.begin(), numbers.end(), to.begin());
  }
}

template <class T>
T LossFlow<T>::add_stored(const Vector<T>& x, Vector<T>& gradient) const {
  if (!parts_->stored) return T(0);
  return parts_->stored->add(
      x, instance_->stored->count,
      [&](std::size_t k, Index first, std::span<T> to) {
        copy_stored(parts_->expected.draws[k], first, to);
      },
      gradient);
}

template <class T>
void LossFlow<T>::turn(Vector<T>& dx, const T& t) const {
  if (!parts_->directions) {
    for (Index i = 0; i < dx.size(); ++i) dx[i] = -(parts_->rates[i] * dx[i]);
    return;
  }
  formulas::Evaluator<T>& directions = *parts_->directions;
  const T* from = dx.data();
  for (const Array& gradient : parts_->arrays.gradients)
    from = set_variable(directions, gradient, from);
  if (const std::span<T> time = directions.variable(time_name); !time.empty()) time[0] = t;
  directions.run();
  read_outputs(directions, parts_->arrays.states.size(), dx);
}

template <class T>
Matrix<double> LossFlow<T>::direction_matrix(double t) const {
  if constexpr (std::same_as<T, double>) {
    Matrix<double> matrix = Matrix<double>::Identity(parts_->dimension, parts_->dimension);
    Vector<double> column;
    for (Index k = 0; k < matrix.cols(); ++k) {
      column = matrix.col(k);
      turn(column, t);
      matrix.col(k) = column;
    }
    return matrix;
  } else {
    throw std::logic_error("only double is drawn");
  }
}

template <class T>
void LossFlow<T>::rhs(const Vector<T>& x, Vector<T>& dx, const T& t) const {
  set_states(*parts_->summed, parts_->arrays, x);
  parts_->summed->run();
  read_outputs(*parts_->summed, parts_->arrays.states.size(), dx);
  add_stored(x, dx);
  turn(dx, t);
}

template <class T>
void LossFlow<T>::observe(const Vector<T>& x, const T& t, std::span<T> row) const {
  formulas::Evaluator<T>& shown = *parts_->observables;
  set_states(shown, parts_->arrays, x);
  if (const std::span<T> time = shown.variable(time_name); !time.empty()) time[0] = t;
  for (std::size_t k = 0; k < parts_->means.size(); ++k) {
    const ExpectedObservables::Sampled& s = parts_->expected.observables.sampled[k];
    const std::vector<T> mean = parts_->means[k].of(
        x, instance_->stored->count, [&](std::size_t draw, Index first, std::span<T> to) {
          copy_stored(s.draws[draw], first, to);
        });
    set_variable(shown, s.variable, mean.data());
  }
  shown.run();
  std::size_t column = 0;
  Vector<T> unused = Vector<T>::Zero(x.size());
  row[column++] = shown.output(0)[0] + add_stored(x, unused);
  if (parts_->expected.has_error()) {
    double error = 0;
    if constexpr (std::same_as<T, double>) error = errors_at(x).loss;
    row[column++] = T(error);
  }
  for (std::size_t k = 0; k < parts_->arrays.observables.size(); ++k) {
    for (const T& number : shown.output(k + 1)) row[column++] = number;
  }
}

template <class T>
double LossFlow<T>::sampled_step(const Vector<double>& x, Vector<double>& dx, Stream& stream,
                                 Index batch) const {
  if constexpr (std::same_as<T, double>) {
    dx = Vector<double>::Zero(x.size());
    const std::uint64_t seed = stream.bits();
    const double loss = parts_->batch->add(
        x, batch,
        [&](std::size_t k, Index first, std::span<double> numbers) {
          parts_->sampler->fill(k, seed, static_cast<std::uint64_t>(first), numbers);
        },
        dx);
    turn(dx, parts_->draw_time);
    return loss;
  } else {
    throw std::logic_error("only double is drawn");
  }
}

template <class T>
void LossFlow<T>::covariance(const Vector<double>& x, const Matrix<double>& vectors, NodeSet nodes,
                             Matrix<double>& images) const {
  if constexpr (std::same_as<T, double>) {
    if (parts_->directions) {
      const Matrix<double> directions = direction_matrix(parts_->draw_time);
      parts_->one_sample->covariance(x, directions.transpose() * vectors, nodes, images);
      images = directions * images;
      return;
    }
    const Vector<double>& rates = parts_->rates;
    const Matrix<double> scaled = rates.asDiagonal() * vectors;
    if (parts_->exact_covariance) {
      images = (*parts_->exact_covariance)(x)*scaled;
    } else {
      parts_->one_sample->covariance(x, scaled, nodes, images);
    }
    images = rates.asDiagonal() * images;
  } else {
    throw std::logic_error("only double is drawn");
  }
}

template <class T>
OneSample::Errors LossFlow<T>::errors_at(const Vector<double>& x) const {
  OneSample::Errors errors{Vector<double>::Zero(x.size()), 0};
  if (parts_->errors) errors = parts_->errors->standard_errors(x);
  if (parts_->gap) {
    set_states(*parts_->gap, parts_->arrays, x);
    parts_->gap->run();
    const std::size_t states = parts_->arrays.states.size();
    Vector<double> slopes(x.size());
    read_outputs(*parts_->gap, states, slopes);
    errors.gradient += slopes.cwiseAbs();
    errors.loss += std::abs(parts_->gap->output(states)[0]);
  }
  return errors;
}

template <class T>
Vector<double> LossFlow<T>::field_errors(const Vector<double>& x, double t) const {
  if constexpr (std::same_as<T, double>) {
    const Vector<double> gradient = errors_at(x).gradient;
    if (parts_->directions) return direction_matrix(t).cwiseAbs() * gradient;
    return gradient.cwiseProduct(parts_->rates.cwiseAbs());
  } else {
    throw std::logic_error("only double is drawn");
  }
}

template <class T>
AnyRung<T> loss_rung(const std::shared_ptr<const LossInstance>& instance) {
  return forget_type(LossFlow<T>(instance));
}

template AnyRung<double> loss_rung(const std::shared_ptr<const LossInstance>&);
template AnyRung<Real> loss_rung(const std::shared_ptr<const LossInstance>&);
template AnyRung<Dual<double>> loss_rung(const std::shared_ptr<const LossInstance>&);

template class LossFlow<double>;
template class LossFlow<Real>;
template class LossFlow<Rational>;
template class LossFlow<Dual<double>>;

}  // namespace popgrad::learning
