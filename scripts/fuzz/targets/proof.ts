import { jsonOf } from '../../../lib/message/body';
import { authenticate, type ProofResult } from '../../../lib/webhook/proof/authenticate';
import type { ReceivingStation } from '../../../lib/webhook/proof/receiving-station';
import { genuineLine, SENT } from '../inputs/webhook';
import { verdictOn, type Registration, type Sent, type Verdict } from '../oracle/message';
import { targetOf, type Complaint, type Target } from '../runner';

interface Input extends Sent {
  stations: ReceivingStation[];
}

/** Messages that are genuine, were, or never were, and stations of one endpoint. */
export function proofTarget(prove: typeof authenticate = authenticate): Target {
  return targetOf<Input, ProofResult>({
    name: 'proof',
    share: 150_000,
    inputs: SENT.map(({ registrations, ...sent }) => ({ ...sent, stations: registrations.map(stationOf) })),
    examples: [0, 1, 2].map(marked),
    act: ({ body, authorization, stations }) => prove({ body, authorization, json: jsonOf(body) }, stations),
    judge: (input, answer) => complaintAbout(verdictOn(input, input.stations), answer, input.stations),
    shown: ({ body, authorization, stations }) => ({
      authorization,
      stations: stations.map(({ scheme, secret, previousSecret }) => [scheme, secret, previousSecret]),
      body: Buffer.from(body).toString('base64'),
    }),
  });
}

function complaintAbout(
  verdict: Verdict,
  answer: ProofResult,
  stations: readonly ReceivingStation[],
): Complaint | undefined {
  if (verdict.kind === 'open') return undefined;
  if (verdict.kind === 'refused') {
    if (answer.proven) return { fault: 'accepted', reason: `${answer.proof} of ${answer.station.key}` };
    const burnt = verdict.burnt === undefined ? undefined : stations[verdict.burnt];
    return answer.leaked === burnt
      ? undefined
      : { fault: 'wrong', reason: 'a phrase in the clear is told of wrongly' };
  }
  if (!answer.proven) return { fault: 'rejected', reason: `${verdict.proof} of place ${verdict.index}` };
  const isSame =
    answer.station === stations[verdict.index] &&
    answer.proof === verdict.proof &&
    answer.secret === verdict.secret;
  return isSame ? undefined : { fault: 'accepted', reason: `as ${answer.proof} of ${answer.station.key}` };
}

function stationOf(registration: Registration, index: number): ReceivingStation {
  const key = `station-${index}`;
  return { ...registration, key, name: key, agentUserId: '', sandbox: false };
}

/** Signed over the body alone, and sent with two byte-order marks and so many that are signed. */
function marked(signed: number): Input {
  const registration: Registration = {
    scheme: 'http',
    secret: 'three plain words',
    previousSecret: '',
    acceptBareSignature: false,
  };
  const body = Buffer.from('\uFEFF\uFEFF{}');
  const authorization = [genuineLine(registration.secret, body.subarray(3 * (2 - signed)))];
  return { body, authorization, stations: [stationOf(registration, 0)] };
}
