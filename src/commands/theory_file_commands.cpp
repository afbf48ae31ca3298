#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "commands/commands.hpp"
#include "commands/exit_status.hpp"
#include "commands/host.hpp"
#include "io/atomic_file.hpp"
#include "io/input_files.hpp"
#include "popgrad/base/error.hpp"
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

}  // namespace popgrad::cli
