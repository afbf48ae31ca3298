#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "commands/commands.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "commands/options.hpp"
#include "io/atomic_file.hpp"
#include "io/input_files.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theory.hpp"
#include "theory_files/account.hpp"

namespace popgrad::cli {

Action add_check(CommandLine& app, const Invocation& /*call*/) {
  Command* command = app.add_subcommand(
      "check", "a theory file: its shapes, laws, expectations and costs, before anything runs");
  auto file = std::make_shared<std::string>();
  command->add_option("file", *file, "theory, .toml").required().kind("input file");
  command->introduce("check law.toml");
  return [file]() -> int {
    theory_files::TheoryFile read = theory_files::parse_theory_file(read_file(*file), *file);
    std::fputs(theory_files::account_of(read).c_str(), standard_output());
    return success;
  };
}

Action add_new(CommandLine& app, const Invocation& /*call*/) {
  Command* command = app.add_subcommand("new", "write a theory file to begin with, which runs");
  auto file = std::make_shared<std::string>();
  command->add_option("file", *file, "FILE.toml, which must not be there yet")
      .required()
      .kind("output file");
  command->introduce("new law.toml");
  return [file]() -> int {
    const std::filesystem::path path = *file;
    if (path.extension() != ".toml") reject("popgrad new", "file", *file, "must end in .toml");
    if (std::filesystem::exists(std::filesystem::symlink_status(path)))
      reject("popgrad new", "file", *file, "is there already; give another name");
    const std::string name = path.stem().string();
    if (!theory_files::is_theory_name(name)) {
      reject("popgrad new", "file", *file,
             "must have a name that begins with a letter and has letters, digits, - and _");
    }
    write_atomically(path, theory_files::skeleton(name));
    return success;
  };
}

Action add_export(CommandLine& app, const Invocation& call) {
  Command* command =
      app.add_subcommand("export", "the training of a theory file as a script for PyTorch");
  auto torch = std::make_shared<bool>(false);
  auto output = std::make_shared<std::string>("-");
  command->add_option("model", "theory, .toml").required();
  command->add_flag("--torch", *torch, "a PyTorch script, whose log 'compare --with' reads");
  command->add_option("-o,--output", *output, "file, .py (default -: standard output)")
      .kind("output file");
  auto common =
      add_common_options(*command, call, {OptionGroup::law, OptionGroup::seed, OptionGroup::quiet});
  command->introduce("export law.toml --torch -o train.py");
  return [=]() -> int {
    common->model = command->get_option("model").as<std::string>();
    apply_config(*command, *common);
    const Theory& theory = find_theory(common->theories, common->model);
    if (!theory.training_script)
      reject("popgrad export", "model", common->model, "is no theory file; give FILE.toml");
    if (!*torch) throw InputError("popgrad export: give --torch, the only form that there is");
    const Parameters parameters = gather_parameters(*common, *theory.model, "sgd");
    const std::string script = theory.training_script(parameters, common->seed);
    if (*output == "-") {
      std::fputs(script.c_str(), standard_output());
    } else {
      write_atomically(*output, script);
    }
    return success;
  };
}

}  // namespace popgrad::cli
