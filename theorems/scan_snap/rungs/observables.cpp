#include "theorems/scan_snap/rungs/observables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "popgrad/base/error.hpp"
#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/real.hpp"
#include "scalars/linear_algebra.hpp"
#include "theorems/scan_snap/rungs/features.hpp"

namespace popgrad::scan_snap {

template <class T>
OverlapExtremes<T> overlap_extremes(const Matrix<T>& gram) {
  using std::abs;
  if constexpr (Ordered<T>) {
    const Vector<T> eigenvalues = symmetric_eigenvalues<T>(gram).array() - T(1);
    T least = abs(eigenvalues[0]);
    for (const T& lambda : eigenvalues) {
      const T size = abs(lambda);
      if (size < least) least = size;
    }
    return {eigenvalues[eigenvalues.size() - 1], least};
  } else {
    return {T(0), T(0)};
  }
}

template <class T>
Observer<T>::Observer(const TrainingInstance<T>& instance, const Layout& layout,
                      Vector<T> start_logits)
    : start_logits_(std::move(start_logits)) {
  const SequenceClasses<T>& classes = instance.classes;
  columns_.add("loss", [](const Readings& of) { return of.at.loss; });
  columns_.add("accuracy", [](const Readings& of) { return of.at.accuracy; });
  for (Index n = 0; n < classes.classes(); ++n) {
    const auto place = static_cast<std::size_t>(n);
    const auto begin = layout.entry_distinct.begin() + classes.first[place];
    const auto end = layout.entry_distinct.begin() + classes.first[place + 1];
    columns_.add(fmt::format("entropy_{}", n),
                 [place](const Readings& of) { return of.entropies[place].first; });
    if (std::find(begin, end, true) != end) {
      columns_.add(fmt::format("distinct_entropy_{}", n),
                   [place](const Readings& of) { return of.entropies[place].second; });
    }
    columns_.add(fmt::format("xi_{}", n), [n](const Readings& of) { return of.at.xi[n]; });
    if (instance.track_growth) {
      columns_.add(fmt::format("B_{}", n), [n](const Readings& of) { return of.at.B[n]; });
    }
  }
  columns_.add("lambda_max_E", [](const Readings& of) { return of.at.overlaps.largest; });
  columns_.add("lambda_min_abs_E", [](const Readings& of) { return of.at.overlaps.least_modulus; });
  for (const auto& [n, token] : instance.watched) {
    const auto begin = classes.token.begin() + classes.first[static_cast<std::size_t>(n)];
    const auto end = classes.token.begin() + classes.first[static_cast<std::size_t>(n + 1)];
    const auto found = std::lower_bound(begin, end, token);
    if (found == end || *found != token) {
      reject("scan-snap", "--watch", fmt::format("{}:{}", n, token),
             fmt::format("names a token that class {} does not have", n));
    }
    const Index entry = found - classes.token.begin();
    const Index pair = layout.entry_pair[static_cast<std::size_t>(entry)];
    columns_.add(fmt::format("f_{}_{}", n, token),
                 [entry](const Readings& of) { return of.at.f[entry]; });
    columns_.add(fmt::format("chi_{}_{}", n, token), [pair](const Readings& of) {
      using std::exp;
      return T(exp(T(T(2) * (of.at.z[pair] - of.start_logits[pair]))));
    });
  }
}

template <class T>
std::vector<ObservableInfo> Observer<T>::observables() {
  return {
      {"loss", "`sum_n w_n (-ln alpha_n(next))`; on `reduced` `ln(1 + (M-1) exp(-M h))`",
       "`>= 0`, nats", "cross entropy; `ln M` at the zero start"},
      {"accuracy",
       "`sum_n w_n` Pr(argmax `alpha_n` is the next token), ties broken by lot; on `reduced` `1/M` "
       "at `h "
       "= "
       "0`, then 1",
       "[0, 1]", "share of right answers"},
      {"entropy_N", "`-sum_l c_N(l) ln c_N(l)`", "0 to ln of the tokens of class `N`, nats",
       "spread of attention"},
      {"distinct_entropy_N",
       "the same of `c_N` on its distinct tokens, renormalised; absent if the class has none",
       "0 to ln of these, nats", "how sparse attention on distinct tokens is"},
      {"xi_N",
       "`a_N - f_N.g_N`, `a_N` the coefficient of `f_N` in the least-squares fit of `g_N` on `F`; "
       "on "
       "`reduced` "
       "`gamma sum_{j != N} beta_Nj f_N.f_j`",
       "real", "growth rate of Theorem 1; `> 0`: distinct tokens gain"},
      {"B_N", "`B_N' = eta_Z w_N xi_N`, from 0; `K w_N` for `w_N` with `--reading paper`", "real",
       "exponent of Theorem 3; with `--track-growth` (default: at most 32 classes and `Y(0) = 0`; "
       "on "
       "`sgd` if asked for)"},
      {"lambda_max_E", "largest eigenvalue of `E = F'F - I`", "0 to `K - 1`",
       "overlap of classes; Assumption 2: `< 1/K`"},
      {"lambda_min_abs_E", "`min_i abs(lambda_i(E))`", "`>= 0`",
       "eigenvalue of `E` nearest to 0; Assumption 2: `>= 6/sqrt(M)`"},
      {"f_N_L", "component `L` of `f_N`", "[0, 1]", "with `--watch N:L`"},
      {"chi_N_L", "`exp(2 (z_mL(t) - z_mL(0)))`, `m = psi(N)`", "`> 0`",
       "growth factor of Theorem 3, with `--watch N:L`"},
  };
}

template <class T>
void Observer<T>::write(const SequenceClasses<T>& classes, const Layout& layout,
                        const Snapshot<T>& at, std::span<T> row) const {
  std::vector<std::pair<T, T>> entropies;
  entropies.reserve(static_cast<std::size_t>(classes.classes()));
  for (Index n = 0; n < classes.classes(); ++n) {
    entropies.push_back(attention_entropies(classes, layout, at.f, n));
  }
  columns_.write({at, std::move(entropies), start_logits_}, row);
}

template OverlapExtremes<double> overlap_extremes(const Matrix<double>&);
template OverlapExtremes<Real> overlap_extremes(const Matrix<Real>&);
template OverlapExtremes<Expression> overlap_extremes(const Matrix<Expression>&);
std::vector<ObservableInfo> decoder_observables() {
  return {{"h", "`h' = (1/K) eta_Y/(M - 1 + exp(M h))`, `h(0) = 0`", "`>= 0`",
           "scale of the decoder: the label's logit exceeds the others by `M h`"},
          {"gamma", "`(M-1)^2 h/(M - 1 + exp(M h))`", "`>= 0`",
           "how strongly the decoder drives attention"}};
}

template class Observer<double>;
template class Observer<Real>;
template class Observer<Expression>;

}  // namespace popgrad::scan_snap
