#pragma once
/// Closed forms of the decoder: h, gamma, their integral, and what a common token loses.
///
/// Every draw of class n adds to one number h of that class; from Y = 0 and orthonormal features
///   w_n           = (M-1) h* zeta_n
///   zeta_n        = M/(M-1) (e_n - 1/M)
///   e_n - alpha_n = (M-1)/(M - 1 + exp(M h*)) zeta_n
///   h*(s+1)       = h*(s) + rate(h*(s))
///   rate(h)       = eta_Y / (M - 1 + exp(M h))
/// and in continuous time
///   h' = rate(h).
/// Clock: s = t/K draws of the class after t draws in all.
/// Source: arXiv 2305.16380, Lemmas 5 to 9, Theorem 4.

#include <cmath>

#include "popgrad/scalars/scalar.hpp"

namespace popgrad::scan_snap {

/// h'(s) = eta_Y / (M - 1 + exp(M h)).
template <Transcendental T>
T decoder_rate_of(const T& vocabulary, const T& decoder_rate, const T& h) {
  using std::exp;
  return decoder_rate / (vocabulary - T(1) + exp(T(vocabulary * h)));
}

/// gamma(h) = (M-1)^2 h / (M - 1 + exp(M h)): how strongly the decoder drives attention.
template <Transcendental T>
T backprop_scale(const T& vocabulary, const T& h) {
  using std::exp;
  const T others = vocabulary - T(1);
  return others * others * h / (others + exp(T(vocabulary * h)));
}

/// h(s), s >= 0 draws of the class (Lemma 6):
///   exp(M h) + (M-1) M h = M eta_Y s + 1
/// Accurate to rounding for tiny and for huge s; Newton from above on a convex function.
/// Throws InputError for M < 2, eta_Y <= 0, s < 0. double and Real.
template <class T>
T decoder_scale(const T& vocabulary, const T& decoder_rate, const T& draws);

/// h*(s) after whole draws. Cost O(draws).
template <Transcendental T>
T discrete_decoder_scale(const T& vocabulary, const T& decoder_rate, long draws) {
  T h(0);
  for (long s = 0; s < draws; ++s) h = h + decoder_rate_of(vocabulary, decoder_rate, h);
  return h;
}

/// One token shared by all K classes, K_m of each query; the other tokens are distinct. To leading
/// order in K f_c^2.
template <class T>
struct CommonToken {
  T vocabulary;              ///< M
  T decoder_rate;            ///< eta_Y
  T attention_rate;          ///< eta_Z
  int classes = 0;           ///< K
  int classes_of_query = 0;  ///< K_m
  T component;               ///< f_c: the token's part of every f_n at the start, in (0, 1)
  T weight;                  ///< w of a class in z': 1/K, or 1 as Eqn 10 of the paper reads

  /// C0 = 1/((K - 1) f_c^4).
  [[nodiscard]] T scale() const {
    const T square = component * component;
    return T(1) / (T(classes - 1) * square * square);
  }
  /// rho_0^4/K with rho_0 = 1/f_c, as Section 6 of the paper has it.
  [[nodiscard]] T scale_of_paper() const {
    const T square = component * component;
    return T(1) / (T(classes) * square * square);
  }
};

/// Gamma = eta_Z int_0^t gamma = (eta_Z/eta_Y) K (M-1)^2 h^2 / 2.
template <class T>
T accumulated_scale(const CommonToken<T>& token, const T& h) {
  const T others = token.vocabulary - T(1);
  return token.attention_rate / token.decoder_rate * T(token.classes) * others * others * h * h /
         T(2);
}

/// B_n = ln(1 + 4 w K_m Gamma / C0) / (4 K_m), corrected Theorem 4.
template <Transcendental T>
T growth_exponent(const CommonToken<T>& token, const T& accumulated) {
  using std::log;
  const T members(token.classes_of_query);
  return log(T(T(1) + T(4) * token.weight * members * accumulated / token.scale())) /
         (T(4) * members);
}

/// As Theorem 4 prints it: ln(C0 + 4 Gamma) / 4, with the C0 of the paper.
template <Transcendental T>
T growth_exponent_of_paper(const CommonToken<T>& token, const T& accumulated) {
  using std::log;
  return log(T(token.scale_of_paper() + T(4) * accumulated)) / T(4);
}

/// Theorem 4 with its constant corrected only, the integral from 0 of Eqn 13 as printed:
///   ln(1 + 4 Gamma/C0)/4
/// with the C0 of the paper; of another exponent of e^(4z) in Eqn 13, `exponent` in place of 4.
template <Transcendental T>
T growth_exponent_of_eqn_13(const CommonToken<T>& token, const T& accumulated,
                            const T& exponent = T(4)) {
  using std::log1p;
  return log1p(T(exponent * accumulated / token.scale_of_paper())) / exponent;
}

/// z of the common token: z' = -w K_m eta_Z gamma exp(4 z) / C0, so z = -K_m B.
template <Transcendental T>
T common_logit(const CommonToken<T>& token, const T& accumulated) {
  return -(T(token.classes_of_query) * growth_exponent(token, accumulated));
}

/// The two regimes of h and gamma in s draws of the class (Lemma 9), linear rise, then logarithm:
///   h     ~ eta_Y s/M  ->  ln(M eta_Y s)/M
///   gamma ~ eta_Y s    ->  ln(M eta_Y s)/(eta_Y s)
template <Transcendental T>
T early_decoder_scale(const T& vocabulary, const T& decoder_rate, const T& draws) {
  return decoder_rate * draws / vocabulary;
}
template <Transcendental T>
T late_decoder_scale(const T& vocabulary, const T& decoder_rate, const T& draws) {
  using std::log;
  return log(T(vocabulary * decoder_rate * draws)) / vocabulary;
}
template <Transcendental T>
T late_backprop_scale(const T& vocabulary, const T& decoder_rate, const T& draws) {
  using std::log;
  return log(T(vocabulary * decoder_rate * draws)) / (decoder_rate * draws);
}

/// M h at which exp(M h) overtakes (M-1) M h: x = (1 + omega1) ln M, the larger root of
///   e^x = (M-1) x
/// Throws InputError for M < 4, where there is none.
template <class T>
T crossover(const T& vocabulary);

/// t0 = 2 (1 + omega1) K ln M / eta_Y: the time of the crossover up to O(1/M).
template <class T>
T transition_time(const T& vocabulary, const T& decoder_rate, int classes) {
  return T(2) * crossover(vocabulary) * T(classes) / decoder_rate;
}

}  // namespace popgrad::scan_snap
