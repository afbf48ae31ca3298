#include "theorems/topic/rungs/block_flow.hpp"

#include <array>
#include <cmath>

#include "popgrad/scalars/dual.hpp"
#include "popgrad/scalars/real.hpp"
#include "theorems/topic/rungs/block_observables.hpp"

namespace popgrad::topic {

template <class T>
BlockFlow<T>::BlockFlow(TopicLaw<T> law, BlockValue<T> start, bool train_value,
                        bool train_attention)
    : law_(law), start_(start), train_value_(train_value), train_attention_(train_attention) {}

template <class T>
Vector<T> BlockFlow<T>::initial() const {
  Vector<T> x(6);
  x << start_.mask, start_.diagonal, start_.same, start_.other, T(0), T(0);
  return x;
}

template <class T>
std::vector<ObservableInfo> BlockFlow<T>::observables() {
  return infos_of(block_table<T>());
}

template <class T>
std::vector<std::string> BlockFlow<T>::columns() const {
  return names_of(observables());
}

template <class T>
std::vector<std::string> BlockFlow<T>::state_names() const {
  return {"w_0", "d", "s", "u", "ln_alpha", "ln_beta"};
}

template <class T>
void BlockFlow<T>::rhs(const Vector<T>& x, Vector<T>& dx, const T& /*t*/) const {
  using std::exp;
  const TopicLaw<Dual<T>> law = law_.template cast<Dual<T>>();
  const std::array<T, 4> of_value = entries_of_value(law_);
  // One logit a word, and one a pair of words of its topic.
  const std::array<T, 6> entries{of_value[0], of_value[1], of_value[2],
                                 of_value[3], of_value[1], of_value[2]};
  Eigen::Matrix<Dual<T>, 6, 1> point = x.template cast<Dual<T>>();
  for (Index i = 0; i < 6; ++i) {
    const T& count = entries[static_cast<std::size_t>(i)];
    const bool moves = i < 4 ? train_value_ : train_attention_;
    if (!moves || count == T(0)) {
      dx[i] = T(0);
      continue;
    }
    point[i].slope = T(1);
    const BlockValue<Dual<T>> value{point[0], point[1], point[2], point[3]};
    const Dual<T> loss = landscape(law, value)(exp(point[4]), exp(point[5]));
    point[i].slope = T(0);
    dx[i] = -loss.slope / count;
  }
}

template <class T>
void BlockFlow<T>::observe(const Vector<T>& x, const T& /*t*/, std::span<T> row) const {
  using std::exp;
  const T alpha = exp(x[4]);
  const T beta = exp(x[5]);
  const T loss = landscape(law_, BlockValue<T>{x[0], x[1], x[2], x[3]})(alpha, beta);
  write_row(block_table<T>(), read_blocks(law_, x, loss, {alpha, beta}), row);
}

template class BlockFlow<double>;
template class BlockFlow<Real>;

}  // namespace popgrad::topic
