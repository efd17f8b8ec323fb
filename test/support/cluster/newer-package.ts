import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ROOT } from '../node-red/node-red';

/** A further step of the schema, as a next version might take it: those before go on beside it. */
const STEP = `
const former = exports.migrations;
exports.migrations = (schema) => [
  ...former(schema),
  \`ALTER TABLE "\${schema}".message ADD COLUMN remark text; CREATE INDEX message_remark ON "\${schema}".message (remark)\`,
];
`;

/** A copy of the built package whose schema is one version ahead. To be removed by the caller. @returns its folder */
export function newerPackage(): string {
  const folder = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'rvm-newer-'));
  fs.copyFileSync(path.join(ROOT, 'package.json'), path.join(folder, 'package.json'));
  fs.cpSync(path.join(ROOT, 'dist'), path.join(folder, 'dist'), { recursive: true });
  fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'), 'junction');
  fs.appendFileSync(path.join(folder, 'dist', 'lib', 'inbox', 'postgres', 'migrations.js'), STEP);
  return folder;
}
