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
  icon: Asset;
}

/** The player as the build lays it beside this file. @throws Error of Node where the package was not built */
export function readAssets(): ViewAssets {
  const read = (file: string): Buffer => fs.readFileSync(path.join(__dirname, 'player', file));
  return assetsOf({ script: read('player.js'), style: read('player.css'), icon: read('icon.svg') });
}

export function assetsOf(files: Record<keyof ViewAssets, Buffer>): ViewAssets {
  return {
    script: asset('js', 'text/javascript; charset=utf-8', files.script),
    style: asset('css', 'text/css; charset=utf-8', files.style),
    icon: asset('svg', 'image/svg+xml', files.icon),
  };
}

function asset(ending: string, type: string, body: Buffer): Asset {
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 16);
  return { name: `player-${hash}.${ending}`, type, body };
}
