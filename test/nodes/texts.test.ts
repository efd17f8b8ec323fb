import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../support/node-red/node-red';

const sources = (folder: string, ending: string): string[] =>
  fs
    .readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => path.join(folder, file));

const read = (file: string): string => fs.readFileSync(path.join(ROOT, file), 'utf8');

const textAt = (texts: unknown, key: string): unknown =>
  key
    .split('.')
    .reduce((inner: unknown, name) => (inner as Record<string, unknown> | undefined)?.[name], texts);

describe('the texts', () => {
  it('that a node writes to the log come from the locale files', () => {
    for (const file of sources('nodes', '.ts'))
      assert.doesNotMatch(read(file), /\.(?:error|warn|log|info)\(\s*['"`]/, file);
  });

  it('that code and dialogs ask for are there', () => {
    const shared = JSON.parse(read('nodes/support/locales/en-US.json')) as object;
    for (const file of [...sources('nodes', '.ts'), ...sources('nodes', '.html')]) {
      const [, type = ''] = file.split(path.sep);
      const own = path.join('nodes', type, 'locales', 'en-US.json');
      const hasOwn = fs.existsSync(path.join(ROOT, own));
      const texts = { ...shared, ...(hasOwn && { [type]: JSON.parse(read(own)) }) };
      for (const [, key = ''] of read(file).matchAll(/['">]((?:rvm-[a-z-]+|shared)(?:\.(?!svg)\w+)+)['"]/g))
        assert.equal(typeof textAt(texts, key), 'string', `${file}: ${key}`);
    }
  });

  it('of problems are with each type that tells them', () => {
    const tells = /shared\.problem|\btoldProblem|\bproblemKey/;
    for (const file of sources('nodes', '.ts').filter((each) => tells.test(read(each)))) {
      const [, type = ''] = file.split(path.sep);
      if (type === 'support') continue;
      const texts = JSON.parse(read(path.join('dist', 'locales', 'en-US', `${type}.json`))) as object;
      assert.equal(typeof textAt(texts, 'shared.problem.conflict'), 'string', file);
    }
  });

  it('call the Central Station by its name', () => {
    for (const file of [...sources('lib/cloud', '.ts'), ...sources('nodes', '.ts')])
      assert.doesNotMatch(read(file), /central station/, file);
  });
});
