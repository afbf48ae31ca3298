#include "theorems/scan_snap/rungs/random_classes.hpp"

#include <cmath>

namespace popgrad::scan_snap {

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

}  // namespace popgrad::scan_snap
