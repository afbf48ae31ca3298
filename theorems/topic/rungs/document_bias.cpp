#include "theorems/topic/rungs/document_bias.hpp"

namespace popgrad::topic {
namespace {

// Adds the gradients of the change of the loss, of one query in documents of one subset: `mass` is
// the probability of the query, `target` that of the query and each word.
struct Change {
  const Matrix<double>& value;
  Matrix<double>& dvalue;
  Matrix<double>& dlogits;

  void add(Index query, const Vector<double>& frequency, const Vector<double>& gain, double mass,
           const Vector<double>& target, bool of_variance) {
    const Vector<double> r = gain / gain.dot(frequency);
    const Vector<double> attention = frequency.cwiseProduct(r);
    const Vector<double> h = attention.cwiseProduct(r);
    const double varying = of_variance ? mass : 0;
    const Vector<double> y = value * attention;
    const Matrix<double> apart = value.colwise() - y;
    const Vector<double> u = r[query] * apart.col(query) - apart * h;
    // Backwards through 2 (mass y - target)'u + mass h'|apart|^2.
    const Vector<double> du = 2 * (mass * y - target);
    Matrix<double> dapart = 2 * varying * apart * h.asDiagonal() - du * h.transpose();
    dapart.col(query) += r[query] * du;
    const Vector<double> dh =
        varying * apart.colwise().squaredNorm().transpose() - apart.transpose() * du;
    const Vector<double> dy = 2 * mass * u - dapart.rowwise().sum();
    Vector<double> dr = 2 * attention.cwiseProduct(dh) +
                        frequency.cwiseProduct(Vector<double>(value.transpose() * dy));
    dr[query] += du.dot(apart.col(query));
    dvalue += dapart + dy * attention.transpose();
    dlogits.col(query) += r.cwiseProduct(dr) - attention * r.dot(dr);
  }
};

}  // namespace

void add_document_bias(const TopicLaw<double>& law, const Effective& now, bool of_variance,
                       double weight, Matrix<double>& dvalue, Matrix<double>& dlogits,
                       double label_noise) {
  const Index size = law.vocabulary();
  Change change{now.value, dvalue, dlogits};
  const Matrix<double> gains = now.logits.array().exp();
  const auto all = subsets(law.topics, law.active);
  const double probability = weight / static_cast<double>(all.size());
  const double share = 1 / static_cast<double>(law.active * law.words);
  for (const std::vector<Index>& subset : all) {
    Vector<double> frequency = Vector<double>::Constant(size, law.stray());
    Vector<double> words = Vector<double>::Zero(size);
    frequency[0] = law.mask();
    for (const Index topic : subset) {
      frequency.segment(1 + topic * law.words, law.words).setConstant(law.frequency(true));
      words.segment(1 + topic * law.words, law.words).setConstant(share);
    }
    for (Index query = 0; query < size; ++query) {
      const double drawn =
          query > 0 ? law.random / static_cast<double>(law.topics * law.words) : law.hidden();
      Vector<double> target = drawn * words;
      target[query] += law.correct * words[query];
      const double mass = target.sum();
      target *= 1 - label_noise;
      target.tail(size - 1).array() += label_noise * mass / static_cast<double>(size - 1);
      change.add(query, frequency, gains.col(query), probability * mass, probability * target,
                 of_variance);
    }
  }
}

}  // namespace popgrad::topic
