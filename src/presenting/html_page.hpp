#pragma once
/// Pieces of a self-contained page: text made safe, pictures inline, the frame around all.

#include <string>
#include <string_view>
#include <vector>

namespace popgrad {

/// Text with <, >, & and quotes as entities.
std::string html_text(std::string_view text);
/// Names as code, with commas between.
std::string code_list(const std::vector<std::string>& names);

/// A picture of gnuplot's svg terminal for use inside a page, with a description for readers who do
/// not see it. `prefix` makes its ids its own, so that several pictures can share a page.
std::string inline_picture(std::string_view svg, std::string_view prefix,
                           std::string_view description);

/// The page around `body`: style for screens, phones, paper and dark rooms, sorting of tables; no
/// other file and no address.
std::string html_page(std::string_view title, std::string_view body);

}  // namespace popgrad
