/**
 * Makes the scenes of the sandbox in sandbox/fixture/: the video in parts (`<scene>.pack`), the snapshots
 * (`<scene>.stills`) and the sound; sandbox/scene/packs.ts reads them. Needs ffmpeg with libx264, libx265 and
 * librsvg, and the font DejaVu (Debian: ffmpeg, fonts-dejavu-core). Run it only to change the pictures: the
 * results are committed.
 *
 *   node --import=tsx scripts/make-fixture.ts [part of a name...]
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';

import type { Scene } from './fixture/drawing/scene';
import { H264ScenePack } from './fixture/h264/scene-pack';
import { makeSound } from './fixture/sound';
import { H265ScenePack } from './fixture/h265/scene-pack';
import { StillPack } from './fixture/jpeg/still-pack';
import { SCENES, idlePictures, intruderPictures, stillsOf } from './fixture/scenes';

const FOLDER = path.join(__dirname, '..', 'sandbox', 'fixture');
/** Lower = better pictures and larger files. */
const QUALITY = 27;
const WITH_B_FRAMES = 'car-park';
const IN_H265 = 'fuel-store';

function keep(name: string, bytes: Buffer): void {
  writeFileSync(path.join(FOLDER, name), bytes);
  process.stdout.write(`${name}: ${bytes.length} bytes\n`);
}

function videoOf(scene: Scene): Buffer {
  const pack = scene.name === IN_H265 ? new H265ScenePack(QUALITY) : h264Pack(scene);
  for (const night of [false, true])
    pack.addShots(night ? 'night' : 'day', idlePictures(scene, night), intruderPictures(scene, night));
  return pack.bytes;
}

function h264Pack(scene: Scene): H264ScenePack {
  const pack = new H264ScenePack(QUALITY, scene.name === WITH_B_FRAMES);
  pack.addOverlay();
  return pack;
}

const wanted = process.argv.slice(2);
for (const scene of SCENES) {
  if (isWanted(`${scene.name}.pack`)) keep(`${scene.name}.pack`, videoOf(scene));
  if (isWanted(`${scene.name}.stills`))
    keep(
      `${scene.name}.stills`,
      new StillPack({ day: stillsOf(scene, false), night: stillsOf(scene, true) }).bytes,
    );
}
if (isWanted('sound.aac')) keep('sound.aac', makeSound());

function isWanted(name: string): boolean {
  return wanted.length === 0 || wanted.some((pattern) => name.includes(pattern));
}
