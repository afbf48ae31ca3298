// What each assumption costs: relative distances of z between neighbouring rungs against
// eta_Z/eta_Y on the growth instance, at three vocabularies.

#include <cmath>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"
#include "theorems/scan_snap/rungs/quasi_static_flow.hpp"
#include "theorems/scan_snap/rungs/reduced_flow.hpp"

namespace popgrad::theorems::scan_snap::figures::rung_distances_figure {
namespace {

using namespace popgrad::scan_snap;

template <class Rung>
Vector<double> logits_at_end(const Rung& rung, const std::string& figure) {
  SolveRequest<double> request;
  request.end = 700;
  request.save_at = {700};
  request.relative_tolerance = 1e-10;
  request.absolute_tolerance = 1e-14;
  request.find_events = false;
  const Trajectory<double> run = solve(forget_type(rung), request);
  require_usable(run.outcome, figure);
  return rung.logits_at(run.last_state);
}

double apart(const Vector<double>& a, const Vector<double>& b) { return (a - b).norm() / b.norm(); }

std::vector<FigureFile> data(const FigureRequest& request) {
  CsvText csv{"eta_Z/eta_Y",          "flow-quasi_static", "quasi_static-fast_decoder",
              "fast_decoder-reduced", "size_reduced/flow", "M"};
  for (const Index tokens : {1000, 10'000, 100'000}) {
    for (int i = 0; i <= 8; ++i) {
      const double rate = std::pow(10.0, -4 + 0.5 * i);
      TrainingInstance<double> instance;
      instance.classes = growth_classes<double>();
      instance.classes.tokens = tokens;
      instance.attention_rate = rate;
      const Vector<double> flow = logits_at_end(PopulationFlow<double>(instance), request.name);
      const Vector<double> quasi = logits_at_end(QuasiStaticFlow<double>(instance), request.name);
      const Vector<double> fast =
          logits_at_end(PopulationFlow<double>(instance, DecoderRule::fast), request.name);
      const Vector<double> reduced = logits_at_end(ReducedFlow<double>(instance), request.name);
      csv.number(rate).number(apart(flow, quasi)).number(apart(quasi, fast));
      csv.number(apart(fast, reduced)).number(reduced.norm() / flow.norm());
      csv.number(static_cast<double>(tokens)).end_row();
    }
    csv.end_block();
  }
  return {{request.name + ".csv", csv.text()}};
}

}  // namespace

FigureMaker figure() {
  return {
      .info =
          {.name = "scan-snap-rungs",
           .title =
               "Distances of neighbouring rungs against eta_Z/eta_Y: two vanish, one is a plateau",
           .shows = {"scan-snap.assumptions"}},
      .data = data};
}

}  // namespace popgrad::theorems::scan_snap::figures::rung_distances_figure
