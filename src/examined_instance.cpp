#include "popgrad/examined_instance.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "popgrad/error.hpp"

namespace popgrad {
namespace {

thread_local bool asked = false;

/// Thrown to end a check where it hands its instance over.
struct HandedOver {
  ExaminedInstance instance;
  std::string none;
};

/// Asked on this thread while it lives.
class Request {
 public:
  Request() { asked = true; }
  ~Request() { asked = false; }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
};

}  // namespace

ExaminedInstance examined_instance(const Statement& statement, const Setting& setting) {
  const Request request;
  try {
    Examination ignored;
    ignored.with_controls = false;
    statement.examine(setting, ignored);
  } catch (const HandedOver& found) {
    if (found.none.empty()) return found.instance;
    throw InputError(fmt::format("popgrad instance: {}: {}", statement.id, found.none));
  }
  throw std::logic_error(statement.id + " hands no instance over");
}

void hand_over(const std::function<ExaminedInstance()>& instance) {
  if (asked) throw HandedOver{instance(), {}};
}

void hand_over_none(const std::string& why) {
  if (asked) throw HandedOver{{}, why};
}

}  // namespace popgrad
