import { cloud, station, webhookIn } from '../test/support/node-red/flows';
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
    { rootSettings = '', ...options }: StartOptions & { rootSettings?: string } = {},
  ): Promise<CountingNodeRed> {
    const nodeRed = await NodeRed.start({
      ...options,
      settings: rootSettings + settings(count, options.settings),
    });
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
function settings(count: number, further = ''): string {
  return `logging: { console: { level: 'info', metrics: false, audit: false } },
  functionGlobalContext: {
    ${further}
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

/**
 * *webhook in*, with the event handled when it is sent.
 * @param properties of it, such as the nodes that it has for itself, which are to be given as well
 */
export function webhookInFlow(properties: Partial<FlowNode> = {}, ...further: FlowNode[]): FlowNode[] {
  const webhook = webhookIn({ ...properties, wires: [['counter'], [], []] });
  return [TAB, cloud(), station(), ...further, webhook, COUNTER];
}
