import fs from 'node:fs';
import http from 'node:http';
import { json } from 'node:stream/consumers';
import { LocalServer } from '../network/servers';
import { webhookFlow } from '../node-red/flows';
import type { FlowNode } from '../node-red/node-red';

/** What a flow did with an event, or a problem of output 3. */
export interface Arrival {
  messageId: string;
  deliveryId: string;
  /** Undefined for a problem. */
  attempt?: number;
  kind?: string;
}

/** Lines that a flow writes: on their way to the disk before the next step of the flow, so that no kill loses one. */
export class FileSink {
  constructor(readonly file: string) {
    fs.writeFileSync(file, '');
  }

  all(): Arrival[] {
    const lines = fs.readFileSync(this.file, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Arrival);
  }

  events(): Arrival[] {
    return this.all().filter(({ kind }) => kind === undefined);
  }

  /** A function node that writes here. */
  node(id: string, ...targets: string[]): FlowNode {
    const func = `const { messageId, deliveryId, attempt, kind } = msg.webhook ?? msg.payload;
      fs.appendFileSync(${JSON.stringify(this.file)}, JSON.stringify({ messageId, deliveryId, attempt, kind }) + '\\n');
      return msg;`;
    const libs = [{ var: 'fs', module: 'fs' }];
    return { id, type: 'function', z: 'tab', name: id, func, outputs: 1, libs, x: 0, y: 0, wires: [targets] };
  }
}

/** A receiver outside of Node-RED that takes each delivery id once, however often it comes. */
export class OnceSink extends LocalServer {
  readonly arrivals: Arrival[] = [];

  constructor() {
    super(http.createServer((req, res) => void this.#take(req, res)));
  }

  start(): Promise<this> {
    return this.listening();
  }

  /** One for each delivery id. */
  taken(): Arrival[] {
    return [...new Map(this.arrivals.map((arrival) => [arrival.deliveryId, arrival])).values()];
  }

  /** Posts here, and settles the event once that is answered. */
  nodes(id: string): FlowNode[] {
    const { url } = this;
    const place = { z: 'tab', name: '', x: 0, y: 0 };
    const func = 'msg.payload = msg.webhook; return msg;';
    return [
      { ...place, id, type: 'function', func, outputs: 1, libs: [], wires: [[`${id}-post`]] },
      { ...place, id: `${id}-post`, type: 'http request', method: 'POST', url, wires: [[`${id}-settle`]] },
      { ...place, id: `${id}-settle`, type: 'rvm-settle', wires: [[], []] },
    ];
  }

  async #take(req: http.IncomingMessage, res: http.ServerResponse): Promise<void> {
    this.arrivals.push((await json(req)) as Arrival);
    res.end('taken');
  }
}

/** A flow file that writes events and problems to a file. */
export function sentFlow(sink: FileSink): FlowNode[] {
  const wires = [['sink'], ['sink'], ['sink']];
  return webhookFlow({ webhook: { wires } }, sink.node('sink'));
}

/** A flow file that settles an event when a receiver has it; problems are written to the file. */
export function settledFlow(problems: FileSink, sink: OnceSink): FlowNode[] {
  const webhook = { handledWhen: 'settled', wires: [['sink'], ['sink'], ['file']] };
  return webhookFlow({ webhook }, ...sink.nodes('sink'), problems.node('file'));
}
