#pragma once
/// The program: every command (`list`, `run`, `verify`, ...) for the theories that it is given.

#include "popgrad/evidence/theory.hpp"

namespace popgrad {

/// What `main` returns: the exit status of the command in `argv`. Call it first in `main`: unless
/// GOMP_SPINCOUNT or OMP_WAIT_POLICY is set, the program is started once more from its beginning
/// with threads that sleep at barriers.
int main(int argc, char** argv, Theories theories);

}  // namespace popgrad
