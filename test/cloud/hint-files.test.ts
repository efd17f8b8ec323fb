import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { CameraHints } from '../../lib/cloud/cameras/camera-cache';
import { camera, GATE } from '../support/service/scripted-service';
import { EVENT_OF_GATE, rtspForEvent, stationOfEachTest } from '../support/service/scripted-station';
import { runsOfEachTest } from '../support/service/forked-services';
import { eventually, soon } from '../support/time/patience';

const WITHOUT_HINT = 6;
const WITH_HINT = 4;

describe('the files of what was learned of the cameras', () => {
  const station = stationOfEachTest();
  const { service } = station;
  const runs = runsOfEachTest(service);

  beforeEach(() => void (service.devices = [listed('Gate')]));

  function listed(name: string): Record<string, unknown> {
    return camera(GATE, name, { _links: { 'rel/data_sources': `/sources/${GATE}` } });
  }

  /** A run with one alarm, to its end. @returns the requests for that alarm */
  async function run(): Promise<number> {
    const client = await runs.next();
    const { requests } = await rtspForEvent(client);
    await client.listDevices();
    await runs.end();
    return requests;
  }

  it('are for the user of Node-RED alone, and so is their folder', async () => {
    fs.rmdirSync(runs.folder);
    await run();
    assert.equal(fs.statSync(runs.file()).mode & 0o777, 0o600);
    assert.equal(fs.statSync(runs.folder).mode & 0o777, 0o700);
  });

  it('hold no secret, and their names tell neither the Agent User nor the cloud', async () => {
    await run();
    const texts = runs.files().map((name) => fs.readFileSync(path.join(runs.folder, name), 'utf8'));
    const secrets = [service.apiKey, service.password, ...service.sessions, 'rtsp://', 'token-1'];
    for (const secret of secrets) assert.ok(!texts.join('\n').includes(secret), secret);
    for (const name of runs.files()) assert.match(name, /^[0-9a-f]{32}\.cameras$/);
  });

  for (const [what, link] of [
    ['a parameter', `/rtsp/${GATE}?ticket=4711`],
    ['a parameter of the path', `/rtsp/${GATE};jsessionid=4711`],
    ['the API key', `/rtsp/${GATE}/key-4711-secret`],
  ] as const) {
    it(`hold no link with ${what}`, async () => {
      service.on('GET', `/sources/${GATE}`, { json: { _links: { 'rel/rtsp': link } } });
      await run();
      for (const name of runs.files())
        assert.ok(!fs.readFileSync(path.join(runs.folder, name), 'utf8').includes('4711'));
      assert.equal(await run(), WITHOUT_HINT);
    });
  }

  it('are not written where a run has learned nothing new', async () => {
    await run();
    const written = runs.writing();
    const client = await runs.next();
    await rtspForEvent(client);
    await client.listDevices({ fresh: true });
    service.devices = [{ ...listed('Gate'), status: 'offline' }];
    await client.listDevices({ fresh: true });
    await runs.end();
    assert.equal(runs.writing(), written);
  });

  it('are written within a second of what is new, without the end of the run', async () => {
    const client = await runs.next();
    await rtspForEvent(client);
    await soon(
      eventually(() => runs.files().length === 1, 'the file'),
      20,
    );
    const written = runs.writing();
    await rtspForEvent(client, { ...EVENT_OF_GATE, cameraRemoteId: 'another' });
    await soon(
      eventually(() => runs.writing() !== written, 'the next writing'),
      20,
    );
  });

  const rewritten = (from: string, to: string) => (file: string) =>
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace(from, to));
  for (const [what, spoil] of [
    ['cut', (file) => fs.truncateSync(file, fs.statSync(file).size - 1)],
    ['changed', rewritten('online', 'onlinE')],
    ['empty', (file) => fs.truncateSync(file, 0)],
    ['of another version', rewritten('hints 1', 'hints 2')],
    ['too large', (file) => fs.truncateSync(file, 16 * 1024 * 1024 + 1)],
    ['no text', (file) => fs.writeFileSync(file, Buffer.alloc(1000, 0xff))],
  ] as const satisfies [string, (file: string) => void][]) {
    it(`that are ${what} are passed over and replaced`, async () => {
      await run();
      assert.equal(await run(), WITH_HINT);
      spoil(runs.file());
      assert.equal(await run(), WITHOUT_HINT);
      assert.equal(await run(), WITH_HINT);
      assert.deepEqual(runs.faults, []);
    });
  }

  it('that bear the name of another Agent User are passed over', async () => {
    await run();
    const own = runs.files();
    const logIn = (request: Parameters<typeof service.logIn>[0]) =>
      service.logIn({ ...request, body: JSON.stringify(service) });
    service.on('POST', '/login', logIn);
    const settings = { username: 'another' };
    await (await runs.next(settings)).listDevices();
    await rtspForEvent(await runs.next(settings), EVENT_OF_GATE);
    await runs.end();
    const theirs = runs.files().filter((name) => !own.includes(name));
    assert.equal(theirs.length, 1);
    fs.copyFileSync(path.join(runs.folder, own[0] ?? ''), path.join(runs.folder, theirs[0] ?? ''));
    const { requests } = await rtspForEvent(await runs.next(settings), EVENT_OF_GATE);
    assert.equal(requests, WITHOUT_HINT);
  });

  it('hold the 5,000 cameras alone whose videos were asked for last', async () => {
    const owner = { system: new URL('https://service.example/system'), username: 'agent', secrets: [] };
    const options = { folder: runs.folder, onFault: (error: Error) => void runs.faults.push(error) };
    const hints = new CameraHints(owner, options);
    const learn = (id: string): void => {
      const device = { id, name: 'Camera', status: 'online' };
      hints.learn({ device, remoteId: `remote ${id}` }, undefined, undefined);
    };
    for (let count = 0; count < 5_000; count += 1) learn(`camera ${count}`);
    learn('camera 0');
    learn('one more');
    await hints.close();
    const next = new CameraHints(owner, options);
    const known = await Promise.all(
      ['camera 0', 'camera 1', 'camera 2', 'one more'].map((id) => next.learned(id)),
    );
    const knownIds = known.map((camera) => camera?.device.id);
    assert.deepEqual(knownIds, ['camera 0', undefined, 'camera 2', 'one more']);
    assert.deepEqual(runs.faults, []);
  });

  it('that cannot be written cost nothing but the hint, and that is told once', async () => {
    fs.rmdirSync(runs.folder);
    fs.writeFileSync(runs.folder, 'no folder');
    assert.equal(await run(), WITHOUT_HINT);
    assert.equal(runs.faults.length, 1);
  });

  it('that were not used for 30 days are removed, and nothing else is', async () => {
    const [old, young, foreign] = [`${'0'.repeat(32)}.cameras`, `${'1'.repeat(32)}.cameras`, 'notes.txt'];
    for (const name of [old, young, foreign]) fs.writeFileSync(path.join(runs.folder, name), '');
    const long = new Date(Date.now() - 31 * 24 * 3600_000);
    for (const name of [old, foreign]) fs.utimesSync(path.join(runs.folder, name), long, long);
    await run();
    const names = runs.files();
    const areThere = [old, young, foreign].map((name) => names.includes(name));
    assert.deepEqual(areThere, [false, true, true]);
  });

  it('that are in use show it, however long ago they were written', async () => {
    await run();
    const long = new Date(Date.now() - 31 * 24 * 3600_000);
    fs.utimesSync(runs.file(), long, long);
    assert.equal(await run(), WITH_HINT);
    assert.equal(await run(), WITH_HINT);
    assert.equal(runs.files().length, 1);
  });
});
