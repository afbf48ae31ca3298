#pragma once
#include <string>
#include <string_view>

#include "popgrad/json.hpp"

namespace popgrad {

/// A document for other programs begins with these two: its schema, such as verdicts/1 for version 1
/// of verdicts.schema.json beside the source that writes it, and popgrad's version.
inline Json json_document(std::string_view schema) {
  return Json{{"schema", "popgrad/" + std::string(schema)}, {"version", POPGRAD_VERSION}};
}

}  // namespace popgrad
