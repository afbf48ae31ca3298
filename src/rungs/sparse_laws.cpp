#include "popgrad/rungs/sparse_laws.hpp"

#include <fmt/format.h>

#include "popgrad/base/error.hpp"

namespace popgrad {
namespace {

const Value::List& lists_of(const Parameters& p, const ListParameter& parameter) {
  const Value* found = p.values().find(parameter.name);
  const auto* lists = found == nullptr ? nullptr : found->as<Value::List>();
  if (lists == nullptr || lists->empty()) {
    reject(p.model(), parameter.name, found == nullptr ? "" : "as given",
           "must be a list of lists, one for each law");
  }
  return *lists;
}

template <class T>
Vector<T> numbers_of(const Parameters& p, const ListParameter& parameter, const Value& list) {
  Parameters one(p.model());
  one.set(parameter.name, list);
  return one.vector<T>(parameter.name);
}

}  // namespace

template <class T>
SparseLaws<T> sparse_laws(const Parameters& p, const ListParameter& support,
                          const ListParameter& weights, Index categories) {
  const Value::List& supports = lists_of(p, support);
  const Value::List& all_weights = lists_of(p, weights);
  if (supports.size() != all_weights.size()) {
    reject(p.model(), weights.name, fmt::format("{} lists", all_weights.size()),
           fmt::format("must have as many as {}, {}", support.name, supports.size()));
  }
  SparseLaws<T> made;
  std::vector<T> kept;
  for (std::size_t n = 0; n < supports.size(); ++n) {
    const std::string place = fmt::format("list {}", n);
    const Vector<double> own = numbers_of<double>(p, support, supports[n]);
    Vector<T> weight = numbers_of<T>(p, weights, all_weights[n]);
    if (own.size() != weight.size()) {
      reject(p.model(), weights.name, place,
             fmt::format("has {} numbers; {} has {}", weight.size(), support.name, own.size()));
    }
    make_sum_one<T>(weight, p.model(), weights.name, place);
    Index last = -1;
    for (Index i = 0; i < own.size(); ++i) {
      const auto category = static_cast<Index>(own[i]);
      if (static_cast<double>(category) != own[i] || category <= last || category >= categories) {
        reject(p.model(), support.name, fmt::format("{}", own[i]),
               fmt::format("in {}: must be whole numbers from 0 to {}, ascending", place,
                           categories - 1));
      }
      last = category;
      if (weight[i] == T(0)) continue;
      made.category.push_back(category);
      kept.push_back(weight[i]);
    }
    made.first.push_back(static_cast<Index>(kept.size()));
  }
  made.weight = Eigen::Map<const Vector<T>>(kept.data(), static_cast<Index>(kept.size()));
  return made;
}

Value support_lists(const std::vector<Index>& first, const std::vector<Index>& category) {
  Value::List lists;
  for (std::size_t n = 0; n + 1 < first.size(); ++n) {
    lists.emplace_back(Value::List(category.begin() + first[n], category.begin() + first[n + 1]));
  }
  return lists;
}

Value weight_lists(const std::vector<Index>& first, const Vector<double>& weight) {
  Value::List lists;
  for (std::size_t n = 0; n + 1 < first.size(); ++n) {
    lists.push_back(list_of(weight.segment(first[n], first[n + 1] - first[n])));
  }
  return lists;
}

Value rows_of(const Matrix<double>& matrix) {
  Value::List rows;
  for (Index i = 0; i < matrix.rows(); ++i) rows.push_back(list_of(matrix.row(i).transpose()));
  return rows;
}

Value list_of(const Vector<double>& vector) {
  return std::vector<double>(vector.begin(), vector.end());
}

template SparseLaws<double> sparse_laws(const Parameters&, const ListParameter&,
                                        const ListParameter&, Index);
template SparseLaws<Real> sparse_laws(const Parameters&, const ListParameter&, const ListParameter&,
                                      Index);

}  // namespace popgrad
