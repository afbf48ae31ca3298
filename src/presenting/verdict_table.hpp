#pragma once
/// Findings as a table for people, as JSON, and as LaTeX for a paper.

#include <string>
#include <string_view>
#include <vector>

#include "popgrad/evidence/statement.hpp"
#include "popgrad/evidence/survey.hpp"
#include "presenting/reproduction.hpp"

namespace popgrad {

struct Verification {
  std::vector<Finding> findings;
  std::vector<Survey> surveys;  ///< one a finding, or none at all
  std::size_t finished = 0;     ///< without a survey that was interrupted
  std::uint64_t seed = 1;
  double false_alarm = 1e-3;  ///< of the whole verification
  std::string command;
  Caller caller;         ///< of lines that repeat an instance
  bool of_file = false;  ///< on the user's instance, which needs no such line
};

/// What the column off/allowed has.
inline constexpr std::string_view meaning_of_worst =
    "how far the comparison nearest to failing is off, in units of its error bound; above 1 it is "
    "violated; negative on the right side of an inequality, below -1 where equality would not do";
/// "symbolic, numerical", in their order.
std::string evidence_kinds(const Examination& examination);
/// Of share_of_allowed: "0.43", "-35", with as many digits as keep it on its side of 1; "exact" on the
/// right side of an inequality between exact numbers.
std::string share_text(double share);
/// "0.61 against 0.62; off by 0.01, 0.43 of the allowed 0.023 (solver 0.02 + rounding 0.003)".
std::string numbers_text(const Evidence& item);
/// "confirmed by a second examination: solves in 40 digits".
std::string confirmation_text(const Confirmation& confirmation);
/// `id verdict evidence off/allowed controls rivals seconds`, aligned, and the sums; violated ones with their
/// counterexample.
std::string verdict_table(const Verification& verification);
/// A line a statement: shares of its drawn instances, and the power of its weakest control.
std::string survey_table(const Verification& verification);
/// The same as a table of a README: claim, system, clauses, false version, rival, and what a survey found.
std::string survey_markdown(const Verification& verification);
/// The hypotheses of every finding, each with its margin and how it is known.
std::string hypothesis_table(const Verification& verification);
/// Hypotheses and conclusions of one run, a line each, aligned.
std::string audit_table(const Examination& audit);
/// One statement a block: every piece of evidence with its bound and reason.
std::string verdict_details(const Verification& verification);
std::string verdict_json(const Verification& verification);
/// A tabular for \input, with the line that makes it as a comment.
std::string verdict_latex(const Verification& verification);

}  // namespace popgrad
