#include "theorems/scan_snap/rungs/reduced_flow.hpp"

#include <cmath>

#include "popgrad/base/error.hpp"
#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/real.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"
#include "theorems/scan_snap/rungs/equal_classes.hpp"
#include "theorems/scan_snap/rungs/features.hpp"
#include "theorems/scan_snap/rungs/inverse.hpp"
#include "theorems/scan_snap/rungs/rung_parts.hpp"

namespace popgrad::scan_snap {

template <Transcendental T>
ReducedFlow<T>::ReducedFlow(TrainingInstance<T> instance)
    : ReducedFlow(instance, T(static_cast<int>(instance.classes.tokens))) {}

template <Transcendental T>
ReducedFlow<T>::ReducedFlow(TrainingInstance<T> instance, T vocabulary)
    : instance_(std::move(instance)),
      vocabulary_(std::move(vocabulary)),
      layout_(lay_out(instance_.classes, true)),
      observer_(instance_, layout_, start_logits(instance_, layout_)) {
  require_equal_classes(instance_.classes, "scan-snap reduced");
  if (instance_.start != Start::zero) {
    reject("scan-snap reduced", "--start", "uniform", "must be zero: h describes Y = 0 at t = 0");
  }
  if (instance_.decoder_start.size() > 0) {
    reject("scan-snap reduced", "Y", "given",
           "is described only by h, from Y = 0; give h as \"state\": {\"h\": ...}, or take the "
           "rung 'flow'");
  }
}

template <Transcendental T>
Index ReducedFlow<T>::dimension() const {
  return layout_.pairs() + 1 + (instance_.track_growth ? instance_.classes.classes() : 0);
}

template <Transcendental T>
Vector<T> ReducedFlow<T>::initial() const {
  Vector<T> x = Vector<T>::Constant(dimension(), T(0));
  x.head(layout_.pairs()) = start_logits(instance_, layout_);
  return x;
}

template <Transcendental T>
std::vector<ObservableInfo> ReducedFlow<T>::observables() {
  std::vector<ObservableInfo> all = Observer<T>::observables();
  const std::vector<ObservableInfo> own = decoder_observables();
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

template <Transcendental T>
std::vector<std::string> ReducedFlow<T>::columns() const {
  std::vector<std::string> names = observer_.columns();
  for (const ObservableInfo& own : decoder_observables()) names.push_back(own.name);
  return names;
}

template <Transcendental T>
std::vector<std::string> ReducedFlow<T>::state_names() const {
  std::vector<std::string> names;
  add_logit_names(layout_, names);
  names.emplace_back("h");
  if (instance_.track_growth) add_growth_names(instance_.classes.classes(), names);
  return names;
}

template <Transcendental T>
Vector<T> ReducedFlow<T>::features_at(const Vector<T>& x) const {
  Vector<T> f;
  features(instance_.classes, layout_, x.data(), f);
  return f;
}

template <Transcendental T>
T ReducedFlow<T>::gamma(const T& h) const {
  using std::exp;
  const T others = vocabulary_ - T(1);
  return others * others * h / (others + exp(T(vocabulary_ * h)));
}

template <Transcendental T>
void ReducedFlow<T>::evaluate(const Vector<T>& x) const {
  features(instance_.classes, layout_, x.data(), f_);
  take_gram(layout_, instance_.classes.classes(), f_, gram_);
  take_beta<T>(inverse_.of(gram_), vocabulary_, beta_);
  take_relative_xi(beta_, gram_, relative_xi_);
}

template <Transcendental T>
void ReducedFlow<T>::rhs(const Vector<T>& x, Vector<T>& dx, const T& /*t*/) const {
  using std::exp;
  const SequenceClasses<T>& classes = instance_.classes;
  evaluate(x);
  const T& h = x[layout_.pairs()];
  const T scale = instance_.attention_rate * gamma(h);
  for (Index p = 0; p < layout_.pairs(); ++p) dx[p] = T(0);
  for (std::size_t r = 0; r + 1 < layout_.row_first.size(); ++r) {
    for (Index i = layout_.row_first[r]; i < layout_.row_first[r + 1]; ++i) {
      const auto e = static_cast<std::size_t>(layout_.row_entry[static_cast<std::size_t>(i)]);
      const Index n = layout_.entry_class[e];
      T pull(0);  // of the other classes that have this token
      for (Index j = layout_.row_first[r]; j < layout_.row_first[r + 1]; ++j) {
        const Index other = layout_.row_entry[static_cast<std::size_t>(j)];
        if (j != i) {
          pull = pull + beta_(n, layout_.entry_class[static_cast<std::size_t>(other)]) * f_[other];
        }
      }
      const T& f = f_[static_cast<Index>(e)];
      T& rate = dx[layout_.entry_pair[e]];
      rate = rate + scale * attention_weight(instance_, n) * f * (f * relative_xi_[n] - pull);
    }
  }
  const T classes_count(static_cast<int>(classes.classes()));
  dx[layout_.pairs()] =
      instance_.decoder_rate / (classes_count * (vocabulary_ - T(1) + exp(T(vocabulary_ * h))));
  if (instance_.track_growth) {
    write_growth_rates(instance_, relative_xi_ * gamma(h), dx);
  }
}

template <Transcendental T>
void ReducedFlow<T>::observe(const Vector<T>& x, const T& /*t*/, std::span<T> row) const {
  using std::exp, std::log;
  const SequenceClasses<T>& classes = instance_.classes;
  evaluate(x);
  const T& h = x[layout_.pairs()];
  // alpha_n of the right token is exp(M h) / (M - 1 + exp(M h)) in every class.
  const T loss = log(T(T(1) + (vocabulary_ - T(1)) * exp(T(-vocabulary_ * h))));
  T accuracy = T(1) / vocabulary_;
  if constexpr (Ordered<T>) {
    if (h > T(0)) accuracy = T(1);
  }
  Vector<T> growth;
  if (instance_.track_growth) growth = x.tail(classes.classes());
  const std::size_t shared = observer_.columns().size();
  observer_.write(classes, layout_,
                  {f_, overlap_extremes<T>(gram_), logits_at(x), loss, accuracy,
                   relative_xi_ * gamma(h), growth},
                  row.first(shared));
  row[shared] = h;
  row[shared + 1] = gamma(h);
}

template class ReducedFlow<double>;
template class ReducedFlow<Real>;
template class ReducedFlow<Expression>;

}  // namespace popgrad::scan_snap
