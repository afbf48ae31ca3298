#pragma once
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "io/versions.hpp"

namespace popgrad {

/// A document for other programs begins with these two: its schema, such as verdicts/1 for version 1
/// of verdicts.schema.json beside the source that writes it, and popgrad's version; of one that several
/// versions made, all of them: `earlier` and this.
Json json_document(std::string_view schema, const Versions& earlier = {});

/// Adds `fingerprint`, of the rest but for popgrad's versions, by which a command that goes on from the
/// document knows that it is as popgrad wrote it.
void seal(Json& document);
bool is_as_sealed(const Json& document);

}  // namespace popgrad
