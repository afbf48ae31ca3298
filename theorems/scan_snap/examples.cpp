#include "theorems/scan_snap/examples.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>

#include "popgrad/scan_snap/features.hpp"

namespace popgrad::theorems::scan_snap {

SequenceClasses<double> random_classes(Stream& stream, Index classes, Index common, Index distinct,
                                       double overlap, Index tokens, bool alike) {
  const auto weight = [&] { return 0.1 + 0.9 * stream.uniform(); };
  Matrix<double> law = Matrix<double>::Zero(classes, common + classes * distinct);
  for (Index n = 0; n < classes; ++n) {
    for (Index l = 0; l < common; ++l) {
      law(n, l) = alike && n > 0 ? law(0, l) : overlap * weight();
    }
    // The same distinct weights in all classes if they are to be alike.
    for (Index i = 0; i < distinct; ++i) {
      law(n, common + n * distinct + i) = alike && n > 0 ? law(0, common + i) : weight();
    }
  }
  for (Index n = 0; n < classes; ++n) law.row(n) /= law.row(n).sum();
  return classes_from_matrix<double>(law, std::vector<Index>(static_cast<std::size_t>(classes), 0),
                                     tokens);
}

SequenceClasses<double> scattered_classes(Stream& stream, Index classes, Index support,
                                          Index tokens) {
  Matrix<double> law = Matrix<double>::Zero(classes, support);
  for (Index n = 0; n < classes; ++n) {
    for (Index l = 0; l < support; ++l) {
      const double weight = std::pow(stream.uniform(), 3);
      if (stream.uniform() < 0.6) law(n, l) = weight;
    }
    if (law.row(n).sum() == 0)
      law(n, static_cast<Index>(stream.index(static_cast<std::uint32_t>(support)))) = 1;
    law.row(n) /= law.row(n).sum();
  }
  return classes_from_matrix<double>(law, std::vector<Index>(static_cast<std::size_t>(classes), 0),
                                     tokens);
}

TrainingInstance<double> with_ratio(SequenceClasses<double> classes, double ratio,
                                    bool track_growth) {
  TrainingInstance<double> instance;
  instance.classes = std::move(classes);
  instance.decoder_rate = 1;
  instance.attention_rate = 1 / ratio;
  instance.track_growth = track_growth;
  return instance;
}

Trajectory<double> follow(const AnyRung<double>& rung, std::vector<double> times) {
  SolveRequest<double> request;
  request.end = times.back();
  request.save_at = std::move(times);
  request.relative_tolerance = 1e-10;
  request.absolute_tolerance = 1e-14;
  request.keep_states = true;
  request.find_events = false;
  return solve(rung, request);
}

double largest_overlap(const SequenceClasses<double>& classes) {
  const Layout layout = lay_out(classes, true);
  Vector<double> f;
  features(classes, layout, Vector<double>(Vector<double>::Zero(layout.pairs())), f);
  const Eigen::SelfAdjointEigenSolver<Matrix<double>> solver(gram(layout, classes.classes(), f),
                                                             Eigen::EigenvaluesOnly);
  return solver.eigenvalues().maxCoeff() - 1;
}

double overlap_bound(Index classes) {
  return 1 / (1 + std::sqrt(static_cast<double>(classes - 1)));
}

}  // namespace popgrad::theorems::scan_snap
