#pragma once
/// Where a paper and the algebra disagree.
///
/// An erratum says what kind of disagreement it is, where the claim stands, how its text is known,
/// and which hypotheses of the claim the instance of the evidence meets. Its evidence is judged as that
/// of a statement: what is measured agrees with the corrected form within the computed errors and misses
/// what the paper has by more than them, in two examinations.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "popgrad/evidence/examination.hpp"

namespace popgrad {

/// What kind of disagreement an erratum is; never mixed.
enum class ErratumClass {
  error,                ///< a printed formula or step is false as printed
  does_not_transfer,    ///< true in its setting, false in one where it is commonly used
  could_not_reproduce,  ///< a figure or number whose inputs are not given
};
std::string name_of(ErratumClass kind);

/// How the text of a claim is known, the best first.
enum class SourceGrade {
  full_text,     ///< the version that the place names, read in full
  reviews,       ///< public reviews and the authors' replies
  authors_code,  ///< the authors' scripts and logs
  third_party,   ///< reports by others; weak
  not_seen,      ///< no source: what is said of the claim is our reading
};
std::string name_of(SourceGrade grade);

struct Erratum {
  std::string name;  ///< MODEL.SUBJECT
  ErratumClass kind = ErratumClass::error;
  std::string statement;  ///< id of the statement that shows it
  /// "arXiv 2305.16380v4, Theorem 4", or "arXiv 2410.23438 (version not known), ...".
  std::string place;
  std::vector<SourceGrade> grades;  ///< of all sources of the claim
  std::string known;                ///< the same in words: what was read, what was not
  std::string claim;                ///< hypotheses and conclusion of the claim, in our words
  std::string paper_says;           ///< what is printed; says "not seen" where nothing was read
  std::string algebra_says;
  std::string effect;  ///< what becomes of the paper's conclusions
  /// The hypotheses of the claim on the instance of the evidence, then the evidence: the corrected
  /// form is what comparisons and identities claim, `in_paper` the control against which they do.
  std::function<void(Examination&)> examine;
};

/// What the paper has in place of the corrected form: `.unless(in_paper, value)`.
inline constexpr Control in_paper{"paper", "what the paper has in place of the corrected form"};
/// Judges what the paper has where there is no corrected form: it has to be violated.
void refute(const Comparison& of_paper, Examination& it);

/// What an examination and a second, sharper one (popgrad/scalars/refinement.hpp) found of an erratum.
struct ErratumFinding {
  Examination examination;  ///< what the second does not show again is inconclusive
  std::string refined;      ///< what was sharper; empty: nothing could be
  [[nodiscard]] const std::vector<Evidence>& of_paper() const;
  /// The corrected form holds and the paper's is violated, in every piece of evidence; an erratum that
  /// is not shown is one of ours.
  [[nodiscard]] bool shown() const;
};
ErratumFinding examine(const Erratum& erratum);

/// A hypothesis of the claim that holds whatever the instance: `why` says by what.
EvaluatedHypothesis met_by_construction(std::string text, std::string why);
/// A hypothesis of the claim that is not met, or not known to be: `why`.
EvaluatedHypothesis not_evaluated(std::string text, std::string why);

}  // namespace popgrad
