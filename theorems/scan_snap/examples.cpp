#include "theorems/scan_snap/examples.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>

#include "popgrad/scan_snap/features.hpp"

namespace popgrad::theorems::scan_snap {

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
