// Theorem    scan-snap.backprop-gradient
// Status     proved in source (Theorem 1), sign corrected
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Theorem 1, Eqn 88
// Statement  with Y = F (I - E') W
//              g_n  = Y (e_n - alpha_n)
//                   = gamma (iota_n f_n - sum_{n' != n} beta_nn' f_n')
//              xi_n = gamma sum_{n' != n} beta_nn' f_n.f_n'
//                   = gamma q1 [G_nn - 1 - sum_{k != n} G_nk/(M-1)],
//            and xi_n > 0 if n overlaps another class and lambda_max(E) < 1/(1 + sqrt(K-1))
// Hypotheses H1 features at rest; H2 F has full rank; H3 lambda_max(E) < 1/(1 + sqrt(K-1)), for
//            xi_n > 0
// Check      both identities in exact rationals on random G; g_n formed from Y on random classes;
//            the smallest xi_n over random classes below the bound
// Controls   the other sign of q0 (Eqn 88); xi_n said to be negative
// Uses       rung fast-decoder; backprop, decoder

#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "popgrad/scalar/rational.hpp"
#include "popgrad/scan_snap/backprop.hpp"
#include "popgrad/scan_snap/decoder.hpp"
#include "popgrad/scan_snap/features.hpp"
#include "popgrad/scan_snap/population_flow.hpp"
#include "popgrad/scan_snap/reduced_flow.hpp"
#include "popgrad/scan_snap/response.hpp"
#include "theorems/scan_snap/examples.hpp"
#include "theorems/scan_snap/statements.hpp"

namespace popgrad::theorems::scan_snap {
namespace {

constexpr Knob class_count{.name = "classes",
                           .meaning = "classes K",
                           .low = 2,
                           .high = 8,
                           .usual = 4,
                           .spacing = Spacing::whole};
constexpr Knob token_count{.name = "vocabulary",
                           .meaning = "tokens M",
                           .low = 4,
                           .high = 1e5,
                           .usual = 30,
                           .spacing = Spacing::logarithmic};
constexpr Knob draws{.name = "draws",
                     .meaning = "draws s of a class, at eta_Y = 1",
                     .low = 0.01,
                     .high = 1e4,
                     .usual = 50,
                     .spacing = Spacing::logarithmic};
constexpr Knob excess = excess_overlap("lambda_max(E) < 1/(1 + sqrt(K - 1)) for xi_n > 0");
constexpr Knob attention_rate{.name = "attention-rate",
                              .meaning = "learning rate eta_Z of attention, eta_Y = 1",
                              .low = 1e-5,
                              .high = 10,
                              .usual = 0,
                              .spacing = Spacing::logarithmic,
                              .breaks = "features at rest"};

// beta as Eqn 88 has it: the other sign before q0.
template <class T>
Matrix<T> beta_variant(const Matrix<T>& inverse, const T& vocabulary, std::string_view variant) {
  Matrix<T> beta = beta_of<T>(inverse, vocabulary);
  if (variant != "other-sign") return beta;
  const T q1 = own_scale(vocabulary);
  for (Index n = 0; n < beta.rows(); ++n) {
    for (Index other = 0; other < beta.cols(); ++other) {
      if (other == n) continue;
      const T own_part = -q1 * inverse(other, n);
      beta(n, other) = own_part - (beta(n, other) - own_part);
    }
  }
  return beta;
}

// I + E with random rational off-diagonal entries below 1/(2 K): positive definite.
Matrix<Rational> random_gram(Stream& stream, Index k) {
  Matrix<Rational> g = Matrix<Rational>::Identity(k, k);
  for (Index i = 0; i < k; ++i) {
    for (Index j = 0; j < i; ++j) {
      g(i, j) = Rational(1 + stream.index(9)) / Rational(20 * k);
      g(j, i) = g(i, j);
    }
  }
  return g;
}

// G (q1 e_n + q0 sum_{k != n} e_k) against iota_n and -beta_nn', and the two forms of xi.
Truth rational_identity(std::uint64_t seed, std::string_view variant) {
  Stream stream(seed, 0, 2);
  for (const Index k : {2, 3, 5}) {
    for (const int m : {6, 30, 1000}) {
      const Matrix<Rational> overlap = random_gram(stream, k);
      const Matrix<Rational> g = overlap.fullPivLu().inverse();
      const Rational vocabulary(m);
      const Matrix<Rational> beta = beta_variant<Rational>(g, vocabulary, variant);
      const Vector<Rational> iota = iota_of<Rational>(g, vocabulary);
      const Vector<Rational> xi = relative_xi<Rational>(beta, overlap);
      for (Index n = 0; n < k; ++n) {
        Vector<Rational> unit = Vector<Rational>::Constant(k, cross_scale(vocabulary));
        unit[n] = own_scale(vocabulary);
        const Vector<Rational> image = g * unit;
        Rational others(0);
        for (Index j = 0; j < k; ++j) {
          if (image[j] != (j == n ? iota[n] : Rational(-beta(n, j)))) return Truth::no;
          if (j != n) others += g(n, j);
        }
        const Rational direct = own_scale(vocabulary) * (g(n, n) - 1 - others / (vocabulary - 1));
        if (xi[n] != direct) return Truth::no;
      }
    }
  }
  return Truth::yes;
}

// Features at rest: f by rows and classes, and their Gram matrix.
struct AtRest {
  Layout layout;
  Matrix<double> dense, overlaps;
};

Matrix<double> dense_features(const Layout& layout, Index k, const Vector<double>& f) {
  Matrix<double> dense = Matrix<double>::Zero(layout.rows(), k);
  for (Index e = 0; e < f.size(); ++e) {
    const auto at = static_cast<std::size_t>(e);
    dense(layout.entry_row[at], layout.entry_class[at]) = f[e];
  }
  return dense;
}

AtRest at_rest(const SequenceClasses<double>& classes) {
  AtRest found;
  found.layout = lay_out(classes, true);
  Vector<double> f;
  features(classes, found.layout, Vector<double>(Vector<double>::Zero(found.layout.pairs())), f);
  found.dense = dense_features(found.layout, classes.classes(), f);
  found.overlaps = gram(found.layout, classes.classes(), f);
  return found;
}

// gamma (iota_n f_n - sum beta_nn' f_n') in column n, the control's beta in its place.
Matrix<double> gradient_formula(const Matrix<double>& dense, const Matrix<double>& g, double m,
                                double gamma, std::string_view variant) {
  Matrix<double> coefficients = -beta_variant<double>(g, m, variant).transpose();
  coefficients.diagonal() = iota_of<double>(g, m);
  return gamma * dense * coefficients;
}

double largest_relative(const Matrix<double>& direct, const Matrix<double>& formula) {
  return ((direct - formula).colwise().norm().array() / direct.colwise().norm().array()).maxCoeff();
}

// |g_n - formula| / |g_n|, largest over classes, g_n formed from Y = F G W.
double gradient_defect(const AtRest& rest, double m, double s, std::string_view variant) {
  const Index k = rest.overlaps.rows();
  const Matrix<double> g = rest.overlaps.inverse();
  const double h = decoder_scale(m, 1.0, s);
  // zeta_j.zeta_n is q1 or q0, so W (e_n - alpha_n) needs no vector of length M.
  const double pull = (m - 1) * h * (m - 1) / (m - 1 + std::exp(m * h));
  Matrix<double> products = Matrix<double>::Constant(k, k, cross_scale(m));
  products.diagonal().setConstant(own_scale(m));
  return largest_relative(rest.dense * (g * products) * pull,
                          gradient_formula(rest.dense, g, m, backprop_scale(m, h), variant));
}

double gradient_defect(std::uint64_t seed, std::string_view variant) {
  Stream stream(seed, 0, 3);
  double worst = 0;
  for (int trial = 0; trial < 20; ++trial) {
    const Index k = 2 + static_cast<Index>(stream.index(6));
    const Index common = 1 + static_cast<Index>(stream.index(3));
    const auto m = static_cast<double>(20 + stream.index(2000));
    const SequenceClasses<double> classes = random_classes(stream, k, common, 3, 1.0, 40);
    worst = std::max(worst, gradient_defect(at_rest(classes), m, 50 * stream.uniform(), variant));
  }
  return worst;
}

// The same with g_n of the fast decoder after s draws of each class, while features move.
double gradient_defect_of_training(const SequenceClasses<double>& classes, double s, double rate) {
  const PopulationFlow<double> flow(with_ratio(classes, 1 / rate), DecoderRule::fast);
  const Index k = classes.classes();
  const auto m = static_cast<double>(classes.tokens);
  const Vector<double> x = follow(forget_type(flow), {s * static_cast<double>(k)}).states.front();
  const Layout& layout = flow.layout();
  const Index columns = layout.columns();
  Vector<double> multiplicity(columns);
  for (Index c = 0; c < columns; ++c) {
    multiplicity[c] = static_cast<double>(layout.multiplicity[static_cast<std::size_t>(c)]);
  }
  const Eigen::Map<const RowMatrix<double>> table(x.data(), layout.rows(), columns);
  const Vector<double> f = flow.features_at(x);
  const Matrix<double> dense = dense_features(layout, k, f);
  Matrix<double> direct(layout.rows(), k);
  for (Index n = 0; n < k; ++n) {
    const Vector<double> logits = table.transpose() * dense.col(n);
    Vector<double> residual(columns);
    respond(logits.data(), multiplicity, layout.class_column[static_cast<std::size_t>(n)],
            residual.data());
    direct.col(n) = table * residual.cwiseProduct(multiplicity);
  }
  const double gamma = backprop_scale(m, decoder_scale(m, 1.0, s));
  return largest_relative(direct,
                          gradient_formula(dense, gram(layout, k, f).inverse(), m, gamma, {}));
}

struct Positivity {
  double smallest = std::numeric_limits<double>::infinity();         // xi_n/gamma below the bound
  int below = 0;                                                     // instances there
  double least_violation = std::numeric_limits<double>::infinity();  // lambda_max with xi_n < 0
};

Positivity search_positivity(std::uint64_t seed, int trials) {
  Stream stream(seed, 0, 4);
  Positivity found;
  for (int trial = 0; trial < trials; ++trial) {
    const Index k = 2 + static_cast<Index>(stream.index(7));
    const SequenceClasses<double> classes =
        trial % 2 == 0 ? scattered_classes(stream, k, k, k)
                       : random_classes(stream, k, 1 + static_cast<Index>(stream.index(4)), 2,
                                        std::exp(3 * (stream.uniform() - 0.7)), 200);
    const double lambda = largest_overlap(classes);
    const Matrix<double> overlaps = at_rest(classes).overlaps;
    const Vector<double> xi = relative_xi<double>(
        beta_of<double>(overlaps.inverse(), static_cast<double>(classes.tokens)), overlaps);
    if (lambda < overlap_bound(k)) ++found.below;
    for (Index n = 0; n < k; ++n) {
      if (overlaps.row(n).sum() - overlaps(n, n) == 0) continue;  // H: n overlaps another class
      if (lambda < overlap_bound(k)) found.smallest = std::min(found.smallest, xi[n]);
      // From 1 on F may have lost its rank.
      if (xi[n] < 0 && lambda < 1) found.least_violation = std::min(found.least_violation, lambda);
    }
  }
  return found;
}

// One instance, of the overlap that the knobs ask for.
Examination examine_instance(const Setting& setting) {
  Examination result;
  const Index k = setting.count(class_count);
  const Index tokens = setting.count(token_count);
  const auto m = static_cast<double>(tokens);
  const double s = setting.value(draws);
  const double rate = setting.value(attention_rate);
  result.parameters = {{"K", k}, {"M", m}, {"s", s}, {"eta_Z", rate}, {"seed", setting.seed}};
  result.hypotheses.push_back({"M >= K", tokens >= k ? Truth::yes : Truth::no, ""});
  if (tokens < k) return result;
  const Stream stream(setting.seed, 0, 9);
  const SequenceClasses<double> classes = at_chosen_overlap(setting, excess, [&](double mixing) {
    return mingled_classes(stream, k, 0, mixing, tokens);
  });
  result.hypotheses.push_back(overlap_below_bound(classes));
  result.hypotheses.push_back({"features at rest", rate == 0 ? Truth::yes : Truth::no,
                               fmt::format("eta_Z = {:.3g}", rate)});
  const AtRest rest = at_rest(classes);
  const Matrix<double> inverse = rest.overlaps.inverse();
  const double condition = rest.overlaps.norm() * inverse.norm();
  if (rate == 0) {
    result.evidence.push_back(
        bounded(EvidenceKind::numerical, "g_n from Y minus the formula, relative",
                gradient_defect(rest, m, s, {}), setting.allow(1e-14 * std::max(100.0, condition)),
                "rounding of an inverse, times its condition"));
  } else {
    result.evidence.push_back(bounded(
        EvidenceKind::numerical, "g_n of fast-decoder minus the formula, relative",
        gradient_defect_of_training(classes, s, rate), setting.allow(1e-8), "the solver's 1e-10"));
  }
  // xi_n/gamma is sum_k E_nk^2 + sum_k E_nk/(M-1) to leading order in E.
  const Vector<double> xi = relative_xi<double>(beta_of<double>(inverse, m), rest.overlaps);
  double smallest = std::numeric_limits<double>::infinity();
  for (Index n = 0; n < k; ++n) {
    double size = 0;
    for (Index j = 0; j < k; ++j) {
      const double e = rest.overlaps(n, j);
      if (j != n) size += e * e + e / (m - 1);
    }
    if (size > 0) smallest = std::min(smallest, xi[n] / size);  // H: n overlaps another class
  }
  result.evidence.push_back(bounded(EvidenceKind::numerical,
                                    "smallest xi_n over its leading order in E, negated", -smallest,
                                    0, "a strict sign"));
  return result;
}

Examination examine(const Setting& setting, std::string_view variant) {
  if (setting.only_what_varies) return examine_instance(setting);
  Examination result;
  result.parameters = {{"K", "2 to 8"}, {"M", "6 to 2020"}, {"seed", setting.seed}};
  if (variant != "negative-xi") {
    result.evidence.push_back(
        identity(EvidenceKind::exact, "iota, beta and both forms of xi on random rational G",
                 rational_identity(setting.seed, variant), "K = 2, 3, 5; M = 6, 30, 1000"));
    result.evidence.push_back(bounded(EvidenceKind::numerical,
                                      "g_n from Y minus the formula, relative, 20 random instances",
                                      gradient_defect(setting.seed, variant), 1e-12,
                                      "rounding of an inverse of condition < 100"));
  }
  const Positivity found = search_positivity(setting.seed, setting.full ? 20'000 : 2'000);
  if (variant != "other-sign") {
    const double sign = variant == "negative-xi" ? -1 : 1;
    result.evidence.push_back(bounded(
        EvidenceKind::numerical, "smallest xi_n/gamma below the bound on lambda_max(E), negated",
        -sign * found.smallest, 0, "a strict sign",
        fmt::format("{} random instances below the bound", found.below)));
  }
  if (variant.empty()) {
    result.evidence.push_back(
        reported("smallest lambda_max(E) of a random instance with some xi_n < 0",
                 std::isfinite(found.least_violation) ? found.least_violation : -1,
                 std::isfinite(found.least_violation) ? "" : "none met"));
  }
  return result;
}

}  // namespace

Statement backprop_gradient() {
  return {.id = "scan-snap.backprop-gradient",
          .claim = "g_n = gamma (iota_n f_n - sum beta_nn' f_n'), and xi_n > 0 for small overlap",
          .paper = "arXiv 2305.16380, Theorem 1",
          .status = "proved in source",
          .hypotheses = {"features at rest", "F has full rank",
                         "lambda_max(E) < 1/(1 + sqrt(K - 1)) for xi_n > 0"},
          .reaches = {EvidenceKind::exact, EvidenceKind::numerical},
          .controls = {{"other-sign", "q0 with the sign of Eqn 88"},
                       {"negative-xi", "xi_n < 0 claimed"}},
          .knobs = {class_count, token_count, overlap_share, draws, excess, attention_rate},
          .examine_variant = examine};
}

Erratum cross_scale_sign() {
  return {
      .name = "scan-snap.eqn88-sign",
      .statement = "scan-snap.backprop-gradient",
      .paper_says = "Eqn 88: beta with + q0; appendix D.1 defines E' with the opposite sign",
      .algebra_says = "zeta_j.zeta_n = q0 = -M/(M-1)^2 enters beta with -, I - E' = (I + E)^{-1}",
      .evidence = [] {
        Stream stream(1, 0, 5);
        const SequenceClasses<double> classes = random_classes(stream, 3, 1, 2, 0.5, 8);
        const Matrix<double> overlaps = at_rest(classes).overlaps;
        const Matrix<double> inverse = overlaps.inverse();
        const Vector<double> right = relative_xi<double>(beta_of<double>(inverse, 8.0), overlaps);
        const Vector<double> wrong =
            relative_xi<double>(beta_variant<double>(inverse, 8.0, "other-sign"), overlaps);
        return std::vector<Evidence>{
            identity(EvidenceKind::exact, "with -q0 the identity holds on random rational G",
                     rational_identity(1, {})),
            identity(EvidenceKind::exact, "with +q0 it does not",
                     rational_identity(1, "other-sign") == Truth::no ? Truth::yes : Truth::no),
            reported("xi_0 with the sign of Eqn 88 over xi_0, K = 3, M = 8", wrong[0] / right[0])};
      }};
}

Erratum attention_clock() {
  return {
      .name = "scan-snap.eqn10-clock",
      .statement = "scan-snap.assumptions",
      .paper_says = "Eqn 10: h runs on t/K, the attention sum over classes has weight 1",
      .algebra_says = "a class is drawn with probability 1/K in both: weight 1 is eta_Z times K",
      .evidence = [] {
        TrainingInstance<double> instance = with_ratio(syn_small<double>(), 10);
        const auto end = [](const TrainingInstance<double>& i) {
          const ReducedFlow<double> flow(i);
          return flow.logits_at(follow(forget_type(flow), {100}).states.front());
        };
        const Vector<double> ours = end(instance);
        instance.clock = Clock::paper;
        const Vector<double> papers = end(instance);
        instance.clock = Clock::consistent;
        instance.attention_rate *= 2;  // K = 2
        const Vector<double> faster = end(instance);
        return std::vector<Evidence>{
            bounded(EvidenceKind::numerical, "the paper's clock minus K eta_Z, relative",
                    (papers - faster).norm() / faster.norm(), 1e-8, "solver tolerance 1e-10"),
            bounded(EvidenceKind::numerical, "the paper's clock minus ours, relative, negated",
                    -(papers - ours).norm() / ours.norm(), -0.1, "z grows about K times as fast")};
      }};
}

}  // namespace popgrad::theorems::scan_snap
