#!/bin/sh
# Makes sandbox/fixture/snapshots-320.mjpeg and snapshots-160.mjpeg, the pictures that the sandbox's snapshots show:
# one JPEG for each of the 60 seconds of sandbox/fixture/fixture.h264, one after the other.
#
# Needs ffmpeg. Run it after scripts/make-fixture.sh, only when the recording was changed: the results are kept in
# the repository. Usage: scripts/make-snapshots.sh
set -eu

folder="$(dirname "$0")/../sandbox/fixture"

for width in 320 160; do
  output="$folder/snapshots-$width.mjpeg"
  ffmpeg -nostdin -y -v error -r 5 -i "$folder/fixture.h264" \
    -vf "select='not(mod(n,5))',scale=$width:-2" -fps_mode passthrough \
    -c:v mjpeg -huffman optimal -q:v 12 -bitexact -f mjpeg "$output"
  printf '%s: %s bytes\n' "$output" "$(wc -c < "$output" | tr -d ' ')"
done
