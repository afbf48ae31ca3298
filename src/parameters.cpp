#include "popgrad/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "popgrad/error.hpp"
#include "popgrad/scalar/expression.hpp"
#include "popgrad/scalar/rational.hpp"
#include "popgrad/scalar/real.hpp"

namespace popgrad {
namespace {

// Builds a JSON value in which every number is the text it was written as.
class DigitKeeper final : public nlohmann::json_sax<Json> {
 public:
  Json result;
  std::string failure;
  std::size_t failed_at = 0;

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return put(std::to_string(value)); }
  bool number_float(number_float_t /*value*/, const string_t& text) override { return put(text); }
  bool string(string_t& value) override { return put(value); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*count*/) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*count*/) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (open_.back()->contains(name)) {
      failure = fmt::format("key '{}' occurs twice", name);
      return false;
    }
    key_ = name;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*last*/,
                   const nlohmann::detail::exception& error) override {
    failed_at = position;
    failure = error.what();
    return false;
  }

 private:
  Json* place(Json value) {
    if (open_.empty()) {
      result = std::move(value);
      return &result;
    }
    Json& top = *open_.back();
    if (top.is_array()) {
      top.push_back(std::move(value));
      return &top.back();
    }
    return &(top[key_] = std::move(value));
  }
  bool put(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    // Pointers into the parents stay valid: a parent grows again only after this child is closed.
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<Json*> open_;
  std::string key_;
};

std::pair<std::size_t, std::size_t> line_and_column(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, std::min(position, text.size()));
  const auto lines = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t last = before.rfind('\n');
  return {lines + 1, last == std::string_view::npos ? before.size() : before.size() - last - 1};
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

Json parse_json_keeping_digits(std::string_view text, std::string_view file_name) {
  DigitKeeper keeper;
  if (Json::sax_parse(text.begin(), text.end(), &keeper)) return keeper.result;
  const auto [line, column] = line_and_column(text, keeper.failed_at);
  std::string reason = keeper.failure;
  // The library's message repeats the position; what follows its last dash or colon is the reason.
  if (const std::size_t at = reason.find("syntax error"); at != std::string::npos) {
    reason = reason.substr(at);
  }
  throw InputError(fmt::format("{}: line {}, column {}: {}; give a complete JSON object", file_name,
                               line, column, reason));
}

Parameters::Parameters(std::string model, Json values)
    : model_(std::move(model)), values_(std::move(values)) {
  if (!values_.is_object()) {
    throw InputError(model_ + ": the instance must be a JSON object such as {\"mu\": [1, 2]}");
  }
}

bool Parameters::has(std::string_view name) const { return values_.contains(name); }

void Parameters::set(std::string_view name, Json value) {
  values_[std::string(name)] = std::move(value);
}

void Parameters::set_default(std::string_view name, Json value) {
  if (!has(name)) set(name, std::move(value));
}

void Parameters::check_names(std::span<const ParameterInfo> known, std::string_view rung) const {
  std::vector<std::string> names;
  for (const ParameterInfo& info : known) {
    const bool read = info.rungs.empty() ||
                      std::find(info.rungs.begin(), info.rungs.end(), rung) != info.rungs.end();
    if (read) names.push_back(info.name);
  }
  for (const auto& [name, value] : values_.items()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    for (const ParameterInfo& info : known) {
      if (info.name != name) continue;
      reject(
          model_ + " " + std::string(rung), name, text_of(value).substr(0, 40),
          fmt::format("is not read by this rung; it belongs to {}", fmt::join(info.rungs, ", ")));
    }
    reject(model_ + " " + std::string(rung), "parameter", name,
           "is not known" + suggestion(name, names) +
               "; allowed: " + fmt::format("{}", fmt::join(names, ", ")));
  }
}

template <class T>
T Parameters::number(std::string_view name, std::string_view fallback) const {
  const auto found = values_.find(name);
  const std::string text = found == values_.end() ? std::string(fallback) : text_of(*found);
  try {
    return from_text<T>(text);
  } catch (const std::invalid_argument&) {
    reject(model_, "--" + std::string(name), text,
           "is not a finite number; give a decimal such as 0.5 or a quotient such as 1/3");
  }
}

long Parameters::count(std::string_view name, long fallback, long low, long high) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return fallback;
  const std::string text = text_of(*found);
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high) {
    reject(model_, "--" + std::string(name), text,
           fmt::format("must be a whole number from {} to {}", low, high));
  }
  return value;
}

bool Parameters::flag(std::string_view name, bool fallback) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return fallback;
  if (found->is_boolean()) return found->get<bool>();
  const std::string text = text_of(*found);
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  reject(model_, "--" + std::string(name), text, "must be true or false");
}

std::string Parameters::text(std::string_view name, std::string_view fallback) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string(fallback) : text_of(*found);
}

std::string Parameters::choice(std::string_view name, std::string_view fallback,
                               std::span<const std::string> allowed) const {
  const auto found = values_.find(name);
  const std::string text = found == values_.end() ? std::string(fallback) : text_of(*found);
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
  const auto found = values_.find(name);
  if (found == values_.end()) reject(model_, name, "", "is missing; give it in the instance file");
  const auto read = [&](const Json& value, Index i, Index j) {
    if (value.is_array() || value.is_object() || value.is_null() || value.is_boolean()) {
      reject(model_, name, value.dump().substr(0, 40),
             fmt::format("in row {}, column {} is not a number", i, j));
    }
    try {
      return from_text<T>(text_of(value));
    } catch (const std::invalid_argument&) {
      reject(model_, name, text_of(value).substr(0, 40),
             fmt::format("in row {}, column {} is not a finite number", i, j));
    }
  };
  if (!found->is_array()) {
    Matrix<T> single(1, 1);
    single(0, 0) = read(*found, 0, 0);
    return single;
  }
  if (found->empty()) reject(model_, name, "[]", "is empty; give at least one number");
  const bool nested = found->front().is_array();
  const Index rows = nested ? static_cast<Index>(found->size()) : 1;
  const auto first = static_cast<Index>(nested ? found->front().size() : found->size());
  if (first == 0) reject(model_, name, "[[]]", "is empty; give at least one number");
  Matrix<T> m(rows, first);
  for (Index i = 0; i < rows; ++i) {
    const Json& row = nested ? (*found)[static_cast<std::size_t>(i)] : *found;
    if (!row.is_array() || static_cast<Index>(row.size()) != first) {
      reject(model_, name, fmt::format("row {}", i),
             fmt::format("must be a list of {} numbers like the first row", first));
    }
    for (Index j = 0; j < first; ++j) m(i, j) = read(row[static_cast<std::size_t>(j)], i, j);
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
