import fs from 'node:fs';
import path from 'node:path';

/** Name and version as sent in `User-Agent`; read from package.json, which stands above dist/. */
export function userAgent(): string {
  const file = path.join(__dirname, '..', '..', '..', 'package.json');
  const { name, version } = JSON.parse(fs.readFileSync(file, 'utf8')) as { name: string; version: string };
  return `${name.replace(/^@/, '')}/${version}`;
}
