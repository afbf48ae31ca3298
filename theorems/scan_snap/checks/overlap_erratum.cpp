// Erratum: the effective learning rate of overlapping classes (Remark 1) rests on a sum that is
// not 0.

#include "popgrad/scalars/rational.hpp"
#include "scalars/linear_algebra.hpp"
#include "scalars/softmax.hpp"
#include "theorems/scan_snap/checks/claim_hypotheses.hpp"
#include "theorems/scan_snap/checks/errata.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks {

namespace {

// xi_n at the first steps, up to one factor: with overlaps G = (1 - rho) I + rho 11' of K classes
// and M tokens, Y = F A and g = F c with c = s A'(e_n - 1/M) under the true gradient (Eqn 7), G^{-1}
// times that under the modified one (Eqn 26); xi_n = -rho sum_{n' != n} c_n'.
Rational early_xi(Index classes, const Rational& tokens, const Rational& rho, bool modified) {
  const Matrix<Rational> overlaps =
      Matrix<Rational>::Constant(classes, classes, rho) +
      Matrix<Rational>(Vector<Rational>::Constant(classes, 1 - rho).asDiagonal());
  Vector<Rational> coefficients = Vector<Rational>::Constant(classes, Rational(-1) / tokens);
  coefficients[0] += 1;
  if (modified) coefficients = solve_square<Rational>(overlaps, coefficients);
  return -rho * coefficients.tail(classes - 1).sum();
}

Rational xi_quotient(Index classes, const Rational& tokens, const Rational& rho) {
  return Rational(early_xi(classes, tokens, rho, true) / early_xi(classes, tokens, rho, false));
}

Rational xi_quotient_formula(const Rational& k, const Rational& m, const Rational& rho) {
  return Rational((1 + rho * (m - k) / (1 + (k - 1) * rho)) / (1 - rho));
}

void show_quotient(const char* where, const Rational& m, const Rational& rho, Examination& it) {
  const Index classes = 10;
  const Rational quotient = xi_quotient(classes, m, rho);
  const Rational of_remark(1 / (1 - rho));
  const auto is = [&](const Rational& form) { return quotient == form ? Truth::yes : Truth::no; };
  it.judge(identity(fmt::format("the quotient of the two `xi` is the formula {}", where),
                    [&] { return is(xi_quotient_formula(Rational(10), m, rho)); })
               .of_kind(EvidenceKind::exact)
               .with(fmt::format("{:.4f} against {:.4f} of the remark", to_double(quotient),
                                 to_double(of_remark)))
               .unless(in_paper, [&] { return is(of_remark); }));
}

// W = F'Y of K = M classes under the true gradient (Eqn 7), all overlaps rho, eta_Y = 1:
//   dW/ds = G (I - softmax of rows),  G = (1 - rho) I + rho 11'
AnyRung<double> true_decoder(Index classes, double rho) {
  AnyRung<double> rung;
  rung.dimension = classes * classes;
  rung.initial = Vector<double>::Zero(rung.dimension);
  rung.field.value = [classes, rho](const Vector<double>& x, Vector<double>& dx, const double&) {
    const Eigen::Map<const Matrix<double>> w(x.data(), classes, classes);
    Matrix<double> left = Matrix<double>::Identity(classes, classes);
    for (Index n = 0; n < classes; ++n) left.row(n) -= softmax(Vector<double>(w.row(n)));
    const Matrix<double> pulled = (1 - rho) * left;
    dx = (pulled.rowwise() + rho * left.colwise().sum()).reshaped();
  };
  rung.observables.read = [](const Vector<double>&, const double&, std::span<double>) {};
  return rung;
}

// M h is the difference of the logits of a class's own token and another.
void show_rate_inside(Examination& it) {
  constexpr Index classes = 10;
  constexpr double rho = 0.05;
  const double m = classes;
  const std::vector<double> draws{100, 1000};  // of each class
  const Solved run(true_decoder(classes, rho), draws, 1e-10);
  Comparison inside = equal("`K = M = 10`, `rho = 0.05`: `h*` has rate `(1-rho) eta_Y`");
  std::vector<Quantity> outside;
  std::string quotients;
  for (std::size_t save = 0; save < draws.size(); ++save) {
    const double h = decoder_scale(m, 1 - rho, draws[save]);
    const double h_outside = (1 - rho) * decoder_scale(m, 1.0, draws[save]);
    outside.emplace_back(h_outside);
    inside.add(fmt::format("{:g} draws of each class", draws[save]),
               run.at(save, [=](const Vector<double>& w) { return (w[0] - w[classes]) / m; }),
               Quantity(h, {ErrorPart::rounding(m, h)}));
    quotients += fmt::format("{}{:.4f} of it after {:g} draws of each class",
                             save > 0 ? ", " : "`(1-rho) h*` is ", h_outside / h, draws[save]);
  }
  it.judge(inside.with(quotients).unless(in_paper, outside));
}

}  // namespace

Erratum centred_sum() {
  return {
      .name = "scan-snap.zeta-sum",
      .kind = ErratumClass::error,
      .statement = "scan-snap.decoder-recursion",
      .place = "arXiv 2305.16380v4, Remark 1, Eqns 40-43",
      .grades = {SourceGrade::full_text},
      .known = "read in full, v4",
      .claim =
          "true gradient of the decoder (Eqn 7), all overlaps `E_nn' = rho`, uniform classes: the "
          "classes learn as apart ones do at an effective rate; Theorem 1 then holds still",
      .paper_says =
          "`w_n(N) = (1 - rho) (M-1) h*(N/K) zeta_n`, because the `zeta_n` sum to 0; effective "
          "rate "
          "`(1 - rho) eta_Y`",
      .algebra_says =
          "the `zeta_n` sum to 0 only for `K = M`; early, `xi` of the modified gradient (Eqn 26) "
          "over "
          "`xi` of the true one is `(1 + rho (M-K)/(1 + (K-1) rho))/(1 - rho)`, in the thousands "
          "inside A2; and `1 - rho` belongs inside `h*`",
      .effect =
          "Theorem 1 holds for the true gradient in sign and order, but `beta` starts near `1/M` "
          "and not at `E'`: no effective rate does that; what Lemma 3 calls small is small for "
          "the norm of `Y'`, not for `xi`",
      .examine = [](Examination& it) {
        // E = rho (11' - I) of the instance inside A2.
        const Index classes = 10;
        const double m = 3e5;
        const double rho = 0.011;
        Vector<double> spectrum = Vector<double>::Constant(classes, -rho);
        spectrum[0] = static_cast<double>(classes - 1) * rho;
        require_assumption_2(spectrum, m, it);
        it.hypotheses.push_back(met_by_construction("Eqn 7, all `E_nn' = rho`, uniform classes",
                                                    "`xi` is computed from `G = (1-rho) I + "
                                                    "rho 11'` and one step of every class"));
        show_quotient("at `K = 10`, `M = 3e5`, `rho = 0.011`, inside A2", Rational(300'000),
                      Rational(11) / 1000, it);
        show_quotient("at `K = 10`, `M = 1000`, `rho = 0.013`", Rational(1000), Rational(13) / 1000,
                      it);
        const Rational equal_counts = xi_quotient(classes, Rational(10), Rational(1) / 20);
        it.judge(identity("`K = M`: the remark's `1/(1 - rho)`", [&] {
                   return equal_counts == Rational(20) / 19 ? Truth::yes : Truth::no;
                 }).of_kind(EvidenceKind::exact));
        show_rate_inside(it);
      }};
}

}  // namespace popgrad::scan_snap::checks
