import assert from 'node:assert/strict';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import type { Verdict } from '../../nodes/rvm-watch/sentences';
import { PATH, PHRASE, station, webhookFlow, webhookIn } from '../support/node-red/flows';
import { freePort, MOVABLE_CLOCK, NodeRed, probe, type FlowNode } from '../support/node-red/node-red';
import { ForkedServices, type Access } from '../support/service/forked-services';
import { alarmMessage, post } from '../support/webhook/alarm-message';
import { act } from '../support/editor/editor-questions';

/** Where nothing listens. */
const NOWHERE = 'http://127.0.0.1:9';

function watch(properties: Record<string, unknown> = {}): FlowNode {
  return {
    id: 'watch',
    type: 'rvm-watch',
    z: 'tab',
    name: '',
    stations: '',
    interval: 1,
    selfTest: 0,
    x: 0,
    y: 0,
    wires: [['changes'], ['pulses']],
    ...properties,
  };
}

describe('a watch', () => {
  let nodeRed: NodeRed;
  let services: ForkedServices;
  let access: Access;

  before(async () => {
    nodeRed = await NodeRed.start({ settings: MOVABLE_CLOCK });
    services = await ForkedServices.start();
    access = await services.service('plain');
  });
  after(async () => {
    await services.kill();
    await nodeRed.stopAndRemove();
  });

  const credentials = (): Record<string, string> => {
    const { username, password } = access;
    return { username, password, secret: PHRASE };
  };

  /** One station and its webhook in, whose service is asked for a sign of life each second. */
  function flow(
    changes: Parameters<typeof webhookFlow>[0] & { watch?: Record<string, unknown> } = {},
    ...further: FlowNode[]
  ): FlowNode[] {
    const { url, apiKey } = access;
    const cloud = {
      url,
      credentials: { apiKey },
      timeout: 5,
      deviceRefresh: 0,
      signOfLife: 1,
      ...changes.cloud,
    };
    const ofStation = { credentials: credentials(), ...changes.station };
    const seen = [watch(changes.watch), probe('changes'), probe('pulses')];
    return webhookFlow({ cloud, station: ofStation, webhook: changes.webhook ?? {} }, ...seen, ...further);
  }

  const verdicts = (from: number): Verdict[] =>
    nodeRed.at('changes', from).map(({ payload }) => payload as Verdict);
  const kinds = ({ findings }: Verdict): string[] => findings.map(({ what }) => what);

  /** Lets time fly until the last change has this kind of finding, or has it no more. */
  async function changesTo(what: string, from: number, isThere = true): Promise<Verdict> {
    const isSo = (): boolean => {
      const last = verdicts(from).at(-1);
      return last !== undefined && kinds(last).includes(what) === isThere;
    };
    while (!isSo()) await nodeRed.advance(0.5);
    const last = verdicts(from).at(-1);
    assert.ok(last !== undefined);
    return last;
  }

  it('says that all is well, by its pulse and in its status, and nothing else', async () => {
    const from = nodeRed.seen.length;
    await nodeRed.deploy(flow());
    await nodeRed.until(() => nodeRed.at('pulses', from).length >= 2, 'two pulses');
    const [pulse] = nodeRed.at('pulses', from);
    assert.equal(pulse?.payload, true);
    assert.equal(typeof pulse?.instance, 'string');
    assert.deepEqual(verdicts(from), []);
    await nodeRed.until(() => nodeRed.statuses('watch', from).at(-1) === 'status.allWell', 'the status');
  });

  it('tells that a login is refused and of its end, and holds the pulse meanwhile', async () => {
    let from = nodeRed.seen.length;
    await nodeRed.deploy(flow({ station: { credentials: { ...credentials(), password: 'wrong' } } }));
    const { ok, findings } = await changesTo('login-refused', from);
    assert.equal(ok, false);
    assert.deepEqual([findings[0]?.severity, findings[0]?.station], ['fault', 'north']);
    assert.match(findings[0]?.text ?? '', /refuses the login of "North"/);
    from = nodeRed.seen.length;
    await nodeRed.deploy(flow());
    assert.deepEqual(await changesTo('login-refused', from, false), { ok: true, findings: [] });
    await nodeRed.message('pulses');
  });
});
void [once, http, freePort, act, station, webhookIn, post, alarmMessage, PATH, NOWHERE];
export type Unused = AddressInfo;
