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

std::string describe(Ending ending) {
  switch (ending) {
    case Ending::reached_end:
      return "reached the end";
    case Ending::blew_up:
      return "a component blows up before the end, or no farther after it than its time is known; "
             "the event says where";
    case Ending::step_underflow:
      return "the step fell below the spacing of numbers at t; leave --method out where it is "
             "given, loosen --rtol, raise --digits, or end earlier";
    case Ending::not_a_number:
      return "the field is no longer finite; check the parameters, lower the step size, or end "
             "earlier";
    case Ending::diverged:
      return "training diverged";
    case Ending::budget_exhausted:
      return "the step budget is used up, or would be a hundred times before the end; leave "
             "--method out where it is given, end earlier, or loosen --rtol (a field that jumps, "
             "as that of ReLU units does, ends with 1e-5)";
    case Ending::interrupted:
      return "interrupted";
  }
  return "unknown ending";
}

}  // namespace popgrad
