#pragma once
/// The covariance of the gradient of one sample's loss as formulas, where draws are normal or of a finite law:
///
///   Cov g = E Cov(g | k) + Cov E(g | k)
///
/// with k the finite draws: both parts are positive semidefinite, and of polynomials the first has only the
/// pairings that join its two copies, so that nothing is taken off.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "formulas/evaluator.hpp"
#include "learning/loss_arrays.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad::learning {

class DrawCovariance {
 public:
  /// Cost: a recursion (expectations/expectation.hpp) for each pair of states.
  DrawCovariance(const SampleLoss& written, const Parameters& given, std::uint64_t seed);

  /// Empty: it is known. Else why not, and what to change.
  [[nodiscard]] const std::string& why_not() const { return why_; }
  /// Such as "exact over normal draws, 12 terms".
  [[nodiscard]] const std::string& way() const { return way_; }

  /// Evaluates the covariance (n x n) at states x of n numbers.
  class At {
   public:
    explicit At(std::shared_ptr<const DrawCovariance> law);
    const Matrix<double>& operator()(const Vector<double>& x);

   private:
    std::shared_ptr<const DrawCovariance> law_;
    formulas::Evaluator<double> evaluator_;
    Matrix<double> covariance_;
  };

 private:
  // Its lower triangle, a block for each pair of states k >= l.
  struct Block {
    std::size_t k, l;
    Array covariance;
  };
  void derive();

  LossArrays arrays_;
  std::vector<Block> blocks_;
  std::string way_, why_;
};

/// Derives the covariance once for equal parameters and seeds that follow each other. May be called by several threads.
class DerivedCovariance {
 public:
  explicit DerivedCovariance(const SampleLoss& written) : written_(written) {}
  /// Null where the loss reads finite draws only, of few enough values to run through.
  std::shared_ptr<const DrawCovariance> of(const Parameters& given, std::uint64_t seed);

 private:
  SampleLoss written_;
  std::mutex mutex_;
  std::string key_;
  std::shared_ptr<const DrawCovariance> last_;
};

}  // namespace popgrad::learning
