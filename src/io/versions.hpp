#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace popgrad {

/// Of popgrad, that made parts of a result.
using Versions = std::vector<std::string>;
/// Only this program's.
Versions this_version();
/// Both, each once.
Versions united(Versions a, const Versions& b);

/// Throws InputError, `WHERE: OPTION FILE ...`, if another version than `own` made a part of what is to
/// be gone on from, unless `same_results` says that both compute the same.
void check_versions(std::string_view where, std::string_view option, const std::string& file,
                    const Versions& versions, const Versions& own, bool same_results);

}  // namespace popgrad
