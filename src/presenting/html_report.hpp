#pragma once
/// Verdicts, equations, ladders, figures and errata as one page that a person can read.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "presenting/report_part.hpp"

namespace popgrad {

struct ReportContent {
  std::string command;
  std::vector<std::pair<std::string, std::string>> versions;  ///< name, version
  std::uint64_t seed = 1;
  double false_alarm = 1e-3;  ///< of all statements
  std::vector<ReportPart> parts;
  std::size_t planned = 0;  ///< how many parts there will be
  /// How many parts of each kind ("statements", "ladders", ...) are from earlier runs.
  std::map<std::string, std::size_t> kept;
};

/// Self-contained: inline pictures, no other file and no address. Says so where parts are missing.
std::string html_report(const ReportContent& report);

}  // namespace popgrad
