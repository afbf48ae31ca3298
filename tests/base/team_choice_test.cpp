/// Which way a parallel region is done, from how long both ways take.

#include "base/team_choice.hpp"

#include <catch2/catch.hpp>

namespace team_choice_test {

using namespace popgrad;

namespace {

// How many of `regions` are done together where both ways take so long.
int done_together(TeamChoice& choice, double one, double all, int regions) {
  int count = 0;
  for (int k = 0; k < regions; ++k) {
    count += choice.together() ? 1 : 0;
    choice.took(choice.together() ? all : one);
  }
  return count;
}

}  // namespace

TEST_CASE("team choice: the faster way is taken, and the other tried now and then") {
  TeamChoice choice;
  CHECK(choice.together());
  CHECK(done_together(choice, 1.4, 1.0, 320) == 310);
  // Another process takes a core: one region in 32 tells, and a single slow one does not.
  CHECK(done_together(choice, 1.4, 1.7, 320) < 40);
  CHECK(done_together(choice, 1.4, 1.7, 320) == 10);
  CHECK(done_together(choice, 1.4, 1.0, 320) < 320 - 10);
  CHECK(done_together(choice, 1.4, 1.0, 320) == 310);
  CHECK(done_together(choice, 1.4, 1.5, 1) == 1);
  CHECK(done_together(choice, 1.4, 1.0, 20) == 20);
}

TEST_CASE("team choice: a region is called once, the way that is told") {
  TeamChoice choice;
  int calls = 0;
  for (int k = 0; k < 40; ++k) {
    const bool expected = choice.together();
    choice.run([&](bool together) {
      CHECK(together == expected);
      ++calls;
    });
  }
  CHECK(calls == 40);
}

}  // namespace team_choice_test
