#pragma once
/// A statement of a paper, made checkable: claim, hypotheses, evidence, verdict, negative controls.
///
/// One function examines both the claim and its deliberately wrong versions, at the same settings:
/// a check that cannot tell them apart is void, and says so.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/index.hpp"
#include "popgrad/knob.hpp"
#include "popgrad/record.hpp"
#include "popgrad/scalar.hpp"

namespace popgrad {

enum class Verdict { holds, violated, inconclusive, not_applicable };
enum class EvidenceKind {
  symbolic,     ///< an identity for generic symbols
  exact,        ///< at these parameters, in rational arithmetic
  certified,    ///< rounding enclosed by intervals
  numerical,    ///< to a stated tolerance
  statistical,  ///< confidence interval over seeds, corrected for many looks
  report,       ///< a measurement that is told, not asserted; never changes the verdict
};
std::string name_of(Verdict verdict);
std::string name_of(EvidenceKind kind);

/// One thing that was measured against one thing that was predicted.
struct Evidence {
  EvidenceKind kind = EvidenceKind::numerical;
  std::string what;  ///< "drift of the residual over 0..200"
  Verdict verdict = Verdict::inconclusive;
  double measured = 0;
  double allowed = 0;  ///< measured <= allowed is what holds asks for
  std::string reason;  ///< why `allowed` is what it is
  std::string detail;  ///< the counterexample, intervals, sample sizes
};

/// holds iff measured <= allowed; NaN is inconclusive.
Evidence bounded(EvidenceKind kind, std::string what, double measured, double allowed,
                 std::string reason, std::string detail = {});
/// An identity: holds iff `truth` is yes, violated iff no, inconclusive iff undecided.
Evidence identity(EvidenceKind kind, std::string what, Truth truth, std::string detail = {});
/// How far inside its bound an item is, in units of the bound: 1 at best, 0 on the bound, negative
/// outside. An identity has 1 or -1; what is undecided or not judged, NaN.
double relative_margin(const Evidence& item);
/// Told, not judged.
Evidence reported(std::string what, double measured, std::string detail = {});

struct Hypothesis {
  std::string text;
  Truth met = Truth::undecided;
  std::string by_how_much;
};

struct Examination {
  std::vector<Hypothesis> hypotheses;
  std::vector<Evidence> evidence;
  Record parameters;  ///< the instance, enough to run it again
  /// not_applicable if a hypothesis is not met; else the worst of the evidence.
  [[nodiscard]] Verdict verdict() const;
  /// The worst of the evidence, whatever the hypotheses.
  [[nodiscard]] Verdict conclusion() const;
  /// The judged evidence of least relative margin; nullptr if there is none.
  [[nodiscard]] const Evidence* nearest_to_failing() const;
  /// The evidence with the smallest relative distance to its bound; nullptr if there is none.
  [[nodiscard]] const Evidence* tightest() const;
};

struct Setting {
  std::uint64_t seed = 1;
  int jobs = 0;               ///< threads; 0: all cores
  double false_alarm = 1e-3;  ///< this statement's share of the budget of the whole `verify`
  std::string data_file;      ///< of `--data`; empty: none
  bool full = false;          ///< larger samples
  /// Values of knobs, by name; the usual one where there is none.
  std::map<std::string, double, std::less<>> chosen;
  /// Leave out evidence that is the same whatever the knobs and the seed.
  bool only_what_varies = false;
  /// What an equality may be off by, relative, where a broken hypothesis is examined; 0: the bound
  /// of the statement.
  double slack = 0;

  [[nodiscard]] double value(const Knob& knob) const;
  /// Of a knob of whole numbers.
  [[nodiscard]] Index count(const Knob& knob) const;
  /// The bound of an equality: `bound`, or the slack where that is larger.
  [[nodiscard]] double allow(double bound) const { return slack > bound ? slack : bound; }
};

struct Control {
  std::string name;
  std::string what_is_wrong;  ///< the one thing that is broken, and by how much
};

struct Statement {
  std::string id;      ///< joma.salient-first
  std::string claim;   ///< one line
  std::string paper;   ///< arXiv id and theorem
  std::string status;  ///< proved in source | observed in source | derived here
  std::vector<std::string> hypotheses;
  std::vector<EvidenceKind> reaches;  ///< the kinds of evidence that the check produces
  std::vector<Control> controls;
  bool needs_data = false;
  /// What the check reads by `setting.value(knob)`, besides the seed.
  std::vector<Knob> knobs = {};
  /// `variant` is empty for the claim, or the name of a control.
  std::function<Examination(const Setting&, std::string_view variant)> examine;
};

/// Where a paper's formula and the algebra disagree.
struct Erratum {
  std::string name;
  std::string statement;   ///< id of the statement that shows it
  std::string paper_says;  ///< with the place
  std::string algebra_says;
  std::function<std::vector<Evidence>()> evidence;  ///< computed when asked for
};

/// What `verify` tells of one statement.
struct Finding {
  const Statement* statement = nullptr;
  Verdict verdict = Verdict::inconclusive;
  Examination examination;
  std::vector<std::pair<Control, Examination>> controls;
  std::string failure;  ///< what stopped the check, if something did
  double seconds = 0;
  bool lacks_data = false;  ///< needs --data; does not count against the exit status
  /// Holds, and every control is refuted.
  [[nodiscard]] bool sound() const;
};

/// Examines the claim and every control.
Finding check(const Statement& statement, const Setting& setting);

/// All statements and errata, in the order of `popgrad list` (theorems/registry.cpp).
const std::vector<Statement>& statements();
const std::vector<Erratum>& errata();

}  // namespace popgrad
