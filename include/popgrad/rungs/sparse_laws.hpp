#pragma once
/// Laws over many categories by support and weights, as instance files give them where the rows of a
/// matrix would be long:
///   "support": [[0, 4], [7]], "weights": [[0.25, 0.75], [1]]

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "popgrad/base/error.hpp"
#include "popgrad/rungs/declared_parameter.hpp"
#include "popgrad/rungs/parameters.hpp"
#include "popgrad/scalars/real.hpp"
#include "popgrad/scalars/scalar.hpp"
#include "popgrad/scalars/vector.hpp"

namespace popgrad {

/// Sums of probabilities may miss 1 by this much; they are then made exact.
inline constexpr double sum_tolerance = 1e-9;

/// Whether the sum of `count` doubles misses 1 by rounding only. Such a law is kept as it is, so that
/// one written with 17 digits is read back bit for bit.
template <class T>
bool is_rounded_one(const T& sum, Index count) {
  if constexpr (std::is_same_v<T, double>) {
    const double defect = sum - 1;
    const double rounding = static_cast<double>(count) * machine_epsilon<double>();
    return -rounding <= defect && defect <= rounding;
  } else {
    return false;
  }
}

/// Divides by the sum, which must be 1 to the tolerance. Throws InputError naming the parameter and
/// the place otherwise, and for a negative entry.
template <class T, class Part>
void make_sum_one(Part&& part, std::string_view where, std::string_view name,
                  const std::string& place) {
  T sum(0);
  for (Index i = 0; i < part.size(); ++i) {
    if (part[i] < T(0)) {
      reject(where, name, to_text(T(part[i])), place + " is negative; probabilities are >= 0");
    }
    sum = sum + part[i];
  }
  const double defect = to_double(sum) - 1.0;
  if (!(defect <= sum_tolerance && defect >= -sum_tolerance)) {
    reject(where, name, place, fmt::format("sums to {}; it must be 1 (to 1e-9)", to_double(sum)));
  }
  if (is_rounded_one(sum, part.size())) return;
  for (Index i = 0; i < part.size(); ++i) part[i] = part[i] / sum;
}

/// Law n has the entries first[n] .. first[n + 1] - 1, categories ascending.
template <class T>
struct SparseLaws {
  std::vector<Index> first{0};
  std::vector<Index> category;
  Vector<T> weight;

  [[nodiscard]] Index laws() const { return static_cast<Index>(first.size()) - 1; }
};

/// The rows of a matrix without their zeros.
template <class T>
SparseLaws<T> sparse_rows(const Matrix<T>& rows) {
  SparseLaws<T> laws;
  std::vector<T> kept;
  for (Index n = 0; n < rows.rows(); ++n) {
    for (Index i = 0; i < rows.cols(); ++i) {
      if (rows(n, i) == T(0)) continue;
      laws.category.push_back(i);
      kept.push_back(rows(n, i));
    }
    laws.first.push_back(static_cast<Index>(kept.size()));
  }
  laws.weight = Eigen::Map<const Vector<T>>(kept.data(), static_cast<Index>(kept.size()));
  return laws;
}

/// From a list of categories and a list of weights for each law; zero weights are left out. Throws
/// InputError for lists that do not fit, categories that do not ascend within 0 .. categories - 1,
/// and weights that are negative or do not sum to 1.
template <class T>
SparseLaws<T> sparse_laws(const Parameters& p, const ListParameter& support,
                          const ListParameter& weights, Index categories);

/// The same lists as values of an instance file.
Value support_lists(const std::vector<Index>& first, const std::vector<Index>& category);
Value weight_lists(const std::vector<Index>& first, const Vector<double>& weight);
/// Rows of a matrix, and a vector, as values of an instance file.
Value rows_of(const Matrix<double>& matrix);
Value list_of(const Vector<double>& vector);

}  // namespace popgrad
