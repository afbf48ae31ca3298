#include "popgrad/walks/ensemble.hpp"

#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <stdexcept>

#include "popgrad/base/stop.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/statistics/statistics.hpp"

namespace popgrad {
namespace {

constexpr std::uint32_t stream_of_deviations = 0xC0FA0000U;

}  // namespace

SampleMoments sample_moments(const Matrix<double>& samples, double false_alarm) {
  const Index runs = samples.rows();
  if (runs < 4) throw std::invalid_argument("sample_moments: at least four runs");
  const auto n = static_cast<double>(runs);
  const double looks = 2.0 * static_cast<double>(samples.cols());
  const double of_means = two_sided_student_bound(n - 1, false_alarm, looks);
  const double of_variances = two_sided_normal_bound(false_alarm, static_cast<int>(looks));
  SampleMoments moments;
  for (Index k = 0; k < samples.cols(); ++k) {
    const double mean = samples.col(k).mean();
    double square = 0;
    double fourth = 0;
    for (Index i = 0; i < runs; ++i) {
      const double deviation = std::pow(samples(i, k) - mean, 2);
      square += deviation;
      fourth += deviation * deviation;
    }
    const double variance = square / (n - 1);
    moments.mean.push_back({mean, {ErrorPart::sampling(of_means, std::sqrt(variance / n))}});
    const double excess = std::max(0.0, fourth / n - variance * variance);
    moments.variance.push_back(
        {variance, {ErrorPart::sampling(of_variances, std::sqrt(excess / n))}});
  }
  return moments;
}

Quantity success_probability(std::uint32_t successes, std::uint32_t runs, double false_alarm) {
  using boost::math::binomial_distribution;
  const double low = successes == 0 ? 0.0
                                    : binomial_distribution<>::find_lower_bound_on_p(
                                          runs, successes, false_alarm / 2);
  const double high = successes == runs ? 1.0
                                        : binomial_distribution<>::find_upper_bound_on_p(
                                              runs, successes, false_alarm / 2);
  return {(low + high) / 2, {ErrorPart::sampling(1, (high - low) / 2)}};
}

Matrix<double> sampled_deviations(const AnyRung<double>& rung, const Vector<double>& x,
                                  std::uint32_t draws, std::uint64_t seed, std::uint64_t step) {
  Matrix<double> fields(rung.dimension, draws);
  Vector<double> field(rung.dimension);
  for (std::uint32_t k = 0; k < draws; ++k) {
    throw_if_stopped();
    Stream stream(seed, stream_of_deviations + k, step);
    rung.draws.sample(x, field, stream, 1);
    fields.col(k) = field;
  }
  rung.field.value(x, field, 0.0);
  fields.colwise() -= field;
  return fields;
}

}  // namespace popgrad
