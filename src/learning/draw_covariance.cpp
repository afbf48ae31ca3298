#include "learning/draw_covariance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "formulas/blocks.hpp"
#include "formulas/gradient.hpp"
#include "learning/each_sample.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/fluctuations/prediction.hpp"

namespace popgrad::learning {
namespace draw_covariance_cpp {
namespace {

/// Entries of the covariance times values of finite draws.
constexpr double most_entries_of_values = 2e7;

// Axes of a, then those of b.
Array outer(const Array& a, const Array& b) {
  std::string of_a, of_b;
  for (Index axis = 0; axis < a.rank(); ++axis) of_a += static_cast<char>('a' + axis);
  for (Index axis = 0; axis < b.rank(); ++axis) of_b += static_cast<char>('a' + a.rank() + axis);
  return formulas::einsum(of_a + "," + of_b + "->" + of_a + of_b, {a, b});
}

}  // namespace
}  // namespace draw_covariance_cpp

DrawCovariance::DrawCovariance(const SampleLoss& written, const Parameters& given,
                               std::uint64_t seed)
    : arrays_(written, given, {}, seed) {
  try {
    derive();
  } catch (const InputError& error) {  // of values beyond memory
    why_ = error.what();
  }
}

void DrawCovariance::derive() {
  using namespace draw_covariance_cpp;
  const std::vector<Array> states = arrays_.state_variables();
  const Index n = arrays_.dimension();
  if (n > largest_full_covariance) {
    why_ = fmt::format("the state has {} numbers, and its covariance is derived up to {}", n,
                       largest_full_covariance);
    return;
  }
  std::vector<Array> slopes = formulas::gradient(formulas::by_blocks(arrays_.loss), states);
  const std::vector<Draw> read = arrays_.draws_of(slopes);
  const auto [finite, values] = finite_draws(read);
  if (!finite.empty() && values * static_cast<double>(n * n) > most_entries_of_values) {
    why_ = fmt::format(
        "{:.4g} values of finite draws times {} entries of the covariance are more than {:g}",
        values, n * n, most_entries_of_values);
    return;
  }
  for (std::size_t k = 0; k < states.size(); ++k) {
    for (std::size_t l = 0; l <= k; ++l) {
      const OverNormals found = covariance_over_normals(slopes[k], slopes[l], read);
      if (!found.mean) {
        why_ = fmt::format("the covariance of the slopes of {} and {}: {}", states[k].node().text,
                           states[l].node().text, found.way);
        return;
      }
      way_ = found.way;
      blocks_.push_back({k, l, expected(*found.mean, finite)});
    }
  }
  if (finite.empty()) return;
  std::vector<Array> off;  // E(g | k) - E g
  for (const Array& slope : slopes) {
    const OverNormals mean = over_normals(slope, read);
    if (!mean.mean) {
      why_ = mean.way;
      return;
    }
    off.push_back(*mean.mean - expected(*mean.mean, finite));
  }
  for (Block& block : blocks_)
    block.covariance = block.covariance + expected(outer(off[block.k], off[block.l]), finite);
  way_ += fmt::format("{}summed over {:.4g} values", way_.empty() ? "" : ", ", values);
}

DrawCovariance::At::At(std::shared_ptr<const DrawCovariance> law)
    : law_(std::move(law)), evaluator_([&] {
        std::vector<Array> outputs;
        for (const Block& block : law_->blocks_) outputs.push_back(block.covariance);
        return prepared(outputs, law_->arrays_, parameter_values<double>(law_->arrays_));
      }()) {}

const Matrix<double>& DrawCovariance::At::operator()(const Vector<double>& x) {
  set_states(evaluator_, law_->arrays_, x);
  evaluator_.run();
  std::vector<Index> begins, counts;
  Index begin = 0;
  for (const StateArray& state : law_->arrays_.states) {
    begins.push_back(begin);
    counts.push_back(formulas::entries(state.variable.shape()));
    begin += counts.back();
  }
  covariance_.resize(begin, begin);
  for (std::size_t place = 0; place < law_->blocks_.size(); ++place) {
    const auto& [k, l, formula] = law_->blocks_[place];
    // Rows are those of state k.
    const Eigen::Map<const Matrix<double>> turned(evaluator_.output(place).data(), counts[l],
                                                  counts[k]);
    covariance_.block(begins[k], begins[l], counts[k], counts[l]) = turned.transpose();
    if (k != l) covariance_.block(begins[l], begins[k], counts[l], counts[k]) = turned;
  }
  return covariance_;
}

std::shared_ptr<const DrawCovariance> DerivedCovariance::of(const Parameters& given,
                                                            std::uint64_t seed) {
  std::string key = fmt::format("{} {}", json_text(given.values()), seed);
  const std::lock_guard lock(mutex_);
  if (key == key_) return last_;
  const LossArrays arrays(written_, given, {}, seed);
  last_ = finite_law_is_summed(read_draws(arrays.loss, arrays.draws))
              ? nullptr
              : std::make_shared<const DrawCovariance>(written_, given, seed);
  key_ = std::move(key);
  return last_;
}

}  // namespace popgrad::learning
