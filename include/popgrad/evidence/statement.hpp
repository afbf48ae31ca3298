#pragma once
/// A statement of a paper, made checkable: claim, hypotheses, the check, negative controls, rivals.
///
/// The check measures on one instance and judges the claim, every control and every rival on the same numbers
/// (popgrad/evidence/examination.hpp). theorems/README.md says how a statement is made.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/base/index.hpp"
#include "popgrad/evidence/erratum.hpp"
#include "popgrad/evidence/examination.hpp"
#include "popgrad/evidence/knob.hpp"

namespace popgrad {

class Parameters;

/// How much work a check may take; fewer draws show less, and the errors say so.
enum class Effort { search, usual, full };

/// Where and how a statement is examined: an instance is the values of its knobs and a seed, or
/// what a user's file says.
struct Setting {
  std::uint64_t seed = 1;
  int jobs = 0;               ///< threads; 0: all cores
  double false_alarm = 1e-3;  ///< this statement's share of the budget of the whole `verify`
  std::string data_file;      ///< of `--data`; empty: none
  Effort effort = Effort::usual;
  bool with_controls = true;  ///< judge controls and rivals as well
  /// Values of knobs, by name; the usual one where there is none.
  std::map<std::string, double, std::less<>> chosen;
  /// The user's instance, checked by name against the rung that the statement reads; nullptr: the
  /// knobs and the seed make one.
  const Parameters* instance = nullptr;

  [[nodiscard]] double value(const Knob& knob) const;
  /// Of a knob of whole numbers.
  [[nodiscard]] Index count(const Knob& knob) const;
  /// Draws of an ensemble that has `usual` of them: a quarter in a search, ten times as many with
  /// full effort, four times as many in a confirmation.
  [[nodiscard]] std::uint32_t draws(std::uint32_t usual) const;
  /// The seed of ensembles and samples; `seed` makes the instance. The same number, or in a
  /// confirmation one that is independent of it.
  [[nodiscard]] std::uint64_t draw_seed() const;
};

/// A statement as its file declares it, each fact once: what the members below return is what the
/// check uses. `sheet.checked_by(examine)` is the statement.
struct Statement {
  std::string id;          ///< MODEL.SUBJECT
  std::string claim = {};  ///< one line: the clauses, where it has any
  std::string paper;       ///< arXiv id and theorem
  std::string status;      ///< proved in source | observed in source | derived here
  std::string about;       ///< the system that is judged: "the reduced flow"
  std::string theorem;     ///< the claim with its formulas, a line of text a line
  std::vector<Hypothesis> hypotheses = {};
  std::vector<EvidenceKind> reaches = {};  ///< the kinds of evidence that the check produces
  std::vector<Control> controls = {};
  std::vector<Rival> rivals = {};
  /// Why nothing else explains the numbers: an identity, a bound of the paper.
  std::string no_rival = {};
  /// The control or rival that is the smallest false claim which a reader could take the claim for.
  std::string false_version = {};
  bool needs_data = false;
  /// What the check reads by `setting.value(knob)`, besides the seed.
  std::vector<Knob> knobs = {};
  /// The rung whose parameters a user's instance file may give; empty: none can be read.
  std::string reads = {};
  std::vector<Clause> clauses = {};
  /// What is proved for generic symbols, whatever the instance; may be empty.
  std::function<void(Examination&)> derive = {};
  /// Measures on one instance and judges.
  std::function<void(const Setting&, Examination&)> examine = {};

  Clause clause(std::string_view text);
  /// An assertion of the paper's claim that no comparison decides.
  Clause not_checked(std::string_view text);
  Hypothesis assume(const Hypothesis& hypothesis);
  Control control(const char* name, const char* what_is_wrong);
  Rival rival(const char* name, const char* what, const char* fits = "");
  Knob knob(const Knob& own);
  [[nodiscard]] Statement checked_by(std::function<void(const Setting&, Examination&)> check,
                                     std::function<void(Examination&)> derivation = {}) const;
};

/// The examination of one instance; for a control, with its evidence in place of the claim's.
/// Declared hypotheses that were not evaluated are added with their basis. What the statement
/// derives for all instances is not part of it.
Examination examine(const Statement& statement, const Setting& setting,
                    std::string_view control = {});

/// The second examination of an instance on which the first found a miss: tighter solves, more draws
/// from a second seed at a level of 1e-3, limits taken further (popgrad/scalars/refinement.hpp).
struct Confirmation {
  bool attempted = false;
  /// A miss was seen again, of the same sign and by more than the second examination's own errors.
  bool confirmed = false;
  std::string refined;  ///< what was sharper; empty: nothing could be
  /// Why misses were not seen again, and error parts that were too small.
  std::vector<std::string> faults;
};

/// What was found on one instance.
struct Finding {
  const Statement* statement = nullptr;
  Verdict verdict = Verdict::inconclusive;
  Examination examination;
  std::vector<std::pair<Control, Examination>> controls;
  /// Controls and rivals whose predictions on a user's instance are the claim's to the bit; they are not among
  /// `controls` and `rivals`.
  std::vector<Control> same_here;
  std::vector<std::pair<Rival, Examination>> rivals;
  Confirmation confirmation;  ///< of a miss of the claim
  std::string failure;        ///< what stopped the check, if something did
  double seconds = 0;
  bool lacks_data = false;  ///< needs --data; does not count against the exit status
  bool cut_short = false;   ///< by a request to stop; nothing is decided then
  /// Names of the rivals that are not refuted.
  [[nodiscard]] std::vector<std::string> not_distinguished() const;
  /// Whether a rival is more than a control: it fits a free constant, or misses by less than ten times what
  /// the control that misses least does, each in units of what was compared.
  [[nodiscard]] bool counts(const Rival& rival) const;
  /// Holds, so that every rival is refuted, and every control is as well.
  [[nodiscard]] bool sound() const;
  /// The first examination missed, the second did not.
  [[nodiscard]] bool unconfirmed() const {
    return confirmation.attempted && !confirmation.confirmed;
  }
};

/// What is proved for generic symbols; empty where the statement derives nothing.
Examination derive(const Statement& statement);

/// Derives and examines, the claim, every control and every rival; a miss of the claim counts only if it is
/// confirmed, and a claim that passes is inconclusive where a rival passes as well. `derived`: what
/// `derive` found before, for many instances of one statement.
///
/// What an exception means is decided here for every command: std::invalid_argument is the user's
/// input and is thrown on where the user gave an instance or data; where knobs and a seed make it, there is no
/// instance and the statement does not apply. Anything else decides nothing, unless a hypothesis was
/// found broken before.
Finding check(const Statement& statement, const Setting& setting,
              const Examination* derived = nullptr);

/// How one point of a search is judged.
struct PointRequest {
  std::string_view control = {};  ///< against this control; empty: the claim
  double slack = 0;               ///< equalities may be off by this share of their scale
  bool despite_hypotheses =
      false;            ///< the conclusion is asked for, also where a hypothesis is broken
  bool confirm = true;  ///< examine a miss again
};
/// As check, without what is derived, on the claim or one control.
Finding check_point(const Statement& statement, const Setting& setting,
                    const PointRequest& request = {});

}  // namespace popgrad
