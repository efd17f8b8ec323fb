/** Two numbers of interleaved data: packets of a medium, and reports on it (RFC 2326, section 12.39). */
export interface Channels {
  rtp: number;
  rtcp: number;
}

export function transportRequest({ rtp, rtcp }: Channels): string {
  return `RTP/AVP/TCP;unicast;interleaved=${rtp}-${rtcp}`;
}

/**
 * The channels that a server has chosen: those that were asked for, where it names none.
 * @returns undefined where it will not send in the connection, or on no channel that there can be
 */
export function chosenChannels(header: string | undefined, asked: Channels): Channels | undefined {
  if (header === undefined) return asked;
  const [protocol = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  const interleaved = parameters.find((parameter) => parameter.startsWith('interleaved='));
  if (interleaved === undefined) return protocol.endsWith('/tcp') ? asked : undefined;
  const [, first = '', second] = /^interleaved=(\d{1,3})(?:-(\d{1,3}))?$/.exec(interleaved) ?? [];
  if (first === '') return undefined;
  const channels = { rtp: Number(first), rtcp: second === undefined ? Number(first) + 1 : Number(second) };
  return channels.rtp <= 255 && channels.rtcp <= 255 && channels.rtp !== channels.rtcp ? channels : undefined;
}
