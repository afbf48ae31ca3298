#include "popgrad/statistics/statistics.hpp"
#include "popgrad/walks/ensemble.hpp"
#include "theorems/joma/checks/prelude.hpp"
#include "theorems/joma/rungs/measured.hpp"

namespace popgrad::joma::checks::measured_bounce {
namespace {

Statement sheet{.id = "joma.measured-bounce",
                .paper = "arXiv 2310.00535, Section 4, experiments on WikiText",
                .status = "observed in source; an association over learning rates",
                .about = "recorded runs",
                .theorem = R"(
Over recorded runs, layers whose entropy comes back after its fall belong to runs of low
validation loss, the least of the run: the Spearman correlation of it and
  rebound = last entropy - least entropy
of a layer is below 0. Layers of one run share its loss, so whole runs are resampled. An
association is no cause: the learning rate moves both sides. What it makes of the correlation is what is
left with the losses shuffled over the runs of each rate; the same correlation within one learning rate
is reported with the verdict.)",
                .reaches = {EvidenceKind::statistical},
                .false_version = "rebound-decides",
                .needs_data = true};

const Clause rebound_lowers = sheet.clause(
    "runs of all learning rates: the more a layer's entropy comes back, the lower the least loss");

const Hypothesis enough_runs = sheet.assume("at least 10 runs with a recorded loss");

const Control swapped_rebound =
    sheet.control("swapped-rebound", "rebound taken as least minus last entropy");
const Control rebound_decides = sheet.control(
    "rebound-decides", "the rebound decides the loss: a correlation of -0.9 or below");

const Rival learning_rate = sheet.rival(
    "learning-rate", "the learning rate makes the association: within one rate there is none",
    "the loss and rebound of every rate");

constexpr std::size_t least_runs = 10;

enum class Loss { last, best };
enum class Stratum { none, learning_rate };

// Runs with a recorded loss, with the rebounds of the layers that were recorded throughout.
std::vector<Cluster> clusters_of(const std::vector<MeasuredRun>& runs, Loss loss, Stratum stratum) {
  std::vector<Cluster> clusters;
  for (const MeasuredRun& run : runs) {
    Cluster cluster;
    cluster.loss = loss == Loss::last ? run.final_loss() : run.best_loss();
    if (!std::isfinite(cluster.loss)) continue;
    cluster.stratum = stratum == Stratum::learning_rate ? run.learning_rate : 0.0;
    for (const std::vector<double>& curve : run.entropy) {
      const LayerBounce bounce = read_bounce(curve);
      if (bounce.complete) cluster.rebound.push_back(bounce.rebound());
    }
    if (!cluster.rebound.empty()) clusters.push_back(std::move(cluster));
  }
  return clusters;
}

// The deviation of n resamples has a relative error of 1/sqrt(2 n).
Association association_of(const std::vector<Cluster>& clusters, const Setting& setting) {
  return associate(clusters, setting.false_alarm, setting.draws(4000), setting.draw_seed(),
                   setting.jobs);
}

// atanh of the correlation with losses shuffled over the runs of each rate.
Quantity made_by_learning_rate(const std::vector<Cluster>& clusters, const Setting& setting) {
  Vector<double> shuffled(setting.draws(1000));
  for (Index i = 0; i < shuffled.size(); ++i) {
    std::vector<Cluster> mixed =
        with_shuffled_losses(clusters, setting.draw_seed(), static_cast<std::uint32_t>(i));
    for (Cluster& cluster : mixed) cluster.stratum = 0;
    shuffled[i] = std::atanh(clustered_correlation(mixed));
  }
  return sample_moments(shuffled, setting.false_alarm).mean.front();
}

// The interval in atanh narrows as 1/sqrt(runs): how many would bring its end to 0.
std::string runs_that_decide(const Association& a, double reach) {
  const double ratio = reach / std::atanh(a.correlation);
  return fmt::format(
      "correlation {:.3f} in [{:.3f}, {:.3f}], {} runs, {} pairs; about {:.0f} runs like these "
      "decide its sign",
      a.correlation, a.low, a.high, a.runs, a.pairs,
      std::ceil(static_cast<double>(a.runs) * ratio * ratio));
}

void report(std::string what, const std::vector<Cluster>& clusters, const Setting& setting,
            Examination& it) {
  const Association a = association_of(clusters, setting);
  it.report(std::move(what), a.correlation,
            fmt::format("interval [{:.3f}, {:.3f}]", a.low, a.high));
}

void report_counts(const std::vector<MeasuredRun>& runs, Examination& it) {
  int bounces = 0;
  int layers = 0;
  for (const MeasuredRun& run : runs) {
    layers += static_cast<int>(run.layer.size());
    for (const std::vector<double>& curve : run.entropy) {
      bounces += read_bounce(curve).bounces(noise_factor, least_change) ? 1 : 0;
    }
  }
  it.report("layers whose entropy falls and rises again", bounces,
            fmt::format("of {} layers of {} runs; minimum inside, fall and rebound both above "
                        "max({:g} noise, {:g} nats)",
                        layers, runs.size(), noise_factor, least_change));
}

void examine(const Setting& setting, Examination& it) {
  it.parameters = {{"data", setting.data_file}, {"seed", setting.seed}};
  const std::vector<MeasuredRun> runs = read_measured_runs(setting.data_file);
  const std::vector<Cluster> clusters = clusters_of(runs, Loss::best, Stratum::none);
  if (!it.require(enough_runs,
                  static_cast<double>(clusters.size()) - static_cast<double>(least_runs),
                  fmt::format("{} runs", clusters.size())))
    return;
  const std::vector<Cluster> by_rate = clusters_of(runs, Loss::best, Stratum::learning_rate);
  const Quantity of_rate = made_by_learning_rate(by_rate, setting);
  const Association a = association_of(clusters, setting);
  const double z = two_sided_normal_bound(setting.false_alarm, 1);
  const Quantity stretched(std::atanh(a.correlation), {ErrorPart::sampling(z, a.deviation)});
  it.judge(rebound_lowers, below("atanh of the correlation of rebound and least loss", stretched, 0)
                               .of_kind(EvidenceKind::statistical)
                               .in_units_of(1)
                               .with(runs_that_decide(a, z * a.deviation))
                               .unless(swapped_rebound, [&] { return -stretched; })
                               .unless(rebound_decides, std::atanh(-0.9))
                               .against(learning_rate, [&] { return of_rate - stretched; }));
  it.report("correlation with the losses of every rate shuffled", std::tanh(of_rate.value()));
  report_counts(runs, it);
  report("correlation with the final loss", clusters_of(runs, Loss::last, Stratum::none), setting,
         it);
  report("correlation at a fixed learning rate (mean over rates)", by_rate, setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::joma::checks::measured_bounce
