#include "theorems/topic/rungs/subset_expectation.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <cmath>

#include "popgrad/base/error.hpp"

namespace popgrad::topic {
namespace {

constexpr double most_subsets = 200'000;

// What one query column adds, and its gradients with respect to the T + 1 vectors and weights that
// its outputs num/Z are made of:
//   num = b_0 + sum_{t in S} b_t
//   Z   = z_0 + sum_{t in S} z_t
struct Column {
  const TopicLaw<double>& law;
  const std::vector<Index>& subsets;
  const std::vector<char>& present;
  double label_noise = 0;
  Index query = 0;
  Matrix<double> vectors, dvectors;  // (Tv + 1) x (T + 1)
  Vector<double> weights, dweights;  // T + 1

  [[nodiscard]] std::size_t count() const {
    return subsets.size() / static_cast<std::size_t>(law.active);
  }
  [[nodiscard]] const Index* subset(std::size_t s) const {
    return subsets.data() + s * static_cast<std::size_t>(law.active);
  }
  [[nodiscard]] bool own_topic_in(std::size_t s) const {
    return query > 0 && present[s * static_cast<std::size_t>(law.topics) +
                                static_cast<std::size_t>(law.topic_of(query))] != 0;
  }
  // Weight of the event that this query is kept and its target itself; of a target drawn from the
  // words of the document.
  [[nodiscard]] double kept(bool own) const {
    return own ? law.correct / static_cast<double>(law.active * law.words) : 0.0;
  }
  [[nodiscard]] double drawn() const {
    return query > 0 ? law.random / static_cast<double>(law.topics * law.words) : law.hidden();
  }

  // Share of the targets that is left, and what goes to each of the T v words, of a mass of 1.
  [[nodiscard]] double own_labels() const { return 1 - label_noise; }
  [[nodiscard]] double any_label() const {
    return label_noise / static_cast<double>(law.topics * law.words);
  }

  double squared(bool gradient);
  double enumerated(LossKind loss, bool gradient);
};

double Column::squared(bool gradient) {
  const Index parts = law.topics + 1;
  const auto share = 1 / static_cast<double>(law.active * law.words);
  const double probability = 1 / static_cast<double>(count());
  const Matrix<double> gram = vectors.transpose() * vectors;
  Matrix<double> sums(law.topics, parts);  // of a vector over the words of a topic
  for (Index t = 0; t < law.topics; ++t) {
    sums.row(t) = vectors.middleRows(1 + t * law.words, law.words).colwise().sum();
  }
  const Vector<double> totals = sums.colwise().sum();  // over all words
  Vector<double> dtotals = Vector<double>::Zero(parts);
  Matrix<double> dgram = Matrix<double>::Zero(parts, parts);
  Matrix<double> dsums = Matrix<double>::Zero(law.topics, parts);
  Vector<double> down = Vector<double>::Zero(parts);
  dweights.setZero();
  double loss = 0;
  for (std::size_t s = 0; s < count(); ++s) {
    const Index* const in = subset(s);
    const bool own_in = own_topic_in(s);
    double size = gram(0, 0);
    double hit = 0;
    double own = own_in ? vectors(query, 0) : 0;
    double all = totals[0];
    double z = weights[0];
    for (Index i = 0; i < law.active; ++i) {
      const Index t = in[i];
      const double* const gram_column = gram.col(t + 1).data();
      const double* const sums_column = sums.col(t + 1).data();
      size += 2 * gram_column[0];
      hit += sums(t, 0);
      for (Index j = 0; j < law.active; ++j) {
        size += gram_column[in[j] + 1];
        hit += sums_column[in[j]];
      }
      if (own_in) own += vectors(query, t + 1);
      all += totals[t + 1];
      z += weights[t + 1];
    }
    const double keep = kept(own_in);
    const double mass = keep + drawn();
    const double on_target =
        own_labels() * (keep * own + drawn() * share * hit) + any_label() * mass * all;
    loss += probability * (mass * size / z - 2 * on_target) / z;
    if (!gradient) continue;
    const double a = 2 * probability * mass / (z * z);
    const double c_hit = -2 * probability * own_labels() * drawn() * share / z;
    const double c_own = -2 * probability * own_labels() * keep / z;
    const double c_all = -2 * probability * any_label() * mass / z;
    const double dz = 2 * probability * (on_target - mass * size / z) / (z * z);
    dgram(0, 0) += a;
    down[0] += c_own;
    dtotals[0] += c_all;
    dweights[0] += dz;
    for (Index i = 0; i < law.active; ++i) {
      const Index t = in[i];
      double* const dgram_column = dgram.col(t + 1).data();
      double* const dsums_column = dsums.col(t + 1).data();
      dgram_column[0] += a;
      dsums(t, 0) += c_hit;
      down[t + 1] += c_own;
      dtotals[t + 1] += c_all;
      dweights[t + 1] += dz;
      for (Index j = 0; j < law.active; ++j) {
        dgram_column[in[j] + 1] += a;
        dsums_column[in[j]] += c_hit;
      }
    }
  }
  if (!gradient) return loss;
  dsums.rowwise() += dtotals.transpose();
  dgram.col(0).tail(law.topics) = dgram.row(0).tail(law.topics);
  dvectors.noalias() = vectors * dgram;
  for (Index t = 0; t < law.topics; ++t) {
    dvectors.middleRows(1 + t * law.words, law.words).rowwise() += dsums.row(t);
  }
  if (query > 0) dvectors.row(query) += down.transpose();
  return loss;
}

double Column::enumerated(LossKind kind, bool gradient) {
  const auto share = 1 / static_cast<double>(law.active * law.words);
  const double probability = 1 / static_cast<double>(count());
  const Index size = law.vocabulary();
  dvectors.setZero(size, law.topics + 1);
  dweights.setZero();
  double loss = 0;
  Vector<double> out(size), target(size), slope(size);
  for (std::size_t s = 0; s < count(); ++s) {
    const Index* const in = subset(s);
    out = vectors.col(0);
    double z = weights[0];
    target.setZero();
    for (Index i = 0; i < law.active; ++i) {
      out += vectors.col(in[i] + 1);
      z += weights[in[i] + 1];
      target.segment(1 + in[i] * law.words, law.words).setConstant(drawn() * share);
    }
    out /= z;
    const double keep = kept(own_topic_in(s));
    const double mass = keep + drawn();
    if (keep > 0) target[query] += keep;
    target *= own_labels();
    target.tail(size - 1).array() += any_label() * mass;
    if (kind == LossKind::squared) {
      loss += probability * (mass * out.squaredNorm() - 2 * target.dot(out));
      slope = 2 * probability * (mass * out - target);
    } else {
      const double top = out.maxCoeff();
      slope = (out.array() - top).exp();
      const double sum = slope.sum();
      loss += probability * (mass * (top + std::log(sum)) - target.dot(out));
      slope *= mass / sum;
      slope = probability * (slope - target);
    }
    if (!gradient) continue;
    const double dz = -slope.dot(out) / z;
    slope /= z;
    dvectors.col(0) += slope;
    dweights[0] += dz;
    for (Index i = 0; i < law.active; ++i) {
      dvectors.col(in[i] + 1) += slope;
      dweights[in[i] + 1] += dz;
    }
  }
  return loss;
}

// exp of the logits, each column over its largest.
Matrix<double> exponentials(const Matrix<double>& logits) {
  return (logits.rowwise() - logits.colwise().maxCoeff()).array().exp();
}

}  // namespace

SubsetExpectation::SubsetExpectation(const TopicLaw<double>& law, LossKind loss, bool plain,
                                     double label_noise)
    : law_(law), loss_(loss), plain_(plain), label_noise_(label_noise) {
  if (subset_count(law.topics, law.active) > most_subsets) {
    reject("topic", "--tau", std::to_string(law.active),
           fmt::format("of --T {} topics makes {:.3g} subsets, more than {:.0f}; the rungs "
                       "symmetric and block-reduced sum over symmetry classes instead",
                       law.topics, subset_count(law.topics, law.active), most_subsets));
  }
  for (const std::vector<Index>& subset : subsets(law.topics, law.active)) {
    subsets_.insert(subsets_.end(), subset.begin(), subset.end());
    std::vector<char> flags(static_cast<std::size_t>(law.topics), 0);
    for (const Index t : subset) flags[static_cast<std::size_t>(t)] = 1;
    present_.insert(present_.end(), flags.begin(), flags.end());
  }
}

double SubsetExpectation::operator()(const Matrix<double>& value, const Matrix<double>& logits,
                                     Matrix<double>* dvalue, Matrix<double>* dlogits) const {
  const Index size = law_.vocabulary();
  const Index v = law_.words;
  const Index topics = law_.topics;
  const double stray = law_.stray();
  const double rise = law_.frequency(true) - stray;
  const bool gradient = dvalue != nullptr;
  const Matrix<double> e = exponentials(logits);
  // What each topic adds to the outputs of each query; later its gradient.
  std::vector<Matrix<double>> from(static_cast<std::size_t>(topics));
  Matrix<double> mass(topics + 1, size);  // of the keys of a topic; of [MASK] last
  Matrix<double> from_mask(size, size);   // gradient of what [MASK] adds
  for (Index t = 0; t < topics; ++t) {
    from[static_cast<std::size_t>(t)].noalias() =
        value.middleCols(1 + t * v, v) * e.middleRows(1 + t * v, v);
    mass.row(t) = e.middleRows(1 + t * v, v).colwise().sum();
  }
  mass.row(topics) = e.row(0);
  double loss = 0;
  std::vector<double> losses(static_cast<std::size_t>(size));
#pragma omp parallel if (omp_in_parallel() == 0 && size > 30)
  {
    Column column{law_,
                  subsets_,
                  present_,
                  label_noise_,
                  0,
                  Matrix<double>(size, topics + 1),
                  Matrix<double>(size, topics + 1),
                  Vector<double>(topics + 1),
                  Vector<double>(topics + 1)};
#pragma omp for schedule(static)
    for (Index i = 0; i < size; ++i) {
      column.query = i;
      column.vectors.col(0) = law_.mask() * e(0, i) * value.col(0);
      column.weights[0] = law_.mask() * mass(topics, i);
      for (Index t = 0; t < topics; ++t) {
        const auto part = from[static_cast<std::size_t>(t)].col(i);
        column.vectors.col(0) += stray * part;
        column.vectors.col(t + 1) = rise * part;
        column.weights[0] += stray * mass(t, i);
        column.weights[t + 1] = rise * mass(t, i);
      }
      losses[static_cast<std::size_t>(i)] = plain_ || loss_ != LossKind::squared
                                                ? column.enumerated(loss_, gradient)
                                                : column.squared(gradient);
      if (!gradient) continue;
      from_mask.col(i) = law_.mask() * column.dvectors.col(0);
      mass(topics, i) = law_.mask() * column.dweights[0];
      for (Index t = 0; t < topics; ++t) {
        from[static_cast<std::size_t>(t)].col(i) =
            stray * column.dvectors.col(0) + rise * column.dvectors.col(t + 1);
        mass(t, i) = stray * column.dweights[0] + rise * column.dweights[t + 1];
      }
    }
  }
  // In one order, whatever the threads did.
  for (const double part : losses) loss += part;
  if (loss_ == LossKind::squared) loss += 1;
  if (!gradient) return loss;
  dvalue->resize(size, size);
  Matrix<double> de(size, size);
  dvalue->col(0).noalias() = from_mask * e.row(0).transpose();
  de.row(0) = value.col(0).transpose() * from_mask + mass.row(topics);
  for (Index t = 0; t < topics; ++t) {
    const Matrix<double>& part = from[static_cast<std::size_t>(t)];
    dvalue->middleCols(1 + t * v, v).noalias() = part * e.middleRows(1 + t * v, v).transpose();
    de.middleRows(1 + t * v, v).noalias() = value.middleCols(1 + t * v, v).transpose() * part;
    de.middleRows(1 + t * v, v).rowwise() += mass.row(t);
  }
  if (dlogits != nullptr) *dlogits = de.cwiseProduct(e);
  return loss;
}

AttentionByKind SubsetExpectation::attention(const Matrix<double>& logits) const {
  const Index v = law_.words;
  const double stray = law_.stray();
  const double rise = law_.frequency(true) - stray;
  const Matrix<double> e = exponentials(logits);
  const auto count = subsets_.size() / static_cast<std::size_t>(law_.active);
  AttentionByKind sum;
  double documents = 0;
  for (Index i = 1; i < law_.vocabulary(); ++i) {
    const Index own = law_.topic_of(i);
    Vector<double> mass(law_.topics);
    for (Index t = 0; t < law_.topics; ++t) mass[t] = e.col(i).segment(1 + t * v, v).sum();
    const double base = law_.mask() * e(0, i) + stray * mass.sum();
    for (std::size_t s = 0; s < count; ++s) {
      const auto topics = static_cast<std::size_t>(law_.topics);
      if (present_[s * topics + static_cast<std::size_t>(own)] == 0) continue;
      double z = base;
      double others = 0;  // attention on words of other topics, and their share of the document
      double share = 0;
      for (Index t = 0; t < law_.topics; ++t) {
        const bool in = present_[s * topics + static_cast<std::size_t>(t)] != 0;
        if (in) z += rise * mass[t];
        if (t == own) continue;
        others += (stray + (in ? rise : 0)) * mass[t];
        share += (stray + (in ? rise : 0)) * static_cast<double>(v);
      }
      sum.same_word += e(i, i) / z;
      if (v > 1) sum.same_topic += (mass[own] - e(i, i)) / z / static_cast<double>(v - 1);
      // No words of other topics where tau = 1 and p_r = 0.
      if (share > 0) sum.other_topic += others / z / share;
      documents += 1;
    }
  }
  return {sum.same_word / documents, sum.same_topic / documents, sum.other_topic / documents};
}

}  // namespace popgrad::topic
