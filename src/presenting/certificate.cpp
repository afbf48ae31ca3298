#include "presenting/certificate.hpp"

#include "base/json.hpp"

namespace popgrad {

Json certificate_json(const topic::Certificate& c) {
  const auto box = [](const topic::Box<Rational>& b) {
    return Json{{"alpha", {to_text(b.alpha_low), to_text(b.alpha_high)}},
                {"beta", {to_text(b.beta_low), to_text(b.beta_high)}}};
  };
  Json leaves = Json::array();
  for (const topic::CertificateLeaf& leaf : c.leaves) {
    leaves.push_back({leaf.path, leaf.above ? "above" : "near"});
  }
  Json made = Json::object();
  made["lower"] = to_text(c.lower);
  made["upper"] = to_text(c.upper);
  made["alpha"] = to_text(c.alpha);
  made["beta"] = to_text(c.beta);
  made["box"] = box(c.box);
  made["on_line"] = c.on_line;
  made["minimisers"] = box(c.minimisers);
  made["boxes"] = c.boxes;
  made["evidence"] = "exact";
  made["leaves"] = std::move(leaves);
  return made;
}

}  // namespace popgrad
