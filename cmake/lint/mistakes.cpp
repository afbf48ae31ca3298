// Mistakes on purpose, one a line, with the check that must find it. Compiled nowhere; without them
// nobody would notice a configuration under which clang-tidy looks at nothing.

#include "mistakes.hpp"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using std::swap;  // expect: popgrad-scope

namespace mistakes {
namespace {

constexpr double forgotten = 0.5;  // expect: popgrad-scope

double never_called(double x) { return x; }  // expect: clang-diagnostic-unused-function

}  // namespace

struct Base {
  virtual ~Base() = default;
  virtual int value() const { return 0; }
  int own = 0;
};
struct Derived : Base {
  virtual int value() const { return own; }  // expect: modernize-use-override
  int more = 0;
};

double half(double x) {
  const int whole = x;  // expect: cppcoreguidelines-narrowing-conversions
  return whole / 2;     // expect: bugprone-integer-division
}

std::string moved(std::string text) {
  const std::string other = std::move(text);
  return other + text;  // expect: bugprone-use-after-move
}

int slices(const Derived& derived) {
  Base base = derived;  // expect: cppcoreguidelines-slicing
  return base.own;
}

int unset(bool known) {
  int result;  // expect: cppcoreguidelines-init-variables
  if (known) result = 1;
  return result;
}

bool is_empty(const std::vector<int>& list) {
  return list.size() == 0;  // expect: readability-container-size-empty
}

double copies(const std::vector<std::string>& names) {
  double sum = 0;
  for (const auto name : names) sum += name.size();  // expect: performance-for-range-copy
  return sum;
}

template <class T>
bool decided(const T& x) {
  if (x > T(0)) {
    return true;  // expect: readability-simplify-boolean-expr
  } else {
    return false;
  }
}

int uses(int unused) {  // expect: misc-unused-parameters
  return first_of_pair<int>(1, 2) + (decided(1.0) ? 1 : 0);
}

}  // namespace mistakes
