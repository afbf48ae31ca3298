#include "theorems/scan_snap/checks/measuring.hpp"

#include <iterator>
#include <span>

#include "popgrad/scalars/real.hpp"
#include "scalars/linear_algebra.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks {

template <class T>
Vector<T> rates_while_learning(const ReducedFlow<T>& rung, Index tokens, const Vector<T>& state) {
  Vector<T> learning = state;
  learning[rung.layout().pairs()] = T(1) / static_cast<T>(tokens);
  Vector<T> rates(state.size());
  rung.rhs(learning, rates, T(0));
  return rates;
}

template <class T>
TrainingInstance<T> training_in(const TrainingInstance<double>& training) {
  if constexpr (std::is_same_v<T, double>) {
    return training;
  } else {
    TrainingInstance<T> made = training.cast<T>();
    SequenceClasses<T>& classes = made.classes;
    classes.weight /= T(classes.weight.sum());
    for (std::size_t n = 0; n + 1 < classes.first.size(); ++n) {
      auto law = classes.law.segment(classes.first[n], classes.first[n + 1] - classes.first[n]);
      law /= T(law.sum());
    }
    return made;
  }
}

template <class T>
std::vector<Quantity> read_all(const SolvedIn<T>& run, Index count,
                               const std::type_identity_t<FunctionalsIn<T>>& numbers) {
  std::vector<Quantity> values;
  for (std::size_t save = 0; save < run.size(); ++save) {
    const std::vector<Quantity> found =
        run.all_at(save, [&](const Vector<T>& x) -> Vector<T> { return numbers(x).head(count); });
    values.insert(values.end(), found.begin(), found.end());
  }
  return values;
}

template <>
void add_rounding_of_gram(const SolvedIn<double>& run, const ReducedFlow<double>& rung,
                          std::vector<Quantity>& numbers) {
  const Index classes = std::ssize(rung.layout().class_query);
  const std::size_t count = numbers.size() / run.size();
  for (std::size_t save = 0; save < run.size(); ++save) {
    const Vector<double> spectrum = symmetric_eigenvalues<double>(
        gram(rung.layout(), classes, rung.features_at(run.state(save))));
    const double condition = spectrum.maxCoeff() / spectrum.minCoeff();
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(save * count);
    const std::span<Quantity> here(begin, count);
    // An entry of the inverse, known to a share of its norm, times an overlap.
    double largest = (spectrum.maxCoeff() - 1) / spectrum.minCoeff();
    for (const Quantity& number : here) largest = std::max(largest, std::fabs(number.value()));
    for (Quantity& number : here) {
      number.add(ErrorPart::rounding(static_cast<double>(classes) * condition, largest));
    }
  }
}

template <>
void add_rounding_of_gram(const SolvedIn<Real>&, const ReducedFlow<Real>&, std::vector<Quantity>&) {
}

template Vector<double> rates_while_learning(const ReducedFlow<double>&, Index,
                                             const Vector<double>&);
template Vector<Real> rates_while_learning(const ReducedFlow<Real>&, Index, const Vector<Real>&);
template TrainingInstance<double> training_in(const TrainingInstance<double>&);
template TrainingInstance<Real> training_in(const TrainingInstance<double>&);
template std::vector<Quantity> read_all(const SolvedIn<double>&, Index,
                                        const FunctionalsIn<double>&);
template std::vector<Quantity> read_all(const SolvedIn<Real>&, Index, const FunctionalsIn<Real>&);

Quantity norm(const std::vector<Quantity>& numbers) {
  Quantity square;
  for (const Quantity& number : numbers) square = square + number * number;
  const double root = std::sqrt(square.value());
  return mapped(square, root, 1 / (2 * root));
}

Quantity distance(const std::vector<Quantity>& a, const std::vector<Quantity>& b) {
  std::vector<Quantity> difference;
  for (std::size_t i = 0; i < a.size(); ++i) difference.push_back(a[i] - b[i]);
  return norm(difference) / norm(b);
}

void require_equally_likely(Examination& it, const Vector<double>& weight) {
  const double rounding =
      static_cast<double>(weight.size()) * std::numeric_limits<double>::epsilon();
  const double unlike = weight.maxCoeff() / weight.minCoeff() - 1;
  it.require(equally_likely, rounding - unlike, fmt::format("they differ by {:.3g}", unlike));
}

}  // namespace popgrad::scan_snap::checks
