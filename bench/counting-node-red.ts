import { cloud, PATH, PHRASE, station, webhookIn } from '../test/support/node-red/flows';
import { NodeRed, type FlowNode, type StartOptions } from '../test/support/node-red/node-red';

/** A Node-RED whose flow counts the events that reach it, and reports each time that so many more have. */
export class CountingNodeRed {
  #reports = 0;

  private constructor(
    readonly nodeRed: NodeRed,
    readonly count: number,
  ) {}

  static async start(
    count: number,
    flow: readonly FlowNode[],
    options: StartOptions = {},
  ): Promise<CountingNodeRed> {
    const nodeRed = await NodeRed.start({ ...options, settings: settings(count) });
    // Credentials come with a deploy alone.
    await nodeRed.deploy(flow);
    return new CountingNodeRed(nodeRed, count);
  }

  /**
   * When the flow had the last of the next `count` events, in nanoseconds of the clock that all processes share. To be
   * asked for once for each `count` events.
   */
  async lastDelivered(): Promise<bigint> {
    this.#reports += 1;
    await this.nodeRed.until(() => this.nodeRed.at('delivered').length >= this.#reports, 'all events', 120);
    return BigInt(String(this.nodeRed.at('delivered')[this.#reports - 1]?.['at']));
  }
}

/** The log of a production, and what the function nodes count with. */
function settings(count: number): string {
  return `logging: { console: { level: 'info', metrics: false, audit: false } },
  functionGlobalContext: {
    delivered: (() => {
      let delivered = 0;
      return () => {
        delivered += 1;
        if (delivered % ${count} !== 0) return;
        process.send({ probe: 'delivered', msg: { at: String(process.hrtime.bigint()) } });
      };
    })(),
  },`;
}

export const TAB: FlowNode = { id: 'tab', type: 'tab', label: 'benchmark' };

export function functionNode(id: string, func: string, further: Partial<FlowNode> = {}): FlowNode {
  return { id, type: 'function', z: 'tab', func, outputs: 1, libs: [], x: 0, y: 0, wires: [[]], ...further };
}

export const COUNTER = functionNode('counter', `global.get('delivered')();\nreturn null;`);

/** *webhook in*, with the event handled when it is sent. */
export function webhookInFlow(...listener: FlowNode[]): FlowNode[] {
  const own = listener[0] === undefined ? {} : { listener: listener[0].id };
  return [TAB, cloud(), station(), ...listener, webhookIn({ ...own, wires: [['counter'], [], []] }), COUNTER];
}

/** What a user wires by hand: it proves, answers and hands on, and keeps nothing. */
export function handWiredFlow(): FlowNode[] {
  const verify = `const expected = crypto.createHmac('sha256', ${JSON.stringify(PHRASE)}).update(msg.payload).digest();
const [, text = ''] = (msg.req.headers.authorization || '').split(' ');
const given = Buffer.from(text, 'base64');
const genuine = given.length === expected.length && crypto.timingSafeEqual(given, expected);
msg.statusCode = genuine ? 200 : 401;
const event = genuine ? { payload: JSON.parse(msg.payload.toString()).payload } : null;
msg.payload = '';
return [msg, event];`;
  return [
    TAB,
    {
      id: 'in',
      type: 'http in',
      z: 'tab',
      url: PATH,
      method: 'post',
      skipBodyParsing: true,
      wires: [['verify']],
    },
    functionNode('verify', verify, {
      outputs: 2,
      libs: [{ var: 'crypto', module: 'crypto' }],
      wires: [['answer'], ['counter']],
    }),
    { id: 'answer', type: 'http response', z: 'tab', statusCode: '', headers: {}, wires: [] },
    COUNTER,
  ];
}
