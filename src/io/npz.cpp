#include "io/npz.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>

#include "io/atomic_file.hpp"
#include "popgrad/error.hpp"

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

template <class N>
std::vector<double> numbers(std::string_view bytes) {
  std::vector<double> values(bytes.size() / sizeof(N));
  for (std::size_t i = 0; i < values.size(); ++i) {
    N raw{};
    std::memcpy(&raw, bytes.data() + i * sizeof(N), sizeof(N));
    values[i] = static_cast<double>(raw);
  }
  return values;
}

// The values of one .npy, or nothing for a type or rank that is not read.
bool parse_npy(const std::filesystem::path& path, const std::string& name, const std::string& npy,
               std::vector<double>& values) {
  const auto bad = [&](const char* what) {
    refuse(path, fmt::format("array '{}' {}", name, what));
  };
  if (npy.size() < 12 || npy.compare(0, 6, "\x93NUMPY") != 0) bad("is not in npy format");
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(npy[i]));
  };
  const bool first_version = npy[6] == 1;
  std::size_t length = byte(8) | (byte(9) << 8U);
  if (!first_version) length |= (byte(10) << 16U) | (byte(11) << 24U);
  const std::size_t begin = first_version ? 10 : 12;
  if (begin + length > npy.size()) bad("is truncated in its header");
  const std::string header = npy.substr(begin, length);
  const std::size_t shape = header.find("'shape': (");
  if (shape == std::string::npos) bad("has no shape");
  const std::string dimensions = header.substr(shape + 10, header.find(')', shape) - shape - 10);
  const std::size_t comma = dimensions.find(',');
  if (comma == std::string::npos ||
      dimensions.find_first_not_of(" ,", comma) != std::string::npos) {
    return false;  // rank 0 or more than 1
  }
  std::size_t count = 0;
  for (const char c : dimensions.substr(0, comma)) {
    if (c < '0' || c > '9' || count > (std::size_t{1} << 48U)) bad("has an unreadable shape");
    count = 10 * count + static_cast<std::size_t>(c - '0');
  }
  const std::string_view bytes = std::string_view(npy).substr(begin + length);
  const auto whole = [&](std::size_t size) {
    if (bytes.size() != count * size) bad("is truncated");
    return bytes;
  };
  if (header.find("'<f8'") != std::string::npos) {
    values = numbers<double>(whole(8));
  } else if (header.find("'<f4'") != std::string::npos) {
    values = numbers<float>(whole(4));
  } else if (header.find("'<i8'") != std::string::npos) {
    values = numbers<std::int64_t>(whole(8));
  } else if (header.find("'<i4'") != std::string::npos) {
    values = numbers<std::int32_t>(whole(4));
  } else {
    return false;
  }
  return true;
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

NpzArrays read_npz(const std::filesystem::path& path) {
  int code = 0;
  const std::unique_ptr<zip_t, Discard> archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive)
    refuse(path, code == ZIP_ER_NOENT ? "does not exist" : "is not a complete zip archive");
  NpzArrays arrays;
  const zip_int64_t entries = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < entries; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    zip_stat_t status;
    zip_stat_init(&status);
    if (zip_stat_index(archive.get(), index, 0, &status) != 0)
      refuse(path, "has a damaged directory");
    std::string name = status.name;
    if (!name.ends_with(".npy")) continue;
    name.resize(name.size() - 4);
    zip_file_t* file = zip_fopen_index(archive.get(), index, 0);
    if (file == nullptr) refuse(path, fmt::format("array '{}' cannot be opened", name));
    std::string npy;
    char buffer[1 << 16];
    zip_int64_t n = 0;
    while ((n = zip_fread(file, buffer, sizeof buffer)) > 0) {
      npy.append(buffer, static_cast<std::size_t>(n));
    }
    zip_fclose(file);
    if (n < 0) refuse(path, fmt::format("array '{}' is damaged", name));
    std::vector<double> values;
    if (parse_npy(path, name, npy, values)) arrays.emplace_back(std::move(name), std::move(values));
  }
  return arrays;
}

}  // namespace popgrad
