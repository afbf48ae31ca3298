#include "theorems/scan_snap/checks/decoder_measurements.hpp"

#include "popgrad/statistics/order.hpp"
#include "theorems/scan_snap/checks/given_training.hpp"
#include "theorems/scan_snap/rungs/instance.hpp"

namespace popgrad::scan_snap::checks {

TrainingInstance<double> decoder_training(const Setting& setting, Index count, const Knob& tokens,
                                          const Knob& rate) {
  return examined_training(setting, [&] {
    TrainingInstance<double> training;
    training.classes = classes_from_matrix<double>(
        Matrix<double>::Identity(count, count),
        std::vector<Index>(static_cast<std::size_t>(count), 0), setting.count(tokens));
    training.decoder_rate = setting.value(rate);
    return training;
  });
}

Decoder decoder_of(const TrainingInstance<double>& training) {
  return {static_cast<double>(training.classes.tokens), training.decoder_rate};
}

Decoder chosen_decoder(const Setting& setting, const Knob& tokens, const Knob& rate) {
  return decoder_of(decoder_training(setting, 1, tokens, rate));
}

Quantity limit_of(double nearest, const std::function<Quantity(double)>& value) {
  return popgrad::limit_of(value, 2 * nearest, 2, 2);
}

}  // namespace popgrad::scan_snap::checks
