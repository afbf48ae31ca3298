#include "commands/instance_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/json.hpp"
#include "io/input_files.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad::cli {
namespace {

constexpr std::string_view check_key = "check";

std::uint64_t seed_from(const std::string& file, const std::string& text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc{} || end != text.data() + text.size()) {
    reject(file, "check.seed", text, "must be a whole number from 0 to 2^64 - 1");
  }
  return seed;
}

void read_check(const std::string& file, const Value& value, InstanceFile& made) {
  const Record* check = value.as<Record>();
  if (check == nullptr) reject(file, check_key, "as given", "must be an object");
  const Parameters texts(file, *check);
  for (const auto& [name, part] : check->entries()) {
    if (name == "statement") {
      made.statement = texts.text(name, "");
    } else if (name == "seed") {
      made.seed = seed_from(file, texts.text(name, ""));
    } else if (const Record* knobs = part.as<Record>(); knobs != nullptr && name == "knobs") {
      const Parameters values(file, *knobs);
      for (const auto& entry : knobs->entries()) {
        made.knobs.push_back(fmt::format("{}={}", entry.name, values.text(entry.name, "")));
      }
    } else if (name != "chosen") {  // which follows from the others
      reject(file, fmt::format("{}.{}", check_key, name), "as given",
             "is not known; allowed: statement, seed, and the objects knobs and chosen");
    }
  }
}

bool is_read(const std::string& name, const std::vector<ParameterInfo>& known,
             const std::string& rung) {
  return std::any_of(known.begin(), known.end(), [&](const ParameterInfo& info) {
    return info.name == name && info.is_read_by(rung);
  });
}

}  // namespace

InstanceFile read_instance(const std::string& model, const std::string& file) {
  InstanceFile made{Parameters::parse(model, read_file(file), file), {}, {}, {}};
  if (!made.parameters.has(check_key)) return made;
  const Record all = made.parameters.values();
  made.parameters = Parameters(model);
  for (const auto& [name, value] : all.entries()) {
    if (name == check_key) {
      read_check(file, value, made);
    } else {
      made.parameters.set(name, value);
    }
  }
  return made;
}

std::string instance_text(const Statement& statement, const Setting& setting,
                          const ExaminedInstance& instance,
                          const std::vector<ParameterInfo>& known) {
  // A name a line, so that two files can be compared by eye and by diff.
  std::string text = "{\n";
  for (const auto& [name, value] : instance.parameters.entries()) {
    if (!is_read(name, known, statement.reads)) continue;
    text += fmt::format("  {}: {},\n", json_text(name), json_text(value));
  }
  Record knobs;
  for (const Knob& knob : statement.knobs) knobs[knob.name] = setting.value(knob);
  Record check{{"statement", statement.id}, {"seed", setting.seed}, {"knobs", knobs}};
  if (!instance.chosen.empty()) check["chosen"] = instance.chosen;
  return text + fmt::format("  {}: {}\n}}\n", json_text(check_key), json_text(check));
}

}  // namespace popgrad::cli
