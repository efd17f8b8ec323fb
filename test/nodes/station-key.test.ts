import assert from 'node:assert/strict';
import { KEY, looksLikeApiKey, stationKey } from '../../nodes/support/rules';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import { caller, StationFlow } from '../support/node-red/station-flow';

const API_KEYS = [
  '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
  '3F2504E0-4F89-41D3-9A0C-0305E82C3301',
  '9e107d9d372bb6826bd81d3542a419d6',
  ' 9e107d9d372bb6826bd81d3542a419d6 ',
  '4bf92f3577b34da6',
  '4111111111111111',
  'k7x2m9q4w8z1v6b3n5',
  'Zm9vYmFyMTIzNDU2Nzg5MGFiY2RlZg==',
  'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.c2VjcmV0',
  'live-k7x2m9q4w8z1v6b3n5',
];
const SHORT_NAMES = [
  'north',
  'harbour-north',
  'central-station-2',
  'site-12-floor-3-cam-4',
  '2026-03-04',
  'building12',
  'northumberlandcontrolroom',
  'leitstelle-oberoesterreich-1',
  'werk3halle7',
  '00420123456789',
  'deadbeefdeadbeef',
  '',
];

describe('the key of a Central Station', () => {
  it('is its own, without white space around it, else made from its name, else from the id of its node', () => {
    assert.equal(stationKey({ key: ' north ', name: 'Harbour', id: '1f' }), 'north');
    for (const key of [undefined, '', ' '])
      assert.equal(stationKey({ key, name: ' Harbour Depot ', id: '1f' }), 'harbour-depot');
    for (const name of [undefined, null, '', ' ', '!'])
      assert.equal(stationKey({ name, id: '1f.2e' }), '1f-2e');
  });
});

describe('the short name of a Central Station', () => {
  for (const key of API_KEYS) {
    it(`${JSON.stringify(key)} looks like an API key`, () => assert.ok(looksLikeApiKey(key)));
  }

  for (const key of SHORT_NAMES) {
    it(`${JSON.stringify(key)} does not`, () => {
      assert.equal(looksLikeApiKey(key), false);
      assert.ok(key === '' || KEY.test(key));
    });
  }

  for (const version of NODE_RED_VERSIONS) {
    describe(`in a flow, in Node-RED ${version}`, () => {
      let flow: StationFlow;
      before(async () => {
        flow = await StationFlow.start(version);
      });
      after(() => flow.stop());

      async function logOf(key: string, name = 'North'): Promise<string> {
        const from = flow.nodeRed.log.length;
        await flow.deployFlows(flow.flows({ station: { key, name } }, caller('rvm-list-devices')));
        await flow.shows('connected v3');
        await flow.through({});
        return flow.nodeRed.log.slice(from);
      }

      for (const [title, key = '', line] of [
        [
          'looks like an API key',
          API_KEYS[2],
          /\[warn\] \[rvm-central-station:North\] .* looks like an API key/,
        ],
        ['is none', API_KEYS[7], /The short name "\*\*\*" is none/],
      ] as const)
        it(`works on where it ${title}, and the log warns of it without showing it`, async () => {
          const log = await logOf(key);
          assert.match(log, line);
          assert.equal(log.includes(key), false);
        });

      it('is not warned of where it is a short one, or made from a name or an id', async () => {
        assert.doesNotMatch(await logOf('harbour-north'), /looks like an API key/);
        assert.doesNotMatch(await logOf('', ''), /looks like an API key/);
      });
    });
  }
});
