#include "cli/commands.hpp"

int main(int argc, char** argv) { return popgrad::cli::run({argv + 1, argv + argc}); }
