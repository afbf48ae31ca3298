#include "theory_files/measure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "expectations/closure.hpp"
#include "formulas/edit.hpp"
#include "formulas/simplify.hpp"
#include "learning/each_sample.hpp"
#include "learning/entry_error.hpp"
#include "learning/loss_rung.hpp"
#include "learning/own_rung.hpp"
#include "popgrad/base/failure.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/refined_digits.hpp"
#include "popgrad/evidence/solved.hpp"
#include "popgrad/learning/residual.hpp"
#include "popgrad/rungs/given_start.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"

namespace popgrad::theory_files {
namespace measure_cpp {
namespace {

using formulas::comparison_in;
using formulas::ComparisonText;

using formulas::Array;
using learning::AskedFormula;
using learning::EntryError;
using learning::LossArrays;
using learning::OwnArrays;
using Kind = MeasureText::Kind;

constexpr double tolerance = 1e-11;
constexpr unsigned digits = 50;
// A field that is this share of its largest is at rest.
constexpr double at_rest = 1e-10;
constexpr double longest = 1e9;
constexpr std::size_t most_steps = 200'000;
// Times at which rest is looked for, each over the one before.
constexpr double longer = 1.25;
// Of the rates of two spans of time: that of exp(-t) is 1, that of any power of t less than 1/longer.
constexpr double steady = 0.9;

// Rungs that take steps have no form in digits for commands, which solve only flows in these.
AnyRung<Real> steps_in_digits(const Instance& instance, const std::string& name) {
  const auto shared = learning::loss_instance(instance.loss, instance.given, instance.seed);
  const std::vector<LossRung>& own = instance.loss.rungs;
  const auto place = std::ranges::find(own, name, &LossRung::name);
  AnyRung<Real> rung =
      place == own.end()
          ? without_draws(learning::loss_rung<Real>(shared))
          : learning::own_rung<Real>(shared, static_cast<std::size_t>(place - own.begin()), false);
  if (instance.given.has(state_key))
    rung.initial = instance.model().rung(name, instance.given, instance.seed).initial.cast<Real>();
  return rung;
}

template <class T>
AnyRung<T> rung_of(const Instance& instance, const std::string& name) {
  if constexpr (std::is_same_v<T, double>) {
    return instance.model().rung(name, instance.given, instance.seed);
  } else {
    if (!instance.model().row(name).make_in_digits) return steps_in_digits(instance, name);
    return instance.model().rung_in_digits(name, instance.given, instance.seed);
  }
}

std::vector<std::string> names_of_entries(const formulas::Shape& shape) {
  std::vector<std::string> names{""};
  for (const formulas::Dimension& axis : shape) {
    std::vector<std::string> next;
    for (const std::string& name : names) {
      for (Index i = 0; i < axis.extent; ++i)
        next.push_back(name.empty() ? fmt::format("[{}", i) : fmt::format("{}, {}", name, i));
    }
    names = std::move(next);
  }
  for (std::string& name : names) {
    if (!name.empty()) name += ']';
  }
  return names;
}

AskedFormula asked_for(const MeasureText& measure) {
  return {.entry = measure.entry, .rung = measure.rung, .formula = measure.formula};
}

void require_numbers(const std::vector<Quantity>& numbers, const MeasureText& measure) {
  for (const Quantity& q : numbers) {
    if (!std::isfinite(q.value()))
      throw Failure(fmt::format("'{}' is no finite number there", measure.formula));
  }
}

const RungInfo& solvable(const Instance& instance, const MeasureText& measure) {
  const RungInfo* info = nullptr;
  try {
    info = &instance.model().row(measure.rung).info;
  } catch (const InputError& error) {
    throw EntryError(instance.loss.name, measure.entry, error);
  }
  if (samples(*info)) {
    throw EntryError(instance.loss.name, measure.entry,
                     fmt::format("is of {}, which is random; measures of its runs are of a later "
                                 "version",
                                 measure.rung));
  }
  return *info;
}

void require_exact_field(const Instance& instance, const AnyRung<double>& rung) {
  const auto& columns = rung.observables.columns;
  if (std::find(columns.begin(), columns.end(), learning::error_column) == columns.end()) return;
  throw Failure(
      fmt::format("the field of {} is a mean over samples or by quadrature, whose error no "
                  "statement takes into account in this version",
                  instance.loss.name));
}

// When a rung is at rest, and how fast its field falls then.
struct Rest {
  double time = 0;
  double rate = std::numeric_limits<double>::infinity();
};

// From sizes of the field at three times.
Rest rest_of(const std::array<double, 3>& times, const std::array<double, 3>& sizes) {
  if (sizes[2] == 0) return {times[2]};
  const auto rate = [&](std::size_t k) {
    return std::log(sizes[k - 1] / sizes[k]) / (times[k] - times[k - 1]);
  };
  const double before = rate(1), last = rate(2);
  if (!(last > steady * before))
    throw Failure("the field falls more slowly than an exponential, so that no limit can be read");
  // Slower modes come last: as much slower once more.
  return {times[2], last * std::min(1.0, last / before)};
}

// By solves that are sharper than those that limits are read from: what these are off by moves a field that has
// fallen to 1e-10, so that it seems to fall no more.
Rest find_rest(const AnyRung<double>& rung) {
  Vector<double> x = rung.initial, slope(x.size());
  std::vector<double> times{0}, sizes;
  const auto measure_size = [&] {
    rung.field.value(x, slope, times.back());
    sizes.push_back(slope.norm());
  };
  measure_size();
  double largest = sizes[0];
  if (largest == 0) return {};
  SolveRequest<double> request;
  request.relative_tolerance = tolerance / 100;
  request.absolute_tolerance = tolerance / 10'000;
  request.find_events = false;
  request.find_blow_up = false;
  // From a hundredth of the time in which the start moves by its own size.
  request.end = 0.01 * std::max(x.norm(), 1e-3) / largest;
  while (times.size() < 4 || sizes.back() > at_rest * largest) {
    if (request.end > longest)
      throw Failure(fmt::format("does not come to rest by t = {:.2g}", longest));
    const Trajectory<double> run = solve(rung, x, request);
    if (run.outcome.ending == Ending::interrupted) throw_if_stopped();
    if (run.outcome.ending != Ending::reached_end) {
      throw Failure(fmt::format("the solve ended at t = {:.6g}: {}", run.outcome.t_reached,
                                describe(run.outcome.ending)));
    }
    x = run.last_state;
    times.push_back(request.end);
    measure_size();
    largest = std::max(largest, sizes.back());
    request.start = request.end;
    request.end *= longer;
  }
  return rest_of({times.end()[-3], times.end()[-2], times.end()[-1]},
                 {sizes.end()[-3], sizes.end()[-2], sizes.end()[-1]});
}

// What is left out of sums over nodes.
template <class T>
void add_gaps(std::span<Quantity> numbers, StateFormulas<T>& formulas, const Vector<T>& x,
              const T& t) {
  using std::abs;
  const Vector<T> gaps = formulas.gaps_at(x, t);
  for (Index k = 0; k < gaps.size(); ++k)
    numbers[static_cast<std::size_t>(k)].add(ErrorPart::next_order(to_double(T(abs(gaps[k])))));
}

// Numbers at a state that is at rest but for the way that is left at the rate of the field, each component by itself,
// as ways of components that cancel now need not at the end. Their sum counts twice: a number that comes along the slowest
// mode is off by all of it, and by what is of higher order in the way.
template <class T>
std::vector<Quantity> with_tails(std::vector<Quantity> numbers, StateFormulas<T>& formulas,
                                 Vector<T> x, const Vector<T>& slope, const Rest& rest) {
  using std::abs;
  add_gaps(std::span(numbers), formulas, x, T(rest.time));
  if (!std::isfinite(rest.rate)) return numbers;
  const T t(rest.time), way(1 / rest.rate);
  const Vector<T> here = formulas.at(x, t);
  Vector<T> tails = Vector<T>::Zero(here.size());
  for (Index i = 0; i < x.size(); ++i) {
    const T before = x[i];
    x[i] += way * slope[i];
    tails += (formulas.at(x, t) - here).cwiseAbs();
    x[i] = before;
  }
  for (std::size_t k = 0; k < numbers.size(); ++k)
    numbers[k].add(ErrorPart::next_order(2 * to_double(tails[static_cast<Index>(k)])));
  return numbers;
}

template <class T>
std::vector<Quantity> limit_of_flow(const AnyRung<double>& in_double, const AnyRung<T>& rung,
                                    StateFormulas<T>& formulas) {
  const Rest rest = find_rest(in_double);
  const SolvedIn<T> solved(rung, {rest.time}, tolerance);
  std::vector<Quantity> numbers =
      solved.all_at(0, [&](const Vector<T>& state) { return formulas.at(state, T(rest.time)); });
  Vector<T> slope(rung.dimension);
  rung.field.value(solved.state(0), slope, T(rest.time));
  return with_tails<T>(std::move(numbers), formulas, solved.state(0), slope, rest);
}

// Steps in many digits, so that they are those of the map: of doubles, chaotic ones are soon others.
class Steps {
 public:
  Steps(const AnyRung<Real>& rung, double step) : rung_(rung), step_(step), x_(rung.initial) {
    slope_.resize(x_.size());
    rung_.field.value(x_, slope_, Real(0));
  }
  void advance() {
    x_ += step_ * slope_;
    ++count_;
    if (count_ > most_steps)
      throw Failure(fmt::format("does not come to rest in {} steps", most_steps));
    throw_if_stopped();
    rung_.field.value(x_, slope_, time());
    if (!std::isfinite(to_double(Real(slope_.norm()))))
      throw Failure(fmt::format("diverges by step {}", count_));
  }
  [[nodiscard]] const Vector<Real>& state() const { return x_; }
  [[nodiscard]] const Vector<Real>& slope() const { return slope_; }
  [[nodiscard]] Real time() const { return step_ * static_cast<double>(count_); }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  const AnyRung<Real>& rung_;
  Real step_;
  Vector<Real> x_, slope_;
  std::size_t count_ = 0;
};

std::vector<Quantity> rounded_to_double(const Vector<Real>& numbers) {
  std::vector<Quantity> made;
  for (const Real& number : numbers) {
    const double value = to_double(number);
    made.emplace_back(value, std::vector{ErrorPart::rounding_moved(0, 1, value)});
  }
  return made;
}

std::vector<Quantity> limit_of_steps(const AnyRung<Real>& rung, double step,
                                     StateFormulas<Real>& formulas) {
  Steps steps(rung, step);
  std::vector<double> times, sizes;
  double largest = 0;
  std::size_t next = 1;
  for (;; steps.advance()) {
    const double size = to_double(Real(steps.slope().norm()));
    largest = std::max(largest, size);
    const bool rests = size <= at_rest * largest;
    if (steps.count() < next && !(size == 0)) continue;
    times.push_back(static_cast<double>(steps.count()) * step);
    sizes.push_back(size);
    if (rests && (times.size() > 3 || size == 0)) break;
    next = std::max(steps.count() + 1,
                    static_cast<std::size_t>(longer * static_cast<double>(steps.count())));
  }
  Rest rest{times.back()};
  if (sizes.back() > 0) {
    rest = rest_of({times.end()[-3], times.end()[-2], times.end()[-1]},
                   {sizes.end()[-3], sizes.end()[-2], sizes.end()[-1]});
    // The sum of a geometric series in place of an integral.
    rest.rate = -std::expm1(-rest.rate * step) / step;
  }
  return with_tails<Real>(rounded_to_double(formulas.at(steps.state(), steps.time())), formulas,
                          steps.state(), steps.slope(), rest);
}

std::vector<double> ascending(const std::vector<double>& times) {
  std::vector<double> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

void add(std::vector<Quantity>& to, const std::vector<Quantity>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

std::vector<Quantity> along_steps(const AnyRung<Real>& rung, double step,
                                  const std::vector<double>& times, StateFormulas<Real>& formulas) {
  Steps steps(rung, step);
  std::vector<Quantity> numbers;
  for (const double t : times) {
    const double count = std::round(t / step);
    if (std::fabs(count * step - t) > 1e-9 * t)
      throw Failure(fmt::format("t = {:.6g} is no multiple of the step {:g}", t, step));
    while (static_cast<double>(steps.count()) < count) steps.advance();
    std::vector<Quantity> own = rounded_to_double(formulas.at(steps.state(), steps.time()));
    add_gaps<Real>(own, formulas, steps.state(), steps.time());
    add(numbers, own);
  }
  return numbers;
}

// The formula of a measure, whose entries get their names.
template <class T>
StateFormulas<T> formula_of(const Instance& instance, const MeasureText& measure, Measured& made) {
  StateFormulas<T> formulas(instance, measure.rung, {asked_for(measure)});
  made.entries = names_of_entries(formulas.shape(0));
  return formulas;
}

// What no solve shows: what the formula of a measure itself rounds at a state, twice its difference to 50 digits, and how
// far it moves where the numbers of the state are off by their last digits: ten times the root mean square over choices
// of signs, as the roundings of some hundred steps add up. Cost: that of ten evaluations in 50 digits.
class OwnRounding {
 public:
  OwnRounding(const Instance& instance, const MeasureText& measure)
      : sharp_(instance, measure.rung, {asked_for(measure)}) {}
  void add_to(std::span<Quantity> numbers, const Vector<double>& found, const Vector<double>& state,
              double t) {
    const Vector<Real> x = state.cast<Real>();
    const Vector<Real> exact = sharp_.at(x, Real(t));
    Vector<double> squares = Vector<double>::Zero(found.size());
    for (int choice = 0; choice < choices; ++choice) {
      Vector<Real> moved = x;
      for (Index i = 0; i < x.size(); ++i)
        moved[i] += x[i] * (is_upwards(i, choice) ? last_digit : -last_digit);
      const Vector<Real> there = sharp_.at(moved, Real(t));
      for (Index i = 0; i < found.size(); ++i)
        squares[i] += std::pow(to_double(Real(there[i] - exact[i])), 2) / choices;
    }
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      const auto i = static_cast<Index>(k);
      const double change =
          2 * std::fabs(to_double(Real(exact[i] - found[i]))) + accumulated * std::sqrt(squares[i]);
      if (std::isfinite(change))
        numbers[k].add(ErrorPart::rounding_moved(change, 1, numbers[k].value()));
    }
  }

 private:
  static constexpr int choices = 8;
  static constexpr double last_digit = 0x1p-53, accumulated = 10;
  static bool is_upwards(Index i, int choice) {
    constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15;
    return ((static_cast<std::uint64_t>(i + 1) * golden_ratio) >> (32 + choice) & 1) != 0;
  }
  DigitsScope scope_{digits};  // as long as it lives
  StateFormulas<Real> sharp_;
};

std::vector<Quantity> numbers_along(const Instance& instance, const MeasureText& measure,
                                    const RungInfo& info, const std::vector<double>& times,
                                    Measured& made) {
  if (info.kind == RungKind::descent) {
    const DigitsScope scope(digits);
    StateFormulas<Real> formulas = formula_of<Real>(instance, measure, made);
    return along_steps(rung_of<Real>(instance, measure.rung), instance.loss.step, times, formulas);
  }
  if (info.kind == RungKind::closed_form) {
    const DigitsScope scope(digits);
    StateFormulas<Real> formulas = formula_of<Real>(instance, measure, made);
    const AnyRung<Real> rung = rung_of<Real>(instance, measure.rung);
    std::vector<Quantity> numbers;
    for (const double t : times) {
      const Vector<Real> x = rung.field.state_at(Real(t));
      std::vector<Quantity> own = rounded_to_double(formulas.at(x, Real(t)));
      add_gaps<Real>(own, formulas, x, Real(t));
      add(numbers, own);
    }
    return numbers;
  }
  require_exact_field(instance, rung_of<double>(instance, measure.rung));
  return in_refined_digits([&]<class T>() {
    StateFormulas<T> formulas = formula_of<T>(instance, measure, made);
    const SolvedIn<T> solved(rung_of<T>(instance, measure.rung), times, tolerance);
    std::optional<OwnRounding> rounding;
    if constexpr (std::is_same_v<T, double>) rounding.emplace(instance, measure);
    std::vector<Quantity> numbers;
    for (std::size_t k = 0; k < times.size(); ++k) {
      std::vector<Quantity> own =
          solved.all_at(k, [&](const Vector<T>& x) { return formulas.at(x, T(times[k])); });
      add_gaps<T>(own, formulas, solved.state(k), T(times[k]));
      add(numbers, own);
      if constexpr (std::is_same_v<T, double>) {
        const Vector<double> found = formulas.at(solved.state(k), times[k]);
        rounding->add_to(std::span(numbers).last(static_cast<std::size_t>(found.size())), found,
                         solved.state(k), times[k]);
      }
    }
    return numbers;
  });
}

std::vector<Quantity> limits(const Instance& instance, const MeasureText& measure,
                             const RungInfo& info, Measured& made) {
  if (info.kind == RungKind::closed_form) {
    throw EntryError(instance.loss.name, measure.entry,
                     fmt::format("is of {}, a closed form; limits are of what moves", info.name));
  }
  if (info.kind == RungKind::descent) {
    const DigitsScope scope(digits);
    StateFormulas<Real> formulas = formula_of<Real>(instance, measure, made);
    return limit_of_steps(rung_of<Real>(instance, measure.rung), instance.loss.step, formulas);
  }
  const AnyRung<double> in_double = rung_of<double>(instance, measure.rung);
  require_exact_field(instance, in_double);
  return in_refined_digits([&]<class T>() {
    StateFormulas<T> formulas = formula_of<T>(instance, measure, made);
    return limit_of_flow<T>(in_double, rung_of<T>(instance, measure.rung), formulas);
  });
}

// Relative to the largest terms that it is a difference of. Parts: solver, from a solve that is looser by 100; sampling of
// the field; rounding of the terms.
Quantity largest_residual(const Instance& instance, const MeasureText& measure) {
  if (instance.given.has(state_key)) {
    throw EntryError(instance.loss.name, measure.entry,
                     "is along rungs that begin at their own start; none can be given");
  }
  ResidualRequest request{.subjects = {residual_subject(instance.loss, measure)},
                          .seed = instance.seed,
                          .along = true,
                          .tolerance = tolerance};
  const auto found = [&] {
    Residual residual = residuals(instance.loss, instance.given, request).at(0);
    if (residual.outcome != Residual::Outcome::measured) throw Failure(to_text(residual));
    return residual;
  };
  const Residual sharp = found();
  constexpr double looser = 100, standard_errors = 5, operations = 1e4;
  request.tolerance *= looser;
  Quantity largest(sharp.largest, {ErrorPart::solver(sharp.largest, found().largest),
                                   ErrorPart::rounding(operations, 1)});
  if (sharp.error > 0) largest.add(ErrorPart::sampling(standard_errors, sharp.error));
  return largest;
}

// First times at which entries of a formula are >= 0.
std::vector<Quantity> first_times(const Instance& instance, const MeasureText& measure,
                                  const RungInfo& info, Measured& made) {
  if (info.kind != RungKind::flow) {
    throw EntryError(instance.loss.name, measure.entry,
                     fmt::format("is of {}, which does not flow; events are of flows", info.name));
  }
  AnyRung<double> rung = rung_of<double>(instance, measure.rung);
  require_exact_field(instance, rung);
  StateFormulas<double> formulas = formula_of<double>(instance, measure, made);
  if (formulas.gaps_at(rung.initial, 0).size() > 0)
    throw Failure(fmt::format("'{}' is by quadrature, whose error no event takes into account",
                              measure.formula));
  const Vector<double> first = formulas.at(rung.initial, 0);
  std::vector<std::optional<Quantity>> found(static_cast<std::size_t>(first.size()));
  rung.events.clear();
  for (Index i = 0; i < first.size(); ++i) {
    if (first[i] >= 0) {
      found[static_cast<std::size_t>(i)] = Quantity(0);
      continue;
    }
    EventFinder<double> finder{.name = fmt::format("{}", i), .column = "t"};
    finder.value = [&formulas, i](const Vector<double>& x, const double& t) {
      return formulas.at(x, t)[i];
    };
    finder.report = [](const Vector<double>&, const double& t) { return t; };
    rung.events.push_back(std::move(finder));
  }
  const std::size_t sought = rung.events.size();
  SolveRequest<double> request;
  request.relative_tolerance = tolerance;
  request.absolute_tolerance = tolerance / 100;
  request.find_blow_up = false;
  Vector<double> slope(rung.dimension);
  rung.field.value(rung.initial, slope, 0);
  request.end =
      sought == 0 ? 0 : std::max(rung.initial.norm(), 1e-3) / std::max(slope.norm(), 1e-9);
  double last = 0;
  Vector<double> x = rung.initial;
  for (std::vector<bool> seen(found.size()); sought > 0;) {
    const Trajectory<double> run = solve(rung, x, request);
    if (run.outcome.ending == Ending::interrupted) throw_if_stopped();
    for (const Event<double>& event : run.events) {
      const auto place = static_cast<std::size_t>(std::stoul(event.name));
      if (!seen[place]) last = std::max(last, event.t);
      seen[place] = true;
    }
    if (static_cast<std::size_t>(std::ranges::count(seen, true)) == sought) break;
    if (run.outcome.ending != Ending::reached_end || request.end > longest)
      throw Failure(
          fmt::format("'{}' is not true by t = {:.2g}", measure.formula, run.outcome.t_reached));
    x = run.last_state;
    request.start = request.end;
    request.end *= 2;
  }
  if (sought > 0) {
    // A little past the last, as its time is another at other tolerances.
    for (const FoundEvent& event : events_of(rung, last * 1.01, tolerance)) {
      auto& to = found[static_cast<std::size_t>(std::stoul(event.name))];
      if (!to) to = event.time;
    }
  }
  std::vector<Quantity> times;
  for (const std::optional<Quantity>& time : found) times.push_back(time.value());
  return times;
}

}  // namespace
}  // namespace measure_cpp

std::string residual_subject(const SampleLoss& loss, const MeasureText& measure) {
  const std::vector<std::string> subjects = residual_subjects(loss);
  for (const std::string& subject : subjects) {
    if (subject.substr(subject.find('.') + 1) == measure.formula) return subject;
  }
  throw learning::EntryError(loss.name, measure.entry,
                             fmt::format("is of '{}'; there are residuals of {}", measure.formula,
                                         fmt::join(subjects, ", ")));
}

const Model& Instance::model() const {
  if (!model_) model_ = model_of_loss(loss);
  return *model_;
}

template <class T>
struct StateFormulas<T>::Parts {
  using OwnArrays = learning::OwnArrays;
  Parts(const Instance& instance, const std::string& rung,
        const std::vector<learning::AskedFormula>& asked)
      : arrays(instance.loss, instance.given, asked, instance.seed),
        parameters(learning::parameter_values<T>(arrays)),
        step(instance.loss.step) {
    std::vector<learning::ObservableArray> written;
    for (std::size_t k = 0; k < asked.size(); ++k) {
      if (arrays.asked[k]) written.push_back({asked[k].entry, *arrays.asked[k]});
    }
    const learning::ExpectedObservables expected(written, arrays, instance.loss, nullptr);
    if (!expected.sampled.empty())
      throw Failure(
          "an expectation is a mean over samples, whose error no statement takes into "
          "account in this version");
    std::vector<formulas::Array> made;
    for (const learning::ObservableArray& formula : expected.shown) {
      made.push_back(formula.array);
      count += formulas::entries(formula.array.shape());
    }
    for (std::size_t k = 0; k < expected.by_fewer.size(); ++k)
      made.push_back(made[k] - expected.by_fewer[k]);
    outputs = expected.shown.size();
    has_gaps = !expected.by_fewer.empty();
    const auto any_reads = [&](const std::vector<formulas::Array>& states) {
      return std::ranges::any_of(made, [&](const formulas::Array& output) {
        return std::ranges::any_of(
            states, [&](const formulas::Array& s) { return learning::reads(output, s); });
      });
    };
    // From the states of the rung to those of training, as far as formulas read them.
    std::vector<std::vector<formulas::Array>> all;
    std::vector<const OwnArrays*> own;
    for (std::optional<std::size_t> k = arrays.own_place(rung); k; k = arrays.own[*k].finer) {
      own.push_back(&arrays.own[*k]);
      all.push_back(own.back()->states);
    }
    if (own.empty() || own.back()->of_loss) all.push_back(arrays.state_variables());
    // Through maps, from the finest up, where formulas close.
    for (std::size_t k = all.size(); k-- > 1;) {
      if (own[k - 1]->lift.empty() && any_reads(all[k])) close(made, all[k], *own[k - 1]);
    }
    evaluator.emplace(learning::prepared(made, arrays, parameters));
    std::size_t last = 0;
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (!any_reads(all[k])) continue;
      last = k;
      reads = true;
    }
    for (std::size_t k = 0; k <= last && k < all.size(); ++k) {
      levels.push_back({.states = all[k]});
      if (k == last) break;
      if (own[k]->lift.empty()) {
        throw InputError(fmt::format("{}: {}: reads states of {}, to which {} has no lift",
                                     instance.loss.name, asked.empty() ? "" : asked.front().entry,
                                     k + 1 < own.size() ? own[k + 1]->name : "training",
                                     own[k]->name));
      }
      levels.back().lift.emplace(learning::prepared(own[k]->lift, arrays, parameters));
      levels.back().outputs = own[k]->lift.size();
    }
  }

  // Stays as it is where it does not close.
  static void close(std::vector<formulas::Array>& made, const std::vector<formulas::Array>& states,
                    const OwnArrays& own) {
    for (formulas::Array& formula : made) {
      const expectations::Closure closure = expectations::closed_in(
          formulas::simplified(std::vector{formula}), states, own.map, own.states);
      if (closure.why.empty()) formula = closure.formulas.front();
    }
  }

  struct Level {
    std::vector<formulas::Array> states;
    std::optional<formulas::Evaluator<T>> lift = {};
    std::size_t outputs = 0;
  };
  learning::LossArrays arrays;
  std::vector<std::vector<T>> parameters;
  T step;
  std::optional<formulas::Evaluator<T>> evaluator;
  std::vector<Level> levels;
  std::size_t outputs = 0;
  Index count = 0;  // of their entries
  bool reads = false, has_gaps = false;
};

template <class T>
StateFormulas<T>::StateFormulas(const Instance& instance, const std::string& rung,
                                const std::vector<learning::AskedFormula>& asked)
    : parts_(std::make_unique<Parts>(instance, rung, asked)) {}
template <class T>
StateFormulas<T>::~StateFormulas() = default;
template <class T>
StateFormulas<T>::StateFormulas(StateFormulas&&) noexcept = default;
template <class T>
StateFormulas<T>& StateFormulas<T>::operator=(StateFormulas&&) noexcept = default;

template <class T>
bool StateFormulas<T>::has(std::size_t k) const {
  return parts_->arrays.asked[k].has_value();
}
template <class T>
const formulas::Shape& StateFormulas<T>::shape(std::size_t k) const {
  return parts_->arrays.asked[k].value().shape();
}
template <class T>
bool StateFormulas<T>::reads_states() const {
  return parts_->reads;
}

template <class T>
Vector<T> StateFormulas<T>::at(const Vector<T>& state, const T& t) {
  run_at(state, t);
  Vector<T> all(parts_->count);
  learning::read_outputs(*parts_->evaluator, parts_->outputs, all);
  return all;
}

template <class T>
Vector<T> StateFormulas<T>::gaps_at(const Vector<T>& state, const T& t) {
  Vector<T> gaps(parts_->has_gaps ? parts_->count : 0);
  if (gaps.size() == 0) return gaps;
  run_at(state, t);
  Index entry = 0;
  for (std::size_t k = 0; k < parts_->outputs; ++k) {
    for (const T& gap : parts_->evaluator->output(parts_->outputs + k)) gaps[entry++] = gap;
  }
  return gaps;
}

template <class T>
void StateFormulas<T>::run_at(const Vector<T>& state, const T& t) {
  Parts& p = *parts_;
  const auto write = [](formulas::Evaluator<T>& to, const std::vector<formulas::Array>& states,
                        const Vector<T>& x) {
    const T* from = x.data();
    for (const formulas::Array& s : states) from = learning::set_variable(to, s, from);
  };
  if (p.reads) {
    Vector<T> x = state;
    for (typename Parts::Level& level : p.levels) {
      write(*p.evaluator, level.states, x);
      if (!level.lift) break;
      write(*level.lift, level.states, x);
      level.lift->run();
      Index entries = 0;
      for (std::size_t k = 0; k < level.outputs; ++k) entries += std::ssize(level.lift->output(k));
      x.resize(entries);
      learning::read_outputs(*level.lift, level.outputs, x);
    }
  }
  if (const std::span<T> to = p.evaluator->variable(learning::time_name); !to.empty()) to[0] = t;
  if (const std::span<T> to = p.evaluator->variable(learning::step_size_name); !to.empty())
    to[0] = p.step;
  p.evaluator->run();
}

template class StateFormulas<double>;
template class StateFormulas<Real>;

std::vector<Measured> at_start(const Instance& instance, const std::string& rung,
                               const std::vector<learning::AskedFormula>& asked,
                               const std::vector<double>& times) {
  using namespace measure_cpp;
  StateFormulas<double> in_double(instance, rung, asked);
  const DigitsScope scope(digits);
  StateFormulas<Real> in_digits(instance, rung, asked);
  Vector<double> start;
  Vector<Real> sharp;
  if (in_double.reads_states()) {
    start = rung_of<double>(instance, rung).initial;
    sharp = rung_of<Real>(instance, rung).initial;
  }
  std::vector<Measured> all(asked.size());
  for (std::size_t k = 0; k < asked.size(); ++k) {
    all[k].times = times;
    if (in_double.has(k)) all[k].entries = names_of_entries(in_double.shape(k));
  }
  for (const double t : times) {
    const Vector<double> rough = in_double.at(start, t);
    const Vector<Real> values = in_digits.at(sharp, Real(t));
    const Vector<Real> gaps = in_digits.gaps_at(sharp, Real(t));
    Index i = 0;
    for (Measured& own : all) {
      for (std::size_t e = 0; e < own.entries.size(); ++e, ++i) {
        const double value = to_double(values[i]);
        const double change = std::fabs(to_double(Real(values[i] - rough[i])));
        own.numbers.emplace_back(value, std::vector{ErrorPart::rounding_moved(change, 1, value)});
        if (gaps.size() > 0)
          own.numbers.back().add(ErrorPart::next_order(std::fabs(to_double(gaps[i]))));
      }
    }
  }
  return all;
}

std::vector<std::string> Measured::places() const {
  std::vector<std::string> all;
  if (times.size() == 1 && times[0] == 0 && entries.size() < 2) return all;
  for (const double t : times) {
    for (const std::string& entry : entries) {
      std::string place = entry.empty() ? "" : fmt::format("`{}`", entry);
      if (times.size() > 1 || t != 0)
        place += fmt::format("{}`t = {:.6g}`", place.empty() ? "" : ", ", t);
      all.push_back(std::move(place));
    }
  }
  return all;
}

Measured measured(const Instance& instance, const MeasureText& measure,
                  const std::vector<double>& times) {
  using namespace measure_cpp;
  if (measure.kind == Kind::formula || measure.kind == Kind::value) {
    Measured made = at_start(instance, measure.rung, {asked_for(measure)},
                             times.empty() ? std::vector{0.0} : times)
                        .front();
    require_numbers(made.numbers, measure);
    return made;
  }
  if (measure.kind == Kind::residual) {
    return {.times = {0}, .entries = {""}, .numbers = {largest_residual(instance, measure)}};
  }
  const RungInfo& info = solvable(instance, measure);
  if (measure.eta) {
    if (!walks(info)) {
      throw EntryError(instance.loss.name, measure.entry,
                       fmt::format("has an eta, which {} has not: it does not step", info.name));
    }
    Instance other(instance.loss, instance.given, instance.seed);
    other.loss.step = *measure.eta;
    MeasureText own = measure;
    own.eta.reset();
    return measured(other, own, times);
  }
  Measured made;
  MeasureText own = measure;
  if (own.kind == Kind::event) {
    const std::optional<ComparisonText> comparison = comparison_in(own.formula);
    if (!comparison || comparison->sign == "==" || comparison->sign == "!=")
      throw EntryError(instance.loss.name, own.entry, "must be a comparison such as u >= s / 2");
    own.formula = comparison->difference;
  }
  if (own.kind == Kind::along) {
    std::vector<double> all = times;
    if (!own.times.empty()) {
      std::vector<AskedFormula> asked;
      for (const std::string& time : own.times)
        asked.push_back({.entry = own.entry + " at", .rung = own.rung, .formula = time});
      all.clear();
      for (const Measured& at : at_start(instance, own.rung, asked)) {
        for (const Quantity& t : at.numbers) all.push_back(t.value());
      }
    }
    made.times = ascending(all);
    if (made.times.empty() || !(made.times.front() >= 0) || !std::isfinite(made.times.back()))
      throw InputError(fmt::format("{}: {}: needs times >= 0", instance.loss.name, own.entry));
    made.numbers = numbers_along(instance, own, info, made.times, made);
  } else if (own.kind == Kind::limit) {
    made.numbers = limits(instance, own, info, made);
  } else {
    made.numbers = first_times(instance, own, info, made);
  }
  require_numbers(made.numbers, own);
  return made;
}

}  // namespace popgrad::theory_files
