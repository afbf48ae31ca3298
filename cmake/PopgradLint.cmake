# Target `lint`: clang-tidy over the sources of the given targets, with the checks in .clang-tidy,
# confined to our own code by a plugin (cmake/lint/own_code.cpp).
#
# Each source waits for its own object file, which is made again whenever the source or a header of
# it changes; so only what has changed is looked at again. Before any, the checks are tried on a
# source full of mistakes, each of which must be found.
find_program(CLANG_TIDY clang-tidy REQUIRED)
find_program(CLANG clang++ REQUIRED)
set(lint_sources ${CMAKE_CURRENT_LIST_DIR}/lint)
set(lint_folder ${CMAKE_BINARY_DIR}/lint)

# The plugin is compiled against the headers of the very clang-tidy that loads it.
file(REAL_PATH ${CLANG_TIDY} clang_tidy_real)
cmake_path(GET clang_tidy_real PARENT_PATH clang_tidy_bin)
find_path(CLANG_TIDY_INCLUDE clang-tidy/ClangTidyCheck.h
          PATHS ${clang_tidy_bin}/../include REQUIRED NO_DEFAULT_PATH)
add_library(popgrad_own_code MODULE EXCLUDE_FROM_ALL ${lint_sources}/own_code.cpp)
target_include_directories(popgrad_own_code SYSTEM PRIVATE ${CLANG_TIDY_INCLUDE})
target_compile_options(popgrad_own_code PRIVATE -fno-rtti -O1)

set(lint_bites ${lint_folder}/bites)
add_custom_command(
  OUTPUT ${lint_bites}
  COMMAND ${lint_sources}/bites.sh ${lint_bites} ${lint_sources}/mistakes.cpp ${CLANG_TIDY} --quiet
          --header-filter=mistakes --load=$<TARGET_FILE:popgrad_own_code>
  DEPENDS popgrad_own_code ${lint_sources}/bites.sh ${lint_sources}/mistakes.cpp
          ${lint_sources}/mistakes.hpp ${CMAKE_SOURCE_DIR}/.clang-tidy
  COMMENT "Trying the checks on mistakes"
  VERBATIM)

# clang-tidy reads Clang's precompiled headers and no others: they are made once more for it, and put
# in the place of the compiler's own in a copy of the compile commands. Where the language has modules,
# clang-tidy 14 reads the text of every header once more; we have none. What headers need of templates is made
# in them, and not for each source.
set(lint_flags -O2 -DNDEBUG -Xclang -fno-cxx-modules)
list(JOIN lint_flags " " lint_flags_text)
set(lint_headers ${lint_folder}/precompiled.pch)
set(defines $<TARGET_PROPERTY:popgrad,COMPILE_DEFINITIONS>)
set(includes $<FILTER:$<TARGET_PROPERTY:popgrad,INCLUDE_DIRECTORIES>,EXCLUDE,^/usr/include$>)
add_custom_command(
  OUTPUT ${lint_headers}
  COMMAND ${CLANG} -std=c++20 -fopenmp ${popgrad_shareable} ${lint_flags} "-D$<JOIN:${defines},;-D>"
          "-isystem;$<JOIN:${includes},;-isystem;>" -fpch-instantiate-templates
          -x c++-header ${popgrad_precompiled} -o ${lint_headers}
  DEPENDS ${popgrad_precompiled}
  COMMENT "Parsing library headers for the checks"
  COMMAND_EXPAND_LISTS VERBATIM)
set(lint_commands ${lint_folder}/compile_commands.json)
add_custom_target(popgrad_lint_commands
  COMMAND sed -E -e "s| -fpch-preprocess||g" -e "s| -Xclang -mllvm -Xclang [^ ]+||g"
          -e "s|-Winvalid-pch .*/cmake_pch.hxx |${lint_flags_text} -include-pch ${lint_headers} |"
          ${CMAKE_BINARY_DIR}/compile_commands.json > ${lint_commands}
  DEPENDS ${lint_headers}
  VERBATIM)

function(popgrad_add_lint)
  set(stamps)
  foreach(target ${ARGN})
    get_target_property(sources ${target} SOURCES)
    get_target_property(source_dir ${target} SOURCE_DIR)
    get_target_property(binary_dir ${target} BINARY_DIR)
    foreach(source ${sources})
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${source_dir} NORMALIZE)
      if(source MATCHES "^${generated}/" OR NOT source MATCHES "\\.cpp$")
        continue()
      endif()
      set(base ${source_dir})
      cmake_path(IS_PREFIX binary_dir ${source} is_unit)
      if(is_unit)
        set(base ${binary_dir})
      endif()
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${base} OUTPUT_VARIABLE in_target)
      string(REPLACE "../" "__/" in_target ${in_target})
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE name)
      set(object ${binary_dir}/CMakeFiles/${target}.dir/${in_target}${CMAKE_CXX_OUTPUT_EXTENSION})
      set(stamp ${lint_folder}/${name})
      cmake_path(GET stamp PARENT_PATH folder)
      add_custom_command(
        OUTPUT ${stamp}
        COMMAND ${CLANG_TIDY} --quiet -p ${lint_folder} --load=$<TARGET_FILE:popgrad_own_code> ${source}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
        COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
        DEPENDS ${object} ${lint_bites} ${lint_headers} popgrad_lint_commands popgrad_own_code
                ${CMAKE_SOURCE_DIR}/.clang-tidy
        COMMENT "Looking at ${name}"
        VERBATIM)
      list(APPEND stamps ${stamp})
    endforeach()
  endforeach()
  add_custom_target(lint DEPENDS ${stamps})
endfunction()
