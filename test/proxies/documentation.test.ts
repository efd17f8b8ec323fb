import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../support/node-red/node-red';
import { needs, programPath } from '../support/suite/programs';
import { proxyConfiguration } from '../support/network/proxy-launch';

const DOCS = path.join(ROOT, 'docs');
const FOLDER = path.join(DOCS, 'proxies');
const TEXT = fs.readFileSync(path.join(DOCS, 'reverse-proxies.md'), 'utf8');
/** A page that shows whole configurations, in blocks of these languages; of others it shows single lines. */
const PAGES = {
  'reverse-proxies.md': { languages: 'nginx|caddyfile|yaml', folders: ['proxies'] },
  'several-instances.md': {
    languages: 'nginx|haproxy|ini|pg_hba|sql|sh',
    folders: ['proxies', 'postgresql'],
  },
};

/** The blocks of a page that are whole configurations, and the files that they have to be. */
function configurations(page: keyof typeof PAGES): { blocks: string[]; files: string[] } {
  const { languages, folders } = PAGES[page];
  const text = fs.readFileSync(path.join(DOCS, page), 'utf8');
  const blocks = text.matchAll(new RegExp(`^\`\`\`(?:${languages})\\n(.*?)^\`\`\`$`, 'gms'));
  const isSeveral = page === 'several-instances.md';
  const files = folders.flatMap((folder) =>
    fs
      .readdirSync(path.join(DOCS, folder))
      .filter((file) => folder !== 'proxies' || file.includes('-several') === isSeveral)
      .map((file) => fs.readFileSync(path.join(DOCS, folder, file), 'utf8')),
  );
  return { blocks: [...blocks].map(([, block = '']) => block).sort(), files: files.sort() };
}

/** Directives that say all themselves. */
const EVIDENT: Record<string, readonly string[]> = {
  'nginx.conf': ['worker_connections', 'server', 'server_name', 'ssl_certificate', 'ssl_certificate_key'],
  Caddyfile: ['servers', 'timeouts', 'reverse_proxy', 'transport', 'import'],
};

const EVIDENT_OF_SEVERAL: Record<string, readonly string[]> = {
  'nginx-several.conf': EVIDENT['nginx.conf'] ?? [],
  'haproxy-several.cfg': ['mode', 'bind', 'server', 'use_backend', 'default_backend'],
};

describe('the documentation of proxies, balancers and databases', () => {
  for (const page of ['reverse-proxies.md', 'several-instances.md'] as const) {
    it(`shows in ${page} each configuration as the file that the real servers run, and no other`, () => {
      const { blocks, files } = configurations(page);
      assert.ok(files.length > 2);
      assert.deepEqual(blocks, files);
    });
  }

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

  for (const [file, evident] of Object.entries(EVIDENT_OF_SEVERAL)) {
    it(`says of each directive in ${file} why it is there, or that it is as before one Node-RED`, () => {
      const several = fs.readFileSync(path.join(DOCS, 'several-instances.md'), 'utf8');
      const explained = [TEXT, several].flatMap((text) => text.match(/^\| [^|]*\|/gm) ?? []).join('\n');
      const names = [...proxyConfiguration(file).matchAll(/^[ \t]+([a-z_.-]+)/gm)].map(
        ([, name = '']) => name,
      );
      assert.deepEqual(
        names.filter((name) => !evident.includes(name) && !explained.includes(name)),
        [],
      );
    });
  }

  it('writes the Caddyfile as Caddy itself would', function () {
    needs(this, 'caddy');
    const file = path.join(FOLDER, 'Caddyfile');
    const formatted = execFileSync(programPath('caddy') ?? '', ['fmt', file], { encoding: 'utf8' });
    assert.equal(formatted, proxyConfiguration('Caddyfile'));
  });
});
