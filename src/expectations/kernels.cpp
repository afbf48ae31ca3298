#include "expectations/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
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
bool is_odd(Function f) { return f == Function::erf || f == Function::sign || f == Function::sine; }

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
};

Entry of_even(Part a, Part b, const Pair& pair) {
  if (a == Part::none || b == Part::none) return std::nullopt;
  if (a > b) return of_even(b, a, {pair.s, pair.q, pair.c});
  if (b == Part::one) return number(pair.c, 1);
  if (a == Part::one)
    return centred(b == Part::absolute ? Function::abs : Function::cosine, pair.s, pair.s);
  if (b == Part::absolute) {
    const Indexed d = pair.determinant(), width = root(positive_or_one(d));
    return where_positive(d, two_over_pi(width + pair.c * angle(pair.c, width)),
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
  const Indexed d = pair.determinant();
  if (b == Part::sign) {
    return where_positive(d, two_over_pi(angle(c, root(positive_or_one(d)))),
                          entrywise("sign", {c}));
  }
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
    const Indexed d = pair.determinant(), width = root(positive_or_one(d));
    const Indexed twice = (width + pair.c * angle(width, -pair.c)) / pi(d);
    return Rational(1, 2) * where_positive(d, twice, entrywise("relu", {pair.c}));
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

// Of functions that depend on each other under the law.
class Group {
 public:
  Group(WeightedLaw& law, std::vector<Factor> functions)
      : law_(law), functions_(std::move(functions)) {}

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
    if (functions_.size() == 1) return of_one(projection(functions_[0]));
    if (functions_.size() == 2) {
      return of_two(projection(functions_[0]), projection(functions_[1]),
                    law_.covariance(functions_[0], functions_[1]));
    }
    return of_many();
  }

 private:
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
      const Entry both = sum(Group(law_, fewer).expectation(), Group(law_, signs).expectation());
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
    Group group(law, together);
    const Entry found = group.expectation();
    if (!found) return std::nullopt;
    names_.insert(group.name());
    factors.push_back(*found);
  }
  return factors;
}

}  // namespace popgrad::expectations
