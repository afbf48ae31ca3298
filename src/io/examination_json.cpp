#include "io/examination_json.hpp"

#include <cmath>

#include "base/json.hpp"
#include "io/json_number.hpp"
#include "io/plain_text.hpp"

namespace popgrad {
namespace {

Json hypothesis_json(const EvaluatedHypothesis& h) {
  return {{"text", plain_text(h.text)},
          {"met", h.met == Truth::yes  ? "yes"
                  : h.met == Truth::no ? "no"
                                       : "undecided"},
          {"known", name_of(h.basis)},
          {"margin", std::isnan(h.margin) ? Json(nullptr) : json_number(h.margin)},
          {"by_how_much", plain_text(h.by_how_much)}};
}

}  // namespace

Json evidence_json(const Evidence& item) {
  const double margin = relative_margin(item);
  const double share = share_of_allowed(item);
  return {{"kind", name_of(item.kind)},
          {"what", plain_text(item.what)},
          {"clause", plain_text(item.clause)},
          {"verdict", name_of(item.verdict)},
          {"measured", json_number(item.measured)},
          {"allowed", json_number(item.allowed)},
          {"of_allowed", std::isfinite(share) ? json_number(share) : Json(nullptr)},
          {"margin", std::isnan(margin) ? Json(nullptr) : json_number(margin)},
          {"unit", json_number(margin_unit(item))},
          {"reason", item.reason},
          {"largest_part", item.largest_part},
          {"detail", plain_text(item.detail)}};
}

Json evidence_json(const std::vector<Evidence>& evidence) {
  Json list = Json::array();
  for (const Evidence& item : evidence) list.push_back(evidence_json(item));
  return list;
}

Json examination_json(const Examination& examination) {
  Json hypotheses = Json::array();
  for (const EvaluatedHypothesis& h : examination.hypotheses)
    hypotheses.push_back(hypothesis_json(h));
  return {{"hypotheses", hypotheses}, {"evidence", evidence_json(examination.evidence)}};
}

Json rival_json(const Rival& rival) {
  return {{"name", rival.name}, {"what", plain_text(rival.what)}, {"fits", plain_text(rival.fits)}};
}

}  // namespace popgrad
