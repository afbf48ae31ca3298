#pragma once
/// Why a computation cannot go on, in words for people. Exceptions of libraries name their own functions
/// and types; no such text is printed.

#include <exception>
#include <stdexcept>
#include <string>

namespace popgrad {

/// Marks an exception whose text is written for people.
class Worded {
 public:
  virtual ~Worded() = default;

 protected:
  Worded() = default;
  Worded(const Worded&) = default;
  Worded& operator=(const Worded&) = default;
};

/// Exit status 4 of commands.
class Failure : public std::runtime_error, public Worded {
 public:
  using std::runtime_error::runtime_error;
};

/// A claim that exact arithmetic refutes.
class Refuted : public std::domain_error, public Worded {
 public:
  using std::domain_error::domain_error;
};

/// The text of InputError and of what is Worded; of anything else a line that says what kind of thing
/// went wrong.
std::string words_of(const std::exception& error);

}  // namespace popgrad
