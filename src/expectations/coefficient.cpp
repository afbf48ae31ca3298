#include "expectations/coefficient.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/range/adaptor/reversed.hpp>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "formulas/operation.hpp"
#include "formulas/print.hpp"
#include "formulas/syntax.hpp"
#include "formulas/written.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad::expectations {
namespace coefficient_cpp {
namespace {

using formulas::Graph;
namespace syntax = formulas::syntax;

using Powers = Coefficient::Powers;
using Summands = Coefficient::Summands;

constexpr long most_power = 64;

Powers product(const Powers& a, const Powers& b, long power_of_b = 1) {
  Powers made = a;
  for (const auto& [size, exponent] : b) {
    if ((made[size] += power_of_b * exponent) == 0) made.erase(size);
  }
  return made;
}
void add(Summands& sum, const Powers& powers, const Rational& number) {
  const auto [known, added] = sum.try_emplace(powers, number);
  if (!added) known->second += number;
  if (known->second == 0) sum.erase(known);
}
Summands product(const Summands& a, const Summands& b) {
  Summands made;
  for (const auto& [x, of_x] : a) {
    for (const auto& [y, of_y] : b) add(made, product(x, y), of_x * of_y);
  }
  return made;
}
Summands power(const Summands& base, long exponent) {
  Summands made{{Powers{}, 1}};
  for (long k = 0; k < exponent; ++k) made = product(made, base);
  return made;
}

// Of each size the least exponent among the summands, of those without it 0.
Powers least_powers(const Summands& sum) {
  Powers least;
  for (const auto& [powers, number] : sum) {
    for (const auto& [size, exponent] : powers) least.try_emplace(size, exponent);
  }
  for (auto& [size, exponent] : least) {
    for (const auto& [powers, number] : sum) {
      const auto found = powers.find(size);
      exponent = std::min(exponent, found == powers.end() ? 0 : found->second);
    }
  }
  std::erase_if(least, [](const auto& entry) { return entry.second == 0; });
  return least;
}
Summands without(const Summands& sum, const Powers& powers) {
  Summands made;
  for (const auto& [own, number] : sum) made.emplace(product(own, powers, -1), number);
  return made;
}

// Sums, products and powers of numbers and names; none: it is made of something else.
std::optional<Summands> parsed(std::string_view text) {
  std::vector<std::optional<Summands>> parts;
  for (const syntax::Node& node : syntax::parse(text).nodes) {
    std::optional<Summands>& made = parts.emplace_back();
    const auto part = [&](std::size_t i) { return parts[node.parts[i]]; };
    if (node.kind == syntax::Kind::name) {
      made = Summands{{Powers{{node.text, 1}}, 1}};
    } else if (node.kind == syntax::Kind::number) {
      if (node.text.find_first_not_of("0123456789") == std::string::npos) {
        made.emplace();
        add(*made, {}, Rational(node.text));
      }
    } else if (node.kind == syntax::Kind::unary && part(0)) {
      made = node.text == "-" ? product(Summands{{Powers{}, -1}}, *part(0)) : part(0);
    } else if (node.kind == syntax::Kind::binary && part(0) && part(1)) {
      const Summands second = *part(1);
      if (node.text == "*") {
        made = product(*part(0), second);
      } else if (node.text == "+" || node.text == "-") {
        made = part(0);
        for (const auto& [powers, number] : second)
          add(*made, powers, node.text == "+" ? number : Rational(-number));
      } else if (node.text == "**" && second.size() == 1 && second.begin()->first.empty() &&
                 second.begin()->second <= most_power) {
        made = power(*part(0), numerator(second.begin()->second).convert_to<long>());
      }
    }
  }
  return parts.back();
}

// The quotient of polynomials, where there is no rest.
std::optional<Summands> quotient(Summands over, const Summands& under) {
  Summands made;
  const auto& [first, of_first] = *under.rbegin();
  while (!over.empty()) {
    const auto& [last, of_last] = *over.rbegin();
    const Powers powers = product(last, first, -1);
    if (std::any_of(powers.begin(), powers.end(), [](const auto& p) { return p.second < 0; }))
      return std::nullopt;
    const Rational number = of_last / of_first;
    add(made, powers, number);
    for (const auto& [own, of_own] : under) add(over, product(own, powers), -number * of_own);
  }
  return made;
}

// Negative exponents below.
Array product_of(const Powers& powers, bool above,
                 const std::map<std::string, Rational, std::less<>>& values, Graph& graph) {
  Array made = graph.constant(1);
  for (const auto& [size, exponent] : powers) {
    if ((exponent > 0) != above) continue;
    const Array base = graph.size(size, numerator(values.find(size)->second).convert_to<Index>());
    const long times = std::abs(exponent);
    made = made * (times == 1 ? base : formulas::power(base, graph.constant(times)));
  }
  return made;
}

}  // namespace
}  // namespace coefficient_cpp

bool Coefficient::ByExponents::operator()(const Powers& a, const Powers& b) const {
  auto x = a.begin(), y = b.begin();
  while (x != a.end() && y != b.end() && *x == *y) {
    ++x;
    ++y;
  }
  if (y == b.end()) return x != a.end() && x->second < 0;
  if (x == a.end()) return y->second > 0;
  if (x->first == y->first) return x->second < y->second;
  return x->first < y->first ? x->second < 0 : y->second > 0;
}

Coefficient::Coefficient(Rational number) {
  if (number != 0) summands_.emplace(Powers{}, std::move(number));
}
Coefficient::Coefficient(const formulas::Dimension& size) {
  const Rational extent(static_cast<long>(size.extent));
  if (size.size.empty() || size.size == std::to_string(size.extent)) {
    *this = Coefficient(extent);
    return;
  }
  summands_.emplace(Powers{{size.size, 1}}, 1);
  values_.emplace(size.size, extent);
}

Coefficient& Coefficient::operator+=(const Coefficient& other) {
  values_.insert(other.values_.begin(), other.values_.end());
  for (const auto& [powers, number] : other.summands_)
    coefficient_cpp::add(summands_, powers, number);
  return *this;
}
Coefficient& Coefficient::operator*=(const Coefficient& other) {
  values_.insert(other.values_.begin(), other.values_.end());
  summands_ = coefficient_cpp::product(summands_, other.summands_);
  return *this;
}
Coefficient Coefficient::operator-() const {
  Coefficient made = *this;
  for (auto& [powers, number] : made.summands_) number = -number;
  return made;
}

// By a size of its own where it is a sum, of whole numbers without a common factor.
std::optional<Coefficient> Coefficient::inverse() const {
  using namespace coefficient_cpp;
  const Coefficient own = reduced();
  if (own.summands_.empty() || own.value() == 0) return std::nullopt;
  Powers common = own.summands_.begin()->first;
  Rational scale = own.summands_.begin()->second;
  Coefficient rest;
  if (own.summands_.size() > 1) {
    common = least_powers(own.summands_);
    using boost::multiprecision::mpz_int;
    mpz_int over = 0, under = 1;
    for (const auto& [powers, number] : own.summands_) {
      over = gcd(over, mpz_int(numerator(number)));
      under = lcm(under, mpz_int(denominator(number)));
    }
    scale = Rational(over) / Rational(under);
    rest.values_ = own.values_;
    rest.summands_ = without(own.summands_, common);
    if (rest.summands_.rbegin()->second < 0) scale = -scale;
    for (auto& [powers, number] : rest.summands_) number /= scale;
    const std::string text = rest.text();
    const Rational value = rest.value();
    rest.summands_ = {{Powers{{text, -1}}, 1}};
    rest.values_.emplace(text, value);
  }
  Coefficient made(1 / scale);
  made.summands_ = without(made.summands_, common);
  made.values_ = own.values_;
  made *= rest;
  return made;
}

Coefficient Coefficient::leading() const {
  if (summands_.empty()) return {0};
  Coefficient made;
  made.summands_ = {*summands_.begin()};
  made.values_ = values_;
  return made;
}

Rational Coefficient::value_of(const Powers& powers) const {
  Rational made = 1;
  for (const auto& [size, exponent] : powers) {
    const Rational& base = values_.find(size)->second;
    for (long k = 0; k < std::abs(exponent); ++k) {
      if (exponent > 0) {
        made *= base;
      } else {
        made /= base;
      }
    }
  }
  return made;
}
Rational Coefficient::value() const {
  Rational sum = 0;
  for (const auto& [powers, number] : summands_) sum += number * value_of(powers);
  return sum;
}

std::string Coefficient::text() const {
  std::string text;
  for (const auto& [powers, number] : boost::adaptors::reverse(summands_)) {
    const Rational size = abs(number);
    std::vector<std::string> factors;
    if (size != 1 || powers.empty()) factors.push_back(to_text(size));
    for (const auto& [base, exponent] : powers) {
      const std::string own = formulas::syntax::is_plain_name(base) ? base : "(" + base + ")";
      factors.push_back(exponent == 1 ? own : fmt::format("{}**{}", own, exponent));
    }
    const std::string_view sign = number < 0     ? (text.empty() ? "-" : " - ")
                                  : text.empty() ? ""
                                                 : " + ";
    text += fmt::format("{}{}", sign, fmt::join(factors, " * "));
  }
  return text;
}

bool Coefficient::is_number() const {
  return summands_.empty() || (summands_.size() == 1 && summands_.begin()->first.empty());
}
bool Coefficient::is_zero() const { return summands_.empty() || reduced().summands_.empty(); }

Coefficient Coefficient::reduced() const {
  using namespace coefficient_cpp;
  // Sizes that are formulas of sizes whose values are known.
  std::map<std::string, Summands, std::less<>> formulas;
  for (const auto& [size, value] : values_) {
    if (formulas::syntax::is_plain_name(size)) continue;
    const std::optional<Summands> made = parsed(size);
    const auto is_known = [&](const auto& summand) {
      return std::all_of(summand.first.begin(), summand.first.end(),
                         [&](const auto& p) { return values_.contains(p.first); });
    };
    if (made && !made->empty() && std::all_of(made->begin(), made->end(), is_known))
      formulas.emplace(size, *made);
  }
  if (formulas.empty()) return *this;
  Powers least = least_powers(summands_);
  std::erase_if(least, [](const auto& entry) { return entry.second > 0; });
  Summands over;
  for (const auto& [powers, number] : without(summands_, least)) {
    Summands made{{Powers{}, number}};
    for (const auto& [size, exponent] : powers) {
      const auto formula = formulas.find(size);
      made = product(made, formula == formulas.end() ? Summands{{Powers{{size, exponent}}, 1}}
                                                     : power(formula->second, exponent));
    }
    for (const auto& [own, of_own] : made) add(over, own, of_own);
  }
  for (auto& [size, exponent] : least) {
    const auto formula = formulas.find(size);
    while (formula != formulas.end() && exponent < 0) {
      std::optional<Summands> made = quotient(over, formula->second);
      if (!made) break;
      over = std::move(*made);
      ++exponent;
    }
  }
  std::erase_if(least, [](const auto& entry) { return entry.second == 0; });
  Coefficient made;
  made.values_ = values_;
  for (auto& [size, exponent] : least) exponent = -exponent;
  made.summands_ = without(over, least);
  return made;
}

Array Coefficient::array(formulas::Graph& graph) const {
  using namespace coefficient_cpp;
  const Coefficient own = reduced();
  if (own.summands_.empty()) return graph.constant(0);
  Powers common = own.summands_.begin()->first;
  Array made = graph.constant(1);
  if (own.summands_.size() > 1) {
    common = least_powers(own.summands_);
    made = graph.constant(0);
    const Summands rest = without(own.summands_, common);
    for (const auto& [powers, number] : boost::adaptors::reverse(rest))
      made = made + graph.constant(number) * product_of(powers, true, own.values_, graph);
  } else {
    made = graph.constant(own.summands_.begin()->second);
  }
  return made * product_of(common, true, own.values_, graph) /
         product_of(common, false, own.values_, graph);
}

std::optional<Rational> rational_value(const Array& a) {
  if (a.rank() != 0) return std::nullopt;
  if (const Rational* known = formulas::constant_value(a)) return *known;
  const formulas::Operation& op = *a.node().operation;
  if (op.kind != formulas::OperationKind::entrywise || op.fold == nullptr) return std::nullopt;
  std::vector<Rational> values;
  for (std::size_t i = 0; i < a.node().inputs.size(); ++i) {
    const std::optional<Rational> value = rational_value(a.input(i));
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  try {
    return op.fold(values);
  } catch (const InputError&) {  // a division by 0 is reported where it is evaluated
    return std::nullopt;
  }
}

std::optional<Coefficient> coefficient_of(const Array& a) {
  using namespace coefficient_cpp;
  if (a.rank() != 0) return std::nullopt;
  if (const Rational* known = formulas::constant_value(a)) {
    const std::string& name = a.node().text;
    if (name.empty()) return Coefficient(*known);
    return Coefficient(formulas::Dimension{numerator(*known).convert_to<Index>(), name});
  }
  const formulas::Operation& op = *a.node().operation;
  if (op.kind != formulas::OperationKind::entrywise || op.fold == nullptr) return std::nullopt;
  std::vector<Coefficient> x;
  for (std::size_t i = 0; i < a.node().inputs.size(); ++i) {
    std::optional<Coefficient> input = coefficient_of(a.input(i));
    if (!input) return std::nullopt;
    x.push_back(std::move(*input));
  }
  if (a.is("negative")) return -x[0];
  if (a.is("add") || a.is("subtract")) return x[0] += a.is("add") ? x[1] : -x[1];
  if (a.is("multiply")) return x[0] *= x[1];
  if (a.is("divide")) {
    const std::optional<Coefficient> inverse = inverse_of(a.input(1));
    return inverse ? std::optional(x[0] *= *inverse) : std::nullopt;
  }
  if (a.is("power")) {
    const Rational* exponent = formulas::constant_value(a.input(1));
    const bool is_literal = exponent != nullptr && a.input(1).node().text.empty();
    if (is_literal && denominator(*exponent) == 1 && abs(*exponent) <= most_power) {
      std::optional<Coefficient> base = *exponent < 0 ? inverse_of(a.input(0)) : x[0];
      if (!base) return std::nullopt;
      Coefficient made;
      const long times = numerator(abs(*exponent)).convert_to<long>();
      for (long k = 0; k < times; ++k) made *= *base;
      return made;
    }
  }
  // Under the formula itself as a name.
  const std::optional<Rational> value = rational_value(a);
  if (!value) return std::nullopt;
  const bool has_sizes =
      std::any_of(x.begin(), x.end(), [](const Coefficient& c) { return !c.is_number(); });
  if (!has_sizes || denominator(*value) != 1) return Coefficient(*value);
  return Coefficient(formulas::Dimension{numerator(*value).convert_to<Index>(),
                                         syntax::to_numpy(formulas::written(a).tree)});
}

std::optional<Coefficient> inverse_of(const Array& a) {
  if (a.is("multiply")) {
    std::optional<Coefficient> made = inverse_of(a.input(0));
    const std::optional<Coefficient> second = made ? inverse_of(a.input(1)) : std::nullopt;
    return second ? std::optional(*made *= *second) : std::nullopt;
  }
  const std::optional<Coefficient> own = coefficient_of(a);
  return own ? own->inverse() : std::nullopt;
}

}  // namespace popgrad::expectations
