// Entropy of attention on distinct tokens after 100 steps on Syn-Medium, against eta_Y/eta_Z: SGD
// with momentum over 10 seeds, and momentum descent on the expectation.

#include <omp.h>

#include <cmath>

#include "popgrad/rung.hpp"
#include "popgrad/scan_snap/population_flow.hpp"
#include "popgrad/walk.hpp"
#include "report/scan_snap/figures.hpp"

namespace popgrad::report {
namespace {

using namespace popgrad::scan_snap;

constexpr int seeds = 10;
constexpr int ratios = 10;

double distinct_entropy(Index queries, double attention_rate, int ratio, Index batch,
                        std::uint64_t seed) {
  TrainingInstance<double> instance;
  instance.classes = syn_medium<double>(queries);
  instance.attention_rate = attention_rate;
  instance.decoder_rate = ratio * attention_rate;
  instance.start = Start::uniform;
  instance.seed = seed;
  const AnyRung<double> rung = forget_type(PopulationFlow<double>(instance));
  WalkRequest request;
  request.step_size = 1;
  request.steps = 100;
  request.save_steps = {request.steps};
  request.batch = batch;
  request.seed = seed;
  request.jobs = 1;
  request.optimiser.rule = Optimiser::Rule::momentum;
  const Trajectory<double> run = walk(rung, rung.initial, request).front();
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < run.columns.size(); ++i) {
    if (!run.columns[i].starts_with("distinct_entropy_")) continue;
    sum += run.rows.back()[i];
    ++count;
  }
  return sum / count;
}

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText csv{"n_last", "eta_Z", "ratio", "mean", "deviation", "descent"};
  const int jobs = request.jobs > 0 ? request.jobs : omp_get_num_procs();
  for (const Index queries : {1, 3, 5, 10}) {
    for (const double attention_rate : {0.5, 1.0, 2.0, 3.0}) {
      std::vector<double> values(static_cast<std::size_t>(ratios * (seeds + 1)));
      // Seed 0 stands for descent on the expectation, from the start of seed 1.
#pragma omp parallel for num_threads(jobs) schedule(dynamic, 1)
      for (std::size_t i = 0; i < values.size(); ++i) {
        const int ratio = 1 + static_cast<int>(i) / (seeds + 1);
        const auto seed = static_cast<std::uint64_t>(i % (seeds + 1));
        values[i] = distinct_entropy(queries, attention_rate, ratio, seed == 0 ? 0 : 128,
                                     1000 * request.seed + (seed == 0 ? 1 : seed));
      }
      for (int ratio = 1; ratio <= ratios; ++ratio) {
        const double* const own = values.data() + Index{ratio - 1} * (seeds + 1);
        double mean = 0;
        double square = 0;
        for (int k = 1; k <= seeds; ++k) mean += own[k] / seeds;
        for (int k = 1; k <= seeds; ++k) square += std::pow(own[k] - mean, 2) / (seeds - 1);
        csv.number(static_cast<double>(queries)).number(attention_rate).number(ratio);
        csv.number(mean).number(std::sqrt(square)).number(own[0]).end_row();
      }
      csv.end_block();
    }
  }
  return {{request.name + ".csv", csv.text()}};
}

}  // namespace

FigureMaker learning_rates_figure() {
  return {
      .info = {.name = "scan-snap-entropy",
               .title = "Distinct entropy on Syn-Medium against eta_Y/eta_Z, 10 seeds, four sizes",
               .shows = {"scan-snap.learning-rates"}},
      .data = data};
}

}  // namespace popgrad::report
