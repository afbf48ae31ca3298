#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace command_line {

/// Turns the files of a sweep that is whole into those that it leaves when it is interrupted with these
/// cells done.
void leave_interrupted(const std::string& file, const std::vector<std::size_t>& cells);

}  // namespace command_line
