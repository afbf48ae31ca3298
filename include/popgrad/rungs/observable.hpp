#pragma once
/// Observables of a rung: what each column holds.

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

}  // namespace popgrad
