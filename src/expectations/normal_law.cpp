#include "expectations/normal_law.hpp"

#include <algorithm>

namespace popgrad::expectations {
namespace normal_law_cpp {
namespace {

Indexed root(const Indexed& x) { return entrywise("sqrt", {x}); }
Indexed exponential(const Indexed& x) { return entrywise("exp", {x}); }

Indexed over_positive(const Indexed& value, const Indexed& q) {
  return where_positive(q, value / positive_or_one(q), number(q, 0));
}

}  // namespace
}  // namespace normal_law_cpp

Indexed is_apart(const Indexed& determinant, const Indexed& q, const Indexed& s) {
  return entrywise("greater", {determinant, Rational(1, 100'000'000'000'000) * q * s});
}
Indexed where_positive(const Indexed& x, const Indexed& value, const Indexed& otherwise) {
  return entrywise("where", {entrywise("greater", {x, number(x, 0)}), value, otherwise});
}
Indexed positive_or_one(const Indexed& x) { return where_positive(x, x, number(x, 1)); }

const Affine& NormalLaw::affine(const Array& array) {
  const Affine* known = form_.affine(array);
  if (known == nullptr) throw NotHandled("a function of products of draws");
  return *known;
}

bool NormalLaw::reads(const Array& array, std::size_t draw) {
  const std::vector<Affine::Part>& parts = affine(array).parts;
  return std::any_of(parts.begin(), parts.end(),
                     [&](const Affine::Part& part) { return part.draw == draw; });
}

const std::vector<Term>& NormalLaw::covariance(const Array& a, const Array& b) {
  const auto known = covariances_.find({a.place, b.place});
  if (known != covariances_.end()) return known->second;
  TermSum sum;
  const std::size_t axes_of_a = a.shape().size(), axes_of_b = b.shape().size();
  for (const Affine::Part& x : affine(a).parts) {
    for (const Affine::Part& y : affine(b).parts) {
      if (x.draw != y.draw) continue;
      const auto draw = std::find_if(draws_.begin(), draws_.end(), [&](const NormalDraw& normal) {
        return normal.variable.place == x.draw;
      });
      Term term = outer_product(x.coefficient, y.coefficient);
      std::size_t axes = x.coefficient.out.size() - axes_of_a;
      const std::size_t other = x.coefficient.out.size() + axes_of_b;
      if (draw->covariance) {
        --axes;
        term.factors.push_back({.array = *draw->covariance,
                                .labels = {term.out[axes_of_a + axes], term.out[other + axes]},
                                .symmetric = true});
        term.sum_over(other + axes);
      }
      for (std::size_t axis = 0; axis < axes; ++axis) term.identify_axes(axes_of_a + axis, other);
      const auto first = term.out.begin() + static_cast<Index>(axes_of_a);
      term.out.erase(first, first + std::ssize(x.coefficient.out) - static_cast<Index>(axes_of_a));
      sum.add(std::move(term));
    }
  }
  return covariances_.emplace(std::pair{a.place, b.place}, sum.terms()).first->second;
}

WeightedLaw::WeightedLaw(NormalLaw& law, const std::vector<Factor>& functions)
    : law_(law), graph_(*functions.front().array.graph) {
  for (const Factor& factor : functions) {
    if (factor.kind != FactorKind::function) continue;
    if (is_weight(factor.function)) weights_.push_back(factor);
    for (const Factor& other : functions) {
      if (other.array == factor.array && other.labels != factor.labels)
        paired_.insert(factor.array.place);
    }
  }
}

// Of an array that is paired with itself, the diagonal of these covariances: so that the determinant of equal entries
// is exactly 0.
Indexed WeightedLaw::variance_after(std::size_t weights, const Factor& a) {
  if (weights == 0 && paired_.contains(a.array.place)) {
    std::vector<Label> twice = a.labels;
    const Label first = *std::max_element(a.labels.begin(), a.labels.end()) + 1;
    for (std::size_t axis = 0; axis < a.labels.size(); ++axis) twice.push_back(first + axis);
    Entry all = indexed(law_.covariance(a.array, a.array), twice, graph_);
    // Labels were sorted: those of `a`, each once, then the others, one for each of its axes.
    if (all && all->labels.size() == twice.size()) {
      std::vector<Label> sorted = a.labels;
      std::sort(sorted.begin(), sorted.end());
      std::vector<Label> equal = sorted;
      equal.insert(equal.end(), a.labels.begin(), a.labels.end());
      return indexed(all->array, equal);
    }
  }
  const Entry found = covariance_after(weights, a, a);
  return found ? *found : Indexed{graph_.constant(0), {}};
}

Entry WeightedLaw::covariance_after(std::size_t weights, const Factor& a, const Factor& b) {
  if (weights == 0) {
    std::vector<Label> labels = a.labels;
    labels.insert(labels.end(), b.labels.begin(), b.labels.end());
    return indexed(law_.covariance(a.array, b.array), labels, graph_);
  }
  const std::size_t before = weights - 1;
  const Factor& w = weights_[before];
  const bool same = a.array == b.array && a.labels == b.labels;
  const Entry own = same ? Entry(variance_after(before, a)) : covariance_after(before, a, b);
  if (w.function == Function::exponential) return own;
  const Entry products = product(covariance_after(before, a, w), covariance_after(before, w, b));
  if (!products) return own;
  // Over one denominator, so that what is fixed by the weight has variance 0 exactly.
  const Indexed q = variance_after(before, w);
  const Entry determinant = difference(product(q, own), products);
  if (w.function == Function::delta && same && own) {
    return entrywise("where", {is_apart(*determinant, q, *own), *determinant / positive_or_one(q),
                               number(q, 0)});
  }
  if (w.function == Function::delta) return normal_law_cpp::over_positive(*determinant, q);
  const Indexed scale = Rational(1) + Rational(2) * q;
  return *sum(own, Rational(2) * *determinant) / scale;
}

Entry WeightedLaw::reduction(std::size_t k) {
  const Indexed q = variance_after(k, weights_[k]);
  if (weights_[k].function == Function::delta)
    return normal_law_cpp::over_positive(number(q, 1), q);
  if (weights_[k].function == Function::gaussian)
    return Rational(2) / (Rational(1) + Rational(2) * q);
  return std::nullopt;
}

Entry WeightedLaw::shift_by(std::size_t k) {
  if (weights_[k].function == Function::exponential) return Indexed{graph_.constant(1), {}};
  const Entry mean = mean_after(k, weights_[k]);
  if (!mean) return std::nullopt;
  return -*product(reduction(k), mean);
}

Entry WeightedLaw::mean_after(std::size_t weights, const Factor& a) {
  Entry mean = indexed(law_.affine(a.array).offset, a.labels, graph_);
  for (std::size_t k = 0; k < weights; ++k)
    mean = sum(mean, product(shift_by(k), covariance_after(k, a, weights_[k])));
  return mean;
}

std::vector<Indexed> WeightedLaw::mass() {
  using namespace normal_law_cpp;
  std::vector<Indexed> factors;
  for (std::size_t k = 0; k < weights_.size(); ++k) {
    const Indexed q = variance_after(k, weights_[k]);
    const Entry mean = mean_after(k, weights_[k]);
    const Entry squared = product(mean, mean);
    if (weights_[k].function == Function::exponential) {
      factors.push_back(exponential(*sum(mean, Rational(1, 2) * q)));
      continue;
    }
    const bool is_delta = weights_[k].function == Function::delta;
    const Indexed scale =
        is_delta ? Rational(2) * positive_or_one(q) : Rational(1) + Rational(2) * q;
    Indexed factor = Rational(1) / root(is_delta ? Indexed{graph_.pi(), {}} * scale : scale);
    if (squared) factor = factor * exponential(-(*squared / scale));
    factors.push_back(is_delta ? where_positive(q, factor, number(q, 0)) : factor);
  }
  return factors;
}

Entry WeightedLaw::part_of_weight(std::size_t k, std::size_t l) {
  if (l == k) return Indexed{graph_.constant(1), {}};
  // Couplings of the weights before k.
  Entry part;
  for (std::size_t m = l; m < k; ++m) {
    const Entry reduced = product(reduction(m), part_of_weight(m, l));
    part = difference(part, product(reduced, covariance_after(m, weights_[k], weights_[m])));
  }
  return part;
}

Entry WeightedLaw::shift(std::size_t k) {
  Entry total;
  for (std::size_t m = k; m < weights_.size(); ++m)
    total = sum(total, product(shift_by(m), part_of_weight(m, k)));
  return total;
}
Entry WeightedLaw::coupling(std::size_t k, std::size_t l) {
  Entry total;
  for (std::size_t m = std::max(k, l); m < weights_.size(); ++m)
    total = sum(total, product(reduction(m), product(part_of_weight(m, k), part_of_weight(m, l))));
  return total;
}

}  // namespace popgrad::expectations
