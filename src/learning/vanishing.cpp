#include "learning/vanishing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <type_traits>

#include "expectations/normal_form.hpp"
#include "formulas/evaluator.hpp"
#include "formulas/operation.hpp"
#include "formulas/rebuild.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/scalars/random.hpp"
#include "popgrad/scalars/real.hpp"
#include "scalars/number_text.hpp"

namespace popgrad::learning {
namespace vanishing_cpp {
namespace {

using formulas::variables_of;

using formulas::OperationKind;
using formulas::Shape;

constexpr std::size_t most_points = 8;
constexpr std::uint64_t most_attempts = 300;
// Entries of all arrays of the formulas, beyond which points take long.
constexpr double most_entries = 3e5;
// On the way to a normal form: some ten seconds.
constexpr double most_factors = 5e5;
constexpr unsigned working_digits = 60;
// Of the largest term, in which working_digits leave room for terms that cancel within it.
constexpr double zero_in_digits = 1e-40;

std::vector<Array> arrays_of(const Vanishing& what) {
  std::vector<Array> all;
  for (const Difference& d : what.differences) all.push_back(d.array);
  all.insert(all.end(), what.domain.begin(), what.domain.end());
  return all;
}

std::vector<Array> terms_of(const Vanishing& what) {
  std::vector<Array> all;
  for (const Difference& d : what.differences)
    all.insert(all.end(), d.terms.begin(), d.terms.end());
  return all;
}

double entries_of(const std::vector<Array>& outputs) {
  double total = 0;
  const std::vector<bool> needed = formulas::needed_for(outputs);
  for (std::size_t k = 0; k < needed.size(); ++k) {
    if (needed[k])
      total += static_cast<double>(formulas::entries(outputs.front().graph->node(k).shape));
  }
  return total;
}

std::optional<Rational> root_of(const Rational& x) {
  using boost::multiprecision::mpz_int;
  if (x < 0) return std::nullopt;
  const mpz_int p = sqrt(mpz_int(numerator(x))), q = sqrt(mpz_int(denominator(x)));
  const Rational root = Rational(p) / Rational(q);
  return root * root == x ? std::optional(root) : std::nullopt;
}

// Numbers with named sizes in them.
bool has_sizes(const Array& a) {
  const std::vector<bool> needed = formulas::needed_for({a});
  for (std::size_t k = 0; k < needed.size(); ++k) {
    const formulas::GraphNode& node = a.graph->node(k);
    if (needed[k] && node.operation->name == "constant" && !node.text.empty()) return true;
  }
  return false;
}
// The operation does the same at all sizes, if equal extents are equal sizes.
bool is_generic(const Array& a) {
  const formulas::GraphNode& node = a.node();
  const std::string_view name = node.operation->name;
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto is_square = [](const Shape& shape, std::size_t i, std::size_t k) {
    return shape[i].extent == shape[k].extent;
  };
  if (name == "eye") return is_square(node.shape, 0, 1);
  if (name == "diagonal" || name == "diagonal_matrix") {
    return is_square(name == "diagonal" ? a.input(0).shape() : node.shape,
                     static_cast<std::size_t>(node.numbers[0]),
                     static_cast<std::size_t>(node.numbers[1]));
  }
  if (name == "reshape") {
    const auto long_axes = [](const Shape& shape) {
      std::vector<Index> extents;
      for (const formulas::Dimension& d : shape) {
        if (d.extent != 1) extents.push_back(d.extent);
      }
      return extents;
    };
    return long_axes(node.shape) == long_axes(a.input(0).shape());
  }
  if (name == "power")
    return formulas::constant_value(a.input(1)) != nullptr && !has_sizes(a.input(1));
  if (is_one_of({"sqrt", "norm"})) return !has_sizes(a.input(0));
  return is_one_of({"variable", "constant", "pi",   "add",     "subtract",    "multiply",  "divide",
                    "negative", "einsum",   "sum",  "mean",    "transpose",   "broadcast", "exp",
                    "log",      "erf",      "tanh", "sigmoid", "softplus",    "sin",       "cos",
                    "relu",     "gelu",     "abs",  "softmax", "log_softmax", "logsumexp"});
}

bool is_empty(const expectations::Polynomial& form) {
  return std::all_of(form.terms.begin(), form.terms.end(),
                     [](const expectations::Term& term) { return term.coefficient.value() == 0; });
}

/// Formulas with rational values: square roots of variables are variables, and so are functions without such values.
class RationalForm {
 public:
  explicit RationalForm(const std::vector<Array>& formulas) {
    find_roots(formulas);
    const std::vector<Array> without_roots =
        formulas::rebuilt(formulas, [this](const Array& old, const std::vector<Array>& inputs) {
          return without_root(old, inputs);
        });
    formulas_ = formulas::rebuilt(without_roots,
                                  [this](const Array& old, const std::vector<Array>& inputs) {
                                    return without_function(old, inputs);
                                  });
  }
  [[nodiscard]] const std::vector<Array>& formulas() const { return formulas_; }
  /// By the place of a variable its root.
  [[nodiscard]] const std::map<std::size_t, Array>& roots() const { return roots_; }
  /// In the place of functions.
  [[nodiscard]] const std::map<std::size_t, Array>& free() const { return free_; }

 private:
  // Of square roots and powers by halves.
  static bool is_root(const Array& a) {
    if (a.is("sqrt")) return true;
    const Rational* exponent = a.is("power") ? formulas::constant_value(a.input(1)) : nullptr;
    return exponent != nullptr && denominator(*exponent) == 2;
  }
  // Products and quotients of entries of variables.
  static bool has_root(const Array& a, std::set<std::size_t>& variables) {
    if (a.is("variable")) {
      variables.insert(a.place);
      return true;
    }
    if (const Rational* value = formulas::constant_value(a)) return root_of(*value).has_value();
    if (a.node().operation->kind == OperationKind::view) return has_root(a.input(0), variables);
    return (a.is("multiply") || a.is("divide")) && has_root(a.input(0), variables) &&
           has_root(a.input(1), variables);
  }
  static bool has_root(const Array& a) {
    std::set<std::size_t> variables;
    return has_root(a, variables);
  }
  void find_roots(const std::vector<Array>& formulas) {
    const std::vector<bool> needed = formulas::needed_for(formulas);
    for (std::size_t k = 0; k < needed.size(); ++k) {
      const Array array{formulas.front().graph, k};
      std::set<std::size_t> variables;
      if (!needed[k] || !is_root(array) || !has_root(array.input(0), variables)) continue;
      for (const std::size_t place : variables) {
        const Array variable{array.graph, place};
        roots_.try_emplace(
            place, array.graph->variable("root of " + variable.node().text, variable.shape()));
      }
    }
  }
  [[nodiscard]] Array root(const Array& a) const {
    if (a.is("variable")) return roots_.at(a.place);
    if (const Rational* value = formulas::constant_value(a)) return a.number(*root_of(*value));
    std::vector<Array> inputs;
    for (std::size_t i = 0; i < a.node().inputs.size(); ++i) inputs.push_back(root(a.input(i)));
    return formulas::same_operation(a, inputs);
  }

  [[nodiscard]] std::optional<Array> without_root(const Array& old,
                                                  const std::vector<Array>& inputs) const {
    if (const auto known = roots_.find(old.place); known != roots_.end())
      return square(known->second);
    if (old.is("norm")) {
      const std::vector<Index>& axes = old.node().numbers;
      return formulas::apply("sqrt", {reduce("sum", square(inputs[0]), axes[0], axes[1])});
    }
    if (is_root(old) && has_root(old.input(0))) {
      const Array made = root(old.input(0));
      if (old.is("sqrt")) return made;
      return power(made, old.number(2 * *formulas::constant_value(old.input(1))));
    }
    if (old.is("power") && inputs[0].is("sqrt")) {
      const Rational* exponent = formulas::constant_value(inputs[1]);
      if (exponent != nullptr && denominator(*exponent) == 1 && numerator(*exponent) % 2 == 0)
        return power(inputs[0].input(0), old.number(*exponent / 2));
    }
    if (old.is("multiply") && inputs[0].is("sqrt") && inputs[0] == inputs[1])
      return inputs[0].input(0);
    return std::nullopt;
  }

  std::optional<Array> without_function(const Array& old, const std::vector<Array>& inputs) {
    bool has_values = old.node().operation->exact;
    if (old.is("power")) {
      const Rational* exponent = formulas::constant_value(inputs[1]);
      has_values = exponent != nullptr ? denominator(*exponent) == 1
                                       : inputs[1].node().type != formulas::Type::real;
    }
    if (has_values) return std::nullopt;
    if (old.is("exp") && vanishes(inputs[0])) return broadcast(old.number(1), old.shape());
    const Array made = inputs.empty() ? old : formulas::same_operation(old, inputs);
    const auto known = free_.find(made.place);
    if (known != free_.end()) return known->second;
    const std::string name = fmt::format("free {}", free_.size());
    return free_.emplace(made.place, old.graph->variable(name, old.shape())).first->second;
  }
  static bool vanishes(const Array& a) {
    try {
      return is_empty(expectations::NormalForm(variables_of({a}), false, most_factors).of(a));
    } catch (const expectations::NotHandled&) {
      return false;
    }
  }

  std::vector<Array> formulas_;
  std::map<std::size_t, Array> roots_, free_;
};

/// The same formulas as quotients of formulas without divisions by variables, where these are of operations entry by
/// entry.
class Quotients {
 public:
  /// Of divisors that stretch to the shape of `over`.
  struct Quotient {
    Array over, under;
  };

  explicit Quotients(const std::vector<Array>& formulas) {
    const std::vector<bool> needed = formulas::needed_for(formulas);
    for (std::size_t k = 0; k < needed.size(); ++k) {
      if (needed[k]) known_.emplace(k, made({formulas.front().graph, k}));
    }
  }
  [[nodiscard]] const std::optional<Quotient>& of(const Array& array) const {
    return known_.at(array.place);
  }

 private:
  static bool is_one(const Array& a) {
    const Rational* value = formulas::constant_value(a);
    return value != nullptr && *value == 1;
  }

  [[nodiscard]] std::optional<Quotient> made(const Array& a) const {
    std::vector<Quotient> x;
    bool whole = true;
    for (std::size_t i = 0; i < a.node().inputs.size(); ++i) {
      const std::optional<Quotient>& input = of(a.input(i));
      if (!input) return std::nullopt;
      x.push_back(*input);
      whole = whole && is_one(input->under);
    }
    const Array one = a.number(1);
    if (a.is("divide")) {
      const Rational* divisor = formulas::constant_value(a.input(1));
      if (whole && divisor != nullptr && *divisor != 0) return Quotient{a, one};
      return quotient(a, x[0].over * x[1].under, x[0].under * x[1].over);
    }
    if (a.is("power")) {
      const Rational* exponent = formulas::constant_value(a.input(1));
      if (exponent == nullptr || denominator(*exponent) != 1)
        return whole ? std::optional(Quotient{a, one}) : std::nullopt;
      if (*exponent < 0)
        return quotient(a, power(x[0].under, a.number(-*exponent)),
                        power(x[0].over, a.number(-*exponent)));
      if (!whole) return quotient(a, power(x[0].over, a.input(1)), power(x[0].under, a.input(1)));
    }
    if (whole) return Quotient{a, one};
    if (a.is("negative")) return quotient(a, -x[0].over, x[0].under);
    if (a.is("multiply")) return quotient(a, x[0].over * x[1].over, x[0].under * x[1].under);
    if (a.is("add") || a.is("subtract")) {
      const bool same = x[0].under == x[1].under;
      const Array left = same ? x[0].over : x[0].over * x[1].under,
                  right = same ? x[1].over : x[1].over * x[0].under;
      return quotient(a, a.is("add") ? left + right : left - right,
                      same ? x[0].under : x[0].under * x[1].under);
    }
    return of_other(a, x);
  }
  static Quotient quotient(const Array& a, const Array& over, const Array& under) {
    return {broadcast(over, a.shape()), under};
  }
  // Of operations that are linear in what has a divisor.
  [[nodiscard]] static std::optional<Quotient> of_other(const Array& a,
                                                        const std::vector<Quotient>& x) {
    const OperationKind kind = a.node().operation->kind;
    std::vector<Array> over;
    for (const Quotient& each : x) over.push_back(each.over);
    const bool is_number =
        std::all_of(x.begin(), x.end(), [](const Quotient& q) { return q.under.rank() == 0; });
    if (is_number && (kind == OperationKind::view || kind == OperationKind::embedding ||
                      a.is("sum") || a.is("mean") || a.is("cumsum") || a.is("einsum"))) {
      Array under = x[0].under;
      for (std::size_t i = 1; i < x.size(); ++i) under = under * x[i].under;
      return Quotient{formulas::same_operation(a, over), under};
    }
    if (kind != OperationKind::view && kind != OperationKind::embedding) return std::nullopt;
    const Array under = broadcast(x[0].under, x[0].over.shape());
    if (kind == OperationKind::view)
      return Quotient{formulas::same_operation(a, over), formulas::same_operation(a, {under})};
    return Quotient{formulas::same_operation(a, over),
                    1 + formulas::same_operation(a, {under - 1})};
  }

  std::map<std::size_t, std::optional<Quotient>> known_;
};

using Point = std::map<std::string, std::vector<Rational>, std::less<>>;

/// Points for the variables of formulas and of their rational form.
class Points {
 public:
  Points(const std::vector<Array>& all, const RationalForm& form, const DrawnVariables& variables)
      : variables_(variables), all_(variables_of(all)) {
    for (const auto& [place, root] : form.roots())
      roots_.emplace(all.front().graph->node(place).text, root.node().text);
    for (const auto& [place, free] : form.free()) free_.push_back(free);
  }

  [[nodiscard]] bool are_rational() const {
    return std::all_of(roots_.begin(), roots_.end(), [&](const auto& entry) {
      const auto given = variables_.given.find(entry.first);
      return given == variables_.given.end() ||
             std::all_of(given->second.begin(), given->second.end(),
                         [](const Rational& x) { return root_of(x).has_value(); });
    });
  }

  [[nodiscard]] Point at(std::uint64_t attempt) const {
    Point point;
    Stream stream(variables_.seed, 0, attempt);
    for (const Array& variable : all_) {
      const std::string& name = variable.node().text;
      const auto count = static_cast<std::size_t>(formulas::entries(variable.shape()));
      const auto given = variables_.given.find(name);
      const auto root = roots_.find(name);
      std::vector<Rational>& numbers = point[name];
      if (given != variables_.given.end()) numbers = given->second;
      const auto range = variables_.ranges.find(name);
      while (numbers.size() < count) {
        numbers.push_back(drawn(range == variables_.ranges.end() ? Range{} : range->second,
                                root != roots_.end(), attempt, stream));
      }
      if (root == roots_.end()) continue;
      std::vector<Rational>& of_roots = point[root->second];
      for (const Rational& number : numbers) of_roots.push_back(root_of(number).value_or(0));
    }
    for (const Array& free : free_) {
      std::vector<Rational>& numbers = point[free.node().text];
      while (std::ssize(numbers) < formulas::entries(free.shape()))
        numbers.push_back(small(attempt, stream));
    }
    return point;
  }

  /// Variables that a formula reads, as text.
  [[nodiscard]] std::string text(const Point& point, const Array& formula) const {
    constexpr std::size_t most_numbers = 16;
    std::string text;
    std::size_t shown = 0;
    for (const Array& variable : variables_of({formula})) {
      const std::string& name = variable.node().text;
      if (variables_.given.contains(name)) continue;
      const std::vector<Rational>& numbers = point.find(name)->second;
      if (!text.empty()) text += ", ";
      if ((shown += numbers.size()) > most_numbers) return text + "...";
      std::size_t next = 0;
      text += name + " = " + nested(numbers, variable.shape(), 0, next);
    }
    return text;
  }

 private:
  static Rational small(std::uint64_t attempt, Stream& stream) {
    constexpr std::uint64_t simple_attempts = 12;
    const bool is_simple = attempt < simple_attempts;
    const long p = 1 + static_cast<long>(stream.index(is_simple ? 3 : 9)),
               q = 1 + static_cast<long>(stream.index(is_simple ? 3 : 7));
    return Rational(p) / Rational(q);
  }
  // Within the range: of any sign, positive or within (0, 1) in turn; squares.
  static Rational drawn(const Range& range, bool is_square, std::uint64_t attempt, Stream& stream) {
    constexpr int tries = 60;
    for (int k = 0; k < tries; ++k) {
      Rational x = small(attempt, stream);
      if (attempt % 3 == 2 || k % 2 == 1) x = x / (x + 1);
      if (is_square) {
        x = x * x;
      } else if (attempt % 3 == 0 && stream.index(2) == 0) {
        x = -x;
      }
      if (allows(range, to_double(x))) return x;
    }
    // A range apart from small numbers.
    const Rational low(std::max(range.low, -1e9)), high(std::min(range.high, 1e9));
    const Rational span = high - low;
    return low + (span < 2 ? span : Rational(2)) / (1 + small(attempt, stream));
  }
  static std::string nested(const std::vector<Rational>& numbers, const Shape& shape,
                            std::size_t axis, std::size_t& next) {
    if (axis == shape.size()) return to_text(numbers[next++]);
    std::vector<std::string> parts;
    for (Index i = 0; i < shape[axis].extent; ++i)
      parts.push_back(nested(numbers, shape, axis + 1, next));
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }

  const DrawnVariables& variables_;
  std::vector<Array> all_, free_;
  std::map<std::string, std::string, std::less<>> roots_;
};

template <class T>
T number_of(const Rational& x) {
  if constexpr (std::is_same_v<T, Rational>) {
    return x;
  } else if constexpr (std::is_same_v<T, Real>) {
    return Real(numerator(x)) / Real(denominator(x));
  } else {
    return to_double(x);
  }
}

/// False where an output is not defined.
template <class T>
bool runs_at(formulas::Evaluator<T>& evaluator, const Point& point) {
  for (const auto& [name, numbers] : point) {
    const std::span<T> to = evaluator.variable(name);
    if (!to.empty()) std::transform(numbers.begin(), numbers.end(), to.begin(), number_of<T>);
  }
  try {
    evaluator.run();
    evaluator.require_defined();
  } catch (const InputError&) {
    return false;
  }
  return true;
}

std::string value_text(const Rational& x) {
  constexpr std::size_t longest = 24;
  const std::string text = to_text(x);
  return text.size() <= longest ? text : fmt::format("{:.12g}", to_double(x));
}
std::string value_text(const Real& x) { return fmt::format("{:.12g}", to_double(x)); }

/// One scalar's way: differences, domain and terms of them.
template <class T>
class Evaluation {
 public:
  Evaluation(const Vanishing& what, const std::vector<Array>& formulas, const Points& points)
      : what_(what), points_(points), domains_(what.domain.size()), evaluator_(formulas) {
    if constexpr (std::is_same_v<T, Real>) terms_.emplace(terms_of(what));
  }

  AtPoints result() {
    AtPoints found{.points = 0, .exact = std::is_same_v<T, Rational>, .largest = {}};
    for (std::uint64_t attempt = 0; attempt < most_attempts && found.points < most_points;
         ++attempt) {
      const Point point = points_.at(attempt);
      if (!runs_at(evaluator_, point) || !is_inside()) continue;
      ++found.points;
      if ((found.largest = not_zero_at(point))) break;
    }
    return found;
  }

 private:
  [[nodiscard]] bool is_inside() const {
    for (std::size_t k = 0; k < domains_; ++k) {
      for (const T& inside : evaluator_.output(what_.differences.size() + k)) {
        if (inside == 0) return false;
      }
    }
    return true;
  }
  std::optional<NotZero> not_zero_at(const Point& point) {
    const auto size = [](const T& x) { return std::abs(to_double(x)); };
    std::optional<NotZero> largest;
    double largest_size = 0;
    std::size_t term = 0;
    if constexpr (std::is_same_v<T, Real>) static_cast<void>(runs_at(*terms_, point));
    for (std::size_t k = 0; k < what_.differences.size(); ++k) {
      const Difference& d = what_.differences[k];
      double unit = 0;
      if constexpr (std::is_same_v<T, Real>) unit = largest_of(d, term, *terms_);
      const std::span<const T> numbers = evaluator_.output(k);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const double own = size(numbers[i]);
        const bool is_zero =
            std::is_same_v<T, Rational> ? numbers[i] == 0 : own <= zero_in_digits * unit;
        if (is_zero || own < largest_size) continue;
        largest_size = own;
        largest = {.component = entry_text(d.name, d.array.shape(), static_cast<Index>(i)),
                   .place = points_.text(point, d.array),
                   .value = value_text(numbers[i]),
                   .share = 0};
        place_ = k;
      }
      term += d.terms.size();
    }
    if (largest) largest->share = share(point, largest_size);
    return largest;
  }
  template <class U>
  static double largest_of(const Difference& d, std::size_t term,
                           const formulas::Evaluator<U>& terms) {
    double largest = 0;
    for (std::size_t i = 0; i < d.terms.size(); ++i) {
      for (const U& number : terms.output(term + i))
        largest = std::max(largest, std::abs(to_double(number)));
    }
    return largest;
  }
  [[nodiscard]] double share(const Point& point, double value) const {
    const Difference& d = what_.differences[place_];
    formulas::Evaluator<double> terms(d.terms);
    if (!runs_at(terms, point)) return 1;
    const double unit = largest_of(d, 0, terms);
    return unit > 0 ? value / unit : 1;
  }

  const Vanishing& what_;
  const Points& points_;
  std::size_t domains_, place_ = 0;
  formulas::Evaluator<T> evaluator_;
  std::optional<formulas::Evaluator<Real>> terms_;
};

}  // namespace
}  // namespace vanishing_cpp

std::string entry_text(const std::string& name, const formulas::Shape& shape, Index entry) {
  std::vector<Index> places(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    places[axis] = entry % shape[axis].extent;
    entry /= shape[axis].extent;
  }
  return places.empty() ? name : fmt::format("{}[{}]", name, fmt::join(places, ", "));
}

bool are_generic(const std::vector<Array>& formulas) {
  using namespace vanishing_cpp;
  if (formulas.empty()) return true;
  const std::vector<bool> needed = formulas::needed_for(formulas);
  std::map<Index, std::string> sizes;
  for (std::size_t k = 0; k < needed.size(); ++k) {
    if (!needed[k]) continue;
    const Array array{formulas.front().graph, k};
    if (!is_generic(array)) return false;
    for (const formulas::Dimension& d : array.shape()) {
      const bool is_named = !d.size.empty();
      if (d.extent == 1 && !is_named) continue;
      const auto [known, added] = sizes.emplace(d.extent, d.size);
      if (d.extent < 2 || known->second != d.size) return false;
    }
  }
  return true;
}

AtPoints at_points(const Vanishing& what, const DrawnVariables& variables) {
  using namespace vanishing_cpp;
  const std::vector<Array> formulas = arrays_of(what);
  if (entries_of(formulas) > most_entries) return {};
  const RationalForm form(formulas);
  std::vector<Array> all = formulas;
  const std::vector<Array> terms = terms_of(what);
  all.insert(all.end(), terms.begin(), terms.end());
  const Points points(all, form, variables);
  if (points.are_rational()) {
    const AtPoints exact = Evaluation<Rational>(what, form.formulas(), points).result();
    // Free numbers in the place of functions may be related.
    if (exact.points > 0 && (!exact.largest || form.free().empty())) return exact;
  }
  const DigitsScope digits(working_digits);
  return Evaluation<Real>(what, formulas, points).result();
}

Proof proof_of(const Vanishing& what) {
  using namespace vanishing_cpp;
  std::vector<Array> differences;
  for (const Difference& d : what.differences) differences.push_back(d.array);
  try {
    const RationalForm form(differences);
    const Quotients quotients(form.formulas());
    std::vector<Array> over;
    for (const Array& formula : form.formulas()) {
      const auto& quotient = quotients.of(formula);
      if (!quotient) return {};
      over.push_back(quotient->over);
    }
    expectations::NormalForm normal_form(variables_of(over), false, most_factors);
    Proof proof{.found = true, .at_all_sizes = are_generic(differences), .too_long = {}};
    for (const Array& formula : over) {
      const expectations::Polynomial& normal = normal_form.of(formula);
      proof.found = proof.found && is_empty(normal);
      // What is 0 with sizes as symbols has no terms.
      proof.at_all_sizes = proof.at_all_sizes && normal.terms.empty();
    }
    return proof;
  } catch (const expectations::TooLong& reason) {
    return {.too_long = reason.what()};
  } catch (const expectations::NotHandled&) {
    return {};
  } catch (const InputError&) {  // of arrays beyond memory
    return {};
  }
}

}  // namespace popgrad::learning
