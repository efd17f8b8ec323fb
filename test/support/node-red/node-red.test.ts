import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {
  entrance,
  flowNode,
  inject,
  NodeRed,
  probe,
  VERSIONS,
  watched,
  type NodeRedVersion,
} from './node-red';

const NAME = 'written-by-a-flow.txt';
const WRITES = { filename: NAME, filenameType: 'str', overwriteFile: 'true', createDir: false };

for (const version of Object.keys(VERSIONS) as NodeRedVersion[])
  it(`Node-RED ${version} of the tests writes what a flow saves under a relative path into its user directory`, async () => {
    await NodeRed.with({ version }, async (nodeRed) => {
      const file = flowNode('file', 'file', [['written']], WRITES);
      await nodeRed.deploy(watched(...entrance('in', 'file'), file, probe('written')));
      await inject(nodeRed, 'in', { payload: 'text' });
      await nodeRed.message('written');
      assert.ok(fs.existsSync(path.join(nodeRed.userDir, NAME)));
    });
  });
