// Theorem    scan-snap.fates
// Status     proved in source (Theorem 2), narrowed here
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Theorem 2
// Statement  on the reduced flow, and on fast-decoder as eta_Z/eta_Y -> 0:
//            (a) z of a distinct token of n rises if n overlaps another class;
//            (b) z of the only common token falls if the class with the distinct tokens has it
// Hypotheses H1 n overlaps another class; H2 lambda_max(E) < 1/(1 + sqrt(K-1)) all along, so that
//            xi_n > 0; H3 a single common token; H4 eta_Z/eta_Y -> 0 on fast-decoder
// Check      signs of z' along whole trajectories over random instances
// Controls   the common token said to rise; (a) claimed on the population flow, where an instance
//            far inside Assumption 2 breaks it
// Uses       rungs reduced, fast-decoder, flow

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "popgrad/scan_snap/population_flow.hpp"
#include "popgrad/scan_snap/reduced_flow.hpp"
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
constexpr Knob distinct_count{.name = "distinct-tokens",
                              .meaning = "distinct tokens a class",
                              .low = 1,
                              .high = 6,
                              .usual = 3,
                              .spacing = Spacing::whole};
constexpr Knob vocabulary{.name = "vocabulary",
                          .meaning = "tokens M",
                          .low = 50,
                          .high = 1e5,
                          .usual = 300,
                          .spacing = Spacing::logarithmic};
constexpr Knob rate_ratio{.name = "rate-ratio",
                          .meaning = "eta_Y/eta_Z of the reduced flow, eta_Y = 1",
                          .low = 0.3,
                          .high = 1000,
                          .usual = 10,
                          .spacing = Spacing::logarithmic};
constexpr Knob excess = excess_overlap("lambda_max(E) < 1/(1 + sqrt(K - 1))");
constexpr Knob fast_rate{.name = "attention-rate",
                         .meaning = "eta_Z/eta_Y of fast-decoder",
                         .low = 1e-3,
                         .high = 100,
                         .usual = 1e-4,
                         .spacing = Spacing::logarithmic,
                         .breaks = "eta_Z/eta_Y -> 0 on fast-decoder"};
constexpr Knob second_common{.name = "second-common-token",
                             .meaning = "weight of a second common token in units of the first",
                             .low = 0.01,
                             .high = 10,
                             .usual = 0,
                             .spacing = Spacing::logarithmic,
                             .breaks = "a single common token"};

const std::vector<double> times{1, 3, 10, 20, 30, 60, 100, 200, 400};

/// Smallest z' of distinct tokens and largest of common ones, relative to the largest |z'|.
struct Signs {
  double distinct = std::numeric_limits<double>::infinity();
  double common = -std::numeric_limits<double>::infinity();
  double time = 0;  // of the smallest distinct one
  Index token = -1;
  double overlap = 0;  // largest lambda_max(E) along the way

  void take(const Signs& other) {
    if (other.distinct < distinct) {
      distinct = other.distinct;
      time = other.time;
      token = other.token;
    }
    common = std::max(common, other.common);
    overlap = std::max(overlap, other.overlap);
  }
};

template <class Rung>
Signs signs_along(const Rung& rung, const std::vector<double>& at) {
  const Trajectory<double> run = follow(forget_type(rung), at);
  const Layout& layout = rung.layout();
  std::vector<bool> distinct(static_cast<std::size_t>(layout.pairs()));
  for (std::size_t e = 0; e < layout.entry_pair.size(); ++e) {
    distinct[static_cast<std::size_t>(layout.entry_pair[e])] = layout.entry_distinct[e];
  }
  Signs found;
  for (std::size_t i = 0; i < run.t.size(); ++i) {
    found.overlap =
        std::max(found.overlap, largest_overlap(layout, rung.features_at(run.states[i])));
    Vector<double> rate(run.states[i].size());
    rung.rhs(run.states[i], rate, run.t[i]);
    const Vector<double> dz = rung.logits_at(rate);
    const double size = dz.cwiseAbs().maxCoeff();
    for (Index p = 0; p < dz.size(); ++p) {
      if (distinct[static_cast<std::size_t>(p)]) {
        if (dz[p] / size < found.distinct) {
          found.distinct = dz[p] / size;
          found.time = run.t[i];
          found.token = layout.pair_token[static_cast<std::size_t>(p)];
        }
      } else {
        found.common = std::max(found.common, dz[p] / size);
      }
    }
  }
  return found;
}

// Class 0 has tokens 0 (common) and 1, class 1 has 0, 2, 3: far inside Assumption 2 at M = 1e5.
SequenceClasses<double> small_overlap() {
  Matrix<double> law(2, 4);
  law << 1.0 / 3, 2.0 / 3, 0, 0, 1.0 / 13, 0, 2.0 / 13, 10.0 / 13;
  return classes_from_matrix<double>(law, {0, 0}, 100'000);
}

// A random instance below the bound: overlaps are shrunk until it is met.
SequenceClasses<double> instance_below_bound(Stream& stream) {
  const Index k = 2 + static_cast<Index>(stream.index(4));
  const Index distinct = 2 + static_cast<Index>(stream.index(3));
  for (double overlap = 1;; overlap *= 0.7) {
    Stream draw = stream;
    SequenceClasses<double> classes = random_classes(draw, k, 1, distinct, overlap, 300);
    if (largest_overlap(classes) < overlap_bound(k)) {
      stream = draw;
      return classes;
    }
  }
}

// One instance of the overlap that the knobs ask for.
SequenceClasses<double> chosen_classes(const Setting& setting) {
  const Stream stream(setting.seed, 0, 6);
  const Index k = setting.count(class_count);
  const Index tokens = setting.count(vocabulary);
  const double second = setting.value(second_common);
  return at_chosen_overlap(setting, excess, [&](double weight) {
    Stream draw = stream;
    SequenceClasses<double> classes =
        random_classes(draw, k, second > 0 ? 2 : 1, setting.count(distinct_count), weight, tokens);
    for (Index n = 0; second > 0 && n < k; ++n) {
      reweigh(classes, classes.first[static_cast<std::size_t>(n)] + 1, second);
    }
    return classes;
  });
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const int instances = setting.only_what_varies ? 1 : setting.full ? 200 : 20;
  const double ratio = setting.value(rate_ratio);
  const double slow = setting.value(fast_rate);  // eta_Z/eta_Y of fast-decoder
  if (setting.only_what_varies) {
    result.parameters = {{"K", setting.count(class_count)},
                         {"distinct tokens", setting.count(distinct_count)},
                         {"M", setting.count(vocabulary)},
                         {"eta_Y/eta_Z of reduced", ratio},
                         {"eta_Z/eta_Y of fast-decoder", slow},
                         {"second common token", setting.value(second_common)},
                         {"seed", setting.seed}};
    const Index needed = setting.count(class_count) * setting.count(distinct_count) +
                         (setting.value(second_common) > 0 ? 2 : 1);
    result.hypotheses.push_back(
        {"M holds all tokens", setting.count(vocabulary) >= needed ? Truth::yes : Truth::no, ""});
  } else {
    result.parameters = {{"instances", instances},
                         {"K", "2 to 5"},
                         {"M", 300},
                         {"eta_Y/eta_Z", "10 (reduced), 1e4 (fast-decoder)"},
                         {"seed", setting.seed}};
  }
  if (variant == "on-flow") {
    const Signs found = signs_along(PopulationFlow<double>(with_ratio(small_overlap(), 10)), times);
    result.evidence.push_back(bounded(EvidenceKind::numerical,
                                      "smallest z' of a distinct token on flow, negated",
                                      -found.distinct, 0, "a strict sign",
                                      fmt::format("token {} at t = {}", found.token, found.time)));
    return result;
  }
  Stream stream(setting.seed, 0, 6);
  Signs reduced, fast, flow;
  int broken_on_flow = 0;
  Truth below = Truth::yes;
  for (int i = 0; i < instances; ++i) {
    const SequenceClasses<double> classes =
        setting.only_what_varies ? chosen_classes(setting) : instance_below_bound(stream);
    const Signs one = signs_along(ReducedFlow<double>(with_ratio(classes, ratio)), times);
    const Signs other = signs_along(
        PopulationFlow<double>(with_ratio(classes, 1 / slow), DecoderRule::fast), times);
    if (std::max(one.overlap, other.overlap) >= overlap_bound(classes.classes())) {
      below = Truth::no;
    }
    reduced.take(one);
    fast.take(other);
    if (setting.only_what_varies) continue;  // what follows is told, not judged
    const Signs third = signs_along(PopulationFlow<double>(with_ratio(classes, 10)), times);
    if (third.distinct < 0) ++broken_on_flow;
    flow.take(third);
  }
  result.hypotheses.push_back(
      {"lambda_max(E) < 1/(1 + sqrt(K-1)), classes overlap", below,
       fmt::format("at most {:.3g} along the way", std::max(reduced.overlap, fast.overlap))});
  result.hypotheses.push_back(
      {"a single common token", setting.value(second_common) == 0 ? Truth::yes : Truth::no, ""});
  result.hypotheses.push_back({"eta_Z/eta_Y -> 0 on fast-decoder",
                               slow <= fast_rate.usual ? Truth::yes : Truth::no,
                               fmt::format("{:.2g}", slow)});
  const double sign = variant == "common-rises" ? -1 : 1;
  const auto claim = [&](const char* what, double measured) {
    result.evidence.push_back(bounded(EvidenceKind::numerical, what, measured, 0, "a strict sign"));
  };
  claim("reduced: smallest z'/max|z'| of distinct tokens, negated", -reduced.distinct);
  claim("reduced: largest z'/max|z'| of the common token", sign * reduced.common);
  claim("fast-decoder: smallest z'/max|z'| of distinct tokens, negated", -fast.distinct);
  claim("fast-decoder: largest z'/max|z'| of the common token", sign * fast.common);
  if (variant.empty() && !setting.only_what_varies) {
    result.evidence.push_back(reported("share of instances in which flow breaks (a), ratio 10",
                                       static_cast<double>(broken_on_flow) / instances,
                                       fmt::format("smallest z'/max|z'| {:.3g}", flow.distinct)));
  }
  return result;
}

}  // namespace

Statement fates() {
  return {.id = "scan-snap.fates",
          .claim = "distinct tokens gain attention and a single common token loses it",
          .paper = "arXiv 2305.16380, Theorem 2",
          .status = "proved in source",
          .hypotheses = {"n overlaps another class", "lambda_max(E) < 1/(1 + sqrt(K - 1))",
                         "a single common token", "eta_Z/eta_Y -> 0 on fast-decoder"},
          .reaches = {EvidenceKind::numerical},
          .controls = {{"common-rises", "the common token said to gain"},
                       {"on-flow", "(a) claimed on the population flow at eta_Y/eta_Z = 10"}},
          .knobs = {class_count, distinct_count, vocabulary, overlap_share, rate_ratio, excess,
                    fast_rate, second_common},
          .examine_variant = examine};
}

Erratum fates_on_flow() {
  return {.name = "scan-snap.fates-on-flow",
          .statement = "scan-snap.fates",
          .paper_says = "Theorem 2: distinct tokens gain attention, common ones lose it",
          .algebra_says =
              "(a) needs a class that n overlaps, (b) the common token in the class of the "
              "distinct one; it is about the reduced flow: on flow, and on fast-decoder at "
              "eta_Y/eta_Z = 10, a distinct token loses attention even under Assumption 2",
          .evidence = [] {
            const TrainingInstance<double> instance = with_ratio(small_overlap(), 10);
            const Signs flow = signs_along(PopulationFlow<double>(instance), times);
            const Signs fast =
                signs_along(PopulationFlow<double>(instance, DecoderRule::fast), times);
            const Signs reduced = signs_along(ReducedFlow<double>(instance), times);
            const auto at = [](const Signs& s) {
              return fmt::format("token {} at t = {}: z'/max|z'| = {:.3g}", s.token, s.time,
                                 s.distinct);
            };
            // Without overlap E = 0, E' = 0 and every beta meets a product f_n.f_n' = 0.
            Matrix<double> apart(2, 4);
            apart << 0.4, 0.6, 0, 0, 0, 0, 0.3, 0.7;
            const ReducedFlow<double> alone(
                with_ratio(classes_from_matrix<double>(apart, {0, 0}, 4), 10));
            Vector<double> state = alone.initial();
            state[alone.layout().pairs()] = 0.1;  // h
            Vector<double> rate(state.size());
            alone.rhs(state, rate, 0.0);
            return std::vector<Evidence>{
                bounded(EvidenceKind::numerical, "lambda_max(E) of the instance, under 1/K = 0.5",
                        largest_overlap(instance.classes), 0.5, "Assumption 2"),
                bounded(EvidenceKind::numerical, "flow: smallest z'/max|z'| of a distinct token",
                        flow.distinct, 0, "a strict sign", at(flow)),
                bounded(EvidenceKind::numerical, "fast-decoder: the same", fast.distinct, 0,
                        "a strict sign", at(fast)),
                bounded(EvidenceKind::numerical, "reduced: the same, negated", -reduced.distinct, 0,
                        "a strict sign"),
                bounded(EvidenceKind::numerical, "reduced, classes without overlap: largest |z'|",
                        alone.logits_at(rate).cwiseAbs().maxCoeff(), 0, "every term is exactly 0")};
          }};
}

}  // namespace popgrad::theorems::scan_snap
