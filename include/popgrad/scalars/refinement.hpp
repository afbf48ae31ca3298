#pragma once
/// Sharper measurements, for the second examination of an instance on which a claim was missed.
///
/// What measures asks here how sharp it has to be: solves for their tolerance, means for the number
/// and the seed of their draws, limits for the number of their parameters. A check adds nothing.

#include <cstdint>
#include <string>
#include <vector>

namespace popgrad {

/// What is to be sharper.
struct Sharper {
  bool solves = false, draws = false, limits = false;
  bool digits = false;  ///< in 40 digits where a measurement can be
};
inline constexpr Sharper everything_sharper{
    .solves = true, .draws = true, .limits = true, .digits = true};

/// Measurements on this thread are refined while one lives.
class Refinement {
 public:
  explicit Refinement(Sharper sharper = everything_sharper);
  ~Refinement();
  Refinement(const Refinement&) = delete;
  Refinement& operator=(const Refinement&) = delete;

  /// What was refined since it began: "solves in 40 digits", "solves in double at tolerance 1e-14",
  /// "4 times the draws from a second seed", "limits two parameters further"; empty if nothing
  /// asked.
  [[nodiscard]] std::string made() const;
};

/// Relative tolerance of a solve in double: `usual`, or 1e-14 under a refinement.
double refined_tolerance(double usual);
/// Whether what can be measured in many digits is to be (popgrad/evidence/refined_digits.hpp).
bool refined_to_digits();
/// Draws of an ensemble: `usual`, or four times as many.
std::uint32_t refined_draws(std::uint32_t usual);
/// The seed of an ensemble on the instance of this seed: the same, or one independent of it.
std::uint64_t refined_seed(std::uint64_t instance_seed);
/// largest, largest/factor, ...: `count` parameters of a limit or an order, or two more.
std::vector<double> falling_parameters(double largest, double factor, std::size_t count);

}  // namespace popgrad
