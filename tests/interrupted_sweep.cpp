#include "interrupted_sweep.hpp"

#include <filesystem>
#include <sstream>

#include "commands/sweep_rows.hpp"
#include "io/atomic_file.hpp"

namespace command_line {

void leave_interrupted(const std::string& file, const std::vector<std::size_t>& cells) {
  using namespace popgrad;
  std::istringstream in(read_own_file(file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  cli::SweepNote note = cli::read_note(cli::note_of(file)).value();
  note.table.clear();
  std::filesystem::remove(file);
  cli::SweepRows rows("test", file, note, lines.size() - 1, false);
  rows.set_header(lines[0] + "\n");
  for (const std::size_t cell : cells) rows.keep(cell, lines[cell + 1]);
}

}  // namespace command_line
