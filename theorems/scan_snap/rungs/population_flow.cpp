#include "theorems/scan_snap/rungs/population_flow.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "fluctuations/known_draws.hpp"
#include "fluctuations/noisy_labels.hpp"
#include "popgrad/base/memory.hpp"
#include "popgrad/base/stoppable_step.hpp"
#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/real.hpp"
#include "theorems/scan_snap/rungs/backprop.hpp"
#include "theorems/scan_snap/rungs/features.hpp"
#include "theorems/scan_snap/rungs/inverse.hpp"
#include "theorems/scan_snap/rungs/kernels.hpp"
#include "theorems/scan_snap/rungs/response.hpp"
#include "theorems/scan_snap/rungs/rung_parts.hpp"

namespace popgrad::scan_snap {
namespace {

/// Is a pass of so many multiply-adds worth the start of a team of threads?
template <class T>
bool worth_threads(Index products) {
  constexpr Index threshold = 2'000'000;
  return std::is_same_v<T, double> && products > threshold && omp_in_parallel() == 0;
}

/// More counts than that are evaluated together, in wide vectors, and have a Jacobian.
constexpr double most_single_counts = 250;

/// Columns of a row-major table, one row behind the other.
template <class T>
struct Panel {
  const T* numbers;
  Index begin, width;
};

/// Columns a panel of a table, which are all of them where it stays in the cache. Entries ask for rows in no
/// order: those of a table beyond the cache come from memory each time, those of a panel once.
template <class T>
Index panel_width(Index rows, Index columns) {
  constexpr Index cached = 6'000'000;  // numbers
  constexpr Index in_panel = 1'000'000;
  constexpr Index narrowest = 64;
  if (!std::is_same_v<T, double> || rows * columns <= cached) return columns;
  return std::min(columns, std::max(narrowest, in_panel / rows / 8 * 8));
}

/// Calls use(panel) for each panel, with `scratch` for a copy of it where there are several; `together`: all
/// threads copy.
template <class T>
void for_each_panel(const T* table, Index rows, Index columns, Vector<T>& scratch, bool together,
                    const auto& use) {
  const Index width = panel_width<T>(rows, columns);
  if (width == columns) {
    use(Panel<T>{table, 0, columns});
    return;
  }
  scratch.resize(rows * width);
  for (Index begin = 0; begin < columns; begin += width) {
    const Index own = std::min(width, columns - begin);
#pragma omp parallel for if (together)
    for (Index r = 0; r < rows; ++r) {
      std::copy_n(table + r * columns + begin, own, scratch.data() + r * own);
    }
    use(Panel<T>{scratch.data(), begin, own});
  }
}

}  // namespace

template <Transcendental T>
PopulationFlow<T>::PopulationFlow(TrainingInstance<T> instance, DecoderRule rule)
    : instance_(std::move(instance)),
      rule_(rule),
      layout_(lay_out(instance_.classes, instance_.shares_column())),
      observer_(instance_, layout_, start_logits(instance_, layout_)),
      multiplicity_(multiplicities<T>(layout_)),
      logits_(instance_.classes.classes(), layout_.columns()),
      residual_(instance_.classes.classes(), layout_.columns()) {
  const SequenceClasses<T>& classes = instance_.classes;
  f_.resize(classes.entries());
  products_.resize(classes.entries());
  if constexpr (Ordered<T>) {
    noisy_ = instance_.label_noise > T(0);
    tempered_ = instance_.temperature != T(1);
  }
  if (noisy_) {
    label_share_ = Vector<T>::Constant(layout_.columns(), T(0));
    for (const Index column : layout_.class_column) {
      label_share_[column] += T(1) / T(static_cast<int>(classes.classes()));
    }
  }
  if constexpr (std::is_same_v<T, double>) {
    double sum = 0;
    for (Index n = 0; n < classes.classes(); ++n) {
      sum += classes.weight[n];
      cumulative_classes_.push_back(sum);
      const Index begin = classes.first[static_cast<std::size_t>(n)];
      const Index end = classes.first[static_cast<std::size_t>(n + 1)];
      token_laws_.emplace_back(
          std::span(classes.law.data() + begin, static_cast<std::size_t>(end - begin)));
      draws_.classes.push_back({classes.weight[n], classes.law.segment(begin, end - begin)});
    }
    draws_.length = instance_.length - 1;
    noise_ = instance_.label_noise;
    if (noisy_) draws_ = with_noisy_labels(draws_, noise_);
  }
}

template <Transcendental T>
Index PopulationFlow<T>::dimension() const {
  return layout_.rows() * layout_.columns() + layout_.pairs() +
         (instance_.track_growth ? instance_.classes.classes() : 0);
}

template <Transcendental T>
Vector<T> PopulationFlow<T>::initial() const {
  require_memory(4 * static_cast<double>(dimension()) * sizeof(T),
                 fmt::format("steps of a state of {} numbers", dimension()),
                 "lower --n_last, or give fewer classes or tokens");
  Vector<T> x = Vector<T>::Constant(dimension(), T(0));
  const Index table = layout_.rows() * layout_.columns();
  x.head(table) = start_decoder(instance_, layout_);
  x.segment(table, layout_.pairs()) = start_logits(instance_, layout_);
  return x;
}

template <Transcendental T>
std::vector<std::string> PopulationFlow<T>::state_names() const {
  std::vector<std::string> names;
  add_decoder_names(layout_, names);
  add_logit_names(layout_, names);
  if (instance_.track_growth) add_growth_names(instance_.classes.classes(), names);
  return names;
}

template <Transcendental T>
Vector<T> PopulationFlow<T>::rates() const {
  Vector<T> rates = Vector<T>::Constant(dimension(), instance_.attention_rate);
  rates.head(layout_.rows() * layout_.columns()).setConstant(instance_.decoder_rate);
  return rates;
}

template <Transcendental T>
Vector<T> PopulationFlow<T>::logits_at(const Vector<T>& x) const {
  return x.segment(layout_.rows() * layout_.columns(), layout_.pairs());
}

template <Transcendental T>
Vector<T> PopulationFlow<T>::features_at(const Vector<T>& x) const {
  Vector<T> f;
  features(instance_.classes, layout_, logits_at(x), f);
  return f;
}

template <Transcendental T>
const T* PopulationFlow<T>::tempered_logits(const Vector<T>& x) const {
  const Index table = layout_.rows() * layout_.columns();
  if (!tempered_) return static_cast<const T*>(x.data()) + table;
  tempered_z_ = x.segment(table, layout_.pairs()) / instance_.temperature;
  return tempered_z_.data();
}

// Leaves f, Y'f (K x C), e - alpha (K x C) and, entry by entry, f_nl (g_nl - f_nl f_n.g_n).
template <Transcendental T>
void PopulationFlow<T>::evaluate(const Vector<T>& x, Problem problem, bool together) const {
  const SequenceClasses<T>& classes = instance_.classes;
  const Index columns = layout_.columns();
  const T* const table = x.data();
  const bool noisy = noisy_ && problem == Problem::trained;
  const T* const z = problem == Problem::trained
                         ? tempered_logits(x)
                         : static_cast<const T*>(x.data()) + layout_.rows() * columns;
  features_fast(classes, layout_, z, f_);
  const auto entries_of = [&](Index n) {
    const Index begin = classes.first[static_cast<std::size_t>(n)];
    return std::pair{begin, classes.first[static_cast<std::size_t>(n + 1)] - begin};
  };
  const auto weigh = [&](Index n, const Panel<T>& panel) {
    const auto [begin, count] = entries_of(n);
    weighted_rows(layout_.entry_row.data() + begin, static_cast<const T*>(f_.data()) + begin, count,
                  panel.numbers, panel.width, logits_.row(n).data() + panel.begin);
  };
  const auto respond_to = [&](Index n) {
    const Index label = layout_.class_column[static_cast<std::size_t>(n)];
    respond_fast(static_cast<const T*>(logits_.row(n).data()), multiplicity_, label,
                 residual_.row(n).data());
    if (noisy) {
      residual_.row(n) += instance_.label_noise * label_share_.transpose();
      residual_(n, label) -= instance_.label_noise;
    }
    const auto [begin, count] = entries_of(n);
    products_.segment(begin, count).setConstant(T(0));
  };
  const auto multiply = [&](Index n, const Panel<T>& panel) {
    const auto [begin, count] = entries_of(n);
    // The shared column counts as often as it stands for a token.
    T& last = residual_(n, columns - 1);
    const T single = last;
    last = last * multiplicity_[columns - 1];
    add_row_products(layout_.entry_row.data() + begin, count, panel.numbers, panel.width,
                     static_cast<const T*>(residual_.row(n).data()) + panel.begin,
                     products_.data() + begin);
    last = single;
  };
  const auto normalise = [&](Index n) {
    const auto [begin, count] = entries_of(n);
    pull_back(static_cast<const T*>(f_.data()) + begin, count, products_.data() + begin);
  };
  // Every class writes to places of its own, so the result does not depend on the threads.
  const auto each_class = [&](const auto& one_class) {
    if (together) {
#pragma omp parallel for schedule(dynamic, 4)
      for (Index n = 0; n < classes.classes(); ++n) one_class(n);
    } else {
      for (Index n = 0; n < classes.classes(); ++n) one_class(n);
    }
  };
  if (panel_width<T>(layout_.rows(), columns) == columns) {
    const Panel<T> whole{table, 0, columns};
    each_class([&](Index n) {
      weigh(n, whole);
      respond_to(n);
      multiply(n, whole);
      normalise(n);
    });
    return;
  }
  const auto each_panel = [&](const auto& one_class) {
    for_each_panel(table, layout_.rows(), columns, panel_, together, [&](const Panel<T>& panel) {
      each_class([&](Index n) { one_class(n, panel); });
    });
  };
  each_panel(weigh);
  each_class(respond_to);
  each_panel(multiply);
  each_class(normalise);
}

template <Transcendental T>
bool PopulationFlow<T>::worth_a_team() const {
  return worth_threads<T>(instance_.classes.entries() * layout_.columns());
}

template <Transcendental T>
void PopulationFlow<T>::rhs(const Vector<T>& x, Vector<T>& dx, const T& /*t*/) const {
  if (worth_a_team()) {
    team_.run([&](bool together) { field(x, dx, together); });
  } else {
    field(x, dx, false);
  }
}

template <Transcendental T>
void PopulationFlow<T>::field(const Vector<T>& x, Vector<T>& dx, bool together) const {
  const SequenceClasses<T>& classes = instance_.classes;
  const Index columns = layout_.columns();
  evaluate(x, Problem::trained, together);
  // Row n of pull_ is what the features of class n write into Y.
  pull_ = residual_;
  for (Index n = 0; n < classes.classes(); ++n) {
    pull_.row(n) *= T(instance_.decoder_rate * classes.weight[n]);
  }
  if (rule_ == DecoderRule::fast) {
    take_gram(layout_, classes.classes(), f_, gram_);
    undone_.noalias() = inverse_.of(gram_) * pull_;
    pull_ = undone_;
  }
  const auto some_rows = [&](Index begin, Index end, const Panel<T>& panel) {
    scatter_rows(layout_, begin, end, static_cast<const T*>(f_.data()), panel.numbers, panel.width,
                 dx.data() + panel.begin, columns);
  };
  for_each_panel(static_cast<const T*>(pull_.data()), classes.classes(), columns, panel_, together,
                 [&](const Panel<T>& panel) {
                   if (!together) return some_rows(0, layout_.rows(), panel);
                   constexpr Index block = 16;
                   const Index blocks = (layout_.rows() + block - 1) / block;
#pragma omp parallel for schedule(dynamic, 1)
                   for (Index b = 0; b < blocks; ++b) {
                     some_rows(b * block, std::min(layout_.rows(), (b + 1) * block), panel);
                   }
                 });
  auto dz = dx.segment(layout_.rows() * columns, layout_.pairs());
  for (Index p = 0; p < dz.size(); ++p) dz[p] = T(0);
  for (Index n = 0; n < classes.classes(); ++n) {
    const T scale = instance_.attention_rate / instance_.temperature * classes.weight[n];
    for (Index e = classes.first[static_cast<std::size_t>(n)];
         e < classes.first[static_cast<std::size_t>(n + 1)]; ++e) {
      T& rate = dz[layout_.entry_pair[static_cast<std::size_t>(e)]];
      rate = rate + scale * products_[e];
    }
  }
  if (instance_.track_growth) {
    write_growth(dx);
  }
}

template <Transcendental T>
Vector<T> PopulationFlow<T>::xi_of_last(const Matrix<T>& overlap) const {
  if constexpr (Ordered<T>) {
    // f_j.g_n = (Y'f_j).(e_n - alpha_n), columns counted as often as they stand for a token.
    return fitted_xi_.of(overlap, logits_ * multiplicity_.asDiagonal(), residual_);
  } else {
    return Vector<T>::Constant(instance_.classes.classes(), T(0));
  }
}

template <Transcendental T>
void PopulationFlow<T>::write_growth(Vector<T>& dx) const {
  take_gram(layout_, instance_.classes.classes(), f_, gram_);
  if constexpr (Ordered<T>) {
    write_growth_rates(instance_,
                       fitted_xi_.of(gram_, logits_ * multiplicity_.asDiagonal(), residual_), dx);
  } else {
    write_growth_rates(instance_, xi_of_last(gram_), dx);
  }
}

template <Transcendental T>
double PopulationFlow<T>::respond_to_drawn(const Vector<T>& x, Index label) const {
  if constexpr (std::is_same_v<T, double>) {
    const Index columns = layout_.columns();
    const Index table = layout_.rows() * columns;
    const double* const z = x.data() + table;
    const double sharpness = 1 / instance_.temperature;
    double shift = -std::numeric_limits<double>::infinity();
    for (const Index pair : drawn_pair_) shift = std::max(shift, z[pair]);
    double square = 0;
    for (std::size_t i = 0; i < drawn_f_.size(); ++i) {
      drawn_f_[i] *= std::exp((z[drawn_pair_[i]] - shift) * sharpness);
      square += drawn_f_[i] * drawn_f_[i];
    }
    const double norm = std::sqrt(square);
    for (double& f : drawn_f_) f /= norm;
    const auto drawn = static_cast<Index>(drawn_f_.size());
    double* const logits = logits_.data();
    weighted_rows(drawn_row_.data(), drawn_f_.data(), drawn, x.data(), columns, logits);
    return respond_fast(static_cast<const double*>(logits), multiplicity_, label, residual_.data());
  } else {
    throw std::logic_error("scan-snap: draws are known in double only");
  }
}

template <Transcendental T>
void PopulationFlow<T>::add_drawn(const Vector<T>& x, Index label, double share,
                                  Vector<T>& dx) const {
  if constexpr (std::is_same_v<T, double>) {
    respond_to_drawn(x, label);
    const Index columns = layout_.columns();
    const Index table = layout_.rows() * columns;
    const double sharpness = 1 / instance_.temperature;
    const auto drawn = static_cast<Index>(drawn_f_.size());
    double* const residual = residual_.data();
    drawn_products_.resize(drawn_f_.size());
    for (std::size_t i = 0; i < drawn_f_.size(); ++i) {
      drawn_products_[i] = instance_.decoder_rate * share * drawn_f_[i];
    }
    add_to_rows(drawn_row_.data(), drawn_products_.data(), drawn, residual, columns, dx.data());
    residual[columns - 1] *= multiplicity_[columns - 1];
    std::fill(drawn_products_.begin(), drawn_products_.end(), 0.0);
    add_row_products(drawn_row_.data(), drawn, x.data(), columns, residual, drawn_products_.data());
    pull_back(static_cast<const double*>(drawn_f_.data()), drawn, drawn_products_.data());
    for (std::size_t i = 0; i < drawn_f_.size(); ++i) {
      dx[table + drawn_pair_[i]] +=
          instance_.attention_rate * sharpness * share * drawn_products_[i];
    }
  } else {
    throw std::logic_error("scan-snap: draws are known in double only");
  }
}

template <Transcendental T>
template <class Use>
void PopulationFlow<T>::for_each_drawn(Stream& stream, Index batch, const Use& use) const {
  if constexpr (std::is_same_v<T, double>) {
    const SequenceClasses<T>& classes = instance_.classes;
    NoisyLabels labels(stream, noise_, classes.classes());
    for (Index b = 0; b < batch; ++b) {
      throw_if_step_stopped(b);
      const auto n = static_cast<Index>(stream.category(cumulative_classes_));
      const auto at = static_cast<std::size_t>(n);
      const Index begin = classes.first[at];
      const Index count = classes.first[at + 1] - begin;
      counts_.assign(static_cast<std::size_t>(count), 0);
      stream.count(token_laws_[at], static_cast<std::size_t>(instance_.length - 1), counts_);
      drawn_row_.clear();
      drawn_pair_.clear();
      drawn_f_.clear();
      for (Index i = 0; i < count; ++i) {
        if (counts_[static_cast<std::size_t>(i)] == 0) continue;
        const auto e = static_cast<std::size_t>(begin + i);
        drawn_row_.push_back(layout_.entry_row[e]);
        drawn_pair_.push_back(layout_.entry_pair[e]);
        drawn_f_.push_back(static_cast<double>(counts_[static_cast<std::size_t>(i)]));
      }
      const auto label = static_cast<std::size_t>(noisy_ ? labels(n) : n);
      use(layout_.class_column[label]);
    }
  } else {
    throw std::logic_error("scan-snap: samples are drawn in double only");
  }
}

template <Transcendental T>
void PopulationFlow<T>::sample_rhs(const Vector<T>& x, Vector<T>& dx, Stream& stream,
                                   Index batch) const {
  dx.setZero();
  for_each_drawn(stream, batch,
                 [&](Index label) { add_drawn(x, label, 1.0 / static_cast<double>(batch), dx); });
  if (instance_.track_growth) {
    evaluate(x, Problem::clean, worth_a_team());
    write_growth(dx);
  }
}

template <Transcendental T>
double PopulationFlow<T>::batch_loss(const Vector<T>& x, Stream& stream, Index batch) const {
  double sum = 0;
  for_each_drawn(stream, batch, [&](Index label) { sum += respond_to_drawn(x, label); });
  return sum / static_cast<double>(batch);
}

template <Transcendental T>
double PopulationFlow<T>::batch_accuracy(const Vector<T>& x, Stream& stream, Index batch) const {
  double sum = 0;
  if constexpr (Ordered<T>) {
    for_each_drawn(stream, batch, [&](Index label) {
      respond_to_drawn(x, label);
      sum += hit_probability(static_cast<const T*>(logits_.data()), multiplicity_, label);
    });
  }
  return sum / static_cast<double>(batch);
}

template <>
DrawField PopulationFlow<double>::field_of_sample(const Vector<double>& x) const {
  return [this, &x](Index of_law, const Vector<double>& frequencies, Vector<double>& direction) {
    const Index classes = instance_.classes.classes();
    const Index n = noisy_ ? of_law / classes : of_law;
    const auto label = static_cast<std::size_t>(noisy_ ? of_law % classes : of_law);
    drawn_row_.clear();
    drawn_pair_.clear();
    drawn_f_.clear();
    const Index begin = instance_.classes.first[static_cast<std::size_t>(n)];
    for (Index i = 0; i < frequencies.size(); ++i) {
      if (frequencies[i] == 0) continue;
      const auto e = static_cast<std::size_t>(begin + i);
      drawn_row_.push_back(layout_.entry_row[e]);
      drawn_pair_.push_back(layout_.entry_pair[e]);
      drawn_f_.push_back(frequencies[i]);
    }
    direction.setZero();
    add_drawn(x, layout_.class_column[label], 1.0, direction);
  };
}

template <>
const SampledDraws& PopulationFlow<double>::sampled_draws() const {
  if (sampled_) return *sampled_;
  const SequenceClasses<double>& classes = instance_.classes;
  const Index labels = labels_of_a_class();
  std::vector<std::vector<Index>> moved;
  for (Index c = 0; c < std::ssize(draws_.classes); ++c) {
    const auto n = static_cast<std::size_t>(c / labels);
    std::vector<Index> rows;
    for (auto e = static_cast<std::size_t>(classes.first[n]);
         e < static_cast<std::size_t>(classes.first[n + 1]); ++e) {
      for (Index k = 0; k < layout_.columns(); ++k) {
        rows.push_back(layout_.entry_row[e] * layout_.columns() + k);
      }
    }
    for (auto e = static_cast<std::size_t>(classes.first[n]);
         e < static_cast<std::size_t>(classes.first[n + 1]); ++e) {
      rows.push_back(layout_.rows() * layout_.columns() + layout_.entry_pair[e]);
    }
    moved.push_back(std::move(rows));
  }
  sampled_ = std::make_shared<const SampledDraws>(draws_, dimension(), std::move(moved), labels,
                                                  number_of_counts(draws_, labels) <= most_counts
                                                      ? SampledDraws::Set::counts
                                                      : SampledDraws::Set::nodes);
  return *sampled_;
}

// add_drawn for all columns at once.
template <>
void PopulationFlow<double>::respond_to_columns(const Vector<double>& x, Index of_law,
                                                const Matrix<double>& frequencies) const {
  const Index labels = labels_of_a_class();
  const auto n = static_cast<std::size_t>(of_law / labels);
  const Index label = layout_.class_column[noisy_ ? static_cast<std::size_t>(of_law % labels) : n];
  const auto begin = static_cast<std::size_t>(instance_.classes.first[n]);
  const Index tokens = frequencies.rows();
  const Index columns = layout_.columns();
  const double* const z = x.data() + layout_.rows() * columns;
  const double sharpness = 1 / instance_.temperature;
  Vector<double> gain(tokens);
  columns_table_.resize(tokens, columns);
  for (Index i = 0; i < tokens; ++i) {
    const std::size_t e = begin + static_cast<std::size_t>(i);
    gain[i] = z[layout_.entry_pair[e]];
    for (Index c = 0; c < columns; ++c) {
      columns_table_(i, c) = x[layout_.entry_row[e] * columns + c];
    }
  }
  gain = ((gain.array() - gain.maxCoeff()) * sharpness).exp();
  columns_f_.noalias() = gain.asDiagonal() * frequencies;
  const Vector<double> norms = columns_f_.colwise().norm();
  columns_f_ = columns_f_ * norms.cwiseInverse().asDiagonal();
  columns_logits_.noalias() = columns_table_.transpose() * columns_f_;
  columns_residual_ = columns_logits_;
  columns_residual_.rowwise() -= columns_residual_.colwise().maxCoeff().eval();
  exponentials_fast(columns_residual_.data(), columns_residual_.size());
  const Vector<double> totals = columns_residual_.transpose() * multiplicity_;
  columns_residual_ = columns_residual_ * (-totals).cwiseInverse().asDiagonal();
  columns_residual_.row(label).array() += 1;
  // The shared column counts as often as it stands for a token.
  columns_residual_.row(columns - 1) *= multiplicity_[columns - 1];
  columns_pull_.noalias() = columns_table_ * columns_residual_;
  columns_residual_.row(columns - 1) /= multiplicity_[columns - 1];
  const Vector<double> along = columns_f_.cwiseProduct(columns_pull_).colwise().sum();
  columns_pull_ -= columns_f_ * along.asDiagonal();
  columns_pull_ = (instance_.attention_rate * sharpness) * columns_f_.cwiseProduct(columns_pull_);
}

// With f, r = e - alpha, a = Y'f of a sequence, m the multiplicities, b = m alpha and q = Y b,
//   p = Y (m r),  s = f.p,  h = a - a.b,  w = Y (b h)
//   d r_c/d Y_mk = -f_m alpha_c (delta_ck - b_k)
//   d f_l/d z_m  = (delta_lm f_l - f_l f_m^2)/T
// make the derivatives of eta_Y f r' and eta_Z/T f (p - f s) below, entry by entry.
template <>
void PopulationFlow<double>::mean_jacobian(const Vector<double>& x,
                                           Matrix<double>& jacobian) const {
  const auto of_set = [&](Index of_law, const Matrix<double>& frequencies,
                          const Vector<double>& weights, Matrix<double>& made) {
    respond_to_columns(x, of_law, frequencies);
    const Index labels = labels_of_a_class();
    const auto n = static_cast<std::size_t>(of_law / labels);
    const Index label =
        layout_.class_column[noisy_ ? static_cast<std::size_t>(of_law % labels) : n];
    const Matrix<double>& f = columns_f_;
    const Matrix<double>& r = columns_residual_;
    const Matrix<double>& y = columns_table_;
    const Index u = f.rows();
    const Index c_all = r.rows();
    const double sharpness = 1 / instance_.temperature;
    const double of_y = instance_.decoder_rate;
    const double of_z = instance_.attention_rate * sharpness;
    Matrix<double> alpha = -r;
    alpha.row(label).array() += 1;
    const Matrix<double> b = multiplicity_.asDiagonal() * alpha;
    const Matrix<double> mr = multiplicity_.asDiagonal() * r;
    const Vector<double> level = columns_logits_.cwiseProduct(b).colwise().sum();
    const Matrix<double> h = columns_logits_.rowwise() - level.transpose();
    const Matrix<double> f2 = f.cwiseProduct(f);
    const Matrix<double> fq = f.cwiseProduct(y * b);
    const Matrix<double> p = y * mr;
    const Matrix<double> fw = f.cwiseProduct(y * b.cwiseProduct(h));
    const Matrix<double> fp = f.cwiseProduct(p);
    const Vector<double> s = fp.colwise().sum();
    const Vector<double> w_along = fw.colwise().sum();
    Matrix<double> weighted(u, weights.size());
    // Sums over nodes of left_l f_m, each node with its weight and a coefficient: in row l + m u, a column for each row of
    // coefficients. A table of all products left_l f_m would take most of the time.
    const auto add_sums = [&](const Matrix<double>& left, const Matrix<double>& coefficients,
                              Matrix<double>& sums) {
      for (Index k = 0; k < coefficients.rows(); ++k) {
        weighted.noalias() =
            left * coefficients.row(k).transpose().cwiseProduct(weights).asDiagonal();
        sums.col(k).reshaped(u, u).noalias() += weighted * f.transpose();
      }
    };
    const auto sums_of = [&](const Matrix<double>& left, const Matrix<double>& coefficients) {
      Matrix<double> sums = Matrix<double>::Zero(u * u, coefficients.rows());
      add_sums(left, coefficients, sums);
      return sums;
    };
    // d r_c/d of the logit of k, in row c + k C.
    Matrix<double> slopes(c_all * c_all, weights.size());
    for (Index k = 0; k < c_all; ++k) {
      slopes.middleRows(k * c_all, c_all) = alpha * b.row(k).transpose().asDiagonal();
      slopes.row(k * c_all + k) -= alpha.row(k);
    }
    // A column for each k.
    const Matrix<double> of_slopes = sums_of(f, slopes);
    const Matrix<double> both = sums_of(f, b);
    const Matrix<double> ff_alpha = sums_of(f, alpha);
    Matrix<double> of_logits = sums_of(fq, b);
    add_sums(f2, b.cwiseProduct(h) - mr, of_logits);
    Matrix<double> of_table = sums_of(f2, alpha.cwiseProduct(h) - r);
    add_sums(fq, alpha, of_table);
    const Matrix<double> weighted_f = f * weights.asDiagonal();
    const Matrix<double> f_mr = weighted_f * mr.transpose();
    const Matrix<double> f_r = weighted_f * r.transpose();
    made.setZero(u * (c_all + 1), u * (c_all + 1));
    // Entry (l, c) of Y is l C + c, z_l is behind them.
    const auto logits = Eigen::seqN(u * c_all, u);
    const Matrix<double> across = (fw - fp) * weights.asDiagonal() * f2.transpose();
    Matrix<double> zz = across + across.transpose();
    zz += fq * weights.asDiagonal() * fq.transpose();
    zz += f2 * weights.cwiseProduct(3 * s - w_along).asDiagonal() * f2.transpose();
    zz.diagonal() += fp * weights - 2 * f2 * weights.cwiseProduct(s);
    for (Index k = 0; k < c_all; ++k) {
      for (Index m = 0; m < u; ++m) {
        for (Index l = 0; l < u; ++l) {
          const Index lm = l + m * u, ml = m + l * u;
          for (Index c = 0; c < c_all; ++c) {
            made(l * c_all + c, m * c_all + k) = of_y * of_slopes(lm, c + k * c_all);
          }
          zz(l, m) -= y(l, k) * both(lm, k) * y(m, k);
          const double zy = of_logits(lm, k) - y(l, k) * both(lm, k) + (l == m ? f_mr(l, k) : 0.0);
          made(u * c_all + l, m * c_all + k) = of_z * zy;
          const double yz =
              of_table(ml, k) - ff_alpha(lm, k) * y(m, k) + (l == m ? f_r(l, k) : 0.0);
          made(l * c_all + k, u * c_all + m) = of_y * sharpness * yz;
        }
      }
    }
    made(logits, logits) = of_z * sharpness * zz;
  };
  jacobian = sampled_draws().mean_matrix(of_set);
}

template <>
void PopulationFlow<double>::draw_mean(const Vector<double>& x, Vector<double>& dx) const {
  if (known_draws() == KnownDraws::from_nodes) {
    dx = sampled_draws().mean([&](Index of_law, const Matrix<double>& frequencies,
                                  const Vector<double>& weights, Vector<double>& sum) {
      respond_to_columns(x, of_law, frequencies);
      const Index table = columns_f_.rows() * columns_residual_.rows();
      sum.resize(table + columns_f_.rows());
      sum.head(table).reshaped(columns_residual_.rows(), columns_f_.rows()).noalias() =
          (instance_.decoder_rate * columns_residual_ * weights.asDiagonal()) *
          columns_f_.transpose();
      sum.tail(columns_f_.rows()).noalias() = columns_pull_ * weights;
    });
  } else {
    dx = popgrad::draw_mean(draws_, dimension(), field_of_sample(x));
  }
  if (instance_.track_growth) {
    evaluate(x, Problem::clean, worth_a_team());
    write_growth(dx);
  }
}

template <>
void PopulationFlow<double>::covariance_of_nodes(const Vector<double>& x,
                                                 const Matrix<double>& vectors, NodeSet nodes,
                                                 Matrix<double>& images) const {
  const auto directions = [&](Index of_law, const Matrix<double>& frequencies,
                              Matrix<double>& made) {
    respond_to_columns(x, of_law, frequencies);
    const Index columns = columns_residual_.rows();
    const Index tokens = columns_f_.rows();
    made.resize(tokens * (columns + 1), frequencies.cols());
    for (Index s = 0; s < made.cols(); ++s) {
      made.col(s).head(tokens * columns).reshaped(columns, tokens).noalias() =
          instance_.decoder_rate * columns_residual_.col(s) * columns_f_.col(s).transpose();
      made.col(s).tail(tokens) = columns_pull_.col(s);
    }
  };
  images = sampled_draws().covariance(directions, vectors, nodes);
}

template <>
void PopulationFlow<double>::draw_covariance(const Vector<double>& x, const Matrix<double>& vectors,
                                             Matrix<double>& images) const {
  if (known_draws() == KnownDraws::from_nodes) {
    covariance_of_nodes(x, vectors, NodeSet::both, images);
  } else {
    images = popgrad::draw_covariance(draws_, field_of_sample(x), vectors);
  }
}

template <Transcendental T>
KnownDraws PopulationFlow<T>::known_draws() const {
  if (sampled_) return KnownDraws::from_nodes;
  if (draws_.classes.empty()) return KnownDraws::not_at_all;
  const double counts = number_of_counts(draws_, labels_of_a_class());
  if (draws_.length > 0 && counts > most_single_counts && counts <= most_counts) {
    return KnownDraws::from_nodes;
  }
  if (draws_are_known(draws_)) return KnownDraws::directly;
  return SampledDraws::has(draws_) ? KnownDraws::from_nodes : KnownDraws::not_at_all;
}

template <Transcendental T>
void PopulationFlow<T>::observe(const Vector<T>& x, const T& /*t*/, std::span<T> row) const {
  const SequenceClasses<T>& classes = instance_.classes;
  evaluate(x, Problem::clean, worth_a_team());
  const Matrix<T> overlap = gram(layout_, classes.classes(), f_);
  const Response<T> answer = mean_response(classes, layout_, multiplicity_, logits_);
  OverlapExtremes<T> extremes{T(0), T(0)};
  Vector<T> xi;
  const Index k = classes.classes();
  if (worth_threads<T>(k * k * k)) {
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
      extremes = overlap_extremes<T>(overlap);
#pragma omp section
      xi = xi_of_last(overlap);
    }
  } else {
    extremes = overlap_extremes<T>(overlap);
    xi = xi_of_last(overlap);
  }
  Vector<T> growth;
  if (instance_.track_growth) growth = x.tail(k);
  observer_.write(classes, layout_,
                  {f_, extremes, logits_at(x), answer.loss, answer.accuracy, xi, growth}, row);
}

template <Transcendental T>
T PopulationFlow<T>::loss(const Vector<T>& x) const {
  evaluate(x, Problem::clean, worth_a_team());
  return mean_response(instance_.classes, layout_, multiplicity_, logits_).loss;
}

template class PopulationFlow<double>;
template class PopulationFlow<Real>;
template class PopulationFlow<Expression>;

}  // namespace popgrad::scan_snap
