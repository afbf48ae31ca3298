#pragma once
/// What a statement finds on one instance: hypotheses, evidence, and the same evidence against the
/// controls and rivals.
///
/// A quantity is measured once. The claim, every control and every rival are predictions of it, judged
/// by one rule: a check that cannot tell them apart says so. Nothing here knows who asks: `verify`,
/// `falsify`, `frontier` and a survey of many instances all read the same examination.

#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "popgrad/base/record.hpp"
#include "popgrad/evidence/declarations.hpp"
#include "popgrad/scalars/quantity.hpp"
#include "popgrad/scalars/scalar.hpp"

namespace popgrad {

enum class Verdict { holds, violated, inconclusive, not_applicable };
enum class EvidenceKind {
  symbolic,     ///< an identity for generic symbols
  exact,        ///< at these parameters, in rational arithmetic
  certified,    ///< rounding enclosed by intervals
  numerical,    ///< to a stated tolerance
  statistical,  ///< confidence interval over seeds, corrected for many looks
  report,       ///< reported; never changes the verdict
};
std::string name_of(Verdict verdict);
std::string name_of(EvidenceKind kind);

/// What a prediction says of the measured number.
enum class Relation {
  equal,    ///< measured = predicted
  at_most,  ///< measured <= predicted
  below,    ///< measured < predicted: by more than the errors, or nothing is shown
};

/// A mistake of this share of the scale has to be noticed, else nothing is shown.
inline constexpr double noticed_share = 0.1;

/// One thing that was measured against one thing that was predicted.
struct Evidence {
  EvidenceKind kind = EvidenceKind::numerical;
  std::string what;    ///< "drift of the residual over 0..200"
  std::string clause;  ///< of the claim, which this decides; empty: not said
  Verdict verdict = Verdict::inconclusive;
  /// How far the measurement lies from what was predicted: its absolute value for an equality,
  /// signed (positive: on the wrong side) for an inequality.
  double measured = 0;
  /// Measured minus predicted, with its sign, where a prediction was compared.
  double deviation = 0;
  double allowed = 0;        ///< measured <= allowed is what holds asks for
  std::string reason;        ///< what `allowed` is the sum of, the largest part first
  std::string largest_part;  ///< its name: "solver"; empty where nothing is allowed
  std::string detail;        ///< the counterexample, intervals, sample sizes
  /// For inequalities and for the frontier, which asks for misses of a share of it.
  double scale = 0;
  bool inequality = false;
};

/// holds iff measured <= allowed; NaN is inconclusive.
Evidence bounded(EvidenceKind kind, std::string what, double measured, double allowed,
                 std::string reason, std::string detail = {});
/// holds iff found >= needed; told as the distance needed - found, with both in the detail.
Evidence at_least(EvidenceKind kind, std::string what, double found, double needed,
                  std::string reason, std::string detail = {});
/// An identity: holds iff `truth` is yes, violated iff no, inconclusive iff undecided.
Evidence identity(EvidenceKind kind, std::string what, Truth truth, std::string detail = {});
/// What the margin of an item is a share of: of an equality its bound, of an inequality its scale (of
/// an exact equality as well); 1 where that is 0.
double margin_unit(const Evidence& item);
/// How far inside its bound an item is,
///   (allowed - measured)/margin_unit:
/// at most 1 for an equality, 0 on the bound, negative outside. An identity has 1 or -1; what is
/// undecided or not judged, NaN.
double relative_margin(const Evidence& item);
/// How far off an item is, in units of what is allowed,
///   measured/allowed:
/// at most 1 where it holds, at most -1 for a strict inequality. Where nothing is allowed, infinity,
/// negative on the right side of an inequality. NaN for identities and what is not judged.
double share_of_allowed(const Evidence& item);
/// Reported; does not affect the verdict.
Evidence reported(std::string what, double measured, std::string detail = {});

/// One number, or one a place.
struct Numbers {
  Numbers() = default;
  Numbers(double number) : all{number} {}
  Numbers(Quantity number) : all{std::move(number)} {}
  Numbers(std::vector<Quantity> numbers) : all(std::move(numbers)) {}
  std::vector<Quantity> all;
};

/// In place of numbers: a multiple of what the claim predicts.
struct Times {
  double factor;
};
constexpr Times times(double factor) { return {factor}; }
/// In place of numbers: what computes them, called only where controls are judged.
struct Instead {
  std::function<Numbers()> prediction;
};
template <std::invocable Prediction>
Instead instead(Prediction prediction) {
  return {[own = std::move(prediction)] { return Numbers(own()); }};
}

/// A control's or a rival's version of a comparison: another prediction of the same measurement, or the
/// same measurement on another system. It is evaluated only where controls are judged.
struct Alternative {
  std::string name;  ///< of the control or rival
  /// What it predicts, from what the claim does.
  std::function<std::vector<Quantity>(const std::vector<Quantity>& claimed)> predicts = {};
  /// What the procedure measures on the other system; the claim's prediction stands.
  std::function<std::vector<Quantity>()> measures = {};
};
Alternative alternative(std::string_view name, Numbers predicted_instead);
Alternative alternative(std::string_view name, Times of_the_claim);
Alternative alternative(std::string_view name, Instead predicted_instead);
/// `measure()` returns one number, or one a place.
template <std::invocable Measure>
Alternative alternative(std::string_view name, Measure measure) {
  return {std::string(name), {}, [own = std::move(measure)] { return Numbers(own()).all; }};
}

/// A measurement at one or many places (times, components), what is predicted of it, and what
/// controls and rivals predict. The place that misses most is reported.
///
///   it.judge(rises_last, equal("rate of the last rise", rise.rate, rise.linearised)
///                            .at("t = 12.5")
///                            .unless(last_rate, times(1.1)));
struct Comparison {
  EvidenceKind kind = EvidenceKind::numerical;
  std::string what;
  std::vector<Quantity> measured;  ///< one a place
  Relation relation = Relation::equal;
  std::vector<Quantity> predicted;  ///< one a place, or one for all
  /// What a mistake is relative to, one a place or one for all, > 0; empty: |predicted|.
  std::vector<double> scale = {};
  std::vector<Alternative> controls = {}, rivals = {};
  std::vector<std::string> places = {};  ///< "t = 12.5"; empty: not reported
  std::string detail = {};

  Comparison& of_kind(EvidenceKind own);
  /// One more place.
  Comparison& add(std::string place, Quantity own_measured, Quantity own_predicted);
  Comparison& at(std::string place);
  Comparison& at(std::vector<std::string> all_places);
  /// What a mistake is relative to: a number for all places, or one a place.
  Comparison& in_units_of(double unit);
  Comparison& in_units_of(std::vector<double> units);
  Comparison& with(std::string own_detail);
  /// The control predicts other numbers of the same measurement, a multiple of the claim's, or numbers
  /// that are computed in its place; or the same procedure measures other numbers on the mistaken system.
  template <class Version = Numbers>
  Comparison& unless(const Control& control, Version version) {
    controls.push_back(alternative(control.name, std::move(version)));
    return *this;
  }
  /// The same of a rival.
  template <class Version = Numbers>
  Comparison& against(const Rival& rival, Version version) {
    rivals.push_back(alternative(rival.name, std::move(version)));
    return *this;
  }
};
/// measured = predicted, measured <= predicted, measured < predicted; numbers for each place may be
/// added later.
Comparison equal(std::string what, Numbers measured = {}, Numbers predicted = {});
Comparison at_most(std::string what, Numbers measured = {}, Numbers predicted = {});
Comparison below(std::string what, Numbers measured = {}, Numbers predicted = {});

/// An identity, and what mistakes make of it.
struct Identity {
  EvidenceKind kind = EvidenceKind::symbolic;
  std::string what;
  std::function<Truth()> holds;
  std::vector<std::pair<std::string, std::function<Truth()>>> mistakes = {};
  std::string detail = {};

  Identity& of_kind(EvidenceKind own);
  Identity& with(std::string own_detail);
  Identity& unless(const Control& control, std::function<Truth()> truth);
};
Identity identity(std::string what, std::function<Truth()> holds);

/// A declared hypothesis on one instance.
struct EvaluatedHypothesis {
  std::string text;
  Truth met = Truth::undecided;
  std::string by_how_much;
  Basis basis = Basis::evaluated;
  /// >= 0 where it is met, in the hypothesis' own unit; NaN where it has none.
  double margin = 0;
};

struct Examination;
/// The evidence against one control or rival.
struct EvidenceAgainst {
  std::string name;
  std::vector<Evidence> evidence;
  /// Whether some prediction or measurement of it may differ from the claim's on this instance: on a degenerate one a
  /// mistake can be none.
  bool differs = false;
  [[nodiscard]] Verdict verdict() const;
};

struct Examination {
  std::vector<EvaluatedHypothesis> hypotheses;
  std::vector<Evidence> evidence;
  std::vector<EvidenceAgainst> controls, rivals;
  Record parameters;  ///< the instance, enough to run it again
  /// Whether controls and rivals are to be evaluated as well.
  bool with_controls = true;

  /// An evaluated hypothesis: met where margin >= 0 for certain, not met where it is < 0 for
  /// certain, undecided where its error covers 0. Returns false where it is not met.
  bool require(const Hypothesis& hypothesis, const Quantity& margin, std::string by_how_much = {});
  /// The same where equality does not do: met where margin > 0 for certain.
  bool require_positive(const Hypothesis& hypothesis, const Quantity& margin,
                        std::string by_how_much = {});
  /// An evaluated hypothesis that has no margin.
  bool require(const Hypothesis& hypothesis, Truth met, std::string by_how_much = {});
  template <std::same_as<bool> Bool>
  bool require(const Hypothesis& hypothesis, Bool met, std::string by_how_much = {}) {
    return require(hypothesis, met ? Truth::yes : Truth::no, std::move(by_how_much));
  }
  /// Decides a clause of the claim.
  void judge(const Clause& clause, const Comparison& comparison);
  void judge(const Clause& clause, const Identity& identity);
  /// The same of a claim that has no clauses.
  void judge(const Comparison& comparison);
  void judge(const Identity& identity);
  /// Reported; does not affect the verdict.
  void report(std::string what, double value, std::string detail = {});

  /// not_applicable if a hypothesis is not met; else the worst of the evidence.
  [[nodiscard]] Verdict verdict() const;
  /// The worst of the evidence, whatever the hypotheses.
  [[nodiscard]] Verdict conclusion() const;
  /// The worst of the evidence that decides a clause; inconclusive without any.
  [[nodiscard]] Verdict verdict(const Clause& clause) const;
  /// The same examination with every equality allowed this share of its scale more.
  [[nodiscard]] Examination within(double share) const;
  /// The judged evidence of least relative margin; nullptr if there is none.
  [[nodiscard]] const Evidence* nearest_to_failing() const;
  /// Of the evidence with the worst verdict that which has the largest share_of_allowed; nullptr if all are
  /// identities.
  [[nodiscard]] const Evidence* tightest() const;
  /// The first hypothesis that is not met; nullptr if there is none.
  [[nodiscard]] const EvaluatedHypothesis* broken() const;
};

}  // namespace popgrad
