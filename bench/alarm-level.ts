import { entrance, inject, NodeRed, type FlowNode } from '../test/support/node-red/node-red';
import { COUNTER, functionNode, TAB } from './counting-node-red';
import type { Row, Scale } from './measurement';
import { spreadOf } from './side-by-side';

interface Size {
  groups: number;
  /** Of a round. */
  events: number;
  rounds: number;
}
const SIZES: Record<Scale, Size> = {
  full: { groups: 1000, events: 6000, rounds: 5 },
  quick: { groups: 100, events: 200, rounds: 1 },
};
const EVENTS_PER_SECOND = 200;
/** Milliseconds between two handfuls of events. */
const EVERY = 50;

/** The function nodes of example 03 as they were before there was an alarm state: one level for all groups. */
const BEGINS = `// The output is set once an alarm: by its first message, and not by one that comes after its end.
const { first, ended } = msg.webhook;
if (first === false || ended) return [null, msg];
flow.set('secondsLeft', undefined); // the time to the release begins again
msg.coil = true;
return [msg, null];`;
const RELEASE = `const SECONDS = 30; // the coil is released so long after the last alarm

let left = flow.get('secondsLeft');
if (left === 'released') return null;
left = (left ?? SECONDS) - 1;
flow.set('secondsLeft', left);
// At zero, and then every 5 seconds until the PLC has confirmed it.
if (left > 0 || left % 5 !== 0) return null;
return { coil: false };`;

/** Sends the events as *webhook in* would, and counts CPU time of the whole process, with the thread of the store. */
const SOURCE = (groups: number): string => `const send = (count) => {
  for (let left = count; left > 0; left -= 1) {
    const number = global.get('number')();
    const site = 'Site ' + (number * 7919) % ${groups};
    const event = { alarmId: 'alarm ' + Math.floor(number / 3), eventClass: 'security', eventName: 'Person in yard',
      eventType: 'ObjectPresent', eventRuleName: 'Person in yard', eventStartTime: new Date().toISOString(), eventEndTime: null,
      locationId: site, locationName: site, cameraId: 'camera ' + site, cameraName: 'Gate' };
    const webhook = { messageId: 'message ' + number, deliveryId: 'delivery ' + number, station: 'north', stationName: 'North',
      attempt: 1, phase: 'start', first: number % 3 === 0, ended: false, ageSeconds: 1, late: false, sandbox: false, warnings: [] };
    node.send({ payload: event, event: { ...event }, topic: 'security', webhook });
  }
};
let left = msg.payload;
const before = global.get('cpu')();
const timer = setInterval(() => {
  const count = Math.min(left, ${(EVENTS_PER_SECOND * EVERY) / 1000});
  left -= count;
  send(count);
  if (left > 0) return;
  clearInterval(timer);
  setTimeout(() => {
    global.get('probe')('cpu', { payload: global.get('cpu')() - before });
  }, 1500);
}, ${EVERY});
return null;`;

/** Numbers events over all rounds. */
const SETTINGS = `logging: { console: { level: 'info', metrics: false, audit: false } },
  functionGlobalContext: {
    number: (() => {
      let number = 0;
      return () => number++;
    })(),
    delivered: () => undefined,
    cpu: () => {
      const { user, system } = process.cpuUsage();
      return user + system;
    },
    probe: (name, msg) => process.send({ probe: name, msg }),
  },`;

/**
 * B15: CPU time of an event through *alarm state*, of the whole process, its store included, by that of the function nodes that it
 * takes the place of; from both, that of the same flow without them is taken away.
 */
export async function costOfLevel(scale: Scale): Promise<Row[]> {
  const { groups, events, rounds } = SIZES[scale];
  const start = (...nodes: FlowNode[]): Promise<Side> => Side.start(flowOf(groups, ...nodes), events);
  const [bare, ours, other] = await Promise.all([start(), start(...alarmState()), start(...functions())]);
  try {
    const ratios: number[] = [];
    const costs: [number, number][] = [];
    // All at once: groups stay raised from round to round. The first round raises them, and counts for nothing.
    for (let round = 0; round <= rounds; round += 1) {
      const [nothing, level, nodes] = await Promise.all([
        bare.microseconds(),
        ours.microseconds(),
        other.microseconds(),
      ]);
      if (round === 0) continue;
      costs.push([level - nothing, nodes - nothing]);
      ratios.push((level - nothing) / (nodes - nothing));
    }
    return [
      {
        id: 'B15',
        measured: `CPU of an event through alarm state, ${groups} groups, ${EVENTS_PER_SECOND} events/s`,
        against: 'the function nodes of example 03 without it',
        figure: spreadOf(ratios),
        unit: 'x',
        target: { atMost: 0.5 },
        seen: {
          oursMicroseconds: spreadOf(costs.map(([level]) => level)).median,
          otherMicroseconds: spreadOf(costs.map(([, nodes]) => nodes)).median,
        },
      },
    ];
  } finally {
    await Promise.all([bare, ours, other].map((side) => side.stop()));
  }
}

/** One Node-RED through which events are sent. */
class Side {
  #rounds = 0;

  private constructor(
    private readonly nodeRed: NodeRed,
    private readonly events: number,
  ) {}

  static async start(flow: FlowNode[], events: number): Promise<Side> {
    const nodeRed = await NodeRed.start({ settings: SETTINGS });
    await nodeRed.deploy(flow);
    return new Side(nodeRed, events);
  }

  /** CPU time of one event. */
  async microseconds(): Promise<number> {
    this.#rounds += 1;
    await inject(this.nodeRed, 'source', { payload: this.events });
    await this.nodeRed.until(() => this.nodeRed.at('cpu').length >= this.#rounds, 'all events', 600);
    return Number(this.nodeRed.at('cpu')[this.#rounds - 1]?.['payload']) / this.events;
  }

  async stop(): Promise<void> {
    await this.nodeRed.stopAndRemove();
  }
}

/** @param nodes what the events go through; the first of them takes them */
function flowOf(groups: number, ...nodes: FlowNode[]): FlowNode[] {
  const [first = COUNTER] = nodes;
  const source = functionNode('source-of-events', SOURCE(groups), { wires: [[first.id]] });
  return [TAB, ...entrance('source', source.id), source, ...nodes, COUNTER];
}

function alarmState(): FlowNode[] {
  const wires = [[COUNTER.id], [COUNTER.id], [COUNTER.id]];
  return [{ id: 'alarms', type: 'rvm-alarm-state', z: 'tab', name: '', key: 'bench', wires }];
}

function functions(): FlowNode[] {
  return [
    functionNode('begins', BEGINS, { outputs: 2, wires: [[COUNTER.id], [COUNTER.id]] }),
    functionNode('release', RELEASE, { wires: [[COUNTER.id]] }),
    {
      id: 'tick',
      type: 'inject',
      z: 'tab',
      props: [],
      repeat: '1',
      once: false,
      onceDelay: 0.1,
      topic: '',
      wires: [['release']],
    },
  ];
}
