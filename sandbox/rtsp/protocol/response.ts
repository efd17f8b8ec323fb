const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  301: 'Moved Permanently',
  302: 'Moved Temporarily',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  413: 'Request Entity Too Large',
  451: 'Parameter Not Understood',
  453: 'Not Enough Bandwidth',
  454: 'Session Not Found',
  455: 'Method Not Valid in This State',
  457: 'Invalid Range',
  461: 'Unsupported Transport',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
  505: 'RTSP Version Not Supported',
  551: 'Option Not Supported',
};

export interface RtspResponse {
  status: number;
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** Done once the answer is written: the first packet must not overtake the answer to its PLAY. */
  afterwards?: () => void;
}

/** An answer as text; `Content-Length` counts bytes. `cseq` is absent only where the client sent none. */
export function formatResponse(response: RtspResponse, cseq: string | undefined): string {
  const reason = REASONS[response.status] ?? 'Status';
  const body = response.body ?? '';
  const lines = [`RTSP/1.0 ${response.status} ${reason}`];
  if (cseq !== undefined) lines.push(`CSeq: ${cseq}`);
  for (const [name, value] of Object.entries(response.headers ?? {})) lines.push(`${name}: ${value}`);
  if (body !== '') lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}
