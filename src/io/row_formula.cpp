#include "io/row_formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace popgrad {
namespace {

// The parser recurses.
constexpr int deepest = 100;

struct Function {
  std::string_view name;
  double (*of)(double);
};

constexpr std::array<Function, 8> functions{{
    {"abs", [](double x) { return std::fabs(x); }},
    {"exp", [](double x) { return std::exp(x); }},
    {"log", [](double x) { return std::log(x); }},
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"sin", [](double x) { return std::sin(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"floor", [](double x) { return std::floor(x); }},
}};

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

// sum: product (+ or -) ...; product: signed (* or /) ...; signed: -signed or power; power: atom ^ signed.
class RowFormula::Parser {
 public:
  Parser(RowFormula& made, std::string_view text, std::span<const std::string> columns)
      : made_(made), text_(text), columns_(columns) {}

  void read() {
    sum(0);
    if (next() != '\0' || at_ < text_.size()) refuse("an operation is missing");
  }

 private:
  RowFormula& made_;
  std::string_view text_;
  std::span<const std::string> columns_;
  std::size_t at_ = 0;

  [[noreturn]] void refuse(std::string_view why) const {
    throw std::invalid_argument(fmt::format("{} at character {}", why, at_ + 1));
  }
  char next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void check(int depth) const {
    if (depth > deepest) refuse(fmt::format("it is nested deeper than {}", deepest));
  }

  void sum(int depth) {
    product(depth);
    for (char c = next(); c == '+' || c == '-'; c = next()) {
      ++at_;
      product(depth);
      made_.steps_.push_back({c});
    }
  }
  void product(int depth) {
    signed_power(depth);
    for (char c = next(); c == '*' || c == '/'; c = next()) {
      ++at_;
      signed_power(depth);
      made_.steps_.push_back({c});
    }
  }
  void signed_power(int depth) {
    check(depth);
    const char c = next();
    if (c == '-' || c == '+') {
      ++at_;
      signed_power(depth + 1);
      if (c == '-') made_.steps_.push_back({'~'});
      return;
    }
    atom(depth);
    if (next() != '^') return;
    ++at_;
    signed_power(depth + 1);
    made_.steps_.push_back({'^'});
  }
  void atom(int depth) {
    const char c = next();
    if (c == '(') {
      ++at_;
      sum(depth + 1);
      if (next() != ')') refuse("a ) is missing");
      ++at_;
      return;
    }
    if (column()) return;
    if ((c >= '0' && c <= '9') || c == '.') {
      number();
    } else {
      function(depth);
    }
  }
  // The longest name that stands here and does not go on.
  bool column() {
    std::size_t best = columns_.size();
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      const std::string& name = columns_[k];
      const std::size_t end = at_ + name.size();
      const bool goes_on =
          end < text_.size() && in_name(text_[end]) && !name.empty() && in_name(name.back());
      if (name.empty() || !text_.substr(at_).starts_with(name) || goes_on) continue;
      if (best == columns_.size() || name.size() > columns_[best].size()) best = k;
    }
    if (best == columns_.size()) return false;
    at_ += columns_[best].size();
    auto& reads = made_.reads_;
    auto found = std::find(reads.begin(), reads.end(), best);
    if (found == reads.end()) found = reads.insert(reads.end(), best);
    made_.steps_.push_back({'c', 0, static_cast<std::size_t>(found - reads.begin())});
    return true;
  }
  void number() {
    double value = 0;
    const char* const end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(text_.data() + at_, end, value);
    if (error != std::errc{}) refuse("a number is wrong, or too large or small for a double");
    at_ = static_cast<std::size_t>(stop - text_.data());
    made_.steps_.push_back({'n', value});
  }
  void function(int depth) {
    const std::size_t begin = at_;
    std::size_t end = at_;
    while (end < text_.size() && in_name(text_[end])) ++end;
    const std::string_view name = text_.substr(begin, end - begin);
    if (name.empty())
      refuse(at_ < text_.size() ? "a number or a column is missing" : "it ends too early");
    const auto* const found = std::find_if(functions.begin(), functions.end(),
                                           [&](const Function& f) { return f.name == name; });
    if (found == functions.end()) {
      refuse(fmt::format("'{}' is neither a column nor a function", name.substr(0, 40)));
    }
    at_ = end;
    if (next() != '(') refuse(fmt::format("{} has no (", name));
    ++at_;
    sum(depth + 1);
    if (next() != ')') refuse("a ) is missing");
    ++at_;
    made_.steps_.push_back({'f', 0, static_cast<std::size_t>(found - functions.begin())});
  }
};

RowFormula::RowFormula(std::string_view text, std::span<const std::string> columns) {
  Parser(*this, text, columns).read();
}

double RowFormula::of(const std::vector<double>& values) const {
  std::vector<double> stack;
  const auto pop = [&] {
    const double x = stack.back();
    stack.pop_back();
    return x;
  };
  for (const Step& step : steps_) {
    if (step.what == 'n') {
      stack.push_back(step.number);
    } else if (step.what == 'c') {
      stack.push_back(values[step.place]);
    } else if (step.what == 'f') {
      stack.push_back(functions[step.place].of(pop()));
    } else if (step.what == '~') {
      stack.push_back(-pop());
    } else {
      const double b = pop();
      const double a = pop();
      stack.push_back(step.what == '+'   ? a + b
                      : step.what == '-' ? a - b
                      : step.what == '*' ? a * b
                      : step.what == '/' ? a / b
                                         : std::pow(a, b));
    }
  }
  return stack.back();
}

}  // namespace popgrad
