#pragma once
/// The memory that large tables and states may take, known before it is taken.
///
/// At most 80 % of what is free, as the machine and the group of processes (cgroup) allow, or the limit that
/// was given. Whoever is about to allocate by a size that a user chose says so here; what nobody declared
/// ends in std::bad_alloc at the same limit, once bound_memory() was called.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace popgrad {

/// The limit given, in bytes; none: 80 % of what is free.
void set_memory_limit(std::optional<double> bytes);

/// Bytes from a text such as 500MB, 4GB or 1.5GiB. Throws InputError.
double bytes_from_text(const std::string& text);
/// Such as 4.2 GB.
std::string bytes_text(double bytes);

/// Throws InputError, with what needs the bytes and what to lower, if they are more than the limit.
void require_memory(double bytes, std::string_view what, std::string_view remedy);

/// Of a run without rows, and of a row of a run with as many states, in numbers of that size: what they
/// take at least.
inline constexpr double bytes_of_run = 300;
double bytes_of_row(std::size_t columns, double states, std::size_t number);

/// "17 GB may be taken (80 % of what is free)", for messages.
std::string memory_allowed();

/// Has the operating system refuse what goes beyond the limit, from now on, for a program of its own.
void bound_memory();

}  // namespace popgrad
