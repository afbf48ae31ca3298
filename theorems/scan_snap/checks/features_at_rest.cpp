#include "theorems/scan_snap/checks/features_at_rest.hpp"

#include <Eigen/LU>
#include <set>

#include "scalars/linear_algebra.hpp"
#include "theorems/scan_snap/checks/decoder_knobs.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"
#include "theorems/scan_snap/rungs/instance_record.hpp"
#include "theorems/scan_snap/rungs/response.hpp"

namespace popgrad::scan_snap::checks {

TrainingInstance<double> chosen_training(const Setting& setting,
                                         const std::function<SequenceClasses<double>()>& drawn) {
  TrainingInstance<double> training = examined(setting, training_instance<double>, [&] {
    return TrainingInstance<double>{.classes = drawn()};
  });
  training.track_growth = false;
  training.attention_rate = setting.value(attention_rate_knob);
  return training;
}

Features::Features(const SequenceClasses<double>& of) : layout(lay_out(of, true)) {
  Vector<double> f;
  features(of, layout, Vector<double>(Vector<double>::Zero(layout.pairs())), f);
  dense = Matrix<double>::Zero(layout.rows(), of.classes());
  for (Index e = 0; e < f.size(); ++e) {
    const auto at = static_cast<std::size_t>(e);
    dense(layout.entry_row[at], layout.entry_class[at]) = f[e];
  }
  gram = scan_snap::gram(layout, of.classes(), f);
  inverse = gram.inverse();
  spectrum = symmetric_eigenvalues<double>(gram);
}

double Features::operations() const {
  const auto products = static_cast<double>(dense.size() * layout.columns());
  return products * spectrum[classes() - 1] / spectrum[0];
}

Matrix<double> Features::coefficients(const Vector<double>& x) const {
  const Index columns = layout.columns();
  const Eigen::Map<const RowMatrix<double>> y(x.data(), layout.rows(), columns);
  Vector<double> multiplicity(columns);
  for (Index c = 0; c < columns; ++c) {
    multiplicity[c] = static_cast<double>(layout.multiplicity[static_cast<std::size_t>(c)]);
  }
  Matrix<double> products(classes(), classes());
  Vector<double> residual(columns);
  for (Index n = 0; n < classes(); ++n) {
    const Vector<double> logits = y.transpose() * dense.col(n);
    respond(logits.data(), multiplicity, layout.class_column[static_cast<std::size_t>(n)],
            residual.data());
    products.col(n) = dense.transpose() * (y * residual.cwiseProduct(multiplicity));
  }
  return inverse * products;
}

std::vector<Index> Features::overlapping() const {
  std::vector<Index> found;
  for (Index n = 0; n < classes(); ++n) {
    if (gram.row(n).sum() > gram(n, n)) found.push_back(n);
  }
  return found;
}

std::vector<Quantity> Features::table(const Matrix<double>& x) const {
  const RowMatrix<double> y = dense * x;
  const double largest = y.cwiseAbs().maxCoeff();
  std::vector<Quantity> entries;
  for (const double entry : y.reshaped<Eigen::RowMajor>()) {
    entries.push_back({entry, {ErrorPart::rounding(operations(), largest)}});
  }
  return entries;
}

std::vector<Quantity> read_off(
    const Solved& run, std::size_t save,
    const std::function<Vector<double>(const Vector<double>&)>& reading) {
  return run.all_at(save, reading);
}

void require_rest(const TrainingInstance<double>& training, const Features& at, double moved,
                  Examination& it) {
  it.require(features_rest, -moved, fmt::format("`|z|` up to {:.3g}", moved));
  Quantity smallest(at.spectrum[0]);
  smallest.add(
      ErrorPart::rounding(static_cast<double>(at.classes()), at.spectrum[at.classes() - 1]));
  it.require(full_rank, smallest,
             fmt::format("smallest eigenvalue of `F'F` {:.3g}", at.spectrum[0]));
  it.require(zero_start, training.shares_column());
}

void require_uniform(const SequenceClasses<double>& classes, Examination& it) {
  const auto k = static_cast<double>(classes.classes());
  const double uneven = (classes.weight.array() * k - 1).abs().maxCoeff();
  const std::set<Index> next(classes.next.begin(), classes.next.end());
  const bool own = std::ssize(next) == classes.classes();
  const bool even = uneven <= k * machine_epsilon<double>();
  it.require(equal_classes, own && even,
             fmt::format("`K P(n) - 1` up to {:.2g}, {} next tokens", uneven, next.size()));
}

}  // namespace popgrad::scan_snap::checks
