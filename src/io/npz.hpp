#pragma once
/// NumPy's .npz: a ZIP (ZIP64 where needed) of .npy arrays, stored uncompressed.

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace popgrad {

using NpzArrays = std::vector<std::pair<std::string, std::vector<double>>>;

/// One float64 array (n) a name, plus `command` as a text of dimension 0; atomic.
void write_npz(const std::filesystem::path& path, const NpzArrays& arrays,
               const std::string& command);

struct NpzContent {
  NpzArrays arrays;
  /// Whole numbers of 64 bits in all their digits, of the arrays that have such.
  std::map<std::string, std::vector<std::string>, std::less<>> whole;
  /// Other arrays (of another rank, texts, complex numbers) and what is wrong with each.
  std::map<std::string, std::string, std::less<>> unread;
  /// With NpzRanks::any, of every array; its numbers are then row after row.
  std::map<std::string, std::vector<std::size_t>, std::less<>> shapes;
};

enum class NpzRanks { one, any };

/// The arrays of one dimension (or of any) of truth values, whole numbers and floats of up to 64 bits, in either order
/// of bytes. Throws InputError naming the file and array for anything truncated or unreadable, for what is
/// no array, and for two of one name.
NpzContent read_npz(const std::filesystem::path& path, NpzRanks ranks = NpzRanks::one);

}  // namespace popgrad
