#include "presenting/errata_table.hpp"

#include <fmt/format.h>

#include "base/json.hpp"
#include "io/examination_json.hpp"
#include "io/json_document.hpp"
#include "io/plain_text.hpp"
#include "presenting/verdict_table.hpp"

namespace popgrad {
namespace {

std::string hypothesis_text(const EvaluatedHypothesis& h) {
  const char* met = h.met == Truth::yes ? "met" : h.met == Truth::no ? "not met" : "undecided";
  return fmt::format("{}: {} ({}{}{})", h.text, met, name_of(h.basis),
                     h.by_how_much.empty() ? "" : "; ", h.by_how_much);
}

}  // namespace

std::string evidence_text(const Evidence& item, bool of_paper) {
  if (item.kind == EvidenceKind::report) {
    return fmt::format("{}: {:.4g}{}", item.what, item.measured,
                       item.detail.empty() ? "" : "; " + item.detail);
  }
  const Verdict wanted = of_paper ? Verdict::violated : Verdict::holds;
  const std::string numbers = numbers_text(item);
  return fmt::format("{}: {}{}{}{}{}", item.what, of_paper ? "the paper's is " : "",
                     item.verdict == wanted ? "" : "NOT ", of_paper ? "refuted" : "shown",
                     numbers.empty() ? "" : ": ", numbers);
}

std::vector<ExaminedErratum> examined_errata(const std::vector<Erratum>& errata) {
  std::vector<ExaminedErratum> all;
  for (const Erratum& erratum : errata) all.push_back({&erratum, examine(erratum)});
  return all;
}

std::string sources_of(const Erratum& erratum) {
  std::string text;
  for (const SourceGrade grade : erratum.grades)
    text += (text.empty() ? "" : ", ") + name_of(grade);
  return text;
}

std::string errata_text(const std::vector<ExaminedErratum>& all) {
  std::string text;
  for (const auto& [e, found] : all) {
    text += fmt::format("{}\n", e->name);
    const auto line = [&text](const char* slot, const std::string& what) {
      text += fmt::format("  {:<10} {}\n", slot, what);
    };
    line("class", name_of(e->kind));
    line("place", e->place);
    line("source", fmt::format("{}; {}", sources_of(*e), e->known));
    line("claim", e->claim);
    line("paper", e->paper_says);
    line("found", e->algebra_says);
    line("effect", e->effect);
    for (const EvaluatedHypothesis& h : found.examination.hypotheses)
      line("hypothesis", hypothesis_text(h));
    const auto evidence = [&](const Evidence& item, const std::string& shown) {
      line("evidence", name_of(item.kind) + ": " + shown);
    };
    for (const Evidence& item : found.examination.evidence) evidence(item, evidence_text(item));
    for (const Evidence& item : found.of_paper()) evidence(item, evidence_text(item, true));
    if (!found.refined.empty()) line("confirmed", found.refined);
    line("see", "popgrad verify " + e->statement);
    text += "\n";
  }
  return plain_text(text);
}

std::string errata_json(const std::vector<ExaminedErratum>& all) {
  Json list = Json::array();
  for (const auto& [e, found] : all) {
    Json sources = Json::array();
    for (const SourceGrade grade : e->grades) sources.push_back(name_of(grade));
    Json item{{"name", e->name},
              {"class", name_of(e->kind)},
              {"place", plain_text(e->place)},
              {"sources", sources},
              {"known", plain_text(e->known)},
              {"claim", plain_text(e->claim)},
              {"paper", plain_text(e->paper_says)},
              {"found", plain_text(e->algebra_says)},
              {"effect", plain_text(e->effect)},
              {"statement", e->statement},
              {"shown", found.shown()}};
    item.update(examination_json(found.examination));
    item["of_paper"] = evidence_json(found.of_paper());
    item["refined"] = found.refined;
    list.push_back(std::move(item));
  }
  Json document = json_document("errata/2");
  document["errata"] = std::move(list);
  return document.dump(1) + "\n";
}

}  // namespace popgrad
