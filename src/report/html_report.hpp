#pragma once
/// Verdicts, ladders, figures and errata as one page that a person can read.

#include <string>
#include <utility>
#include <vector>

#include "report/regime_table.hpp"
#include "report/verdict_table.hpp"

namespace popgrad {

/// A picture of the page.
struct ReportPicture {
  std::string name;
  std::string title;  ///< also what readers are told who do not see it
  std::string svg;
  std::string command;  ///< the line that makes it
};

/// What the assumptions of one model cost.
struct ReportLadder {
  std::string model, paper;
  std::string table;  ///< as on a terminal
  ReportPicture picture;
};

/// When the regimes of one model set in, on the rungs of its ladder that show them.
struct ReportRegimes {
  std::string model;
  std::vector<std::pair<std::string, RungRegimes>> steps;  ///< `gd -> flow` and one of the two
};

struct ReportContent {
  std::string command;
  std::vector<std::pair<std::string, std::string>> versions;  ///< name, version
  Verification verification;
  Verification survey;  ///< of drawn instances; without findings: none was asked for
  std::vector<ReportLadder> ladders;
  std::vector<ReportRegimes> regimes;
  std::vector<ReportPicture> figures;
  std::vector<Erratum> errata;
};

/// Self-contained: inline pictures, no file and no address beside it.
std::string html_report(const ReportContent& report);

}  // namespace popgrad
