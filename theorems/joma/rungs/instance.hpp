#pragma once
/// Data laws of JoMA: token laws of the classes, or given gradients of the reduced dynamics.

#include <cstdint>

#include "popgrad/rungs/parameters.hpp"
#include "popgrad/scalars/vector.hpp"
#include "theorems/joma/rungs/activation.hpp"
#include "theorems/joma/rungs/attention.hpp"
#include "theorems/joma/rungs/joint_direction.hpp"

namespace popgrad::joma {

/// Class-conditional token laws and the start of training; rungs sgd, gd, flow.
/// Units: z and v are logits; one step of size eta advances the clock by eta.
template <class T>
struct ClassInstance {
  Matrix<T> token_law;  ///< X (M_C x C): column c is the law of contextual tokens in class c
  Vector<T> class_law;  ///< (C), sums to 1
  Matrix<T> weights;    ///< v(0) = [U_C, u_q]'W(0): (M_C + 1) x K, or M_C x K without residual
  Vector<T> logits;     ///< z(0), (M_C)
  Matrix<T> decoder;    ///< output layer (C x K); empty: the hidden units are the class logits
  T temperature{1};
  T label_noise{0};  ///< probability that a label is replaced by one drawn uniformly from all C
  Attention attention = Attention::exp;
  Activation phi = Activation::linear;
  FeatureMap<T> features;
  Index length = 0;  ///< tokens drawn a sample; 0: x is the law itself (infinitely long context)

  [[nodiscard]] Index tokens() const { return token_law.rows(); }
  [[nodiscard]] Index classes() const { return token_law.cols(); }
  [[nodiscard]] Index units() const { return weights.cols(); }

  template <class U>
  [[nodiscard]] ClassInstance<U> cast() const {
    ClassInstance<U> other;
    other.token_law = token_law.template cast<U>();
    other.class_law = class_law.template cast<U>();
    other.weights = weights.template cast<U>();
    other.logits = logits.template cast<U>();
    other.decoder = decoder.template cast<U>();
    other.temperature = U(temperature);
    other.label_noise = U(label_noise);
    other.attention = attention;
    other.phi = phi;
    other.features = {features.residual, features.normalise, features.gram.template cast<U>(),
                      U(features.share)};
    other.length = length;
    return other;
  }
};

/// Given expected gradients; rungs stationary, reduced, attended, closed-form.
template <class T>
struct ReducedInstance {
  Matrix<T> target;        ///< (M_C x K): Delta (linear phi) or mu (nonlinear phi)
  bool nonlinear = false;  ///< F = mu - v rather than F = Delta
  /// F = mu - a o v: attention also scales what phi' is taken at; only for exp attention.
  bool attended = false;
  Matrix<T> start;   ///< v(0), (M_C x K)
  Vector<T> logits;  ///< z(0), (M_C); stationary rung and linear attention
  T tau{2};          ///< 2 temperature^2
  Attention attention = Attention::exp;

  [[nodiscard]] Index tokens() const { return target.rows(); }
  [[nodiscard]] Index units() const { return target.cols(); }
  [[nodiscard]] T temperature() const {
    using std::sqrt;
    return sqrt(T(tau / T(2)));
  }

  template <class U>
  [[nodiscard]] ReducedInstance<U> cast() const {
    ReducedInstance<U> other;
    other.target = target.template cast<U>();
    other.nonlinear = nonlinear;
    other.attended = attended;
    other.start = start.template cast<U>();
    other.logits = logits.template cast<U>();
    other.tau = U(tau);
    other.attention = attention;
    return other;
  }
};

/// The two token laws of the authors' invariant experiment (M_C = 20, K = 20).
enum class TokenLaw { gaussian, uniform };

/// M_C = K = 20, start N(0, 0.01^2), softmax at temperature 1/2. X by rows, columns normalised:
///   rows 10..19  uniform in (0, 1/2)
///   rows 0..9    exp(-(l - 10 i/20)^2 / 30), or uniform too
/// W has 30 rows of which 21 meet the embeddings; the others never move and are left out.
ClassInstance<double> invariant_instance(TokenLaw law, std::uint64_t seed);

/// d = 10, mu = sorted 1 + 3 U(0,1), v(0) = 0.05, tau = 3, softmax clock: the
/// authors' entropy experiment.
ReducedInstance<double> entropy_instance(std::uint64_t seed);

/// From named parameters (`X`, `W0`, `z0`, ... as in instance files). Throws InputError.
template <class T>
ClassInstance<T> class_instance(const Parameters& parameters, std::uint64_t seed);
template <class T>
ReducedInstance<T> reduced_instance(const Parameters& parameters, std::uint64_t seed);

/// Delta = E[g_k phi' x] at the start of training (M_C x K): what Assumption 1 freezes.
template <class T>
Matrix<T> initial_mean_gradient(const ClassInstance<T>& instance);

}  // namespace popgrad::joma
