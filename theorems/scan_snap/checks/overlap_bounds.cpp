#include <Eigen/LU>

#include "scalars/linear_algebra.hpp"
#include "theorems/scan_snap/checks/assumption2_classes.hpp"
#include "theorems/scan_snap/checks/decoder_knobs.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks::overlap_bounds {
namespace {

Statement sheet{
    .id = "scan-snap.overlap-bounds",
    .paper = "arXiv 2305.16380, Lemmas 13 to 17",
    .status = "proved in source",
    .about = "features at `z = 0`",
    .theorem = R"(
F'F = I + E of the features of K classes, |lambda_1(E)| < 1, (I + E)^-1 = I - E':
  max |E_ij|         <= |lambda_1|
  max |lambda_i(E')| <= |lambda_1|/(1 - |lambda_1|)
  E'_nn              <= 0
  |E' - E|_2         <= lambda_1^2/(1 - |lambda_1|),
as E' and E' - E have the eigenvalues lambda/(1 + lambda), -lambda^2/(1 + lambda) and, with the
eigenvectors u_i of E,
  E'_nn = -sum_i u_in^2 lambda_i^2/(1 + lambda_i).
Of two classes E has the eigenvalues +-E_01, and the first, second and last of these bounds are equalities.)",
    .reaches = {EvidenceKind::numerical},
    .no_rival = "identities between spectra, and bounds of the paper, which two classes attain",
    .false_version = "no-denominator",
    .reads = "reduced"};

const Clause spectrum = sheet.clause("`E'` has the eigenvalues `lambda/(1 + lambda)`");
const Clause on_diagonal = sheet.clause("`E'_nn = -sum_i u_in^2 lambda_i^2/(1 + lambda_i)`");
const Clause bounds = sheet.clause("bounds of `E`, `E'` and `E' - E` by `|lambda_1(E)|`");

const Clause attained = sheet.clause("which two classes attain");

const Hypothesis below_one = sheet.assume("`|lambda_1(E)| < 1`");

const Control wrong_sign =
    sheet.control("other-sign", "`lambda/(1 - lambda)` for `lambda/(1 + lambda)`");
const Control second_order =
    sheet.control("second-order", "`lambda^2` in place of `lambda^2/(1 + lambda)`");

const Control no_denominator = sheet.control(
    "no-denominator",
    "`|lambda_1|` and its square as bounds of `E'` and `E' - E`, without `1 - |lambda_1|`");

const Knob class_count = sheet.knob(class_count_knob(2, 8, 4));
const Knob common_count = sheet.knob(common_count_knob(1, 4, 2));
const Knob overlap = sheet.knob(linear_knob("overlap", "lambda_1(E)", 0.05, 0.95, 0.3));

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
  if (!it.require_positive(below_one, 1 - largest, fmt::format("{:.4g}", largest))) return;

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
  it.judge(spectrum, equal("eigenvalues of `E'` against `lambda/(1 + lambda)`",
                           rounded(symmetric_eigenvalues<double>(inverted)),
                           rounded(Eigen::ArrayXd(lambda / (1 + lambda))))
                         .in_units_of(largest)
                         .unless(wrong_sign, rounded(other_sign)));
  it.judge(on_diagonal, equal("`E'_nn` against `-sum_i u_in^2 lambda_i^2/(1 + lambda_i)`",
                              rounded(Vector<double>(inverted.diagonal())), rounded(diagonal))
                            .in_units_of(largest * largest)
                            .unless(second_order, rounded(without)));
  const double apart =
      symmetric_eigenvalues<double>(Matrix<double>(inverted - e)).cwiseAbs().maxCoeff();
  const double most = symmetric_eigenvalues<double>(inverted).cwiseAbs().maxCoeff();
  const auto measured = [&](double number) { return Quantity(number, {rounding}); };
  it.judge(bounds, at_most("bounds by `|lambda_1|`")
                       .add("max |E_ij|", measured(e.cwiseAbs().maxCoeff()), largest)
                       .add("`max |lambda(E')|`", measured(most), largest / (1 - largest))
                       .add("`max E'_nn`", measured(inverted.diagonal().maxCoeff()), 0)
                       .add("|E' - E|", measured(apart), largest * largest / (1 - largest))
                       .in_units_of(std::vector{largest, largest, largest, largest * largest}));
  Index i = 0, j = 0;
  const double pair = e.cwiseAbs().maxCoeff(&i, &j);
  if (!(pair > 0) || i == j) return;
  const Matrix<double> two{{gram(i, i), gram(i, j)}, {gram(j, i), gram(j, j)}};
  const Matrix<double> unit = Matrix<double>::Identity(2, 2);
  const Matrix<double> inverse = unit - two.inverse();
  const auto norm_of = [&](const Matrix<double>& x) {
    return measured(symmetric_eigenvalues<double>(x).cwiseAbs().maxCoeff());
  };
  it.judge(attained, equal("bounds by `|lambda_1|` of the two classes that overlap most")
                         .add("`max |lambda(E')|`", norm_of(inverse), pair / (1 - pair))
                         .add("|E' - E|", norm_of(inverse - two + unit), pair * pair / (1 - pair))
                         .unless(no_denominator, std::vector<Quantity>{pair, pair * pair}));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::scan_snap::checks::overlap_bounds
