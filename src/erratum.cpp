#include "popgrad/erratum.hpp"

#include <algorithm>
#include <limits>

namespace popgrad {

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

Examination examine(const Erratum& erratum) {
  Examination found;
  erratum.examine(found);
  return found;
}

bool is_shown(const Examination& examination) {
  return std::all_of(examination.evidence.begin(), examination.evidence.end(),
                     [](const Evidence& item) {
                       return item.kind == EvidenceKind::report || item.verdict == Verdict::holds;
                     });
}

Hypothesis met_by_construction(std::string text, std::string why) {
  return {std::move(text), Truth::yes, std::move(why), Basis::by_construction,
          std::numeric_limits<double>::quiet_NaN()};
}

Hypothesis not_evaluated(std::string text, std::string why) {
  return {std::move(text), Truth::undecided, std::move(why), Basis::assumed,
          std::numeric_limits<double>::quiet_NaN()};
}

}  // namespace popgrad
