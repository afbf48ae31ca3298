#pragma once
/// Records as JSON and back, for the few sources that read or write it: the library is heavy.

#include <nlohmann/json.hpp>
#include <string_view>

#include "popgrad/json_fwd.hpp"
#include "popgrad/record.hpp"

namespace popgrad {

/// Keeps order and kinds: 1 stays whole, 1.0 does not become so.
Json to_json(const Value& value);
Json to_json(const Record& record);
/// Throws std::invalid_argument for what no text of JSON holds.
Value value_from(const Json& json);

/// Parses JSON keeping each number's own text (as a string value). Throws InputError with line and
/// column, for a truncated file, a duplicate key, or NaN.
Json parse_json_keeping_digits(std::string_view text, std::string_view file_name);

}  // namespace popgrad
