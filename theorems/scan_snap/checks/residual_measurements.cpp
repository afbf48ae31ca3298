#include "theorems/scan_snap/checks/residual_measurements.hpp"

#include "theorems/scan_snap/checks/backprop_identity.hpp"
#include "theorems/scan_snap/checks/features_at_rest.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks {
namespace {

// Sums of f_nl^2 over the tokens of n alone and over those of several classes (K each).
struct Squares {
  Vector<double> own, shared;

  explicit Squares(const ResidualView& at) : own(Vector<double>::Zero(at.classes())), shared(own) {
    for (Index e = 0; e < at.f.size(); ++e) {
      const auto entry = static_cast<std::size_t>(e);
      Vector<double>& part = at.layout.entry_distinct[entry] ? own : shared;
      part[at.layout.entry_class[entry]] += at.f[e] * at.f[e];
    }
  }
};

}  // namespace

QueryDraw chosen_queries(const Setting& setting, double inside) {
  return {.queries = setting.count(query_count),
          .most = setting.count(most_classes),
          .inside = inside,
          .across = inside * setting.value(across_weight),
          .tokens = setting.count(residual_vocabulary)};
}

SequenceClasses<double> drawn_queries(const Setting& setting, const QueryDraw& draw) {
  return classes_of_queries(Stream(setting.seed, stream_of_drawn_classes, 7), draw);
}

SequenceClasses<double> with_lighter(SequenceClasses<double> classes, double share) {
  const ResidualView at(classes);
  const Squares squares(at);
  for (Index e = 0; e < classes.entries(); ++e) {
    const auto entry = static_cast<std::size_t>(e);
    if (at.layout.entry_distinct[entry]) continue;
    const Index n = at.layout.entry_class[entry];
    const double own = squares.own[n];
    // The own part has to grow to 1 - share^2 shared, and only quotients of weights count.
    reweigh(classes, e, share * std::sqrt(own / (own + (1 - share * share) * squares.shared[n])));
  }
  return classes;
}

bool overlaps_can_vanish(const SequenceClasses<double>& classes) {
  const ResidualView at(classes);
  return Squares(at).own.minCoeff() > 0 && at.spread() > 0;
}

double share_of_overlap(const SequenceClasses<double>& classes, double spread) {
  const ResidualView at(classes);
  const double largest = Squares(at).shared.maxCoeff();
  return std::sqrt(std::min(spread / at.spread(), std::max(1.0, 0.5 / largest)));
}

std::vector<Quantity> read_at_rest(TrainingInstance<double> training, DecoderRule rule, double tau,
                                   const Reading& reading) {
  constexpr double tolerance = 1e-12;
  const ResidualFlow<double> moving(training, rule);
  training.attention_rate = 0;
  const double end = tau / training.decoder_rate * static_cast<double>(training.classes.classes());
  const Solved run(forget_type(ResidualFlow<double>(training, rule)), {end}, tolerance);
  const double products =
      run.state(0).cwiseAbs().maxCoeff() / reading.unit;  // of Y with e_n - alpha_n
  const auto terms = static_cast<double>(run.state(0).size());
  std::vector<Quantity> numbers = read_off(run, 0, [&](const Vector<double>& x) -> Vector<double> {
    return reading.numbers(moving, x) / reading.unit;
  });
  for (Quantity& number : numbers) {
    number.add(ErrorPart::rounding(terms * reading.condition, products));
  }
  return numbers;
}

std::vector<Quantity> limit_of_vocabulary(const SequenceClasses<double>& classes, double tau,
                                          const std::function<Reading(double)>& reading) {
  std::vector<double> inverses;
  std::vector<std::vector<Quantity>> found;
  for (const double tokens : {1e4, 2e4, 4e4}) {
    inverses.push_back(1 / tokens);
    found.push_back(read_at_rest(residual_training(classes, tokens), DecoderRule::gradient, tau,
                                 reading(tokens)));
  }
  return limits_in(inverses, found);
}

double driving(const TrainingInstance<double>& training, double tau) {
  const auto m = static_cast<double>(training.classes.tokens);
  return backprop_scale(m, decoder_scale(m, training.decoder_rate, tau / training.decoder_rate));
}

Reading couplings_over(const ResidualView& at, double unit) {
  return {
      .numbers = [](const ResidualFlow<double>& flow, const Vector<double>& x) -> Vector<double> {
        return off_diagonal(-input_coefficients(flow, x).transpose());
      },
      .unit = unit,
      .condition = at.condition()};
}

Reading gains_over(double unit) {
  return {
      .numbers = [](const ResidualFlow<double>& flow, const Vector<double>& x) -> Vector<double> {
        Vector<double> rate(x.size());
        flow.rhs(x, rate, 0.0);
        const TrainingInstance<double>& training = flow.instance();
        return 2 * flow.logits_at(flow.field(x)) /
               (training.attention_rate * training.classes.weight[0]);
      },
      .unit = unit};
}

void judge_gain(const char* what, const ResidualView& at, const std::vector<Quantity>& gains,
                Examination& it) {
  std::vector<Quantity> distinct;
  for (const Index pair : at.distinct_pairs()) {
    distinct.push_back(gains[static_cast<std::size_t>(pair)]);
  }
  if (distinct.empty()) return;
  it.judge(Comparison{.what = what,
                      .measured = std::vector<Quantity>(distinct.size(), 0.0),
                      .relation = Relation::below,
                      .predicted = distinct});
}

double outside_share(const ResidualView& at, double tokens) {
  const double spread = at.spread();
  if (!(spread < 1)) return std::numeric_limits<double>::infinity();
  const auto k = static_cast<double>(at.classes());
  const double finite = std::sqrt(1 + (k - 1) / ((tokens - 1) * (tokens - 1)));
  double share = 0;
  for (Index n = 0; n < at.classes(); ++n) {
    const double inside =
        at.overlap.row(n).dot(at.same.row(n)) / (1 + static_cast<double>(at.of_query(n)));
    const double rest = at.overlap.row(n).norm() * spread * finite / (1 - spread);
    share = std::max(share, rest / inside);
  }
  return share;
}

Hypothesis at_rest() {
  return by_construction("features at rest, Y(0) = 0", "the solves start at 0 and have eta_Z = 0");
}

std::vector<Quantity> exactly(const Vector<double>& values) {
  return {values.begin(), values.end()};
}

}  // namespace popgrad::scan_snap::checks
