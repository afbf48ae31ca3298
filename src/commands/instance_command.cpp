#include <fmt/format.h>

#include <cstdio>

#include "commands/commands.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/instance_file.hpp"
#include "commands/statement_choice.hpp"
#include "commands/verification.hpp"
#include "io/atomic_file.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/rungs/model.hpp"
#include "presenting/reproduction.hpp"

namespace popgrad::cli {
namespace {

constexpr const char* popgrad_instance = "popgrad instance";

struct InstanceOptions {
  std::string id, output = "-";
  std::vector<std::string> knobs;
  std::uint64_t seed = 1;
};

int execute(const InstanceOptions& o, const Invocation& call) {
  const std::vector<const Statement*> chosen =
      matching_statements(call.theories, popgrad_instance, {o.id});
  if (chosen.size() != 1) {
    reject(popgrad_instance, "statement", o.id,
           fmt::format("matches {} statements; an instance is of one", chosen.size()));
  }
  const Statement& statement = *chosen.front();
  Setting setting;
  setting.seed = o.seed;
  setting.chosen = chosen_knobs(popgrad_instance, o.knobs, chosen);
  if (o.output != "-") check_writable(o.output);
  const auto refuse = [&](const std::string& why) {
    throw InputError(
        fmt::format("{}: {}: {}; its instance is: {}", popgrad_instance, statement.id, why,
                    verification_line(caller_of(call), statement, setting.seed, setting.chosen)));
  };
  if (statement.reads.empty()) refuse("reads no instance file");
  const ExaminedInstance found = examined_instance(statement, setting);
  if (!found.none.empty()) refuse(found.none);
  const std::string model = statement.id.substr(0, statement.id.find('.'));
  const std::string text =
      instance_text(statement, setting, found, find_model(call.theories, model).parameters());
  if (call.results != nullptr) call.results->document = text;
  if (o.output == "-") {
    std::fputs(text.c_str(), standard_output());
  } else {
    write_atomically(o.output, text);
  }
  return success;
}

}  // namespace

Action add_instance(CommandLine& app, const Invocation& call) {
  auto o = std::make_shared<InstanceOptions>();
  Command* command = app.add_subcommand(
      "instance", "the instance that a statement examines, as a file for verify --instance");
  command->add_option("statement", o->id, "id such as " + example_statement(call.theories))
      .required();
  command->add_option("--seed", o->seed, Whole{any_seed, "1"}, "that makes the instance");
  command->add_option("--set", o->knobs,
                      "KNOB=VALUE of the instance (repeatable; see 'popgrad list ID')");
  command->add_option("-o,--output", o->output, "file, .json (default -: standard output)")
      .kind("output file");
  const auto reads_file = [](const Statement& s) { return !s.reads.empty(); };
  command->introduce("instance " + example_statement(call.theories, reads_file) +
                     " --seed 2 -o instance.json");
  command->footer(
      "Of a statement that reads no file it prints the options of verify that make the instance, "
      "with exit status 2.");
  return [o, call] { return execute(*o, call); };
}

}  // namespace popgrad::cli
