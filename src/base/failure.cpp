#include "popgrad/base/failure.hpp"

#include <fmt/format.h>

#include <ios>
#include <new>
#include <system_error>
#include <typeinfo>

namespace popgrad {

std::string words_of(const std::exception& error) {
  if (dynamic_cast<const Worded*>(&error) != nullptr) return error.what();
  // Of popgrad's own functions, or InputError; libraries throw types of their own or other bases.
  if (dynamic_cast<const std::invalid_argument*>(&error) != nullptr) return error.what();
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return "not enough memory for this size; lower it";
  }
  // A kind of runtime_error, as numbers that fail are.
  if (const auto* system = dynamic_cast<const std::system_error*>(&error)) {
    return fmt::format("a file or the system failed: {}; see whether its folder may be written to",
                       system->code().message());
  }
  const bool of_numbers = dynamic_cast<const std::runtime_error*>(&error) != nullptr ||
                          dynamic_cast<const std::domain_error*>(&error) != nullptr;
  if (of_numbers) {
    return "a number leaves what can be computed here (a division by zero, an overflow, or a "
           "function "
           "outside of its domain); move the parameters away from the ends of their ranges";
  }
  return "a fault of popgrad itself: please report this command line with its files";
}

}  // namespace popgrad
