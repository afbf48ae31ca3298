#include "popgrad/rungs/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/scalars/expression.hpp"
#include "popgrad/scalars/rational.hpp"
#include "popgrad/scalars/real.hpp"
#include "scalars/number_text.hpp"

namespace popgrad {
namespace {

std::string text_of(const Value& value) {
  const auto* text = value.as<std::string>();
  return text == nullptr ? json_text(value) : *text;
}

}  // namespace

Parameters::Parameters(std::string model, Record values)
    : model_(std::move(model)), values_(std::move(values)) {}

Parameters Parameters::parse(std::string model, std::string_view text, std::string_view file_name) {
  LinesOfKeys lines;
  Value values = value_from(parse_json_keeping_digits(text, file_name, &lines));
  if (auto* record = std::get_if<Record>(&values.content())) {
    Parameters made(std::move(model), std::move(*record));
    for (const auto& [name, line] : lines) {
      made.places_[name] = fmt::format("{}: line {}: ", file_name, line);
    }
    return made;
  }
  throw InputError(model + ": the instance must be a JSON object such as {\"mu\": [1, 2]}");
}

bool Parameters::has(std::string_view name) const { return values_.find(name) != nullptr; }

void Parameters::set(std::string_view name, Value value) { values_[name] = std::move(value); }

void Parameters::set_default(std::string_view name, Value value) {
  if (!has(name)) set(name, std::move(value));
}

bool ParameterInfo::is_read_by(std::string_view rung) const {
  return rungs.empty() || std::find(rungs.begin(), rungs.end(), rung) != rungs.end();
}

void Parameters::check_names(std::span<const ParameterInfo> known, std::string_view rung) const {
  std::vector<std::string> names;
  for (const ParameterInfo& info : known) {
    if (info.is_read_by(rung)) names.push_back(info.name);
  }
  for (const auto& [name, value] : values_.entries()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const auto place = places_.find(name);
    const std::string where = fmt::format(
        "{}{} {}", place == places_.end() ? std::string_view{} : place->second, model_, rung);
    for (const ParameterInfo& info : known) {
      if (info.name != name) continue;
      reject(
          where, name, text_of(value).substr(0, 40),
          fmt::format("is not read by this rung; it belongs to {}", fmt::join(info.rungs, ", ")));
    }
    reject(where, "parameter", name,
           "is not known" + suggestion(name, names) +
               "; allowed: " + fmt::format("{}", fmt::join(names, ", ")));
  }
}

template <class T>
T Parameters::number(std::string_view name, std::string_view fallback) const {
  const Value* found = values_.find(name);
  const std::string text = found == nullptr ? std::string(fallback) : text_of(*found);
  if (const auto why = refusal_of_number(text, {})) {
    reject(model_, "--" + std::string(name), text.substr(0, 40), *why);
  }
  return from_text<T>(text);
}

long Parameters::count(std::string_view name, long fallback, long low, long high) const {
  const Value* found = values_.find(name);
  if (found == nullptr) return fallback;
  const std::string text = text_of(*found);
  const Range range = within(static_cast<double>(low), static_cast<double>(high));
  if (const auto why = refusal_of_whole(text, range)) {
    reject(model_, "--" + std::string(name), text.substr(0, 40), *why);
  }
  return std::stol(*whole_digits(text));
}

bool Parameters::flag(std::string_view name, bool fallback) const {
  const Value* found = values_.find(name);
  if (found == nullptr) return fallback;
  if (const auto* truth = found->as<bool>()) return *truth;
  const std::string text = text_of(*found);
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  reject(model_, "--" + std::string(name), text, "must be true or false");
}

std::string Parameters::text(std::string_view name, std::string_view fallback) const {
  const Value* found = values_.find(name);
  return found == nullptr ? std::string(fallback) : text_of(*found);
}

std::string Parameters::choice(std::string_view name, std::string_view fallback,
                               std::span<const std::string> allowed) const {
  const Value* found = values_.find(name);
  const std::string text = found == nullptr ? std::string(fallback) : text_of(*found);
  if (std::find(allowed.begin(), allowed.end(), text) == allowed.end()) {
    reject(model_, "--" + std::string(name), text,
           fmt::format("must be one of {}{}", fmt::join(allowed, ", "), suggestion(text, allowed)));
  }
  return text;
}

template <class T>
Vector<T> Parameters::vector(std::string_view name) const {
  const Matrix<T> rows = matrix<T>(name);
  if (rows.rows() != 1) {
    reject(model_, name, fmt::format("with {} rows", rows.rows()),
           "must be a flat list of numbers");
  }
  return rows.row(0).transpose();
}

template <class T>
Matrix<T> Parameters::matrix(std::string_view name) const {
  const Value* found = values_.find(name);
  if (found == nullptr) reject(model_, name, "", "is missing; give it in the instance file");
  const auto read = [&](const Value& value, Index i, Index j) {
    if (value.as<Value::List>() != nullptr || value.as<Record>() != nullptr ||
        value.as<std::monostate>() != nullptr || value.as<bool>() != nullptr) {
      reject(model_, name, json_text(value).substr(0, 40),
             fmt::format("in row {}, column {} is not a number", i, j));
    }
    const std::string text = text_of(value);
    if (const auto why = refusal_of_number(text, {})) {
      reject(model_, name, text.substr(0, 40), fmt::format("in row {}, column {} {}", i, j, *why));
    }
    return from_text<T>(text);
  };
  const auto* list = found->as<Value::List>();
  if (list == nullptr) {
    Matrix<T> single(1, 1);
    single(0, 0) = read(*found, 0, 0);
    return single;
  }
  if (list->empty()) reject(model_, name, "[]", "is empty; give at least one number");
  const auto* first_row = list->front().as<Value::List>();
  const Index rows = first_row != nullptr ? std::ssize(*list) : 1;
  const Index first = std::ssize(first_row != nullptr ? *first_row : *list);
  if (first == 0) reject(model_, name, "[[]]", "is empty; give at least one number");
  Matrix<T> m(rows, first);
  for (Index i = 0; i < rows; ++i) {
    const auto* row =
        first_row != nullptr ? (*list)[static_cast<std::size_t>(i)].as<Value::List>() : list;
    if (row == nullptr || std::ssize(*row) != first) {
      reject(model_, name, fmt::format("row {}", i),
             fmt::format("must be a list of {} numbers like the first row", first));
    }
    for (Index j = 0; j < first; ++j) m(i, j) = read((*row)[static_cast<std::size_t>(j)], i, j);
  }
  return m;
}

template double Parameters::number(std::string_view, std::string_view) const;
template Real Parameters::number(std::string_view, std::string_view) const;
template Rational Parameters::number(std::string_view, std::string_view) const;
template Expression Parameters::number(std::string_view, std::string_view) const;
template Vector<double> Parameters::vector(std::string_view) const;
template Vector<Real> Parameters::vector(std::string_view) const;
template Vector<Rational> Parameters::vector(std::string_view) const;
template Matrix<double> Parameters::matrix(std::string_view) const;
template Matrix<Real> Parameters::matrix(std::string_view) const;
template Matrix<Rational> Parameters::matrix(std::string_view) const;

}  // namespace popgrad
