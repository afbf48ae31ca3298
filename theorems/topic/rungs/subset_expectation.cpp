#include "theorems/topic/rungs/subset_expectation.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <cmath>

#include "popgrad/base/error.hpp"

namespace popgrad::topic {
namespace {

constexpr double most_subsets = 200'000;

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

// What one query column adds, and its gradients with respect to the T + 1 vectors and weights that
// its outputs num/Z are made of:
//   num = b_0 + sum_{t in S} b_t
//   Z   = z_0 + sum_{t in S} z_t
double SubsetExpectation::squared(Column& column, bool gradient) const {
  const Index query = column.query;
  const Matrix<double>& vectors = column.vectors;
  const Vector<double>& weights = column.weights;
  Matrix<double>& dvectors = column.dvectors;
  Vector<double>& dweights = column.dweights;
  Matrix<double>& gram = column.gram;
  Matrix<double>& dgram = column.dgram;
  Matrix<double>& sums = column.sums;
  Matrix<double>& dsums = column.dsums;
  Vector<double>& totals = column.totals;
  Vector<double>& dtotals = column.dtotals;
  Vector<double>& down = column.down;
  const Index parts = law_.topics + 1;
  const auto share = 1 / static_cast<double>(law_.active * law_.words);
  const double probability = 1 / static_cast<double>(count());
  gram.noalias() = vectors.transpose() * vectors;
  sums.resize(law_.topics, parts);  // of a vector over the words of a topic
  for (Index t = 0; t < law_.topics; ++t) {
    sums.row(t) = vectors.middleRows(1 + t * law_.words, law_.words).colwise().sum();
  }
  totals = sums.colwise().sum();  // over all words
  dtotals.setZero(parts);
  dgram.setZero(parts, parts);
  dsums.setZero(law_.topics, parts);
  down.setZero(parts);
  dweights.setZero();
  double loss = 0;
  for (std::size_t s = 0; s < count(); ++s) {
    const Index* const in = subset(s);
    const bool own_in = own_topic_in(s, query);
    double size = gram(0, 0);
    double hit = 0;
    double own = own_in ? vectors(query, 0) : 0;
    double all = totals[0];
    double z = weights[0];
    for (Index i = 0; i < law_.active; ++i) {
      const Index t = in[i];
      const double* const gram_column = gram.col(t + 1).data();
      const double* const sums_column = sums.col(t + 1).data();
      size += 2 * gram_column[0];
      hit += sums(t, 0);
      for (Index j = 0; j < law_.active; ++j) {
        size += gram_column[in[j] + 1];
        hit += sums_column[in[j]];
      }
      if (own_in) own += vectors(query, t + 1);
      all += totals[t + 1];
      z += weights[t + 1];
    }
    const double keep = kept(own_in);
    const double mass = keep + drawn(query);
    const double on_target =
        own_labels() * (keep * own + drawn(query) * share * hit) + any_label() * mass * all;
    loss += probability * (mass * size / z - 2 * on_target) / z;
    if (!gradient) continue;
    const double a = 2 * probability * mass / (z * z);
    const double c_hit = -2 * probability * own_labels() * drawn(query) * share / z;
    const double c_own = -2 * probability * own_labels() * keep / z;
    const double c_all = -2 * probability * any_label() * mass / z;
    const double dz = 2 * probability * (on_target - mass * size / z) / (z * z);
    dgram(0, 0) += a;
    down[0] += c_own;
    dtotals[0] += c_all;
    dweights[0] += dz;
    for (Index i = 0; i < law_.active; ++i) {
      const Index t = in[i];
      double* const dgram_column = dgram.col(t + 1).data();
      double* const dsums_column = dsums.col(t + 1).data();
      dgram_column[0] += a;
      dsums(t, 0) += c_hit;
      down[t + 1] += c_own;
      dtotals[t + 1] += c_all;
      dweights[t + 1] += dz;
      for (Index j = 0; j < law_.active; ++j) {
        dgram_column[in[j] + 1] += a;
        dsums_column[in[j]] += c_hit;
      }
    }
  }
  if (!gradient) return loss;
  dsums.rowwise() += dtotals.transpose();
  dgram.col(0).tail(law_.topics) = dgram.row(0).tail(law_.topics);
  dvectors.noalias() = vectors * dgram;
  for (Index t = 0; t < law_.topics; ++t) {
    dvectors.middleRows(1 + t * law_.words, law_.words).rowwise() += dsums.row(t);
  }
  if (query > 0) dvectors.row(query) += down.transpose();
  return loss;
}

double SubsetExpectation::enumerated(Column& column, bool gradient) const {
  const Index query = column.query;
  const Matrix<double>& vectors = column.vectors;
  const Vector<double>& weights = column.weights;
  Matrix<double>& dvectors = column.dvectors;
  Vector<double>& dweights = column.dweights;
  Vector<double>& out = column.out;
  Vector<double>& target = column.target;
  Vector<double>& slope = column.slope;
  const auto share = 1 / static_cast<double>(law_.active * law_.words);
  const double probability = 1 / static_cast<double>(count());
  const Index size = law_.vocabulary();
  dvectors.setZero(size, law_.topics + 1);
  dweights.setZero();
  double loss = 0;
  target.resize(size);
  for (std::size_t s = 0; s < count(); ++s) {
    const Index* const in = subset(s);
    out = vectors.col(0);
    double z = weights[0];
    target.setZero();
    for (Index i = 0; i < law_.active; ++i) {
      out += vectors.col(in[i] + 1);
      z += weights[in[i] + 1];
      target.segment(1 + in[i] * law_.words, law_.words).setConstant(drawn(query) * share);
    }
    out /= z;
    const double keep = kept(own_topic_in(s, query));
    const double mass = keep + drawn(query);
    if (keep > 0) target[query] += keep;
    target *= own_labels();
    target.tail(size - 1).array() += any_label() * mass;
    if (loss_ == LossKind::squared) {
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
    for (Index i = 0; i < law_.active; ++i) {
      dvectors.col(in[i] + 1) += slope;
      dweights[in[i] + 1] += dz;
    }
  }
  return loss;
}

void SubsetExpectation::take_query(Index query, const Matrix<double>& value, bool gradient,
                                   Column& column) const {
  const Index topics = law_.topics;
  const double stray = law_.stray();
  const double rise = law_.frequency(true) - stray;
  const Matrix<double>& e = scratch_.exponentials;
  Matrix<double>& mass = scratch_.mass;
  column.query = query;
  column.vectors.resize(law_.vocabulary(), topics + 1);
  column.weights.resize(topics + 1);
  column.dweights.resize(topics + 1);
  column.vectors.col(0) = law_.mask() * e(0, query) * value.col(0);
  column.weights[0] = law_.mask() * mass(topics, query);
  for (Index t = 0; t < topics; ++t) {
    const auto part = scratch_.from[static_cast<std::size_t>(t)].col(query);
    column.vectors.col(0) += stray * part;
    column.vectors.col(t + 1) = rise * part;
    column.weights[0] += stray * mass(t, query);
    column.weights[t + 1] = rise * mass(t, query);
  }
  scratch_.losses[static_cast<std::size_t>(query)] = plain_ || loss_ != LossKind::squared
                                                         ? enumerated(column, gradient)
                                                         : squared(column, gradient);
  if (!gradient) return;
  scratch_.from_mask.col(query) = law_.mask() * column.dvectors.col(0);
  mass(topics, query) = law_.mask() * column.dweights[0];
  for (Index t = 0; t < topics; ++t) {
    scratch_.from[static_cast<std::size_t>(t)].col(query) =
        stray * column.dvectors.col(0) + rise * column.dvectors.col(t + 1);
    mass(t, query) = stray * column.dweights[0] + rise * column.dweights[t + 1];
  }
}

double SubsetExpectation::operator()(const Matrix<double>& value, const Matrix<double>& logits,
                                     Matrix<double>* dvalue, Matrix<double>* dlogits) const {
  const Index size = law_.vocabulary();
  const Index v = law_.words;
  const Index topics = law_.topics;
  const bool gradient = dvalue != nullptr;
  Matrix<double>& e = scratch_.exponentials;
  Eigen::RowVectorXd& row = scratch_.row;
  row = logits.colwise().maxCoeff();
  e = (logits.rowwise() - row).array().exp();
  // What each topic adds to the outputs of each query; later its gradient.
  std::vector<Matrix<double>>& from = scratch_.from;
  from.resize(static_cast<std::size_t>(topics));
  Matrix<double>& mass = scratch_.mass;  // of the keys of a topic; of [MASK] last
  mass.resize(topics + 1, size);
  Matrix<double>& from_mask = scratch_.from_mask;  // gradient of what [MASK] adds
  from_mask.resize(size, size);
  for (Index t = 0; t < topics; ++t) {
    from[static_cast<std::size_t>(t)].noalias() =
        value.middleCols(1 + t * v, v) * e.middleRows(1 + t * v, v);
    mass.row(t) = e.middleRows(1 + t * v, v).colwise().sum();
  }
  mass.row(topics) = e.row(0);
  scratch_.losses.resize(static_cast<std::size_t>(size));
  const bool together = omp_in_parallel() == 0 && size > 30;
  const auto threads = static_cast<std::size_t>(together ? omp_get_max_threads() : 1);
  if (scratch_.columns.size() < threads) scratch_.columns.resize(threads);
  if (together) {
#pragma omp parallel for schedule(static)
    for (Index i = 0; i < size; ++i) {
      take_query(i, value, gradient,
                 scratch_.columns[static_cast<std::size_t>(omp_get_thread_num())]);
    }
  } else {
    for (Index i = 0; i < size; ++i) take_query(i, value, gradient, scratch_.columns.front());
  }
  // In one order, for any number of threads.
  double loss = 0;
  for (const double part : scratch_.losses) loss += part;
  if (loss_ == LossKind::squared) loss += 1;
  if (!gradient) return loss;
  dvalue->resize(size, size);
  Matrix<double>& de = scratch_.gradient;
  de.resize(size, size);
  dvalue->col(0).noalias() = from_mask * e.row(0).transpose();
  row.noalias() = value.col(0).transpose() * from_mask;
  de.row(0) = row + mass.row(topics);
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
