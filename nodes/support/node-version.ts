/** The first release of Node.js that carries the package, as `engines` of package.json has it: `undici` asks for it. */
export const NEEDED_NODE = '22.19';

/**
 * The first releases, of each line, on which a stranger cannot foretell how keys and short texts of JSON are hashed: on those
 * before, a megabyte of well-chosen ones holds up `JSON.parse`, and with it a whole Node-RED, for seconds.
 */
const UNFORETOLD = ['22.22.2', '24.14.1', '25.8.2'];

/** Whether a Node.js can carry the package. */
export function nodeIsNewEnough(version = process.versions.node): boolean {
  return !isBefore(version, NEEDED_NODE);
}

/** The release that a user of one with such hashes is told to install: of the same line, or else the next. Undefined on others. */
export function saferNode(version = process.versions.node): string | undefined {
  const first = UNFORETOLD.find((release) => lineOf(release) >= lineOf(version));
  return first !== undefined && isBefore(version, first) ? first : undefined;
}

function isBefore(one: string, other: string): boolean {
  return one.localeCompare(other, 'en', { numeric: true }) < 0;
}

function lineOf(version: string): number {
  return Number.parseInt(version, 10);
}
