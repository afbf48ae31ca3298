#pragma once
/// The files that a command reads, by name, with fingerprints of their contents: a command that goes on
/// from what it kept compares them, so that nothing is put together from two contents of one name.

#include <filesystem>
#include <map>
#include <string>

namespace popgrad {

using Fingerprints = std::map<std::string, std::string>;

/// A whole file, noted as read. Throws InputError if it cannot be read, or if its contents are not those
/// that were noted before.
std::string read_file(const std::filesystem::path& path);

/// Notes a file that a model reads by itself; nothing where the name is that of no file.
void note_file(const std::filesystem::path& path);

/// Of this command so far.
const Fingerprints& files_read();
/// Begins a command: `expected` are the contents noted before it, for one that goes on.
void begin_reading(Fingerprints expected = {});

/// The first name under which two of them differ; empty: none does.
std::string first_difference(const Fingerprints& a, const Fingerprints& b);

}  // namespace popgrad
