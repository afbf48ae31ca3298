// Theorem    scan-snap.overlap-bounds
// Status     proved in source (Lemmas 13 to 17), with the spectrum of E'
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Lemmas 13 to 17
// Statement  F'F = I + E with |lambda_1(E)| < 1, (I + E)^-1 = I - E':
//              max |E_ij|         <= |lambda_1|
//              max |lambda_i(E')| <= |lambda_1|/(1 - |lambda_1|)
//              E'_nn              <= 0
//              |E' - E|_2         <= lambda_1^2/(1 - |lambda_1|),
//            as E' and E' - E have the eigenvalues lambda/(1 + lambda), -lambda^2/(1 + lambda) and
//              E'_nn = -sum_i u_in^2 lambda_i^2/(1 + lambda_i)
// Hypotheses H1 |lambda_1(E)| < 1
// Check      the four bounds; eigenvalues and diagonal of E' by elimination against those of E
// Controls   lambda/(1 - lambda), as Eqn 93 prints a sign; lambda^2 for lambda^2/(1 + lambda)
// Uses       features

#include <Eigen/LU>

#include "scalars/linear_algebra.hpp"
#include "theorems/scan_snap/checks/assumption2_classes.hpp"
#include "theorems/scan_snap/checks/decoder_knobs.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::overlap_bounds {
namespace {

constexpr Knob class_count = class_count_knob(2, 8, 4);
constexpr Knob common_count = common_count_knob(1, 4, 2);
constexpr Knob overlap = linear_knob("overlap", "lambda_1(E)", 0.05, 0.95, 0.3);

TrainingInstance<double> drawn_training(const Setting& setting) {
  Stream stream(setting.seed, stream_of_drawn_classes, 6);
  const Index k = setting.count(class_count);
  const OverlapDraw draw{k, setting.count(common_count), 3,
                         setting.value(overlap) * static_cast<double>(k)};
  for (;;) {
    if (const auto found = drawn_overlap(stream, draw)) return {.classes = found->classes};
  }
}

void examine(const Setting& setting, Examination& it) {
  const SequenceClasses<double> classes =
      examined_training(setting, [&] { return drawn_training(setting); }).classes;
  const Layout layout = lay_out(classes, true);
  Vector<double> f;
  features(classes, layout, Vector<double>(Vector<double>::Zero(layout.pairs())), f);
  const Matrix<double> gram = scan_snap::gram(layout, classes.classes(), f);
  const auto identity = Matrix<double>::Identity(gram.rows(), gram.cols());
  const PrincipalAxes axes = principal_axes(gram);
  const Eigen::ArrayXd lambda = axes.values.array() - 1;
  const double largest = lambda.abs().maxCoeff();
  it.parameters = {{"K", classes.classes()}, {"lambda_1(E)", largest}, {"seed", setting.seed}};
  it.require_positive("|lambda_1(E)| < 1", 1 - largest, fmt::format("{:.4g}", largest));
  if (!(largest < 1)) return;

  const Matrix<double> e = gram - identity;
  const Matrix<double> inverted = identity - gram.inverse();  // E'
  // Of an inverse and a spectrum: roundings of sums over classes, times the condition of I + E.
  const auto k = static_cast<double>(classes.classes());
  const ErrorPart rounding = ErrorPart::rounding(k * k, 1 / std::pow(1 - largest, 2));
  const auto rounded = [&](const auto& numbers) {
    std::vector<Quantity> found;
    for (const double number : numbers) found.emplace_back(number, std::vector{rounding});
    return found;
  };
  const Eigen::ArrayXd squares = lambda.square() / (1 + lambda);
  const Vector<double> diagonal = -(axes.vectors.cwiseAbs2() * squares.matrix());
  const Vector<double> without = -(axes.vectors.cwiseAbs2() * lambda.square().matrix());
  Eigen::ArrayXd other_sign = lambda / (1 - lambda);
  std::sort(other_sign.begin(), other_sign.end());
  const std::vector<double> scale{largest};
  it.judge(Comparison{.what = "eigenvalues of E' against lambda/(1 + lambda)",
                      .measured = rounded(symmetric_eigenvalues<double>(inverted)),
                      .predicted = rounded(Eigen::ArrayXd(lambda / (1 + lambda))),
                      .scale = scale,
                      .mistakes = {predicts("other-sign", rounded(other_sign))}});
  it.judge(Comparison{.what = "E'_nn against -sum_i u_in^2 lambda_i^2/(1 + lambda_i)",
                      .measured = rounded(Vector<double>(inverted.diagonal())),
                      .predicted = rounded(diagonal),
                      .scale = {largest * largest},
                      .mistakes = {predicts("second-order", rounded(without))}});
  const double apart =
      symmetric_eigenvalues<double>(Matrix<double>(inverted - e)).cwiseAbs().maxCoeff();
  const double most = symmetric_eigenvalues<double>(inverted).cwiseAbs().maxCoeff();
  it.judge(Comparison{
      .what = "bounds by |lambda_1|",
      .measured = rounded(
          std::vector{e.cwiseAbs().maxCoeff(), most, inverted.diagonal().maxCoeff(), apart}),
      .relation = Relation::at_most,
      .predicted = {largest, largest / (1 - largest), 0.0, largest * largest / (1 - largest)},
      .scale = {largest, largest, largest, largest * largest},
      .places = {"max |E_ij|", "max |lambda(E')|", "max E'_nn", "|E' - E|"}});
}

}  // namespace

Statement statement() {
  return {.id = "scan-snap.overlap-bounds",
          .claim = "E' and E' - E are bounded by the largest eigenvalue of E",
          .paper = "arXiv 2305.16380, Lemmas 13 to 17",
          .status = "proved in source",
          .hypotheses = {"|lambda_1(E)| < 1"},
          .reaches = {EvidenceKind::numerical},
          .controls = {{"other-sign", "lambda/(1 - lambda) for lambda/(1 + lambda)"},
                       {"second-order", "lambda^2 in place of lambda^2/(1 + lambda)"}},
          .knobs = {class_count, common_count, overlap},
          .reads = "reduced",
          .examine = examine};
}

}  // namespace popgrad::scan_snap::checks::overlap_bounds
