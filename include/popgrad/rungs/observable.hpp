#pragma once
/// Observables of a rung: what each column holds, and where it is read from.
///
/// A rung computes what it shows at a state into a struct of numbers, its readings; a table says which column
/// each member is:
///
///   template <class T> struct Readings { using Scalar = T; T loss{}, size{}; };
///   const std::vector<Observable<Readings<T>>> table{{{"loss", "|x|^2/2", ">= 0"}, &Readings<T>::loss}, ...};

#include <cstddef>
#include <span>
#include <string>
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

}  // namespace popgrad
