import nodeModule from 'node:module';

/** The Node.js version a user is told to install. */
export const NEEDED_NODE = '22.13';

/**
 * Whether this Node.js can carry the package: `node:sqlite` without a flag is there from 22.13 on.
 * The feature is asked for, not a version number; asking loads nothing and prints no warning.
 */
export function nodeIsNewEnough(): boolean {
  return typeof nodeModule.isBuiltin === 'function' && nodeModule.isBuiltin('node:sqlite');
}
