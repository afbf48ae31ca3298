#include "cli/memory_option.hpp"

#include "popgrad/memory.hpp"

namespace popgrad::cli {

void add_memory_option(Command& command) {
  command.add_option_function(
      "--memory", [](const std::string& text) { set_memory_limit(bytes_from_text(text)); },
      "most memory that may be taken, such as 500MB or 4GB (default 80 % of what is free)");
}

}  // namespace popgrad::cli
