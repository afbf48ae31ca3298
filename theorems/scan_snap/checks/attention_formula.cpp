#include "theorems/scan_snap/checks/attention_formula.hpp"

#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/random_classes.hpp"
#include "theorems/scan_snap/rungs/response.hpp"

namespace popgrad::scan_snap::checks {

TrainingInstance<Expression> generic_training() {
  TrainingInstance<Expression> training;
  SequenceClasses<Expression>& classes = training.classes;
  classes.tokens = 3;
  classes.query = {0, 0};
  classes.next = {0, 1};
  classes.first = {0, 2, 4};
  classes.token = {0, 1, 0, 2};
  classes.law = symbols("P", 4);
  classes.weight = symbols("w", 2);
  training.decoder_rate = symbol("eta_Y");
  training.attention_rate = symbol("eta_Z");
  return training;
}

TrainingInstance<Expression> generic_class_with_query() {
  TrainingInstance<Expression> training;
  SequenceClasses<Expression>& classes = training.classes;
  classes.tokens = 2;
  classes.query = {0};
  classes.next = {0};
  classes.first = {0, 2};
  classes.token = {0, 1};
  classes.law = symbols("P", 2);
  classes.weight = symbols("w", 1);
  training.decoder_rate = symbol("eta_Y");
  training.attention_rate = symbol("eta_Z");
  return training;
}

TrainingInstance<double> random_training(std::uint64_t seed, Index classes, Index common,
                                         double weight_of_common) {
  Stream stream(seed, 1, 0);
  TrainingInstance<double> training;
  training.classes = random_classes(stream, classes, common, 3, weight_of_common, 25);
  for (Index n = 0; n < classes; ++n) {
    training.classes.query[static_cast<std::size_t>(n)] = static_cast<Index>(stream.index(2));
    training.classes.weight[n] = stream.uniform();
  }
  training.classes.weight /= training.classes.weight.sum();
  training.start = Start::uniform;
  return training;
}

SequenceClasses<double> sequences_of(const SequenceClasses<double>& classes, Index length) {
  SequenceClasses<double> all{.tokens = classes.tokens, .first = {0}};
  std::vector<double> law, weights;
  for (std::size_t n = 0; n < classes.query.size(); ++n) {
    const Index begin = classes.first[n], end = classes.first[n + 1];
    std::vector<double> counts(static_cast<std::size_t>(end - begin), 0);
    const auto choose = [&](auto&& self, std::size_t l, Index left, double probability) -> void {
      const double p = classes.law[begin + static_cast<Index>(l)];
      if (l + 1 == counts.size()) {
        counts[l] = static_cast<double>(left);
        for (Index e = begin; e < end; ++e) {
          all.token.push_back(classes.token[static_cast<std::size_t>(e)]);
          law.push_back(counts[static_cast<std::size_t>(e - begin)] / static_cast<double>(length));
        }
        all.query.push_back(classes.query[n]);
        all.next.push_back(classes.next[n]);
        all.first.push_back(std::ssize(all.token));
        weights.push_back(probability * std::pow(p, left));
        return;
      }
      double chosen = probability;  // times p^c and the binomial coefficient of c in left
      for (Index c = 0; c <= left; ++c) {
        counts[l] = static_cast<double>(c);
        self(self, l + 1, left - c, chosen);
        chosen *= p * static_cast<double>(left - c) / static_cast<double>(c + 1);
      }
    };
    choose(choose, 0, length, classes.weight[static_cast<Index>(n)]);
  }
  all.law = Eigen::Map<Vector<double>>(law.data(), std::ssize(law));
  all.weight = Eigen::Map<Vector<double>>(weights.data(), std::ssize(weights));
  return all;
}

Vector<double> tokens_of_components(const Layout& layout) {
  const Index columns = layout.columns();
  Vector<double> tokens = Vector<double>::Ones(layout.rows() * columns + layout.pairs());
  for (Index i = 0; i < layout.rows() * columns; ++i) {
    tokens[i] = static_cast<double>(layout.multiplicity[static_cast<std::size_t>(i % columns)]);
  }
  return tokens;
}

template <class T>
Quantity slope_along(const PopulationFlow<T>& flow, const Vector<T>& x,
                     const Vector<T>& direction) {
  return slope_along<T>([&](const Vector<T>& at) { return flow.loss(at); },
                        static_cast<double>(flow.instance().classes.entries()), x, direction);
}

template <class T>
Quantity slope_along(const std::type_identity_t<std::function<T(const Vector<T>&)>>& loss,
                     double terms, const Vector<T>& x, const Vector<T>& direction) {
  const double farthest = to_double(T(x.cwiseAbs().maxCoeff()));
  // A thousandth of what changes logits by one.
  const double first = 1e-3 / std::max(1.0, farthest);
  std::vector<double> squares;
  std::vector<Quantity> slopes;
  for (const double width : falling_parameters(first, 2, 2)) {
    const T ahead = loss(x + T(width) * direction);
    const T behind = loss(x - T(width) * direction);
    const double largest = std::max({1.0, to_double(ahead), farthest});
    squares.push_back(width * width);
    slopes.push_back(rounded<T>(T((behind - ahead) / T(2 * width)), terms, largest / width));
  }
  return limit_in(squares, slopes);
}

template Quantity slope_along(const PopulationFlow<double>&, const Vector<double>&,
                              const Vector<double>&);
template Quantity slope_along(const PopulationFlow<Real>&, const Vector<Real>&,
                              const Vector<Real>&);
template Quantity slope_along<double>(const std::function<double(const Vector<double>&)>&, double,
                                      const Vector<double>&, const Vector<double>&);

}  // namespace popgrad::scan_snap::checks
