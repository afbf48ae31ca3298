#pragma once
/// Bad input, said in one line: who, which parameter, its value, what is allowed, what to do.

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace popgrad {

/// A mistake of the caller; the commands answer it with exit status 2.
class InputError : public std::invalid_argument {
 public:
  /// The message in one line, whatever input it quotes: control characters are written as \x0A.
  explicit InputError(std::string_view message);
};

/// Throws InputError reading `WHERE: PARAMETER VALUE RULE`.
[[noreturn]] void reject(std::string_view where, std::string_view parameter, std::string_view value,
                         std::string_view rule);

/// "; did you mean 'NAME'?" for the nearest candidate, or empty if none is near.
std::string suggestion(std::string_view given, std::span<const std::string> candidates);

}  // namespace popgrad
