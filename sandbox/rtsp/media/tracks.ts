/** Names of the tracks below the URL of a session. */
export const TRACKS = { track1: 'video', track2: 'sound' } as const;
export type TrackName = keyof typeof TRACKS;

export function isTrackName(text: string | undefined): text is TrackName {
  return text !== undefined && text in TRACKS;
}
