// Theorem    scan-snap.long-sequence                 Status  proved in source (Lemma 2)
// Source     Tian et al., Scan and Snap, arXiv 2305.16380, Lemmas 2 and 18
// Statement  with T - 1 sampled tokens the attended average X'b tends to c_n: its deviation is
//            O(1/sqrt T), the deviation of its mean O(1/T); token frequencies stay within
//            Hoeffding's band sqrt(ln(2 M/delta)/(2 (T-1))) with probability 1 - delta
// Hypotheses H1 tokens are drawn independently
// Check      slopes in T of the root mean square and of the mean; share of sequences that leave
//            the band against delta
// Controls   order 1 claimed for the deviation; a fifth of the band
// Uses       sequences of rung sgd

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "popgrad/fit.hpp"
#include "popgrad/statistics.hpp"
#include "theorems/scan_snap/examples.hpp"
#include "theorems/scan_snap/statements.hpp"

namespace popgrad::theorems::scan_snap {
namespace {

constexpr Index tokens = 20;
constexpr double outside = 0.05;  // delta of the band

// The law of one class of Syn-Small and logits of order 1, so that weights differ.
struct Setup {
  Vector<double> law, weight, limit;  // P, exp(z), c (tokens)
  AliasTable drawn;
};

Setup make_setup() {
  Setup s;
  const SequenceClasses<double> classes = syn_small<double>();
  s.law = classes.law.head(tokens);
  s.weight.resize(tokens);
  s.drawn = AliasTable(std::span(s.law.data(), tokens));
  for (Index l = 0; l < tokens; ++l) {
    s.weight[l] = std::exp(-1 + 2.0 * static_cast<double>(l) / (tokens - 1));
  }
  s.limit = s.law.cwiseProduct(s.weight);
  s.limit /= s.limit.sum();
  return s;
}

struct Deviation {
  double root_mean_square = 0;
  double of_mean = 0;        // |mean over sequences - c|
  double of_mean_noise = 0;  // its standard deviation from finitely many sequences
  double share_outside = 0;  // of sequences with a frequency outside the band
  double band_in_deviations = 0;
};

Deviation sample(const Setup& s, Index length, std::uint32_t sequences, double band_scale,
                 std::uint64_t seed) {
  Deviation found;
  Vector<double> mean = Vector<double>::Zero(tokens);
  Vector<double> counts(tokens);
  std::vector<std::uint32_t> drawn_counts;
  const auto drawn = static_cast<double>(length - 1);
  const double band = band_scale * std::sqrt(std::log(2 * tokens / outside) / (2 * drawn));
  std::uint32_t left = 0;
  double square = 0;
  for (std::uint32_t k = 0; k < sequences; ++k) {
    Stream stream(seed, k, static_cast<std::uint64_t>(length));
    drawn_counts.assign(tokens, 0);
    stream.count(s.drawn, static_cast<std::size_t>(length - 1), drawn_counts);
    for (Index l = 0; l < tokens; ++l) counts[l] = drawn_counts[static_cast<std::size_t>(l)];
    if ((counts / drawn - s.law).cwiseAbs().maxCoeff() > band) ++left;
    Vector<double> attended = counts.cwiseProduct(s.weight);
    attended /= attended.sum();
    mean += attended;
    square += (attended - s.limit).squaredNorm();
  }
  const auto n = static_cast<double>(sequences);
  found.root_mean_square = std::sqrt(square / n);
  found.of_mean = (mean / n - s.limit).norm();
  found.of_mean_noise = found.root_mean_square / std::sqrt(n);
  found.share_outside = left / n;
  const double p = s.law.maxCoeff();
  found.band_in_deviations = band / std::sqrt(p * (1 - p) / drawn);
  return found;
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  const std::uint32_t sequences = setting.full ? 1'000'000 : 100'000;
  result.parameters = {{"class", "syn-small, 20 tokens"},
                       {"z", "-1 to 1"},
                       {"T", "9, 17, 33, 65, 129"},
                       {"sequences", sequences},
                       {"seed", setting.seed}};
  const Setup setup = make_setup();
  std::vector<double> lengths, spreads;
  Deviation last;
  for (const Index length : {9, 17, 33, 65, 129}) {
    last = sample(setup, length, sequences, variant == "narrow-band" ? 0.2 : 1.0, setting.seed);
    lengths.push_back(static_cast<double>(length - 1));
    spreads.push_back(last.root_mean_square);
  }
  const double z = two_sided_normal_bound(setting.false_alarm, 3);
  if (variant.empty() || variant == "order-one") {
    const double claimed = variant == "order-one" ? -1.0 : -0.5;
    const double order = log_log_slope(lengths, spreads);
    result.evidence.push_back(
        bounded(EvidenceKind::statistical, "order of |X'b - c| in T minus the claimed one",
                std::fabs(order - claimed), 0.05, "the next order adds 1/T to the slope, T >= 9",
                fmt::format("measured {:.3f}, {} sequences each", order, sequences)));
  }
  if (variant.empty()) {
    // The mean needs more sequences to stand out of its noise, and short ones are cheap.
    std::vector<double> short_lengths, biases;
    double noise = 0;
    for (const Index length : {9, 17, 33}) {
      const Deviation mean = sample(setup, length, 16 * sequences, 1.0, setting.seed + 1);
      short_lengths.push_back(static_cast<double>(length - 1));
      biases.push_back(mean.of_mean);
      noise = std::max(noise, mean.of_mean_noise / mean.of_mean);
    }
    const double order = log_log_slope(short_lengths, biases);
    result.evidence.push_back(bounded(
        EvidenceKind::statistical, "order of |E X'b - c| in T, plus 1", std::fabs(order + 1),
        0.05 + z * noise / std::log(4.0), "the next order in 1/T, and the noise of the last mean",
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
          .examine = examine};
}

}  // namespace popgrad::theorems::scan_snap
