/** The player of views as browsers get it: script, style and icon, made of `lib/video/view/player`. */
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

/** Of the page; the sidebar has the player in its own. */
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

/** Of the page, with that of the player in it. */
function playerStyle(): string {
  return ['page.css', 'player.css']
    .map((file) => fs.readFileSync(path.join(PLAYER, file), 'utf8'))
    .join('\n');
}
