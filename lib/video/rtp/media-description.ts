/** One medium of a session description (RFC 4566), as far as it tells how its packets are to be read. */
export interface MediaDescription {
  kind: 'video' | 'audio';
  payloadType: number;
  /** As in `a=rtpmap`, in capitals, such as `H264`; the name of a static payload type where there is none (RFC 3551, section 6). */
  encoding: string;
  /** RTP ticks in a second. */
  clockRate: number;
  /** Of sound; 1 unless said. */
  channels: number;
  /** Parameters of `a=fmtp`, names in lower case, values as they are. */
  parameters: ReadonlyMap<string, string>;
}
