#pragma once
/// A step of a walk that ends between its draws, of which there may be 1e8, and other work in a team of
/// threads whose exceptions are caught.

#include <cstdint>

namespace popgrad {

/// Lets the draws of a step end it, on this thread while it lives; the state stays as it was before.
class StoppableStep {
 public:
  StoppableStep();
  ~StoppableStep();
  StoppableStep(const StoppableStep&) = delete;
  StoppableStep& operator=(const StoppableStep&) = delete;
};

/// For the loop over draws: throws Stopped now and then if stop_asked(), inside a StoppableStep.
void throw_if_step_stopped(std::int64_t draw);
/// For other parts that take long, at every question.
void throw_if_step_stopped();

}  // namespace popgrad
