import type { MediaDescription } from '../media';
import { TrackReceiver } from '../rtp/track-receiver';
import {
  controlUrls,
  type ControlUrls,
  readDescription,
  type SessionDescription,
  chooseMedia,
  type ChosenMedia,
} from './sdp';
import { type StreamLimits, STREAM_FAULTS } from './limits';
import type { Answer } from './messages';
import {
  lengthOfRange,
  entriesFor,
  rtpInfoIn,
  type RtpInfo,
  chosenChannels,
  transportRequest,
  type Channels,
} from './headers';
import type { RtspClient } from './rtsp-client';

/** One medium that is being sent. */
export interface PlayedTrack {
  channels: Channels;
  receiver: TrackReceiver;
}

/** A session after PLAY. */
export interface PlayingSession {
  kind: 'playing';
  video: PlayedTrack;
  audio: PlayedTrack | undefined;
  leftOut: readonly string[];
  /** Whether the relay has stated where both media begin, which puts them on one clock. */
  isOneClock: boolean;
  /** Seconds until the end; undefined where unknown, `Infinity` where there is no end. */
  length: number | undefined;
}

/** A redirect by the relay. */
export interface Redirected {
  kind: 'redirected';
  location: string;
}

/** RFC 2326, section 11. */
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
const UNSUPPORTED_TRANSPORT = 461;
/** All players send a range, from 0 for the whole: some relays may require one. */
const ALL = 'npt=0.000-';

/** A medium as described, and the URL and channels for its SETUP. */
interface Track {
  format: MediaDescription;
  url: string;
  channels: Channels;
}

/**
 * From the first request to the first packet: DESCRIBE, SETUP of each medium, PLAY (RFC 2326, section 10).
 * @throws RvmError VIDEO_FAILED, TIMEOUT
 */
export async function openSession(
  session: RtspClient,
  url: string,
  limits: StreamLimits,
): Promise<PlayingSession | Redirected> {
  const described = await session.ask('DESCRIBE', url, { Accept: 'application/sdp' });
  if (described.status !== 200) return redirectIn(described);
  const description = readDescription(described.body, limits.media);
  const choice = chooseMedia(description.media);
  const urls = urlsOf(url, described, description);
  session.url = urls.all;
  const video = await setUp(session, trackOf(choice.video, urls, { rtp: 0, rtcp: 1 }));
  if ('status' in video) return redirectIn(video);
  const ms = Math.min(limits.soundMs, limits.answerMs);
  const audio =
    choice.audio && (await setUpSound(session, trackOf(choice.audio, urls, { rtp: 2, rtcp: 3 }), ms, video));
  const leftOut = [...choice.leftOut, ...(choice.audio && !audio ? [choice.audio.format.encoding] : [])];
  session.expect(
    [video, ...(audio === undefined ? [] : [audio])].flatMap(({ channels }) => Object.values(channels)),
  );
  const played = await session.ask('PLAY', urls.all, { Range: ALL });
  if (played.status !== 200) return redirectIn(played);
  const length = lengthOfRange(played.headers.get('range')) ?? lengthOfRange(description.range);
  return { kind: 'playing', leftOut, length, ...receivers(played, video, audio) };
}

/** @throws RvmError VIDEO_FAILED where the answer is a plain refusal */
function redirectIn({ status, headers }: Answer): Redirected {
  const location = headers.get('location');
  if (location === undefined || !REDIRECTS.includes(status)) throw STREAM_FAULTS.refused(status);
  return { kind: 'redirected', location };
}

function urlsOf(url: string, { headers }: Answer, { control }: SessionDescription): ControlUrls {
  const [contentBase, contentLocation] = [headers.get('content-base'), headers.get('content-location')];
  return controlUrls({ url, contentBase, contentLocation, control });
}

function trackOf({ format, control }: ChosenMedia, urls: ControlUrls, channels: Channels): Track {
  return { format, url: urls.of(control), channels };
}

/**
 * @param ms timeout of the answer in milliseconds
 * @returns the answer where it is a refusal
 * @throws RvmError VIDEO_FAILED where the relay would not send over this connection
 */
async function setUp(session: RtspClient, track: Track, ms?: number): Promise<Track | Answer> {
  const headers = { Transport: transportRequest(track.channels) };
  const answer = await session.ask('SETUP', track.url, headers, ms);
  if (answer.status !== 200) return answer;
  const channels = chosenChannels(answer.headers.get('transport'), track.channels);
  if (channels === undefined) throw STREAM_FAULTS.refused(UNSUPPORTED_TRANSPORT);
  return { ...track, channels };
}

/** Audio is optional: if its SETUP fails, the video plays alone. If the connection has ended, the next request fails. */
async function setUpSound(
  session: RtspClient,
  audio: Track,
  ms: number,
  video: Track,
): Promise<Track | undefined> {
  const track = await setUp(session, audio, ms).catch(() => undefined);
  if (track === undefined || 'status' in track) return undefined;
  const taken = Object.values(video.channels);
  return Object.values(track.channels).some((one) => taken.includes(one)) ? undefined : track;
}

function receivers(
  { headers }: Answer,
  video: Track,
  audio: Track | undefined,
): Pick<PlayingSession, 'video' | 'audio' | 'isOneClock'> {
  const tracks = audio === undefined ? [video] : [video, audio];
  const entries = rtpInfoIn(headers.all('rtp-info').join(','));
  const starts = entriesFor(
    tracks.map(({ url }) => url),
    entries,
  );
  return {
    video: playedTrack(video, starts[0]),
    audio: audio && playedTrack(audio, starts[1]),
    isOneClock: starts.every((start) => start?.rtpTime !== undefined),
  };
}

function playedTrack({ format, channels }: Track, start: RtpInfo | undefined): PlayedTrack {
  return { channels, receiver: new TrackReceiver(format, start) };
}
