#include "popgrad/rungs/declared_parameter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"
#include "scalars/number_text.hpp"

namespace popgrad {
namespace {

std::vector<std::string> words(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> found;
  for (std::string word; in >> word;) found.push_back(word);
  return found;
}

template <class Declared>
std::string_view default_of(const Declared& parameter, std::string_view when,
                            std::string_view standard) {
  if (when.empty()) return standard;
  for (const SpecialDefault& one : parameter.special) {
    if (one.when == when) return one.value;
  }
  throw std::logic_error(fmt::format("parameter {} has no default '{}'", parameter.name, when));
}

// Reject a computed default that the declaration does not document.
template <class Declared>
void require_told(const Declared& parameter) {
  if (parameter.otherwise.empty()) {
    throw std::logic_error(
        fmt::format("parameter {} declares no computed default", parameter.name));
  }
}

template <class Declared>
std::string told(const Declared& parameter, std::string_view standard) {
  std::string text(standard);
  for (const SpecialDefault& one : parameter.special) {
    if (!one.when.empty()) text += fmt::format("; {} {}", one.value, one.when);
  }
  return text;
}

template <class T>
T checked(const Parameters& p, const NumberParameter& parameter, T value) {
  if (allows(parameter.range, value)) return value;
  const std::string text = p.text(parameter.name, to_text(value));
  reject(p.model(), "--" + std::string(parameter.name), text,
         refusal_of_number(text, parameter.range).value_or("must be " + rule_of(parameter.range)));
}

std::string first_or(const ChoiceParameter& parameter) {
  return parameter.standard.empty() ? words(parameter.choices).front()
                                    : std::string(parameter.standard);
}

}  // namespace

template <class T>
T read(const Parameters& p, const NumberParameter& parameter, std::string_view when) {
  return checked(p, parameter,
                 p.number<T>(parameter.name, default_of(parameter, when, parameter.standard)));
}

template <class T>
T read_or(const Parameters& p, const NumberParameter& parameter, const T& standard) {
  require_told(parameter);
  return given(p, parameter) ? checked(p, parameter, p.number<T>(parameter.name, "")) : standard;
}

long read(const Parameters& p, const CountParameter& parameter) {
  return p.count(parameter.name, parameter.standard, parameter.low, parameter.high);
}

long read_or(const Parameters& p, const CountParameter& parameter, long standard) {
  require_told(parameter);
  return p.count(parameter.name, standard, parameter.low, parameter.high);
}

bool read(const Parameters& p, const SwitchParameter& parameter) {
  return p.flag(parameter.name, parameter.standard);
}

bool read_or(const Parameters& p, const SwitchParameter& parameter, bool standard) {
  require_told(parameter);
  return p.flag(parameter.name, standard);
}

std::string read(const Parameters& p, const ChoiceParameter& parameter, std::string_view when) {
  const std::string standard = first_or(parameter);
  return p.choice(parameter.name, default_of(parameter, when, standard), words(parameter.choices));
}

std::string read_or(const Parameters& p, const TextParameter& parameter,
                    std::string_view standard) {
  if (!standard.empty()) require_told(parameter);
  return p.text(parameter.name, standard);
}

ParameterInfo info_of(const NumberParameter& parameter) {
  const std::string rule = rule_of(parameter.range);
  return {std::string(parameter.name),
          "number",
          parameter.otherwise.empty() ? told(parameter, parameter.standard)
                                      : std::string(parameter.otherwise),
          std::string(parameter.meaning) + (rule.empty() ? "" : ", " + rule),
          {},
          {},
          true,
          parameter.range,
          std::string(parameter.unit),
          parameter.usual_fault};
}

ParameterInfo info_of(const CountParameter& parameter) {
  std::string rule;
  if (parameter.low != 0) rule = fmt::format(", >= {}", parameter.low);
  ParameterInfo info{
      std::string(parameter.name),
      "count",
      parameter.otherwise.empty() ? std::to_string(parameter.standard)
                                  : std::string(parameter.otherwise),
      std::string(parameter.meaning) + rule,
      {},
      {},
      true,
      within(static_cast<double>(parameter.low), static_cast<double>(parameter.high)),
      std::string(parameter.unit)};
  info.limit = parameter.limit;
  return info;
}

ParameterInfo info_of(const SwitchParameter& parameter) {
  ParameterInfo info{std::string(parameter.name),
                     "switch",
                     parameter.otherwise.empty() ? (parameter.standard ? "true" : "false")
                                                 : std::string(parameter.otherwise),
                     std::string(parameter.meaning),
                     {},
                     {},
                     true};
  info.off_midway = words(parameter.off_midway);
  return info;
}

ParameterInfo info_of(const ChoiceParameter& parameter) {
  return {std::string(parameter.name),
          "choice",
          told(parameter, first_or(parameter)),
          std::string(parameter.meaning),
          words(parameter.choices),
          {},
          true,
          {},
          {},
          parameter.usual_fault};
}

ParameterInfo info_of(const TextParameter& parameter) {
  ParameterInfo info{std::string(parameter.name),
                     "text",
                     std::string(parameter.otherwise),
                     std::string(parameter.meaning),
                     {},
                     {},
                     true};
  info.flow_end = parameter.flow_end;
  info.flow_tolerance = parameter.flow_tolerance;
  return info;
}

ParameterInfo info_of(const ListParameter& parameter) {
  return {std::string(parameter.name),
          std::string(parameter.kind),
          std::string(parameter.otherwise),
          std::string(parameter.meaning),
          {},
          {},
          parameter.flag};
}

template double read(const Parameters&, const NumberParameter&, std::string_view);
template Real read(const Parameters&, const NumberParameter&, std::string_view);
template Rational read(const Parameters&, const NumberParameter&, std::string_view);
template double read_or(const Parameters&, const NumberParameter&, const double&);
template Real read_or(const Parameters&, const NumberParameter&, const Real&);

}  // namespace popgrad
