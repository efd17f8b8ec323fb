import type { IncomingMessage, ServerResponse } from 'node:http';

/** Answers a request, or leaves it untouched and says false. */
export type PageHandler = (req: IncomingMessage, res: ServerResponse) => boolean;

/** What a server for webhooks shows to people, beside the webhooks: whoever has a page there answers for it. */
export class Pages {
  readonly #handlers = new Set<PageHandler>();

  /** @returns the way to take it away */
  add(handler: PageHandler): () => void {
    this.#handlers.add(handler);
    return () => void this.#handlers.delete(handler);
  }

  /** False = nobody's, and untouched. */
  handle(req: IncomingMessage, res: ServerResponse): boolean {
    for (const handler of this.#handlers) if (handler(req, res)) return true;
    return false;
  }
}
