#pragma once
/// What formulas in C++ need besides xtensor: its headers, and the functions that it has not.

#include <map>
#include <string>
#include <vector>
#include <xtensor-blas/xlinalg.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xindex_view.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xnorm.hpp>
#include <xtensor/xsort.hpp>
#include <xtensor/xview.hpp>

using Array = xt::xarray<double>;

inline Array relu(const Array& x) { return xt::maximum(x, 0.0); }
inline Array sigmoid(const Array& x) { return 1.0 / (1.0 + xt::exp(-x)); }
inline Array softplus(const Array& x) { return xt::log1p(xt::exp(x)); }
inline Array gelu(const Array& x) { return x * (1.0 + xt::erf(x / std::sqrt(2.0))) / 2.0; }
inline Array stop_gradient(const Array& x) { return x; }
inline Array logsumexp(const Array& x) { return xt::log(xt::sum(xt::exp(x))); }
inline Array logsumexp(const Array& x, std::ptrdiff_t axis) {
  return xt::log(xt::sum(xt::exp(x), {axis}));
}
inline Array log_softmax(const Array& x, std::ptrdiff_t axis = -1) {
  const Array total =
      xt::sum(Array(xt::exp(x)), {axis}, xt::keep_dims | xt::evaluation_strategy::immediate);
  return x - xt::log(total);
}
inline Array softmax(const Array& x, std::ptrdiff_t axis = -1) {
  return xt::exp(log_softmax(x, axis));
}
inline Array one_hot(const Array& indices, std::size_t places) {
  return xt::equal(xt::view(indices, xt::all(), xt::newaxis()),
                   xt::arange<double>(static_cast<double>(places)));
}

/// The sum of products over every index that is not to the right of ->.
template <class... Operands>
Array einsum(const std::string& labels, const Operands&... operands) {
  const std::vector<Array> arrays{Array(operands)...};
  const std::size_t arrow = labels.find("->");
  const std::string out = labels.substr(arrow + 2);
  std::vector<std::string> of(1);
  for (const char c : labels.substr(0, arrow)) {
    if (c == ',') {
      of.emplace_back();
    } else {
      of.back() += c;
    }
  }
  std::map<char, std::size_t> extents, index;
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    for (std::size_t i = 0; i < of[k].size(); ++i) extents[of[k][i]] = arrays[k].shape(i);
  }
  const auto place = [&](const std::string& letters) {
    std::vector<std::size_t> at;
    for (const char c : letters) at.push_back(index[c]);
    return at;
  };
  std::vector<std::size_t> shape;
  for (const char c : out) shape.push_back(extents[c]);
  Array result = xt::zeros<double>(shape);
  std::size_t count = 1;
  for (const auto& [label, extent] : extents) count *= extent;
  for (std::size_t n = 0; n < count; ++n) {
    std::size_t rest = n;
    for (const auto& [label, extent] : extents) {
      index[label] = rest % extent;
      rest /= extent;
    }
    double product = 1;
    for (std::size_t k = 0; k < arrays.size(); ++k) product *= arrays[k][place(of[k])];
    result[place(out)] += product;
  }
  return result;
}
