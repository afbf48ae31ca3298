#include "theorems/scan_snap/checks/assumption2_classes.hpp"

#include "scalars/linear_algebra.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/layout.hpp"

namespace popgrad::scan_snap::checks {

Vector<double> overlap_spectrum(const SequenceClasses<double>& classes) {
  const Layout layout = lay_out(classes, true);
  Vector<double> f;
  features(classes, layout, Vector<double>(Vector<double>::Zero(layout.pairs())), f);
  return symmetric_eigenvalues<double>(gram(layout, classes.classes(), f)).array() - 1;
}

std::optional<OverlapClasses> drawn_overlap(Stream& stream, const OverlapDraw& draw) {
  constexpr double presence = 0.7;
  const Index k = draw.classes;
  const Index tokens = draw.commons + k * draw.distinct;
  Matrix<double> common = Matrix<double>::Zero(k, tokens);
  Matrix<double> own = Matrix<double>::Zero(k, tokens);
  const auto weight = [&] { return 0.1 + 0.9 * stream.uniform(); };
  for (Index n = 0; n < k; ++n) {
    for (Index l = 0; l < draw.commons; ++l) {
      if (draw.commons == 1 || stream.uniform() < presence) common(n, l) = weight();
    }
    for (Index l = 0; l < draw.distinct; ++l)
      own(n, draw.commons + n * draw.distinct + l) = weight();
  }
  const auto mixed = [&](double mixing) {
    Matrix<double> law = own + mixing * common;
    for (Index n = 0; n < k; ++n) law.row(n) /= law.row(n).sum();
    return classes_from_matrix<double>(law, std::vector<Index>(static_cast<std::size_t>(k), 0),
                                       tokens + 1);
  };
  const double wanted = draw.share / static_cast<double>(k);
  double low = -6;  // decimal logarithms of the mixing
  double high = 6;
  if (overlap_spectrum(mixed(std::pow(10.0, high))).maxCoeff() < wanted) return std::nullopt;
  constexpr int halvings = 50;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (overlap_spectrum(mixed(std::pow(10.0, middle))).maxCoeff() < wanted ? low : high) = middle;
  }
  OverlapClasses found{mixed(std::pow(10.0, low)), 0};
  found.least = overlap_spectrum(found.classes).cwiseAbs().minCoeff();
  return found;
}

SequenceClasses<double> inside_assumption_2(Stream& stream, const OverlapDraw& draw, double part) {
  constexpr int most_draws = 1000;
  constexpr double most_tokens = 1e6;
  for (int i = 0; i < most_draws; ++i) {
    std::optional<OverlapClasses> found = drawn_overlap(stream, draw);
    if (!found) continue;
    const double tokens = std::ceil(part * std::pow(6 / found->least, 2));
    if (!(tokens <= most_tokens)) continue;
    found->classes.tokens = static_cast<Index>(tokens);
    return found->classes;
  }
  throw std::invalid_argument("no classes inside Assumption 2 were drawn");
}

}  // namespace popgrad::scan_snap::checks
