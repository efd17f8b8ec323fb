import type english from '../locales/en-US.json';

/** What the player says, in the language of who looks at it. */
export type PlayerTexts = Pick<typeof english, 'player' | 'fault'>;

/** A part of a recording, which the player shows again and again. */
interface RecordedPart {
  /** Of its fragmented MP4. */
  url: string;
  /** Its length. */
  seconds: number;
  /** Seconds from its beginning to the alarm; absent where it has no alarm in it. */
  alarmAt?: number;
}

/** What a player may show. All addresses are relative to the page, or of its origin. */
export interface PlayerSettings {
  recorded?: RecordedPart;
  /** Of the fragmented MP4 of what the camera sees now; absent where that may not be seen. */
  liveUrl?: string;
  /** Of a JPEG, for browsers that cannot play the video; absent where there is none. */
  pictureUrl?: string;
  /** Of the finished recording, for browsers without Media Source Extensions. */
  clipUrl?: string;
  /** When the addresses end, in milliseconds since 1970. */
  expires?: number;
}

/** What the server gives to the page's player. */
export interface PageData {
  settings: PlayerSettings;
  texts: PlayerTexts;
}
