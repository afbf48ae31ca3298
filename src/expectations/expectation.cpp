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
    const bool half = f == Function::step || f == Function::sigmoid;
    if (f == Function::softplus) return std::nullopt;
    return Same{Function::delta, 0, half ? Rational(1, 2) : one ? Rational(1) : Rational(0)};
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

/// A summand of the slope of a function at each entry: a factor and the product of functions.
struct Slope {
  Array scale;
  std::vector<Function> functions;
};
std::vector<Slope> slopes_of(const Factor& factor) {
  const Array one = factor.array.number(1);
  switch (factor.function) {
    case Function::erf:
      return {{formulas::apply("sqrt", {4 / factor.array.graph->pi()}), {Function::gaussian}}};
    case Function::sign:
      return {{2 * one, {Function::delta}}};
    case Function::step:
      return {{one, {Function::delta}}};
    case Function::relu:
      return {{one, {Function::step}}};
    case Function::abs:
      return {{one, {Function::sign}}};
    case Function::sine:
      return {{one, {Function::cosine}}};
    case Function::tanh:
      return {{one, {}}, {-one, {Function::tanh, Function::tanh}}};
    case Function::sigmoid:
      return {{one, {Function::sigmoid}}, {-one, {Function::sigmoid, Function::sigmoid}}};
    case Function::softplus:
      return {{one, {Function::sigmoid}}};
    default:
      return {{-one, {Function::sine}}};
  }
}

class Recursion {
 public:
  Recursion(NormalLaw& law, formulas::Graph& graph, Nodes nodes)
      : law_(law), graph_(graph), kernels_(law, nodes) {}

  void add(const Polynomial& polynomial) {
    for (const Term& term : polynomial.terms) add(term);
  }
  void add_product(const Polynomial& f, const Polynomial& g) {
    require_few(f, g);
    for (const Term& x : f.terms) {
      for (const Term& y : g.terms) add(outer_product(x, y));
    }
  }
  /// The product, less that of the means: of polynomials without functions, whose pairings are those that join both.
  void add_joined_product(const Polynomial& f, const Polynomial& g) {
    require_few(f, g);
    for (Term other : g.terms) {
      for (Factor& factor : other.factors) {
        if (factor.kind == FactorKind::draw) factor.array.place = copy_of(factor.array);
      }
      for (const Term& term : f.terms) add_unjoined(outer_product(term, other));
    }
  }
  [[nodiscard]] double pairings() const { return pairings_; }
  [[nodiscard]] const Kernels& kernels() const { return kernels_; }

  std::vector<Term> result() {
    for (const auto* terms : {&by_degree_, &unjoined_}) {
      for (const auto& [degree, sum] : *terms) {
        for (const Term& term : sum.terms()) pairings_ += pairings_of(term);
      }
    }
    if (pairings_ > most_pairings)
      throw NotHandled(
          fmt::format("it has {:.3g} pairings of draws, more than {:g}", pairings_, most_pairings));
    std::size_t states = 0;
    const auto count_state = [&] {
      if (++states > most_states)
        throw NotHandled(fmt::format("its expectation has more than {} terms", most_states));
    };
    while (!unjoined_.empty()) {
      const auto highest = unjoined_.extract(std::prev(unjoined_.end()));
      for (const Term& term : highest.mapped().terms()) {
        count_state();
        add_pairs_of_unjoined(term);
      }
    }
    while (!by_degree_.empty() && by_degree_.rbegin()->first > 0) {
      const auto highest = by_degree_.extract(std::prev(by_degree_.end()));
      for (const Term& term : highest.mapped().terms()) {
        count_state();
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

  static void require_few(const Polynomial& f, const Polynomial& g) {
    if (f.terms.size() * g.terms.size() > most_states)
      throw NotHandled(fmt::format("its product with itself has {} terms, more than {}",
                                   f.terms.size() * g.terms.size(), most_states));
  }
  // A variable of the same shape that stands for the draw in the other factor of a joined product.
  std::size_t copy_of(const Array& draw) {
    const Array copy = graph_.variable("copy of " + draw.node().text, draw.shape());
    originals_.emplace(copy.place, draw.place);
    return copy.place;
  }
  [[nodiscard]] bool is_copy(const Factor& draw) const {
    return originals_.contains(draw.array.place);
  }
  [[nodiscard]] std::size_t original(std::size_t place) const {
    const auto found = originals_.find(place);
    return found == originals_.end() ? place : found->second;
  }

  // Factors of each variable, copies among them.
  [[nodiscard]] std::map<std::size_t, std::size_t> degrees_of(const Term& term) const {
    std::map<std::size_t, std::size_t> degrees;
    for (const Factor& factor : term.factors) {
      if (factor.kind == FactorKind::draw) ++degrees[original(factor.array.place)];
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
      paired.factors.erase(paired.factors.begin() + static_cast<Index>(k));
      if (y.kind == FactorKind::draw) {
        add_covariance(paired, x, y, weighted);
        continue;
      }
      for (const Slope& slope : slopes_of(y)) {
        Term sloped = outer_product(paired, term_of(slope.scale));
        for (const Function function : slope.functions) {
          sloped.factors.push_back(y);
          sloped.factors.back().function = function;
        }
        add_covariance(sloped, x, y, weighted);
      }
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

  // Dropped where no draw can be paired with its copy.
  void add_unjoined(Term term) {
    if (pairings_of(term) == 0) return;
    std::set<std::size_t> own, copied;
    for (const Factor& factor : term.factors) {
      if (factor.kind == FactorKind::draw)
        (is_copy(factor) ? copied : own).insert(original(factor.array.place));
    }
    if (std::none_of(own.begin(), own.end(),
                     [&](std::size_t draw) { return copied.contains(draw); }))
      return;
    TermSum& of_degree = unjoined_[degree_of(term)];
    of_degree.add(std::move(term));
  }

  // The first draw of the variable of least degree. With a partner from the other factor the term is joined, and
  // copies are the draws that they stand for.
  void add_pairs_of_unjoined(const Term& term) {
    const std::map<std::size_t, std::size_t> degrees = degrees_of(term);
    const std::size_t least =
        std::min_element(degrees.begin(), degrees.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->first;
    const auto is_least = [&](const Factor& f) {
      return f.kind == FactorKind::draw && original(f.array.place) == least;
    };
    const auto first = std::find_if(term.factors.begin(), term.factors.end(), is_least);
    const Factor& x = *first;
    Term rest = term;
    rest.factors.erase(rest.factors.begin() + (first - term.factors.begin()));
    const Array draw{&graph_, least};
    for (std::size_t k = 0; k < rest.factors.size(); ++k) {
      const Factor y = rest.factors[k];
      if (!is_least(y)) continue;
      Term paired = rest;
      paired.factors.erase(paired.factors.begin() + static_cast<Index>(k));
      const bool joins = is_copy(x) != is_copy(y);
      if (joins) {
        for (Factor& factor : paired.factors) {
          if (factor.kind == FactorKind::draw) factor.array.place = original(factor.array.place);
        }
      }
      std::vector<Label> labels = x.labels;
      labels.insert(labels.end(), y.labels.begin(), y.labels.end());
      for (const Term& entry : law_.covariance(draw, draw)) {
        Term made = with_entry(paired, entry, labels);
        if (joins) {
          add(std::move(made));
        } else {
          add_unjoined(std::move(made));
        }
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
      if (const std::optional<Coefficient> value = coefficient_of(factor.array)) {
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
  std::map<std::size_t, TermSum> unjoined_;       // products whose factors have draws of their own
  std::map<std::size_t, std::size_t> originals_;  // by copy
  double pairings_ = 0;
};

// Normal draws of formulas, and their law.
class Setting {
 public:
  explicit Setting(const std::vector<NormalDraw>& normals)
      : form_(variables_of(normals), true), law_(normals, form_) {
    for (const NormalDraw& normal : normals) {
      if (normal.covariance && form_.drawn(*normal.covariance))
        throw NotHandled("a covariance depends on normal draws");
    }
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

  NormalLaw& law() { return law_; }
  Polynomial form_of(const Array& formula) { return collected(form_.of(formula), *formula.graph); }

 private:
  static std::vector<Array> variables_of(const std::vector<NormalDraw>& normals) {
    std::vector<Array> variables;
    for (const NormalDraw& normal : normals) variables.push_back(normal.variable);
    return variables;
  }

  NormalForm form_;
  NormalLaw law_;
};

// Terms without functions of draws, and those with.
struct Parted {
  Polynomial polynomial, with_functions;
};
Parted parted(const Polynomial& form) {
  Parted made{{form.shape, {}}, {form.shape, {}}};
  for (const Term& term : form.terms)
    (functions_of(term).empty() ? made.polynomial : made.with_functions).terms.push_back(term);
  return made;
}

template <class Make>
Expectation or_why(const Make& make) {
  Expectation result;
  try {
    make(result);
  } catch (const NotHandled& reason) {
    result.why = reason.what();
  } catch (const InputError& error) {  // of arrays beyond memory, or of divisions by 0
    result.why = error.what();
  }
  return result;
}

void set_result(Expectation& result, const Recursion& recursion, const std::vector<Term>& terms,
                const Shape& shape, formulas::Graph& graph) {
  result.pairings = recursion.pairings();
  result.terms = terms.size();
  result.kernels.assign(recursion.kernels().names().begin(), recursion.kernels().names().end());
  result.by_quadrature = recursion.kernels().by_quadrature();
  result.mean = sum_of(terms, shape, graph);
}

}  // namespace
}  // namespace expectation_cpp

Expectation expectation(const formulas::Array& formula, const std::vector<NormalDraw>& normals,
                        Nodes nodes) {
  using namespace expectation_cpp;
  return or_why([&](Expectation& result) {
    Setting setting(normals);
    Recursion recursion(setting.law(), *formula.graph, nodes);
    recursion.add(setting.form_of(formula));
    const std::vector<Term> terms = recursion.result();
    set_result(result, recursion, terms, formula.shape(), *formula.graph);
  });
}

Expectation covariance(const formulas::Array& f, const formulas::Array& g,
                       const std::vector<NormalDraw>& normals) {
  using namespace expectation_cpp;
  return or_why([&](Expectation& result) {
    Setting setting(normals);
    formulas::Graph& graph = *f.graph;
    const Parted x = parted(setting.form_of(f)), y = parted(setting.form_of(g));
    Recursion recursion(setting.law(), graph, Nodes::usual);
    recursion.add_joined_product(x.polynomial, y.polynomial);
    TermSum sum;
    const auto mean = [&](const Polynomial& form) {
      Recursion own(setting.law(), graph, Nodes::usual);
      own.add(form);
      return own.result();
    };
    for (const auto& [a, b] :
         {std::pair{&x.polynomial, &y.with_functions}, std::pair{&x.with_functions, &y.polynomial},
          std::pair{&x.with_functions, &y.with_functions}}) {
      if (a->terms.empty() || b->terms.empty()) continue;
      recursion.add_product(*a, *b);
      for (const Term& of_a : mean(*a)) {
        for (const Term& of_b : mean(*b)) {
          Term both = outer_product(of_a, of_b);
          both.coefficient = -both.coefficient;
          sum.add(std::move(both));
        }
      }
    }
    for (Term& term : recursion.result()) sum.add(std::move(term));
    Shape shape = f.shape();
    shape.insert(shape.end(), g.shape().begin(), g.shape().end());
    set_result(result, recursion, sum.terms(), shape, graph);
  });
}

}  // namespace popgrad::expectations
