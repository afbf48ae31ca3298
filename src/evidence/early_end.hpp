#pragma once
/// An examination that is over at its first broken hypothesis.

#include <optional>

#include "popgrad/base/stop.hpp"
#include "popgrad/evidence/examination.hpp"

namespace popgrad {

/// As long as it lives, a hypothesis of `found` that is not met asks what is measured next to stop
/// (popgrad/base/stop.hpp); hypotheses that need no measurement are still evaluated. One at a time.
class EarlyEnd {
 public:
  explicit EarlyEnd(const Examination& found);
  ~EarlyEnd();
  EarlyEnd(const EarlyEnd&) = delete;
  EarlyEnd& operator=(const EarlyEnd&) = delete;

  /// Whether a hypothesis was broken.
  [[nodiscard]] bool asked() const { return over_.has_value(); }

 private:
  friend void heed(const Examination& found);
  const Examination& found_;
  std::optional<Deadline> over_;
};

/// For Examination: a hypothesis was evaluated.
void heed(const Examination& found);

}  // namespace popgrad
