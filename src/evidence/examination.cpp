#include "popgrad/evidence/examination.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "evidence/deviation_record.hpp"
#include "evidence/early_end.hpp"

namespace popgrad {
namespace {

Verdict verdict_of(Truth truth) {
  switch (truth) {
    case Truth::yes:
      return Verdict::holds;
    case Truth::no:
      return Verdict::violated;
    case Truth::undecided:
      break;
  }
  return Verdict::inconclusive;
}

Verdict worst_of(const std::vector<Evidence>& evidence) {
  bool judged = false;
  bool undecided = false;
  for (const Evidence& item : evidence) {
    if (item.kind == EvidenceKind::report) continue;
    judged = true;
    if (item.verdict == Verdict::violated) return Verdict::violated;
    undecided = undecided || item.verdict != Verdict::holds;
  }
  return judged && !undecided ? Verdict::holds : Verdict::inconclusive;
}

template <class T>
const T& at_place(const std::vector<T>& values, std::size_t place) {
  return values.size() == 1 ? values.front() : values.at(place);
}

// "next order 3e-4 + solver 1e-12", the largest first.
void tell_parts(const Quantity& deviation, Evidence& item) {
  std::vector<ErrorPart> parts = deviation.parts();
  std::stable_sort(parts.begin(), parts.end(),
                   [](const ErrorPart& a, const ErrorPart& b) { return a.size() > b.size(); });
  for (const ErrorPart& part : parts) {
    if (part.size() == 0) continue;
    if (item.largest_part.empty()) item.largest_part = part.name();
    item.reason +=
        fmt::format("{}{} {:.2g}", item.reason.empty() ? "" : " + ", part.name(), part.size());
  }
  if (item.reason.empty()) item.reason = "known exactly";
}

// A verdict on one place: its distance to the prediction and the bound of that.
struct Judged {
  Verdict verdict = Verdict::inconclusive;
  double distance = 0;
  double allowed = 0;
  double scale = 0;
};

Judged judge_place(Relation relation, const Quantity& deviation, double scale) {
  Judged found;
  found.allowed = deviation.error();
  found.scale = scale;
  found.distance = relation == Relation::equal ? std::fabs(deviation.value()) : deviation.value();
  if (std::isnan(found.distance) || std::isnan(found.allowed)) return found;
  const bool clearly_less = relation != Relation::equal && found.distance < -found.allowed;
  const bool equal_enough = relation != Relation::below && found.allowed <= noticed_share * scale;
  if (found.distance > found.allowed) {
    found.verdict = Verdict::violated;
  } else if (clearly_less || equal_enough) {
    found.verdict = Verdict::holds;
  }
  return found;
}

// Violated is worst, then undecided.
int rank_of(Verdict verdict) {
  return verdict == Verdict::violated ? 2 : verdict == Verdict::inconclusive ? 1 : 0;
}

// Of one verdict, what is nearest to its bound.
bool worse(const Judged& a, const Judged& b) {
  if (a.verdict != b.verdict) return rank_of(a.verdict) > rank_of(b.verdict);
  const auto miss = [](const Judged& j) { return (j.distance - j.allowed) / j.scale; };
  return miss(a) > miss(b);
}

// Digits of the two numbers in a detail: all of them where the claim is missed, so that the miss can
// be recomputed.
int digits_of(Verdict verdict, bool of_claim) {
  return of_claim && verdict == Verdict::violated ? 17 : 8;
}

Evidence worst_place(const Comparison& c, const std::vector<Quantity>& measured,
                     const std::vector<Quantity>& predicted, bool of_claim) {
  const std::size_t count = measured.size();
  if (count == 0 || (predicted.size() != count && predicted.size() != 1) ||
      (c.scale.size() > 1 && c.scale.size() != count) ||
      (!c.places.empty() && c.places.size() != count)) {
    throw std::logic_error(fmt::format("'{}': {} measured, {} predicted, {} scales, {} places",
                                       c.what, count, predicted.size(), c.scale.size(),
                                       c.places.size()));
  }
  Judged worst;
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Quantity& prediction = at_place(predicted, i);
    const double scale = c.scale.empty() ? std::fabs(prediction.value()) : at_place(c.scale, i);
    const Judged found = judge_place(c.relation, measured[i] - prediction, scale);
    if (i > 0 && !worse(found, worst)) continue;
    worst = found;
    at = i;
  }
  const Quantity& prediction = at_place(predicted, at);
  const Quantity deviation = measured[at] - prediction;
  Evidence item;
  item.kind = c.kind;
  item.what = c.what;
  item.verdict = worst.verdict;
  item.measured = worst.distance;
  item.deviation = deviation.value();
  item.allowed = worst.allowed;
  item.scale = worst.scale;
  item.inequality = c.relation != Relation::equal;
  tell_parts(deviation, item);
  const int digits = digits_of(worst.verdict, of_claim);
  item.detail = fmt::format("{:.{}g} {} {:.{}g}", measured[at].value(), digits,
                            c.relation == Relation::equal     ? "against"
                            : c.relation == Relation::at_most ? "at most"
                                                              : "below",
                            prediction.value(), digits);
  if (!c.places.empty()) item.detail += " at " + c.places[at];
  const double neglected = deviation.error("next order");
  if (c.relation == Relation::equal && worst.verdict == Verdict::holds && neglected > 0 &&
      worst.distance > worst.allowed - neglected) {
    item.detail += "; a significant difference, within the next order";
  }
  if (worst.verdict == Verdict::inconclusive) {
    item.detail +=
        fmt::format("; a mistake of {:.2g} would not be noticed", worst.allowed / worst.scale);
  }
  if (!c.detail.empty()) item.detail += "; " + c.detail;
  return item;
}

// To the bit.
bool equal_values(const std::vector<Quantity>& a, const std::vector<Quantity>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Quantity& x, const Quantity& y) { return x.value() == y.value(); });
}

EvidenceAgainst& against(const std::string& name, std::vector<EvidenceAgainst>& all) {
  for (EvidenceAgainst& own : all) {
    if (own.name == name) return own;
  }
  all.push_back({name, {}, false});
  return all.back();
}

void judge_alternatives(const Comparison& comparison, const std::vector<Alternative>& alternatives,
                        std::vector<EvidenceAgainst>& all) {
  for (const Alternative& each : alternatives) {
    const std::vector<Quantity> measured = each.measures ? each.measures() : comparison.measured;
    const std::vector<Quantity> predicted =
        each.predicts ? each.predicts(comparison.predicted) : comparison.predicted;
    EvidenceAgainst& own = against(each.name, all);
    own.evidence.push_back(worst_place(comparison, measured, predicted, false));
    own.differs = own.differs || each.measures || !equal_values(predicted, comparison.predicted);
  }
}

}  // namespace

std::string name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::violated:
      return "violated";
    case Verdict::inconclusive:
      return "inconclusive";
    case Verdict::not_applicable:
      break;
  }
  return "not-applicable";
}

std::string name_of(EvidenceKind kind) {
  switch (kind) {
    case EvidenceKind::symbolic:
      return "symbolic";
    case EvidenceKind::exact:
      return "exact";
    case EvidenceKind::certified:
      return "certified";
    case EvidenceKind::numerical:
      return "numerical";
    case EvidenceKind::statistical:
      return "statistical";
    case EvidenceKind::report:
      break;
  }
  return "report";
}

std::string name_of(Basis basis) {
  switch (basis) {
    case Basis::evaluated:
      return "evaluated";
    case Basis::by_construction:
      return "by-construction";
    case Basis::assumed:
      break;
  }
  return "assumed";
}

double margin_unit(const Evidence& item) {
  const double bound = std::fabs(item.allowed);
  if (bound > 0 && !(item.inequality && item.scale > 0)) return bound;
  return item.scale > 0 ? item.scale : 1;
}

double relative_margin(const Evidence& item) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (item.kind == EvidenceKind::report || item.verdict == Verdict::inconclusive) return none;
  // An identity measures nothing: its truth is all there is.
  if (item.measured == 0 && item.allowed == 0) return item.verdict == Verdict::holds ? 1 : -1;
  return (item.allowed - item.measured) / margin_unit(item);
}

double share_of_allowed(const Evidence& item) {
  if (item.kind == EvidenceKind::report || (item.measured == 0 && item.allowed == 0)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (item.allowed > 0) return item.measured / item.allowed;
  return std::copysign(std::numeric_limits<double>::infinity(), item.measured);
}

Evidence bounded(EvidenceKind kind, std::string what, double measured, double allowed,
                 std::string reason, std::string detail) {
  Evidence item;
  item.kind = kind;
  item.what = std::move(what);
  item.measured = measured;
  item.deviation = measured;
  item.allowed = allowed;
  item.reason = std::move(reason);
  item.detail = std::move(detail);
  if (!std::isnan(measured)) {
    item.verdict = measured <= allowed ? Verdict::holds : Verdict::violated;
  }
  return item;
}

Evidence at_least(EvidenceKind kind, std::string what, double found, double needed,
                  std::string reason, std::string detail) {
  const int digits = digits_of(found < needed ? Verdict::violated : Verdict::holds, true);
  detail.insert(0, fmt::format("{:.{}g} at least {:.{}g}{}", found, digits, needed, digits,
                               detail.empty() ? "" : "; "));
  Evidence item =
      bounded(kind, std::move(what), needed - found, 0, std::move(reason), std::move(detail));
  item.inequality = true;
  item.scale = std::fmax(std::fabs(found), std::fabs(needed));
  return item;
}

Evidence identity(EvidenceKind kind, std::string what, Truth truth, std::string detail) {
  Evidence item;
  item.kind = kind;
  item.what = std::move(what);
  item.verdict = verdict_of(truth);
  item.reason = "an identity has no tolerance";
  item.detail = std::move(detail);
  return item;
}

Evidence reported(std::string what, double measured, std::string detail) {
  Evidence item;
  item.kind = EvidenceKind::report;
  item.what = std::move(what);
  item.verdict = Verdict::holds;
  item.measured = measured;
  item.allowed = measured;
  item.detail = std::move(detail);
  return item;
}

Verdict EvidenceAgainst::verdict() const { return worst_of(evidence); }

Comparison& Comparison::of_kind(EvidenceKind own) {
  kind = own;
  return *this;
}

Comparison& Comparison::add(std::string place, Quantity own_measured, Quantity own_predicted) {
  measured.push_back(std::move(own_measured));
  predicted.push_back(std::move(own_predicted));
  places.push_back(std::move(place));
  return *this;
}

Comparison& Comparison::at(std::string place) { return at(std::vector{std::move(place)}); }

Comparison& Comparison::at(std::vector<std::string> all_places) {
  places = std::move(all_places);
  return *this;
}

Comparison& Comparison::in_units_of(double unit) { return in_units_of(std::vector{unit}); }

Comparison& Comparison::in_units_of(std::vector<double> units) {
  scale = std::move(units);
  return *this;
}

Comparison& Comparison::with(std::string own_detail) {
  detail = std::move(own_detail);
  return *this;
}

Alternative alternative(std::string_view name, Numbers predicted_instead) {
  return alternative(name, instead([made = std::move(predicted_instead)] { return made; }));
}

Alternative alternative(std::string_view name, Times of_the_claim) {
  return {std::string(name),
          [factor = of_the_claim.factor](std::vector<Quantity> claimed) {
            for (Quantity& prediction : claimed) prediction = prediction * Quantity(factor);
            return claimed;
          },
          {}};
}

Alternative alternative(std::string_view name, Instead predicted_instead) {
  return {std::string(name),
          [own = std::move(predicted_instead.prediction)](const std::vector<Quantity>&) {
            return own().all;
          },
          {}};
}

Comparison equal(std::string what, Numbers measured, Numbers predicted) {
  return {.what = std::move(what),
          .measured = std::move(measured.all),
          .predicted = std::move(predicted.all)};
}

Comparison at_most(std::string what, Numbers measured, Numbers predicted) {
  Comparison comparison = equal(std::move(what), std::move(measured), std::move(predicted));
  comparison.relation = Relation::at_most;
  return comparison;
}

Comparison below(std::string what, Numbers measured, Numbers predicted) {
  Comparison comparison = equal(std::move(what), std::move(measured), std::move(predicted));
  comparison.relation = Relation::below;
  return comparison;
}

Identity& Identity::of_kind(EvidenceKind own) {
  kind = own;
  return *this;
}

Identity& Identity::with(std::string own_detail) {
  detail = std::move(own_detail);
  return *this;
}

Identity& Identity::unless(const Control& control, std::function<Truth()> truth) {
  mistakes.emplace_back(control.name, std::move(truth));
  return *this;
}

Identity identity(std::string what, std::function<Truth()> holds) {
  return {.what = std::move(what), .holds = std::move(holds)};
}

bool Examination::require(const Hypothesis& hypothesis, const Quantity& margin,
                          std::string by_how_much) {
  const double error = margin.error();
  Truth met = Truth::undecided;
  if (margin.value() - error >= 0) met = Truth::yes;
  if (margin.value() + error < 0) met = Truth::no;
  const double unsigned_zero = margin.value() + 0.0;  // a margin of -0 reads as a broken one
  hypotheses.push_back(
      {std::string(hypothesis.text), met, std::move(by_how_much), Basis::evaluated, unsigned_zero});
  heed(*this);
  return met != Truth::no;
}

bool Examination::require_positive(const Hypothesis& hypothesis, const Quantity& margin,
                                   std::string by_how_much) {
  require(hypothesis, margin, std::move(by_how_much));
  if (margin.value() == 0 && margin.error() == 0) hypotheses.back().met = Truth::no;
  heed(*this);
  return hypotheses.back().met != Truth::no;
}

bool Examination::require(const Hypothesis& hypothesis, Truth met, std::string by_how_much) {
  hypotheses.push_back({std::string(hypothesis.text), met, std::move(by_how_much), Basis::evaluated,
                        std::numeric_limits<double>::quiet_NaN()});
  heed(*this);
  return met != Truth::no;
}

void Examination::judge(const Clause& clause, const Comparison& comparison) {
  judge(comparison);
  evidence.back().clause = clause.text;
}

void Examination::judge(const Clause& clause, const Identity& claimed) {
  judge(claimed);
  evidence.back().clause = clause.text;
}

void Examination::judge(const Comparison& comparison) {
  evidence.push_back(worst_place(comparison, comparison.measured, comparison.predicted, true));
  if (DeviationRecord* record = DeviationRecord::current()) {
    DeviationRecord::Judged judged{comparison.what, {}};
    for (std::size_t i = 0; i < comparison.measured.size(); ++i) {
      judged.deviations.push_back(comparison.measured[i] - at_place(comparison.predicted, i));
    }
    record->add(std::move(judged));
  }
  if (!with_controls) return;
  judge_alternatives(comparison, comparison.controls, controls);
  judge_alternatives(comparison, comparison.rivals, rivals);
}

void Examination::judge(const Identity& claimed) {
  evidence.push_back(
      popgrad::identity(claimed.kind, claimed.what, claimed.holds(), claimed.detail));
  if (!with_controls) return;
  for (const auto& [control, truth] : claimed.mistakes) {
    EvidenceAgainst& own = against(control, controls);
    own.evidence.push_back(popgrad::identity(claimed.kind, claimed.what, truth(), claimed.detail));
    own.differs = true;
  }
}

void Examination::report(std::string what, double value, std::string detail) {
  evidence.push_back(reported(std::move(what), value, std::move(detail)));
}

Verdict Examination::verdict() const {
  bool undecided = false;
  for (const EvaluatedHypothesis& hypothesis : hypotheses) {
    if (hypothesis.met == Truth::no) return Verdict::not_applicable;
    undecided =
        undecided || (hypothesis.met == Truth::undecided && hypothesis.basis != Basis::assumed);
  }
  const Verdict worst = conclusion();
  return worst == Verdict::holds && undecided ? Verdict::inconclusive : worst;
}

Verdict Examination::conclusion() const { return worst_of(evidence); }

Verdict Examination::verdict(const Clause& clause) const {
  std::vector<Evidence> own;
  std::copy_if(evidence.begin(), evidence.end(), std::back_inserter(own),
               [&](const Evidence& item) { return item.clause == clause.text; });
  return worst_of(own);
}

Examination Examination::within(double share) const {
  Examination widened = *this;
  for (Evidence& item : widened.evidence) {
    if (item.verdict == Verdict::inconclusive || item.inequality || !(item.scale > 0)) continue;
    item.allowed += share * item.scale;
    item.verdict = item.measured <= item.allowed ? Verdict::holds : Verdict::violated;
  }
  return widened;
}

const Evidence* Examination::tightest() const {
  const auto key = [](const Evidence& item) {
    return std::pair(rank_of(item.verdict), share_of_allowed(item));
  };
  const Evidence* found = nullptr;
  for (const Evidence& item : evidence) {
    if (std::isnan(share_of_allowed(item))) continue;
    if (found == nullptr || key(item) > key(*found)) found = &item;
  }
  return found;
}

const Evidence* Examination::nearest_to_failing() const {
  const Evidence* found = nullptr;
  for (const Evidence& item : evidence) {
    const double margin = relative_margin(item);
    if (std::isnan(margin)) continue;
    if (found == nullptr || margin < relative_margin(*found)) found = &item;
  }
  return found;
}

const EvaluatedHypothesis* Examination::broken() const {
  for (const EvaluatedHypothesis& hypothesis : hypotheses) {
    if (hypothesis.met == Truth::no) return &hypothesis;
  }
  return nullptr;
}

}  // namespace popgrad
