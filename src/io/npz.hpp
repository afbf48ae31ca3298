#pragma once
/// NumPy's .npz: a ZIP (ZIP64 where needed) of .npy arrays, stored uncompressed.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace popgrad {

using NpzArrays = std::vector<std::pair<std::string, std::vector<double>>>;

/// One float64 array (n) a name, plus `command` as a text of dimension 0; atomic.
void write_npz(const std::filesystem::path& path, const NpzArrays& arrays,
               const std::string& command);

/// The one-dimensional numeric arrays of a file (float64, float32, int64, int32), others left out.
/// Throws InputError naming the file and array for anything truncated or unreadable.
NpzArrays read_npz(const std::filesystem::path& path);

}  // namespace popgrad
