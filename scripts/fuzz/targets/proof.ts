import { jsonOf } from '../../../lib/message/body';
import { authenticate, type ProofResult } from '../../../lib/webhook/proof/authenticate';
import type { ReceivingStation } from '../../../lib/webhook/proof/receiving-station';
import { registrationsOf } from '../inputs/endpoint';
import { sentTo } from '../inputs/signed-message';
import { verdictOn, type Registration, type Sent, type Verdict } from '../oracle/proof';
import { targetOf, type Complaint, type Target } from '../target';

interface Input extends Sent {
  stations: ReceivingStation[];
}

/** Messages that are genuine, were, or never were, and stations of one endpoint. */
export function proofTarget(prove: typeof authenticate = authenticate): Target {
  return targetOf<Input, ProofResult>({
    name: 'proof',
    share: 150_000,
    make: (random) => {
      const registrations = registrationsOf(random);
      return { ...sentTo(random, registrations), stations: registrations.map(stationOf) };
    },
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
    return answer.burnt === burnt
      ? undefined
      : { fault: 'wrong', reason: 'a phrase in the clear is told of wrongly' };
  }
  if (!answer.proven) return { fault: 'rejected', reason: `${verdict.proof} of place ${verdict.place}` };
  const isSame =
    answer.station === stations[verdict.place] &&
    answer.proof === verdict.proof &&
    answer.secret === verdict.secret;
  return isSame ? undefined : { fault: 'accepted', reason: `as ${answer.proof} of ${answer.station.key}` };
}

function stationOf(registration: Registration, place: number): ReceivingStation {
  const key = `station-${place}`;
  return { ...registration, key, name: key, agentUserId: '', sandbox: false };
}
