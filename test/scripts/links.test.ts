import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../support/node-red/node-red';

const PAGES = fs
  .globSync(['*.md', 'docs/**/*.md', 'bench/*.md'], { cwd: ROOT })
  .map((page) => page.replaceAll(path.sep, '/'))
  .sort();

/** A place that leads somewhere: a link or a picture, of Markdown or of HTML. */
const TARGETS = [/\]\(([^()\s]+)\)/g, /\b(?:src|srcset|href)="([^"]+)"/g];

function read(page: string): string {
  return fs.readFileSync(path.join(ROOT, page), 'utf8');
}

/** Without its code, in which nothing leads anywhere. */
function proseOf(page: string): string {
  return read(page)
    .replace(/^```[^]*?^```/gm, '')
    .replace(/`[^`\n]*`/g, '');
}

function targetsIn(page: string): string[] {
  const prose = proseOf(page);
  const found = TARGETS.flatMap((pattern) => [...prose.matchAll(pattern)].map(([, target = '']) => target));
  return found.filter((target) => !/^[a-z]+:/.test(target));
}

/** The anchors of the headings of a page, as GitHub and the Flow Library make them. */
function anchorsOf(page: string): Set<string> {
  const seen = new Map<string, number>();
  const headings = read(page)
    .replace(/^```[^]*?^```/gm, '')
    .matchAll(/^#{1,6} (.+)$/gm);
  return new Set([...headings].map(([, heading = '']) => numbered(anchorOf(heading), seen)));
}

function anchorOf(heading: string): string {
  const shown = heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\b_|_\b/g, '')
    .toLowerCase();
  return shown.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');
}

function numbered(anchor: string, seen: Map<string, number>): string {
  const count = seen.get(anchor) ?? 0;
  seen.set(anchor, count + 1);
  return count === 0 ? anchor : `${anchor}-${count}`;
}

/** The file that a target leads to, from the root, and its anchor. */
function placeOf(page: string, target: string): { file: string; anchor: string | undefined } {
  const [file = '', anchor] = decodeURI(target).split('#');
  return { file: file === '' ? page : path.posix.join(path.posix.dirname(page), file), anchor };
}

/** What is wrong with a target; undefined where it leads to a file, and to a heading of it where it names one. */
function faultOf(page: string, target: string): string | undefined {
  const { file, anchor } = placeOf(page, target);
  if (!fs.existsSync(path.join(ROOT, file))) return `${target}: there is no ${file}`;
  if (anchor === undefined || !file.endsWith('.md') || anchorsOf(file).has(anchor)) return undefined;
  return `${target}: ${file} has no such heading`;
}

describe('the pages', () => {
  it('are found', () => {
    for (const page of ['README.md', 'docs/nodes.md', 'bench/README.md'])
      assert.ok(PAGES.includes(page), page);
  });

  for (const page of PAGES) {
    it(`${page} leads to nothing that is not there`, () => {
      assert.deepEqual(
        targetsIn(page).flatMap((target) => faultOf(page, target) ?? []),
        [],
      );
    });
  }

  it('of the package lead to what it holds, and to few pages that only the repository has', () => {
    const { files }: { files: string[] } = JSON.parse(read('package.json'));
    const known = [...files, 'README.md', 'LICENSE', 'SECURITY.md', 'CONTRIBUTING.md', 'bench/README.md'];
    const isKnown = (file: string): boolean => known.some((held) => `${file}/`.startsWith(`${held}/`));
    const pages = PAGES.filter((page) => page === 'README.md' || page.startsWith('docs/'));
    const unknown = pages.flatMap((page) =>
      targetsIn(page).filter((target) => !isKnown(placeOf(page, target).file)),
    );
    assert.deepEqual(unknown, []);
  });
});
