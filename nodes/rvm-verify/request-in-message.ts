import { types } from 'node:util';
import type { NodeMessage } from 'node-red';
import { isRecord, type JsonRecord } from '../../lib/json/json';
import {
  authorizationLines,
  isAuthorization,
  withoutAuthorization,
} from '../../lib/webhook/proof/authenticate';
import type { RequestParts } from '../../lib/webhook/stateless-receiver';

/** Where parsers put the body of a request. It is a proof too, where it holds a token. */
const BODIES = ['body', 'rawBody'];

/**
 * Takes the request out of a message, be it of http in or of a source that sets `headers`. What is left holds no proof, so
 * that no output gets one, and no Catch node either.
 */
export function takeRequest(msg: NodeMessage): RequestParts {
  const { payload, headers } = msg;
  const http = isRecord(msg.req) ? msg.req : undefined;
  const source = http ?? { method: 'POST', headers };
  const request = {
    head: {
      method: typeof source.method === 'string' ? source.method : undefined,
      headers: Object.fromEntries(
        linesOf(source.headers).map(([name, value]) => [name.toLowerCase(), value]),
      ),
    },
    authorization: authorizationLines(headerList(source)),
    // What a function node makes is of another realm, where `instanceof` fails.
    body: types.isUint8Array(payload) ? payload : undefined,
    remoteAddress: remoteAddressOf(source),
  };
  delete msg.payload;
  removeAuthorization(msg);
  if (http !== undefined) {
    removeAuthorization(http);
    for (const name of BODIES) delete http[name];
  }
  return request;
}

/** Names and values in turn, as Node.js lists them: of several lines with one name it shows no more than the first elsewhere. */
function headerList({ rawHeaders, headers }: JsonRecord): string[] {
  return Array.isArray(rawHeaders) ? rawHeaders.map(String) : linesOf(headers).flat();
}

function linesOf(headers: unknown): [name: string, value: string][] {
  const entries = Object.entries(isRecord(headers) ? headers : {});
  return entries.flatMap(([name, value]) =>
    [value]
      .flat()
      .filter((line) => typeof line === 'string')
      .map((line): [string, string] => [name, line]),
  );
}

function remoteAddressOf({ socket }: JsonRecord): string | undefined {
  const address = isRecord(socket) ? socket.remoteAddress : undefined;
  return typeof address === 'string' ? address : undefined;
}

function removeAuthorization(holder: JsonRecord): void {
  // Node.js makes these of the raw list when they are first asked for, and by the length that it had: so that goes last.
  for (const headers of [holder.headers, holder.headersDistinct]) {
    if (!isRecord(headers)) continue;
    for (const name of Object.keys(headers)) if (isAuthorization(name)) delete headers[name];
  }
  const { rawHeaders } = holder;
  if (Array.isArray(rawHeaders)) holder.rawHeaders = withoutAuthorization(rawHeaders.map(String));
}
