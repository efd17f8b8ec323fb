#!/bin/sh
# Makes sandbox/fixture/fixture.h264, the recording that the sandbox's RTSP server plays.
#
# Needs ffmpeg with libx264 and drawtext, and a font that fontconfig finds (Debian: fonts-dejavu-core).
# Run it only to change the picture: the result is kept in the repository. Usage:
#
#   scripts/make-fixture.sh [FILE]
#
# The video: 60 s, 320x180, 5 frames/s, H.264 Constrained Baseline, a key frame every second, no B-frames
# (surveillance streams seldom have any), SPS and PPS before every key frame, about 195 kB.
#
# Two things in the picture tell the time:
#   * a readable clock at the bottom, from 2025-10-09 08:53:20 UTC (epoch second 1760000000) on;
#   * a bar of seven squares at the top left, one bit each, that tells the second 0..59 to a program.
#     Square i has its left edge at x = 10 + 24 i; decoded to grey, bit i is set where the pixel
#     (x = 21 + 24 i, y = 19) is brighter than 128. The second is the sum of bit i times 2^i.
set -eu

output="${1:-$(dirname "$0")/../sandbox/fixture/fixture.h264}"
mkdir -p "$(dirname "$output")"

bar=""
for i in 0 1 2 3 4 5 6; do
  x=$((10 + i * 24))
  bar="$bar,drawbox=x=$x:y=8:w=22:h=22:color=black:t=fill"
  bar="$bar,drawbox=x=$((x + 1)):y=9:w=20:h=20:color=white:t=fill:enable='eq(mod(floor(t/$((1 << i))),2),1)'"
done

ffmpeg -nostdin -y -v error \
  -f lavfi -i "color=c=0x203040:size=320x180:rate=5,drawgrid=w=40:h=40:t=1:c=gray" -t 60 \
  -vf "drawtext=text='CAM-01 %{pts\:gmtime\:1760000000}':fontsize=16:fontcolor=white:x=8:y=h-26$bar" \
  -c:v libx264 -preset veryslow -profile:v baseline -pix_fmt yuv420p -g 5 -keyint_min 5 -sc_threshold 0 -crf 30 \
  -bsf:v h264_mp4toannexb -f h264 "$output"

printf '%s: %s bytes\n' "$output" "$(wc -c < "$output" | tr -d ' ')"
