#pragma once
/// The observables of a model with their formulas, as its page defines them.

#include <string>
#include <string_view>

namespace popgrad {

/// The section "Observables" of theorems/MODEL/README.md, compiled in; empty for other models.
std::string_view observables_text(std::string_view model);

/// Such a section as HTML: paragraphs, blocks of formulas, and tables whose cells are running text
/// with formulas. `caption` is that of its tables.
std::string observables_html(std::string_view section, std::string_view caption);

}  // namespace popgrad
