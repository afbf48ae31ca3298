#include "theorems/scan_snap/checks/attended_average.hpp"

#include <span>

#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks {

AttendedClass::AttendedClass(const Vector<double>& law, const Vector<double>& logits,
                             double repetition)
    : law_(law),
      limit_((law.array() * (logits.array() - logits.maxCoeff()).exp()).matrix()),
      table_(std::span(law.data(), static_cast<std::size_t>(law.size()))),
      repetition_(repetition) {
  limit_ /= limit_.sum();
  relative_ = limit_.cwiseQuotient(law_);
  double sum = 0;
  for (const double p : law_) cumulative_.push_back(sum += p);
  cumulative_.back() = 1;
}

double AttendedClass::mean_square() const {
  const Vector<double> squares = (1 + limit_.squaredNorm() - 2 * limit_.array()).matrix();
  return limit_.cwiseProduct(relative_).dot(squares);
}

Vector<double> AttendedClass::bias() const {
  return limit_.cwiseProduct((unevenness() - relative_.array()).matrix());
}

void AttendedClass::draw(Stream& stream, Index drawn, std::vector<std::uint32_t>& counts) const {
  counts.assign(static_cast<std::size_t>(tokens()), 0);
  if (repetition_ == 0) {
    stream.count(table_, static_cast<std::size_t>(drawn), counts);
    return;
  }
  // A token, and then the same again as often as it is repeated.
  for (Index left = drawn; left > 0;) {
    const double run = 1 + std::floor(std::log(stream.uniform()) / std::log(repetition_));
    const Index length = run < static_cast<double>(left) ? static_cast<Index>(run) : left;
    counts[stream.category(cumulative_)] += static_cast<std::uint32_t>(length);
    left -= length;
  }
}

Deviations AttendedClass::sample(Index drawn, std::uint32_t sequences, double outside,
                                 std::uint64_t seed) const {
  const auto n = static_cast<double>(drawn);
  const double band = std::sqrt(std::log(2 / outside) / (2 * n));
  const Vector<double> direction = bias().normalized();
  Deviations found{Matrix<double>(sequences, 2),
                   std::vector<std::uint32_t>(static_cast<std::size_t>(tokens()), 0)};
  std::vector<std::uint32_t> counts;
  Vector<double> attended(tokens());
  for (std::uint32_t k = 0; k < sequences; ++k) {
    throw_if_stopped();
    Stream stream(seed, k, static_cast<std::uint64_t>(drawn));
    draw(stream, drawn, counts);
    for (Index l = 0; l < tokens(); ++l) {
      const auto at = static_cast<std::size_t>(l);
      const double frequency = counts[at] / n;
      if (std::fabs(frequency - law_[l]) > band) ++found.outside[at];
      attended[l] = frequency * relative_[l];
    }
    const double total = attended.sum();
    // X'b - c = linear/total, and linear itself has the mean 0.
    const Vector<double> linear = attended - total * limit_;
    found.samples(k, 0) = n * linear.squaredNorm() / (total * total);
    found.samples(k, 1) = n * linear.dot(direction) * (1 / total - 1);
  }
  return found;
}

}  // namespace popgrad::scan_snap::checks
