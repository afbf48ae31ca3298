#pragma once
/// Observables of a rung: what each column holds, and where it is read from.
///
/// A rung computes what it shows at a state into a struct of numbers, its readings; a table says which column
/// each member is:
///
///   template <class T> struct Readings { using Scalar = T; T loss{}, size{}; };
///   const std::vector<Observable<Readings<T>>> table{{{"loss", "|x|^2/2", ">= 0"}, &Readings<T>::loss}, ...};

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace popgrad {

struct ObservableInfo {
  std::string name;     ///< of the column; N and L stand for indices, X for the name of another
  std::string formula;  ///< in the symbols of the model's notation
  std::string range;    ///< with its unit
  std::string meaning = {};
};

inline std::vector<std::string> names_of(const std::vector<ObservableInfo>& observables) {
  std::vector<std::string> names;
  names.reserve(observables.size());
  for (const ObservableInfo& observable : observables) names.push_back(observable.name);
  return names;
}

/// A column that a member of `Readings` is written to.
template <class Readings>
struct Observable {
  ObservableInfo info;
  typename Readings::Scalar Readings::*value;
};

template <class Readings>
std::vector<ObservableInfo> infos_of(const std::vector<Observable<Readings>>& table) {
  std::vector<ObservableInfo> infos;
  infos.reserve(table.size());
  for (const Observable<Readings>& observable : table) infos.push_back(observable.info);
  return infos;
}

/// The columns of `row`, which may be the first few of the table.
template <class Readings>
void write_row(const std::vector<Observable<Readings>>& table, const Readings& readings,
               std::span<typename Readings::Scalar> row) {
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = readings.*(table[i].value);
}

/// Columns that depend on the instance, such as one for every class: a name, and the function that reads it from
/// `Readings`. Names in the order in which they were added.
template <class Readings>
class IndexedColumns {
 public:
  using Scalar = typename Readings::Scalar;
  void add(std::string name, std::function<Scalar(const Readings&)> value) {
    names_.push_back(std::move(name));
    values_.push_back(std::move(value));
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  /// The first columns of `row`, which may have others after them.
  void write(const Readings& readings, std::span<Scalar> row) const {
    for (std::size_t i = 0; i < values_.size(); ++i) row[i] = values_[i](readings);
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::function<Scalar(const Readings&)>> values_;
};

}  // namespace popgrad
