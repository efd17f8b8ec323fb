'use strict';
// Loaded before a program (--require): kills it, as kill -9 does, before the n-th of the steps that can be told from outside, a
// change of a file by name, a command to SQLite, a query to PostgreSQL. n stands in KILL_AT.
const fs = require('node:fs');
const { DatabaseSync } = require('node:sqlite');
const { Client } = require('pg');
const { patch } = require('./patched-modules');

const AT = Number(process.env.KILL_AT);
let steps = 0;

function killable(former) {
  return function (...args) {
    steps += 1;
    if (steps === AT) process.kill(process.pid, 'SIGKILL');
    return former.apply(this, args);
  };
}

for (const name of ['copyFileSync', 'renameSync', 'rmSync', 'fsyncSync']) patch(fs, name, killable);
for (const name of ['exec', 'close']) patch(DatabaseSync.prototype, name, killable);
patch(Client.prototype, 'query', killable);
