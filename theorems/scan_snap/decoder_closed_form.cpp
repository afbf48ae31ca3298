// Theorem    scan-snap.decoder-closed-form
// Status     proved in source (Lemmas 6, 7, 9)
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Lemmas 6, 7 and 9
// Statement  h' = eta_Y/(M - 1 + exp(M h)), h(0) = 0, is solved by
//              exp(M h) + (M-1) M h = M eta_Y s + 1;
//            the discrete h* obeys
//              0 <= h* - h <= 2 eta_Y/M;
//            before s = ln M/eta_Y
//              h     ~ eta_Y s/M,
//            then
//              h     ~ ln(M eta_Y s)/M
//              gamma ~ ln(M eta_Y s)/(eta_Y s)
// Hypotheses H1 M >= 2; H2 eta_Y > 0, at s >= 0
// Check      derivative of the implicit relation on symbols; both bounds enclosed by intervals on
//            a grid; sup (h* - h) M/eta_Y -> 1/(2e) as eta_Y -> 0; errors of the regimes measured
// Controls   a bound eta_Y/(10 M); the late regime without the factor M in its logarithm
// Uses       closed forms of the decoder

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "popgrad/identity.hpp"
#include "popgrad/scalar/interval.hpp"
#include "popgrad/scan_snap/decoder.hpp"
#include "theorems/scan_snap/statements.hpp"

namespace popgrad::theorems::scan_snap {
namespace {

using namespace popgrad::scan_snap;

constexpr Knob vocabulary{.name = "vocabulary",
                          .meaning = "tokens M",
                          .low = 2,
                          .high = 1e6,
                          .usual = 1000,
                          .spacing = Spacing::logarithmic};
constexpr Knob decoder_rate{.name = "decoder-rate",
                            .meaning = "learning rate eta_Y",
                            .low = 1e-3,
                            .high = 100,
                            .usual = 1,
                            .spacing = Spacing::logarithmic};

// d/ds of the relation, with h' from the code that is integrated.
Truth implicit_relation() {
  const Expression m = symbol("M");
  const Expression eta = symbol("eta_Y");
  const Expression h = symbol("h");
  const Expression left = GiNaC::exp(m * h) + (m - 1) * m * h;
  const Expression rate = decoder_rate_of<Expression>(m, eta, h);
  return vanishes(Expression(left.diff(GiNaC::ex_to<GiNaC::symbol>(h)) * rate - m * eta));
}

// exp(M h) + (M-1) M h - M eta_Y s - 1, increasing in h: its sign tells on which side of
// h(s) an interval lies.
Interval relation(const Interval& m, const Interval& eta, long s, const Interval& h) {
  using std::exp;
  return exp(Interval(m * h)) + (m - Interval(1)) * m * h - m * eta * Interval(s) - Interval(1);
}

struct Enclosure {
  bool below = true;    // 0 <= h* - h everywhere
  bool within = true;   // h* - h <= bound everywhere
  std::string failure;  // where either was not certain
  int points = 0;
};

// 0 <= h*(s) - h(s): relation(h*) >= 0; h* - h <= bound: relation(h* - bound) <= 0.
void enclose_gap(const Interval& m, const Interval& eta, const std::string& where,
                 std::string_view variant, Enclosure& found) {
  const Interval bound = variant == "tight-bound" ? Interval(eta / (Interval(10) * m))
                                                  : Interval(Interval(2) * eta / m);
  Interval h(0);
  for (long s = 1; s <= 200; ++s) {
    h = h + decoder_rate_of<Interval>(m, eta, h);
    ++found.points;
    if (less(relation(m, eta, s, h), Interval(0)) == Truth::yes ||
        less(Interval(0), relation(m, eta, s, h)) != Truth::yes) {
      found.below = false;
      found.failure = fmt::format("{}, s = {}", where, s);
    }
    if (less(relation(m, eta, s, Interval(h - bound)), Interval(0)) != Truth::yes) {
      found.within = false;
      found.failure = fmt::format("{}, s = {}", where, s);
    }
  }
}

// On a grid, or in a search at one point of it.
Enclosure enclose_gaps(const Setting& setting, std::string_view variant) {
  Enclosure found;
  if (setting.only_what_varies) {
    const auto m = static_cast<int>(setting.count(vocabulary));
    const double rate = setting.value(decoder_rate);
    enclose_gap(Interval(m), Interval(rate), fmt::format("M = {}, eta_Y = {}", m, rate), variant,
                found);
    return found;
  }
  for (const int m : {2, 5, 30, 1000}) {
    for (const char* const rate : {"0.01", "0.1", "1", "10"}) {
      enclose_gap(Interval(m), from_text<Interval>(rate),
                  fmt::format("M = {}, eta_Y = {}", m, rate), variant, found);
    }
  }
  return found;
}

// sup over s of (h* - h) M/eta_Y.
double largest_gap(double m, double eta) {
  double h = 0;
  double largest = 0;
  // The gap peaks where M h is of order ln M, long before this end.
  const long end = std::max(1L, std::lround(8 * std::log(m) / eta));
  for (long s = 1; s <= end; ++s) {
    h += decoder_rate_of(m, eta, h);
    const double gap = h - decoder_scale(m, eta, static_cast<double>(s));
    largest = std::max(largest, gap * m / eta);
  }
  return largest;
}

// Relative errors of the regimes of h and gamma.
void measure_regimes(Examination& result, double m, double eta, std::string_view variant) {
  const double early = std::log(m) / eta;
  const double late = 2 * crossover(m) / eta;
  const double far = 20 * std::log(m) / eta;
  const auto h = [&](double s) { return decoder_scale(m, eta, s); };
  const auto gamma = [&](double s) { return backprop_scale(m, h(s)); };
  const bool no_factor = variant == "no-factor";
  const auto late_gamma = [&](double s) {
    return no_factor ? std::log(eta * s) / (eta * s) : late_backprop_scale(m, eta, s);
  };
  const auto line = [&](const char* what, double error) {
    result.evidence.push_back(reported(what, error));
  };
  line("h, early regime at K ln M/eta_Y, relative error",
       early_decoder_scale(m, eta, early) / h(early) - 1);
  line("h, late regime at t0, relative error", late_decoder_scale(m, eta, late) / h(late) - 1);
  line("gamma, early regime at K ln M/eta_Y, relative error",
       early_backprop_scale(eta, early) / gamma(early) - 1);
  line("gamma, late regime at t0, relative error", late_gamma(late) / gamma(late) - 1);
  line("gamma, late regime at 20 K ln M/eta_Y, relative error", late_gamma(far) / gamma(far) - 1);
  // The relation gives M h = ln(M eta_Y s + 1 - (M-1) M h): relative to M eta_Y s the neglected
  // part is M h/(eta_Y s), so the error of h is that over M h, and gamma adds as much again.
  for (const double s : {far, 100 * far}) {
    const double neglected = m * h(s) / (eta * s);
    result.evidence.push_back(
        bounded(EvidenceKind::numerical, fmt::format("h against its late regime at s = {:.0f}", s),
                std::fabs(late_decoder_scale(m, eta, s) / h(s) - 1), 2 * neglected / (m * h(s)),
                "twice what the logarithm neglects, M h/(eta_Y s), over M h"));
    result.evidence.push_back(bounded(
        EvidenceKind::numerical, fmt::format("gamma against its late regime at s = {:.0f}", s),
        std::fabs(late_gamma(s) / gamma(s) - 1), 2 * neglected + 3 / m,
        "twice the part M h/(eta_Y s) that the regime neglects, and ((M-1)/M)^2"));
  }
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const auto m = static_cast<double>(setting.count(vocabulary));
  const double eta = setting.value(decoder_rate);
  if (setting.only_what_varies) {
    result.parameters = {{"M", m}, {"eta_Y", eta}, {"s", "1 to 200"}};
  } else {
    result.parameters = {{"M", "2, 5, 30, 1000"}, {"eta_Y", "0.01 to 10"}, {"s", "1 to 200"}};
  }
  if (variant.empty() && !setting.only_what_varies) {
    result.evidence.push_back(identity(EvidenceKind::symbolic,
                                       "the implicit relation is solved by h' of the code",
                                       implicit_relation(), "generic M, eta_Y, h"));
  }
  if (variant.empty() || variant == "tight-bound") {
    const Enclosure gap = enclose_gaps(setting, variant);
    // A point of the grid that is not certain counts against the claim.
    result.evidence.push_back(identity(EvidenceKind::certified, "0 <= h* - h on the grid",
                                       gap.below ? Truth::yes : Truth::no,
                                       fmt::format("{} points", gap.points)));
    result.evidence.push_back(identity(EvidenceKind::certified, "h* - h <= bound on the grid",
                                       gap.within ? Truth::yes : Truth::no, gap.failure));
  }
  if (setting.only_what_varies) {
    // The identities above have no size that a search could follow.
    result.evidence.push_back(bounded(EvidenceKind::numerical,
                                      "largest (h* - h) M/eta_Y, to rounding", largest_gap(m, eta),
                                      2, "the bound of Lemma 7"));
  }
  if (variant.empty()) {
    const double limit = 1 / (2 * std::numbers::e);
    const double coarse = largest_gap(m, 0.1) - limit;
    const double fine = largest_gap(m, 0.01) - limit;
    result.evidence.push_back(bounded(
        EvidenceKind::numerical, "sup (h* - h) M/eta_Y minus 1/(2e), at eta_Y = 0.01",
        std::fabs(fine), 0.2 * std::fabs(coarse) + 2e-3,
        "falls in proportion to eta_Y, down to what whole s miss of the peak, 1e-3",
        fmt::format("{:.4f} at eta_Y = 0.1, {:.4f} at 0.01", coarse + limit, fine + limit)));
  }
  // gamma's late regime is off by ((M-1)/M)^2 at any time, which is within 3/M from M = 5 on.
  if ((variant.empty() && m >= 5) || variant == "no-factor") {
    measure_regimes(result, m, eta, variant);
  }
  return result;
}

}  // namespace

Statement decoder_closed_form() {
  return {
      .id = "scan-snap.decoder-closed-form",
      .claim = "h solves exp(M h) + (M-1) M h = M eta_Y s + 1 and stays below h* by <= 2 eta_Y/M",
      .paper = "arXiv 2305.16380, Lemmas 6, 7 and 9",
      .status = "proved in source",
      .hypotheses = {"M >= 2", "eta_Y > 0"},
      .reaches = {EvidenceKind::symbolic, EvidenceKind::certified, EvidenceKind::numerical},
      .controls = {{"tight-bound", "h* - h <= eta_Y/(10 M)"},
                   {"no-factor", "gamma ~ ln(eta_Y s)/(eta_Y s), as Theorem 1 prints"}},
      .knobs = {vocabulary, decoder_rate},
      .examine_variant = examine};
}

Erratum late_backprop_regime() {
  return {.name = "scan-snap.gamma-late-regime",
          .statement = "scan-snap.decoder-closed-form",
          .paper_says = "Theorem 1: gamma ~ K ln(eta_Y t/K)/(eta_Y t) for late t",
          .algebra_says = "the logarithm has a factor M: gamma ~ K ln(M eta_Y t/K)/(eta_Y t)",
          .evidence = [] {
            const double m = 1000;
            const double s = 1e6;
            const double gamma = backprop_scale(m, decoder_scale(m, 1.0, s));
            return std::vector<Evidence>{
                bounded(EvidenceKind::numerical,
                        "relative error with the factor, M = 1000, eta_Y t/K = 1e6",
                        std::fabs(late_backprop_scale(m, 1.0, s) / gamma - 1), 3e-3,
                        "neglects ((M-1)/M)^2, 2e-3, and M h/(eta_Y s), 2e-5"),
                bounded(EvidenceKind::numerical, "relative error without it, negated",
                        -std::fabs(std::log(s) / s / gamma - 1), -0.3,
                        "ln 1e6 is two thirds of ln 1e9")};
          }};
}

}  // namespace popgrad::theorems::scan_snap
