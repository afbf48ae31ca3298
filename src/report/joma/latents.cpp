// Do hidden units of trained networks stand for latents? Scores by layer and level against the
// untrained network, latents of the wrong sequences, and permuted labels; and attention entropy of
// every layer over time.

#include <omp.h>

#include <array>
#include <cmath>
#include <vector>

#include "popgrad/ensemble.hpp"
#include "popgrad/joma/multilayer_flow.hpp"
#include "popgrad/solve.hpp"
#include "popgrad/walk.hpp"
#include "report/joma/figures.hpp"
#include "theorems/joma/latent_networks.hpp"

namespace popgrad::report {
namespace {

using namespace popgrad::joma;
using theorems::joma::LatentTraining;
using theorems::joma::NetworkScores;
using theorems::joma::Reading;

// The shape of Table 1: three layers with LayerNorm, two levels below the classes; d = 1024 there.
constexpr std::uint32_t networks = 10;
constexpr double level_of_intervals = 0.05;

LatentTraining training(const char* sizes, std::uint64_t seed) {
  Parameters p("joma");
  p.set("layers", "3");
  p.set("d", "16");
  p.set("layer-norm", "true");
  Value::List latents;
  std::string text = sizes;
  for (std::size_t at = 0; at != std::string::npos;) {
    const std::size_t cut = text.find(',', at);
    latents.emplace_back(text.substr(at, cut == std::string::npos ? cut : cut - at));
    at = cut == std::string::npos ? cut : cut + 1;
  }
  p.set("latents", std::move(latents));
  p.set("children", Value::List{"2", "2", "2"});
  return {multilayer_instance(p, seed), 0.1, 300};
}

// A row a layer and level: mean and half width of every reading, free and matched.
std::string scores(const FigureRequest& request) {
  CsvText csv{"classes", "layer",      "level",   "reading",
              "free",    "free_error", "matched", "matched_error"};
  for (const char* sizes : {"10,20,20", "20,30,60"}) {
    const LatentTraining t = training(sizes, request.seed);
    const std::vector<NetworkScores> all = network_scores(t, request.seed, networks, request.jobs);
    const Index levels = std::ssize(t.instance.data.latent_means);
    const Index entries = t.instance.shape.layers * levels;
    for (std::size_t r = 0; r < theorems::joma::readings; ++r) {
      Matrix<double> table(networks, 2 * entries);
      for (std::uint32_t i = 0; i < networks; ++i) {
        table.row(i).head(entries) = all[i].of[r].free.transpose();
        table.row(i).tail(entries) = all[i].of[r].matched.transpose();
      }
      for (Index e = 0; e < entries; ++e) {
        const Matrix<double> own = table(Eigen::all, std::vector<Index>{e, entries + e});
        // Two means and two variances share what may fail.
        const SampleMoments moments = sample_moments(own, 4 * level_of_intervals);
        csv.number(static_cast<double>(t.instance.data.classes()))
            .number(static_cast<double>(e / levels))
            .number(static_cast<double>(e % levels))
            .number(static_cast<double>(r));
        for (const Quantity& mean : moments.mean) csv.number(mean.value()).number(mean.error());
        csv.end_row();
      }
      csv.end_block();
    }
  }
  return csv.text();
}

// A block a layer: step, then mean, least and largest attention entropy over the networks.
std::string entropies(const FigureRequest& request) {
  const LatentTraining t = training("10,20,20", request.seed);
  const auto layers = static_cast<std::size_t>(t.instance.shape.layers);
  WalkRequest walking;
  walking.step_size = t.step_size;
  walking.steps = 4 * t.steps;
  walking.jobs = 1;
  for (double step = 1; step < static_cast<double>(walking.steps); step *= 1.25) {
    const auto whole = static_cast<std::uint64_t>(std::llround(step));
    if (walking.save_steps.empty() || whole > walking.save_steps.back()) {
      walking.save_steps.push_back(whole);
    }
  }
  walking.save_steps.push_back(walking.steps);
  CsvText csv{"step", "layer", "mean", "least", "largest"};
  std::vector<Trajectory<double>> runs(networks);
  const int jobs = request.jobs > 0 ? request.jobs : omp_get_num_procs();
#pragma omp parallel for num_threads(jobs) schedule(dynamic, 1)
  for (std::uint32_t i = 0; i < networks; ++i) {
    MultilayerInstance<double> own = t.instance;
    own.start = network_start(own.shape, request.seed + i);
    const AnyRung<double> rung = forget_type(MultilayerFlow<double>(own));
    runs[i] = std::move(walk(rung, rung.initial, walking).front());
  }
  for (const Trajectory<double>& run : runs) require_usable(run.outcome, request.name);
  for (std::size_t h = 0; h < layers; ++h) {
    for (std::size_t k = 0; k < walking.save_steps.size(); ++k) {
      Vector<double> entropy(networks);
      for (std::uint32_t i = 0; i < networks; ++i) entropy[i] = runs[i].rows[k][2 + h];
      csv.number(static_cast<double>(walking.save_steps[k]))
          .number(static_cast<double>(h))
          .number(entropy.mean())
          .number(entropy.minCoeff())
          .number(entropy.maxCoeff())
          .end_row();
    }
    csv.end_block();
  }
  return csv.text();
}

std::vector<FigureFile> data(const FigureRequest& request) {
  return {{request.name + "-scores.csv", scores(request)},
          {request.name + "-entropy.csv", entropies(request)}};
}

}  // namespace

FigureMaker latents_figure() {
  return {{"joma-latents", "Hidden units and latents: trained networks against their nulls"}, data};
}

}  // namespace popgrad::report
