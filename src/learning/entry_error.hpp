#pragma once
/// A mistake in an entry of a SampleLoss, for readers of files, which have the place of every entry.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "formulas/syntax.hpp"
#include "popgrad/base/error.hpp"

namespace popgrad::learning {

/// Reads "MODEL: ENTRY REASON", or "MODEL: ENTRY: line 1, column 7: REASON" for a mistake within its formula.
class EntryError : public InputError {
 public:
  EntryError(const std::string& model, std::string entry, std::string reason)
      : InputError(fmt::format("{}: {} {}", model, entry, reason)),
        entry_(std::move(entry)),
        reason_(std::move(reason)) {}
  EntryError(const std::string& model, std::string entry, const InputError& within)
      : InputError(fmt::format("{}: {}: {}", model, entry, within.what())),
        entry_(std::move(entry)),
        reason_(within.what()) {
    if (const auto* error = dynamic_cast<const formulas::FormulaError*>(&within)) {
      place_ = error->place();
      reason_ = error->reason();
    }
  }

  /// Its kind and its name: "draw x", "loss step loss".
  [[nodiscard]] const std::string& entry() const { return entry_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }
  /// Within the formula, if it is in one.
  [[nodiscard]] const std::optional<formulas::Place>& place() const { return place_; }

 private:
  std::string entry_, reason_;
  std::optional<formulas::Place> place_;
};

}  // namespace popgrad::learning
