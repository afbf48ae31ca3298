#include "popgrad/program.hpp"
#include "popgrad/theories.hpp"

int main(int argc, char** argv) { return popgrad::main(argc, argv, popgrad::theories()); }
