#include "theorems/scan_snap/checks/counted_draws.hpp"

#include <boost/math/distributions/binomial.hpp>

#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks {

namespace {

constexpr std::uint32_t runs = 30'000;
constexpr std::uint64_t step_of_counts = 2;

// h and its derivatives in s. With u = exp(M h)/(M - 1 + exp(M h)):
//   h'' = -M u h'^2,  h''' = -M^2 u (1 - 3 u) h'^3
struct Derivatives {
  double h, first, second, third;
};
Derivatives derivatives(const Decoder& decoder, double s) {
  const double m = decoder.vocabulary;
  const double h = decoder_scale(m, decoder.rate, s);
  const double first = decoder_rate_of(m, decoder.rate, h);
  const double u = std::exp(m * h) * first / decoder.rate;
  return {h, first, -m * u * first * first, -m * m * u * (1 - 3 * u) * std::pow(first, 3)};
}

// h* after 0, 1, ... and all `draws` of a class.
std::vector<double> after_draws(const Decoder& decoder, long draws) {
  std::vector<double> h{0};
  for (long s = 0; s < draws; ++s) {
    h.push_back(h.back() + decoder_rate_of(decoder.vocabulary, decoder.rate, h.back()));
  }
  return h;
}

}  // namespace

Matrix<double> sampled_thetas(const Decoder& decoder, const Vector<double>& law, long draws,
                              const Setting& setting) {
  const auto classes = static_cast<std::size_t>(law.size());
  const AliasTable drawn(std::span(law.data(), classes));
  const std::vector<double> discrete = after_draws(decoder, draws);
  std::vector<double> unit;  // h(P(n) N)
  for (const double p : law) {
    unit.push_back(decoder_scale(decoder.vocabulary, decoder.rate, p * static_cast<double>(draws)));
  }
  Matrix<double> theta(setting.draws(runs), law.size());
  std::vector<std::uint32_t> counts(classes);
  for (Index r = 0; r < theta.rows(); ++r) {
    throw_if_stopped();
    Stream stream(setting.draw_seed(), static_cast<std::uint32_t>(r), step_of_counts);
    std::fill(counts.begin(), counts.end(), 0);
    stream.count(drawn, static_cast<std::size_t>(draws), counts);
    for (std::size_t n = 0; n < classes; ++n) {
      theta(r, static_cast<Index>(n)) = discrete[counts[n]] / unit[n] - 1;
    }
  }
  return theta;
}

Quantity variance_of_theta(const Decoder& decoder, double probability, long draws) {
  const double s = probability * static_cast<double>(draws);
  const Derivatives d = derivatives(decoder, s);
  const double count = s * (1 - probability);  // variance of N_n
  const double bend = d.second / d.first;
  const double skewness = bend * (1 - 2 * probability);
  const double curvature = count * (d.third / d.first + bend * bend / 2);
  // From h* itself: where eta_Y is large its first draws lead so far ahead of h that their expansion
  // in eta_Y, (h'/2) ln(eta_Y/(M h')), is too small.
  const long middle = std::max(1L, std::lround(s));
  const std::vector<double> h = after_draws(decoder, middle + 1);
  const auto at = static_cast<std::size_t>(middle);
  const double slope = (h[at + 1] - h[at - 1]) / 2;
  const double first = derivatives(decoder, static_cast<double>(middle)).first;
  const double discrete = std::pow(slope / first, 2) - 1;
  const double leading = std::pow(d.first / d.h, 2) * count;
  return {leading,
          {ErrorPart::next_order(leading * skewness), ErrorPart::next_order(leading * curvature),
           ErrorPart::next_order(leading * discrete)}};
}

Quantity residual_of_theta(const Decoder& decoder, double probability, long draws) {
  constexpr double longer = 128;
  constexpr double widths = 12;  // deviations beyond which the law of the count is 0 in double
  return limit_of(1 / (longer * static_cast<double>(draws)), [&](double inverse) {
    const double all = std::round(1 / inverse);
    const double s = probability * all;
    const Derivatives d = derivatives(decoder, s);
    const double count = s * (1 - probability);
    const boost::math::binomial_distribution<> law(all, probability);
    double square = 0;
    const double last = std::min(all, s + widths * std::sqrt(count));
    for (double n = std::ceil(std::max(0.0, s - widths * std::sqrt(count))); n <= last; ++n) {
      const double h = decoder_scale(decoder.vocabulary, decoder.rate, n);
      square += pdf(law, n) * std::pow(h - d.h - d.first * (n - s), 2);
    }
    const double leading = std::sqrt(3.0) * std::fabs(d.second) / 2 * count;
    return Quantity(std::sqrt(square) / leading);
  });
}

}  // namespace popgrad::scan_snap::checks
