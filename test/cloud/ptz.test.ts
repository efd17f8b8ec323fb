import assert from 'node:assert/strict';
import type { StationClient } from '../../lib/cloud/station-client';
import { testStation } from '../../lib/station-test';
import { Gate, eventually } from '../support/time/patience';
import type { Reply } from '../support/service/scripted-service';
import {
  failure,
  NO_RELATIONS,
  type ScriptedStation,
  SHORT_TIMEOUT,
  stationOfEachTest,
} from '../support/service/scripted-station';

const GATE = 'Gate';
const YARD = 'Yard';

describe('PTZ commands', () => {
  const station = stationOfEachTest();
  const { service } = station;
  let client: StationClient;

  beforeEach(() => {
    client = station.client();
    for (const camera of [GATE, YARD]) {
      const ptz_presets = [0, 1, 2].map((id) => ({
        id,
        name: `${camera} ${id}`,
        _links: { 'rel/trigger': `/${camera}/${id}/trigger` },
      }));
      const _links = { 'rel/ptz_presets': `/${camera}/presets` };
      service.on('GET', `/sources/${camera}`, { json: { _links } });
      service.on('GET', `/${camera}/presets`, { json: { ptz_presets } });
      for (const id of [0, 1, 2]) answer(`/${camera}/${id}/trigger`, { status: 204 });
    }
  });

  function answer(path: string, ...replies: Reply[]): void {
    service.on('POST', path, ...replies);
  }

  function posted(): string[] {
    return service.seen.flatMap(({ method, path }) => (method === 'POST' && path !== '/login' ? [path] : []));
  }

  const goTo = (camera: string, target: string): Promise<unknown> =>
    client.ptz(camera, { action: 'goto-preset', target });

  it('reach one camera in the order in which they were given, however slow the service is with one', async () => {
    const gate = new Gate();
    const [slow, quick] = [2, 1].map((id) => ({
      json: [{ id, _links: { 'rel/trigger': `/Gate/${id}/trigger` } }],
    }));
    service.on('GET', '/Gate/presets', { ...slow, after: gate.opened }, { ...quick });
    const both = Promise.all([goTo(GATE, '2'), goTo(GATE, '1')]);
    await eventually(() => service.count('GET', '/Gate/presets') === 1, 'the first list');
    gate.open();
    await both;
    assert.deepEqual(posted(), ['/Gate/2/trigger', '/Gate/1/trigger']);
  });

  it('to another camera do not wait for it', async () => {
    const gate = new Gate();
    answer('/Gate/1/trigger', { after: gate.opened, status: 204 });
    const slow = goTo(GATE, '1');
    await eventually(() => posted().length === 1, 'the slow command');
    await goTo(YARD, '1');
    gate.open();
    await slow;
    assert.deepEqual(posted(), ['/Gate/1/trigger', '/Yard/1/trigger']);
  });

  it('go on after one that failed, and one whose caller has given up is not sent', async () => {
    const gate = new Gate();
    answer('/Gate/0/trigger', { after: gate.opened, status: 500 });
    const failing = failure(goTo(GATE, '0'), 'HTTP_ERROR');
    await eventually(() => posted().length === 1, 'the first command');
    const caller = new AbortController();
    const command = { action: 'goto-preset', target: '1' } as const;
    const given = failure(client.ptz(GATE, command, { signal: caller.signal }), 'CANCELLED');
    const last = goTo(GATE, '2');
    caller.abort();
    await given;
    gate.open();
    await Promise.all([failing, last]);
    assert.deepEqual(posted(), ['/Gate/0/trigger', '/Gate/2/trigger']);
  });

  it('are not sent any more where those before took too long', async () => {
    const gate = new Gate();
    answer('/Gate/0/trigger', { after: gate.opened, status: 204 });
    const impatient = station.client({ timeoutMs: SHORT_TIMEOUT });
    const send = (target: string): Promise<unknown> => impatient.ptz(GATE, { action: 'goto-preset', target });
    await Promise.all(['0', '1', '2'].map((target) => failure(send(target), 'TIMEOUT')));
    gate.open();
    assert.deepEqual(posted(), ['/Gate/0/trigger']);
  });

  it('name what the camera has where a target is not found', async () => {
    const error = await failure(goTo(GATE, 'Door'), 'TARGET_NOT_FOUND');
    assert.match(
      error.message,
      /The camera "Gate" has no "Door".*it has 0 \(Gate 0\), 1 \(Gate 1\), 2 \(Gate 2\)\./,
    );
    assert.deepEqual(posted(), []);
  });

  it('tell no RTSP URL that stands in the name of a preset', async () => {
    const name = 'rtsp://admin:pw123@10.0.0.5/stream';
    service.on('GET', '/Gate/presets', { json: { ptz_presets: [{ id: 7, name }] } });
    const error = await failure(goTo(GATE, 'Door'), 'TARGET_NOT_FOUND');
    assert.match(error.message, /it has 7 \(\*\*\*/);
    assert.doesNotMatch(error.message, /pw123/);
  });
});

describe('presets and tours in the test of a station', () => {
  const station = stationOfEachTest();
  const { service } = station;

  /** Of a camera, with the relations that each of its presets, each of its tours, and the list of presets have. */
  function offer(camera: string, presets: string[][], tours: string[][] = [], ofList: string[] = []): void {
    const links = (path: string, relations: string[]): object =>
      Object.fromEntries(relations.map((relation) => [`rel/${relation}`, `${path}/${relation}`]));
    const targets = (path: string, each: string[][]): object[] =>
      each.map((relations, id) => ({ id, name: `${id}`, _links: links(`${path}/${id}`, relations) }));
    const own = { 'rel/ptz_presets': `/${camera}/presets`, 'rel/ptz_tours': `/${camera}/tours` };
    service.on('GET', `/sources/${camera}`, { json: { _links: own } });
    service.on('GET', `/${camera}/presets`, {
      json: {
        ptz_presets: targets(`/${camera}/presets`, presets),
        _links: links(`/${camera}/presets`, ofList),
      },
    });
    service.on('GET', `/${camera}/tours`, { json: { ptz_tours: targets(`/${camera}/tours`, tours) } });
  }

  /** What is said of them; undefined where nothing is. */
  async function said(options: Parameters<ScriptedStation['client']>[0] = {}): Promise<string | undefined> {
    const steps = await testStation(station.client(options));
    const isCommand = /presets|tours/;
    assert.ok(service.seen.every(({ method, path }) => method === 'GET' || !isCommand.test(path)));
    return steps.find(({ step }) => step === 'ptz')?.detail;
  }

  it('are no matter for a word where each has its link, on itself or on the list', async () => {
    offer(GATE, [['self', 'trigger']], [['self', 'start']]);
    assert.equal(await said(), undefined);
    offer(GATE, [['self'], ['self']], [], ['trigger_preset']);
    assert.equal(await said(), undefined);
  });

  it('are no matter for a word where no camera has any, or is asked in vain', async () => {
    assert.equal(await said(), undefined);
    offer(GATE, []);
    offer(YARD, []);
    service.on('GET', `/${GATE}/presets`, { status: 404 });
    assert.equal(await said(), undefined);
  });

  it('tell what is missing and what is offered, where each preset has itself alone', async () => {
    offer(GATE, [['self'], ['self']]);
    assert.match((await said()) ?? '', /^"Gate": The preset "0" .* rel\/trigger .* It offers rel\/self\.$/);
  });

  it('tell it of one among many, and of a tour', async () => {
    offer(GATE, [['trigger'], ['self', 'recall']]);
    assert.match(
      (await said()) ?? '',
      /The preset "1" .* rel\/trigger .* It offers rel\/self, rel\/recall\.$/,
    );
    offer(GATE, [['trigger']], [['self']]);
    assert.match((await said()) ?? '', /The tour "0" .* rel\/start .* It offers rel\/self\.$/);
  });

  it('tell it of the first camera that has any, behind such as have none', async () => {
    offer(GATE, []);
    offer(YARD, [['self']]);
    assert.match((await said()) ?? '', /^"Yard": /);
  });

  it('go by the relation that the cloud names', async () => {
    offer(GATE, [['self']]);
    assert.equal(await said({ relations: { ...NO_RELATIONS, gotoPreset: 'rel/self' } }), undefined);
    assert.match((await said({ relations: { ...NO_RELATIONS, gotoPreset: 'rel/go' } })) ?? '', /rel\/go /);
  });
});
