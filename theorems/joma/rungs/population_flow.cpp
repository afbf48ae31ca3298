#include "theorems/joma/rungs/population_flow.hpp"

#include <fmt/format.h>

#include <type_traits>

#include "fluctuations/known_draws.hpp"
#include "fluctuations/noisy_labels.hpp"
#include "popgrad/base/memory.hpp"
#include "popgrad/base/stoppable_step.hpp"
#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/real.hpp"
#include "scalars/softmax.hpp"
#include "theorems/joma/rungs/invariant.hpp"
#include "theorems/joma/rungs/rung_parts.hpp"

namespace popgrad::joma {
namespace {

// Targets of samples: `add` puts e_y of a sample, or its mean over labels, on -softmax; `own` is the logit of
// y, or its mean.

/// Sample s is labelled s: the full batch.
struct OwnClass {
  template <class Column>
  void add(Index sample, Column&& error) const {
    error[sample] += 1;
  }
  template <class Column>
  auto own(Index sample, const Column& logits) const {
    return logits[sample];
  }
};

struct Labels {
  const std::vector<Index>& of;
  template <class Column>
  void add(Index sample, Column&& error) const {
    error[of[static_cast<std::size_t>(sample)]] += 1;
  }
  template <class Column>
  auto own(Index sample, const Column& logits) const {
    return logits[of[static_cast<std::size_t>(sample)]];
  }
};

/// A law of labels a sample (classes x samples).
template <class T>
struct LawsOfLabels {
  const Matrix<T>& laws;
  template <class Column>
  void add(Index sample, Column&& error) const {
    error += laws.col(sample);
  }
  template <class Column>
  T own(Index sample, const Column& logits) const {
    return laws.col(sample).dot(logits);
  }
};

std::vector<double> cumulative(const Vector<double>& law) {
  std::vector<double> sums(static_cast<std::size_t>(law.size()));
  double sum = 0;
  for (Index i = 0; i < law.size(); ++i) {
    sum += law[i];
    sums[static_cast<std::size_t>(i)] = sum;
  }
  return sums;
}

}  // namespace

template <Transcendental T>
PopulationFlow<T>::PopulationFlow(ClassInstance<T> instance) : instance_(std::move(instance)) {
  mean_law_ = instance_.token_law * instance_.class_law;
  const Vector<T> start = initial();
  invariant_at_start_ =
      invariant<T>(instance_.attention, weights(start).topRows(instance_.tokens()),
                   instance_.logits, instance_.temperature, mean_law_);
  const bool noisy = less(T(0), instance_.label_noise) != Truth::no;
  if (noisy) {
    const Index classes = instance_.classes();
    targets_ = Matrix<T>::Constant(classes, classes,
                                   T(instance_.label_noise / T(static_cast<int>(classes))));
    for (Index c = 0; c < classes; ++c) targets_(c, c) += T(1) - instance_.label_noise;
  }
  if constexpr (std::is_same_v<T, double>) {
    const FeatureMap<T>& features = instance_.features;
    if (!noisy && instance_.attention != Attention::linear && instance_.phi == Activation::linear &&
        instance_.decoder.size() == 0 && features.residual && !features.normalise &&
        features.gram.size() == 0 && instance_.units() == instance_.classes()) {
      kernel_.emplace(instance_.token_law, instance_.attention, instance_.temperature);
    }
    cumulative_classes_ = cumulative(instance_.class_law);
    draws_.length = instance_.length;
    for (Index c = 0; c < instance_.classes(); ++c) {
      cumulative_tokens_.push_back(cumulative(instance_.token_law.col(c)));
      draws_.classes.push_back({instance_.class_law[c], instance_.token_law.col(c)});
    }
    noise_ = instance_.label_noise;
    if (noisy) draws_ = with_noisy_labels(draws_, noise_);
  }
}

template <Transcendental T>
Index PopulationFlow<T>::dimension() const {
  return instance_.weights.size() + instance_.tokens();
}

template <Transcendental T>
Vector<T> PopulationFlow<T>::initial() const {
  Vector<T> x(dimension());
  x.head(instance_.weights.size()) = instance_.weights.reshaped();
  x.tail(instance_.tokens()) = instance_.logits;
  return x;
}

namespace {

template <class T>
const std::vector<Observable<Readings<T>>>& training_table() {
  static const std::vector<Observable<Readings<T>>> table = [] {
    auto all = invariant_table<T>();
    all.push_back(
        {{"loss", "`E[-ln softmax(logits)_c]` at `x = X e_c`, also when tokens are sampled",
          "`>= 0`, nats", "mean cross entropy"},
         &Readings<T>::loss});
    return all;
  }();
  return table;
}

}  // namespace

template <Transcendental T>
std::vector<ObservableInfo> PopulationFlow<T>::observables() {
  return infos_of(training_table<T>());
}

template <Transcendental T>
std::vector<std::string> PopulationFlow<T>::columns() const {
  return names_of(observables());
}

template <Transcendental T>
std::vector<std::string> PopulationFlow<T>::state_names() const {
  std::vector<std::string> names;
  add_weight_names(instance_.tokens(), instance_.units(), instance_.features.residual, names);
  add_logit_names(instance_.tokens(), names);
  return names;
}

template <Transcendental T>
typename PopulationFlow<T>::ConstBlock PopulationFlow<T>::weights(const Vector<T>& x) const {
  return {x.data(), instance_.weights.rows(), instance_.weights.cols()};
}

template <Transcendental T>
template <class Columns>
void PopulationFlow<T>::propagate(const Columns& columns, const Vector<T>& x) const {
  hidden_preactivations(instance_.attention, instance_.features, instance_.temperature, weights(x),
                        Vector<T>(logits(x)), columns, work_);
  const Activation phi = instance_.phi;
  if (phi == Activation::linear) {
    active_ = work_.hidden;
  } else {
    active_ = work_.hidden.unaryExpr([phi](const T& h) { return activate(phi, h); });
  }
  if (instance_.decoder.size() > 0) {
    logits_.noalias() = instance_.decoder * active_;
  } else {
    logits_ = active_;
  }
}

// Leaves g_k phi' of every sample in pulled_ (K x S) and the class logits in logits_ (C x S).
template <Transcendental T>
template <class Columns, class Targets>
void PopulationFlow<T>::back_propagate(const Columns& columns, const Targets& targets,
                                       const Vector<T>& x) const {
  using std::exp;
  propagate(columns, x);
  error_ = logits_;
  for (Index s = 0; s < columns.cols(); ++s) {
    if constexpr (Ordered<T>) {
      const T shift = error_.col(s).maxCoeff();
      error_.col(s).array() -= shift;
    }
    if constexpr (std::is_same_v<T, double>) {
      error_.col(s) = error_.col(s).array().exp();
    } else {
      for (Index c = 0; c < error_.rows(); ++c) error_(c, s) = exp(T(error_(c, s)));
    }
    const T total = error_.col(s).sum();
    error_.col(s) /= T(-total);
    targets.add(s, error_.col(s));
  }
  if (instance_.decoder.size() > 0) {
    pulled_.noalias() = instance_.decoder.transpose() * error_;
  } else {
    pulled_ = error_;
  }
  const Activation phi = instance_.phi;
  if (phi != Activation::linear) {
    for (Index s = 0; s < pulled_.cols(); ++s) {
      for (Index k = 0; k < pulled_.rows(); ++k) {
        pulled_(k, s) = pulled_(k, s) * activation_slope(phi, T(work_.hidden(k, s)));
      }
    }
  }
}

template <Transcendental T>
template <class Columns, class Targets>
void PopulationFlow<T>::field(const Columns& columns, const Targets& targets,
                              const Vector<T>& weight, const Vector<T>& x, Vector<T>& dx) const {
  back_propagate(columns, targets, x);
  Block dv(dx.data(), instance_.weights.rows(), instance_.weights.cols());
  auto dz = dx.tail(instance_.tokens());
  joint_direction(instance_.attention, instance_.features, instance_.temperature, weights(x),
                  columns, pulled_, weight, work_, dv, dz);
}

template <Transcendental T>
void PopulationFlow<T>::rhs(const Vector<T>& x, Vector<T>& dx, const T& /*t*/) const {
  field_of_laws(instance_.class_law, x, dx);
}

// The field of the token laws themselves, classes weighted by `weight`.
template <Transcendental T>
void PopulationFlow<T>::field_of_laws(const Vector<T>& weight, const Vector<T>& x,
                                      Vector<T>& dx) const {
  if constexpr (std::is_same_v<T, double>) {
    if (kernel_) {
      kernel_->rhs(x, weight, dx);
      return;
    }
  }
  if (targets_.size() > 0) {
    field(instance_.token_law, LawsOfLabels<T>{targets_}, weight, x, dx);
  } else {
    field(instance_.token_law, OwnClass{}, weight, x, dx);
  }
}

template <Transcendental T>
template <class Use>
void PopulationFlow<T>::with_batch(Stream& stream, Index batch, const Use& use) const {
  const T share = T(1) / T(static_cast<int>(batch));
  const Index classes = instance_.classes();
  if (instance_.length == 0) {
    // Equal samples are counted, not repeated: the cost does not depend on the batch.
    drawn_weight_.setConstant(classes, T(0));
    if (!(noise_ > 0)) {
      for (Index i = 0; i < batch; ++i) {
        throw_if_step_stopped(i);
        drawn_weight_[stream.category(cumulative_classes_)] += share;
      }
      use(instance_.token_law, OwnClass{}, drawn_weight_);
      return;
    }
    NoisyLabels labels(stream, noise_, classes);
    Matrix<T> laws = Matrix<T>::Constant(classes, classes, T(0));
    for (Index i = 0; i < batch; ++i) {
      throw_if_step_stopped(i);
      const std::uint32_t c = stream.category(cumulative_classes_);
      laws(labels(c), c) += T(1);
    }
    for (Index c = 0; c < classes; ++c) {
      const T times = laws.col(c).sum();
      drawn_weight_[c] = times * share;
      if (T(0) < times) laws.col(c) /= times;
    }
    use(instance_.token_law, LawsOfLabels<T>{laws}, drawn_weight_);
    return;
  }
  require_memory(static_cast<double>(instance_.tokens()) * static_cast<double>(batch) * sizeof(T),
                 fmt::format("the token frequencies of {} samples", batch), "lower --batch");
  Matrix<T> columns = Matrix<T>::Constant(instance_.tokens(), batch, T(0));
  std::vector<Index> label(static_cast<std::size_t>(batch));
  const T frequency = T(1) / T(static_cast<int>(instance_.length));
  NoisyLabels labels(stream, noise_, classes);
  for (Index i = 0; i < batch; ++i) {
    throw_if_step_stopped(i);
    const std::uint32_t c = stream.category(cumulative_classes_);
    label[static_cast<std::size_t>(i)] = noise_ > 0 ? labels(c) : c;
    for (Index token = 0; token < instance_.length; ++token) {
      columns(stream.category(cumulative_tokens_[c]), i) += frequency;
    }
  }
  use(columns, Labels{label}, Vector<T>(Vector<T>::Constant(batch, share)));
}

template <Transcendental T>
void PopulationFlow<T>::sample_rhs(const Vector<T>& x, Vector<T>& dx, Stream& stream,
                                   Index batch) const {
  with_batch(stream, batch, [&](const auto& columns, const auto& targets, const Vector<T>& weight) {
    if constexpr (std::is_same_v<decltype(targets), const OwnClass&>) {
      field_of_laws(weight, x, dx);
    } else {
      field(columns, targets, weight, x, dx);
    }
  });
}

template <Transcendental T>
T PopulationFlow<T>::batch_loss(const Vector<T>& x, Stream& stream, Index batch) const {
  T sum(0);
  with_batch(stream, batch, [&](const auto& columns, const auto& targets, const Vector<T>& weight) {
    sum = mean_loss(columns, targets, weight, x);
  });
  return sum;
}

template <>
DrawField PopulationFlow<double>::field_of_sample(const Vector<double>& x) const {
  return [this, &x](Index of_law, const Vector<double>& frequencies, Vector<double>& direction) {
    const std::vector<Index> label{noise_ > 0 ? of_law % instance_.classes() : of_law};
    field(Matrix<double>(frequencies), Labels{label}, Vector<double>(Vector<double>::Ones(1)), x,
          direction);
  };
}

template <>
void PopulationFlow<double>::draw_mean(const Vector<double>& x, Vector<double>& dx) const {
  if (instance_.length == 0) {
    rhs(x, dx, 0.0);
  } else {
    dx = popgrad::draw_mean(draws_, dimension(), field_of_sample(x));
  }
}

template <>
void PopulationFlow<double>::draw_covariance(const Vector<double>& x, const Matrix<double>& vectors,
                                             Matrix<double>& images) const {
  images = popgrad::draw_covariance(draws_, field_of_sample(x), vectors);
}

template <Transcendental T>
KnownDraws PopulationFlow<T>::known_draws() const {
  return !draws_.classes.empty() && draws_are_known(draws_) ? KnownDraws::directly
                                                            : KnownDraws::not_at_all;
}

template <Transcendental T>
template <class Columns, class Targets>
T PopulationFlow<T>::mean_loss(const Columns& columns, const Targets& targets,
                               const Vector<T>& weight, const Vector<T>& x) const {
  propagate(columns, x);
  T sum(0);
  for (Index s = 0; s < logits_.cols(); ++s) {
    sum = sum + weight[s] * (log_sum_exp(logits_.col(s)) - targets.own(s, logits_.col(s)));
  }
  return sum;
}

template <Transcendental T>
T PopulationFlow<T>::loss(const Vector<T>& x) const {
  return mean_loss(instance_.token_law, OwnClass{}, instance_.class_law, x);
}

template <Transcendental T>
Matrix<T> PopulationFlow<T>::mean_gradient(const Vector<T>& x) const {
  back_propagate(instance_.token_law, OwnClass{}, x);
  return instance_.token_law * instance_.class_law.asDiagonal() * pulled_.transpose();
}

template <Transcendental T>
Vector<T> PopulationFlow<T>::mean_attention(const Vector<T>& x) const {
  back_propagate(instance_.token_law, OwnClass{}, x);
  return work_.b * instance_.class_law;
}

template <Transcendental T>
T PopulationFlow<T>::factorisation_defect(const Vector<T>& x) const {
  back_propagate(instance_.token_law, OwnClass{}, x);
  // q_s = sum_k g_k phi' v_k'b of every sample.
  const Matrix<T> images = weights(x).topRows(instance_.tokens()).transpose() * work_.b;
  Vector<T> q(images.cols());
  for (Index s = 0; s < q.size(); ++s) {
    q[s] = instance_.class_law[s] * images.col(s).dot(pulled_.col(s));
  }
  const Vector<T> joint = work_.b * q;
  const Vector<T> separate = (work_.b * instance_.class_law) * q.sum();
  if constexpr (Ordered<T>) {
    return (joint - separate).norm() / joint.norm();
  } else {
    return (joint - separate).squaredNorm();
  }
}

template <Transcendental T>
Vector<T> PopulationFlow<T>::predicted(const Vector<T>& x) const {
  const Vector<T> residual =
      invariant<T>(instance_.attention, weights(x).topRows(instance_.tokens()),
                   Vector<T>(logits(x)), instance_.temperature, mean_law_) -
      invariant_at_start_;
  if (instance_.attention != Attention::linear) return logits(x) - residual;
  return logits(x).cwiseProduct(logits(x)) - residual;
}

template <Transcendental T>
void PopulationFlow<T>::observe(const Vector<T>& x, const T& t, std::span<T> row) const {
  observe_some(x, t, row, std::vector<bool>(row.size(), true));
}

template <Transcendental T>
void PopulationFlow<T>::observe_some(const Vector<T>& x, const T& /*t*/, std::span<T> row,
                                     const std::vector<bool>& wanted) const {
  using R = Readings<T>;
  const auto& table = training_table<T>();
  const auto is_wanted = [&](T R::*value) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (table[i].value == value) return static_cast<bool>(wanted[i]);
    }
    return false;
  };
  const auto v = weights(x).topRows(instance_.tokens());
  const Vector<T> z = logits(x);
  R read;
  read.attention_entropy = softmax_entropy(Vector<T>(z / instance_.temperature));
  if (is_wanted(&R::invariant_residual) || is_wanted(&R::invariant_residual_relative) ||
      is_wanted(&R::normalised_correlation)) {
    const InvariantReading<T> reading = read_invariant<T>(
        instance_.attention, v, z, instance_.temperature, mean_law_, invariant_at_start_);
    read.invariant_residual = reading.absolute;
    read.invariant_residual_relative = reading.relative;
    read.normalised_correlation = reading.correlation;
  }
  if (is_wanted(&R::stable_rank)) read.stable_rank = stable_rank_of<T>(v);
  if (is_wanted(&R::loss)) read.loss = loss(x);
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (wanted[i]) row[i] = read.*(table[i].value);
  }
}

template <Transcendental T>
std::vector<EventFinder<T>> PopulationFlow<T>::events() const {
  if constexpr (!is_solved<T>) {
    return {};
  } else {
    const auto rate = [flow = *this, slope = Vector<T>(dimension())](const Vector<T>& x,
                                                                     const T& t) mutable -> T {
      flow.rhs(x, slope, t);
      const Index d = flow.instance_.tokens();
      const T temperature = flow.instance_.temperature;
      return entropy_rate<T>(x.tail(d) / temperature, slope.tail(d) / temperature);
    };
    return entropy_events<T>(rate, [flow = *this](const Vector<T>& x, const T& /*t*/) -> T {
      return softmax_entropy(Vector<T>(flow.logits(x) / flow.instance_.temperature));
    });
  }
}

template <class T>
Matrix<T> initial_mean_gradient(const ClassInstance<T>& instance) {
  const PopulationFlow<T> flow(instance);
  return flow.mean_gradient(flow.initial());
}

template Matrix<double> initial_mean_gradient(const ClassInstance<double>&);
template Matrix<Real> initial_mean_gradient(const ClassInstance<Real>&);
template class PopulationFlow<double>;
template class PopulationFlow<Real>;
template class PopulationFlow<Expression>;
template class PopulationFlow<Dual<double>>;

}  // namespace popgrad::joma
