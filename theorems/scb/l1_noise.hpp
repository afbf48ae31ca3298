#pragma once
/// Noise that l1 steps leave off the supports, and the batch that keeps it at a given size.
///
/// Where l1 steps on expected gradients have settled, a position off the support of token k is a
/// chain of its own,
///   a <- soft(rho a + s z, h s),  rho = 1 - eta <V,V>,  s = eta level/sqrt(B)
///   h = lambda sqrt(B)/level,  level = sigma_{A,k} sqrt(<V,V>/K_P)
/// up to O(1/T), from a = 0. With g(h) = E (a/s)^2 after some steps, by quadrature of its law,
///   X = E sum_k mu_k sum_{t off} (a^k_t)^2 = sum_k mu_k (T - Q_k) s^2 g(h).
/// Since g falls as exp(-h^2/2), the batch for a given X is, as T grows,
///   B = (2 level^2/lambda^2) (ln T - O(ln ln T)). Derived here.

#include "popgrad/scb/lumped_three_part.hpp"
#include "popgrad/scb/noise.hpp"
#include "popgrad/statement.hpp"

namespace popgrad::theorems::scb {

/// E u^2 after `steps` steps u <- soft(rho u + z, h) from 0; part: enclosure, from half the spacing.
Quantity soft_noise(double h, double rho, int steps);

class L1Noise {
 public:
  /// lambda = `weight`.
  L1Noise(const popgrad::scb::Bigrams<double>& bigrams, double weight);

  /// X; parts: enclosure, and as next order what the creep of <V,V> during the noise, the noise of V
  /// and the mean that is taken off change it by.
  [[nodiscard]] Quantity derived(double positions, double batch) const;
  /// The batch at which lambda sqrt(B) over the largest sigma_A is `reach`.
  [[nodiscard]] double batch_of(double reach) const;
  /// The batch, in a context of so many positions, at which `derived` is `square`; by bisection.
  [[nodiscard]] double batch_for(double positions, double square) const;
  /// Of runs of the rung noisy-lumped (runs x 1).
  [[nodiscard]] Matrix<double> squares(double positions, Index batch, std::uint32_t runs,
                                       std::uint32_t first_run, const Setting& setting) const;

 private:
  /// X where <V,V> is `square`.
  [[nodiscard]] Quantity at(double square, double positions, double batch) const;
  [[nodiscard]] popgrad::scb::LumpedThreePart rung(double positions) const;
  /// The state of a rung after l1 steps on expected gradients; <V,V> there.
  [[nodiscard]] Vector<double> settled(const popgrad::scb::LumpedThreePart& rung) const;
  [[nodiscard]] double square_of(const Vector<double>& x) const;

  popgrad::scb::Bigrams<double> bigrams_;
  popgrad::scb::NoiseLevels levels_;
  double weight_;
  double step_;  ///< eta
  double transition_size_, context_size_;
  double square_ = 0, later_square_ = 0;  ///< <V,V> before and after the steps with noise
};

}  // namespace popgrad::theorems::scb
