#include "io/json_document.hpp"

#include <fmt/format.h>

#include "io/fingerprint.hpp"

namespace popgrad {
namespace {

constexpr const char* seal_name = "fingerprint";

std::string seal_of(Json document) {
  for (const char* name : {seal_name, "version", "versions"}) document.erase(name);
  return fingerprint(document.dump());
}

}  // namespace

Json json_document(std::string_view schema, const Versions& earlier) {
  return Json{{"schema", "popgrad/" + std::string(schema)},
              {"version", fmt::format("{}", fmt::join(united(earlier, this_version()), ", "))}};
}

void seal(Json& document) { document[seal_name] = seal_of(document); }

bool is_as_sealed(const Json& document) {
  return document.is_object() && document.contains(seal_name) &&
         document[seal_name] == seal_of(document);
}

}  // namespace popgrad
