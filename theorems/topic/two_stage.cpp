// Theorem    topic.two-stage
// Status     observed in source, rates derived here
// Source     Li, Li, Risteski, arXiv 2303.04245, Section 4 (two-stage optimisation) and Figure 3
// Statement  trained jointly from near zero, W_V relaxes first, at value_rate, to its minimum-norm
//            member, while W_K and W_Q stay small; they then grow at attention_rate from sigma, so
//            stage 2 lasts
//              ln(1/sigma)/attention_rate;
//            along the way
//              W_K W_K' - W_Q W_Q'
//            is conserved; a third stage leaves the symmetric state and ends lower
// Hypotheses H1 W_V = 0 and entries of W_K, W_Q of size sigma << 1 at first; H2 rates of one size:
//            one rate for all matrices, or a ratio well below value_rate/attention_rate
// Check      slopes of logarithms along the flow, drift, times at two sigma, loss after a long
//            time; order of the stages in SGD runs; the overlap of the stages against the
//            ratio of rates
// Controls   value_rate without its factor 2; attention_rate without sqrt(d_a); the sum in place of
//            the difference claimed conserved
// Uses       rungs flow, sgd

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/topic/population_flow.hpp"
#include "popgrad/topic/value_optimum.hpp"
#include "popgrad/walk.hpp"
#include "theorems/topic/examples.hpp"
#include "theorems/topic/knobs.hpp"
#include "theorems/topic/statements.hpp"

namespace popgrad::theorems::topic {
namespace {

using namespace popgrad::topic;

constexpr Knob topics = topics_knob(3, 5, 4);
constexpr Knob active = active_knob(2, 3, 2);
constexpr Knob words = words_knob(2, 4, 3);
constexpr Knob some_masked = masking_knob(0.05, 0.4);
constexpr Knob some_kept = keeping_knob(0.05, 0.25);
constexpr Knob some_replaced = replacing_knob(0.01, 0.3);
constexpr Knob key_rows{.name = "key-width",
                        .meaning = "d_a, rows of W_K and W_Q",
                        .low = 8,
                        .high = 40,
                        .usual = 13,
                        .spacing = Spacing::whole};
constexpr Knob start_size{.name = "start",
                          .meaning = "sigma, deviation of the entries of W_K and W_Q at first",
                          .low = 2e-3,
                          .high = 2,
                          .usual = 1e-3,
                          .spacing = Spacing::logarithmic,
                          .breaks = "W_V = 0, sigma << 1 at first"};
constexpr Knob faster{.name = "rate-ratio",
                      .meaning = "learning rate of W_K and W_Q over that of W_V",
                      .low = 2,
                      .high = 1000,
                      .usual = 1,
                      .spacing = Spacing::logarithmic,
                      .breaks = "rates of one size"};

// Of the law and the width at the point, started at `scale`.
struct Start {
  TopicLaw<double> law;
  Index key_width = 13;
  std::uint64_t seed = 1;

  [[nodiscard]] Training at(double scale) const {
    Training training;
    training.law = law;
    training.key_width = key_width;
    training.scale = scale;
    training.seed = seed;
    return training;
  }
};

// W_K and W_Q at `ratio` times the rate of W_V.
AnyRung<double> with_ratio(const Training& training, double ratio) {
  AnyRung<double> rung = forget_type(PopulationFlow(training));
  if (ratio == 1) return rung;
  const Index keys = Layout(training).values();
  rung.rhs = [inner = rung.rhs, keys, ratio](const Vector<double>& x, Vector<double>& dx,
                                             const double& t) {
    inner(x, dx, t);
    dx.head(keys) *= ratio;
  };
  return rung;
}

// Rate of the logarithm of a curve between the last time it is beyond `from` and the first it is
// beyond `to`, interpolated; times and values ascend or descend.
double rate_between(const std::vector<double>& t, const std::vector<double>& value, double from,
                    double to) {
  const auto time_of = [&](double level) {
    for (std::size_t i = 1; i < value.size(); ++i) {
      const double a = std::log(value[i - 1] / level);
      const double b = std::log(value[i] / level);
      if (a * b <= 0 && a != b) return t[i - 1] + (t[i] - t[i - 1]) * a / (a - b);
    }
    return std::nan("");
  };
  return std::log(to / from) / (time_of(to) - time_of(from));
}

struct Stages {
  Trajectory<double> run;
  std::vector<double> distance;  // |W_V - minimum norm|
  std::vector<double> keys;      // |W_K|
};

Stages follow(const Training& training, double ratio, double end, std::size_t saves) {
  Stages made;
  SolveRequest<double> request = tight_request(end, saves);
  request.keep_states = true;
  made.run = solve(with_ratio(training, ratio), request);
  const Layout layout(training);
  const Matrix<double> least = expand(training.law, minimum_norm_value(training.law));
  for (std::size_t i = 0; i < made.run.states.size(); ++i) {
    const ConstView value(made.run.states[i].data() + layout.values(), layout.width, layout.width);
    made.distance.push_back((value - least).norm());
    made.keys.push_back(made.run.rows[i][2]);
  }
  return made;
}

double drift(const Training& training, const Stages& made, double sign) {
  const Layout layout(training);
  const auto conserved = [&](const Vector<double>& x) {
    const ConstView keys(x.data() + layout.keys(), layout.key_width, layout.width);
    const ConstView queries(x.data() + layout.queries(), layout.key_width, layout.width);
    return Matrix<double>(keys * keys.transpose() + sign * queries * queries.transpose());
  };
  return (conserved(made.run.states.back()) - conserved(made.run.states.front()))
      .cwiseAbs()
      .maxCoeff();
}

// |W_K|^2 over its value after stage 2, when W_V is within a tenth of its minimum-norm member.
double overlap(const Start& start, double ratio) {
  const Training training = start.at(0.01);
  const Stages made = follow(training, ratio, 30'000 / std::sqrt(ratio), 3001);
  const double plateau = made.distance.front();
  for (std::size_t i = 0; i < made.keys.size(); ++i) {
    if (made.distance[i] < plateau / 10) {
      return made.keys[i] * made.keys[i] / (made.keys.back() * made.keys.back());
    }
  }
  return 1;  // W_V has followed the attention instead
}

// Runs of SGD in which W_V is within a fifth of its plateau before W_K has a fifth of its end.
int ordered_runs(const Setting& setting, const Start& start, std::uint32_t runs) {
  const Training training = start.at(0.01);
  const AnyRung<double> rung = forget_type(PopulationFlow(training));
  WalkRequest request;
  request.step_size = 2;
  request.steps = 6000;
  request.save_steps = evenly_spread_steps(request.steps, 121);
  request.batch = 32;
  request.runs = runs;
  request.seed = setting.seed;
  request.jobs = setting.jobs;
  int ordered = 0;
  for (const Trajectory<double>& run : walk(rung, rung.initial, request)) {
    const auto first = [&](std::size_t column) {
      for (std::size_t i = 0; i < run.rows.size(); ++i) {
        if (run.rows[i][column] > 0.8 * run.rows.back()[column]) return i;
      }
      return run.rows.size();
    };
    ordered += first(1) < first(2) ? 1 : 0;
  }
  return ordered;
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const auto law =
      law_at(setting, setting.count(topics), setting.count(active), setting.count(words));
  result.parameters = sizes(law.topics, law.active, law.words);
  tell_probabilities(law, result.parameters);
  if (!makes_a_law(law, result)) return result;
  const Start start{rounded(law), setting.count(key_rows), setting.seed};
  const double sigma = setting.value(start_size);
  const double ratio = setting.value(faster);
  result.parameters["sigma"] = {sigma, sigma / 10};
  result.parameters["d_a"] = start.key_width;
  result.hypotheses.push_back({"sigma << 1", sigma <= start_size.usual ? Truth::yes : Truth::no,
                               fmt::format("sigma = {:g}", sigma)});
  // |W_K| starts as at the usual point, so that what grows is as much beside what does not.
  const double entries =
      sigma * 13 /
      std::sqrt(static_cast<double>(start.key_width) * static_cast<double>(law.vocabulary()));
  const Training training = start.at(entries);
  const double growth = attention_rate(training.law, training.key_width) * ratio;
  const double apart = value_rate(training.law) / growth;
  result.hypotheses.push_back({"rates of one size", apart > 20 ? Truth::yes : Truth::no,
                               fmt::format("stage 1 is {:.3g} times as fast as stage 2", apart)});
  // 30000 at the usual point.
  const double end = 30'000 * (attention_rate(law_of<double>(4, 2, 3), 13) / growth);
  // Stage 1 has ten save points and more.
  const auto saves =
      static_cast<std::size_t>(3000 * std::clamp(std::ceil(apart / 100), 1.0, 5.0)) + 1;
  const Stages made = follow(training, ratio, end, saves);
  const std::vector<double>& t = made.run.t;
  const double of_value = value_rate(training.law) * (variant == "half-rate" ? 0.5 : 1.0);
  const double root = std::sqrt(static_cast<double>(training.key_width));
  const double of_attention = growth * (variant == "no-root" ? root : 1.0);
  const double measured_value =
      -rate_between(t, made.distance, 1e-1 * made.distance.front(), 1e-3 * made.distance.front());
  result.evidence.push_back(bounded(EvidenceKind::numerical,
                                    "stage 1: rate of W_V against value_rate, relative",
                                    std::fabs(measured_value / of_value - 1), setting.allow(0.03),
                                    "faster modes have 1 % left where the slope is taken",
                                    fmt::format("{:.6g} of {:.6g}", measured_value, of_value)));
  const double measured_attention = rate_between(t, made.keys, 0.1, 0.5);
  result.evidence.push_back(
      bounded(EvidenceKind::numerical, "stage 2: rate of |W_K| against attention_rate, relative",
              std::fabs(measured_attention / of_attention - 1), 0.03,
              "other modes start with as much, and a hundredth of the growth is nonlinear",
              fmt::format("{:.6g} of {:.6g}", measured_attention, of_attention)));
  const bool sum = variant == "sum";
  result.evidence.push_back(
      bounded(EvidenceKind::numerical,
              sum ? "drift of W_K W_K' + W_Q W_Q'" : "drift of W_K W_K' - W_Q W_Q'",
              drift(training, made, sum ? 1 : -1), 1e-6,
              "3000 steps at a tolerance of 1e-9, entries of order 4"));
  if (!variant.empty()) return result;
  // W_K when W_V has come within a hundredth of its plateau.
  double early = 1;
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (made.distance[i] > 0.01 * made.distance.front()) continue;
    early = made.keys[i] / made.keys.back();
    break;
  }
  result.evidence.push_back(
      bounded(EvidenceKind::numerical, "|W_K| at the end of stage 1 over its value after stage 2",
              early, setting.slack > 0 ? 0.1 : 0.01, "it started at 0.002 of it"));
  const Stages smaller = follow(start.at(entries / 10), ratio, end, saves);
  const auto half_time = [](const Stages& s) {
    for (std::size_t i = 0; i < s.keys.size(); ++i) {
      if (s.keys[i] > 0.5) return s.run.t[i];
    }
    return std::nan("");
  };
  const double longer = half_time(smaller) - half_time(made);
  result.evidence.push_back(bounded(
      EvidenceKind::numerical, "stage 2 is longer by ln(10)/rate at a tenth of sigma, relative",
      std::fabs(longer * of_attention / std::log(10.0) - 1), 0.03, "as above",
      fmt::format("{:.1f}, predicted {:.1f}", longer, std::log(10.0) / of_attention)));
  if (setting.only_what_varies) return result;  // what follows takes a minute
  // The saddle after stage 2, and what the third stage reaches.
  const double saddle = made.run.rows.back()[0];
  const Trajectory<double> third = solve(with_ratio(start.at(0.05), 1), tight_request(3e5, 61));
  result.evidence.push_back(bounded(
      EvidenceKind::numerical, "loss after the third stage, above the symmetric saddle less 0.04",
      third.rows.back()[0] - (saddle - 0.04), 0, "the theory file has 0.8223016 and 0.77779",
      fmt::format("{:.7f}, then {:.7f}", saddle, third.rows.back()[0])));
  // So many that all of them in order is less likely than a false alarm may be.
  const double least = std::ceil(std::log2(1 / setting.false_alarm));
  const std::uint32_t runs = setting.full ? 40 : std::max(14U, static_cast<std::uint32_t>(least));
  const int ordered = ordered_runs(setting, start, runs);
  // All of n by chance, each with 1/2: 2^-n.
  result.evidence.push_back(bounded(
      EvidenceKind::statistical, "SGD: chance of so many runs in order, if each were a coin",
      ordered == static_cast<int>(runs) ? std::pow(0.5, runs) : 1.0, setting.false_alarm,
      "this statement's share of false alarms", fmt::format("{} of {} runs", ordered, runs)));
  for (const double rates : {1.0, 10.0, 80.0, 400.0}) {
    result.evidence.push_back(
        reported(fmt::format("overlap of the stages at a ratio of rates {:g}", rates),
                 overlap(start, rates), "they are apart by value_rate/attention_rate = 80"));
  }
  return result;
}

}  // namespace

Statement two_stage() {
  return {.id = "topic.two-stage",
          .claim = "W_V relaxes first, then W_K and W_Q grow, then the symmetry breaks; both rates",
          .paper = "arXiv 2303.04245, Section 4",
          .status = "observed in source, rates derived here",
          .hypotheses = {"W_V = 0, sigma << 1 at first", "rates of one size"},
          .reaches = {EvidenceKind::numerical, EvidenceKind::statistical},
          .controls = {{"half-rate", "value_rate without its factor 2"},
                       {"no-root", "attention_rate without sqrt(d_a)"},
                       {"sum", "the sum claimed conserved"}},
          .knobs = {topics, active, words, some_masked, some_kept, some_replaced, key_rows,
                    start_size, faster},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::topic
