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
const REFUSED = { proven: false, reason: 'bad-signature' } as const;

/** How often each fault is found in so many inputs. */
async function faultsOf(target: Target, inputs: number): Promise<Record<Fault, number>> {
  const faults = { accepted: 0, rejected: 0, wrong: 0, thrown: 0 };
  for (const fault of await target.faults(1, inputs)) faults[fault] += 1;
  return faults;
}

describe('the fuzzer', () => {
  it('finds nothing in a few inputs of every target', () => assertNothingFound(everyTarget(), 4_000));

  const REPORTED: [title: string, target: Target, inputs: number, found: Partial<Record<Fault, number>>][] = [
    [
      'a proof that accepts everything',
      proofTarget((message, stations) => {
        const station = stations[0] ?? assert.fail();
        const found = authenticate(message, stations);
        if (found.proven) return found;
        return { proven: true, station, proof: 'hmac', secret: 'current', oddScheme: false };
      }),
      300,
      { accepted: 50, rejected: 0 },
    ],
    ['a proof that refuses everything', proofTarget(() => REFUSED), 300, { accepted: 0, rejected: 50 }],
    [
      'a proof that compares decoded signatures',
      proofTarget((message, stations) => {
        const [scheme, text] = message.authorization[0]?.split(' ') ?? [];
        if (scheme === undefined || text === undefined) return authenticate(message, stations);
        const authorization = [`${scheme} ${Buffer.from(text, 'base64').toString('base64')}`];
        return authenticate({ ...message, authorization }, stations);
      }),
      3_000,
      { accepted: 1 },
    ],
    [
      'a reading that takes a name twice',
      readingTarget((body) => {
        const reading = readJson(body);
        if (reading.problem !== 'duplicate-key') return reading;
        const { token, keysStripped, numberAsText } = reading;
        return { token, keysStripped, numberAsText, value: null };
      }),
      1_000,
      { accepted: 1 },
    ],
    [
      'a secret that comes out of an error',
      errorBodyTarget((body, secrets) => ({
        serverMessage: secrets.reduce((text, secret) => text.replaceAll(secret, '***'), body).slice(0, 200),
      })),
      300,
      { accepted: 50 },
    ],
    [
      'pictures of which packets are missing',
      rtpTarget(({ stream, delivery }) => {
        const arrivals = stream.packets.map((bytes) => ({ rtcp: false, bytes }));
        return receivedRtp({ stream, delivery: { ...delivery, arrivals } });
      }),
      500,
      { accepted: 20 },
    ],
    [
      'pictures that do not come',
      rtpTarget((input) => {
        const answer = receivedRtp(input);
        return { ...answer, frames: answer.frames.slice(1) };
      }),
      600,
      { rejected: 50 },
    ],
    [
      'pictures that are others',
      rtpTarget((input) => {
        const answer = receivedRtp(input);
        return { ...answer, frames: answer.frames.map((frame) => ({ ...frame, time: frame.time + 0.1 })) };
      }),
      300,
      { wrong: 50 },
    ],
  ];
  for (const [title, target, inputs, found] of REPORTED)
    it(`reports ${title}`, async () => {
      const faults = await faultsOf(target, inputs);
      for (const fault of ['accepted', 'rejected', 'wrong', 'thrown'] as const) {
        const least = found[fault];
        if (least === 0) assert.equal(faults[fault], 0, fault);
        else if (least !== undefined) assert.ok(faults[fault] >= least, `${fault}: ${faults[fault]}`);
      }
    });

  it('counts an exception, and goes on', async () => {
    const throwing = readingTarget(() => {
      throw new Error('A fault of its own.');
    });
    assert.equal((await faultsOf(throwing, 20)).thrown, 20);
  });

  it('finds the same with the same seed, and tells how to have it again', async () => {
    const refusing = proofTarget(() => REFUSED);
    const { finding } = await refusing.run(7, 50, false);
    const told = /^proof: seed 7, path [\d:]+: Error: (?:rejected|wrong): .+\n {2}Base-64: \S+/;
    assert.match(finding ?? '', told);
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
