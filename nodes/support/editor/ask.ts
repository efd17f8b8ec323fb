/** Why the runtime could not answer: a text for the user. */
export class AskError extends Error {
  /** @param code of the error of the runtime, where it had one */
  constructor(
    message: string,
    readonly code?: string,
  ) {
    super(message);
  }
}

/** A text by its key among those that all types share. */
export type Say = (key: string) => string;

/**
 * Asks the runtime. By jQuery, for the editor adds its root and the token of the user to what goes that way alone.
 * @throws AskError
 */
export async function ask<Answer>(say: Say, request: JQueryAjaxSettings): Promise<Answer> {
  try {
    return (await $.ajax(request)) as Answer;
  } catch (failure) {
    const { status, responseJSON } = failure as JQuery.jqXHR<unknown>;
    const { message, code } = (responseJSON ?? {}) as { message?: unknown; code?: string };
    if (typeof message === 'string') throw new AskError(message, code);
    throw new AskError(say(reasonOf(status)));
  }
}

/** Has the runtime do something. @throws AskError */
export function post<Answer>(say: Say, path: string, body: object): Promise<Answer> {
  const data = JSON.stringify(body);
  return ask<Answer>(say, { url: `rvm/${path}`, method: 'POST', contentType: 'application/json', data });
}

function reasonOf(status: number): string {
  if (status === 401 || status === 403) return 'shared.ask.notAllowed';
  return status === 0 ? 'shared.ask.noRuntime' : 'shared.ask.failed';
}
