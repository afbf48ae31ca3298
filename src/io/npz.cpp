#include "io/npz.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include "io/atomic_file.hpp"
#include "io/input_files.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/base/memory.hpp"

namespace popgrad {
namespace {

static_assert(std::endian::native == std::endian::little, "npy files are written little-endian");

// Header of format version 1.0: magic, version, length, a Python dict padded to a multiple of 64.
std::string npy_header(const std::string& type, const std::string& shape) {
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type, shape);
  const std::size_t unpadded = 10 + dict.size() + 1;
  dict.append((64 - unpadded % 64) % 64, ' ');
  dict += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dict.size() & 0xFFU);
  header += static_cast<char>(dict.size() >> 8U);
  return header + dict;
}

std::string npy_of(const std::vector<double>& values) {
  std::string npy = npy_header("<f8", fmt::format("({},)", values.size()));
  const std::size_t header = npy.size();
  npy.resize(header + values.size() * sizeof(double));
  if (!values.empty())
    std::memcpy(npy.data() + header, values.data(), values.size() * sizeof(double));
  return npy;
}

std::string npy_of(const std::string& text) {
  std::string npy = npy_header(fmt::format("<U{}", text.size()), "()");
  for (const char c : text) {
    npy += c;
    npy.append(3, '\0');  // UTF-32; command lines are ASCII
  }
  return npy;
}

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct Release {
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& reason) {
  throw InputError(
      fmt::format("{}: {}; give a file that numpy.savez writes", path.string(), reason));
}

// What the header of an array says.
struct NpyHeader {
  char order = '<', kind = 0;  // as in '<f8'
  std::size_t size = 0;
  std::string type;
  std::vector<std::size_t> shape;
  bool by_columns = false;  // Fortran's order
  std::size_t end = 0;
};

NpyHeader read_header(const std::string& npy, const auto& bad) {
  if (npy.size() < 12 || npy.compare(0, 6, "\x93NUMPY") != 0) bad("is not in npy format");
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(npy[i]));
  };
  const bool first_version = npy[6] == 1;
  std::size_t length = byte(8) | (byte(9) << 8U);
  if (!first_version) length |= (byte(10) << 16U) | (byte(11) << 24U);
  const std::size_t begin = first_version ? 10 : 12;
  NpyHeader made;
  made.end = begin + length;
  if (made.end > npy.size()) bad("is truncated in its header");
  const std::string header = npy.substr(begin, length);
  const auto between = [&](std::string_view before, char after) {
    const std::size_t at = header.find(before);
    const std::size_t from = at + before.size();
    const std::size_t end = at == std::string::npos ? at : header.find(after, from);
    if (end == std::string::npos) bad("has a header that no array has");
    return header.substr(from, end - from);
  };
  const std::string dimensions = between("'shape': (", ')');
  // Of structures the type is a list.
  made.type =
      header.find("'descr': '") == std::string::npos ? "of fields" : between("'descr': '", '\'');
  if (made.type.size() == 3 && made.type[2] >= '1' && made.type[2] <= '8') {
    made.order = made.type[0];
    made.kind = made.type[1];
    made.size = static_cast<std::size_t>(made.type[2] - '0');
  }
  made.by_columns = header.find("'fortran_order': True") != std::string::npos;
  std::optional<std::size_t> extent;
  for (const char c : dimensions + ",") {
    if (c >= '0' && c <= '9' && extent.value_or(0) <= (std::size_t{1} << 48U)) {
      extent = 10 * extent.value_or(0) + static_cast<std::size_t>(c - '0');
    } else if (c == ',') {
      if (extent) made.shape.push_back(*extent);
      extent.reset();
    } else if (c != ' ' || extent) {
      bad("has an unreadable shape");
    }
  }
  return made;
}

template <class N, class F>
void for_each_number(std::string_view bytes, bool reversed, const F& take) {
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(N)) {
    std::array<char, sizeof(N)> raw;
    std::memcpy(raw.data(), bytes.data() + i, sizeof(N));
    if (reversed) std::reverse(raw.begin(), raw.end());
    N number{};
    std::memcpy(&number, raw.data(), sizeof(N));
    take(number);
  }
}

void parse_npy(const std::filesystem::path& path, const std::string& name, const std::string& npy,
               NpzRanks ranks, NpzContent& content) {
  const auto bad = [&](const char* what) {
    refuse(path, fmt::format("array '{}' {}", name, what));
  };
  const NpyHeader header = read_header(npy, bad);
  const auto unread = [&](std::string why) { content.unread.emplace(name, std::move(why)); };
  if (ranks == NpzRanks::one && header.shape.size() != 1) {
    unread("has not one dimension; give one number a row");
    return;
  }
  if (header.by_columns && header.shape.size() > 1) {
    unread("is in Fortran's order; give numpy.ascontiguousarray of it");
    return;
  }
  double count = 1;
  for (const std::size_t extent : header.shape) count *= static_cast<double>(extent);
  const std::string_view bytes = std::string_view(npy).substr(header.end);
  std::vector<double> values;
  values.reserve(bytes.size() / std::max<std::size_t>(header.size, 1));
  const auto all = [&]<class N>(N /*kind*/) {
    if (static_cast<double>(bytes.size()) != count * sizeof(N))
      bad("is truncated, or longer than it says");
    std::vector<std::string> texts;
    for_each_number<N>(bytes, header.order == '>', [&](N x) {
      if constexpr (std::is_same_v<N, Eigen::half>) {
        values.push_back(static_cast<double>(static_cast<float>(x)));
      } else {
        values.push_back(static_cast<double>(x));
      }
      if constexpr (std::is_integral_v<N> && sizeof(N) == 8) texts.push_back(std::to_string(x));
    });
    if (!texts.empty()) content.whole.emplace(name, std::move(texts));
    content.arrays.emplace_back(name, std::move(values));
    if (ranks == NpzRanks::any) content.shapes.emplace(name, header.shape);
  };
  const auto is = [&](char kind, std::size_t size) {
    return header.kind == kind && header.size == size;
  };
  if (is('f', 8)) return all(double{});
  if (is('f', 4)) return all(float{});
  if (is('f', 2)) return all(Eigen::half{});
  if (is('i', 8)) return all(std::int64_t{});
  if (is('i', 4)) return all(std::int32_t{});
  if (is('i', 2)) return all(std::int16_t{});
  if (is('i', 1)) return all(std::int8_t{});
  if (is('u', 8)) return all(std::uint64_t{});
  if (is('u', 4)) return all(std::uint32_t{});
  if (is('u', 2)) return all(std::uint16_t{});
  if (is('u', 1) || is('b', 1)) return all(std::uint8_t{});
  unread(fmt::format("has the type {}; give truth values, whole numbers or floats of up to 64 bits",
                     header.type));
}

}  // namespace

void write_npz(const std::filesystem::path& path, const NpzArrays& arrays,
               const std::string& command) {
  const auto fail = [&](const std::string& why) {
    throw std::runtime_error(fmt::format("{} cannot be written ({})", path.string(), why));
  };
  zip_error_t error;
  zip_error_init(&error);
  // Kept by one more reference than the archive has, to be read when that is closed.
  const std::unique_ptr<zip_source_t, Release> made(
      zip_source_buffer_create(nullptr, 0, 0, &error));
  if (!made) fail(zip_error_strerror(&error));
  zip_source_keep(made.get());
  std::unique_ptr<zip_t, Discard> archive(zip_open_from_source(made.get(), ZIP_TRUNCATE, &error));
  if (!archive) {
    zip_source_free(made.get());
    fail(zip_error_strerror(&error));
  }
  std::vector<std::string> contents;
  contents.reserve(arrays.size() + 1);
  const auto add = [&](const std::string& name, std::string npy) {
    contents.push_back(std::move(npy));
    zip_source_t* source =
        zip_source_buffer(archive.get(), contents.back().data(), contents.back().size(), 0);
    const zip_int64_t index =
        zip_file_add(archive.get(), (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      fail(fmt::format("array '{}' cannot be added", name));
    }
    const auto entry = static_cast<zip_uint64_t>(index);
    zip_set_file_compression(archive.get(), entry, ZIP_CM_STORE, 0);
    // A fixed time keeps equal results equal byte for byte (DOS time starts in 1980).
    zip_file_set_dostime(archive.get(), entry, 0, 0x21, 0);
  };
  for (const auto& [name, values] : arrays) add(name, npy_of(values));
  add("command", npy_of(command));
  if (zip_close(archive.get()) != 0) fail(zip_strerror(archive.get()));
  static_cast<void>(archive.release());
  zip_stat_t status;
  zip_stat_init(&status);
  if (zip_source_stat(made.get(), &status) != 0 || zip_source_open(made.get()) != 0) {
    fail(zip_error_strerror(zip_source_error(made.get())));
  }
  std::string bytes(status.size, '\0');
  const zip_int64_t got = zip_source_read(made.get(), bytes.data(), bytes.size());
  zip_source_close(made.get());
  if (got != static_cast<zip_int64_t>(bytes.size())) fail("the archive is incomplete");
  write_atomically(path, bytes);
}

NpzContent read_npz(const std::filesystem::path& path, NpzRanks ranks) {
  const std::string bytes = read_file(path);
  zip_error_t error;
  zip_error_init(&error);
  // Freed with the archive, once there is one.
  zip_source_t* const source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  const std::unique_ptr<zip_t, Discard> archive(
      source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error));
  zip_error_fini(&error);
  if (!archive) {
    zip_source_free(source);
    refuse(path, "is not a complete zip archive");
  }
  NpzContent content;
  std::set<std::string> names;
  const zip_int64_t entries = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < entries; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    zip_stat_t status;
    zip_stat_init(&status);
    if (zip_stat_index(archive.get(), index, 0, &status) != 0)
      refuse(path, "has a damaged directory");
    std::string name = status.name;
    if (!name.ends_with(".npy")) refuse(path, fmt::format("'{}' in it is no array", name));
    name.resize(name.size() - 4);
    if (!names.insert(name).second) refuse(path, fmt::format("has two arrays '{}'", name));
    zip_file_t* file = zip_fopen_index(archive.get(), index, 0);
    if (file == nullptr) refuse(path, fmt::format("array '{}' cannot be opened", name));
    std::string npy;
    const std::string what = fmt::format("array '{}' of {}, unpacked,", name, path.string());
    std::string part(std::size_t{1} << 20, '\0');
    zip_int64_t n = 0;
    while ((n = zip_fread(file, part.data(), part.size())) > 0) {
      npy.append(part, 0, static_cast<std::size_t>(n));
      // What the directory of the archive says of sizes may be false.
      require_memory(2 * static_cast<double>(npy.size()), what, "give smaller arrays");
    }
    const bool sound = zip_fclose(file) == 0 && n == 0;
    if (!sound) refuse(path, fmt::format("array '{}' is damaged", name));
    parse_npy(path, name, npy, ranks, content);
  }
  return content;
}

}  // namespace popgrad
