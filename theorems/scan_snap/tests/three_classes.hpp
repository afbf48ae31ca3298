#pragma once
/// A small instance of scan-snap with label noise and temperature, and all of its samples.

#include <algorithm>
#include <vector>

#include "popgrad/scalars/random.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"

namespace scan_snap_of_three_classes {

using namespace popgrad;
using namespace popgrad::scan_snap;

inline constexpr double noise = 0.35;
inline constexpr Index classes = 3;

inline TrainingInstance<double> instance_of(double label_noise, double temperature,
                                            Start start = Start::uniform) {
  TrainingInstance<double> instance;
  const Matrix<double> law{{0.5, 0.2, 0.3, 0, 0}, {0.25, 0.45, 0, 0.3, 0}, {0.3, 0.1, 0, 0.2, 0.4}};
  instance.classes = classes_from_matrix<double>(law, {4, 3, 4}, 6);
  instance.classes.weight = Vector<double>{{0.5, 0.2, 0.3}};
  instance.decoder_rate = 1.3;
  instance.attention_rate = 0.7;
  instance.length = 3;  // two tokens
  instance.start = start;
  instance.label_noise = label_noise;
  instance.temperature = temperature;
  return instance;
}

inline Vector<double> some_state(const PopulationFlow<double>& flow) {
  Stream stream(6, 0, 0);
  Vector<double> x(flow.dimension());
  for (double& value : x) value = 0.8 * stream.normal();
  return x;
}

inline Index pairs_of(const PopulationFlow<double>& flow) { return flow.layout().pairs(); }

struct Sample {
  Index cls, label, first, second;  ///< tokens by entry of the class
  double probability;
  Vector<double> direction;
};

/// Every class, label and ordered pair of tokens. Directions are those of laws that give nothing
/// else, without noise and temperature: the logits are z/temperature, which also divides their
/// rate.
inline std::vector<Sample> all_samples(const TrainingInstance<double>& instance,
                                       const Vector<double>& x, Index pairs) {
  Vector<double> tempered = x;
  tempered.tail(pairs) /= instance.temperature;
  std::vector<Sample> samples;
  for (Index n = 0; n < classes; ++n) {
    const Index begin = instance.classes.first[static_cast<std::size_t>(n)];
    const Index end = instance.classes.first[static_cast<std::size_t>(n + 1)];
    for (Index y = 0; y < classes; ++y) {
      for (Index a = begin; a < end; ++a) {
        for (Index b = begin; b < end; ++b) {
          TrainingInstance<double> one = instance;
          one.label_noise = 0;
          one.temperature = 1;
          one.classes.weight = Vector<double>::Unit(classes, n);
          one.classes.law.segment(begin, end - begin).setZero();
          one.classes.law[a] += 0.5;
          one.classes.law[b] += 0.5;
          one.classes.next[static_cast<std::size_t>(n)] =
              instance.classes.next[static_cast<std::size_t>(y)];
          const double label = (y == n ? 1 - instance.label_noise : 0) + instance.label_noise / 3;
          Sample sample{n,
                        y,
                        std::min(a, b),
                        std::max(a, b),
                        instance.classes.weight[n] * label * instance.classes.law[a] *
                            instance.classes.law[b],
                        Vector<double>(x.size())};
          PopulationFlow<double>(one).rhs(tempered, sample.direction, 0.0);
          sample.direction.tail(pairs) /= instance.temperature;
          samples.push_back(std::move(sample));
        }
      }
    }
  }
  return samples;
}

}  // namespace scan_snap_of_three_classes
