#pragma once
/// The parts of the report: what one statement, ladder, figure or the like adds to its sections.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/evidence/statement.hpp"
#include "popgrad/evidence/survey.hpp"
#include "presenting/html_page.hpp"
#include "presenting/regime_table.hpp"

namespace popgrad {

class Model;

/// What the sums and the exit status need of a statement.
struct Judged {
  std::string id;
  Verdict verdict = Verdict::inconclusive;
  bool sound = false;       ///< holds, and every control is refuted
  bool lacks_data = false;  ///< needs --data
};
Judged judged(const Finding& finding);

struct ReportPart {
  /// HTML by section; of the sections that are tables, their rows.
  std::map<std::string, std::string, std::less<>> html;
  std::optional<Judged> judged;  ///< of a statement
};

/// A picture of the page.
struct ReportPicture {
  std::string name;
  std::string title;  ///< also the alternative text of the picture
  std::string svg;
  std::string command;  ///< the line that makes it
};

/// What the assumptions of one model cost.
struct ReportLadder {
  std::string model, paper;
  std::string table;  ///< as on a terminal
  ReportPicture picture;
  /// When its regimes set in: `gd -> flow`, and one of the two.
  std::vector<std::pair<std::string, RungRegimes>> regimes;
};

/// Rows "verdicts" and "evidence". `figures`: all there are, to name those that show it.
ReportPart statement_part(const Finding& finding, const std::vector<FigureInfo>& figures);
/// A row "power".
ReportPart survey_part(const Statement& statement, const Survey& found);
/// "equations"; `program` is what the commands are called by.
ReportPart equations_part(const Model& model, const std::string& program);
/// "ladders" and "regimes".
ReportPart ladder_part(const ReportLadder& ladder);
/// "figures".
ReportPart figure_part(const ReportPicture& figure);
/// "errata".
ReportPart errata_part(const std::vector<Erratum>& errata);

/// The tables that are made of rows of parts.
std::string verdicts_html(std::string_view rows);
std::string power_html(std::string_view rows);

/// For keeping a part: all of it, and back. Nothing if the text is not of a part.
std::string kept_text(const ReportPart& part);
std::optional<ReportPart> part_of_text(std::string_view text);

}  // namespace popgrad
