#pragma once
/// What sections of a theory file have in common: tables with known keys, formulas with their places.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "io/toml_tree.hpp"

namespace popgrad::theory_files {

/// A formula with its place in the file.
struct PlacedFormula {
  std::string entry;  ///< as the file has it: draw.x
  TomlNode node;
  std::string file = {};  ///< empty: that of the theory
};
/// By the kind and name that messages of the room learning begin with: "draw x", "loss step loss".
using Places = std::map<std::string, PlacedFormula>;

/// All throw InputError "FILE:LINE:COLUMN: ENTRY: REASON".
class EntryReader {
 public:
  EntryReader(std::string file, Places& places) : file_(std::move(file)), places_(places) {}

  [[noreturn]] void refuse(const TomlNode& at, const std::string& entry,
                           const std::string& reason) const;
  /// With the value before its rule.
  [[noreturn]] void refuse_value(const TomlNode& at, const std::string& entry,
                                 const std::string& rule) const;
  [[noreturn]] void refuse(TextPlace at, const std::string& entry, const std::string& reason) const;

  void check_keys(const TomlNode& table, const std::string& entry,
                  const std::vector<std::string>& known) const;
  void require_kind(const TomlNode& node, const std::string& entry, TomlNode::Kind kind) const;
  /// Reads every entry of a section, with its name in the file.
  void each(const TomlNode& root, const char* section,
            const std::function<void(const TomlNode&, const std::string&)>& read) const;
  /// A text of a table; empty where it is not there.
  [[nodiscard]] std::string text(const TomlNode& table, const char* key,
                                 const std::string& entry) const;
  /// A text or a number, whose place is kept under `learned`.
  std::string formula(const TomlNode& node, const std::string& entry, const std::string& learned);
  [[nodiscard]] long whole(const TomlNode& node, const std::string& entry, long least) const;
  [[nodiscard]] double number(const TomlNode& node, const std::string& entry) const;

 protected:
  void keep_place(const std::string& learned, const std::string& entry, const TomlNode& node) {
    places_.insert_or_assign(learned, PlacedFormula{entry, node, file_});
  }

 private:
  std::string file_;
  Places& places_;
};

/// "a table"
std::string name_of(TomlNode::Kind kind);

}  // namespace popgrad::theory_files
