#!/usr/bin/env bash
# Images around the built programs, from scratch, given to the node as a pull would.

# image NAME REFERENCE [FOLDER]: of the program of that name and the Dockerfile in a folder of the same name. Nothing
# happens where the node has it.
image() {
  local folder=${3:-$1} archive=$RUN/images/$1.tar context=$RUN/images/$1
  [ ! -e "$archive" ] || return 0
  mkdir -p "$context"
  cp "$("$CLUSTER/build" "$1")" "$context/$1"
  python3 "$CLUSTER/../../images/archive.py" --file "$CLUSTER/$folder/Dockerfile" --reference "$2" "$context" "$archive.new"
  "$CLUSTER/load" "$archive.new"
  rm -r "$context"
  mv "$archive.new" "$archive"
}
