#pragma once
#include <optional>
#include <string_view>

namespace popgrad {

/// A field of a table, the one reader for all forms of text: a decimal that a double holds; NaN for nan
/// (any sign, any case) or nothing; an infinity for inf or infinity. None for anything else.
std::optional<double> number_field(std::string_view text);

/// Without the mark of UTF-8 that spreadsheets begin with.
std::string_view without_byte_order_mark(std::string_view text);

}  // namespace popgrad
