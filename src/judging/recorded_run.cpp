#include "popgrad/judging/recorded_run.hpp"

#include <fmt/format.h>

namespace popgrad {

RecordedRun mean_of(const std::vector<RecordedRun>& runs) {
  RecordedRun mean = runs.front();
  mean.gaps.clear();
  mean.rates.clear();
  mean.without_time = 0;
  mean.label = fmt::format("mean of {}", runs.size());
  mean.averaged = static_cast<double>(runs.size());
  for (std::size_t c = 0; c < mean.values.size(); ++c) {
    for (std::size_t k = 0; k < mean.t.size(); ++k) {
      double sum = 0;
      for (const RecordedRun& run : runs) sum += run.values[c][k];
      mean.values[c][k] = sum / mean.averaged;  // NaN where one of them has none
    }
  }
  return mean;
}

}  // namespace popgrad
