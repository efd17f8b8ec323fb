import fs from 'node:fs';
import path from 'node:path';
import { ALONE, isIn, isInLane, type Lane } from '../../test/support/suite/lanes';
import { ROOT } from '../build';

/** What takes longest is begun first, or a last file would be waited for by idle processors. */
const LONGEST_FIRST = [
  'test/editor/dialogs/dialogs.test.ts',
  'test/editor/languages.test.ts',
  'test/editor/dialogs/pickers.test.ts',
  'test/editor/sidebar.test.ts',
  'test/nodes/webhook-in.test.ts',
  'test/nodes/sandbox-cloud.test.ts',
  'test/faults/kill.test.ts',
  'test/editor/dialogs/service-dialogs.test.ts',
  'test/nodes/settle.test.ts',
  'test/nodes/examples.test.ts',
  'test/faults/disk.test.ts',
  'test/editor/dialogs/dialog-tests.test.ts',
  'test/proxies/reverse-proxies.test.ts',
  'test/nodes/package.test.ts',
  'test/nodes/listener.test.ts',
  'test/cloud/chaos.test.ts',
  'test/scripts/start.test.ts',
];

/** Absolute paths of test files. */
export interface Plan {
  /** In the order to begin them in. */
  together: string[];
  /** After the others, each while nothing else runs. */
  alone: string[];
}

export function everyFile(lane: Lane): string[] {
  return testFilesBelow(path.join(ROOT, 'test')).filter((file) => isInLane(lane, nameOf(file)));
}

/**
 * The test files of the command line: files themselves, or all below a folder.
 * @throws Error where there is no such place, or no test below it
 */
export function namedFiles(places: readonly string[]): string[] {
  return places.flatMap((place) => {
    const full = path.resolve(ROOT, place);
    if (!fs.existsSync(full)) throw new Error(`There is no ${place}.`);
    const files = fs.statSync(full).isDirectory() ? testFilesBelow(full) : [full];
    if (files.length === 0) throw new Error(`There is no test below ${place}.`);
    return files;
  });
}

export function planFor(files: readonly string[]): Plan {
  const rank = (file: string): number => {
    const place = LONGEST_FIRST.indexOf(nameOf(file));
    return place === -1 ? LONGEST_FIRST.length : place;
  };
  const isAlone = (file: string): boolean => isIn(ALONE, nameOf(file));
  return {
    together: files.filter((file) => !isAlone(file)).sort((one, other) => rank(one) - rank(other)),
    alone: files.filter(isAlone),
  };
}

/** From the root of the project, with slashes, as the lists have it. */
export function nameOf(file: string): string {
  return path.relative(ROOT, file).replaceAll(path.sep, '/');
}

function testFilesBelow(folder: string): string[] {
  return fs
    .readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules')
    .flatMap((entry) => {
      const place = path.join(folder, entry.name);
      if (entry.isDirectory()) return testFilesBelow(place);
      return entry.name.endsWith('.test.ts') ? [place] : [];
    })
    .sort();
}
