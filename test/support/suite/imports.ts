import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../node-red/node-red';

/** A file of the sources, and what it names: a path from the root of the project, or a package. */
interface Import {
  file: string;
  name: string;
}

/** Whatever follows these words in quotes names a file or a package. */
const NAMED = /\b(?:from|import|require)\s*\(?\s*['"]([^'"]+)['"]/g;
const SOURCES = ['lib', 'nodes', 'sandbox', 'scripts/fuzz'];

/** All that the sources name, also where types alone are meant: `nodes/x/y.ts` names `lib/error`. */
export function importsOfSources(): Import[] {
  return SOURCES.flatMap((folder) =>
    fs
      .readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => path.join(folder, file))
      .flatMap((file) => importsIn(file, fs.readFileSync(path.join(ROOT, file), 'utf8'))),
  );
}

/** @param file from the root of the project */
export function importsIn(file: string, text: string): Import[] {
  return [...text.matchAll(NAMED)].map(([, name = '']) => ({
    file: slashed(file),
    name: name.startsWith('.') ? slashed(path.join(path.dirname(file), name)) : name,
  }));
}

function slashed(file: string): string {
  return file.replaceAll(path.sep, '/');
}

/**
 * The circles among what lies side by side in one folder: subfolders, each with all that is in it, and files. A folder whose
 * file is used by a room, and which has another file that uses the room, is none.
 * @returns of each circle the names in it, from the root of the project, in order; none where all is well
 */
export function circlesIn(imports: readonly Import[]): string[][] {
  const uses = new Map<string, Set<string>>();
  for (const { file, name } of imports) {
    const [user, used] = sideBySide(file.replace(/\.ts$/, ''), name);
    if (user === used) continue;
    uses.set(user, (uses.get(user) ?? new Set()).add(used));
  }
  const reach = new Map([...uses.keys()].map((place) => [place, reachedFrom(place, uses)]));
  const isWithin = (place: string, other: string): boolean =>
    reach.get(place)?.has(other) === true && reach.get(other)?.has(place) === true;
  const circles = [...uses.keys()].map((place) =>
    [...uses.keys()].filter((other) => isWithin(place, other)).sort(),
  );
  const found = circles.filter((circle) => circle.length > 0);
  return [...new Map(found.map((circle) => [circle[0], circle])).values()];
}

/** The two places in the innermost folder that holds both: `lib/a/b` and `lib/c/d` meet as `lib/a` and `lib/c`. */
function sideBySide(file: string, name: string): [user: string, used: string] {
  const [steps, others] = [file.split('/'), name.split('/')];
  const fork = steps.findIndex((step, index) => step !== others[index]);
  const upTo = (parts: readonly string[]): string => parts.slice(0, fork + 1).join('/');
  return [upTo(steps), upTo(others)];
}

function reachedFrom(place: string, uses: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const reached = new Set<string>();
  const next = [...(uses.get(place) ?? [])];
  for (let at = next.pop(); at !== undefined; at = next.pop()) {
    if (reached.has(at)) continue;
    reached.add(at);
    next.push(...(uses.get(at) ?? []));
  }
  return reached;
}
