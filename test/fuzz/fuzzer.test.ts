import assert from 'node:assert/strict';
import { everyTarget } from '../../scripts/fuzz/every-target';
import { Fuzzer, type Tally } from '../../scripts/fuzz/fuzzer';
import { findingText, isClean, tableOf } from '../../scripts/fuzz/report';
import type { Target } from '../../scripts/fuzz/target';
import { errorBodyTarget } from '../../scripts/fuzz/targets/error-body';
import { proofTarget } from '../../scripts/fuzz/targets/proof';
import { readingTarget } from '../../scripts/fuzz/targets/reading';
import { received as receivedRtp, rtpTarget } from '../../scripts/fuzz/targets/rtp';
import { readJson } from '../../lib/message/body';
import { authenticate } from '../../lib/webhook/proof/authenticate';
import { assertNothingFound } from './assert-nothing-found';

const MILLION = 1_000_000;

/** So many inputs of one target. */
async function tallyOf(target: Target, inputs: number, seed = 1): Promise<Tally> {
  const fuzzer = new Fuzzer([target], seed);
  await fuzzer.runTo((inputs * MILLION) / target.share);
  const [tally] = fuzzer.tallies;
  assert.ok(tally !== undefined);
  return tally;
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
    const { faults } = await tallyOf(accepting, 300);
    assert.ok(faults.accepted > 50, `${faults.accepted} wrong acceptances`);
    assert.equal(faults.rejected, 0);
  });

  it('reports a proof that refuses everything', async () => {
    const { faults } = await tallyOf(
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
    const { faults } = await tallyOf(lax, 3_000);
    assert.ok(faults.accepted > 0, 'no wrong acceptance');
  });

  it('reports a reading that takes a name twice', async () => {
    const lax = readingTarget((body) => {
      const reading = readJson(body);
      if (reading.problem !== 'duplicate-key') return reading;
      const { token, keysStripped, numberAsText } = reading;
      return { token, keysStripped, numberAsText, value: null };
    });
    const { faults } = await tallyOf(lax, 1_000);
    assert.ok(faults.accepted > 0, 'no wrong acceptance');
  });

  it('reports a secret that comes out of an error', async () => {
    const telling = errorBodyTarget((body, secrets) => ({
      serverMessage: secrets.reduce((text, secret) => text.replaceAll(secret, '***'), body).slice(0, 200),
    }));
    const { faults } = await tallyOf(telling, 300);
    assert.ok(faults.accepted > 50, `${faults.accepted} secrets`);
  });

  it('reports pictures of which packets are missing', async () => {
    const careless = rtpTarget(({ stream, delivery }) => {
      const arrivals = stream.packets.map((bytes) => ({ rtcp: false, bytes }));
      return receivedRtp({ stream, delivery: { ...delivery, arrivals } });
    });
    const { faults } = await tallyOf(careless, 500);
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
    const [missing, other] = [await tallyOf(lossy, 300), await tallyOf(late, 300)];
    assert.ok(missing.faults.rejected > 50, `${missing.faults.rejected} wrong rejections`);
    assert.ok(other.faults.wrong > 50, `${other.faults.wrong} wrong answers`);
  });

  it('counts an exception, and goes on', async () => {
    const throwing = readingTarget(() => {
      throw new Error('A fault of its own.');
    });
    const { inputs, faults } = await tallyOf(throwing, 20);
    assert.deepEqual([inputs, faults.thrown], [20, 20]);
  });

  it('finds the same with the same seed, and tells how to have it again', async () => {
    const refusing = (): Target => proofTarget(() => ({ proven: false, reason: 'bad-token' }));
    const [one, again] = [await tallyOf(refusing(), 50, 7), await tallyOf(refusing(), 50, 7)];
    const [finding] = one.findings;
    assert.ok(finding !== undefined);
    assert.deepEqual(again.findings, one.findings);
    assert.match(findingText(finding), /^proof: seed 7, input \d+: (?:rejected|wrong): .+\n {2}Base-64: \S+/);
    const other = await tallyOf(refusing(), 50, 8);
    assert.notDeepEqual(other.findings[0]?.input, finding.input);
  });

  it('prints a line for each target and one for all, and says whether anything is wrong', async () => {
    const tally = await tallyOf(proofTarget(), 10);
    const [titles = '', line = '', all = ''] = tableOf([tally]).split('\n');
    assert.match(
      titles,
      /^target +inputs +wrong acceptances +wrong rejections +wrong answers +throws +slowest, ms$/,
    );
    assert.match(line, /^proof +10 +0 +0 +0 +0 +\d+\.\d$/);
    assert.match(all, /^all +10 +0 /);
    assert.ok(isClean([tally]));
    assert.ok(!isClean([{ ...tally, faults: { ...tally.faults, thrown: 1 } }]));
  });

  it('has a million inputs to share', () => {
    const shares = everyTarget().reduce((sum, { share }) => sum + share, 0);
    assert.equal(shares, MILLION);
  });
});
