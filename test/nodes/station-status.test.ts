import assert from 'node:assert/strict';
import { programPath } from '../support/suite/programs';
import type { FlowNode } from '../support/node-red/node-red';
import { RecordingForwarder } from '../support/network/servers';
import { ScriptedService } from '../support/service/scripted-service';
import { caller, CALLERS, describeWith, enteredBy, StationFlow } from '../support/node-red/station-flow';
import { KEY, looksLikeApiKey, stationKey } from '../../nodes/support/rules';

/** Without ffmpeg *get picture* says so, whatever the session. */
const LACKS_FFMPEG = programPath('ffmpeg') === undefined;

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
const SHORT_NAMES = (
  'north harbour-north central-station-2 site-12-floor-3-cam-4 2026-03-04 building12 ' +
  'northumberlandcontrolroom leitstelle-oberoesterreich-1 werk3halle7 00420123456789 deadbeefdeadbeef'
).split(' ');

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
  for (const key of API_KEYS)
    it(`${JSON.stringify(key)} looks like an API key`, () => assert.ok(looksLikeApiKey(key)));

  for (const key of [...SHORT_NAMES, ''])
    it(`${JSON.stringify(key)} does not`, () => {
      assert.equal(looksLikeApiKey(key), false);
      assert.ok(key === '' || KEY.test(key));
    });
});

describeWith(StationFlow, 'what nodes show of their Central Station', {}, (flow) => {
  const nodes = (): FlowNode[] => CALLERS.map((type) => caller(type, { id: type, wires: [[], []] }));

  async function allShow(text: string | RegExp, ...ids: string[]): Promise<void> {
    for (const id of [...CALLERS, ...ids]) {
      const lacks = id === 'rvm-get-picture' && LACKS_FFMPEG;
      await flow.shows(lacks ? 'status.decoderMissing' : text, id);
    }
  }

  it('is the session, on every node that calls the service, before any message', async () => {
    await flow.deploy(...nodes());
    await allShow('connected v3');
  });

  it('is there at once on a node that is deployed alone, which logs in no second time', async () => {
    const forwarder = await RecordingForwarder.start(flow.sandbox.url);
    try {
      const cloud = { url: forwarder.url };
      const named = (name: string): FlowNode[] =>
        nodes().map((node) => (node.type === 'rvm-ptz' ? { ...node, name } : node));
      const flows = (name: string): FlowNode[] => flow.flows({ cloud }, ...named(name));
      await flow.deployFlows(flows(''));
      await flow.shows('connected v3', 'rvm-ptz');
      for (const turn of [1, 2]) {
        await flow.deployFlows(flows(`renamed ${turn}`), 'nodes');
        await flow.shows('connected v3', 'rvm-ptz');
        assert.deepEqual(new Set(flow.statuses('rvm-ptz')), new Set(['connected v3']));
      }
      assert.equal(new Set(forwarder.cookies).size, 1);
    } finally {
      await forwarder.close();
    }
  });

  it('turns to "offline since" and back to "connected" by itself, with no message, when the service goes and comes', async () => {
    let service = await flow.other();
    try {
      // It asks, so that the others need no message; what it shows of its own failure is in another test.
      const asker = caller('rvm-request', { id: 'asker', deadline: 1 });
      const wanderer = caller('rvm-list-devices', { id: 'wanderer', station: '', wires: [[], []] });
      const cloud = { url: service.url, timeout: 2 };
      const flows = flow.flows({ cloud }, ...nodes(), asker, wanderer);
      await flow.deployFlows(enteredBy(flows, 'asker', 'wanderer'));
      await allShow('connected v3');
      await flow.through({ station: 'north' });
      await flow.shows('connected v3', 'wanderer');

      await service.close();
      await flow.failure({ station: 'north' });
      await allShow(/^offline since \d/, 'wanderer');

      service = await flow.other(service.url);
      await allShow('connected v3', 'wanderer');
    } finally {
      await service.close();
    }
  });

  it('is "not configured" where the station that was chosen is disabled, whatever it was before', async () => {
    await flow.deploy(caller('rvm-list-devices'));
    await flow.shows('connected v3');
    await flow.deployFlows(flow.flows({ station: { d: true } }, caller('rvm-list-devices')));
    await flow.shows(/notConfigured$/);
  });

  it('is told to the log as well, once for each change', async () => {
    const { log } = flow.nodeRed;
    const cloud = { credentials: { apiKey: 'wrong-key' } };
    await flow.deployFlows(flow.flows({ cloud }, caller('rvm-list-devices')));
    await flow.shows(/wrongApiKey$/);
    for (const _turn of [1, 2]) await flow.send({});
    const lines = flow.nodeRed.log.slice(log.length).match(/The service rejects the API key/g);
    assert.equal(lines?.length, 1);
  });

  it('is "connected" where the service names no version, which is warned of once (T-09)', async () => {
    const service = await ScriptedService.start();
    try {
      service.on('GET', '/system', (request) => ({
        ...(service.system(request) as object),
        headers: { 'Content-Type': 'application/json' },
      }));
      const { url, apiKey, username, password } = service;
      const before = flow.nodeRed.log.length;
      const cloud = { url, credentials: { apiKey } };
      const station = { credentials: { username, password } };
      await flow.deployFlows(flow.flows({ cloud, station }, caller('rvm-list-devices')));
      await flow.shows(/connected$/);
      await flow.through({});
      const warnings = flow.nodeRed.log.slice(before).match(/does not say which API version/g);
      assert.equal(warnings?.length, 1);
    } finally {
      await service.close();
    }
  });

  it('is that of the last message where the node has none of its own, and gone with the station', async () => {
    const wanderer = caller('rvm-list-devices', { station: '' });
    await flow.deploy(wanderer);
    await flow.through({ station: 'north' });
    await flow.shows('connected v3');
    await flow.deployFlows(flow.flows({ station: { key: 'south' } }, wanderer), 'nodes');
    await flow.shows('');
  });

  async function logOf(key: string, name = 'North'): Promise<string> {
    const from = flow.nodeRed.log.length;
    await flow.deployFlows(flow.flows({ station: { key, name } }, caller('rvm-list-devices')));
    await flow.shows('connected v3');
    await flow.through({});
    return flow.nodeRed.log.slice(from);
  }

  for (const [title, key = '', line] of [
    ['looks like an API key', API_KEYS[2], /\[warn\] \[rvm-central-station:North\] .* looks like an API key/],
    ['is none', API_KEYS[7], /The short name "\*\*\*" is none/],
  ] as const)
    it(`has a short name that works on where it ${title}, and the log warns of it without showing it`, async () => {
      const log = await logOf(key);
      assert.match(log, line);
      assert.equal(log.includes(key), false);
    });

  it('has a short name that is not warned of where it is a short one, or made from a name or an id', async () => {
    assert.doesNotMatch(await logOf('harbour-north'), /looks like an API key/);
    assert.doesNotMatch(await logOf('', ''), /looks like an API key/);
  });
});
