#pragma once
/// Rungs gd and noisy-lumped under the three-part algorithm, or that of transfer: the law of the
/// dense ones without T.
///
/// Part 1 is LumpedDescent; with `transfer` V stays, and the law of the rest is exact as before. At
/// the threshold the rest of a^k is m + r u with u uniform on the centred unit sphere,
///   u_t^2 n/(n - 1) ~ Beta(1/2, (n - 2)/2):
/// nothing survives where n times the tail is below 1e-12, otherwise u is drawn in two passes
/// (n <= 10^6), or only its large entries and the sums of the others by the central limit theorem,
/// which changes the law by O(n^{-1/2}).
/// In part 2 the rest is n0 positions of an equal value c (zero as soon as there is noise) and a
/// list of the others. With eta_2 times the rate of attention for eta_2, and
///   s   = eta_2 sigma_{A,k}/sqrt(B)
///   b   = -eta_2 (<V,P> - S <V,V>)/T
///   th  = eta_2 lambda
///   rho = 1 - eta_2 <V,V>
///   hu  = (th - rho c - b)/s
///   hl  = (th + rho c + b)/s
/// a step is
///   support  a <- soft(rho a + eta_2 q <V,P> + b + s z, th)
///   listed   a <- soft(rho a + b + s z, th), zeros dropped
///   equal    K+ ~ Bin(n0, P[g > hu])                      become s (g - hu), g of the tail g > hu
///            K- ~ Bin(n0 - K+, P[g > hl] / P[g < hu])     become -s (g - hl), g of the tail g > hl
///            the others become c = 0; without noise all become c = soft(rho c + b, th)
/// Derived here. State of part 2: V, then for each token its support, the common value of the rest,
/// the length of its list and the list; at the end the part and the steps taken in it. Its length
/// varies. Cost of a step O(N^2 + N Q + nonzeros) for any T; the nonzeros stay few where
///   lambda sqrt(B)/sigma_A > sqrt(2 ln T), about.

#include <span>
#include <string>
#include <vector>

#include "theorems/scb/rungs/lumped_descent.hpp"
#include "theorems/scb/rungs/schedule.hpp"

namespace popgrad::scb {

class LumpedThreePart final {
 public:
  using Scalar = double;
  static constexpr bool varying_length = true;

  /// Linear attention, projected; throws InputError otherwise.
  LumpedThreePart(Training<double> training, Schedule schedule, NoiseLevels levels);

  [[nodiscard]] Index dimension() const { return boost_.dimension() + 2; }
  [[nodiscard]] Vector<double> initial() const;
  /// Those of the rung, then `part` and `nonzeros`, the number of nonzero entries of A.
  [[nodiscard]] std::vector<std::string> columns() const;
  /// Of part 1.
  [[nodiscard]] std::vector<std::string> state_names() const;
  /// The expected direction in part 1; zero after it.
  void rhs(const Vector<double>& x, Vector<double>& dx, const double& t) const;
  /// One step of the schedule in place; `step` is eta_1. Batch 0: no noise. Throws InputError if
  /// more positions leave zero than memory holds.
  void sample_step(Vector<double>& x, double step, Stream& stream, Index batch) const;
  /// Why a walk here has diverged; empty if it has not.
  [[nodiscard]] std::string divergence(const Vector<double>& x, double step, Index batch) const;
  void observe(const Vector<double>& x, const double& t, std::span<double> row) const;

 private:
  /// a^k in part 2.
  struct Attention {
    Vector<double> support;
    double common = 0;           ///< value of the positions that are not listed
    double unlisted = 0;         ///< number of these
    std::vector<double> listed;  ///< the others off the support
    [[nodiscard]] double rest_mass() const;
    [[nodiscard]] double rest_size() const;
    [[nodiscard]] double mass() const { return support.sum() + rest_mass(); }
    void divide(double by);
  };
  [[nodiscard]] std::vector<Attention> unpack(const Vector<double>& x) const;
  void pack(const std::vector<Attention>& attention, Vector<double>& x) const;
  /// Entries of the rest that reach the threshold.
  [[nodiscard]] std::vector<double> survivors(double m, double r, Index rest, Stream& stream) const;
  [[nodiscard]] std::vector<double> far_survivors(double m, double r, double n,
                                                  Stream& stream) const;
  void begin_l1(Vector<double>& x, Stream& stream) const;
  void l1_step(Vector<double>& x, Stream& stream, Index batch) const;
  void normalise(Vector<double>& x) const;

  Training<double> training_;
  Schedule schedule_;
  NoiseLevels levels_;
  LumpedDescent boost_;
  double transition_size_, context_size_;
  double goal_;  ///< alpha_A at which part 1 ends
  ValueProducts<double> products_;
  // Scratch of part 2.
  mutable Vector<double> mean_value_;  ///< V mu
  mutable ValueNoise noise_;
};

}  // namespace popgrad::scb
