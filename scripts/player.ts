/** The player of views as browsers load it: script, style and icon, built from `lib/video/view/player`. */
import fs from 'node:fs';
import path from 'node:path';
import { buildSync } from 'esbuild';

const PLAYER = path.join(__dirname, '..', 'lib', 'video', 'view', 'player');

export function playerFiles(): Record<'script' | 'style' | 'icon', Buffer> {
  return {
    script: Buffer.from(playerScript()),
    style: Buffer.from(playerStyle()),
    icon: fs.readFileSync(path.join(PLAYER, 'icon.svg')),
  };
}

/** The script of the page; the sidebar has the player in its own script. */
function playerScript(): string {
  const script = buildSync({
    entryPoints: [path.join(PLAYER, 'page.browser.ts')],
    bundle: true,
    format: 'iife',
    target: 'es2022',
    charset: 'utf8',
    write: false,
  });
  return script.outputFiles[0]?.text ?? '';
}

/** The style of the page, including that of the player. */
function playerStyle(): string {
  return ['page.css', 'player.css']
    .map((file) => fs.readFileSync(path.join(PLAYER, file), 'utf8'))
    .join('\n');
}
