#include "popgrad/evidence/erratum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "evidence/confirming.hpp"
#include "popgrad/base/failure.hpp"
#include "popgrad/evidence/statement.hpp"

namespace popgrad {
namespace {

std::vector<Evidence>& evidence_of_paper(Examination& examination) {
  for (EvidenceAgainst& own : examination.controls) {
    if (own.name == in_paper.name) return own.evidence;
  }
  return examination.controls.emplace_back(EvidenceAgainst{std::string(in_paper.name), {}, true})
      .evidence;
}

}  // namespace

std::string name_of(ErratumClass kind) {
  switch (kind) {
    case ErratumClass::error:
      return "error";
    case ErratumClass::does_not_transfer:
      return "does not transfer";
    case ErratumClass::could_not_reproduce:
      break;
  }
  return "could not reproduce";
}

std::string name_of(SourceGrade grade) {
  switch (grade) {
    case SourceGrade::full_text:
      return "full text";
    case SourceGrade::reviews:
      return "reviews and replies";
    case SourceGrade::authors_code:
      return "authors' code";
    case SourceGrade::third_party:
      return "third-party report";
    case SourceGrade::not_seen:
      break;
  }
  return "text not seen";
}

void refute(const Comparison& of_paper, Examination& it) {
  Examination judged;
  judged.judge(of_paper);
  evidence_of_paper(it).push_back(std::move(judged.evidence.front()));
}

const std::vector<Evidence>& ErratumFinding::of_paper() const {
  static const std::vector<Evidence> none;
  for (const EvidenceAgainst& own : examination.controls) {
    if (own.name == in_paper.name) return own.evidence;
  }
  return none;
}

bool ErratumFinding::shown() const {
  const auto all = [](const std::vector<Evidence>& evidence, Verdict verdict) {
    return std::all_of(evidence.begin(), evidence.end(), [&](const Evidence& item) {
      return item.kind == EvidenceKind::report || item.verdict == verdict;
    });
  };
  return !of_paper().empty() && all(of_paper(), Verdict::violated) &&
         all(examination.evidence, Verdict::holds);
}

ErratumFinding examine(const Erratum& erratum) {
  // Of an erratum the paper's form is what is missed, and what a second examination has to confirm.
  std::vector<Examination> examinations;
  Finding of_paper;
  judge_with_confirmation(of_paper, Setting{}, [&](const Setting&, Examination& found) {
    Examination& made = examinations.emplace_back();
    erratum.examine(made);
    found.evidence = evidence_of_paper(made);
  });
  if (!of_paper.failure.empty()) {
    throw Failure(fmt::format("{}: {}", erratum.name, of_paper.failure));
  }
  ErratumFinding finding{std::move(examinations.front()), of_paper.confirmation.refined};
  evidence_of_paper(finding.examination) = of_paper.examination.evidence;
  const std::vector<Evidence>& again = examinations.back().evidence;
  for (std::size_t i = 0; examinations.size() > 1 && i < again.size(); ++i) {
    if (again[i].verdict != Verdict::holds) finding.examination.evidence[i] = again[i];
  }
  return finding;
}

EvaluatedHypothesis met_by_construction(std::string text, std::string why) {
  return {std::move(text), Truth::yes, std::move(why), Basis::by_construction,
          std::numeric_limits<double>::quiet_NaN()};
}

EvaluatedHypothesis not_evaluated(std::string text, std::string why) {
  return {std::move(text), Truth::undecided, std::move(why), Basis::assumed,
          std::numeric_limits<double>::quiet_NaN()};
}

}  // namespace popgrad
