// Theorem    scan-snap.long-sequence
// Status     proved in source (Lemma 2)
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Lemmas 2 and 18
// Statement  with T - 1 sampled tokens the attended average X'b tends to c_n: its deviation is
//            O(1/sqrt T), the deviation of its mean O(1/T); token frequencies stay within
//            Hoeffding's band
//              sqrt(ln(2 M/delta)/(2 (T-1)))
//            with probability 1 - delta
// Hypotheses H1 tokens are drawn independently
// Check      slopes in T of the root mean square and of the mean; share of sequences that leave
//            the band against delta
// Controls   order 1 claimed for the deviation; a fifth of the band
// Uses       rung sgd (its sequences)

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/fit.hpp"
#include "popgrad/statistics.hpp"
#include "theorems/scan_snap/examples.hpp"
#include "theorems/scan_snap/statements.hpp"

namespace popgrad::theorems::scan_snap {
namespace {

constexpr double outside = 0.05;  // delta of the band

constexpr Knob token_count{.name = "tokens",
                           .meaning = "contextual tokens of the class",
                           .low = 2,
                           .high = 60,
                           .usual = 20,
                           .spacing = Spacing::whole};
constexpr Knob logit_range{.name = "logits",
                           .meaning = "largest |z| of the class",
                           .low = 0.3,
                           .high = 3,
                           .usual = 1,
                           .spacing = Spacing::logarithmic};
constexpr Knob repetition{.name = "repetition",
                          .meaning = "probability that a token repeats the one before it",
                          .low = 0.01,
                          .high = 0.99,
                          .usual = 0,
                          .breaks = "tokens are drawn independently"};

struct Setup {
  Vector<double> law, weight, limit;  // P, exp(z), c (tokens)
  std::vector<double> cumulative;     // of P
  AliasTable drawn;
  double repetition = 0;
  /// <w^2>/<w>^2 of the weights w under P: 1/T of the next order comes with it.
  double unevenness = 1;

  [[nodiscard]] Index tokens() const { return law.size(); }
};

// The law of one class of Syn-Small with logits that rise evenly, or a random law and logits.
Setup make_setup(const Setting& setting) {
  Setup s;
  const double range = setting.value(logit_range);
  if (!setting.only_what_varies) {
    const SequenceClasses<double> classes = syn_small<double>();
    s.law = classes.law.head(20);
    s.weight.resize(20);
    for (Index l = 0; l < 20; ++l) {
      s.weight[l] = std::exp(-range + 2.0 * range * static_cast<double>(l) / 19);
    }
  } else {
    Stream stream(setting.seed, 0, 0);
    const Index tokens = setting.count(token_count);
    s.law.resize(tokens);
    s.weight.resize(tokens);
    for (Index l = 0; l < tokens; ++l) {
      s.law[l] = 0.1 + 0.9 * stream.uniform();
      s.weight[l] = std::exp(range * (2 * stream.uniform() - 1));
    }
    s.law /= s.law.sum();
    // One logit of each sign at the end of the range, so that weights do differ.
    s.weight[0] = std::exp(range);
    s.weight[1] = std::exp(-range);
  }
  s.drawn = AliasTable(std::span(s.law.data(), static_cast<std::size_t>(s.tokens())));
  double sum = 0;
  for (const double p : s.law) s.cumulative.push_back(sum += p);
  s.cumulative.back() = 1;
  s.repetition = setting.value(repetition);
  s.limit = s.law.cwiseProduct(s.weight);
  s.unevenness = s.limit.dot(s.weight) / (s.limit.sum() * s.limit.sum());
  s.limit /= s.limit.sum();
  return s;
}

// A token, and then the same again as often as it is repeated.
void draw_with_repetition(const Setup& s, Stream& stream, std::size_t draws,
                          std::span<std::uint32_t> counts) {
  for (std::size_t left = draws; left > 0;) {
    const double run = 1 + std::floor(std::log(stream.uniform()) / std::log(s.repetition));
    const auto length = run < static_cast<double>(left) ? static_cast<std::size_t>(run) : left;
    counts[stream.category(s.cumulative)] += static_cast<std::uint32_t>(length);
    left -= length;
  }
}

struct Deviation {
  double root_mean_square = 0;
  double noise = 0;          // of it from finitely many sequences, relative
  double of_mean = 0;        // |mean over sequences - c|
  double of_mean_noise = 0;  // its standard deviation from finitely many sequences
  double share_outside = 0;  // of sequences with a frequency outside the band
  double band_in_deviations = 0;
};

Deviation sample(const Setup& s, Index length, std::uint32_t sequences, double band_scale,
                 std::uint64_t seed) {
  Deviation found;
  const Index tokens = s.tokens();
  Vector<double> mean = Vector<double>::Zero(tokens);
  Vector<double> counts(tokens);
  std::vector<std::uint32_t> drawn_counts;
  const auto drawn = static_cast<double>(length - 1);
  const double band =
      band_scale * std::sqrt(std::log(2 * static_cast<double>(tokens) / outside) / (2 * drawn));
  std::uint32_t left = 0;
  double square = 0;
  double fourth = 0;
  for (std::uint32_t k = 0; k < sequences; ++k) {
    Stream stream(seed, k, static_cast<std::uint64_t>(length));
    drawn_counts.assign(static_cast<std::size_t>(tokens), 0);
    if (s.repetition > 0) {
      draw_with_repetition(s, stream, static_cast<std::size_t>(length - 1), drawn_counts);
    } else {
      stream.count(s.drawn, static_cast<std::size_t>(length - 1), drawn_counts);
    }
    for (Index l = 0; l < tokens; ++l) counts[l] = drawn_counts[static_cast<std::size_t>(l)];
    if ((counts / drawn - s.law).cwiseAbs().maxCoeff() > band) ++left;
    Vector<double> attended = counts.cwiseProduct(s.weight);
    attended /= attended.sum();
    mean += attended;
    const double apart = (attended - s.limit).squaredNorm();
    square += apart;
    fourth += apart * apart;
  }
  const auto n = static_cast<double>(sequences);
  found.root_mean_square = std::sqrt(square / n);
  found.noise = std::sqrt(std::max(0.0, fourth * n / (square * square) - 1) / n) / 2;
  found.of_mean = (mean / n - s.limit).norm();
  found.of_mean_noise = found.root_mean_square / std::sqrt(n);
  found.share_outside = left / n;
  const double p = s.law.maxCoeff();
  found.band_in_deviations = band / std::sqrt(p * (1 - p) / drawn);
  return found;
}

// Laws far from even come to their order later: the slope tells so by its own change from the first
// pair to the last of values at T - 1 in geometric progression.
double change_of_slope(const std::vector<double>& values, double factor) {
  const double first = std::log(values[values.size() / 2] / values.front());
  const double last = std::log(values.back() / values[values.size() / 2]);
  return std::fabs(last - first) / std::log(factor);
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const std::uint32_t sequences = setting.full               ? 1'000'000
                                  : setting.only_what_varies ? 10'000
                                                             : 100'000;
  const Setup setup = make_setup(setting);
  result.parameters = {{"class", setting.only_what_varies ? "random" : "syn-small"},
                       {"tokens", setup.tokens()},
                       {"logits", setting.value(logit_range)},
                       {"repetition", setup.repetition},
                       {"T", "9, 17, 33, 65, 129"},
                       {"sequences", sequences},
                       {"seed", setting.seed}};
  result.hypotheses.push_back({"tokens are drawn independently",
                               setup.repetition == 0 ? Truth::yes : Truth::no,
                               fmt::format("repetition {:.3g}", setup.repetition)});
  // Uneven weights come to their orders later, as if fewer tokens were drawn: longer by as much.
  const auto stretch =
      setting.only_what_varies ? static_cast<Index>(std::ceil(setup.unevenness)) : Index{1};
  const auto stretched = [&](Index length) { return 1 + (length - 1) * stretch; };
  // What the next order adds at T = 9, where weights are about as uneven as those of order 1.
  const double next_order =
      0.05 * std::max(1.0, setup.unevenness / (1.5 * static_cast<double>(stretch)));
  std::vector<double> lengths, spreads;
  Deviation last;
  double spread_noise = 0;
  for (const Index usual : {9, 17, 33, 65, 129}) {
    const Index length = stretched(usual);
    last = sample(setup, length, sequences, variant == "narrow-band" ? 0.2 : 1.0, setting.seed);
    lengths.push_back(static_cast<double>(length - 1));
    spreads.push_back(last.root_mean_square);
    spread_noise = std::max(spread_noise, last.noise);
  }
  const double z = two_sided_normal_bound(setting.false_alarm, 3);
  if (variant.empty() || variant == "order-one") {
    const double claimed = variant == "order-one" ? -1.0 : -0.5;
    const double order = log_log_slope(lengths, spreads);
    // A slope over a factor 16 in T; of no account with 100,000 sequences.
    const double noise = setting.only_what_varies
                             ? z * spread_noise / std::log(4.0) + 2 * change_of_slope(spreads, 4)
                             : 0;
    result.evidence.push_back(bounded(
        EvidenceKind::statistical, "order of |X'b - c| in T minus the claimed one",
        std::fabs(order - claimed), next_order + noise,
        "the next order adds <w^2>/<w>^2 1/T to the slope, T >= 9, or twice what the slope still "
        "changes by; the noise of few sequences",
        fmt::format("measured {:.3f}, {} sequences each", order, sequences)));
  }
  if (variant.empty()) {
    // The mean needs more sequences to stand out of its noise, and short ones are cheap.
    std::vector<double> short_lengths, biases;
    double noise = 0;
    for (const Index usual : {9, 17, 33}) {
      const Index length = stretched(usual);
      const Deviation mean = sample(setup, length, 16 * sequences, 1.0, setting.seed + 1);
      short_lengths.push_back(static_cast<double>(length - 1));
      biases.push_back(mean.of_mean);
      noise = std::max(noise, mean.of_mean_noise / mean.of_mean);
    }
    const double order = log_log_slope(short_lengths, biases);
    const double unsettled = setting.only_what_varies ? 2 * change_of_slope(biases, 2) : 0;
    result.evidence.push_back(bounded(
        EvidenceKind::statistical, "order of |E X'b - c| in T, plus 1", std::fabs(order + 1),
        next_order + unsettled + z * noise / std::log(4.0),
        "the next order in 1/T, twice what the slope still changes by, the noise of the last mean",
        fmt::format("measured {:.3f}, {} sequences each", order, 16 * sequences)));
  }
  if (variant.empty() || variant == "narrow-band") {
    const double spread = z * std::sqrt(outside * (1 - outside) / sequences);
    result.evidence.push_back(bounded(
        EvidenceKind::statistical, "share of sequences outside Hoeffding's band, T = 129",
        last.share_outside, outside + spread, "delta = 0.05 and the spread of a share",
        fmt::format("the band is {:.1f} standard deviations wide", last.band_in_deviations)));
  }
  return result;
}

}  // namespace

Statement long_sequence() {
  return {.id = "scan-snap.long-sequence",
          .claim = "the attended average of T tokens tends to c_n, O(1/sqrt T), its mean O(1/T)",
          .paper = "arXiv 2305.16380, Lemmas 2 and 18",
          .status = "proved in source",
          .hypotheses = {"tokens are drawn independently"},
          .reaches = {EvidenceKind::statistical},
          .controls = {{"order-one", "O(1/T) claimed for the deviation itself"},
                       {"narrow-band", "a fifth of Hoeffding's band"}},
          .knobs = {token_count, logit_range, repetition},
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::scan_snap
