import type { NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import { isRecord, type JsonRecord } from '../../lib/json/json';

/** Full namespace: the `RED` of the sidebar has none of these texts. */
const UNKNOWN = '@rvm/node-red-remote-monitoring/rvm-cloud:shared.ask.unknown';

/** Node-RED's permission to deploy: a user with it can make the runtime call any address. */
export const TO_DEPLOY = 'flows.write';

/** Types of Express. */
type Handler = ReturnType<NodeAPI['auth']['needsPermission']>;
export type Request = Parameters<Handler>[0];
export type Response = Parameters<Handler>[1];

/** Answers a request of the editor: `input` contains the query of a GET, the JSON body of a POST. */
type Answer = (input: JsonRecord, req: Request) => unknown;

/**
 * Adds `GET rvm/<path>` for users with the permission `rvm.read`. To be called once, when the type registers: routes outlive
 * deploys.
 */
export function readRoute(RED: NodeAPI, path: string, answer: Answer): void {
  RED.httpAdmin.get(`/rvm/${path}`, RED.auth.needsPermission('rvm.read'), (req, res) => {
    reply(RED, path, res, () => answer(req.query, req));
  });
}

/** Sends its response itself. An error is logged. */
type Sending = (req: Request, res: Response) => Promise<void>;

/** Like `readRoute`, for responses that are not JSON; also to be called once. */
export function mediaRoute(RED: NodeAPI, path: string, send: Sending): void {
  RED.httpAdmin.get(`/rvm/${path}`, RED.auth.needsPermission('rvm.read'), (req, res) => {
    send(req, res).catch((error: unknown) => {
      logUnknown(RED, path, error);
      res.destroy();
    });
  });
}

/** Logs an unexpected error by its kind only, because its message may contain anything. */
export function logUnknown(RED: NodeAPI, path: string, error: unknown): void {
  RED.log.error(RED._(UNKNOWN, { path, fault: faultOf(error) }));
}

/**
 * Adds `POST rvm/<path>` for users with the permission `rvm.write`. Only JSON is accepted: a form of a foreign web page, which
 * a browser sends without asking, is not JSON.
 * @param alsoNeeds returns a further permission for this request, if one is needed
 */
export function writeRoute(
  RED: NodeAPI,
  path: string,
  answer: Answer,
  alsoNeeds: (input: JsonRecord) => string | undefined = () => undefined,
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

/** Known errors are sent to the editor as code and message; of any other the log gets the kind. */
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

/** Kind and stack of an unexpected error, for the log. Without its message, which may quote the request or a secret. */
export function faultOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.name).replace(error.message, '') : typeof error;
}
