#!/bin/sh
# Compiles by ccache, with places in the build folder told from there: ccache compares the words of a
# compiler, and CMake gives the place of a precompiled header as an absolute one. The header itself is made in
# every clone, for it has places in it.
cache=ccache
for word; do
  shift
  case $word in
    "$PWD"/*) word=${word#"$PWD"/} ;;
    -emit-pch | c++-header) cache= ;;
  esac
  set -- "$@" "$word"
done
exec $cache "$@"
