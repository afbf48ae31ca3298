#include "expectations/expectation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "expectations/contraction.hpp"
#include "expectations/kernels.hpp"
#include "expectations/normal_form.hpp"
#include "expectations/normal_law.hpp"
#include "expectations/term.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad::expectations {
namespace expectation_cpp {
namespace {

constexpr std::size_t most_states = 20000;

std::size_t degree_of(const Term& term) {
  return static_cast<std::size_t>(
      std::count_if(term.factors.begin(), term.factors.end(),
                    [](const Factor& f) { return f.kind == FactorKind::draw; }));
}

std::vector<Factor> functions_of(const Term& term) {
  std::vector<Factor> functions;
  std::copy_if(term.factors.begin(), term.factors.end(), std::back_inserter(functions),
               [](const Factor& f) { return f.kind == FactorKind::function; });
  return functions;
}

/// A product of two functions of the same entry.
struct Same {
  std::optional<Function> left;  ///< a function instead of both
  long power = 0;                ///< of the entry itself
  Rational value = 1;            ///< a number instead of both, or times them
};

// Nothing where there is no simpler product.
std::optional<Same> same_product(Function f, Function g) {
  if (f > g) return same_product(g, f);
  const auto is = [&](Function a, Function b) { return f == a && g == b; };
  if (g == Function::delta && f != Function::delta) {
    const bool one = f == Function::cosine || is_weight(f);
    return Same{Function::delta, 0,
                f == Function::step ? Rational(1, 2)
                : one               ? Rational(1)
                                    : Rational(0)};
  }
  if (is(Function::sign, Function::sign)) return Same{};
  if (is(Function::sign, Function::step) || is(Function::step, Function::step))
    return Same{Function::step};
  if (is(Function::sign, Function::relu) || is(Function::step, Function::relu) ||
      is(Function::step, Function::abs))
    return Same{Function::relu};
  if (is(Function::sign, Function::abs)) return Same{std::nullopt, 1};
  if (is(Function::relu, Function::relu) || is(Function::relu, Function::abs))
    return Same{Function::relu, 1};
  if (is(Function::abs, Function::abs)) return Same{std::nullopt, 2};
  return std::nullopt;
}

/// The slope of a function at each entry: a factor and another function.
struct Slope {
  Array scale;
  Function function = Function::erf;
};
Slope slope_of(const Factor& factor) {
  const Array one = factor.array.number(1);
  switch (factor.function) {
    case Function::erf:
      return {formulas::apply("sqrt", {4 / factor.array.graph->pi()}), Function::gaussian};
    case Function::sign:
      return {2 * one, Function::delta};
    case Function::step:
      return {one, Function::delta};
    case Function::relu:
      return {one, Function::step};
    case Function::abs:
      return {one, Function::sign};
    case Function::sine:
      return {one, Function::cosine};
    default:
      return {-one, Function::sine};
  }
}

class Recursion {
 public:
  Recursion(NormalLaw& law, formulas::Graph& graph) : law_(law), graph_(graph), kernels_(law) {}

  void add(const Polynomial& polynomial) {
    for (const Term& term : polynomial.terms) add(term);
  }
  [[nodiscard]] double pairings() const { return pairings_; }
  [[nodiscard]] const std::set<std::string>& kernels() const { return kernels_.names(); }

  std::vector<Term> result() {
    for (const auto& [degree, sum] : by_degree_) {
      for (const Term& term : sum.terms()) pairings_ += pairings_of(term);
    }
    if (pairings_ > most_pairings)
      throw NotHandled(
          fmt::format("it has {:.3g} pairings of draws, more than {:g}", pairings_, most_pairings));
    std::size_t states = 0;
    while (!by_degree_.empty() && by_degree_.rbegin()->first > 0) {
      const auto highest = by_degree_.extract(std::prev(by_degree_.end()));
      for (const Term& term : highest.mapped().terms()) {
        if (++states > most_states)
          throw NotHandled(fmt::format("its expectation has more than {} terms", most_states));
        add_pairs(term);
      }
    }
    TermSum without;
    if (!by_degree_.empty()) {
      for (const Term& term : by_degree_[0].terms()) add_without_functions(term, without);
    }
    return without.terms();
  }

 private:
  [[nodiscard]] bool reads(const Factor& function, std::size_t draw) {
    return law_.reads(function.array, draw);
  }

  // Factors of each variable.
  static std::map<std::size_t, std::size_t> degrees_of(const Term& term) {
    std::map<std::size_t, std::size_t> degrees;
    for (const Factor& factor : term.factors) {
      if (factor.kind == FactorKind::draw) ++degrees[factor.array.place];
    }
    return degrees;
  }
  // 0 where a variable is there an odd number of times, and no function depends on it.
  double pairings_of(const Term& term) {
    const std::vector<Factor> functions = functions_of(term);
    double product = 1;
    for (const auto& [place, degree] : degrees_of(term)) {
      const std::size_t draw = place;
      const auto partners = static_cast<double>(std::count_if(
          functions.begin(), functions.end(), [&](const Factor& f) { return reads(f, draw); }));
      double last = 1, found = partners;
      for (std::size_t k = 2; k <= degree; ++k)
        last = std::exchange(found, partners * found + static_cast<double>(k - 1) * last);
      product *= found;
    }
    return product;
  }

  void add(Term term) {
    for (std::size_t i = 0; i < term.factors.size(); ++i) {
      for (std::size_t k = i + 1; k < term.factors.size(); ++k) {
        const Factor &a = term.factors[i], &b = term.factors[k];
        if (a.kind != FactorKind::function || b.kind != FactorKind::function ||
            a.array != b.array || a.labels != b.labels)
          continue;
        if (const std::optional<Same> same = same_product(a.function, b.function)) {
          add_same(term, i, k, *same);
          return;
        }
      }
    }
    if (pairings_of(term) == 0) return;
    TermSum& of_degree = by_degree_[degree_of(term)];
    of_degree.add(std::move(term));
  }

  void add_same(Term term, std::size_t i, std::size_t k, const Same& same) {
    if (same.value == 0) return;
    term.coefficient *= same.value;
    const Factor argument = term.factors[i];
    term.factors.erase(term.factors.begin() + static_cast<Index>(k));
    if (same.left) {
      term.factors[i].function = *same.left;
    } else {
      term.factors.erase(term.factors.begin() + static_cast<Index>(i));
    }
    add_times(term, argument, same.power);
  }
  // The term times a power of an entry.
  void add_times(const Term& term, const Factor& argument, long power) {
    if (power == 0) {
      add(term);
      return;
    }
    const Affine& affine = law_.affine(argument.array);
    for (const Term& offset : affine.offset)
      add_times(with_entry(term, offset, argument.labels), argument, power - 1);
    for (const Affine::Part& part : affine.parts) {
      Term entry = part.coefficient;
      const auto first = entry.out.begin() + argument.array.rank();
      entry.factors.push_back({.array = {&graph_, part.draw},
                               .labels = {first, entry.out.end()},
                               .kind = FactorKind::draw});
      entry.out.erase(first, entry.out.end());
      add_times(with_entry(term, entry, argument.labels), argument, power - 1);
    }
  }

  // Stein's lemma for the first draw of the variable of least degree.
  void add_pairs(const Term& term) {
    const std::map<std::size_t, std::size_t> degrees = degrees_of(term);
    const auto least =
        std::min_element(degrees.begin(), degrees.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto first = std::find_if(term.factors.begin(), term.factors.end(), [&](const Factor& f) {
      return f.kind == FactorKind::draw && f.array.place == least->first;
    });
    const Factor& x = *first;
    Term rest = term;
    rest.factors.erase(rest.factors.begin() + (first - term.factors.begin()));
    const std::vector<Factor> functions = functions_of(term);
    std::optional<WeightedLaw> weighted;
    if (!functions.empty()) weighted.emplace(law_, functions);
    for (std::size_t k = 0; k < rest.factors.size(); ++k) {
      const Factor& y = rest.factors[k];
      if (!y.is_random()) continue;
      if (y.kind == FactorKind::function && is_weight(y.function)) continue;
      Term paired = rest;
      if (y.kind == FactorKind::draw) {
        paired.factors.erase(paired.factors.begin() + static_cast<Index>(k));
      } else {
        const Slope slope = slope_of(y);
        paired.factors[k].function = slope.function;
        paired = outer_product(paired, term_of(slope.scale));
      }
      add_covariance(paired, x, y, weighted);
    }
    if (!weighted) return;
    for (std::size_t k = 0; k < weighted->weights().size(); ++k) {
      const Factor& w = weighted->weights()[k];
      if (law_.covariance(x.array, w.array).empty()) continue;
      if (const Entry shift = weighted->shift(k)) {
        Term shifted = rest;
        shifted.factors.push_back({shift->array, shift->labels});
        add_entries(shifted, law_.covariance(x.array, w.array), x.labels, w.labels);
      }
    }
  }

  void add_entries(const Term& term, const std::vector<Term>& entries, std::vector<Label> labels,
                   const std::vector<Label>& more) {
    labels.insert(labels.end(), more.begin(), more.end());
    for (const Term& entry : entries) add(with_entry(term, entry, labels));
  }

  // The term times the covariance of x and y.
  void add_covariance(const Term& term, const Factor& x, const Factor& y,
                      std::optional<WeightedLaw>& weighted) {
    add_entries(term, law_.covariance(x.array, y.array), x.labels, y.labels);
    if (!weighted) return;
    const std::vector<Factor>& weights = weighted->weights();
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const std::vector<Term>& left = law_.covariance(x.array, weights[k].array);
      for (std::size_t l = 0; l < weights.size() && !left.empty(); ++l) {
        const std::vector<Term>& right = law_.covariance(weights[l].array, y.array);
        if (right.empty()) continue;
        const Entry coupling = weighted->coupling(k, l);
        if (!coupling) continue;
        Term reduced = term;
        reduced.coefficient = -reduced.coefficient;
        reduced.factors.push_back({coupling->array, coupling->labels});
        std::vector<Label> labels = x.labels;
        labels.insert(labels.end(), weights[k].labels.begin(), weights[k].labels.end());
        labels.insert(labels.end(), weights[l].labels.begin(), weights[l].labels.end());
        for (const Term& a : left) {
          for (const Term& b : right) add_entries(reduced, {outer_product(a, b)}, labels, y.labels);
        }
      }
    }
  }

  void add_without_functions(const Term& term, TermSum& to) {
    const std::vector<Factor> functions = functions_of(term);
    if (functions.empty()) {
      to.add(term);
      return;
    }
    const std::optional<std::vector<Indexed>> found = kernels_.expectation(functions);
    if (!found) return;
    Term without = term;
    std::erase_if(without.factors, [](const Factor& f) { return f.kind == FactorKind::function; });
    for (const Indexed& factor : *found) {
      if (const std::optional<Rational> value = rational_value(factor.array)) {
        without.coefficient *= *value;
      } else {
        without.factors.push_back({factor.array, factor.labels});
      }
    }
    to.add(std::move(without));
  }

  NormalLaw& law_;
  formulas::Graph& graph_;
  Kernels kernels_;
  std::map<std::size_t, TermSum> by_degree_;
  double pairings_ = 0;
};

}  // namespace
}  // namespace expectation_cpp

Expectation expectation(const formulas::Array& formula, const std::vector<NormalDraw>& normals) {
  using namespace expectation_cpp;
  Expectation result;
  try {
    std::vector<Array> variables;
    for (const NormalDraw& normal : normals) variables.push_back(normal.variable);
    NormalForm form(variables, true);
    for (const NormalDraw& normal : normals) {
      if (normal.covariance && form.drawn(*normal.covariance))
        throw NotHandled("a covariance depends on normal draws");
    }
    NormalLaw law(normals, form);
    Recursion recursion(law, *formula.graph);
    recursion.add(collected(form.of(formula), *formula.graph));
    const std::vector<Term> terms = recursion.result();
    result.pairings = recursion.pairings();
    result.terms = terms.size();
    result.kernels.assign(recursion.kernels().begin(), recursion.kernels().end());
    result.mean = sum_of(terms, formula.shape(), *formula.graph);
  } catch (const NotHandled& reason) {
    result.why = reason.what();
  } catch (const InputError& error) {  // of arrays beyond memory, or of divisions by 0
    result.why = error.what();
  }
  return result;
}

}  // namespace popgrad::expectations
