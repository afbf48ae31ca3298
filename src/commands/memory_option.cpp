#include "commands/memory_option.hpp"

#include "popgrad/base/memory.hpp"
#include "popgrad/rungs/parameters.hpp"

namespace popgrad::cli {

void add_memory_option(Command& command) {
  ParameterInfo declared;
  declared.name = "memory";
  declared.kind = "text";
  declared.help = "most memory that may be taken, such as 500MB or 4GB";
  declared.default_value = "80 % of what is free";
  command.add_parameter(declared,
                        [](const std::string& text) { set_memory_limit(bytes_from_text(text)); });
}

}  // namespace popgrad::cli
