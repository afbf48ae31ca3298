#include "theorems/scan_snap/checks/residual_measurements.hpp"

#include "theorems/scan_snap/checks/features_at_rest.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks {
QueryDraw chosen_queries(const Setting& setting, double inside) {
  return {.queries = setting.count(query_count),
          .most = setting.count(most_classes),
          .inside = inside,
          .across = inside * setting.value(across_weight),
          .tokens = setting.count(residual_vocabulary)};
}

SequenceClasses<double> drawn_queries(const Setting& setting, const QueryDraw& draw) {
  return classes_of_queries(Stream(setting.seed, stream_of_drawn_classes, 7), draw);
}

std::vector<Quantity> read_at_rest(TrainingInstance<double> training, DecoderRule rule, double tau,
                                   const Reading& reading) {
  constexpr double tolerance = 1e-12;
  const ResidualFlow<double> moving(training, rule);
  training.attention_rate = 0;
  const double end = tau / training.decoder_rate * static_cast<double>(training.classes.classes());
  const Solved run(forget_type(ResidualFlow<double>(training, rule)), {end}, tolerance);
  const double products =
      run.state(0).cwiseAbs().maxCoeff() / reading.unit;  // of Y with e_n - alpha_n
  const auto terms = static_cast<double>(run.state(0).size());
  std::vector<Quantity> numbers = read_off(run, 0, [&](const Vector<double>& x) -> Vector<double> {
    return reading.numbers(moving, x) / reading.unit;
  });
  for (Quantity& number : numbers) {
    number.add(ErrorPart::rounding(terms * reading.condition, products));
  }
  return numbers;
}

std::vector<Quantity> limit_of_vocabulary(const SequenceClasses<double>& classes, double tau,
                                          const std::function<Reading(double)>& reading) {
  std::vector<double> inverses;
  std::vector<std::vector<Quantity>> found;
  for (const double tokens : {1e4, 2e4, 4e4}) {
    inverses.push_back(1 / tokens);
    found.push_back(read_at_rest(residual_training(classes, tokens), DecoderRule::gradient, tau,
                                 reading(tokens)));
  }
  return limits_in(inverses, found);
}

double driving(const TrainingInstance<double>& training, double tau) {
  const auto m = static_cast<double>(training.classes.tokens);
  return backprop_scale(m, decoder_scale(m, training.decoder_rate, tau / training.decoder_rate));
}

std::vector<Quantity> exactly(const Vector<double>& values) {
  return {values.begin(), values.end()};
}

std::vector<Quantity> nearest_multiple(const Vector<double>& values,
                                       const std::vector<Quantity>& measured) {
  double product = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    product += measured[i].value() * values[static_cast<Index>(i)];
  }
  return exactly(product / values.squaredNorm() * values);
}

}  // namespace popgrad::scan_snap::checks
