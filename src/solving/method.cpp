#include <array>

#include "popgrad/base/error.hpp"
#include "popgrad/solving/solve.hpp"

namespace popgrad {
namespace {

struct Named {
  Method method;
  const char* name;
};
constexpr std::array named{Named{Method::automatic, "auto"}, Named{Method::dopri5, "dopri5"},
                           Named{Method::bulirsch_stoer, "bulirsch-stoer"},
                           Named{Method::rosenbrock4, "rosenbrock4"}};

}  // namespace

Method method_from_name(std::string_view name) {
  std::vector<std::string> allowed;
  for (const Named& entry : named) {
    if (name == entry.name) return entry.method;
    allowed.emplace_back(entry.name);
  }
  reject("solve", "--method", name,
         "must be auto, dopri5, bulirsch-stoer or rosenbrock4" + suggestion(name, allowed));
}

std::string name_of(Method method) {
  for (const Named& entry : named) {
    if (entry.method == method) return entry.name;
  }
  return "unknown";
}

}  // namespace popgrad
