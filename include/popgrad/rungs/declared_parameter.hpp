#pragma once
/// Parameters of a model, declared once: what reads one takes its declaration, and the table of the
/// help and of the check of names is made from the same objects.
///
///   constexpr NumberParameter rate{.name = "rate",
///                                  .meaning = "learning rate of the second layer over the first",
///                                  .standard = "1",
///                                  .range = above(0)};
///   const T ratio = read<T>(p, rate);
///   rung.reads = parameter_table(rate, ...);

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/base/error.hpp"
#include "popgrad/base/range.hpp"
#include "popgrad/rungs/parameters.hpp"

namespace popgrad {

/// A default that holds in one case only, told as `value` `when`.
struct SpecialDefault {
  std::string_view when, value;
};

// Of every kind: `meaning` is a phrase; `otherwise` describes in words a default that is computed, which
// is then given to `read_or`. Which rungs read it is in their rows (popgrad/rungs/model.hpp).

struct NumberParameter {
  std::string_view name, meaning;
  std::string_view standard = {};  ///< default, as text: exact for every scalar
  std::array<SpecialDefault, 2> special{};
  std::string_view otherwise = {};
  Range range{};
  std::string_view unit = {};  ///< empty: a pure number
  bool usual_fault = false;    ///< what a training script often has other than it says
};

struct CountParameter {
  std::string_view name, meaning;
  long standard = 0;
  std::string_view otherwise = {};
  long low = 0, high = 1'000'000'000;
  std::string_view unit = {};
  std::string_view limit = {};  ///< as in ParameterInfo
};

struct SwitchParameter {
  std::string_view name, meaning;
  bool standard = false;
  std::string_view otherwise = {};
  std::string_view off_midway = {};  ///< as in ParameterInfo, parted by spaces
};

struct ChoiceParameter {
  std::string_view name, meaning;
  std::string_view choices;        ///< parted by spaces
  std::string_view standard = {};  ///< default; empty: the first choice
  std::array<SpecialDefault, 2> special{};
  bool usual_fault = false;
};

struct TextParameter {
  std::string_view name, meaning;
  std::string_view otherwise = {};
  std::string_view flow_end = {}, flow_tolerance = {};  ///< as in ParameterInfo
};

/// Read with Parameters::vector, Parameters::matrix, given_block or set_state, which tell shapes.
struct ListParameter {
  std::string_view name, meaning;
  std::string_view kind = "matrix";  ///< matrix | vector | components
  std::string_view otherwise = {};
  bool flag = false;  ///< can be given on the command line too, as 1,2;3,4
};

/// The value given, or the default: that of the case `when` if it is named. Throws InputError
/// naming the value and the rule, and std::logic_error for a case that the declaration has not.
template <class T>
T read(const Parameters& p, const NumberParameter& parameter, std::string_view when = {});
long read(const Parameters& p, const CountParameter& parameter);
bool read(const Parameters& p, const SwitchParameter& parameter);
std::string read(const Parameters& p, const ChoiceParameter& parameter, std::string_view when = {});

/// The same with a computed default, which the declaration tells in `otherwise`.
template <class T>
T read_or(const Parameters& p, const NumberParameter& parameter, const T& standard);
long read_or(const Parameters& p, const CountParameter& parameter, long standard);
bool read_or(const Parameters& p, const SwitchParameter& parameter, bool standard);
std::string read_or(const Parameters& p, const TextParameter& parameter, std::string_view standard);

ParameterInfo info_of(const NumberParameter& parameter);
ParameterInfo info_of(const CountParameter& parameter);
ParameterInfo info_of(const SwitchParameter& parameter);
ParameterInfo info_of(const ChoiceParameter& parameter);
ParameterInfo info_of(const TextParameter& parameter);
ParameterInfo info_of(const ListParameter& parameter);

template <class Parameter>
bool given(const Parameters& p, const Parameter& parameter) {
  return p.has(parameter.name);
}

/// Throws InputError saying `rule` of the value, if the parameter is given.
template <class Parameter>
void refuse_given(const Parameters& p, std::string_view where, const Parameter& parameter,
                  std::string_view rule) {
  if (given(p, parameter)) {
    reject(where, "--" + std::string(parameter.name), p.text(parameter.name, ""), rule);
  }
}

template <class... Parameter>
std::vector<ParameterInfo> parameter_table(const Parameter&... parameter) {
  return {info_of(parameter)...};
}

/// All of both.
inline std::vector<ParameterInfo> operator+(std::vector<ParameterInfo> first,
                                            const std::vector<ParameterInfo>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace popgrad
