#include "popgrad/commands/program.hpp"
#include "popgrad/evidence/theories.hpp"

int main(int argc, char** argv) { return popgrad::main(argc, argv, popgrad::theories()); }
