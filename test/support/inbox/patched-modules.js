'use strict';
// For what is loaded before Node-RED (NODE_OPTIONS=--require): lets it change modules of the built package as they are loaded,
// so that those need no hooks for tests.
const Module = require('node:module');
const path = require('node:path');

/** Replaces a function; `made` gets the former one. */
function patch(holder, name, made) {
  const former = holder[name];
  holder[name] = made(former);
}

/** @param patches by file below dist/lib: gets the exports once they are there */
function patchModules(patches) {
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
