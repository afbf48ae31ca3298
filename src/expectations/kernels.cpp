#include "expectations/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace popgrad::expectations {
namespace kernels_cpp {
namespace {

Indexed root(const Indexed& x) { return entrywise("sqrt", {x}); }
Indexed exponential(const Indexed& x) { return entrywise("exp", {x}); }
Indexed error_function(const Indexed& x) { return entrywise("erf", {x}); }
Indexed angle(const Indexed& y, const Indexed& x) { return entrywise("atan2", {y, x}); }
Indexed pi(const Indexed& like) { return {like.array.graph->pi(), {}}; }
Indexed zero(const Indexed& like) { return number(like, 0); }
Indexed root_or_zero(const Indexed& x) {
  return where_positive(x, root(positive_or_one(x)), zero(x));
}
Indexed two_over_pi(const Indexed& x) { return Rational(2) * x / pi(x); }

struct Projection {
  Function function = Function::erf;
  Entry mean{};
  Indexed variance{};
  Indexed own_variance{};  // without weights: delta(w) step(w) is half of delta(w)
};

bool is_trigonometric(Function f) { return f == Function::sine || f == Function::cosine; }
bool is_odd(Function f) {
  return f == Function::erf || f == Function::sign || f == Function::sine || f == Function::tanh;
}
bool is_even(Function f) { return f == Function::abs || f == Function::cosine; }
// Without kernels in closed form.
bool is_integrated(Function f) {
  return f == Function::tanh || f == Function::sigmoid || f == Function::softplus;
}
bool is_smooth(Function f) { return f == Function::erf || is_trigonometric(f) || is_integrated(f); }

// --- one function

Entry centred(Function function, const Indexed& q, const Indexed& own) {
  switch (function) {
    case Function::step:
      return where_positive(own, number(q, Rational(1, 2)), zero(q));
    case Function::relu:
      return root_or_zero(q) / root(Rational(2) * pi(q));
    case Function::abs:
      return Rational(2) * root_or_zero(q) / root(Rational(2) * pi(q));
    case Function::cosine:
      return exponential(Rational(-1, 2) * q);
    default:
      return std::nullopt;
  }
}

Indexed shifted(Function function, const Indexed& m, const Indexed& q) {
  const Rational half(1, 2);
  if (function == Function::erf) return error_function(m / root(Rational(1) + Rational(2) * q));
  if (is_trigonometric(function)) return exponential(-half * q) * entrywise(name_of(function), {m});
  const Indexed safe = positive_or_one(q), twice = Rational(2) * safe;
  const Indexed sign = error_function(m / root(twice));
  const Indexed spread = root(twice / pi(q)) * exponential(-(m * m / twice));
  switch (function) {
    case Function::sign:
      return where_positive(q, sign, entrywise("sign", {m}));
    case Function::step:
      return where_positive(q, half * (Rational(1) + sign), entrywise("greater", {m, zero(m)}));
    case Function::relu:
      return where_positive(q, half * (m + m * sign + spread), entrywise("relu", {m}));
    default:
      return where_positive(q, m * sign + spread, entrywise("abs", {m}));
  }
}

Entry of_one(const Projection& a) {
  return a.mean ? Entry(shifted(a.function, *a.mean, a.variance))
                : centred(a.function, a.variance, a.own_variance);
}

// --- two functions

// sin, cos of a and b by those of a - b and a + b.
Entry of_waves(const Projection& a, const Projection& b, const Entry& covariance) {
  const Indexed total = a.variance + b.variance;
  const Entry twice = covariance ? Entry(Rational(2) * *covariance) : std::nullopt;
  const auto wave = [&](const Entry& variance, const Entry& mean, bool odd) -> Entry {
    const Indexed size = exponential(Rational(-1, 2) * *variance);
    if (!mean) return odd ? Entry() : Entry(size);
    return size * entrywise(odd ? "sin" : "cos", {*mean});
  };
  const bool sine_a = a.function == Function::sine, sine_b = b.function == Function::sine;
  const bool odd = sine_a != sine_b;
  const Entry plus = wave(sum(total, twice), sum(a.mean, b.mean), odd);
  const Entry minus = wave(difference(total, twice), difference(a.mean, b.mean), odd);
  const Entry both = !sine_a && !sine_b ? sum(minus, plus)
                     : sine_a && sine_b ? difference(minus, plus)
                     : sine_a           ? sum(plus, minus)
                                        : difference(plus, minus);
  return both ? Entry(Rational(1, 2) * *both) : std::nullopt;
}

/// Even and odd functions that the others are sums of.
enum class Part { none, one, absolute, cosine, identity, sign, erf, sine };

struct Halves {
  Part even = Part::none, odd = Part::none;
  Rational scale = 1;
};

Halves halves(Function function) {
  switch (function) {
    case Function::erf:
      return {.odd = Part::erf};
    case Function::sign:
      return {.odd = Part::sign};
    case Function::sine:
      return {.odd = Part::sine};
    case Function::abs:
      return {.even = Part::absolute};
    case Function::cosine:
      return {.even = Part::cosine};
    case Function::step:
      return {.even = Part::one, .odd = Part::sign, .scale = {1, 2}};
    default:
      return {.even = Part::absolute, .odd = Part::identity, .scale = {1, 2}};
  }
}

[[noreturn]] void refuse(const std::string& what) {
  throw NotHandled(what + " has no closed form");
}

struct Pair {
  Indexed q, s, c;

  [[nodiscard]] Indexed determinant() const { return q * s - c * c; }
  [[nodiscard]] Indexed where_apart(const Indexed& value, const Indexed& parallel) const {
    return entrywise("where", {is_apart(determinant(), q, s), value, parallel});
  }
  [[nodiscard]] Indexed width() const { return root(where_apart(determinant(), number(c, 1))); }
};

Entry of_even(Part a, Part b, const Pair& pair) {
  if (a == Part::none || b == Part::none) return std::nullopt;
  if (a > b) return of_even(b, a, {pair.s, pair.q, pair.c});
  if (b == Part::one) return number(pair.c, 1);
  if (a == Part::one)
    return centred(b == Part::absolute ? Function::abs : Function::cosine, pair.s, pair.s);
  if (b == Part::absolute) {
    const Indexed width = pair.width();
    return pair.where_apart(two_over_pi(width + pair.c * angle(pair.c, width)),
                            entrywise("abs", {pair.c}));
  }
  refuse("abs cos of two projections");
}

Entry of_odd(Part a, Part b, const Pair& pair) {
  if (a == Part::none || b == Part::none) return std::nullopt;
  if (a > b) return of_odd(b, a, {pair.s, pair.q, pair.c});
  const auto& [q, s, c] = pair;
  if (a == Part::identity) {  // the mean slope of the other
    if (b == Part::identity) return c;
    if (b == Part::sine) return c * exponential(Rational(-1, 2) * s);
    if (b == Part::erf) return Rational(2) * c / root(pi(c) * (Rational(1) + Rational(2) * s));
    return c * root(two_over_pi(Rational(1) / positive_or_one(s)));
  }
  if (b == Part::sign)
    return pair.where_apart(two_over_pi(angle(c, pair.width())), entrywise("sign", {c}));
  const Indexed d = pair.determinant();
  if (b == Part::erf && a == Part::sign) {
    const Indexed across = root(positive_or_one(q) + Rational(2) * d);
    return where_positive(q, two_over_pi(angle(root(number(c, 2)) * c, across)), zero(c));
  }
  if (b == Part::erf) {
    return two_over_pi(
        angle(Rational(2) * c, root(Rational(1) + Rational(2) * (q + s) + Rational(4) * d)));
  }
  refuse("sin with erf or sign of two projections");
}

Entry of_two(const Projection& a, const Projection& b, const Entry& covariance) {
  if (is_trigonometric(a.function) && is_trigonometric(b.function))
    return of_waves(a, b, covariance);
  if (a.mean || b.mean) {
    refuse(fmt::format("{} {} of two projections with means", name_of(a.function),
                       name_of(b.function)));
  }
  const Pair pair{a.variance, b.variance, covariance ? *covariance : zero(a.variance)};
  if (a.function == Function::relu && b.function == Function::relu) {
    const Indexed width = pair.width();
    const Indexed twice = (width + pair.c * angle(width, -pair.c)) / pi(width);
    return Rational(1, 2) * pair.where_apart(twice, entrywise("relu", {pair.c}));
  }
  const Halves x = halves(a.function), y = halves(b.function);
  Entry total = sum(of_even(x.even, y.even, pair), of_odd(x.odd, y.odd, pair));
  if (!total) return total;
  total = x.scale * y.scale * *total;
  for (const Projection* one : {&a, &b}) {
    if (one->function == Function::relu || one->function == Function::step)
      total = where_positive(one->own_variance, *total, zero(*total));
  }
  return total;
}

// --- quadrature

// By the number of directions.
Rational spacing(std::size_t directions, Nodes nodes) {
  static const std::array<Rational, 3> usual{Rational(3, 20), Rational(1, 4), Rational(1, 2)};
  static const std::array<Rational, 3> fewer{Rational(9, 40), Rational(3, 8), Rational(3, 4)};
  return (nodes == Nodes::usual ? usual : fewer).at(directions - 1);
}

// Nodes of one standard normal number, and their weights.
struct NodesOfLine {
  Indexed places, weights;
};
NodesOfLine nodes_of_line(const Rational& step, Label label, formulas::Graph& graph) {
  const Index half = Rational(9 / step).convert_to<Index>();
  const Indexed places{
      (graph.arange({2 * half + 1, {}}) - graph.constant(half)) * graph.constant(step), {label}};
  return {places,
          step * exponential(Rational(-1, 2) * (places * places)) / root(Rational(2) * pi(places))};
}

// The sum over the last label, with weights.
Indexed summed(const Indexed& values, const Indexed& weights) {
  std::string axes;
  for (std::size_t axis = 0; axis < values.labels.size(); ++axis)
    axes += static_cast<char>('a' + static_cast<int>(axis));
  const std::string kept = axes.substr(0, axes.size() - 1);
  std::vector<Label> labels = values.labels;
  labels.pop_back();
  return {formulas::einsum(axes + "," + axes.back() + "->" + kept, {values.array, weights.array}),
          labels};
}

Indexed over_positive(const Indexed& value, const Indexed& x) {
  return where_positive(x, value / positive_or_one(x), zero(x));
}

// Of functions that depend on each other under the law.
class Group {
 public:
  Group(WeightedLaw& law, std::vector<Factor> functions, Nodes nodes)
      : law_(law), functions_(std::move(functions)), nodes_(nodes) {}

  [[nodiscard]] std::string name() const {
    std::vector<std::string_view> names;
    for (const Factor& f : functions_) names.push_back(name_of(f.function));
    std::sort(names.begin(), names.end());
    std::string text;
    for (const std::string_view name : names) text += (text.empty() ? "" : " ") + std::string(name);
    return text;
  }

  Entry expectation() {
    if (functions_.empty()) return Indexed{law_.weights().front().array.number(1), {}};
    if (all_of(is_smooth)) {
      if (!any_of(is_integrated)) {
        try {
          return closed();
        } catch (const NotHandled&) {  // of two with means, or more
        }
      }
      return vanishes() ? std::nullopt : Entry(integrated());
    }
    if (any_of(is_integrated)) refuse(name() + " of which not all are smooth");
    return closed();
  }
  [[nodiscard]] bool by_quadrature() const { return by_quadrature_; }

 private:
  [[nodiscard]] bool all_of(bool (*is)(Function)) const {
    return std::all_of(functions_.begin(), functions_.end(),
                       [&](const Factor& f) { return is(f.function); });
  }
  [[nodiscard]] bool any_of(bool (*is)(Function)) const {
    return std::any_of(functions_.begin(), functions_.end(),
                       [&](const Factor& f) { return is(f.function); });
  }
  // An odd number of odd functions, none with a mean, and otherwise even ones.
  [[nodiscard]] bool vanishes() {
    const auto odd = std::count_if(functions_.begin(), functions_.end(),
                                   [](const Factor& f) { return is_odd(f.function); });
    return odd % 2 == 1 && std::all_of(functions_.begin(), functions_.end(), [&](const Factor& f) {
             return !law_.mean(f) && (is_odd(f.function) || is_even(f.function));
           });
  }

  // Of independent standard u_j the projections are m_i + sum_j l_ij u_j, j <= i.
  Indexed integrated() {
    constexpr std::size_t most_directions = 3;
    std::vector<Factor> projections;
    Label next = 0;
    for (const Factor& f : functions_) {
      const auto is_same = [&](const Factor& other) {
        return other.array == f.array && other.labels == f.labels;
      };
      if (std::none_of(projections.begin(), projections.end(), is_same)) projections.push_back(f);
      for (const Label label : f.labels) next = std::max(next, label + 1);
    }
    const std::size_t count = projections.size();
    if (count > most_directions) refuse(fmt::format("{} of {} projections", name(), count));
    by_quadrature_ = true;
    const Rational step = spacing(count, nodes_);
    formulas::Graph& graph = *projections.front().array.graph;
    std::vector<NodesOfLine> lines;
    for (std::size_t j = 0; j < count; ++j) lines.push_back(nodes_of_line(step, next + j, graph));
    const std::vector<std::vector<Entry>> factor = cholesky(projections);
    std::optional<Indexed> sum;
    for (std::size_t i = count; i-- > 0;) {
      Entry at = law_.mean(projections[i]);
      for (std::size_t j = 0; j <= i; ++j)
        at = expectations::sum(at, product(factor[i][j], lines[j].places));
      for (const Factor& f : functions_) {
        if (f.array != projections[i].array || f.labels != projections[i].labels) continue;
        const Indexed value = entrywise(name_of(f.function), {*at});
        sum = sum ? *sum * value : value;
      }
      sum = summed(*sum, lines[i].weights);
    }
    return *sum;
  }
  std::vector<std::vector<Entry>> cholesky(const std::vector<Factor>& projections) {
    std::vector<std::vector<Entry>> factor;
    for (std::size_t i = 0; i < projections.size(); ++i) {
      std::vector<Entry>& row = factor.emplace_back();
      const Indexed variance = law_.variance(projections[i]);
      Indexed left = variance;
      for (std::size_t j = 0; j < i; ++j) {
        Entry entry = law_.covariance(projections[i], projections[j]);
        for (std::size_t k = 0; k < j; ++k)
          entry = difference(entry, product(row[k], factor[j][k]));
        if (entry) entry = over_positive(*entry, *factor[j][j]);
        row.push_back(entry);
        if (entry) left = left - *entry * *entry;
      }
      // The determinant of two is exactly 0 where they are equal.
      if (i == 1 && row[0]) {
        const Indexed first = law_.variance(projections[0]);
        const Indexed c = *law_.covariance(projections[1], projections[0]);
        left = where_positive(first, (first * variance - c * c) / positive_or_one(first), variance);
      }
      row.emplace_back(root_or_zero(left));
    }
    return factor;
  }

  Entry closed() {
    if (functions_.size() == 1) return of_one(projection(functions_[0]));
    if (functions_.size() == 2) {
      return of_two(projection(functions_[0]), projection(functions_[1]),
                    law_.covariance(functions_[0], functions_[1]));
    }
    return of_many();
  }

  Projection projection(const Factor& f) {
    return {f.function, law_.mean(f), law_.variance(f), law_.own_variance(f)};
  }

  Entry of_many() {
    const bool centred = std::all_of(functions_.begin(), functions_.end(),
                                     [&](const Factor& f) { return !law_.mean(f); });
    const auto step = std::find_if(functions_.begin(), functions_.end(),
                                   [](const Factor& f) { return f.function == Function::step; });
    if (centred && step != functions_.end()) {
      std::vector<Factor> fewer = functions_, signs = functions_;
      fewer.erase(fewer.begin() + (step - functions_.begin()));
      signs[static_cast<std::size_t>(step - functions_.begin())].function = Function::sign;
      const Entry both =
          sum(Group(law_, fewer, nodes_).expectation(), Group(law_, signs, nodes_).expectation());
      const Indexed q = law_.own_variance(*step);
      return both ? Entry(where_positive(q, Rational(1, 2) * *both, zero(q))) : both;
    }
    const auto odd = std::count_if(functions_.begin(), functions_.end(),
                                   [](const Factor& f) { return is_odd(f.function); });
    const bool parted = std::none_of(functions_.begin(), functions_.end(),
                                     [](const Factor& f) { return f.function == Function::relu; });
    if (centred && parted && odd % 2 == 1) return std::nullopt;
    refuse(fmt::format("{} of {} projections{}", name(), functions_.size(),
                       centred ? "" : " with means"));
  }

  WeightedLaw& law_;
  std::vector<Factor> functions_;
  Nodes nodes_;
  bool by_quadrature_ = false;
};

}  // namespace
}  // namespace kernels_cpp

std::optional<std::vector<Indexed>> Kernels::expectation(const std::vector<Factor>& functions) {
  using namespace kernels_cpp;
  WeightedLaw law(law_, functions);
  std::vector<Indexed> factors = law.mass();
  std::vector<Factor> left;
  for (const Factor& f : functions) {
    if (!is_weight(f.function)) left.push_back(f);
    if (f.function == Function::exponential || f.function == Function::gaussian)
      names_.emplace(name_of(f.function));
  }
  while (!left.empty()) {
    std::vector<Factor> together{left.front()};
    left.erase(left.begin());
    for (std::size_t k = 0; k < together.size(); ++k) {
      const Factor of = together[k];
      std::erase_if(left, [&](const Factor& f) {
        const bool depends = law.covariance(of, f).has_value();
        if (depends) together.push_back(f);
        return depends;
      });
    }
    Group group(law, together, nodes_);
    const Entry found = group.expectation();
    if (!found) return std::nullopt;
    names_.insert(group.by_quadrature() ? group.name() + " by quadrature" : group.name());
    by_quadrature_ = by_quadrature_ || group.by_quadrature();
    factors.push_back(*found);
  }
  return factors;
}

}  // namespace popgrad::expectations
