#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <utility>

#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/statement_choice.hpp"
#include "commands/verification.hpp"
#include "io/atomic_file.hpp"

#include "commands/commands.hpp"

namespace popgrad::cli {
namespace {

struct VerifyOptions {
  VerificationOptions verification;
  std::string json, latex, markdown;
  bool details = false;
};

// What a run writes of its findings: the option that names the file, and the text.
struct Document {
  const char* option;
  const std::string* file;
  std::string (*text)(const Verification&);
};

int execute(const VerifyOptions& options, const Invocation& call) {
  const std::vector<const Statement*> chosen =
      matching_statements(call.theories, "popgrad verify", options.verification.patterns);
  if (!options.markdown.empty() && options.verification.seeds == 0) {
    reject("popgrad verify", "--markdown", options.markdown,
           "shows the shares of --seeds N, which is not given");
  }
  const std::array documents{Document{"--json", &options.json, verdict_json},
                             Document{"--latex", &options.latex, verdict_latex},
                             Document{"--markdown", &options.markdown, survey_markdown}};
  for (const Document& document : documents) {
    if (!document.file->empty() && *document.file != "-") {
      check_writable(*document.file, document.option);
    }
  }
  const Verification v = verification_of(options.verification, chosen, call);
  if (call.results != nullptr) call.results->document = verdict_json(v);
  bool table = true;
  for (const Document& document : documents) {
    if (document.file->empty()) continue;
    if (*document.file == "-") {
      std::fputs(document.text(v).c_str(), standard_output());
      table = false;
    } else {
      write_atomically(*document.file, document.text(v));
    }
  }
  if (table) {
    std::fputs((v.surveys.empty() ? verdict_table(v) : survey_table(v)).c_str(), standard_output());
    if (options.details) {
      std::fputs(verdict_details(v).c_str(), standard_output());
    } else if (!options.verification.instance.empty()) {
      std::fputs(hypothesis_table(v).c_str(), standard_output());
    }
  }
  if (v.finished < chosen.size()) {
    fmt::print(standard_error(), "popgrad: interrupted after {} of {} statements{}; go on with: {}",
               v.finished, chosen.size(),
               v.findings.size() > v.finished
                   ? fmt::format(" and {} instances of {}", v.surveys.back().instances,
                                 v.findings.back().statement->id)
                   : "",
               v.caller.line("verify"));
    for (std::size_t i = v.finished; i < chosen.size(); ++i) {
      fmt::print(standard_error(), " {}", chosen[i]->id);
    }
    fmt::print(standard_error(), "\n");
    return combined(status_of(v, options.verification.patterns), numerical_failure);
  }
  return status_of(v, options.verification.patterns);
}

}  // namespace

Action add_verify(CommandLine& app, const Invocation& call) {
  auto o = std::make_shared<VerifyOptions>();
  Command* command = app.add_subcommand("verify", "verdicts on statements, each with its controls");
  add_verification_options(*command, o->verification, call.theories);
  add_instance_options(*command, o->verification);
  add_survey_options(*command, o->verification);
  command->add_option("--json", o->json, "write the findings as JSON (- is standard output)")
      .kind("output file");
  command->add_option("--latex", o->latex, "write the table for a paper (- is standard output)")
      .kind("output file");
  command
      ->add_option(
          "--markdown", o->markdown,
          "with --seeds: write claims, false versions, rivals and powers as the table of a "
          "README (- is standard output)")
      .kind("output file");
  command->add_flag("--details", o->details, "every piece of evidence with its bound and reason");
  command->introduce("verify " + example_statement(call.theories) + " --details",
                     {"--details", "--instance", "--set", "--seeds", "--json"});
  return [o, call] { return execute(*o, call); };
}

}  // namespace popgrad::cli
