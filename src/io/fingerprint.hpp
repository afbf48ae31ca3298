#pragma once
#include <string>
#include <string_view>

namespace popgrad {

/// Of any text, 32 hexadecimal digits. Two texts have the same one by chance with probability
/// 2^-128; it is no protection against intent.
std::string fingerprint(std::string_view text);

}  // namespace popgrad
