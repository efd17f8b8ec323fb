import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../support/node-red/node-red';
import { needs, programPath } from '../support/suite/programs';
import { proxyConfiguration } from '../support/network/proxies';

const DOCS = path.join(ROOT, 'docs');
/** Which page leads to the files of which folder. */
const PAGES = { proxies: 'reverse-proxies.md', postgresql: 'several-instances.md' };

/** Directives that say all themselves, by what their lines begin with. */
const EVIDENT: Record<string, readonly string[]> = {
  'nginx.conf': 'worker_processes|worker_connections|events|http {|server|return|location @cut'.split('|'),
  Caddyfile: ['servers', 'import', 'abort', 'alarms.example.com', '(alarms)', 'transport', '{'],
  'nginx-several.conf': ['proxy_pass http://instances'],
  'haproxy-several.cfg': 'global defaults mode frontend backend server use_backend default_backend'.split(
    ' ',
  ),
};

/** Lines of which neither themselves nor a comment above them, in the same paragraph and block, say why they are there. */
function unexplained(text: string): string[] {
  let isExplained = false;
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => {
      if (line.startsWith('#')) isExplained = true;
      if (line === '}' || line === '') isExplained = false;
      return line !== '' && line !== '}' && !isExplained && !line.includes(' # ');
    });
}

const linesIn = (file: string): Set<string> => new Set(proxyConfiguration(file).split(/\s*\n\s*/));

describe('the documentation of proxies, balancers and databases', () => {
  for (const [folder, page] of Object.entries(PAGES))
    it(`leads in ${page} to each file of docs/${folder}`, () => {
      const text = fs.readFileSync(path.join(DOCS, page), 'utf8');
      const files = fs.readdirSync(path.join(DOCS, folder));
      assert.ok(files.length > 2);
      for (const file of files) assert.ok(text.includes(`](${folder}/${file})`), file);
    });

  for (const [file, evident] of Object.entries(EVIDENT))
    it(`says beside each directive in ${file} why it is there, or that it is as before one Node-RED`, () => {
      const elsewhere = file === 'nginx-several.conf' ? linesIn('nginx.conf') : new Set<string>();
      const missing = unexplained(proxyConfiguration(file)).filter(
        (line) => !elsewhere.has(line) && !evident.some((start) => line.startsWith(start)),
      );
      assert.deepEqual(missing, []);
    });

  it('writes the Caddyfile as Caddy itself would', function () {
    needs(this, 'caddy');
    const file = path.join(DOCS, 'proxies', 'Caddyfile');
    const formatted = execFileSync(programPath('caddy') ?? '', ['fmt', file], { encoding: 'utf8' });
    assert.equal(formatted, proxyConfiguration('Caddyfile'));
  });
});
