import assert from 'node:assert/strict';
import { everyTarget } from '../../scripts/fuzz/every-target';
import type { Fault, Target } from '../../scripts/fuzz/runner';
import { errorBodyTarget } from '../../scripts/fuzz/targets/error-body';
import { proofTarget } from '../../scripts/fuzz/targets/proof';
import { readingTarget } from '../../scripts/fuzz/targets/reading';
import { received as receivedRtp, rtpTarget } from '../../scripts/fuzz/targets/rtp';
import { readJson } from '../../lib/message/body';
import { authenticate } from '../../lib/webhook/proof/authenticate';
import { assertNothingFound } from './assert-nothing-found';

const MILLION = 1_000_000;

/** How often each fault is found in so many inputs. */
async function faultsOf(target: Target, inputs: number): Promise<Record<Fault, number>> {
  const faults = { accepted: 0, rejected: 0, wrong: 0, thrown: 0 };
  for (const fault of await target.faults(1, inputs)) faults[fault] += 1;
  return faults;
}

describe('the fuzzer', () => {
  it('finds nothing in a few inputs of every target', () => assertNothingFound(everyTarget(), 4_000));

  it('reports a proof that accepts everything', async () => {
    const accepting = proofTarget((message, stations) => {
      const [station] = stations;
      assert.ok(station !== undefined);
      const found = authenticate(message, stations);
      return found.proven
        ? found
        : { proven: true, station, proof: 'hmac', secret: 'current', oddScheme: false };
    });
    const faults = await faultsOf(accepting, 300);
    assert.ok(faults.accepted > 50, `${faults.accepted} wrong acceptances`);
    assert.equal(faults.rejected, 0);
  });

  it('reports a proof that refuses everything', async () => {
    const faults = await faultsOf(
      proofTarget(() => ({ proven: false, reason: 'bad-signature' })),
      300,
    );
    assert.ok(faults.rejected > 50, `${faults.rejected} wrong rejections`);
    assert.equal(faults.accepted, 0);
  });

  it('reports a proof that compares decoded signatures', async () => {
    const lax = proofTarget((message, stations) => {
      const [scheme, text] = message.authorization[0]?.split(' ') ?? [];
      if (scheme === undefined || text === undefined) return authenticate(message, stations);
      const authorization = [`${scheme} ${Buffer.from(text, 'base64').toString('base64')}`];
      return authenticate({ ...message, authorization }, stations);
    });
    const faults = await faultsOf(lax, 3_000);
    assert.ok(faults.accepted > 0, 'no wrong acceptance');
  });

  it('reports a reading that takes a name twice', async () => {
    const lax = readingTarget((body) => {
      const reading = readJson(body);
      if (reading.problem !== 'duplicate-key') return reading;
      const { token, keysStripped, numberAsText } = reading;
      return { token, keysStripped, numberAsText, value: null };
    });
    const faults = await faultsOf(lax, 1_000);
    assert.ok(faults.accepted > 0, 'no wrong acceptance');
  });

  it('reports a secret that comes out of an error', async () => {
    const telling = errorBodyTarget((body, secrets) => ({
      serverMessage: secrets.reduce((text, secret) => text.replaceAll(secret, '***'), body).slice(0, 200),
    }));
    const faults = await faultsOf(telling, 300);
    assert.ok(faults.accepted > 50, `${faults.accepted} secrets`);
  });

  it('reports pictures of which packets are missing', async () => {
    const careless = rtpTarget(({ stream, delivery }) => {
      const arrivals = stream.packets.map((bytes) => ({ rtcp: false, bytes }));
      return receivedRtp({ stream, delivery: { ...delivery, arrivals } });
    });
    const faults = await faultsOf(careless, 500);
    assert.ok(faults.accepted > 20, `${faults.accepted} wrong acceptances`);
  });

  it('reports pictures that do not come, and those that are others', async () => {
    const lossy = rtpTarget((input) => {
      const answer = receivedRtp(input);
      return { ...answer, frames: answer.frames.slice(1) };
    });
    const late = rtpTarget((input) => {
      const answer = receivedRtp(input);
      return { ...answer, frames: answer.frames.map((frame) => ({ ...frame, time: frame.time + 0.1 })) };
    });
    const [missing, other] = [await faultsOf(lossy, 600), await faultsOf(late, 300)];
    assert.ok(missing.rejected > 50, `${missing.rejected} wrong rejections`);
    assert.ok(other.wrong > 50, `${other.wrong} wrong answers`);
  });

  it('counts an exception, and goes on', async () => {
    const throwing = readingTarget(() => {
      throw new Error('A fault of its own.');
    });
    assert.equal((await faultsOf(throwing, 20)).thrown, 20);
  });

  it('finds the same with the same seed, and tells how to have it again', async () => {
    const refusing = proofTarget(() => ({ proven: false, reason: 'bad-token' }));
    const { finding } = await refusing.run(7, 50, false);
    assert.match(
      finding ?? '',
      /^proof: seed 7, path [\d:]+: Error: (?:rejected|wrong): .+\n {2}Base-64: \S+/,
    );
    assert.equal((await refusing.run(7, 50, false)).finding, finding);
    assert.notEqual((await refusing.run(8, 50, false)).finding, finding);
  });

  it('makes the input of a finding as small as it can be', async () => {
    const refusing = readingTarget((body) => ({ ...readJson(body), problem: 'not-json' }));
    const { finding = '' } = await refusing.run(1, 50, false);
    const input = Buffer.from(finding.split('Base-64: ')[1] ?? '', 'base64');
    assert.ok(input.length < 10, input.toString());
  });

  it('takes the examples of earlier faults first', async () => {
    const all = new Set<string>();
    const { inputs } = await readingTarget((body) => {
      all.add(Buffer.from(body).toString());
      return readJson(body);
    }).run(1, 1);
    assert.equal(inputs, 4);
    assert.ok(all.has('\uFEFF\uFEFF{"a":1}'));
  });

  it('has a million inputs to share', () => {
    const shares = everyTarget().reduce((sum, { share }) => sum + share, 0);
    assert.equal(shares, MILLION);
  });
});
