#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "commands/commands.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/interrupt.hpp"
#include "commands/progress.hpp"
#include "commands/statement_choice.hpp"
#include "io/plain_text.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/error_ratios.hpp"
#include "presenting/reproduction.hpp"
#include "presenting/result_table.hpp"

namespace popgrad::cli {
namespace {

struct ErrorRatioOptions {
  std::vector<std::string> patterns;
  ErrorRatioRequest request;
  bool quiet = false;
};

struct Row {
  const Statement* statement = nullptr;
  ErrorRatios ratios;
};

std::string ratios_text(const std::vector<Row>& rows, const std::vector<std::string>& unrefined,
                        const Caller& caller) {
  ResultTable table({words("statement"), words("sharper", 7, 2), numbers("instances", 9),
                     numbers("numbers", 8), numbers("better", 8), numbers("largest", 8, ".3g"),
                     numbers("moved", 9, ".2g"), numbers("stated", 9, ".2g")});
  for (const Row& row : rows) {
    const ErrorRatios& r = row.ratios;
    const double better =
        r.numbers == 0 ? 0 : static_cast<double>(r.known_better) / static_cast<double>(r.numbers);
    table.add(row.statement->id, r.sharper, r.instances, r.numbers,
              fmt::format("{:.0f}%", 100 * better), r.largest, r.moved, r.stated);
    if (r.largest <= 1) continue;
    table.note("  a part is too small: {}\n    {}\n", plain_text(r.what),
               verification_line(caller, *row.statement, r.seed, r.point));
  }
  std::string text = table.text();
  if (!unrefined.empty()) {
    text += fmt::format("\nnothing can be sharper in: {}\n", fmt::join(unrefined, ", "));
  }
  return text +
         "\nlargest: what a number moves by as its measurement is made sharper, over the sum of "
         "its\n"
         "error parts before and after; at most 1 where the parts are bounds. better: numbers "
         "whose\n"
         "parts fall to half at least. moved, stated: at the largest\n";
}

int execute(const ErrorRatioOptions& o, const Invocation& call) {
  const auto statements = matching_statements(call.theories, "popgrad error-ratios", o.patterns);
  std::vector<Row> rows;
  std::vector<std::string> unrefined;
  bool stopped = false;
  std::size_t done = 0;
  {
    Progress bar("error ratios", o.quiet);
    for (const Statement* statement : statements) {
      ErrorRatioRequest request = o.request;
      request.on_progress = [&] {
        bar.update(static_cast<double>(done) / static_cast<double>(statements.size()),
                   statement->id);
        return stopped = interrupted();
      };
      if (!statement->needs_data) {
        try {
          const std::vector<ErrorRatios> found = error_ratios(*statement, request);
          if (found.empty() && !stopped) unrefined.push_back(statement->id);
          for (const ErrorRatios& ratios : found) rows.push_back({statement, ratios});
        } catch (const Stopped&) {
          stopped = true;
        }
      }
      if (stopped) break;
      ++done;
    }
  }
  std::fputs(ratios_text(rows, unrefined, caller_of(call)).c_str(), standard_output());
  if (stopped) {
    fmt::print(standard_error(),
               "popgrad: interrupted after {} of {} statements; go on with: {} {}\n", done,
               statements.size(), caller_of(call).line("error-ratios"), statements[done]->id);
  }
  const bool bounds =
      std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.ratios.largest <= 1; });
  return combined(bounds ? success : violation, stopped ? numerical_failure : success);
}

}  // namespace

Action add_error_ratios(CommandLine& app, const Invocation& call) {
  auto o = std::make_shared<ErrorRatioOptions>();
  Command* command = app.add_subcommand(
      "error-ratios", "true errors of measurements over the bounds stated for them");
  command
      ->add_option("statements", o->patterns,
                   "ids or globs such as " + example_statements(call.theories))
      .required();
  command->add_option("--instances", o->request.instances, Whole{within(1, 1e6), "30"},
                      "number of random instances; a search adds as many with the least margins");
  command->add_option("--seconds", o->request.seconds, Number{any_budget, "15", "seconds"},
                      "budget of each statement");
  command->add_option("--seed", o->request.seed, Whole{any_seed, "1"}, "fixes the instances");
  command->add_option("--jobs", o->request.jobs, Whole{any_jobs, "0"},
                      "threads of one examination; 0: all cores");
  command->add_flag("-q,--quiet", o->quiet, "no progress on standard error");
  command->introduce("error-ratios " + example_statement(call.theories) + " --instances 5");
  command->footer(
      "Each instance is examined again with tighter solves, in 40 digits, with limits taken "
      "further, and with\n"
      "shorter steps.\n"
      "Exit status: 0 all parts are bounds on these instances; 1 one is not.");
  return [o, call] { return execute(*o, call); };
}

}  // namespace popgrad::cli
