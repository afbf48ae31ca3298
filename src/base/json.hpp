#pragma once
/// Records as JSON and back, for the few sources that read or write it: the library is heavy.

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json_fwd.hpp"
#include "popgrad/base/record.hpp"

namespace popgrad {

/// Keeps order and kinds: 1 stays whole, 1.0 does not become so.
Json to_json(const Value& value);
Json to_json(const Record& record);
/// Throws std::invalid_argument for what no text of JSON holds.
Value value_from(const Json& json);

/// Key -> line, from 1.
using LinesOfKeys = std::map<std::string, std::size_t>;

/// Parses JSON keeping each number's own text (as a string value). Throws InputError with line and
/// column, for a truncated file, a duplicate key, or NaN. `lines`, if given, gets those of the outermost object;
/// `first_line`: where the text begins in its file.
Json parse_json_keeping_digits(std::string_view text, std::string_view file_name,
                               LinesOfKeys* lines = nullptr, std::size_t first_line = 1);

}  // namespace popgrad
