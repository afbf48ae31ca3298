#include "theorems/scan_snap/checks/examples.hpp"

#include "popgrad/scalars/real.hpp"
#include "scalars/linear_algebra.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks {

TrainingInstance<double> with_ratio(SequenceClasses<double> classes, double ratio,
                                    bool track_growth) {
  TrainingInstance<double> instance;
  instance.classes = std::move(classes);
  instance.decoder_rate = 1;
  instance.attention_rate = 1 / ratio;
  instance.track_growth = track_growth;
  return instance;
}

Trajectory<double> follow(const AnyRung<double>& rung, std::vector<double> times,
                          double relative_tolerance) {
  SolveRequest<double> request;
  request.end = times.back();
  request.save_at = std::move(times);
  request.relative_tolerance = refined_tolerance(relative_tolerance);
  request.absolute_tolerance = 1e-14;
  request.keep_states = true;
  request.find_events = false;
  Trajectory<double> run = solve(rung, request);
  throw_if_stopped();
  return run;
}

double largest_overlap(const Layout& layout, const Vector<double>& f) {
  const auto k = static_cast<Index>(layout.class_column.size());
  return symmetric_eigenvalues<double>(gram(layout, k, f)).maxCoeff() - 1;
}

double largest_overlap(const SequenceClasses<double>& classes) {
  const Layout layout = lay_out(classes, true);
  Vector<double> f;
  features(classes, layout, Vector<double>(Vector<double>::Zero(layout.pairs())), f);
  return largest_overlap(layout, f);
}

double overlap_bound(Index classes) {
  return 1 / (1 + std::sqrt(static_cast<double>(classes - 1)));
}

EvaluatedHypothesis overlap_below_bound(const SequenceClasses<double>& classes) {
  const double lambda = largest_overlap(classes);
  const double bound = overlap_bound(classes.classes());
  return {"`lambda_max(E) < 1/(1 + sqrt(K - 1))`", lambda < bound ? Truth::yes : Truth::no,
          fmt::format("{:.4g} against {:.4g}", lambda, bound)};
}

SequenceClasses<double> at_chosen_overlap(const Setting& setting, const Knob& excess,
                                          const Family& family) {
  double apart = -10;  // decimal logarithms of the parameter
  double alike = 8;
  const SequenceClasses<double> closest = family(std::pow(10.0, alike));
  const double bound = overlap_bound(closest.classes());
  const double largest = largest_overlap(closest);
  const double beyond = setting.value(excess);
  const double lambda =
      beyond == 0 ? setting.value(overlap_share) * bound : bound + beyond * (largest - bound);
  if (!(largest > std::max(lambda, beyond == 0 ? 0 : bound))) {
    throw std::invalid_argument(fmt::format("lambda_max(E) stays below {}", largest));
  }
  constexpr int halvings = 50;
  for (int i = 0; i < halvings; ++i) {
    throw_if_stopped();
    const double middle = (apart + alike) / 2;
    (largest_overlap(family(std::pow(10.0, middle))) < lambda ? apart : alike) = middle;
  }
  return family(std::pow(10.0, apart));
}

SequenceClasses<double> mingled_classes(Stream stream, Index classes, Index distinct, double mixing,
                                        Index tokens) {
  Matrix<double> law = Matrix<double>::Zero(classes, classes + classes * distinct);
  for (Index n = 0; n < classes; ++n) {
    if (distinct == 0) law(n, n) = 1;
    auto own = law.row(n).segment(classes + n * distinct, distinct);
    for (double& weight : own) weight = 0.1 + 0.9 * stream.uniform();
    if (distinct > 0) own /= own.sum();
  }
  constexpr Index hub = 1;
  if (stream.uniform() < 0.5) {
    const double weak = std::pow(10.0, -4 * stream.uniform());
    for (Index n = 0; n < classes; ++n) {
      if (n == hub) continue;
      const double weight = n == 0 ? weak : 1;
      law(hub, n) += mixing * weight;
      if (distinct > 0) law(n, n) += mixing * weight;
    }
  } else {
    for (Index n = 0; n < classes; ++n) {
      for (Index l = 0; l < classes; ++l) {
        const double weight = std::pow(stream.uniform(), 3);
        if (stream.uniform() < 0.6) law(n, l) += mixing * weight;
      }
    }
  }
  for (Index n = 0; n < classes; ++n) law.row(n) /= law.row(n).sum();
  return classes_from_matrix<double>(law, std::vector<Index>(static_cast<std::size_t>(classes), 0),
                                     tokens);
}

template <class T>
void reweigh(SequenceClasses<T>& classes, Index entry, const std::type_identity_t<T>& factor) {
  Index n = 0;
  while (classes.first[static_cast<std::size_t>(n + 1)] <= entry) ++n;
  const Index begin = classes.first[static_cast<std::size_t>(n)];
  auto law = classes.law.segment(begin, classes.first[static_cast<std::size_t>(n + 1)] - begin);
  classes.law[entry] *= factor;
  law /= T(law.sum());
}
template void reweigh(SequenceClasses<double>&, Index, const double&);
template void reweigh(SequenceClasses<Real>&, Index, const Real&);

}  // namespace popgrad::scan_snap::checks
