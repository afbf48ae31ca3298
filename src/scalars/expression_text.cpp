#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>
#include <vector>

#include "popgrad/scalars/expression.hpp"

namespace popgrad {
namespace {

/// How strongly the outermost operation of a text binds.
enum class Binding { sum, product, power, atom };

/// An expression without its sign.
struct Text {
  std::string text;
  Binding binding = Binding::atom;
  bool negative = false;
};

class Printer {
 public:
  explicit Printer(Notation notation) : notation_(notation) {}

  [[nodiscard]] std::string whole(const Expression& x) const { return with_sign(print(x)); }

 private:
  [[nodiscard]] Text print(const Expression& x) const {
    if (GiNaC::is_a<GiNaC::add>(x)) return joined_sum(terms_of(x));
    if (GiNaC::is_a<GiNaC::mul>(x)) return product(factors_of(x));
    // A power below a fraction line, and a fraction of integers.
    if (GiNaC::is_a<GiNaC::power>(x)) return product({x});
    if (GiNaC::is_a<GiNaC::numeric>(x)) return product({x});
    if (GiNaC::is_a<GiNaC::function>(x)) return {function(x)};
    if (x.is_equal(GiNaC::Pi)) return {pi()};
    return {by_ginac(x)};
  }

  static std::vector<Expression> factors_of(const Expression& x) {
    std::vector<Expression> factors;
    for (std::size_t i = 0; i < x.nops(); ++i) factors.push_back(x.op(i));
    return factors;
  }

  [[nodiscard]] std::string by_ginac(const Expression& x) const {
    std::ostringstream out;
    if (notation_ == Notation::latex) {
      out << GiNaC::latex << x;
    } else {
      out << x;
    }
    return out.str();
  }

  static std::string with_sign(const Text& t) { return (t.negative ? "-" : "") + t.text; }

  // Parentheses around what binds less than is needed.
  [[nodiscard]] std::string within(const Text& t, Binding needed) const {
    if (!t.negative && t.binding >= needed) return t.text;
    const std::string inside = with_sign(t);
    return notation_ == Notation::latex ? fmt::format("\\left({}\\right)", inside)
                                        : fmt::format("({})", inside);
  }

  [[nodiscard]] std::vector<Text> terms_of(const Expression& x) const {
    std::vector<Text> terms;
    for (std::size_t i = 0; i < x.nops(); ++i) terms.push_back(print(x.op(i)));
    return terms;
  }

  // A term with a plus first, where there is one.
  static Text joined_sum(std::vector<Text> terms) {
    std::sort(terms.begin(), terms.end(), [](const Text& a, const Text& b) {
      return std::pair(a.negative, a.text) < std::pair(b.negative, b.text);
    });
    Text all{with_sign(terms.front()), Binding::sum};
    for (std::size_t i = 1; i < terms.size(); ++i) {
      all.text += fmt::format(" {} {}", terms[i].negative ? "-" : "+", terms[i].text);
    }
    return all;
  }

  // A factor: GiNaC takes -1 out of a sum or not, as its own order of the terms has it. Here the term
  // whose text comes first is positive; `negative` changes with the sign taken out.
  [[nodiscard]] Text factor_of(const Expression& x, bool& negative) const {
    if (!GiNaC::is_a<GiNaC::add>(x)) return print(x);
    std::vector<Text> terms = terms_of(x);
    const auto first = std::min_element(
        terms.begin(), terms.end(), [](const Text& a, const Text& b) { return a.text < b.text; });
    if (first->negative) {
      negative = !negative;
      for (Text& term : terms) term.negative = !term.negative;
    }
    return joined_sum(terms);
  }

  // Numbers first, then factors in the order of their text; negative powers below the line.
  [[nodiscard]] Text product(const std::vector<Expression>& factors) const {
    GiNaC::numeric number = 1;
    std::vector<Text> above, below;
    bool negative = false;
    for (const Expression& factor : factors) {
      if (GiNaC::is_a<GiNaC::numeric>(factor)) {
        number *= GiNaC::ex_to<GiNaC::numeric>(factor);
      } else if (GiNaC::is_a<GiNaC::power>(factor)) {
        const Expression exponent = factor.op(1);
        const bool divides = GiNaC::is_a<GiNaC::numeric>(exponent) &&
                             GiNaC::ex_to<GiNaC::numeric>(exponent).is_negative();
        (divides ? below : above)
            .push_back(power(factor.op(0), divides ? -exponent : exponent, negative));
      } else {
        above.push_back(factor_of(factor, negative));
      }
    }
    Text result;
    result.negative = number.is_negative() != negative;
    const GiNaC::numeric size = GiNaC::abs(number);
    const auto put_number = [this](std::vector<Text>& into, const GiNaC::numeric& value) {
      if (!value.is_equal(1)) into.insert(into.begin(), Text{number_text(value)});
    };
    const auto by_text = [](const Text& a, const Text& b) { return a.text < b.text; };
    std::sort(above.begin(), above.end(), by_text);
    std::sort(below.begin(), below.end(), by_text);
    put_number(above, size.is_rational() ? size.numer() : size);
    if (size.is_rational()) put_number(below, size.denom());
    if (above.empty()) above.push_back({number_text(1)});
    if (below.empty() && above.size() == 1) {
      // A sum in parentheses only where it has a sign of its own before it.
      result.text = result.negative ? within(above.front(), Binding::product) : above.front().text;
      result.binding = result.negative ? Binding::product : above.front().binding;
      return result;
    }
    result.binding = Binding::product;
    if (below.empty()) {
      result.text = joined(above);
    } else if (notation_ == Notation::latex) {
      result.text = fmt::format("\\frac{{{}}}{{{}}}", joined(above), joined(below));
    } else {
      const std::string divisor = below.size() == 1 ? within(below.front(), Binding::power)
                                                    : fmt::format("({})", joined(below));
      result.text = fmt::format("{}/{}", joined(above), divisor);
    }
    return result;
  }

  [[nodiscard]] std::string joined(const std::vector<Text>& factors) const {
    if (factors.size() == 1 && notation_ == Notation::latex) return with_sign(factors.front());
    std::string all;
    for (const Text& factor : factors) {
      if (!all.empty()) all += notation_ == Notation::latex ? " " : "*";
      all += within(factor, Binding::product);
    }
    return all;
  }

  // The sign of a sum is taken out of whole powers.
  [[nodiscard]] Text power(const Expression& base, const Expression& exponent,
                           bool& negative) const {
    if (exponent.is_equal(1)) return factor_of(base, negative);
    if (exponent.is_equal(Expression(1) / 2)) {
      const std::string root = notation_ == Notation::latex ? "\\sqrt{{{}}}" : "sqrt({})";
      return {fmt::format(fmt::runtime(root), whole(base))};
    }
    bool base_negative = false;
    const bool is_whole = exponent.info(GiNaC::info_flags::integer);
    const Text below = is_whole ? factor_of(base, base_negative) : print(base);
    if (base_negative && exponent.info(GiNaC::info_flags::odd)) negative = !negative;
    if (notation_ == Notation::cpp) {
      return {fmt::format("pow({}, {})", with_sign(below), whole(exponent))};
    }
    const std::string lower = within(below, Binding::atom);
    if (notation_ == Notation::latex) {
      return {fmt::format("{{{}}}^{{{}}}", lower, whole(exponent)), Binding::power};
    }
    return {fmt::format("{}{}{}", lower, notation_ == Notation::python ? "**" : "^",
                        within(print(exponent), Binding::atom)),
            Binding::power};
  }

  [[nodiscard]] std::string function(const Expression& x) const {
    std::vector<std::string> arguments;
    for (std::size_t i = 0; i < x.nops(); ++i) arguments.push_back(whole(x.op(i)));
    const std::string inside = fmt::format("{}", fmt::join(arguments, ", "));
    const std::string name = GiNaC::ex_to<GiNaC::function>(x).get_name();
    switch (notation_) {
      case Notation::latex: {
        constexpr std::array<std::string_view, 7> known{"exp", "log",  "sin", "cos",
                                                        "tan", "sinh", "tanh"};
        const bool own = std::find(known.begin(), known.end(), name) != known.end();
        return fmt::format(
            fmt::runtime(own ? "\\{}\\left({}\\right)" : "\\operatorname{{{}}}\\left({}\\right)"),
            name, inside);
      }
      case Notation::cpp:
        if (name == "step") return fmt::format("({} > 0 ? 1.0 : 0.0)", inside);
        return fmt::format("{}({})", name == "abs" ? "fabs" : name, inside);
      case Notation::python:
        if (name == "step") return fmt::format("(1.0 if {} > 0 else 0.0)", inside);
        break;
      case Notation::text:
        break;
    }
    return fmt::format("{}({})", name, inside);
  }

  [[nodiscard]] std::string pi() const {
    if (notation_ == Notation::latex) return "\\pi";
    return notation_ == Notation::text ? "Pi" : "pi";
  }

  // Not negative; integers in C++ as 2.0, so that no division of integers is meant.
  [[nodiscard]] std::string number_text(const GiNaC::numeric& value) const {
    std::ostringstream out;
    out << value;
    const bool plain = out.str().find_first_not_of("0123456789") == std::string::npos;
    return notation_ == Notation::cpp && plain ? out.str() + ".0" : out.str();
  }

  Notation notation_;
};

}  // namespace

std::string to_text(const Expression& x, Notation notation) { return Printer(notation).whole(x); }

}  // namespace popgrad
