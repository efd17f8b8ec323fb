import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/** A file that pages load, under a name that changes with its content. */
export interface Asset {
  name: string;
  type: string;
  body: Buffer;
}

/** What every page loads, and all it loads. */
export interface ViewAssets {
  script: Asset;
  style: Asset;
}

/** The player as the build lays it beside this file. @throws Error of Node where the package was not built */
export function readAssets(): ViewAssets {
  const read = (file: string): Buffer => fs.readFileSync(path.join(__dirname, 'player', file));
  return assetsOf(read('player.js'), read('player.css'));
}

export function assetsOf(script: Buffer, style: Buffer): ViewAssets {
  return {
    script: { name: `player-${hashOf(script)}.js`, type: 'text/javascript; charset=utf-8', body: script },
    style: { name: `player-${hashOf(style)}.css`, type: 'text/css; charset=utf-8', body: style },
  };
}

function hashOf(body: Buffer): string {
  return createHash('sha256').update(body).digest('hex').slice(0, 16);
}
