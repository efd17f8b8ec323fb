'use strict';
// For what is loaded before Node-RED (NODE_OPTIONS=--require): lets it change modules of the built package as they are loaded,
// so that those need no hooks for tests.
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');

const LIB = path.join(__dirname, '..', '..', '..', 'dist', 'lib');

/** Replaces a function; `made` gets the former one. */
function patch(holder, name, made) {
  const former = holder[name];
  holder[name] = made(former);
}

/**
 * @param patches by file below dist/lib: gets the exports once they are there
 * @throws Error for a file that is not in the package: a patch that is never applied lets a test wait in vain
 */
function patchModules(patches) {
  for (const file of Object.keys(patches))
    if (!fs.existsSync(path.join(LIB, file))) throw new Error(`${file} is not in the built package`);
  const ends = Object.entries(patches).map(([file, apply]) => [
    path.join(path.sep, 'dist', 'lib', file),
    apply,
  ]);
  patch(Module.prototype, 'load', (former) => {
    return function (filename) {
      former.call(this, filename);
      for (const [end, apply] of ends) if (filename.endsWith(end)) apply(this.exports);
    };
  });
}

module.exports = { patch, patchModules };
