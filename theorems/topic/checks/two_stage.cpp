#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/rungs/training.hpp"

namespace popgrad::topic::checks::two_stage {
namespace {

Statement sheet{.id = "topic.two-stage",
                .paper = "arXiv 2303.04245, Section 5/6",
                .status = "observed in source, rates derived here",
                .about = "the population flow",
                .theorem = R"(
Trained jointly from near zero, W_V relaxes first to its minimum-norm member, last at
  value_rate = 2 a^2 (T - tau)/(tau v T (T - 1)),  a = 1 - (1 - p_c) p_m,
while W_K has made less than a tenth of its way; W_K and W_Q then grow at
  attention_rate = 2 p_c pi_1 (tau - 1)/(a v tau (T - 1) sqrt(d_a)),
with pi_1 the frequency of a word of the document's topics, for any small size sigma of their start,
so that at sigma/10 they are late by ln(10)/attention_rate. W_K W_K' - W_Q W_Q' is conserved.)",
                .reaches = {EvidenceKind::numerical},
                .false_version = "together",
                .reads = "flow"};

const Clause value_first = sheet.clause("`W_V` relaxes first, at `value_rate`");
const Clause keys_wait = sheet.clause("`W_K` and `W_Q` small till then");
const Clause then_keys = sheet.clause("then at `attention_rate`");
const Clause later = sheet.clause("later from smaller `sigma`");
const Clause conserved = sheet.clause("`W_K W_K' - W_Q W_Q'` conserved");

const Hypothesis near_zero = sheet.assume("`W_V = 0`, `sigma << 1` at first");
const Hypothesis equal_rates = sheet.assume("rates of one size");
const Hypothesis plain_training =
    sheet.assume("squared loss, one-hot embeddings, no penalty, all trained");
const Hypothesis attention_moves = sheet.assume("`2 <= tau < T`, `p_c > 0`, `p0 > 0`");

const Control larger_value_rate = sheet.control("value-rate", "`value_rate` 10 % larger");
const Control larger_attention_rate =
    sheet.control("attention-rate", "`attention_rate` 10 % larger");
const Control independent =
    sheet.control("independent", "topics drawn independently: `T` for `T - 1` in both rates");
const Control weighted = sheet.control("weighted", "`W_K W_K' - 1.1 W_Q W_Q'` conserved");
const Control together =
    sheet.control("together", "`W_V`, `W_K` and `W_Q` go their way at one time, not in two stages");

const Rival triple = sheet.rival(
    "three-factors",
    "a start from which the product of `W_V`, `W_K` and `W_Q` grows as a whole: stage 2 "
    "comes after a time of `1/sigma`",
    "a rate");

const Knob topics = sheet.knob(topics_knob(3, 5, 4));
const Knob active = sheet.knob(active_knob(2, 3, 2));
const Knob words = sheet.knob(words_knob(2, 4, 3));
const Knob some_masked = sheet.knob(masking_knob(0.05, 0.4));
const Knob some_kept = sheet.knob(keeping_knob(0.05, 0.25));
const Knob some_replaced = sheet.knob(replacing_knob(0.01, 0.3));
const Knob key_rows = sheet.knob(whole_knob("key-width", "d_a, rows of W_K and W_Q", 8, 40, 13));
const Knob start_size =
    sheet.knob(logarithmic_knob("start", "sigma, deviation of the entries of W_K and W_Q at first",
                                1e-2, 2, 1e-5)
                   .breaking(near_zero));
const Knob faster = sheet.knob(
    logarithmic_knob("rate-ratio", "learning rate of W_K and W_Q over that of W_V", 2, 1000, 1)
        .breaking(equal_rates));

// Size of the logits below which stage 2 is read as linear.
constexpr double small_logits = 1e-3;

// |W_K|^2/sqrt(d_a), the size of the logits.
double logits_size(const Layout& layout, const Vector<double>& x) {
  return x.head(layout.queries()).squaredNorm() / std::sqrt(static_cast<double>(layout.key_width));
}

// The joint flow, W_K and W_Q at `ratio` times the rate of W_V.
AnyRung<double> with_ratio(const Training& training, double ratio) {
  AnyRung<double> rung = forget_type(PopulationFlow(training));
  rung.field.value = [inner = rung.field.value, keys = Layout(training).values(), ratio](
                         const Vector<double>& x, Vector<double>& dx, const double& t) {
    inner(x, dx, t);
    dx.head(keys) *= ratio;
  };
  return rung;
}

// That flow solved over both stages: the first two save points are in stage 1, when the slowest mode
// of W_V has e^-4 and e^-8 of its way left; the others spread over stage 2.
struct Stages {
  Training training;
  Layout layout;
  AnyRung<double> rung;
  double value_rate, attention_rate;  // as claimed
  Solved run;

  Stages(const Training& start, double ratio)
      : training(start),
        layout(start),
        rung(with_ratio(start, ratio)),
        value_rate(topic::value_rate(start.law)),
        attention_rate(ratio * topic::attention_rate(start.law, start.key_width)),
        run(rung, save_points(), 1e-10) {}

  // To the time at which W_K, from sigma, would be e^4 in size were growth linear: it has saturated.
  [[nodiscard]] std::vector<double> save_points() const {
    std::vector<double> all{4 / value_rate, 8 / value_rate};
    const double duration = (std::log1p(1 / training.scale) + 4) / attention_rate;
    constexpr int of_growth = 120;
    for (int i = 1; i <= of_growth; ++i) all.push_back(all[1] + duration * i / of_growth);
    return all;
  }

  // The last save point with smaller logits, but one of stage 2.
  [[nodiscard]] std::size_t save_below(double size) const {
    std::size_t save = run.size() - 1;
    while (save > 2 && logits_size(layout, run.state(save)) > size) --save;
    return save;
  }

  // d/dt ln |y - centre| for the part y of the state from `begin` on.
  [[nodiscard]] Functional logarithmic_rate(Index begin, const Vector<double>& centre) const {
    return [this, begin, centre](const Vector<double>& x) {
      Vector<double> dx(x.size());
      rung.field.value(x, dx, 0.0);
      const Vector<double> apart = x.segment(begin, centre.size()) - centre;
      return apart.dot(dx.segment(begin, centre.size())) / apart.squaredNorm();
    };
  }

  // Of |W_V - minimum norm| at the second save point. Part "next order": what faster modes made of
  // it since the first, and what it changes by under uniform attention.
  [[nodiscard]] Quantity rate_of_value() const {
    const Matrix<double> least = expand(training.law, minimum_norm_value(training.law));
    const Functional rate = logarithmic_rate(layout.values(), least.reshaped());
    Vector<double> uniform = run.state(1);
    uniform.head(layout.values()).setZero();
    Quantity measured = -run.at(1, rate);
    for (const Vector<double>& other : {run.state(0), uniform}) {
      measured.add(ErrorPart::next_order(rate(run.state(1)) - rate(other)));
    }
    return measured;
  }

  // Of |W_K| at the last save point with small logits. Part "next order": how it differs where
  // logits are four times as large (growth is linear to first order in them), and half way, where
  // modes that grow less have a larger share.
  [[nodiscard]] Quantity rate_of_keys() const {
    const Functional rate = logarithmic_rate(0, Vector<double>::Zero(layout.queries()));
    const std::size_t save = save_below(small_logits);
    Quantity measured = run.at(save, rate);
    for (const std::size_t other : {save_below(4 * small_logits), save / 2}) {
      measured.add(ErrorPart::next_order(rate(run.state(other)) - rate(run.state(save))));
    }
    return measured;
  }

  // When the logits are as large as `small_logits`.
  [[nodiscard]] Quantity time_of_small() const {
    const std::size_t save = save_below(small_logits);
    const Quantity size =
        run.at(save, [&](const Vector<double>& x) { return logits_size(layout, x); });
    return Quantity(run.times()[save]) +
           (Quantity(std::log(small_logits)) - log(size)) / (Quantity(2) * rate_of_keys());
  }

  // At the second save point: what is left of the way of W_V to its least norm, over that way, and
  // |W_K| over that at the end.
  [[nodiscard]] Quantity value_left() const {
    const Matrix<double> least = expand(training.law, minimum_norm_value(training.law));
    return run.at(1, [&](const Vector<double>& x) {
      return (x.segment(layout.values(), least.size()) - least.reshaped()).norm() / least.norm();
    });
  }
  [[nodiscard]] Quantity keys_made() const {
    const double last = run.state(run.size() - 1).head(layout.queries()).norm();
    return run.at(1,
                  [&](const Vector<double>& x) { return x.head(layout.queries()).norm() / last; });
  }

  // Change of W_K W_K' - weight W_Q W_Q' from the start to the end, over |W_K|^2 at the end.
  [[nodiscard]] Quantity drift(double weight) const {
    const auto difference = [&](const Vector<double>& x) {
      const ConstView keys(x.data() + layout.keys(), layout.key_width, layout.width);
      const ConstView queries(x.data() + layout.queries(), layout.key_width, layout.width);
      return Matrix<double>(keys * keys.transpose() - weight * queries * queries.transpose());
    };
    const Matrix<double> first = difference(rung.initial);
    const std::size_t last = run.size() - 1;
    const double size = run.state(last).head(layout.queries()).squaredNorm();
    Quantity change = run.at(
        last, [&](const Vector<double>& x) { return (difference(x) - first).norm() / size; });
    // At least a product at every step of the solver, and a step between any two save points.
    change.add(ErrorPart::rounding(
        static_cast<double>(layout.width) * static_cast<double>(run.size()), 1 + weight));
    return change;
  }
};

Training drawn_training(const Setting& setting) {
  Training training;
  training.law =
      rounded(law_at(setting, setting.count(topics), setting.count(active), setting.count(words)));
  training.key_width = setting.count(key_rows);
  training.scale = setting.value(start_size);
  training.seed = setting.seed;
  return training;
}

// Whether anything can be measured.
bool require_hypotheses(const Training& training, double ratio, Examination& it) {
  const TopicLaw<double>& law = training.law;
  const Layout layout(training);
  const Vector<double> x = start(training);
  const double first = logits_size(layout, x);
  const double value = x.segment(layout.values(), layout.width * layout.width).norm();
  it.require(
      near_zero, value > 0 ? -value : small_logits - first,
      fmt::format("`|W_V| = {:.3g}`, logits {:.3g}, small below {:g}", value, first, small_logits));
  it.require(equal_rates, 1 - ratio, fmt::format("{:.3g} times as fast", ratio));
  const bool plain = it.require(
      plain_training,
      training.loss == LossKind::squared && !layout.embedded && training.penalty == 0 &&
          training.train_value && training.train_attention && training.temperature == 1,
      training.temperature == 1 ? std::string()
                                : fmt::format("temperature {:.3g}", training.temperature));
  const bool moves =
      it.require(attention_moves,
                 law.active >= 2 && law.active < law.topics && law.correct > 0 && law.mask() > 0,
                 fmt::format("`tau = {}` of {}", law.active, law.topics));
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
  it.judge(value_first,
           equal("rate of `W_V` at the end of stage 1", stages.rate_of_value(), stages.value_rate)
               .unless(larger_value_rate, times(1.1))
               .unless(independent, times(fewer)));
  const Quantity left = stages.value_left();
  it.judge(keys_wait, below("at the end of stage 1, below a tenth")
                          .add("what `W_V` has left of its way", left, 0.1)
                          .add("what `W_K` has made of its", stages.keys_made(), 0.1)
                          .unless(together, [&] {
                            return std::vector<Quantity>{left, Quantity(1) - left};
                          }));
  it.judge(then_keys, equal("rate of `W_K` in stage 2, while it is small", stages.rate_of_keys(),
                            stages.attention_rate)
                          .unless(larger_attention_rate, times(1.1))
                          .unless(independent, times(fewer)));
  Training smaller = training;
  smaller.scale /= 10;
  smaller.keys /= 10;
  smaller.queries /= 10;
  it.judge(later, equal("delay of stage 2 at a tenth of `sigma`",
                        Stages(smaller, ratio).time_of_small() - stages.time_of_small(),
                        std::log(10.0) / stages.attention_rate)
                      .unless(larger_attention_rate, times(1 / 1.1))
                      .against(triple, Quantity(9) * stages.time_of_small()));
  it.judge(conserved,
           equal("drift of `W_K W_K' - W_Q W_Q'`, over `W_K W_K'` at the end", stages.drift(1), 0)
               .in_units_of(1)
               .unless(weighted, [&] { return stages.drift(1.1); }));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::topic::checks::two_stage
