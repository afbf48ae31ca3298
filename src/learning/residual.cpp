#include "popgrad/learning/residual.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "formulas/gradient.hpp"
#include "formulas/rebuild.hpp"
#include "learning/entry_error.hpp"
#include "learning/loss_rung.hpp"
#include "learning/own_rung.hpp"
#include "learning/rung_laws.hpp"
#include "learning/vanishing.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/random.hpp"
#include "popgrad/solving/solve.hpp"

namespace popgrad {
namespace residual_cpp {
namespace {

using namespace learning;
using formulas::derivative_along;
using formulas::substituted;

constexpr const char* sampled_loss = "sampled loss";
// Relative to the largest term: rows that are drawn orthonormal are so to double precision.
constexpr double rounding_of_fixed = 1e-12;

/// A residual at given sizes.
struct Problem {
  std::string subject;
  Vanishing what;
  std::vector<Array> states;       ///< that it is a formula of
  std::optional<std::size_t> own;  ///< rung of these states; none: of training
  bool is_closed = false;          ///< they are the start of that rung, at all times
  bool steps = false;
  bool approximate = false;
  std::vector<Array> sampled_at;
  bool samples_loss = false;  ///< it reads `sampled_loss`, the mean of the loss over samples
  std::string why_not;        ///< it is not examined
};

enum class Kind { expected, rung, closed, invariant };

struct Subject {
  std::string text;
  Kind kind;
  std::size_t place;
};

std::vector<Subject> subjects_of(const SampleLoss& loss) {
  std::vector<Subject> subjects;
  for (std::size_t k = 0; k < loss.expected.size(); ++k)
    subjects.push_back({"loss." + loss.expected[k].name, Kind::expected, k});
  for (std::size_t k = 0; k < loss.rungs.size(); ++k) {
    const LossRung& rung = loss.rungs[k];
    const bool only_closed = rung.flow.empty() && rung.step.empty() && !rung.closed.empty();
    if (!rung.of.empty() && !only_closed) subjects.push_back({"rung." + rung.name, Kind::rung, k});
    if (!rung.closed.empty()) {
      subjects.push_back({fmt::format("rung.{}.closed", rung.name), Kind::closed, k});
    }
  }
  for (std::size_t k = 0; k < loss.invariants.size(); ++k)
    subjects.push_back({"invariant." + loss.invariants[k].name, Kind::invariant, k});
  return subjects;
}

/// Residuals as formulas.
class Problems {
 public:
  Problems(const SampleLoss& loss, const Parameters& given, std::uint64_t seed)
      : loss_(loss), laws_(loss, given, seed) {}
  [[nodiscard]] const LossArrays& arrays() { return laws_.arrays(); }

  Problem of(const Subject& subject) {
    Problem made{.subject = subject.text};
    try {
      add(subject, made);
    } catch (const EntryError&) {
      throw;
    } catch (const InputError& error) {  // of functions without derivative
      made = {.subject = subject.text, .why_not = error.what()};
    }
    return made;
  }

 private:
  void add(const Subject& subject, Problem& made) {
    switch (subject.kind) {
      case Kind::expected:
        add_expected(subject.place, made);
        break;
      case Kind::rung:
        add_rung(subject.place, made);
        break;
      case Kind::closed:
        add_closed(subject.place, made);
        break;
      case Kind::invariant:
        add_invariant(arrays().invariants[subject.place], made);
        break;
    }
  }

  void add_expected(std::size_t place, Problem& made) {
    const LossArrays& all = arrays();
    made.states = all.state_variables();
    std::optional<Array> mean;
    try {
      const ExpectedParts derived(all.loss, all, loss_, "loss");
      if (!derived.has_error()) mean = derived.summed;
    } catch (const EntryError&) {  // of what needs samples
    }
    made.samples_loss = !mean;
    if (!mean) mean = all.graph->variable(sampled_loss, {});
    add({loss_.expected[place].name}, {*mean}, {all.expected[place]}, made);
  }

  void add_rung(std::size_t place, Problem& made) {
    const OwnArrays& own = arrays().own[place];
    made.approximate = loss_.rungs[place].approximate;
    if (own.of_sgd && !own.lift.empty()) {
      made.why_not = "steps of sgd are random; their mean is compared by a map without a lift";
      return;
    }
    if (own.lift.empty() && own.map.empty()) {
      made.why_not = "it has neither map nor lift";
      return;
    }
    if (own.lift.empty() && !own.has_law()) {
      static_cast<void>(laws_.own(place));
      made.why_not = "its law is derived from its map";
      return;
    }
    made.steps = own.steps();
    const RungLaw fine = laws_.finer(own, made.steps), law = laws_.own(place);
    made.sampled_at = fine.sampled_at;
    if (fine.values.empty()) {
      made.why_not = loss_.rungs[place].of + " has only a closed form";
    } else if (!own.lift.empty()) {
      made.own = place;
      made.states = own.states;
      if (own.domain) made.what.domain = {*own.domain};
      made.sampled_at = substituted(fine.sampled_at, fine.states, own.lift);
      const std::vector<Array> field = substituted(fine.values, fine.states, own.lift),
                               along = made.steps
                                           ? substituted(own.lift, own.states, law.values)
                                           : derivative_along(own.lift, own.states, law.values);
      add(fine.names, field, along, made);
      if (own.map.empty()) return;
      std::vector<std::string> names;
      for (const std::string& name : own.names)
        names.push_back(fmt::format("map of the lift of {}", name));
      add(names, substituted(own.map, fine.states, own.lift), own.states, made);
    } else {
      made.own = own.finer;
      made.states = fine.states;
      if (own.domain) made.what.domain = substituted({*own.domain}, own.states, own.map);
      add(own.names,
          made.steps ? laws_.mapped_step(own) : derivative_along(own.map, fine.states, fine.values),
          substituted(law.values, own.states, own.map), made);
    }
  }

  static void add(const std::vector<std::string>& names, const std::vector<Array>& left,
                  const std::vector<Array>& right, Problem& to) {
    for (std::size_t k = 0; k < names.size(); ++k)
      to.what.differences.push_back({names[k], left[k] - right[k], {left[k], right[k]}});
  }

  void add_closed(std::size_t place, Problem& made) {
    const OwnArrays& own = arrays().own[place];
    made.own = place;
    made.is_closed = true;
    made.states = own.start_variables;
    made.approximate = loss_.rungs[place].approximate && own.flow.empty();
    if (own.domain) made.what.domain = substituted({*own.domain}, own.states, own.start_variables);
    const Array one = arrays().graph->constant(1), zero = arrays().graph->constant(0);
    std::vector<Array> closed = own.closed;
    if (!own.flow.empty()) {
      add(own.names, derivative_along(closed, {laws_.time()}, {one}),
          substituted(own.flow, own.states, closed), made);
    } else if (own.lift.empty()) {
      made.why_not = own.map.empty() ? "it has no flow" : "it has neither flow nor lift";
      return;
    } else {
      const RungLaw fine = laws_.finer(own, false);
      if (own.time) closed = substituted(closed, {laws_.time()}, {*own.time});
      const std::vector<Array> lifted = substituted(own.lift, own.states, closed);
      made.sampled_at = substituted(fine.sampled_at, fine.states, lifted);
      add(fine.names, substituted(fine.values, fine.states, lifted),
          derivative_along(lifted, {laws_.time()}, {one}), made);
    }
    std::vector<std::string> names;
    for (const std::string& name : own.names) names.push_back("start of " + name);
    add(names, substituted(own.closed, {laws_.time()}, {zero}), own.start_variables, made);
  }

  void add_invariant(const InvariantArray& invariant, Problem& made) {
    const RungLaw law = invariant.own ? laws_.own(*invariant.own) : laws_.training();
    made.own = invariant.own;
    made.states = law.states;
    made.sampled_at = law.sampled_at;
    Difference difference{
        invariant.name, derivative_along({invariant.array}, law.states, law.values).front(), {}};
    for (std::size_t k = 0; k < law.states.size(); ++k) {
      difference.terms.push_back(
          derivative_along({invariant.array}, {law.states[k]}, {law.values[k]}).front());
    }
    made.what.differences.push_back(std::move(difference));
    if (invariant.own && arrays().own[*invariant.own].domain)
      made.what.domain = {*arrays().own[*invariant.own].domain};
  }

  const SampleLoss& loss_;
  RungLaws laws_;
};

// --- at points

DrawnVariables drawn_variables(const LossArrays& arrays, std::uint64_t seed) {
  DrawnVariables variables{.given = {}, .ranges = {}, .seed = seed};
  for (const ParameterArray& p : arrays.parameters)
    variables.ranges.emplace(p.variable.node().text, p.range);
  variables.ranges.emplace(step_size_name, above_up_to(0, 1));
  variables.ranges.emplace(batch_name, above(0));
  variables.ranges.emplace(time_name, above(0));
  return variables;
}

void give_parameters(const LossArrays& arrays, DrawnVariables& variables) {
  std::vector<std::vector<Rational>> values;
  try {
    values = parameter_values<Rational>(arrays);
  } catch (const InputError&) {  // of formulas without rational values
    for (const std::vector<double>& numbers : parameter_values<double>(arrays))
      values.emplace_back(numbers.begin(), numbers.end());
  }
  for (std::size_t k = 0; k < values.size(); ++k)
    variables.given.emplace(arrays.parameters[k].variable.node().text, std::move(values[k]));
}

std::string points_text(const AtPoints& found) {
  return found.exact ? fmt::format("at {} rational points", found.points)
                     : fmt::format("at {} points in 50 digits", found.points);
}

void refute(const NotZero& found, Residual& residual) {
  residual.outcome = Residual::Outcome::refuted;
  residual.component = found.component;
  residual.place = found.place;
  residual.value = found.value;
  residual.largest = found.share;
}

// --- along the flow

/// States of a rung at times of a run in double, with the numbers of parameters that the file or the user gives.
class Measured {
 public:
  Measured(const SampleLoss& loss, const Parameters& given, std::uint64_t seed,
           const LossArrays& arrays, const Problem& problem, double tolerance)
      : loss_(loss),
        instance_(loss_instance(loss, given, seed)),
        arrays_(arrays),
        problem_(problem),
        tolerance_(tolerance),
        parameters_(parameter_values<double>(arrays)) {
    std::vector<Array> outputs;
    for (const Difference& d : problem.what.differences) {
      outputs.push_back(d.array);
      outputs.insert(outputs.end(), d.terms.begin(), d.terms.end());
    }
    domain_ = outputs.size();
    outputs.insert(outputs.end(), problem.what.domain.begin(), problem.what.domain.end());
    outputs_.emplace(prepared(outputs, arrays, parameters_));
    if (problem.samples_loss) {
      SampleLoss by_samples = loss;
      by_samples.expected.clear();
      if (by_samples.samples == 0) by_samples.samples = usual_samples;
      field_.emplace(loss_instance(std::move(by_samples), given, seed));
    }
    if (problem.sampled_at.empty()) return;
    at_.emplace(prepared(problem.sampled_at, arrays, parameters_));
    field_.emplace(instance_);
  }

  void add_to(Residual& residual) {
    std::vector<Seen> all;
    std::vector<double> units(problem_.what.differences.size());
    for (const auto& [t, state] : states()) {
      if (std::optional<Seen> seen = at(t, state)) all.push_back(std::move(*seen));
    }
    if (all.empty()) {
      residual.how = "it is nowhere defined along its flow within its domain";
      return;
    }
    residual.outcome = Residual::Outcome::measured;
    residual.how = problem_.steps ? "along its steps" : "along its flow";
    for (const Seen& seen : all) {
      for (std::size_t k = 0; k < units.size(); ++k) units[k] = std::max(units[k], seen.units[k]);
    }
    // Terms that are rounding compared with others are as large as that.
    const double most = *std::max_element(units.begin(), units.end());
    for (double& unit : units) unit = std::max({unit, rounding * most, least_positive});
    for (const Seen& seen : all) take(seen, units, residual);
  }

 private:
  struct At {
    double t;
    Vector<double> state;
  };
  static constexpr std::size_t times = 9;

  std::vector<At> states() {
    const AnyRung<double> rung = problem_.own ? own_rung<double>(instance_, *problem_.own, false)
                                              : loss_rung<double>(instance_);
    std::vector<At> found;
    if (problem_.is_closed) {
      for (const double t : equally_spaced(0.0, loss_.end, times))
        found.push_back({t, rung.initial});
    } else if (problem_.steps) {
      Vector<double> state = rung.initial, slope = state;
      Stream stream(instance_->seed, 0, 0);
      for (std::size_t k = 0; k < times; ++k) {
        found.push_back({static_cast<double>(k), state});
        if (rung.draws.step && problem_.own) {
          rung.draws.step(state, loss_.step, stream, loss_.batch);
        } else {
          rung.field.value(state, slope, 0);
          state += loss_.step * slope;
        }
      }
    } else {
      SolveRequest<double> request;
      request.end = loss_.end;
      request.save_at = equally_spaced(0.0, loss_.end, times);
      request.relative_tolerance = request.absolute_tolerance = tolerance_;
      request.keep_states = true;
      request.find_events = false;
      const Trajectory<double> solved = solve(rung, request);
      for (std::size_t k = 0; k < solved.states.size(); ++k)
        found.push_back({solved.t[k], solved.states[k]});
    }
    return found;
  }

  void write(formulas::Evaluator<double>& evaluator, double t, const Vector<double>& state) const {
    const double* from = state.data();
    for (const Array& variable : problem_.states) from = set_variable(evaluator, variable, from);
    if (const auto to = evaluator.variable(time_name); !to.empty()) to[0] = t;
    if (const auto to = evaluator.variable(step_size_name); !to.empty()) to[0] = loss_.step;
    if (const auto to = evaluator.variable(batch_name); !to.empty())
      to[0] = static_cast<double>(loss_.batch);
  }
  void write_field(const Vector<double>& field) {
    const double* from = field.data();
    for (const StateArray& state : arrays_.states) {
      const Array variable =
          arrays_.graph->variable("field of " + state.variable.node().text, state.variable.shape());
      from = set_variable(*outputs_, variable, from);
    }
  }

  /// Entries of the differences at a time, their standard errors, and the largest terms of each difference.
  struct Seen {
    double t;
    std::vector<std::vector<double>> differences, errors;
    std::vector<double> units;
  };

  // Nothing where it is not defined, and outside of the domain.
  std::optional<Seen> at(double t, const Vector<double>& state) {
    write(*outputs_, t, state);
    Seen seen{.t = t, .differences = {}, .errors = {}, .units = {}};
    if (at_) {
      write(*at_, t, state);
      at_->run();
      Vector<double> x(arrays_.dimension());
      read_outputs(*at_, problem_.sampled_at.size(), x);
      Vector<double> field = x;
      field_->rhs(x, field, t);
      write_field(field);
      outputs_->run();
      seen.differences = values();
      seen.errors = standard_errors(field, field_->field_errors(x, t), seen.differences);
    } else if (problem_.samples_loss) {
      std::vector<double> row(field_->columns().size());
      field_->observe(state, t, row);
      if (const auto to = outputs_->variable(sampled_loss); !to.empty()) to[0] = row[0];
      outputs_->run();
      seen.differences = values();
      seen.errors = {{field_->errors(state).loss}};
    } else {
      outputs_->run();
      seen.differences = values();
    }
    for (std::size_t k = 0; k < problem_.what.domain.size(); ++k) {
      for (const double inside : outputs_->output(domain_ + k)) {
        if (inside == 0) return std::nullopt;
      }
    }
    seen.units = largest_terms();
    for (const std::vector<double>& numbers : seen.differences) {
      if (!std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); }))
        return std::nullopt;
    }
    return seen;
  }

  void take(const Seen& seen, const std::vector<double>& units, Residual& residual) const {
    for (std::size_t k = 0; k < units.size(); ++k) {
      for (std::size_t i = 0; i < seen.differences[k].size(); ++i) {
        const double size = std::abs(seen.differences[k][i]), share = size / units[k];
        if (field_) {
          const double error = seen.errors[k][i];
          residual.error = std::max(residual.error, error / units[k]);
          residual.standard_errors =
              std::max(residual.standard_errors, size / std::max(error, rounding * units[k]));
        }
        if (share <= residual.largest) continue;
        residual.largest = share;
        const Difference& d = problem_.what.differences[k];
        residual.component = entry_text(d.name, d.array.shape(), static_cast<Index>(i));
        residual.place = fmt::format("{} = {:.4g}", problem_.steps ? "step" : "t", seen.t);
        residual.value = fmt::format("{:.4g}", seen.differences[k][i]);
      }
    }
  }
  static constexpr double rounding = 1e-12;

  [[nodiscard]] std::vector<std::vector<double>> values() const {
    std::vector<std::vector<double>> all;
    std::size_t output = 0;
    for (const Difference& d : problem_.what.differences) {
      const std::span<const double> numbers = outputs_->output(output);
      all.emplace_back(numbers.begin(), numbers.end());
      output += 1 + d.terms.size();
    }
    return all;
  }
  [[nodiscard]] std::vector<double> largest_terms() const {
    std::vector<double> all;
    std::size_t output = 0;
    for (const Difference& d : problem_.what.differences) {
      double largest = 0;
      for (std::size_t k = 1; k <= d.terms.size(); ++k) {
        for (const double number : outputs_->output(output + k))
          largest = std::max(largest, std::abs(number));
      }
      all.push_back(largest);
      output += 1 + d.terms.size();
    }
    return all;
  }
  // Residuals are linear in the field.
  std::vector<std::vector<double>> standard_errors(
      const Vector<double>& field, const Vector<double>& errors,
      const std::vector<std::vector<double>>& differences) {
    std::vector<std::vector<double>> squares = differences;
    for (std::vector<double>& numbers : squares) std::fill(numbers.begin(), numbers.end(), 0);
    for (Index j = 0; j < field.size(); ++j) {
      if (errors[j] == 0) continue;
      Vector<double> moved = field;
      moved[j] += errors[j];
      write_field(moved);
      outputs_->run();
      const std::vector<std::vector<double>> other = values();
      for (std::size_t k = 0; k < squares.size(); ++k) {
        for (std::size_t i = 0; i < squares[k].size(); ++i) {
          const double change = other[k][i] - differences[k][i];
          squares[k][i] += change * change;
        }
      }
    }
    write_field(field);
    outputs_->run();
    for (std::vector<double>& numbers : squares) {
      for (double& number : numbers) number = std::sqrt(number);
    }
    return squares;
  }

  const SampleLoss& loss_;
  std::shared_ptr<const LossInstance> instance_;
  const LossArrays& arrays_;
  const Problem& problem_;
  double tolerance_;
  std::vector<std::vector<double>> parameters_;
  std::optional<formulas::Evaluator<double>> outputs_, at_;
  std::size_t domain_ = 0;  ///< place of its comparisons among the outputs
  std::optional<LossFlow<double>> field_;
};

// --- other sizes

// Parameters that are given as numbers become formulas of their shapes, so that sizes can change: they are drawn.
SampleLoss with_free_shapes(const SampleLoss& loss) {
  SampleLoss made = loss;
  for (LossParameter& p : made.parameters) {
    if (!p.shape.empty() && p.value.as<std::string>() == nullptr)
      p.value = fmt::format("ones({})", p.shape);
  }
  return made;
}

long value_of(const LossSize& size, const Parameters& given) {
  constexpr double most = 1e9;
  return given.count(size.name, size.value, 1, std::lround(std::min(size.range.high, most)));
}

// Whether what is derived from the loss is made in the same way at other sizes.
bool is_generic(const LossArrays& arrays) {
  std::vector<Array> formulas;
  for (const ExpectedCall& call : arrays.expectations) formulas.push_back(call.formula);
  if (arrays.loss.graph != nullptr) formulas.push_back(arrays.loss);
  for (const Draw& draw : arrays.draws_of(formulas)) {
    if (draw.law != Law::normal) return false;
    if (draw.covariance) formulas.push_back(*draw.covariance);
  }
  return are_generic(formulas);
}

// Each size larger by one, or smaller at the end of its range, then all of them.
std::vector<Parameters> other_sizes(const SampleLoss& loss, const Parameters& given) {
  std::vector<Parameters> all;
  Parameters together(loss.name);
  for (const LossSize& size : loss.sizes) together.set(size.name, value_of(size, given));
  const Parameters these = together;
  for (const LossSize& size : loss.sizes) {
    const long value = value_of(size, given);
    const long other = static_cast<double>(value) + 1 <= size.range.high ? value + 1 : value - 1;
    if (static_cast<double>(other) < std::max(size.range.low, 1.0)) continue;
    Parameters own = these;
    own.set(size.name, other);
    together.set(size.name, other);
    all.push_back(std::move(own));
  }
  if (all.size() > 1) all.push_back(std::move(together));
  return all;
}

/// Residuals of a loss at its sizes and parameters.
class Examiner {
 public:
  Examiner(const SampleLoss& loss, const Parameters& given, const ResidualRequest& request)
      : loss_(loss), given_(given), request_(request), problems_(loss, given, request.seed) {
    if (!request.only_points) free_ = with_free_shapes(loss);
  }

  Residual of(const Subject& subject) {
    Residual residual{.subject = subject.text};
    const Problem problem = problems_.of(subject);
    const LossArrays& arrays = problems_.arrays();
    if (!problem.why_not.empty()) {
      residual.how = problem.why_not;
      return residual;
    }
    if (request_.along || problem.approximate || problem.samples_loss ||
        !problem.sampled_at.empty()) {
      measure(problem, residual);
      return residual;
    }
    DrawnVariables variables = drawn_variables(arrays, request_.seed);
    const AtPoints drawn = points(problem.what, variables);
    if (drawn.points == 0) {
      measure(problem, residual);
    } else if (!drawn.largest) {
      conclude(subject, problem, drawn, residual);
    } else {
      give_parameters(arrays, variables);
      const AtPoints own = arrays.parameters.empty() ? drawn : points(problem.what, variables);
      if (own.points > 0 && !own.largest) {
        residual.outcome = Residual::Outcome::zero_at_points;
        residual.how =
            fmt::format("{} with these parameters; with others not: {} at {}: {}", points_text(own),
                        drawn.largest->component, drawn.largest->place, drawn.largest->value);
      } else if (own.largest && !loss_.fixed.empty() && own.largest->share < rounding_of_fixed) {
        residual.outcome = Residual::Outcome::zero_at_points;
        residual.how = fmt::format("{} with what is drawn, to its rounding", points_text(own));
      } else {
        refute(own.largest ? *own.largest : *drawn.largest, residual);
        residual.how = points_text(own.largest ? own : drawn);
      }
    }
    return residual;
  }

 private:
  // Nothing where constants alone are not defined.
  static AtPoints points(const Vanishing& what, const DrawnVariables& variables) {
    try {
      return at_points(what, variables);
    } catch (const InputError&) {
      return {};
    }
  }

  void measure(const Problem& problem, Residual& residual) {
    Measured(loss_, given_, request_.seed, problems_.arrays(), problem, request_.tolerance)
        .add_to(residual);
  }

  void conclude(const Subject& subject, const Problem& problem, const AtPoints& drawn,
                Residual& residual) {
    const Proof proof = request_.only_points ? Proof{} : proof_of(problem.what);
    const bool proved = proof.found;
    residual.outcome = proved ? Residual::Outcome::proved : Residual::Outcome::zero_at_points;
    bool at_all_sizes = proof.at_all_sizes && is_generic(problems_.arrays());
    residual.how = proved ? "for all values" : points_text(drawn);
    const std::string unproved =
        proof.too_long.empty() ? "" : fmt::format("; not proved: {}", proof.too_long);
    if (loss_.sizes.empty() || request_.only_points) {
      residual.how += unproved;
      return;
    }
    std::vector<std::string> sizes;
    for (const LossSize& size : loss_.sizes)
      sizes.push_back(fmt::format("{} = {}", size.name, value_of(size, given_)));
    int others = 0;
    std::string wrong;
    for (const Parameters& sizes_there : other_sizes(loss_, given_)) {
      try {
        Problems there(free_, sizes_there, request_.seed);
        const Problem other = there.of(subject);
        if (!other.why_not.empty()) continue;
        const AtPoints found = points(other.what, drawn_variables(there.arrays(), request_.seed));
        if (found.points > 0 && found.largest && wrong.empty()) {
          wrong = fmt::format("; with other sizes not: {} at {}: {}", found.largest->component,
                              found.largest->place, found.largest->value);
        } else if (found.points > 0 && !found.largest) {
          if (proved && !at_all_sizes) {
            const Proof again = proof_of(other.what);
            if (!again.found) continue;
            // Sizes that are equal here may differ there.
            at_all_sizes = again.at_all_sizes && is_generic(there.arrays());
          }
          ++others;
        }
      } catch (const InputError&) {
        continue;  // shapes do not match at these sizes
      }
    }
    if (proved && at_all_sizes && wrong.empty()) {
      residual.how += " and sizes";
      return;
    }
    residual.how += fmt::format(" at sizes {}", fmt::join(sizes, ", "));
    if (others > 0) residual.how += fmt::format(" and {} other{}", others, others > 1 ? "s" : "");
    residual.how += wrong + unproved;
  }

  const SampleLoss& loss_;
  const Parameters& given_;
  const ResidualRequest& request_;
  Problems problems_;
  SampleLoss free_;
};

}  // namespace
}  // namespace residual_cpp

std::string to_text(const Residual& residual) {
  const std::string place = residual.place.empty() ? "" : " at " + residual.place;
  switch (residual.outcome) {
    case Residual::Outcome::proved:
      return fmt::format("{}: proved {}", residual.subject, residual.how);
    case Residual::Outcome::zero_at_points:
      return fmt::format("{}: zero {}", residual.subject, residual.how);
    case Residual::Outcome::refuted:
      return fmt::format("{}: refuted: {}{}: {}, should be 0", residual.subject, residual.component,
                         place, residual.value);
    case Residual::Outcome::measured:
      break;
    case Residual::Outcome::not_examined:
      return fmt::format("{}: not examined: {}", residual.subject, residual.how);
  }
  std::string text = fmt::format("{}: measured {}: at most {:.3g} of the largest {}",
                                 residual.subject, residual.how, residual.largest,
                                 residual.subject.starts_with("loss.") ? "expected loss" : "field");
  if (!residual.component.empty()) text += fmt::format(", {}{}", residual.component, place);
  if (residual.error > 0) {
    text += fmt::format(
        "; standard error by the samples up to {:.2g}, the residual within {:.2g} "
        "of these",
        residual.error, residual.standard_errors);
  }
  return text;
}

std::vector<std::string> residual_subjects(const SampleLoss& loss) {
  std::vector<std::string> texts;
  for (const residual_cpp::Subject& subject : residual_cpp::subjects_of(loss))
    texts.push_back(subject.text);
  return texts;
}

std::vector<Residual> residuals(const SampleLoss& loss, const Parameters& given,
                                const ResidualRequest& request) {
  using namespace residual_cpp;
  std::vector<Residual> found;
  std::optional<Examiner> examiner;
  for (const Subject& subject : subjects_of(loss)) {
    const bool wanted = request.subjects.empty() ||
                        std::find(request.subjects.begin(), request.subjects.end(), subject.text) !=
                            request.subjects.end();
    if (!wanted) continue;
    if (!examiner) examiner.emplace(loss, given, request);
    found.push_back(examiner->of(subject));
  }
  return found;
}

}  // namespace popgrad
