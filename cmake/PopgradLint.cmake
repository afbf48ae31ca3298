# Target `lint`: clang-tidy over the sources of the given targets, with the checks in .clang-tidy.
# Each source waits for its own object file, which is made again whenever the source or a header of
# it changes; so only what has changed is looked at again.
function(popgrad_add_lint)
  set(stamps)
  foreach(target ${ARGN})
    get_target_property(sources ${target} SOURCES)
    get_target_property(source_dir ${target} SOURCE_DIR)
    get_target_property(binary_dir ${target} BINARY_DIR)
    foreach(source ${sources})
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${source_dir} NORMALIZE)
      cmake_path(IS_PREFIX CMAKE_BINARY_DIR ${source} generated)
      if(generated OR NOT source MATCHES "\\.cpp$")
        continue()
      endif()
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${source_dir} OUTPUT_VARIABLE in_target)
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE name)
      set(object ${binary_dir}/CMakeFiles/${target}.dir/${in_target}${CMAKE_CXX_OUTPUT_EXTENSION})
      set(stamp ${CMAKE_BINARY_DIR}/lint/${name})
      cmake_path(GET stamp PARENT_PATH folder)
      add_custom_command(
        OUTPUT ${stamp}
        COMMAND clang-tidy --quiet -p ${CMAKE_BINARY_DIR} ${source}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
        COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
        DEPENDS ${object} ${CMAKE_SOURCE_DIR}/.clang-tidy
        COMMENT "Looking at ${name}"
        VERBATIM)
      list(APPEND stamps ${stamp})
    endforeach()
  endforeach()
  add_custom_target(lint DEPENDS ${stamps})
endfunction()
