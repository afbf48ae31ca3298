#include "expectations/expectation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "expectations/contraction.hpp"
#include "expectations/normal_form.hpp"
#include "expectations/term.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad::expectations {
namespace expectation_cpp {
namespace {

constexpr std::size_t most_states = 20000;

// Factors of each variable.
std::map<std::size_t, std::size_t> degrees_of(const Term& term) {
  std::map<std::size_t, std::size_t> degrees;
  for (const Factor& factor : term.factors) {
    if (factor.kind == FactorKind::draw) ++degrees[factor.array.place];
  }
  return degrees;
}

std::size_t degree_of(const Term& term) {
  return static_cast<std::size_t>(
      std::count_if(term.factors.begin(), term.factors.end(),
                    [](const Factor& f) { return f.kind == FactorKind::draw; }));
}

// 0 where a variable is there an odd number of times.
double pairings_of(const Term& term) {
  double product = 1;
  for (const auto& [place, degree] : degrees_of(term)) {
    if (degree % 2 == 1) return 0;
    for (std::size_t k = 3; k < degree; k += 2) product *= static_cast<double>(k);
  }
  return product;
}

// All pairs of the first draw of the variable of least degree.
void add_pairs(const Term& term, const std::vector<NormalDraw>& normals, TermSum& to) {
  const std::map<std::size_t, std::size_t> degrees = degrees_of(term);
  const auto least =
      std::min_element(degrees.begin(), degrees.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto is_of_it = [&](const Factor& factor) {
    return factor.kind == FactorKind::draw && factor.array.place == least->first;
  };
  const auto draw = std::find_if(normals.begin(), normals.end(), [&](const NormalDraw& normal) {
    return normal.variable.place == least->first;
  });
  const auto first = std::find_if(term.factors.begin(), term.factors.end(), is_of_it);
  for (auto partner = std::next(first); partner != term.factors.end(); ++partner) {
    if (!is_of_it(*partner)) continue;
    Term paired = term;
    paired.factors.erase(paired.factors.begin() + (partner - term.factors.begin()));
    paired.factors.erase(paired.factors.begin() + (first - term.factors.begin()));
    std::vector<std::pair<Label, Label>> pairs;
    const std::size_t axes = first->labels.size() - (draw->covariance ? 1 : 0);
    if (draw->covariance)
      paired.factors.push_back({.array = *draw->covariance,
                                .labels = {first->labels[axes], partner->labels[axes]},
                                .symmetric = true});
    for (std::size_t axis = 0; axis < axes; ++axis)
      pairs.emplace_back(first->labels[axis], partner->labels[axis]);
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const auto [kept, gone] = pairs[k];
      paired.identify(kept, gone);
      for (auto& [a, b] : pairs) {
        if (a == gone) a = kept;
        if (b == gone) b = kept;
      }
    }
    to.add(std::move(paired));
  }
}

}  // namespace
}  // namespace expectation_cpp

Expectation expectation(const formulas::Array& formula, const std::vector<NormalDraw>& normals) {
  using namespace expectation_cpp;
  Expectation result;
  try {
    std::vector<Array> variables;
    for (const NormalDraw& normal : normals) variables.push_back(normal.variable);
    NormalForm form(variables);
    for (const NormalDraw& normal : normals) {
      if (normal.covariance && form.drawn(*normal.covariance))
        throw NotHandled("a covariance depends on normal draws");
    }
    const Polynomial polynomial = collected(form.of(formula), *formula.graph);
    std::map<std::size_t, TermSum> by_degree;
    for (const Term& term : polynomial.terms) {
      const double pairings = pairings_of(term);
      result.pairings += pairings;
      if (pairings > 0) by_degree[degree_of(term)].add(term);
    }
    if (result.pairings > most_pairings)
      throw NotHandled(fmt::format("it has {:.3g} pairings of draws, more than {:g}",
                                   result.pairings, most_pairings));
    std::size_t states = 0;
    while (!by_degree.empty() && by_degree.rbegin()->first > 0) {
      const auto highest = by_degree.extract(std::prev(by_degree.end()));
      for (const Term& term : highest.mapped().terms()) {
        if (++states > most_states)
          throw NotHandled(fmt::format("its expectation has more than {} terms", most_states));
        add_pairs(term, normals, by_degree[highest.key() - 2]);
      }
    }
    const std::vector<Term> terms = by_degree.empty() ? std::vector<Term>{} : by_degree[0].terms();
    result.terms = terms.size();
    result.mean = sum_of(terms, formula.shape(), *formula.graph);
  } catch (const NotHandled& reason) {
    result.why = reason.what();
  } catch (const InputError& error) {  // of arrays beyond memory, or of divisions by 0
    result.why = error.what();
  }
  return result;
}

}  // namespace popgrad::expectations
