#include "theorems/topic/rungs/symmetric_flow.hpp"

#include <array>
#include <cmath>

#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/real.hpp"
#include "theorems/topic/rungs/block_observables.hpp"

namespace popgrad::topic {
namespace {

template <class T>
T count(Index n) {
  return TopicLaw<T>::number(n);
}

template <class T>
SymmetricMatrix<T> matrix_at(const Vector<T>& x, Index begin) {
  return {x[begin], x[begin + 1], x[begin + 2], x[begin + 3], x[begin + 4], x[begin + 5]};
}

// dx = factor (a + b).
template <class T>
void write(const T& factor, const SymmetricMatrix<T>& a, const SymmetricMatrix<T>& b, Vector<T>& dx,
           Index begin) {
  dx[begin] = factor * (a.corner + b.corner);
  dx[begin + 1] = factor * (a.row + b.row);
  dx[begin + 2] = factor * (a.column + b.column);
  dx[begin + 3] = factor * (a.diagonal + b.diagonal);
  dx[begin + 4] = factor * (a.same + b.same);
  dx[begin + 5] = factor * (a.other + b.other);
}

constexpr Index keys = 4;
constexpr Index queries = 10;
constexpr Index logits = 16;

template <class T>
T loss_of(const TopicLaw<T>& law, const Eigen::Matrix<T, 4, 1>& x,
          const Eigen::Matrix<T, 4, 1>& logs) {
  using std::exp;
  return landscape(law, BlockValue<T>{x[0], x[1], x[2], x[3]},
                   MaskWeights<T>{exp(logs[2]), exp(logs[3])})(exp(logs[0]), exp(logs[1]));
}

}  // namespace

template <class T>
SymmetricMatrix<T> product(const SymmetricMatrix<T>& a, const SymmetricMatrix<T>& b, const T& v,
                           const T& n) {
  const auto sum = [&](const SymmetricMatrix<T>& m) {
    return T(m.diagonal + (v - T(1)) * m.same + (n - v) * m.other);
  };
  const T through_mask = a.column * b.row;
  SymmetricMatrix<T> c;
  c.corner = a.corner * b.corner + n * a.row * b.column;
  c.row = a.corner * b.row + a.row * sum(b);
  c.column = a.column * b.corner + sum(a) * b.column;
  c.diagonal = through_mask + a.diagonal * b.diagonal + (v - T(1)) * a.same * b.same +
               (n - v) * a.other * b.other;
  c.same = through_mask + a.diagonal * b.same + a.same * b.diagonal + (v - T(2)) * a.same * b.same +
           (n - v) * a.other * b.other;
  c.other = through_mask + a.diagonal * b.other + a.other * b.diagonal +
            (v - T(1)) * (a.same * b.other + a.other * b.same) + (n - T(2) * v) * a.other * b.other;
  return c;
}

template <class T>
SymmetricFlow<T>::SymmetricFlow(TopicLaw<T> law, BlockValue<T> start, Index key_width, T scale)
    : law_(law), start_(start), key_width_(count<T>(key_width)), scale_(scale) {
  using std::sqrt;
  root_ = sqrt(key_width_);
}

template <class T>
Vector<T> SymmetricFlow<T>::initial() const {
  Vector<T> x = Vector<T>::Constant(dimension(), T(0));
  x.head(4) << start_.mask, start_.diagonal, start_.same, start_.other;
  // K = Q = sigma^2 d_a I: its corner and diagonal.
  for (const Index begin : {keys, queries}) {
    x[begin] = x[begin + 3] = scale_ * scale_ * key_width_;
  }
  return x;
}

namespace {

template <class T>
const std::vector<Observable<BlockReadings<T>>>& symmetric_table() {
  using R = BlockReadings<T>;
  static const std::vector<Observable<R>> table = [] {
    std::vector<Observable<R>> all = block_table<T>();
    all.insert(all.begin() + 2,
               {{{"norm_W_K", "`sqrt(tr K)`", "`>= 0`", "moves in stage 2"}, &R::norm_W_K},
                {{"norm_W_Q", "`sqrt(tr Q)`", "`>= 0`", "moves in stage 2"}, &R::norm_W_Q}});
    for (Observable<R>& one : all) {
      if (one.info.name == "alpha") one.info.formula = "`exp((S_ii - S_other)/sqrt(d_a))`";
      if (one.info.name == "beta") one.info.formula = "`exp((S_same - S_other)/sqrt(d_a))`";
    }
    all.push_back({{"mask_weight", "`exp((S_0w - S_other)/sqrt(d_a))`", "`> 0`",
                    "weight of [MASK] as a key; `M` grows by (`mask_weight` - 1) `p0`"},
                   &R::mask_weight});
    return all;
  }();
  return table;
}

}  // namespace

template <class T>
std::vector<ObservableInfo> SymmetricFlow<T>::observables() {
  return infos_of(symmetric_table<T>());
}

template <class T>
std::vector<std::string> SymmetricFlow<T>::columns() const {
  return names_of(observables());
}

template <class T>
std::vector<std::string> SymmetricFlow<T>::state_names() const {
  std::vector<std::string> names{"w_0", "d", "s", "u"};
  for (const char* matrix : {"K", "Q", "S"}) {
    for (const char* part : {"00", "0w", "w0", "diagonal", "same", "other"}) {
      names.push_back(std::string(matrix) + "_" + part);
    }
  }
  return names;
}

template <class T>
Eigen::Matrix<T, 4, 1> SymmetricFlow<T>::log_weights(const Vector<T>& x) const {
  const SymmetricMatrix<T> s = matrix_at(x, logits);
  Eigen::Matrix<T, 4, 1> logs;
  logs << T((s.diagonal - s.other) / root_), T((s.same - s.other) / root_),
      T((s.row - s.other) / root_), T((s.corner - s.column) / root_);
  return logs;
}

template <class T>
void SymmetricFlow<T>::rhs(const Vector<T>& x, Vector<T>& dx, const T& /*t*/) const {
  const T v = count<T>(law_.words);
  const T n = count<T>(law_.topics * law_.words);
  const T others = v - T(1);
  const TopicLaw<Dual<T>> law = law_.template cast<Dual<T>>();
  Eigen::Matrix<Dual<T>, 4, 1> value = x.head(4).template cast<Dual<T>>();
  Eigen::Matrix<Dual<T>, 4, 1> logs = log_weights(x).template cast<Dual<T>>();
  const std::array<T, 4> entries = entries_of_value(law_);
  for (Index i = 0; i < 4; ++i) {
    const T& many = entries[static_cast<std::size_t>(i)];
    dx[i] = T(0);
    if (many == T(0)) continue;
    value[i].slope = T(1);
    dx[i] = -loss_of<Dual<T>>(law, value, logs).slope / many;
    value[i].slope = T(0);
  }
  std::array<T, 4> by_weight;
  for (Index i = 0; i < 4; ++i) {
    logs[i].slope = T(1);
    by_weight[static_cast<std::size_t>(i)] = loss_of<Dual<T>>(law, value, logs).slope;
    logs[i].slope = T(0);
  }
  // The loss depends on differences of the logits of a query, so its gradient sums to 0 there.
  SymmetricMatrix<T> g;
  g.diagonal = by_weight[0] / n;
  if (others > T(0)) g.same = by_weight[1] / (n * others);
  g.row = by_weight[2] / n;
  const T same_total = others > T(0) ? by_weight[1] : T(0);
  g.other = -(by_weight[0] + same_total + by_weight[2]) / (n * (n - v));
  g.corner = by_weight[3];
  g.column = -by_weight[3] / n;
  const SymmetricMatrix<T> k = matrix_at(x, keys);
  const SymmetricMatrix<T> q = matrix_at(x, queries);
  const SymmetricMatrix<T> s = matrix_at(x, logits);
  const T factor = T(-1) / root_;
  write(factor, product(g, s.transposed(), v, n), product(s, g.transposed(), v, n), dx, keys);
  write(factor, product(g.transposed(), s, v, n), product(s.transposed(), g, v, n), dx, queries);
  write(factor, product(g, q, v, n), product(k, g, v, n), dx, logits);
}

template <class T>
void SymmetricFlow<T>::observe(const Vector<T>& x, const T& /*t*/, std::span<T> row) const {
  using std::exp, std::sqrt;
  const Eigen::Matrix<T, 4, 1> logs = log_weights(x);
  const T alpha = exp(logs[0]);
  const T beta = exp(logs[1]);
  const T mask = exp(logs[2]);
  const T n = count<T>(law_.topics * law_.words);
  BlockReadings<T> read =
      read_blocks(law_, x, loss_of<T>(law_, x.head(4), logs), {alpha, beta, T(1), mask});
  // Traces; rounding can put a small one below 0.
  const auto root = [](const T& trace) { return trace > T(0) ? T(sqrt(trace)) : T(0); };
  read.norm_W_K = root(T(x[keys] + n * x[keys + 3]));
  read.norm_W_Q = root(T(x[queries] + n * x[queries + 3]));
  write_row(symmetric_table<T>(), read, row);
}

template SymmetricMatrix<double> product(const SymmetricMatrix<double>&,
                                         const SymmetricMatrix<double>&, const double&,
                                         const double&);
template class SymmetricFlow<double>;
template class SymmetricFlow<Real>;

}  // namespace popgrad::topic
