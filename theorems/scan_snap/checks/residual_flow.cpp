#include "theorems/scan_snap/checks/residual_flow.hpp"

#include "popgrad/scalars/expression.hpp"
#include "scalars/linear_algebra.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/response.hpp"

namespace popgrad::scan_snap::checks {

template <Transcendental T>
ResidualFlow<T>::ResidualFlow(TrainingInstance<T> instance, DecoderRule rule, Backward backward)
    : instance_(std::move(instance)),
      rule_(rule),
      backward_(backward),
      layout_(lay_out(instance_.classes, instance_.shares_column())),
      row_token_(layout_.row_token),
      multiplicity_(layout_.columns()) {
  const SequenceClasses<T>& classes = instance_.classes;
  for (const Index query : classes.query) {
    auto at = std::find(row_token_.begin(), row_token_.end(), query);
    if (at == row_token_.end()) at = row_token_.insert(at, query);
    query_row_.push_back(at - row_token_.begin());
  }
  for (Index c = 0; c < layout_.columns(); ++c) {
    multiplicity_[c] = T(static_cast<int>(layout_.multiplicity[static_cast<std::size_t>(c)]));
  }
  norm_.resize(classes.classes());
  g_.resize(rows(), classes.classes());
  residual_.resize(classes.classes(), layout_.columns());
}

template <Transcendental T>
std::vector<std::string> ResidualFlow<T>::state_names() const {
  std::vector<std::string> names;
  Layout with_queries = layout_;
  with_queries.row_token = row_token_;
  add_decoder_names(with_queries, names);
  add_logit_names(layout_, names);
  return names;
}

template <Transcendental T>
Vector<T> ResidualFlow<T>::rates() const {
  Vector<T> rates = Vector<T>::Constant(dimension(), instance_.attention_rate);
  rates.head(table()).setConstant(instance_.decoder_rate);
  return rates;
}

template <Transcendental T>
Vector<T> ResidualFlow<T>::logits_at(const Vector<T>& x) const {
  return x.segment(table(), layout_.pairs());
}

template <Transcendental T>
T ResidualFlow<T>::evaluate(const Vector<T>& x) const {
  using std::sqrt;
  const SequenceClasses<T>& classes = instance_.classes;
  const Index columns = layout_.columns();
  const Eigen::Map<const RowMatrix<T>> y(x.data(), rows(), columns);
  features(classes, layout_, x.segment(table(), layout_.pairs()), f_);
  averages_ = Matrix<T>::Constant(rows(), classes.classes(), T(0));
  for (Index e = 0; e < f_.size(); ++e) {
    const auto at = static_cast<std::size_t>(e);
    averages_(layout_.entry_row[at], layout_.entry_class[at]) = f_[e];
  }
  phi_ = averages_;
  T loss(0);
  for (Index n = 0; n < classes.classes(); ++n) {
    const auto at = static_cast<std::size_t>(n);
    T& query = phi_(query_row_[at], n);
    query = query + T(1);
    T square(0);
    for (Index r = 0; r < rows(); ++r) square = square + phi_(r, n) * phi_(r, n);
    norm_[n] = sqrt(square);
    for (Index r = 0; r < rows(); ++r) phi_(r, n) = phi_(r, n) / norm_[n];
    residual_.row(n) = (y.transpose() * phi_.col(n)).transpose();
    T* const own = residual_.row(n).data();
    loss = loss + classes.weight[n] * respond(own, multiplicity_, layout_.class_column[at], own);
    g_.col(n) = y * residual_.row(n).transpose().cwiseProduct(multiplicity_);
  }
  return loss;
}

template <Transcendental T>
void ResidualFlow<T>::rhs(const Vector<T>& x, Vector<T>& dx, const T& /*t*/) const {
  const SequenceClasses<T>& classes = instance_.classes;
  evaluate(x);
  Matrix<T> drive = residual_;
  for (Index n = 0; n < classes.classes(); ++n) {
    for (Index c = 0; c < drive.cols(); ++c) {
      drive(n, c) = instance_.decoder_rate * classes.weight[n] * drive(n, c);
    }
  }
  if constexpr (Ordered<T>) {
    if (rule_ == DecoderRule::fast) {
      drive = solve_symmetric<T>(phi_.transpose() * phi_, drive);
    }
  }
  Eigen::Map<RowMatrix<T>>(dx.data(), rows(), layout_.columns()) = phi_ * drive;
  auto dz = dx.segment(table(), layout_.pairs());
  for (Index p = 0; p < dz.size(); ++p) dz[p] = T(0);
  for (Index n = 0; n < classes.classes(); ++n) {
    Vector<T> back = g_.col(n);
    if (backward_ != Backward::without_projection) {
      const T along = phi_.col(n).dot(g_.col(n));
      for (Index r = 0; r < rows(); ++r) back[r] = back[r] - along * phi_(r, n);
    }
    if (backward_ != Backward::without_norm) {
      for (Index r = 0; r < rows(); ++r) back[r] = back[r] / norm_[n];
    }
    const T along = averages_.col(n).dot(back);
    const T scale = instance_.attention_rate * classes.weight[n];
    for (Index e = classes.first[static_cast<std::size_t>(n)];
         e < classes.first[static_cast<std::size_t>(n + 1)]; ++e) {
      const auto at = static_cast<std::size_t>(e);
      T& rate = dz[layout_.entry_pair[at]];
      rate = rate + scale * f_[e] * (back[layout_.entry_row[at]] - f_[e] * along);
    }
  }
}

template <Transcendental T>
Vector<T> ResidualFlow<T>::field(const Vector<T>& x) const {
  Vector<T> rate(x.size());
  rhs(x, rate, T(0));
  return rate;
}

template <Transcendental T>
T ResidualFlow<T>::loss(const Vector<T>& x) const {
  return evaluate(x);
}

template <Transcendental T>
void ResidualFlow<T>::observe(const Vector<T>& x, const T& /*t*/, std::span<T> row) const {
  row[0] = evaluate(x);
}

template <Transcendental T>
Matrix<T> ResidualFlow<T>::averages_at(const Vector<T>& x) const {
  evaluate(x);
  return averages_;
}

template <Transcendental T>
Matrix<T> ResidualFlow<T>::inputs_at(const Vector<T>& x) const {
  evaluate(x);
  return phi_;
}

template <Transcendental T>
Matrix<T> ResidualFlow<T>::pulls_at(const Vector<T>& x) const {
  evaluate(x);
  return g_;
}

template class ResidualFlow<double>;
template class ResidualFlow<Expression>;

}  // namespace popgrad::scan_snap::checks
