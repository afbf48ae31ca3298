# The theories: every folder of theorems with a theory.cpp, in alphabetical order. Their statements and figures are the
# sources of `checks` and `figures` that define one. The contents.cmake of a theory lists, as names of sources without
# folder and suffix, the `statements` and `figures` that come first, in that order; its `loops` (compiled for speed) and
# those of its checks that compute for long by themselves (`optimised`).
file(GLOB theory_files CONFIGURE_DEPENDS theorems/*/theory.cpp)
set(generated ${CMAKE_BINARY_DIR}/generated)
set(theory_loops)
set(theory_optimised)
set(theories_declared "")
set(theories_listed "")

# list_sources(FOLDER SUFFIX TYPE NAME ...): `declared` and `listed` become what declares and calls every function
# without arguments that returns TYPE, of each source NAME.cpp, then of the other sources of FOLDER that define one, in
# alphabetical order. Each is in a namespace of the source's name + SUFFIX.
function(list_sources folder suffix type)
  set(names ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  foreach(source ${sources})
    cmake_path(GET source STEM name)
    # Its text decides, so a change of it must configure again.
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(STRINGS ${source} defined_by_${name} REGEX "^${type} [^ ()]+\\(\\) {")
    if(defined_by_${name} AND NOT name IN_LIST names)
      list(APPEND names ${name})
    endif()
  endforeach()
  set(all "")
  set(calls "")
  foreach(name ${names})
    foreach(definition ${defined_by_${name}})
      string(REGEX REPLACE "^${type} ([^ ()]+).*" "\\1" call "${definition}")
      string(APPEND all "namespace ${name}${suffix} {\n${type} ${call}();\n}\n")
      string(APPEND calls "${name}${suffix}::${call}(), ")
    endforeach()
  endforeach()
  set(declared "${all}" PARENT_SCOPE)
  set(listed "${calls}" PARENT_SCOPE)
endfunction()

foreach(file ${theory_files})
  cmake_path(GET file PARENT_PATH folder)
  cmake_path(GET folder FILENAME theory)
  set(statements)
  set(figures)
  set(loops)
  set(optimised)
  include(${folder}/contents.cmake OPTIONAL)
  foreach(name ${loops})
    list(APPEND theory_loops ${folder}/rungs/${name}.cpp)
  endforeach()
  foreach(name ${optimised})
    list(APPEND theory_optimised ${folder}/checks/${name}.cpp)
  endforeach()
  list_sources(${folder}/checks "" Statement ${statements})
  set(statements_declared "${declared}")
  set(statements_listed "${listed}")
  list_sources(${folder}/figures _figure FigureMaker ${figures})
  file(CONFIGURE OUTPUT ${generated}/theorems/${theory}/contents.hpp @ONLY CONTENT [[
#pragma once
#include <vector>

#include "popgrad/evidence/figure.hpp"
#include "popgrad/evidence/statement.hpp"

namespace popgrad::@theory@ {
namespace checks {

@statements_declared@
inline std::vector<Statement> statements() { return {@statements_listed@}; }

}  // namespace checks
namespace figures {

@declared@
inline std::vector<FigureMaker> all() { return {@listed@}; }

}  // namespace figures
}  // namespace popgrad::@theory@
]])
  string(APPEND theories_declared "namespace ${theory} {\nTheory theory();\n}\n")
  string(APPEND theories_listed "${theory}::theory(), ")
endforeach()

file(CONFIGURE OUTPUT ${generated}/theories.cpp @ONLY CONTENT [[
#include "popgrad/evidence/theories.hpp"

#include <string_view>
#include <vector>

namespace popgrad {

@theories_declared@
Theories theories() {
  static const std::vector<Theory> all{@theories_listed@};
  return all;
}

const Model& find_model(std::string_view name) { return find_model(theories(), name); }

}  // namespace popgrad
]])
