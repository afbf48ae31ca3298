// Theorem    joma.measured-bounce
// Status     observed in source; an association over learning rates, confounded by them
// Source     Tian et al., JoMA, arXiv 2310.00535, Section 4 and the experiments on WikiText
// Statement  over recorded runs, layers whose entropy comes back after its fall belong to runs of
//            low final validation loss: Spearman correlation of rebound and loss below 0
// Hypotheses H1 at least 10 runs with a recorded final loss
// Check      rebound = last entropy - least entropy of each layer; interval over runs, resampled
//            whole, since the layers of one run share its loss
// Controls   the opposite sign; rebound said to order the losses almost alone (-0.9 or below)
// Uses       recorded runs (--data), no rung
//
// An association is no cause: the learning rate moves both sides. So the same correlation within
// one learning rate, one depth, and the runs that trained properly is told beside the verdict.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "popgrad/joma/measured.hpp"
#include "popgrad/statistics.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

using namespace popgrad::joma;

/// The relative error of the deviation is 1/sqrt(2 n): 1.1% at 4000.
constexpr std::size_t resamples = 4000;
/// Smallest share that a shuffle test can show is 1/(1 + n): below a false alarm of 1e-4.
constexpr std::size_t shuffles = 20000;
/// Nats above its own best that the loss of a run must end to be called a loss that rose again:
/// ten times the differences between neighbouring recordings of the quiet runs.
constexpr double risen = 0.1;
constexpr std::size_t least_runs = 10;

enum class Rebound { absolute, relative };
enum class Loss { last, best };
enum class Stratum { none, learning_rate, depth };

using Runs = std::vector<const MeasuredRun*>;

std::vector<Cluster> clusters_of(const Runs& runs, Rebound rebound, Loss loss, Stratum stratum,
                                 bool mean_of_layers = false) {
  std::vector<Cluster> clusters;
  for (const MeasuredRun* run : runs) {
    Cluster cluster;
    cluster.loss = loss == Loss::last ? run->final_loss() : run->best_loss();
    if (!std::isfinite(cluster.loss)) continue;
    cluster.stratum = stratum == Stratum::none            ? 0.0
                      : stratum == Stratum::learning_rate ? run->learning_rate
                                                          : run->layers;
    for (const std::vector<double>& curve : run->entropy) {
      const LayerBounce bounce = read_bounce(curve);
      if (!bounce.complete) continue;
      cluster.rebound.push_back(rebound == Rebound::absolute ? bounce.rebound()
                                                             : bounce.relative_rebound());
    }
    if (cluster.rebound.empty()) continue;
    if (mean_of_layers) {
      double sum = 0;
      for (const double value : cluster.rebound) sum += value;
      cluster.rebound = {sum / static_cast<double>(cluster.rebound.size())};
    }
    clusters.push_back(std::move(cluster));
  }
  return clusters;
}

std::string interval(const Association& a) {
  return fmt::format("[{:.3f}, {:.3f}] ({} runs, {} pairs)", a.low, a.high, a.runs, a.pairs);
}

// Counts of bounces for each layer over the runs of one learning rate: "layer 0 3/7, ...".
std::string counts_by_layer(const Runs& runs, double factor, double floor) {
  std::map<int, std::pair<int, int>> counts;
  for (const MeasuredRun* run : runs) {
    for (std::size_t l = 0; l < run->layer.size(); ++l) {
      const LayerBounce bounce = read_bounce(run->entropy[l]);
      if (!bounce.complete) continue;
      auto& [bounced, all] = counts[run->layer[l]];
      ++all;
      bounced += bounce.bounces(factor, floor) ? 1 : 0;
    }
  }
  std::string text;
  for (const auto& [layer, count] : counts) {
    text += fmt::format("{}layer {}: {}/{}", text.empty() ? "" : ", ", layer, count.first,
                        count.second);
  }
  return text;
}

int count_bounces(const Runs& runs, double factor, double floor) {
  int count = 0;
  for (const MeasuredRun* run : runs) {
    for (const std::vector<double>& curve : run->entropy) {
      count += read_bounce(curve).bounces(factor, floor) ? 1 : 0;
    }
  }
  return count;
}

int count_layers(const Runs& runs) {
  int count = 0;
  for (const MeasuredRun* run : runs) count += static_cast<int>(run->layer.size());
  return count;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n == 0 ? std::nan("") : 0.5 * (values[(n - 1) / 2] + values[n / 2]);
}

void tell_counts(const Runs& runs, Examination& result) {
  const int layers = count_layers(runs);
  std::string by_threshold;
  for (const double factor : {3.0, 6.0, 12.0}) {
    for (const double floor : {least_change, 0.05, 0.2}) {
      by_threshold += fmt::format("{}max({:g} noise, {:g}): {}", by_threshold.empty() ? "" : "; ",
                                  factor, floor, count_bounces(runs, factor, floor));
    }
  }
  result.evidence.push_back(reported(
      "layers whose entropy falls and rises again", count_bounces(runs, noise_factor, least_change),
      fmt::format("of {} layers of {} runs; minimum inside, fall and rebound both above "
                  "max({:g} noise, {:g} nats); by threshold: {}",
                  layers, runs.size(), noise_factor, least_change, by_threshold)));
  int runs_with = 0;
  int incomplete = 0;
  for (const MeasuredRun* run : runs) {
    runs_with += count_bounces({run}, noise_factor, least_change) > 0 ? 1 : 0;
    for (const std::vector<double>& curve : run->entropy) {
      incomplete += read_bounce(curve).complete ? 0 : 1;
    }
  }
  result.evidence.push_back(reported("runs with at least one such layer", runs_with,
                                     fmt::format("of {}; {} layers have missing values and are "
                                                 "not judged",
                                                 runs.size(), incomplete)));
  std::map<double, Runs> by_rate;
  for (const MeasuredRun* run : runs) by_rate[run->learning_rate].push_back(run);
  for (const auto& [rate, some] : by_rate) {
    std::vector<double> rebounds;
    std::vector<double> losses;
    int still_falling = 0;
    for (const MeasuredRun* run : some) {
      losses.push_back(run->final_loss());
      for (const std::vector<double>& curve : run->entropy) {
        const LayerBounce bounce = read_bounce(curve);
        if (!bounce.complete) continue;
        rebounds.push_back(bounce.rebound());
        still_falling += bounce.at + 1 == bounce.points ? 1 : 0;
      }
    }
    result.evidence.push_back(reported(
        fmt::format("bounces at learning rate {:g}", rate),
        count_bounces(some, noise_factor, least_change),
        fmt::format("of {} layers; {} lowest at the last recording; median rebound {:.3f} nats, "
                    "median final loss {:.3f}; {}",
                    count_layers(some), still_falling, median(rebounds), median(losses),
                    counts_by_layer(some, noise_factor, least_change))));
  }
}

void tell_health(const Runs& runs, Examination& result) {
  int diverged = 0;
  int rose = 0;
  double worst = 0;
  std::string names;
  for (const MeasuredRun* run : runs) {
    if (run->diverged()) {
      ++diverged;
      names += (names.empty() ? "" : "; ") + run->name();
    }
    if (run->final_loss() > run->best_loss() + risen) ++rose;
    worst = std::fmax(worst, run->final_loss());
  }
  result.evidence.push_back(
      reported("runs whose loss ends as NaN or above its start", diverged,
               names.empty() ? fmt::format("none; largest final loss {:.3f}", worst) : names));
  result.evidence.push_back(reported(
      fmt::format("runs whose loss ends more than {:g} above its best", risen), rose,
      fmt::format("of {}; they learned and lost it again, or never learned", runs.size())));
}

void tell_strata(const Runs& runs, const Setting& setting, Examination& result) {
  const auto tell = [&](std::string what, const std::vector<Cluster>& clusters) {
    // For readers: the usual 95%, not corrected for how many are told.
    const Association a = associate(clusters, 0.05, resamples, setting.seed, setting.jobs);
    result.evidence.push_back(reported(std::move(what), a.correlation, "95% " + interval(a)));
  };
  using enum Rebound;
  tell("correlation with the best loss", clusters_of(runs, absolute, Loss::best, Stratum::none));
  tell("correlation of the relative rebound",
       clusters_of(runs, relative, Loss::last, Stratum::none));
  tell("correlation of the mean rebound of a run",
       clusters_of(runs, absolute, Loss::last, Stratum::none, true));
  Runs healthy;
  for (const MeasuredRun* run : runs) {
    if (run->final_loss() <= run->best_loss() + risen) healthy.push_back(run);
  }
  tell("correlation over runs whose loss did not rise again",
       clusters_of(healthy, absolute, Loss::last, Stratum::none));
  tell("correlation at a fixed number of layers (mean over depths)",
       clusters_of(runs, absolute, Loss::last, Stratum::depth));

  const std::vector<Cluster> at_rate =
      clusters_of(runs, absolute, Loss::last, Stratum::learning_rate);
  const PermutationTest shuffled = permute_losses(at_rate, shuffles, setting.seed, setting.jobs);
  const Association within = associate(at_rate, 0.05, resamples, setting.seed, setting.jobs);
  result.evidence.push_back(reported(
      "correlation at a fixed learning rate (mean over rates)", within.correlation,
      fmt::format("95% {}; losses shuffled within each rate are as low in {:.3g} of {} shuffles: "
                  "what is left once the learning rate, which moves both, is held",
                  interval(within), shuffled.below, shuffled.shuffles)));
  std::set<double> rates;
  for (const MeasuredRun* run : runs) rates.insert(run->learning_rate);
  for (const double rate : rates) {
    Runs some;
    for (const MeasuredRun* run : runs) {
      if (run->learning_rate == rate) some.push_back(run);
    }
    tell(fmt::format("correlation at learning rate {:g}", rate),
         clusters_of(some, absolute, Loss::last, Stratum::none));
  }
}

// The whole interval on the claimed side of `bound`: holds; on the other: violated; else open.
Evidence judge(const std::string& what, double inner, double outer, double bound,
               std::string reason, std::string detail) {
  Evidence item =
      bounded(EvidenceKind::statistical, what, inner, bound, std::move(reason), std::move(detail));
  if (item.verdict == Verdict::violated && !(outer > bound)) item.verdict = Verdict::inconclusive;
  return item;
}

Examination examine(const Setting& setting, std::string_view variant) {
  Examination result;
  result.parameters = {{"data", setting.data_file}, {"seed", setting.seed}};
  const std::vector<MeasuredRun> all = read_measured_runs(setting.data_file);
  Runs runs;
  for (const MeasuredRun& run : all) runs.push_back(&run);
  const std::vector<Cluster> clusters =
      clusters_of(runs, Rebound::absolute, Loss::last, Stratum::none);
  result.hypotheses.push_back({"at least 10 runs with a recorded final loss",
                               clusters.size() >= least_runs ? Truth::yes : Truth::no,
                               fmt::format("{} runs", clusters.size())});
  if (clusters.size() < least_runs) return result;

  const Association a =
      associate(clusters, setting.false_alarm, resamples, setting.seed, setting.jobs);
  const std::string level = fmt::format("level {:.2g}, {} runs resampled {} times",
                                        setting.false_alarm, a.runs, a.resamples);
  // The interval in atanh narrows as 1/sqrt(runs): how many would bring its end to 0.
  const double reach = two_sided_normal_bound(setting.false_alarm, 1) * a.deviation;
  const double needed =
      static_cast<double>(a.runs) * std::pow(reach / std::atanh(a.correlation), 2.0);
  const std::string seen = fmt::format(
      "correlation {:.3f}, interval {}; about {:.0f} runs like these decide its sign "
      "at this level",
      a.correlation, interval(a), std::ceil(needed));
  if (variant == "opposite-sign") {
    result.evidence.push_back(
        judge("lower end for rebound and loss, sign swapped", -a.low, -a.high, 0, level, seen));
    return result;
  }
  if (variant == "rebound-decides") {
    result.evidence.push_back(judge("upper end of the correlation of rebound and loss", a.high,
                                    a.low, -0.9, level, seen));
    return result;
  }
  result.evidence.push_back(judge("upper end of the correlation of rebound and final loss", a.high,
                                  a.low, 0, level, seen));
  const Association usual = associate(clusters, 0.05, resamples, setting.seed, setting.jobs);
  result.evidence.push_back(
      reported("the same correlation at 95%", usual.correlation, interval(usual)));
  const PermutationTest shuffled = permute_losses(clusters, shuffles, setting.seed, setting.jobs);
  result.evidence.push_back(reported("share of shuffled losses with as low a correlation",
                                     shuffled.below,
                                     fmt::format("{} shuffles over runs", shuffled.shuffles)));
  // The same interval on shuffled losses: what it calls negative without there being anything.
  int called = 0;
  constexpr int trials = 100;
  for (int i = 0; i < trials; ++i) {
    const std::vector<Cluster> noise =
        with_shuffled_losses(clusters, setting.seed, static_cast<std::uint32_t>(i));
    called += associate(noise, 0.05, 400, setting.seed, setting.jobs).high < 0 ? 1 : 0;
  }
  result.evidence.push_back(reported("shuffled losses that the 95% interval calls negative", called,
                                     fmt::format("of {}; 2.5 expected", trials)));
  tell_counts(runs, result);
  tell_health(runs, result);
  tell_strata(runs, setting, result);
  return result;
}

}  // namespace

Statement measured_bounce() {
  return {.id = "joma.measured-bounce",
          .claim = "recorded runs: the more a layer's entropy bounces back, the lower the loss",
          .paper = "arXiv 2310.00535, Section 4, experiments on WikiText",
          .status = "observed in source; an association over learning rates",
          .hypotheses = {"at least 10 runs with a recorded final loss"},
          .reaches = {EvidenceKind::statistical},
          .controls = {{"opposite-sign", "rebound and loss said to rise together"},
                       {"rebound-decides", "correlation said to be -0.9 or below"}},
          .needs_data = true,
          .examine_variant = examine};
}

}  // namespace popgrad::theorems::joma
