// Theorem    scb.starts
// Status     claimed in source, orders and rates derived here
// Source     Ren, Wang, Lee, arXiv 2410.23438, reply 1 to the reviewers
// Statement  V(0) = 11'/N in place of mu 1' gives the same result, up to O(1/N). With
//            w = 1/N - mu, and as w1' has no covariance product with anything:
//            projected gradients: A and alpha_V are the same, and V apart by w1' for ever, at the
//            distance |w1'|_mu^2 = |w|^2 = O(1/N), as N^-1 if mu N keeps its law as N grows;
//            gradients not projected (T large): V mu keeps its length and turns to mu,
//              tan(angle) = tan(angle at first) exp(-N |mu|^2 t),  S_k = sqrt(N) |mu| cos(angle):
//            the offset does not vanish, but S V mu = mu holds at the end;
//            V itself projected: mu 1' at once
// Hypotheses H1 P mu = mu; H2 mu not uniform; H3 linear attention, both parts at one rate
// Check      distance, alpha_V and alpha_A of both runs along the growth; angle, length and S of
//            unprojected flows as T doubles twice, from at least 10 N^2 |mu|^2, where S follows
//            V mu; mean of |w|^2 over drawn laws from N = 30 to 300
// Controls   the offset a tenth smaller; the offset as if it were felt, with the covariance product
//            of uncentred columns; V mu turns at the rate 1; V mu takes the length of mu; |w|^2 as
//            N^-1.1
// Uses       rung flow

#include "popgrad/walks/ensemble.hpp"
#include "theorems/scb/checks/prelude.hpp"
#include "theorems/scb/checks/tilted_law.hpp"
#include "theorems/scb/checks/two_starts.hpp"

namespace popgrad::scb::checks::starts {
namespace {

constexpr Knob tokens_knob = whole_knob("tokens", "tokens N of the vocabulary", 3, 12, 5);
constexpr Knob length = logarithmic_knob("length", "positions T of the context", 2000, 20000, 5000);
constexpr Knob spread =
    linear_knob("spread", "mu N is drawn within 1 +- spread, then normalised", 0.6, 0.9, 0.8);
constexpr Knob even =
    linear_knob("even", "mu uniform if above 0; 0: mu drawn", 0.5, 1, 0).breaking("mu not uniform");

// Both runs with projected gradients, over each other.
void judge_projected(const Training<double>& training, Examination& it) {
  const ProjectedRuns runs = projected_runs(training);
  Comparison same{.what = "V apart over |w|, and alpha_V, alpha_A of one run over the other",
                  .measured = runs.measured,
                  .predicted = {1.0},
                  .mistakes = {predicts("felt", runs.felt)},
                  .places = runs.places};
  std::vector<Quantity> smaller(runs.measured.size(), 1.0);
  for (std::size_t i = 0; i < smaller.size(); i += 3) smaller[i] = 0.9;
  same.mistakes.push_back(predicts("smaller", smaller));
  it.judge(same);
}

void judge_unprojected(const Training<double>& training, Examination& it) {
  const Bigrams<double>& b = training.bigrams;
  const double rate = static_cast<double>(b.tokens()) * b.stationary.squaredNorm();
  it.judge(Comparison{.what = "turning of V mu, as T grows",
                      .measured = turning(training),
                      .predicted = {rate, 1.0, 1.0},
                      .mistakes = {predicts("rate-one", {1.0, 1.0, 1.0}),
                                   predicts("full-length", {rate, std::sqrt(rate), 1.0})},
                      .places = {"rate", "length", "S"}});
}

// Exponent of N in the mean of |w|^2 between 30 and 300.
void judge_order(const Setting& setting, Examination& it) {
  constexpr double few = 30;
  constexpr double many = 300;
  const double width = setting.value(spread);
  const auto mean = [&](double n) {
    return sample_moments(
               squared_offsets(std::lround(n), width, setting.draws(400), setting.draw_seed()),
               setting.false_alarm)
        .mean.front();
  };
  Quantity exponent = (log(mean(few)) - log(mean(many))) / std::log(many / few);
  // |w|^2 = v/(N m^2), m and v the mean and variance of N numbers, is off by O(1/N) of itself.
  exponent.add(ErrorPart::next_order(1 / (few * std::log(many / few))));
  it.judge(Comparison{.kind = EvidenceKind::statistical,
                      .what = "order in 1/N of the squared distance of both starts",
                      .measured = {exponent},
                      .predicted = {1.0},
                      .mistakes = {predicts("order", 1.1)}});
}

void examine(const Setting& setting, Examination& it) {
  Training<double> training = examined_training(setting, [&] {
    return tilted_training(setting.count(tokens_knob), setting.count(length),
                           setting.value(even) > 0 ? 0.0 : setting.value(spread), setting.seed);
  });
  const Bigrams<double>& b = training.bigrams;
  training.start = b.stationary * Vector<double>::Ones(b.tokens()).transpose();
  const double offset =
      (b.stationary.array() - 1 / static_cast<double>(b.tokens())).matrix().norm();
  it.parameters = {{"N", b.tokens()}, {"T", b.context}, {"w", offset}, {"seed", setting.seed}};
  const auto n = static_cast<double>(b.tokens());
  const double off = (b.transition * b.stationary - b.stationary).norm();
  it.require("P mu = mu", ErrorPart::rounding(n * n, 2).size() - off,
             fmt::format("|P mu - mu| = {:.3g}", off));
  const double rounding = ErrorPart::rounding(n, 1).size();
  it.require_positive("mu not uniform", offset - rounding, fmt::format("|w| = {:.3g}", offset));
  const bool papers = !training.softmax && training.attention_rate == 1;
  it.require("linear attention, both parts at one rate", papers ? Truth::yes : Truth::no);
  if (!papers || offset <= rounding) return;
  judge_projected(training, it);
  judge_unprojected(training, it);
  judge_order(setting, it);
}

}  // namespace

Statement statement() {
  return {.id = "scb.starts",
          .claim = "V(0) = 11'/N gives the runs of mu 1', its offset of O(1/N) apart",
          .paper = "arXiv 2410.23438, reply 1 to the reviewers",
          .status = "claimed in source, orders and rates derived here",
          .hypotheses = {"P mu = mu", "mu not uniform", "linear attention, both parts at one rate"},
          .reaches = {EvidenceKind::numerical, EvidenceKind::statistical},
          .controls = {{"smaller", "the offset a tenth smaller"},
                       {"felt", "<w1', P> with D in place of C"},
                       {"rate-one", "V mu turns at the rate 1"},
                       {"full-length", "V mu takes the length of mu"},
                       {"order", "|w|^2 as N^-1.1"}},
          .knobs = {tokens_knob, length, spread, even},
          .reads = "flow",
          .examine = examine};
}

}  // namespace popgrad::scb::checks::starts
