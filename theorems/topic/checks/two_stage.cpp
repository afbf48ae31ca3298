// Theorem    topic.two-stage
// Status     observed in source, rates derived here
// Source     Li, Li, Risteski, arXiv 2303.04245, Section 5/6 (two-stage optimisation)
// Statement  trained jointly from near zero, W_V relaxes first to its minimum-norm member, last at
//              value_rate = 2 a^2 (T - tau)/(tau v T (T - 1)),
//            while W_K and W_Q stay small; they then grow at
//              attention_rate = 2 p_c pi_1 (tau - 1)/(a v tau (T - 1) sqrt(d_a)),
//            whatever sigma is, so that at sigma/10 they are late by ln(10)/attention_rate;
//            W_K W_K' - W_Q W_Q' is conserved
// Hypotheses H1 W_V = 0 and entries of W_K, W_Q of size sigma << 1 at first; H2 rates of one size;
//            H3 squared loss, one-hot embeddings, no penalty, all trained, temperature 1;
//            H4 2 <= tau < T, p_c > 0, p0 > 0
// Check      rate of W_V and growth of |W_K| at the end of stage 1; rate of |W_K| while logits are
//            small; delay at sigma/10; drift of the difference over both stages
// Controls   value_rate 10 % larger; attention_rate 10 % larger; T for T - 1 in both;
//            W_K W_K' - 1.1 W_Q W_Q' conserved
// Uses       rung flow

#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/checks/stages.hpp"

namespace popgrad::topic::checks::two_stage {
namespace {

constexpr Knob topics = topics_knob(3, 5, 4);
constexpr Knob active = active_knob(2, 3, 2);
constexpr Knob words = words_knob(2, 4, 3);
constexpr Knob some_masked = masking_knob(0.05, 0.4);
constexpr Knob some_kept = keeping_knob(0.05, 0.25);
constexpr Knob some_replaced = replacing_knob(0.01, 0.3);
constexpr Knob key_rows = whole_knob("key-width", "d_a, rows of W_K and W_Q", 8, 40, 13);
constexpr Knob start_size =
    logarithmic_knob("start", "sigma, deviation of the entries of W_K and W_Q at first", 1e-2, 2,
                     1e-5)
        .breaking("W_V = 0, sigma << 1 at first");
constexpr Knob faster =
    logarithmic_knob("rate-ratio", "learning rate of W_K and W_Q over that of W_V", 2, 1000, 1)
        .breaking("rates of one size");

Training drawn_training(const Setting& setting) {
  Training training;
  training.law =
      rounded(law_at(setting, setting.count(topics), setting.count(active), setting.count(words)));
  training.key_width = setting.count(key_rows);
  training.scale = setting.value(start_size);
  training.seed = setting.seed;
  return training;
}

bool require_hypotheses(const Training& training, double ratio, Examination& it) {
  const TopicLaw<double>& law = training.law;
  const Layout layout(training);
  const Vector<double> x = start(training);
  const double first = logits_size(layout, x);
  const double value = x.segment(layout.values(), layout.width * layout.width).norm();
  it.require(
      "W_V = 0, sigma << 1 at first", value > 0 ? -value : small_logits - first,
      fmt::format("|W_V| = {:.3g}, logits {:.3g}, small below {:g}", value, first, small_logits));
  it.require("rates of one size", 1 - ratio, fmt::format("{:.3g} times as fast", ratio));
  const bool plain = training.loss == LossKind::squared && !layout.embedded &&
                     training.penalty == 0 && training.train_value && training.train_attention &&
                     training.temperature == 1;
  it.require("squared loss, one-hot embeddings, no penalty, all trained",
             plain ? Truth::yes : Truth::no,
             training.temperature == 1 ? std::string()
                                       : fmt::format("temperature {:.3g}", training.temperature));
  const bool moves =
      law.active >= 2 && law.active < law.topics && law.correct > 0 && law.mask() > 0;
  it.require("2 <= tau < T, p_c > 0, p0 > 0", moves ? Truth::yes : Truth::no,
             fmt::format("tau = {} of {}", law.active, law.topics));
  return plain && moves && training.scale > 0;
}

void examine(const Setting& setting, Examination& it) {
  const Training training =
      examined(setting, topic::training, [&] { return drawn_training(setting); });
  const TopicLaw<double>& law = training.law;
  it.parameters = {{"T", law.topics},         {"tau", law.active},         {"v", law.words},
                   {"p_m", law.masked},       {"p_c", law.correct},        {"p_r", law.random},
                   {"sigma", training.scale}, {"d_a", training.key_width}, {"seed", training.seed}};
  const double ratio = setting.value(faster);
  if (!require_hypotheses(training, ratio, it)) return;
  const Stages stages(training, ratio);
  const double fewer = 1 - 1 / static_cast<double>(law.topics);
  it.judge(Comparison{
      .what = "rate of W_V at the end of stage 1",
      .measured = {stages.rate_of_value()},
      .predicted = {stages.value()},
      .mistakes = {predicts_times("value-rate", 1.1), predicts_times("independent", fewer)}});
  it.judge(Comparison{.what = "growth of |W_K| in stage 1, against its rate in stage 2",
                      .measured = {stages.early_growth()},
                      .relation = Relation::below,
                      .predicted = {std::exp(8 * stages.attention() / stages.value())}});
  it.judge(Comparison{
      .what = "rate of W_K in stage 2, while it is small",
      .measured = {stages.rate_of_keys()},
      .predicted = {stages.attention()},
      .mistakes = {predicts_times("attention-rate", 1.1), predicts_times("independent", fewer)}});
  Training smaller = training;
  smaller.scale /= 10;
  smaller.keys /= 10;
  smaller.queries /= 10;
  it.judge(Comparison{.what = "delay of stage 2 at a tenth of sigma",
                      .measured = {Stages(smaller, ratio).time_of_small() - stages.time_of_small()},
                      .predicted = {std::log(10.0) / stages.attention()},
                      .mistakes = {predicts_times("attention-rate", 1 / 1.1)}});
  it.judge(Comparison{
      .what = "drift of W_K W_K' - W_Q W_Q', over W_K W_K' at the end",
      .measured = {stages.drift(1)},
      .predicted = {0.0},
      .scale = {1.0},
      .mistakes = {measures("weighted", [&] { return std::vector{stages.drift(1.1)}; })}});
}

}  // namespace

Statement statement() {
  return {.id = "topic.two-stage",
          .claim = "W_V relaxes first, then W_K and W_Q grow; both rates, one conserved difference",
          .paper = "arXiv 2303.04245, Section 5/6",
          .status = "observed in source, rates derived here",
          .hypotheses = {"W_V = 0, sigma << 1 at first", "rates of one size",
                         "squared loss, one-hot embeddings, no penalty, all trained",
                         "2 <= tau < T, p_c > 0, p0 > 0"},
          .reaches = {EvidenceKind::numerical},
          .controls = {{"value-rate", "value_rate 10 % larger"},
                       {"attention-rate", "attention_rate 10 % larger"},
                       {"independent", "topics drawn independently: T for T - 1 in both rates"},
                       {"weighted", "W_K W_K' - 1.1 W_Q W_Q' conserved"}},
          .knobs = {topics, active, words, some_masked, some_kept, some_replaced, key_rows,
                    start_size, faster},
          .reads = "flow",
          .examine = examine};
}

}  // namespace popgrad::topic::checks::two_stage
