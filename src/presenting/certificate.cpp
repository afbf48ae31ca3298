#include "presenting/certificate.hpp"

#include "base/json.hpp"

namespace popgrad {

Json certificate_json(const LossLandscape& landscape, const LandscapeCertificate& c) {
  const std::string& x = landscape.coordinates[0].name;
  const std::string& y = landscape.coordinates[1].name;
  const auto box = [&](const LandscapeBox& b) {
    Json sides = Json::object();
    sides[x] = {to_text(b.low[0]), to_text(b.high[0])};
    sides[y] = {to_text(b.low[1]), to_text(b.high[1])};
    return sides;
  };
  Json leaves = Json::array();
  for (const LandscapeLeaf& leaf : c.leaves) {
    leaves.push_back({leaf.path, leaf.above ? "above" : "near"});
  }
  Json made = Json::object();
  made["lower"] = to_text(c.lower);
  made["upper"] = to_text(c.upper);
  made[x] = to_text(c.point[0]);
  made[y] = to_text(c.point[1]);
  made["box"] = box(c.box);
  made["on_line"] = c.line.has_value();
  made["minimisers"] = box(c.minimisers);
  made["boxes"] = c.boxes;
  made["evidence"] = "exact";
  made["leaves"] = std::move(leaves);
  return made;
}

}  // namespace popgrad
