#include "theorems/scan_snap/rungs/quasi_static_flow.hpp"

#include "popgrad/base/error.hpp"
#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/real.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"
#include "theorems/scan_snap/rungs/features.hpp"
#include "theorems/scan_snap/rungs/rung_parts.hpp"

namespace popgrad::scan_snap {

template <Transcendental T>
QuasiStaticFlow<T>::QuasiStaticFlow(TrainingInstance<T> instance)
    : instance_(std::move(instance)),
      layout_(lay_out(instance_.classes, instance_.shares_column())),
      observer_(instance_, layout_, start_logits(instance_, layout_)),
      multiplicity_(multiplicities<T>(layout_)),
      logits_(instance_.classes.classes(), layout_.columns()),
      residual_(instance_.classes.classes(), layout_.columns()) {
  if (instance_.start != Start::zero) {
    reject("scan-snap quasi-static", "--start", "uniform",
           "must be zero: Y = F S has no such start");
  }
  if (instance_.decoder_start.size() > 0) {
    reject("scan-snap quasi-static", "Y", "given",
           "need not be of the form F S that this rung has; give S as \"state\": {\"s\": [...]}, "
           "or take the rung 'flow'");
  }
}

template <Transcendental T>
Index QuasiStaticFlow<T>::dimension() const {
  const Index k = instance_.classes.classes();
  return k * layout_.columns() + layout_.pairs() + (instance_.track_growth ? k : 0);
}

template <Transcendental T>
Vector<T> QuasiStaticFlow<T>::initial() const {
  Vector<T> x = Vector<T>::Constant(dimension(), T(0));
  x.segment(instance_.classes.classes() * layout_.columns(), layout_.pairs()) =
      start_logits(instance_, layout_);
  return x;
}

template <Transcendental T>
std::vector<std::string> QuasiStaticFlow<T>::state_names() const {
  std::vector<std::string> names;
  for (Index n = 0; n < instance_.classes.classes(); ++n) {
    for (const Index column : layout_.column_token) {
      names.push_back(column < 0 ? fmt::format("s_{}_other", n)
                                 : fmt::format("s_{}_{}", n, column));
    }
  }
  add_logit_names(layout_, names);
  if (instance_.track_growth) add_growth_names(instance_.classes.classes(), names);
  return names;
}

template <Transcendental T>
Vector<T> QuasiStaticFlow<T>::logits_at(const Vector<T>& x) const {
  return x.segment(instance_.classes.classes() * layout_.columns(), layout_.pairs());
}

template <Transcendental T>
void QuasiStaticFlow<T>::evaluate(const Vector<T>& x) const {
  const SequenceClasses<T>& classes = instance_.classes;
  const Index k = classes.classes();
  const Index columns = layout_.columns();
  const Eigen::Map<const RowMatrix<T>> s(x.data(), k, columns);
  features(classes, layout_, x.data() + k * columns, f_);
  take_gram(layout_, k, f_, gram_);
  logits_.noalias() = gram_ * s;
  for (Index n = 0; n < k; ++n) {
    respond(static_cast<const T*>(logits_.row(n).data()), multiplicity_,
            layout_.class_column[static_cast<std::size_t>(n)], residual_.row(n).data());
  }
  weighted_.noalias() = multiplicity_.asDiagonal() * residual_.transpose();
  pulls_.noalias() = s * weighted_;
}

template <Transcendental T>
void QuasiStaticFlow<T>::rhs(const Vector<T>& x, Vector<T>& dx, const T& /*t*/) const {
  const SequenceClasses<T>& classes = instance_.classes;
  const Index k = classes.classes();
  const Index columns = layout_.columns();
  evaluate(x);
  Eigen::Map<RowMatrix<T>> ds(dx.data(), k, columns);
  for (Index n = 0; n < k; ++n) {
    ds.row(n) = residual_.row(n) * T(instance_.decoder_rate * classes.weight[n]);
  }
  products_.noalias() = gram_ * pulls_;
  auto dz = dx.segment(k * columns, layout_.pairs());
  for (Index p = 0; p < dz.size(); ++p) dz[p] = T(0);
  for (std::size_t r = 0; r + 1 < layout_.row_first.size(); ++r) {
    for (Index i = layout_.row_first[r]; i < layout_.row_first[r + 1]; ++i) {
      const auto e = static_cast<std::size_t>(layout_.row_entry[static_cast<std::size_t>(i)]);
      const Index n = layout_.entry_class[e];
      T g(0);  // g_nl = sum over the classes j that have l of f_jl S_j.(e_n - alpha_n)
      for (Index j = layout_.row_first[r]; j < layout_.row_first[r + 1]; ++j) {
        const auto other = static_cast<std::size_t>(layout_.row_entry[static_cast<std::size_t>(j)]);
        g = g + f_[static_cast<Index>(other)] * pulls_(layout_.entry_class[other], n);
      }
      const T& f = f_[static_cast<Index>(e)];
      T& rate = dz[layout_.entry_pair[e]];
      rate = rate + instance_.attention_rate * classes.weight[n] * f * (g - f * products_(n, n));
    }
  }
  if (instance_.track_growth) {
    if constexpr (Ordered<T>) {
      write_growth_rates(instance_, fitted_xi_.of(gram_, products_), dx);
    }
  }
}

template <Transcendental T>
void QuasiStaticFlow<T>::observe(const Vector<T>& x, const T& /*t*/, std::span<T> row) const {
  const SequenceClasses<T>& classes = instance_.classes;
  evaluate(x);
  const Response<T> answer = mean_response(classes, layout_, multiplicity_, logits_);
  Vector<T> growth;
  if (instance_.track_growth) growth = x.tail(classes.classes());
  Vector<T> xi = Vector<T>::Constant(classes.classes(), T(0));
  if constexpr (Ordered<T>) xi = fitted_xi<T>(gram_, gram_ * pulls_);
  observer_.write(
      classes, layout_,
      {f_, overlap_extremes<T>(gram_), logits_at(x), answer.loss, answer.accuracy, xi, growth},
      row);
}

template class QuasiStaticFlow<double>;
template class QuasiStaticFlow<Real>;
template class QuasiStaticFlow<Expression>;

}  // namespace popgrad::scan_snap
