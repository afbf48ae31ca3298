#pragma once
/// Every deviation that is judged, place by place, for the comparison of two examinations of one
/// instance. An Examination keeps only the place nearest to failing.

#include <string>
#include <vector>

#include "popgrad/scalars/quantity.hpp"

namespace popgrad {

/// Keeps what is judged on this thread while it lives; one at a time.
class DeviationRecord {
 public:
  struct Judged {
    std::string what;
    std::vector<Quantity> deviations;  ///< measured minus predicted, one a place
  };
  DeviationRecord() { current_ = this; }
  ~DeviationRecord() { current_ = nullptr; }
  DeviationRecord(const DeviationRecord&) = delete;
  DeviationRecord& operator=(const DeviationRecord&) = delete;
  [[nodiscard]] const std::vector<Judged>& judged() const { return judged_; }

  /// The record that lives on this thread; nullptr if none does.
  static DeviationRecord* current() { return current_; }
  void add(Judged judged) { judged_.push_back(std::move(judged)); }

 private:
  static inline thread_local DeviationRecord* current_ = nullptr;
  std::vector<Judged> judged_;
};

}  // namespace popgrad
