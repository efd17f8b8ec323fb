import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { RoundRobin } from '../../concurrency/fair-queue';
import type { SenderLines } from '../bounds/sender-lines';
import { Pipeline, parsedBy, type ServerSocket } from './pipeline';

/**
 * Reads the requests to webhooks one by one. Node's server parses all that has come of a connection at once, and a stranger who
 * sends hundreds of tiny requests behind one another would have the main thread for as long as all of them take. So its parser gets
 * slices of about one request, and none while a request to a webhook is not judged: what follows waits in the stream, and when that
 * is full, at the sender. What is not for a webhook waits for nothing.
 */
export class Pipelines {
  readonly #ofSocket = new WeakMap<object, Pipeline>();

  /** @param onCut told of each connection that is cut */
  constructor(
    private readonly lines: SenderLines,
    private readonly turns: RoundRobin,
    private readonly onCut: () => void,
  ) {}

  /** For connections that come from now on. */
  attend(server: Server): void {
    const accepted = (socket: ServerSocket): void => this.#accepted(socket);
    server.on('connection', accepted);
    // With TLS these are what requests come on; of the others nothing is parsed.
    server.on('secureConnection', accepted);
  }

  /** Takes note of a request, behind which nothing is read until it is judged or answered. */
  began(req: IncomingMessage, res: ServerResponse): void {
    const pipeline = this.#ofSocket.get(req.socket);
    if (pipeline === undefined) return;
    pipeline.began(req);
    res.once('close', () => {
      if (pipeline.answered(req)) this.onCut();
    });
  }

  /** A request is proven: what comes behind it need not wait until it is stored. */
  proven(req: IncomingMessage): void {
    this.lines.proven(req);
    this.#ofSocket.get(req.socket)?.proven(req);
  }

  #accepted(socket: ServerSocket): void {
    const parse = parsedBy(socket);
    if (parse === undefined) return;
    const { turns } = this;
    turns.come();
    const source = { socket, headers: {} };
    this.#ofSocket.set(socket, new Pipeline(socket, { parse, turns, line: this.lines.of(source) }));
  }
}
