// Does attention entropy come back on trained models? Full-batch descent on the authors' two data
// laws from small random starts, without any reduction: share of laws with a rebound above 0.1 nats.

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "popgrad/ensemble.hpp"
#include "popgrad/joma/population_flow.hpp"
#include "popgrad/softmax.hpp"
#include "popgrad/walk.hpp"
#include "report/joma/figures.hpp"

namespace popgrad::report {
namespace {

using namespace popgrad::joma;

constexpr std::uint32_t laws = 100;  // half of them Gaussian, half uniform
// As the authors train.
constexpr double step_size = 0.1;
constexpr std::uint64_t steps = 2000;
constexpr double clear_rebound = 0.1;
constexpr std::array units{1, 4, 16, 64};

struct Setup {
  const char* attention;
  const char* phi;
  int units;
};

std::vector<Setup> setups() {
  std::vector<Setup> all;
  for (const char* attention : {"exp", "softmax"}) {
    for (const char* phi : {"linear", "relu", "gelu", "tanh"}) {
      for (const int k : units) all.push_back({attention, phi, k});
    }
  }
  return all;
}

// Largest rise of the entropy above what it was at least before; NaN if the run diverges.
double rebound(const Setup& setup, std::uint32_t law, std::uint64_t seed) {
  Parameters p("joma");
  p.set("law", law % 2 == 0 ? "gaussian" : "uniform");
  p.set("attention", setup.attention);
  p.set("phi", setup.phi);
  p.set("units", std::to_string(setup.units));
  const PopulationFlow<double> flow(class_instance<double>(p, seed + law));
  AnyRung<double> rung = forget_type(flow);
  rung.columns = {"attention_entropy"};
  rung.observe = [&flow](const Vector<double>& x, const double&, std::span<double> row) {
    row[0] = softmax_entropy(Vector<double>(flow.logits(x) / flow.instance().temperature));
  };
  WalkRequest request;
  request.step_size = step_size;
  request.steps = steps;
  request.save_steps = evenly_spread_steps(steps, 401);
  request.jobs = 1;
  const Trajectory<double> run = std::move(walk(rung, rung.initial, request).front());
  if (!run.outcome.usable()) return std::numeric_limits<double>::quiet_NaN();
  double least = run.rows.front()[0];
  double largest_rise = 0;
  for (const auto& row : run.rows) {
    least = std::min(least, row[0]);
    largest_rise = std::max(largest_rise, row[0] - least);
  }
  return largest_rise;
}

std::vector<FigureFile> data(const FigureRequest& request) {
  const std::vector<Setup> all = setups();
  Matrix<double> found(laws, std::ssize(all));
  const int jobs = request.jobs > 0 ? request.jobs : omp_get_num_procs();
#pragma omp parallel for num_threads(jobs) schedule(dynamic, 1)
  for (Index i = 0; i < found.size(); ++i) {
    // The widest first, so that no thread ends with one of them.
    const Index s = found.cols() - 1 - i / found.rows();
    const Index law = i % found.rows();
    found(law, s) =
        rebound(all[static_cast<std::size_t>(s)], static_cast<std::uint32_t>(law), request.seed);
  }
  CsvText csv{"units",  "share",   "low",    "high",      "rebounds", "laws",
              "median", "largest", "failed", "attention", "phi"};
  for (std::size_t s = 0; s < all.size(); ++s) {
    const auto column = found.col(static_cast<Index>(s));
    std::vector<double> rebounds;
    for (const double value : column) {
      if (!std::isnan(value)) rebounds.push_back(value);
    }
    std::sort(rebounds.begin(), rebounds.end());
    const auto runs = static_cast<std::uint32_t>(rebounds.size());
    const auto clear = static_cast<std::uint32_t>(
        rebounds.end() - std::upper_bound(rebounds.begin(), rebounds.end(), clear_rebound));
    const Quantity share = success_probability(clear, runs, 0.05);
    csv.number(all[s].units)
        .number(static_cast<double>(clear) / runs)
        .number(std::max(0.0, share.value() - share.error()))
        .number(std::min(1.0, share.value() + share.error()))
        .number(clear)
        .number(runs)
        .number(rebounds.empty() ? std::nan("") : rebounds[rebounds.size() / 2])
        .number(rebounds.empty() ? std::nan("") : rebounds.back())
        .number(laws - runs);
    csv.word(all[s].attention).word(all[s].phi).end_row();
    if ((s + 1) % units.size() == 0) csv.end_block();
  }
  return {{request.name + ".csv", csv.text()}};
}

}  // namespace

FigureMaker bounce_figure() {
  return {{"joma-bounce",
           "Share of trained models whose attention entropy comes back by more than 0.1 nats"},
          data};
}

}  // namespace popgrad::report
