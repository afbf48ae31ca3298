#include "expectations/closure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "expectations/contraction.hpp"
#include "expectations/normal_form.hpp"
#include "expectations/term.hpp"
#include "formulas/operation.hpp"
#include "formulas/rebuild.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad::expectations {
namespace closure_cpp {
namespace {

using formulas::OperationKind;
using formulas::variables_of;

bool contains(const auto& all, const auto& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// An entry of the map that is one monomial.
struct Pattern {
  Term term;
  Array coarse;
};

/// Factors and labels of a term that those of a pattern stand for.
struct Match {
  std::vector<std::size_t> factors;
  std::map<Label, Label> labels;
};

class Closing {
 public:
  Closing(const std::vector<Array>& formulas, const std::vector<Array>& states,
          const std::vector<Array>& map, const std::vector<Array>& coarse)
      : states_(states), form_(variables_of(both(formulas, map))) {
    for (std::size_t k = 0; k < map.size(); ++k) {
      try {
        const std::vector<Term> terms = form_.of(map[k]).terms;
        if (terms.size() == 1) patterns_.push_back({terms.front(), coarse[k]});
      } catch (const NotHandled&) {
        continue;  // a map that is no polynomial
      }
    }
  }
  const std::optional<Array>& of(const Array& array) {
    const auto known = closed_.find(array.place);
    if (known != closed_.end()) return known->second;
    std::optional<Array> found = made(array);
    if (found) found = reshape(*found, array.shape());  // with the names of its axes
    return closed_.emplace(array.place, found).first->second;
  }

 private:
  static std::vector<Array> both(std::vector<Array> a, const std::vector<Array>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  // Asked of every node, so that all of them are gone through once.
  [[nodiscard]] bool reads_states(const Array& array) {
    for (std::size_t place = reads_states_.size(); place <= array.place; ++place) {
      const std::vector<std::size_t>& inputs = array.graph->node(place).inputs;
      reads_states_.push_back(contains(states_, Array{array.graph, place}) ||
                              std::any_of(inputs.begin(), inputs.end(),
                                          [&](std::size_t input) { return reads_states_[input]; }));
    }
    return reads_states_[array.place];
  }

  std::optional<Array> made(const Array& array) {
    if (!reads_states(array)) return array;
    if (std::optional<Array> found = polynomial(array)) return found;
    std::vector<Array> names, closed;
    const Array opened = with_closed_functions(array, names, closed);
    if (!names.empty()) {
      if (const std::optional<Array> found = polynomial(opened))
        return formulas::substituted({*found}, names, closed).front();
    }
    std::vector<Array> inputs;
    for (std::size_t i = 0; i < array.node().inputs.size(); ++i) {
      const std::optional<Array>& input = of(array.input(i));
      if (!input) return std::nullopt;
      inputs.push_back(*input);
    }
    return inputs.empty() ? std::nullopt : std::optional(formulas::same_operation(array, inputs));
  }
  // With variables in the place of functions that close, divisors among them: then J / sqrt(1 + J @ J) is a polynomial.
  Array with_closed_functions(const Array& array, std::vector<Array>& names,
                              std::vector<Array>& closed) {
    const auto named = [&](const Array& function) -> std::optional<Array> {
      const std::optional<Array> found = of(function);
      if (!found || found == function) return found;
      const auto known = std::find(closed.begin(), closed.end(), *found);
      if (known != closed.end()) return names[static_cast<std::size_t>(known - closed.begin())];
      names.push_back(
          array.graph->variable(fmt::format("closed {}", found->place), found->shape()));
      closed.push_back(*found);
      return names.back();
    };
    const auto replacing = [&](const Array& old,
                               const std::vector<Array>& inputs) -> std::optional<Array> {
      const formulas::Operation& operation = *old.node().operation;
      if (old.is("divide")) {
        const std::optional<Array> divisor = named(old.input(1));
        return divisor ? std::optional(broadcast(inputs[0] / *divisor, old.shape())) : std::nullopt;
      }
      const auto polynomial_ones = {"add", "subtract", "negative", "multiply"};
      const bool is_function =
          operation.kind == OperationKind::entrywise && old != array &&
          std::none_of(polynomial_ones.begin(), polynomial_ones.end(),
                       [&](const char* name) { return operation.name == name; });
      return is_function ? named(old) : std::nullopt;
    };
    return formulas::rebuilt({array}, replacing).front();
  }
  std::optional<Array> polynomial(const Array& array) {
    std::vector<Term> terms;
    try {
      for (Term term : form_.of(array).terms) {
        if (!replace(term)) return std::nullopt;
        for (Factor& factor : term.factors) factor.kind = FactorKind::atom;
        terms.push_back(std::move(term));
      }
      return sum_of(terms, array.shape(), *array.graph);
    } catch (const NotHandled&) {
      return std::nullopt;
    }
  }

  // Takes the term apart; false where it is not made of entries of the map.
  bool replace(Term& term) {
    std::size_t first = 0;
    while (first < term.factors.size() && !reads_states(term.factors[first].array)) ++first;
    if (first == term.factors.size()) return true;
    for (const Pattern& pattern : patterns_) {
      for (std::size_t own = 0; own < pattern.term.factors.size(); ++own) {
        Match match{.factors = std::vector<std::size_t>(pattern.term.factors.size(), absent),
                    .labels = {}};
        if (!take(term, pattern, own, first, match)) continue;
        if (complete(term, pattern, 0, match)) return true;
      }
    }
    return false;
  }
  static constexpr std::size_t absent = static_cast<std::size_t>(-1);

  // Lets factor `own` of the pattern stand for a factor of the term.
  static bool take(const Term& term, const Pattern& pattern, std::size_t own, std::size_t factor,
                   Match& match) {
    const Factor& from = pattern.term.factors[own];
    const Factor& to = term.factors[factor];
    if (from.array != to.array || from.kind != to.kind || contains(match.factors, factor))
      return false;
    for (std::size_t axis = 0; axis < from.labels.size(); ++axis) {
      const auto [known, added] = match.labels.emplace(from.labels[axis], to.labels[axis]);
      if (known->second != to.labels[axis]) return false;
    }
    match.factors[own] = factor;
    return true;
  }
  bool complete(Term& term, const Pattern& pattern, std::size_t own, const Match& match) {
    if (own == match.factors.size()) return put(term, pattern, match);
    if (match.factors[own] != absent) return complete(term, pattern, own + 1, match);
    for (std::size_t factor = 0; factor < term.factors.size(); ++factor) {
      Match other = match;
      if (take(term, pattern, own, factor, other) && complete(term, pattern, own + 1, other))
        return true;
    }
    return false;
  }
  // The entry of the map in the place of the factors, if what it sums over is nowhere else.
  bool put(Term& term, const Pattern& pattern, const Match& match) {
    Term made = term;
    made.factors.clear();
    for (std::size_t k = 0; k < term.factors.size(); ++k) {
      if (!contains(match.factors, k)) made.factors.push_back(term.factors[k]);
    }
    std::vector<Label> sums;
    for (const auto& [from, to] : match.labels) {
      if (contains(pattern.term.out, from)) continue;
      if (contains(sums, to) || contains(made.out, to)) return false;
      for (const Factor& factor : made.factors) {
        if (contains(factor.labels, to)) return false;
      }
      sums.push_back(to);
    }
    Factor coarse{.array = pattern.coarse, .labels = {}, .kind = FactorKind::atom};
    for (const Label label : pattern.term.out) {
      const auto to = match.labels.find(label);
      if (to == match.labels.end() || contains(sums, to->second)) return false;
      coarse.labels.push_back(to->second);
    }
    for (const Label label : sums) made.dimensions.erase(label);
    made.factors.push_back(std::move(coarse));
    const std::optional<Coefficient> inverse = pattern.term.coefficient.inverse();
    if (!inverse) return false;
    made.coefficient *= *inverse;
    if (!replace(made)) return false;
    term = std::move(made);
    return true;
  }

  std::vector<Array> states_;
  std::vector<bool> reads_states_;  ///< of the places of the graph
  NormalForm form_;
  std::vector<Pattern> patterns_;
  std::map<std::size_t, std::optional<Array>> closed_;
};

}  // namespace
}  // namespace closure_cpp

Closure closed_in(const std::vector<Array>& formulas, const std::vector<Array>& states,
                  const std::vector<Array>& map, const std::vector<Array>& coarse) {
  Closure closure;
  try {
    closure_cpp::Closing closing(formulas, states, map, coarse);
    for (std::size_t k = 0; k < formulas.size(); ++k) {
      const std::optional<Array>& closed = closing.of(formulas[k]);
      if (!closed) {
        closure.why = fmt::format("that of {} is no formula of the map", coarse[k].node().text);
        return closure;
      }
      closure.formulas.push_back(*closed);
    }
  } catch (const InputError& error) {  // of arrays beyond memory
    closure.why = error.what();
  }
  return closure;
}

}  // namespace popgrad::expectations
