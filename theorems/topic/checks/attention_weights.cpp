#include "theorems/topic/checks/attention_weights.hpp"

#include "theorems/topic/checks/prelude.hpp"

namespace popgrad::topic::checks {

namespace {

template <class T>
Box<double> rounded(const Box<T>& box) {
  return {to_double(box.alpha_low), to_double(box.alpha_high), to_double(box.beta_low),
          to_double(box.beta_high)};
}

}  // namespace

Box<Rational> weight_box(const TopicLaw<Rational>& law, bool narrow) {
  const double longer = 0.135 / to_double(Rational((1 - law.correct) * law.masked));
  const Rational far = Rational(20) * Rational(static_cast<int>(law.active * law.words)) *
                       Rational(std::max(1, static_cast<int>(std::ceil(longer - 1e-9))));
  return {Rational(0), far, Rational(0), narrow ? Rational(20) : far};
}

CertifiedWeights certified_weights(const TopicLaw<Rational>& law,
                                   const Landscape<Rational>& landscape, bool narrow) {
  const Box<Rational> box = weight_box(law, narrow);
  const Landscape<double> close = landscape.cast<double>();
  const Minimum least = find_minimum(close, rounded(box));
  const Matrix<double> h = close.hessian(least.alpha, least.beta);
  const auto v = static_cast<double>(law.words);
  // L rises by curvature x distance^2/2.
  double tolerance = 0;
  if (narrow) {
    const double along = least.beta > 0 ? h(0, 1) : 0;
    const double off_one = (1 - least.beta) / 4;
    tolerance = std::min((h(0, 0) - along * along / h(1, 1)) * std::pow(least.alpha / 100, 2),
                         (h(1, 1) - along * along / h(0, 0)) * off_one * off_one);
  } else {
    const double g = least.alpha + (v - 1) * least.beta;
    const double off_uniform = std::fabs(g - v) > 1e-3 * g / v ? std::fabs(g - v) / 4 : g;
    tolerance = h(0, 0) * std::pow(std::min(g / 1000, off_uniform), 2);
  }
  CertifiedWeights made;
  made.certificate = certify_minimum(law, landscape, box, Rational(tolerance / 2));
  // A valley that lies across the axes has a wider hull.
  const Box<Rational>& at = made.certificate.minimisers;
  for (int closer = 0; narrow && closer < 4 && at.beta_low <= 1 && at.beta_high >= 1; ++closer) {
    tolerance /= 16;
    made.certificate = certify_minimum(law, landscape, box, Rational(tolerance / 2));
  }
  const Box<double> hull = rounded(at);
  const auto middle = [](double low, double high) {
    return Quantity((low + high) / 2, {ErrorPart::enclosure((high - low) / 2)});
  };
  made.alpha = middle(hull.alpha_low, hull.alpha_high);
  made.beta = middle(hull.beta_low, hull.beta_high);
  return made;
}

BestSum best_sum(const TopicLaw<Rational>& law, const Landscape<Rational>& landscape) {
  const Rational others(law.words - 1);
  if (landscape.depends_on_sum_alone(law.words)) {
    const CertifiedWeights best = certified_weights(law, landscape, false);
    return {best.alpha, best.certificate.alpha + others * best.certificate.beta};
  }
  const Minimum best = find_minimum(landscape.cast<double>(), rounded(weight_box(law, false)));
  const Rational g = Rational(best.alpha) + others * Rational(best.beta);
  return {to_double(g), g};
}

}  // namespace popgrad::topic::checks
