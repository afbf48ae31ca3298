#pragma once
/// Attention entropy along the reduced flow, at times that are even on a logarithmic axis.

#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/joma/rungs/reduced_flow.hpp"

namespace popgrad::joma::figures {

inline std::vector<double> logarithmic_times(double from, double to, std::size_t count) {
  std::vector<double> times(count);
  for (std::size_t i = 0; i < count; ++i) {
    times[i] = from * std::pow(to / from, static_cast<double>(i) / static_cast<double>(count - 1));
  }
  times.back() = to;
  return times;
}

inline Trajectory<double> entropy_curve(const ReducedInstance<double>& what, double from, double to,
                                        std::string_view figure) {
  SolveRequest<double> request;
  request.end = to;
  request.save_at = logarithmic_times(from, to, 400);
  request.relative_tolerance = 1e-11;
  request.absolute_tolerance = 1e-13;
  Trajectory<double> run = solve(forget_type(ReducedFlow<double>(what)), request);
  require_usable(run.outcome, figure);
  return run;
}

inline void add_entropy(FigureTable& table, std::string_view label, const Trajectory<double>& run) {
  table.block(label);
  const std::vector<double> entropy = run.column("attention_entropy");
  for (std::size_t i = 0; i < run.t.size(); ++i) {
    table.add("t", run.t[i], "attention_entropy", entropy[i]);
  }
}

}  // namespace popgrad::joma::figures
