import type { NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import { isRecord, type JsonRecord } from '../../lib/json/json';

/** With its namespace: the `RED` of the sidebar has none of these texts. */
const UNKNOWN = '@rvm/node-red-remote-monitoring/rvm-cloud:shared.ask.unknown';

/** The permission of Node-RED to deploy: who has it can have the runtime ask any address. */
export const TO_DEPLOY = 'flows.write';

/** As Express has them. */
type Handler = ReturnType<NodeAPI['auth']['needsPermission']>;
export type Request = Parameters<Handler>[0];
export type Response = Parameters<Handler>[1];

/** Answers a question of the editor: `asked` holds the query of a GET, the JSON body of a POST. */
type Answer = (asked: JsonRecord, req: Request) => unknown;

/**
 * What users who may look can ask of the runtime: `GET rvm/<path>`, with the permission `rvm.read`. To be called once, when
 * the type registers: routes outlive deploys.
 */
export function readRoute(RED: NodeAPI, path: string, answer: Answer): void {
  RED.httpAdmin.get(`/rvm/${path}`, RED.auth.needsPermission('rvm.read'), (req, res) => {
    reply(RED, path, res, () => answer(req.query, req));
  });
}

/** Sends what it was asked for by itself. What it throws goes to the log. */
type Sending = (req: Request, res: Response) => Promise<void>;

/**
 * What users who may look get of the runtime that is no JSON, with the permission `rvm.read`. To be called once, as `readRoute`.
 */
export function mediaRoute(RED: NodeAPI, path: string, send: Sending): void {
  RED.httpAdmin.get(`/rvm/${path}`, RED.auth.needsPermission('rvm.read'), (req, res) => {
    send(req, res).catch((error: unknown) => {
      logUnknown(RED, path, error);
      res.destroy();
    });
  });
}

/** What nobody has foreseen: the kind alone, for its text may hold anything. */
export function logUnknown(RED: NodeAPI, path: string, error: unknown): void {
  RED.log.error(RED._(UNKNOWN, { path, fault: faultOf(error) }));
}

/**
 * What only users who may change things can ask for: `POST rvm/<path>`, with the permission `rvm.write`. Only JSON is
 * taken: the form of another web page, which a browser sends without asking, is none.
 * @param alsoNeeds a further permission that what is asked needs, if any
 */
export function writeRoute(
  RED: NodeAPI,
  path: string,
  answer: Answer,
  alsoNeeds: (asked: JsonRecord) => string | undefined = () => undefined,
): void {
  RED.httpAdmin.post(`/rvm/${path}`, RED.auth.needsPermission('rvm.write'), (req, res, next) => {
    const body = jsonOf(req);
    if (body === undefined) {
      res.status(415).json({ code: 'BAD_INPUT', message: 'Send a JSON object.' });
      return;
    }
    const permission = alsoNeeds(body);
    const answered = (): void => reply(RED, path, res, () => answer(body, req));
    if (permission === undefined) answered();
    else
      RED.auth.needsPermission(permission)(req, res, (error) =>
        error === undefined ? answered() : next(error),
      );
  });
}

function jsonOf(req: Request): JsonRecord | undefined {
  const body: unknown = req.body;
  return req.is('application/json') && isRecord(body) ? body : undefined;
}

/** What went wrong for a reason that is known goes to the editor as code and message; of anything else the log tells the kind. */
function reply(RED: NodeAPI, path: string, res: Response, answer: () => unknown): void {
  res.set('Cache-Control', 'no-store');
  Promise.resolve()
    .then(answer)
    .then(
      (result) => res.json(result ?? {}),
      (error: unknown) => {
        if (error instanceof RvmError) res.status(422).json({ code: error.code, message: error.message });
        else {
          logUnknown(RED, path, error);
          res.status(500).json({});
        }
      },
    );
}

/** Kind and place of an error that nobody foresaw, for the log. Not its message: that may quote what was asked, or a secret. */
export function faultOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.name).replace(error.message, '') : typeof error;
}
