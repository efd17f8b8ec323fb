import assert from 'node:assert/strict';
import { MuteServer } from '../support/network/servers';
import { listenerNode, PATH, PHRASE, station, webhookFlow, webhookIn } from '../support/node-red/flows';
import {
  entrance,
  freePort,
  inject,
  MOVABLE_CLOCK,
  NodeRed,
  probe,
  type FlowNode,
} from '../support/node-red/node-red';
import { MOVABLE_INTERVALS, standingTimers } from '../support/node-red/node-red-time';
import { watch, WatchRun } from '../support/node-red/watch-run';
import { ScriptedService } from '../support/service/scripted-service';
import { eventually } from '../support/time/patience';
import { alarmMessage, answerTo, post } from '../support/webhook/alarm-message';
import { act, look } from '../support/node-red/inboxes-open';
import { answered, functionNode, shows } from '../support/node-red/alarms-through';

/** After so many milliseconds a listener tries again. */
const LISTENS_AGAIN = 5000;

describe('a watch', () => {
  const settings = MOVABLE_CLOCK + MOVABLE_INTERVALS + standingTimers(LISTENS_AGAIN);
  const nodeRed = NodeRed.ofGroup({ settings });
  const run = new WatchRun(nodeRed);
  let service: ScriptedService;
  beforeEach(async () => (service = await ScriptedService.start()));
  afterEach(() => service.close());

  const credentials = (): Record<string, string> => {
    const { username, password } = service;
    return { username, password, secret: PHRASE };
  };

  /** One station and its webhook in, whose service is asked for a sign of life each second. */
  function flow(
    changes: { [Of in 'cloud' | 'station' | 'webhook' | 'watch']?: object } = {},
    ...further: FlowNode[]
  ): FlowNode[] {
    const { url, apiKey } = service;
    const usual = { url, credentials: { apiKey }, timeout: 2, deviceRefresh: 0, signOfLife: 1 };
    const cloud = { ...usual, ...changes.cloud };
    const ofStation = { credentials: credentials(), ...changes.station };
    const { webhook = {} } = changes;
    const nodes = [...watch({ ...changes.watch }), ...further];
    return webhookFlow({ cloud, station: ofStation, webhook: { ...webhook } }, ...nodes);
  }

  const south = (changes: Record<string, string>): FlowNode =>
    station({ id: 'south-node', name: 'South', key: 'south', credentials: { ...credentials(), ...changes } });
  /** One that is refused at its login. */
  const refused = (): FlowNode => south({ password: 'wrong', secret: 'another phrase' });

  const alarm = (): Promise<number | 'cut'> => answerTo(nodeRed.url + PATH, alarmMessage(), PHRASE);

  it('says by its pulse and in its status that all is well, and nothing else', async () => {
    const from = nodeRed.seen.length;
    await run.deploy(flow());
    for (let count = 0; count < 2; count += 1) await run.pulse();
    const [pulse] = run.pulses;
    assert.deepEqual([pulse?.payload, typeof pulse?.instance], [true, 'string']);
    assert.deepEqual(run.verdicts, []);
    await shows(nodeRed, 'status.allWell', 'watch', from);
  });

  it('finds that the service died, without any message, holds the pulse, and tells of the end', async () => {
    const { port } = service;
    await run.deploy(flow());
    await run.pulse();
    await service.close();
    const { severity, station: key, text, since } = await run.comes('service-unreachable');
    assert.deepEqual([severity, key], ['fault', 'north']);
    assert.match(text, /^The service of "North" is out of reach.*see to the network/);
    assert.ok(Date.parse(since) <= Date.now());
    service = await ScriptedService.start(undefined, port);
    await run.goes('service-unreachable');
    assert.equal(run.pulsesBeside('service-unreachable'), 0);
    await run.pulse();
  });

  it('finds a login that is refused, and keeps it over a deploy until it is well', async () => {
    const wrong = flow({ station: { credentials: { ...credentials(), password: 'wrong' } } });
    await run.deploy(wrong);
    assert.match((await run.comes('login-refused')).text, /refuses the login of "North"/);
    await run.deploy(wrong);
    const from = nodeRed.seen.length;
    await shows(nodeRed, 'login refused', 'watch', from);
    assert.deepEqual([run.verdicts, run.pulses], [[], []], 'neither told again, nor pulsed over');
    await run.deploy(flow());
    await run.goes('login-refused');
    await run.pulse();
  });

  it('finds a key that is rejected', async () => {
    await run.deploy(flow({ cloud: { credentials: { apiKey: 'wrong' } } }));
    assert.match((await run.comes('key-rejected')).text, /refuses the API key of "North"/);
    await run.deploy(flow());
    await run.goes('key-rejected');
  });

  it('finds by the answers of the service that a clock is wrong', async () => {
    const standard = service.behaviour;
    const off = (ms: number): void => {
      service.behaviour = (request) => {
        const reply = standard(request);
        if (typeof reply === 'string') return reply;
        return { ...reply, headers: { ...reply.headers, Date: new Date(Date.now() + ms).toUTCString() } };
      };
    };
    off(90_000);
    await run.deploy(flow());
    const { text, severity } = await run.comes('clock');
    assert.match(text, /clock of this machine is (8|9)\d s behind/);
    assert.equal(severity, 'warning');
    await run.pulse();
    off(0);
    await run.goes('clock');
  });

  it('finds by a message from the future that a clock is wrong, until the next one', async () => {
    await run.deploy(flow());
    const transmitTime = new Date(Date.now() + 60_000).toISOString();
    assert.equal(await answerTo(nodeRed.url + PATH, alarmMessage({}, { transmitTime }), PHRASE), 200);
    assert.match((await run.comes('clock')).text, /came from the future/);
    await alarm();
    await run.goes('clock');
  });

  it('finds that messages are refused because of their phrase, as a warning that stops no pulse', async () => {
    await run.deploy(flow());
    assert.equal(await answered(nodeRed, alarmMessage(), 'another phrase'), 401);
    const { text, severity, station: key } = await run.comes('not-proven');
    assert.match(text, /compare the Shared Secret Phrase/);
    assert.deepEqual([severity, key], ['warning', 'north']);
    await run.pulse();
    await alarm();
    await run.goes('not-proven');
  });

  it('finds that two stations have one phrase', async () => {
    await run.deploy(flow({}, south({})));
    assert.match((await run.comes('same-phrase')).text, /North, South have one Shared Secret Phrase/);
    await run.deploy(flow({}, south({ secret: 'another phrase' })));
    await run.goes('same-phrase');
  });

  it('finds that the port of a listener is taken, and that it is free', async () => {
    const port = await freePort();
    const other = await MuteServer.start(port);
    await run.deploy(flow({ webhook: { listener: 'listener' } }, listenerNode({ port })));
    const { severity, text } = await run.comes('listener-down');
    assert.equal(severity, 'fault');
    assert.match(text, new RegExp(`No alarm can reach the webhook in "North":.*${port}`));
    await other.close();
    await run.goes('listener-down');
    await run.pulse();
  });

  it('finds that a webhook in takes nothing, whatever the reason', async () => {
    await run.deploy(flow({ station: { credentials: { ...credentials(), secret: '' } } }));
    assert.match((await run.comes('listener-down')).text, /which shows "no secret": see to its settings/);
    await run.deploy(flow());
    await run.goes('listener-down');
  });

  it('finds silence, which output 3 tells of once, over a deploy, until a message comes', async () => {
    // Some seconds, by the clock of the inbox, which nothing moves.
    const silent = flow({ webhook: { silentAfter: 0.001 } });
    const still = new WatchRun(nodeRed, false);
    const from = nodeRed.seen.length;
    await still.deploy(silent);
    await alarm();
    assert.match((await still.comes('silent')).text, /no proven message for 0.001 hours/);
    const told = (): unknown[] => nodeRed.at('problems', from).filter(({ topic }) => topic === 'silent');
    await nodeRed.until(() => told().length > 0, 'the problem');
    await still.deploy(silent);
    await shows(nodeRed, 'silent', 'watch', from);
    assert.equal(told().length, 1);
    still.begin();
    const alarms = setInterval(() => void alarm(), 250);
    await still.goes('silent').finally(() => clearInterval(alarms));
    await still.deploy(flow({ webhook: { silentAfter: 0 } }));
    await still.pulse();
    assert.ok(still.verdicts.every(({ ok }) => ok));
  });

  it('finds dead letters until they are discarded', async () => {
    await run.deploy(flow());
    await post(nodeRed.url + PATH, '{"no": "event"}', PHRASE);
    const { severity, station: key } = await run.comes('dead-letters');
    assert.deepEqual([severity, key], ['warning', 'north']);
    const { body } = await look(nodeRed, 'overview');
    for (const { deliveryId } of body['dead'] as { deliveryId: string }[])
      await act(nodeRed, 'dead-letters', { deliveryId, action: 'discard' });
    await run.goes('dead-letters');
  });

  it('finds events that wait where no webhook in is, until one has their path', async () => {
    const settled = { handledWhen: 'settled', maxInFlight: 1 };
    await run.deploy(flow({ webhook: settled }));
    await alarm();
    await alarm();
    const without = flow().filter(({ id }) => id !== 'webhook');
    await run.deploy([...without, webhookIn({ id: 'another', path: '/elsewhere' })]);
    const { text } = await run.comes('no-owner');
    assert.match(text, /2 events .* wait at a path that no webhook in has \(\/remote-monitoring\/test\)/);
    await run.deploy(flow());
    await run.goes('no-owner');
  });

  it('tests each webhook in through its public URL, and no flow gets that', async () => {
    const from = nodeRed.seen.length;
    await run.deploy(flow({ watch: { selfTest: 1 }, webhook: { publicUrl: nodeRed.url } }));
    await run.pulse();
    await nodeRed.advance(600);
    await run.pulse();
    await run.deploy(flow({ watch: { selfTest: 1 }, webhook: { publicUrl: 'http://127.0.0.1:9' } }));
    const { text, severity } = await run.comes('self-test-failed');
    assert.match(
      text,
      /self-test of the webhook in "North" does not arrive.*No connection to 127.0.0.1, port 9/,
    );
    assert.equal(severity, 'fault');
    await run.deploy(flow({ watch: { selfTest: 1 }, webhook: { publicUrl: nodeRed.url } }));
    await run.goes('self-test-failed');
    for (const output of ['alarms', 'health', 'problems'])
      assert.deepEqual(nodeRed.at(output, from), [], output);
    const { body } = await look(nodeRed, 'overview');
    const ids = (body['events'] as { messageId: string | null }[]).map(({ messageId }) => messageId);
    assert.ok(!ids.some((id) => id?.startsWith('self-test')), ids.join(', '));
  });

  it('looks after the chosen stations alone, and refuses one that is not there', async () => {
    await run.deploy(flow({ watch: { stations: 'north' } }, refused()));
    await run.pulse();
    await run.pulse();
    assert.deepEqual(run.verdicts, []);
    await run.deploy(flow({ watch: { stations: 'south' } }, refused()));
    assert.equal((await run.comes('login-refused')).station, 'south');
    const from = nodeRed.seen.length;
    await run.deploy(flow({ watch: { stations: 'west' } }, refused()));
    await shows(nodeRed, 'status.wrongSetting', 'watch', from);
    await nodeRed.logged(/No Central Station has the short name "west"/);
    assert.deepEqual(run.pulses, []);
  });

  it('lets go of what belongs to a station that is deleted', async () => {
    await run.deploy(flow({}, refused()));
    await run.comes('login-refused');
    await run.deploy(flow());
    await run.goes('login-refused');
  });

  it('has no pulse while the event loop of Node-RED is blocked', async () => {
    const func = `const until = Date.now() + msg.payload; while (Date.now() < until); return msg;`;
    const block = functionNode('block', func, 'over');
    await run.deploy(flow({}, ...entrance('in', 'block'), block, probe('over')));
    await run.pulse();
    const before = nodeRed.seen.length;
    await inject(nodeRed, 'in', { payload: 5000 });
    await eventually(() => nodeRed.at('over', before).length > 0, 'the end of the block');
    const seen = nodeRed.seen.slice(before).map((each) => each.probe);
    const pulses = seen.slice(0, seen.indexOf('over')).filter((each) => each === 'pulses');
    // One before it, and one that was due when it was over.
    assert.ok(pulses.length <= 2, `${pulses.length} pulses`);
    await run.pulse();
  });
});
