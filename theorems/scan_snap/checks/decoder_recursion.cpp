#include <array>

#include "theorems/scan_snap/checks/decoder_knobs.hpp"
#include "theorems/scan_snap/checks/decoder_measurements.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/response.hpp"

namespace popgrad::scan_snap::checks::decoder_recursion {
namespace {

Statement sheet{.id = "scan-snap.decoder-recursion",
                .paper = "arXiv 2305.16380, Lemma 5",
                .status = "proved in source",
                .about = "the recursion of one class's decoder",
                .theorem = R"(
Repeated for one class n from w = 0,
  w <- w + eta_Y (e_n - alpha),  alpha = softmax(w),
stays on
  w           = (M-1) h* zeta_n
  e_n - alpha = (M-1)/(M - 1 + exp(M h*)) zeta_n
  zeta_n      = M/(M-1) (e_n - 1/M)
with
  h* <- h* + eta_Y/(M - 1 + exp(M h*)).)",
                .reaches = {EvidenceKind::symbolic, EvidenceKind::numerical},
                .no_rival = "an identity of the recursion, compared to thirty digits",
                .false_version = "continuous",
                .reads = "reduced"};

const Clause along_zeta = sheet.clause(
    "repeated draws of one class move its decoder along `zeta_n`, `w = (M-1) h* zeta_n`");
const Clause error_there = sheet.clause("there `e_n - alpha = (M-1)/(M - 1 + exp(M h*)) zeta_n`");

const Hypothesis orthonormal = sheet.assume("orthonormal features");
const Hypothesis drawn_again = sheet.assume(by_construction(
    "one class is drawn again and again", "where features are orthonormal no other class is felt"));

const Control short_exponent =
    sheet.control("short-exponent", "`exp((M-1) h*)` in place of `exp(M h*)`");
const Control continuous =
    sheet.control("continuous", "`h` of continuous time (Lemma 6) in place of `h*` of draws");
const Control wrong_mean =
    sheet.control("wrong-mean", "`1/(M-1)` taken off in `zeta_n`, not `1/M`");

const Knob vocabulary = sheet.knob(vocabulary_knob(2, 1e5, 30));
const Knob decoder_rate = sheet.knob(decoder_rate_knob(0.01, 100));
const Knob draws = sheet.knob(whole_knob("draws", "draws of the class", 1, 200, 200));
const Knob feature_overlap = sheet.knob(
    logarithmic_knob("feature-overlap", "f_n.f_j with a class j that is drawn as often, at random",
                     1e-4, 1, 0)
        .breaking(orthonormal));

enum class Claim { lemma_5, continuous, short_exponent, wrong_mean };

// zeta_n at token n and at any other one; h*' = eta_Y/(M - 1 + exp(M h)), e_n - alpha in zeta_n.
template <class T>
struct Claimed {
  T own, other, rate, error;
  Claimed(Claim claim, const T& m, const T& eta, const T& h) {
    const T mean = T(1) / (claim == Claim::wrong_mean ? T(m - T(1)) : m);
    own = m / (m - T(1)) * (T(1) - mean);
    other = -m / (m - T(1)) * mean;
    const T shorter = (m - T(1)) / m * h;
    rate = decoder_rate_of<T>(m, eta, claim == Claim::short_exponent ? shorter : h);
    error = (m - T(1)) / eta * rate;
  }
};

// At w = (M-1) h zeta_n: M h at token n and 0 elsewhere, up to a shift.
Truth symbolic_error(Claim claim) {
  const Expression m = symbol("M");
  const Expression h = symbol("h");
  const std::array<Expression, 2> logits{m * h, Expression(0)};
  const Vector<Expression> multiplicity{{Expression(1), Expression(m - 1)}};
  std::array<Expression, 2> residual;
  respond(logits.data(), multiplicity, 0, residual.data());
  const Claimed<Expression> claimed(claim, m, symbol("eta_Y"), h);
  return vanishes(Matrix<Expression>{{Expression(residual[0] - claimed.error * claimed.own),
                                      Expression(residual[1] - claimed.error * claimed.other)}});
}

void prove(Examination& it) {
  it.judge(error_there,
           identity("`e_n - alpha` at `w = (M-1) h zeta_n` is the claimed multiple of `zeta_n`",
                    [] { return symbolic_error(Claim::lemma_5); })
               .unless(short_exponent, [] { return symbolic_error(Claim::short_exponent); })
               .unless(wrong_mean, [] { return symbolic_error(Claim::wrong_mean); })
               .with("generic `M` and `h`"));
}

// The decoder of class n after so many draws of it: w and e_n - alpha at the next tokens of n and
// of a class j, and at each of the M - 2 other tokens.
struct AfterDraws {
  long draws;
  Vector<Real> w, error;
};

// After 1, 2, 4, ... and all draws of class n, by the answer that training runs. If features
// overlap, draws of class j come between at random, and either moves the row of the other by the
// overlap as much.
std::vector<AfterDraws> repeated_draws(const Decoder& decoder, double overlap, long count,
                                       std::uint64_t seed) {
  std::array<Vector<Real>, 2> rows;  // of classes n and j
  rows.fill(Vector<Real>::Constant(3, Real(0)));
  Vector<Real> multiplicity = Vector<Real>::Constant(3, Real(1));
  multiplicity[2] = Real(decoder.vocabulary - 2);
  Vector<Real> error(3);
  const auto answer = [&](Index drawn) {
    respond(static_cast<const Real*>(rows[static_cast<std::size_t>(drawn)].data()), multiplicity,
            drawn, error.data());
  };
  const auto draw = [&](Index drawn) {
    answer(drawn);
    const Vector<Real> pull = error * Real(decoder.rate);
    rows[static_cast<std::size_t>(drawn)] += pull;
    rows[static_cast<std::size_t>(1 - drawn)] += pull * Real(overlap);
  };
  Stream stream(seed, 0, 8);
  std::vector<AfterDraws> saved;
  for (long s = 1; s <= count; ++s) {
    throw_if_stopped();
    while (overlap > 0 && stream.uniform() < 0.5) draw(1);
    draw(0);
    if ((s & (s - 1)) != 0 && s != count) continue;
    answer(0);
    saved.push_back({s, rows[0], error});
  }
  return saved;
}

// Numbers computed with many digits, with the largest change of any of them when computed with
// fewer as the part "solver" of each.
std::vector<Quantity> with_change(const std::vector<double>& many_digits,
                                  const std::vector<double>& fewer_digits) {
  std::size_t worst = 0;
  const auto change = [&](std::size_t i) { return std::fabs(many_digits[i] - fewer_digits[i]); };
  for (std::size_t i = 0; i < many_digits.size(); ++i) {
    if (change(i) > change(worst)) worst = i;
  }
  std::vector<Quantity> found;
  for (const double number : many_digits) {
    found.push_back({number, {ErrorPart::solver(many_digits[worst], fewer_digits[worst])}});
  }
  return found;
}

// (w - (M-1) h* zeta_n)/((M-1) h*) and e_n - alpha minus its claimed value, in so many digits.
std::vector<double> defects(const Decoder& decoder, const Setting& setting, Claim claim,
                            unsigned digits) {
  const DigitsScope scope(digits);
  const Real m(decoder.vocabulary);
  const Real eta(decoder.rate);
  Real h(0);
  long s = 0;
  std::vector<double> found;
  for (const AfterDraws& at : repeated_draws(decoder, setting.value(feature_overlap),
                                             setting.count(draws), setting.seed)) {
    for (; s < at.draws; ++s) h = h + Claimed<Real>(claim, m, eta, h).rate;
    if (claim == Claim::continuous) h = decoder_scale(m, eta, Real(static_cast<double>(at.draws)));
    const Claimed<Real> claimed(claim, m, eta, h);
    for (Index token = 0; token < at.w.size(); ++token) {
      const Real& zeta = token == 0 ? claimed.own : claimed.other;
      found.push_back(to_double(Real(at.w[token] / ((m - Real(1)) * h) - zeta)));
      found.push_back(to_double(Real(at.error[token] - claimed.error * zeta)));
    }
  }
  return found;
}

void examine(const Setting& setting, Examination& it) {
  const Decoder decoder = chosen_decoder(setting, vocabulary, decoder_rate);
  const double overlap = setting.value(feature_overlap);
  it.parameters = {{"M", decoder.vocabulary},
                   {"eta_Y", decoder.rate},
                   {"draws", setting.count(draws)},
                   {"feature overlap", overlap},
                   {"seed", setting.seed}};
  it.require(orthonormal, -overlap, fmt::format("`f_n.f_j = {:.3g}`", overlap));
  const auto measured = [&](Claim claim) {
    return with_change(defects(decoder, setting, claim, 60), defects(decoder, setting, claim, 30));
  };
  it.judge(along_zeta,
           equal("`w` over `(M-1) h*` minus `zeta_n`, `e_n - alpha` minus its multiple of it",
                 measured(Claim::lemma_5), 0)
               .in_units_of(1)
               .unless(continuous, [&] { return measured(Claim::continuous); })
               .unless(short_exponent, [&] { return measured(Claim::short_exponent); })
               .unless(wrong_mean, [&] { return measured(Claim::wrong_mean); }));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine, prove); }

}  // namespace popgrad::scan_snap::checks::decoder_recursion
