import type { IncomingMessage, ServerResponse } from 'node:http';

/** Answers a request, or leaves it untouched and says false. */
export type PageHandler = (req: IncomingMessage, res: ServerResponse) => boolean;

/** What a server for webhooks shows to people, beside the webhooks: whoever has a page there answers for it. */
export class Pages {
  readonly #handlers = new Set<PageHandler>();
  readonly #wishes = new Set<object>();

  /** @returns the way to take it away */
  add(handler: PageHandler): () => void {
    this.#handlers.add(handler);
    return () => void this.#handlers.delete(handler);
  }

  /** True while somebody wants pages here: then the server has to listen, with webhooks or without. */
  get areWanted(): boolean {
    return this.#wishes.size > 0;
  }

  /** To be told before there is a handler, which may take its time. @returns the way to end it */
  want(): () => void {
    const wish = {};
    this.#wishes.add(wish);
    return () => void this.#wishes.delete(wish);
  }

  /** False = nobody's, and untouched. */
  handle(req: IncomingMessage, res: ServerResponse): boolean {
    for (const handler of this.#handlers) if (handler(req, res)) return true;
    return false;
  }
}
