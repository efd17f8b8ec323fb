import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { entrance, inject, NodeRed, probe, VERSIONS, watched, type NodeRedVersion } from './node-red';

const NAME = 'written-by-a-flow.txt';

describe('a Node-RED of the tests', () => {
  for (const version of Object.keys(VERSIONS) as NodeRedVersion[])
    it(`writes what a flow saves under a relative path into its user directory, with Node-RED ${version}`, async () => {
      const nodeRed = await NodeRed.start({ version });
      try {
        await nodeRed.deploy(watched(...entrance('in', 'file'), fileNode(), probe('written')));
        await inject(nodeRed, 'in', { payload: 'text' });
        await nodeRed.message('written');
        assert.ok(fs.existsSync(path.join(nodeRed.userDir, NAME)));
      } finally {
        await nodeRed.stopAndRemove();
      }
    });
});

function fileNode() {
  const options = { filename: NAME, filenameType: 'str', overwriteFile: 'true', createDir: false };
  return { id: 'file', type: 'file', z: 'tab', ...options, x: 0, y: 0, wires: [['written']] };
}
