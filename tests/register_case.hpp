#pragma once
/// Test cases listed by a table at run time, one an entry, so that they run side by side.

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <utility>

namespace popgrad {

/// Adds a case to Catch2's registry; before its session runs.
inline void register_case(const std::string& name, const std::string& tags,
                          std::function<void()> body) {
  class Body final : public Catch::ITestInvoker {
   public:
    explicit Body(std::function<void()> body) : body_(std::move(body)) {}
    void invoke() const override { body_(); }

   private:
    std::function<void()> body_;
  };
  // The registry owns the invoker.
  const Catch::AutoReg entry(new Body(std::move(body)), CATCH_INTERNAL_LINEINFO, Catch::StringRef(),
                             Catch::NameAndTags(name, tags));
}

/// What main registers: a case a statement, a case a figure, and a case a statement that reads a file.
void register_statement_cases();
void register_figure_cases();
void register_instance_cases();

}  // namespace popgrad
