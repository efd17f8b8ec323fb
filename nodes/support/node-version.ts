/** A release of Node.js: major, minor, patch. */
type Release = readonly [number, number, number];

/**
 * The first release of each line that carries the package, as `engines` of package.json has them. Those before hash keys that
 * look like numbers so that a stranger can foretell it: a message of 1 MB held up a whole Node-RED for 21 s. And 22.13 was the
 * first with `node:sqlite`.
 */
const FIRST: readonly Release[] = [
  [22, 22, 2],
  [24, 14, 1],
  [25, 8, 2],
];

/** Whether a Node.js can carry the package. */
export function nodeIsNewEnough(version = process.versions.node): boolean {
  const [major, minor, patch] = releaseOf(version);
  const first = FIRST.find(([line]) => line === major);
  if (first === undefined) return major > newest()[0];
  return minor > first[1] || (minor === first[1] && patch >= first[2]);
}

/** The release that a user of an older one is told to install: of the same line, or else the next. */
export function neededNode(version = process.versions.node): string {
  const [major] = releaseOf(version);
  return (FIRST.find(([line]) => line >= major) ?? newest()).join('.');
}

function newest(): Release {
  return FIRST.at(-1) ?? [0, 0, 0];
}

function releaseOf(version: string): Release {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  return [major, minor, patch];
}
