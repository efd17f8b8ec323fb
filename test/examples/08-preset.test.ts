import { isFixtureStill } from '../support/rtsp/fixture';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { eventOf, ExampleRun } from '../support/examples/example-run';

/** Two that can move, as the example names them, and a fixed one. */
const GATE = 'SANDBOX Gate 1';
const FENCE = 'SANDBOX South Fence 1';
const FIXED = 'SANDBOX Yard 1';
const TRAVEL_MS = 1200;

/** What a picture knows of its round. */
interface Picture {
  alarmId: string;
  cameraId: string;
  file: string;
  /** Milliseconds since 1970. */
  roundStart: number;
  taken: number;
  preset: string | undefined;
}

describe('example 08, a preset before the picture', () => {
  const run = ExampleRun.ofGroup('08', {
    settings: 'fileWorkingDirectory: __dirname,',
    beside: { alarm: 'alarm', picture: 'picture', 'no-picture': 'no picture', 'not-moved': 'not moved' },
    changes: { wait: { timeout: String(TRAVEL_MS / 1000) }, 'home-time': { duration: '3' } },
  });

  const messageOf = (probe: string, alarmId: string): Promise<Record<string, unknown>> =>
    run.nodeRed.message(probe, (msg) => eventOf(msg).alarmId === alarmId);

  async function cameraId(name: string): Promise<string> {
    const camera = (await run.sandbox.state()).cameras.find((each) => each.name === name);
    return camera?.id ?? assert.fail(`the sandbox has ${name}`);
  }

  async function positionIs(name: string, position: string): Promise<void> {
    const stands = (camera: { name: string; ptz: { position: string } | null }): boolean =>
      camera.name === name && camera.ptz?.position === position;
    await run.sandbox.until(({ cameras }) => cameras.some(stands), `${name} at ${position}`);
  }

  async function pictureOf(alarmId: string): Promise<Picture> {
    const msg = await messageOf('picture', alarmId);
    const { cameraId, time } = msg.snapshot as { cameraId: string; time: string };
    const ptz = msg.ptz as { target: { name: string } } | undefined;
    const file = path.join(run.nodeRed.userDir, String(msg.filename));
    const roundStart = Number(msg.roundStart);
    return { alarmId, cameraId, file, roundStart, taken: Date.parse(time), preset: ptz?.target.name };
  }

  it('moves the camera to the preset of its name, waits, and saves a picture of this camera', async () => {
    const { alarmId } = await run.raise({ camera: GATE });
    await positionIs(GATE, 'preset 0');
    const picture = await pictureOf(alarmId);
    assert.equal(picture.preset, 'Entrance');
    assert.equal(picture.cameraId, await cameraId(GATE));
    assert.ok(picture.taken - picture.roundStart >= TRAVEL_MS, 'the picture came after the way');
    const jpeg = fs.readFileSync(picture.file);
    assert.ok(jpeg.length > 1000 && isFixtureStill(jpeg), 'made of what is recorded');
  });

  it('lets the alarm wait for none of that', () => {
    const order = run.nodeRed.seen.map(({ probe }) => probe);
    assert.ok(order.indexOf('alarm') >= 0 && order.indexOf('alarm') < order.indexOf('picture'));
  });

  it('sends the camera home by time, while the alarm goes on', async () => {
    await positionIs(GATE, 'home');
  });

  it('takes one picture of a camera at a time, and lets no other camera wait', async () => {
    const alarms = [GATE, GATE, FENCE].map((camera) => run.raise({ camera }));
    const [one, two, other] = await Promise.all(
      alarms.map(async (alarm) => pictureOf((await alarm).alarmId)),
    );
    assert.ok(one !== undefined && two !== undefined && other !== undefined);
    const [first, second] = one.taken < two.taken ? [one, two] : [two, one];
    assert.ok(second.roundStart >= first.taken, 'the second round began after the first picture');
    assert.ok(other.roundStart < first.taken, 'the other camera did not wait');
    assert.equal(other.preset, 'Fence Line');
  });

  it('takes the picture of a camera that is not in the list without moving it', async () => {
    const picture = await pictureOf((await run.raise({ camera: FIXED })).alarmId);
    assert.equal(picture.preset, undefined);
    assert.equal(picture.cameraId, await cameraId(FIXED));
  });

  it('takes the picture all the same where the camera cannot be moved', async () => {
    await run.sandbox.fault({ kind: 'status', status: 409, relation: 'rel/trigger', count: 1 });
    const { alarmId } = await run.raise({ camera: GATE });
    const picture = await pictureOf(alarmId);
    assert.equal(picture.preset, undefined);
    const failure = await messageOf('not moved', alarmId);
    assert.equal((failure.error as { code: string }).code, 'CAMERA_BUSY');
  });

  it('goes on with the next alarm of a camera after a picture that failed', async () => {
    await run.sandbox.fault({ kind: 'status', status: 409, relation: 'rel/snapshot', count: 1 });
    const { alarmId: failing } = await run.raise({ camera: FENCE });
    const { alarmId: next } = await run.raise({ camera: FENCE });
    await messageOf('no picture', failing);
    assert.equal((await pictureOf(next)).preset, 'Fence Line');
  });

  it('takes no second picture for the end of an alarm', async () => {
    const { alarmId } = await run.raise({ camera: FIXED, seconds: 0 });
    const ofAlarm = (probe: string): number => run.at(probe, { alarmId }).length;
    await run.nodeRed.until(
      () => ofAlarm('alarm') === 2 && ofAlarm('picture') > 0,
      'both messages and a picture',
    );
    const { alarmId: later } = await run.raise({ camera: FIXED });
    await pictureOf(later);
    assert.equal(ofAlarm('picture'), 1);
  });

  it('sends all cameras home in the end', async () => {
    await positionIs(GATE, 'home');
    await positionIs(FENCE, 'home');
  });
});
