import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../support/node-red/node-red';
import { needs, programPath } from '../support/suite/programs';
import { proxyConfiguration } from '../support/network/reverse-proxy';

const FOLDER = path.join(ROOT, 'docs', 'proxies');
const TEXT = fs.readFileSync(path.join(ROOT, 'docs', 'reverse-proxies.md'), 'utf8');
/** Blocks that are whole configurations; of settings.js it shows single lines. */
const BLOCKS = [...TEXT.matchAll(/^```(nginx|caddyfile|yaml)\n(.*?)^```$/gms)].map(
  ([, , block]) => block ?? '',
);

/** Directives that say all themselves. */
const EVIDENT: Record<string, readonly string[]> = {
  'nginx.conf': ['worker_connections', 'server', 'server_name', 'ssl_certificate', 'ssl_certificate_key'],
  Caddyfile: ['servers', 'timeouts', 'reverse_proxy', 'transport', 'import'],
};

describe('the documentation of reverse proxies', () => {
  it('shows each configuration as the file that the real servers run, and no other', () => {
    const files = fs.readdirSync(FOLDER).map((file) => proxyConfiguration(file));
    assert.ok(files.length > 2);
    assert.deepEqual([...BLOCKS].sort(), files.sort());
  });

  for (const [file, evident] of Object.entries(EVIDENT)) {
    it(`says of each directive in ${file} why it is there`, () => {
      const [, part = ''] = TEXT.split(file === 'Caddyfile' ? '## Caddy' : '## nginx');
      const explained =
        part
          .slice(0, part.indexOf('\n## '))
          .match(/^\| [^|]*\|/gm)
          ?.join('\n') ?? '';
      const names = [...proxyConfiguration(file).matchAll(/^[ \t]+([@a-z_]+)/gm)].map(
        ([, name]) => name ?? '',
      );
      const missing = names.filter((name) => !evident.includes(name) && !explained.includes(name));
      assert.deepEqual(missing, []);
    });
  }

  it('writes the Caddyfile as Caddy itself would', function () {
    needs(this, 'caddy');
    const file = path.join(FOLDER, 'Caddyfile');
    const formatted = execFileSync(programPath('caddy') ?? '', ['fmt', file], { encoding: 'utf8' });
    assert.equal(formatted, proxyConfiguration('Caddyfile'));
  });
});
